//! Levy, eight dimensions, three fidelities.
//!
//! With `wⱼ = 1 + (xⱼ − 1)/4`, `f(x) = sin²(πw₁) + Σ_{j<8} (wⱼ − 1)² (1 + 10 sin²(πwⱼ + 1)) + (w₈ − 1)² (1 + sin²(2πw₈))` on
//! [−10, 10]⁸: a bowl with many dents, zero at (1, …, 1). The lower fidelities are ours: the middle one has half the dents
//! and lies 0.5 further in every coordinate, the cheapest has none and lies 1.5 further. Eight weights, one for each
//! coordinate.
//!
//! Source: Levy, Montalvo, *The tunneling algorithm for the global minimization of functions* (1985), in the form of
//! Laguna, Martí (2005).

use core::f64::consts::PI;

use super::Family;

pub(super) const FAMILY: Family = Family {
    name: "levy",
    domain: &[(-10.0, 10.0); 8],
    reach: 3.0,
    weights: 8,
    costs: &[2.0, 8.0, 20.0],
    budget: 400.0,
    scale: (-102.0, 49.0),
    deployed: &[5.3, 4.6, 1.4, 9.6, 7.3, -2.2, 3.6, 0.0],
    function,
    lowest: |_| (vec![1.0; 8], 0.0),
};

fn function(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    match fidelity {
        0 => levy(0.0, 1.5, x, weights),
        1 => levy(0.5, 0.5, x, weights),
        _ => levy(1.0, 0.0, x, weights),
    }
}

/// The function with a share of its dents, moved by `offset`.
fn levy(dents: f64, offset: f64, x: &[f64], weights: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let last = x.len() - 1;
    let term = |(j, x): (usize, &f64)| {
        let w = 1.0 + (x - offset - 1.0) / 4.0;
        let dent =
            if j < last { 10.0 * square(libm::sin(PI * w + 1.0)) } else { square(libm::sin(2.0 * PI * w)) };
        let first = if j == 0 { dents * square(libm::sin(PI * w)) } else { 0.0 };
        weights[j] * (first + square(w - 1.0) * (1.0 + dents * dent))
    };
    x.iter().enumerate().map(term).sum()
}
