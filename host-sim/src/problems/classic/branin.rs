//! Branin, two dimensions, three fidelities.
//!
//! `f(x) = (x₂ − 5.1 x₁²/4π² + 5 x₁/π − 6)² + 10 (1 − 1/8π) cos x₁ + 10` on [−5, 10] × [0, 15]: three lowest points of
//! the same depth, 10/8π, at (−π, 12.275), (π, 2.275), (3π, 2.475). The middle fidelity is `10 √f(x − 2) + 2(x₁ − ½) −
//! 3(3x₂ − 1) − 1`, the cheapest that at `1.2(x + 2)`, minus `3x₂ − 1`. Two weights: of the square, and of the rest.
//!
//! Source: Perdikaris et al., *Nonlinear information fusion algorithms for data-efficient multi-fidelity modelling* (2017).

use core::f64::consts::PI;

use super::Family;

pub(super) const FAMILY: Family = Family {
    name: "branin",
    domain: &[(-5.0, 10.0), (0.0, 15.0)],
    reach: 1.5,
    weights: 2,
    costs: &[2.0, 8.0, 20.0],
    budget: 400.0,
    scale: (-56.0, 55.0),
    deployed: &[7.9, 1.7],
    function,
    lowest: |weights| (vec![PI, 2.275], weights[1] * 10.0 / (8.0 * PI)),
};

fn function(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    let [x1, x2] = [x[0], x[1]];
    match fidelity {
        0 => middle(1.2 * (x1 + 2.0), 1.2 * (x2 + 2.0), weights) - 3.0 * x2 + 1.0,
        1 => middle(x1, x2, weights),
        _ => branin(x1, x2, weights),
    }
}

fn branin(x1: f64, x2: f64, weights: &[f64]) -> f64 {
    let root = x2 - 5.1 * x1 * x1 / (4.0 * PI * PI) + 5.0 * x1 / PI - 6.0;
    weights[0] * root * root + weights[1] * (10.0 * (1.0 - 1.0 / (8.0 * PI)) * libm::cos(x1) + 10.0)
}

fn middle(x1: f64, x2: f64, weights: &[f64]) -> f64 {
    10.0 * branin(x1 - 2.0, x2 - 2.0, weights).sqrt() + 2.0 * (x1 - 0.5) - 3.0 * (3.0 * x2 - 1.0) - 1.0
}
