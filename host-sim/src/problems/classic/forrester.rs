//! Forrester, one dimension, three fidelities.
//!
//! `f(x) = (6x − 2)² sin(12x − 4)` on [0, 1], lowest −6.0207 at 0.7572, with a second dip at 0.14. Below it
//! `(5.5x − 2.5)² sin(12x − 4)`, which bends it, and below that `f/2 + 10(x − ½) − 5`, whose lowest point is in the
//! wrong dip. One weight, on all of it. A shift of at most 0.1 keeps the fall beyond x = 1.13 out of the domain.
//!
//! Source: Forrester, Sóbester, Keane, *Multi-fidelity optimization via surrogate modelling* (2007); the fidelities as in
//! Mainini et al., *Analytical benchmark problems for multifidelity optimization methods* (2022), numbers 4, 2 and 1.

use super::Family;

pub(super) const FAMILY: Family = Family {
    name: "forrester",
    domain: &[(0.0, 1.0)],
    reach: 0.1,
    weights: 1,
    costs: &[1.0, 10.0, 20.0],
    budget: 200.0,
    scale: (-0.6, 4.7),
    deployed: &[0.69],
    function,
    lowest: |weights| (vec![0.757_248_757_841_856], -6.020_740_055_767_083 * weights[0]),
};

fn function(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    let x = x[0];
    let wave = |root: f64| weights[0] * root * root * libm::sin(12.0 * x - 4.0);
    match fidelity {
        0 => 0.5 * wave(6.0 * x - 2.0) + 10.0 * (x - 0.5) - 5.0,
        1 => wave(5.5 * x - 2.5),
        _ => wave(6.0 * x - 2.0),
    }
}
