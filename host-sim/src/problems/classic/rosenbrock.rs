//! Rosenbrock, four dimensions, three fidelities.
//!
//! `f(x) = Σᵢ 100 (xᵢ₊₁ − xᵢ²)² + (1 − xᵢ)²` on [−2, 2]⁴: zero at (1, 1, 1, 1), at the end of a long bent valley. The middle
//! fidelity, `Σᵢ 50 (xᵢ₊₁ − xᵢ²)² + (−2 − xᵢ)² − Σⱼ xⱼ/2`, slopes the other way along the valley; the cheapest,
//! `(f − 4 − Σⱼ xⱼ/2) / (10 + Σⱼ xⱼ/4)`, is flatter. Two weights: of the valley's walls and of its floor.
//!
//! Source: Rosenbrock (1960); the fidelities from Mainini et al., *Analytical benchmark problems for multifidelity
//! optimization methods* (2022), numbers 3, 2 and 1.

use super::Family;

pub(super) const FAMILY: Family = Family {
    name: "rosenbrock",
    domain: &[(-2.0, 2.0); 4],
    reach: 0.8,
    weights: 2,
    costs: &[2.0, 10.0, 20.0],
    budget: 400.0,
    scale: (-2000.0, 2030.0),
    deployed: &[-1.05, -0.45, -0.16, -0.23],
    function,
    lowest: |_| (vec![1.0; 4], 0.0),
};

fn function(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    let total: f64 = x.iter().sum();
    match fidelity {
        0 => (valley(100.0, 1.0, x, weights) - 4.0 - 0.5 * total) / (10.0 + 0.25 * total),
        1 => valley(50.0, -2.0, x, weights) - 0.5 * total,
        _ => valley(100.0, 1.0, x, weights),
    }
}

/// `Σᵢ steepness (xᵢ₊₁ − xᵢ²)² + (end − xᵢ)²`.
fn valley(steepness: f64, end: f64, x: &[f64], weights: &[f64]) -> f64 {
    let term = |pair: &[f64]| {
        let [wall, floor] = [pair[1] - pair[0] * pair[0], end - pair[0]];
        weights[0] * steepness * wall * wall + weights[1] * floor * floor
    };
    x.windows(2).map(term).sum()
}
