//! Posterior, likelihood and gradient at a noise variance of 0.1 (and of 0.05 to 0.4, a number per fidelity).

use serde_json::Value;

use crate::reference::{
    Case, Outcome, assert_near, count, largest_error, list, number, numbers, place, read, size,
};

/// Of mean, variance, covariance: the observations have unit deviation.
const POSTERIOR: f64 = 1e-4;
/// Of the log likelihood, relative.
const LIKELIHOOD: f64 = 1e-4;
/// Of the gradient, relative to its largest entry.
const GRADIENT: f64 = 1e-3;
/// Of a gradient that is zero.
const ZERO: f64 = 1e-5;

#[test]
fn ard_map_agrees_with_the_reference() {
    let file = read("gp.json");
    for expected in list(&file["ard"]) {
        let case = Case::ard(&file, expected);
        let outcome = case.run::<6>();
        check_posterior(&case, &outcome, expected);
        let gradient = numbers(&expected["gradient"]);
        let largest = size(&gradient);
        let error = largest_error(&outcome.gradient, &gradient);
        assert!(
            error <= GRADIENT * largest + ZERO,
            "{}: gradient off by {error:.1e} of {largest}",
            case.name
        );
    }
}

#[test]
fn deep_map_agrees_with_the_reference() {
    let file = read("gp.json");
    for expected in list(&file["deep"]) {
        let case = Case::deep(&file, expected);
        let outcome = case.run::<64>();
        check_posterior(&case, &outcome, expected);
        check_deep_gradient(&case, &outcome.gradient, expected);
    }
}

/// The reference gives some entries of the thousands, and three sums over all.
fn check_deep_gradient(case: &Case, gradient: &[f32], expected: &Value) {
    let (name, want) = (&case.name, &expected["gradient"]);
    let (of_gamma, of_map) = gradient.split_last().expect("there are parameters");
    let want_gamma = number(&expected["gradient_ln_gamma"]);
    let allowed = GRADIENT * number(&want["largest"]).max(want_gamma.abs()) + ZERO;
    assert_near(*of_gamma, want_gamma, 0.0, allowed, name);
    for (index, value) in list(&want["index"]).iter().zip(list(&want["value"])) {
        let index = place(count(index), case.model.dimensions, case.model.features()).index;
        assert_near(of_map[index], number(value), 0.0, allowed, name);
    }
    let sum = |f: fn(f64) -> f64| of_map.iter().map(|&entry| f(f64::from(entry))).sum::<f64>() as f32;
    let size = GRADIENT * number(&want["sum_abs"]) + ZERO;
    assert_near(sum(|entry| entry), number(&want["sum"]), 0.0, size, name);
    assert_near(sum(f64::abs), number(&want["sum_abs"]), 0.0, size, name);
    assert_near(sum(|entry| entry * entry), number(&want["sum_squares"]), 2.0 * GRADIENT, ZERO, name);
}

fn check_posterior(case: &Case, outcome: &Outcome, expected: &Value) {
    let name = &case.name;
    assert_eq!(outcome.fallbacks, Default::default(), "{name}: needed help");
    let posterior = || outcome.posterior.iter();
    for (field, got) in [
        ("mean", posterior().map(|p| p.mean).collect::<Vec<_>>()),
        ("variance", posterior().map(|p| p.variance).collect()),
        ("covariance", posterior().map(|p| p.covariance).collect()),
    ] {
        let error = largest_error(&got, &numbers(&expected[field]));
        assert!(error <= POSTERIOR, "{name}: {field} off by {error:.1e}");
    }
    assert_near(outcome.likelihood, number(&expected["lml"]), LIKELIHOOD, 0.0, name);
}
