//! Himmelblau, two dimensions, two fidelities.
//!
//! `f(x) = (x₁² + x₂ − 11)² + (x₁ + x₂² − 7)²` on [−5, 5]²: zero at (3, 2) and at three points more, one in each quadrant. The
//! cheap fidelity, `f(x₁/2, 0.8 x₂) + x₂³ − (x₁ + 1)²`, has its low points elsewhere. Two weights, one for each square.
//!
//! Source: Himmelblau, *Applied nonlinear programming* (1972); the cheap one from Dong et al., *Multi-fidelity information
//! fusion based on prediction of kriging* (2015).

use super::Family;

pub(super) const FAMILY: Family = Family {
    name: "himmelblau",
    domain: &[(-5.0, 5.0), (-5.0, 5.0)],
    reach: 1.0,
    weights: 2,
    costs: &[4.0, 20.0],
    budget: 400.0,
    scale: (-159.0, 160.0),
    deployed: &[2.3, 2.8],
    function,
    lowest: |_| (vec![3.0, 2.0], 0.0),
};

fn function(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    let [x1, x2] = [x[0], x[1]];
    match fidelity {
        0 => himmelblau(0.5 * x1, 0.8 * x2, weights) + x2 * x2 * x2 - (x1 + 1.0) * (x1 + 1.0),
        _ => himmelblau(x1, x2, weights),
    }
}

fn himmelblau(x1: f64, x2: f64, weights: &[f64]) -> f64 {
    let [first, second] = [x1 * x1 + x2 - 11.0, x1 + x2 * x2 - 7.0];
    weights[0] * first * first + weights[1] * second * second
}
