//! Posterior, likelihood and gradient at a noise variance of 0.1 (and of 0.05 to 0.4, a number per fidelity); and what `f32`
//! makes of badly conditioned matrices: a table, and the floor on the noise that follows from it.

use std::fmt;

use foretune_core::internals::gp::NOISE_FLOOR;
use serde_json::Value;

use crate::reference::{
    Case, Outcome, assert_near, count, error, float, largest, largest_error, list, number, numbers, path,
    place, read, size, text,
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
fn maps_of_lengthscales_agree_with_the_reference() {
    let file = read("gp.json");
    for expected in list(&file["ard"]).iter().chain(list(&file["linear"])) {
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

const TABLE: &str = "conditioning.txt";

const HEADER: &str = "\
# Largest errors against the f64 reference without a floor on the noise, over two data sets (spread, clustered), 40
# and 128 observations, 6 candidates, 4 fidelities; signal variance 1. Left: observations with the stated noise.
# Right: with noise of variance 0.1, which the model is not told.
# mean: in deviations of the signal. mean/sd: in the posterior's deviations. variance: relative. lml: relative to its
# size, or to the number of observations if that is larger. gradient: relative to its largest entry. raised: pivots.
#
# noise   length condition |    mean  mean/sd variance      lml gradient |    mean  mean/sd      lml gradient | raised
";

#[derive(Clone, Copy, Default)]
struct Errors {
    mean: f64,
    mean_in_deviations: f64,
    variance: f64,
    likelihood: f64,
    gradient: f64,
}

impl Errors {
    fn of(outcome: &Outcome, expected: &Value) -> Errors {
        let (mean, variance) = (numbers(&expected["mean"]), numbers(&expected["variance"]));
        let worst = |f: &dyn Fn(usize) -> f64| largest((0..mean.len()).map(f));
        let got = &outcome.posterior;
        assert_eq!(got.len(), mean.len());
        let (likelihood, gradient) = (number(&expected["lml"]), numbers(&expected["gradient"]));
        Errors {
            mean: worst(&|i| error(got[i].mean, mean[i])),
            mean_in_deviations: worst(&|i| error(got[i].mean, mean[i]) / variance[i].sqrt()),
            variance: worst(&|i| error(got[i].variance, variance[i]) / variance[i]),
            likelihood: error(outcome.likelihood, likelihood) / likelihood.abs().max(number(&expected["t"])),
            gradient: largest_error(&outcome.gradient, &gradient) / size(&gradient),
        }
    }

    fn include(&mut self, other: Errors) {
        self.mean = self.mean.max(other.mean);
        self.mean_in_deviations = self.mean_in_deviations.max(other.mean_in_deviations);
        self.variance = self.variance.max(other.variance);
        self.likelihood = self.likelihood.max(other.likelihood);
        self.gradient = self.gradient.max(other.gradient);
    }
}

/// All cases with the same noise and lengthscale.
struct Row {
    noise: f32,
    length: f32,
    condition: f64,
    as_stated: Errors,
    noisier: Errors,
    raised: u32,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { noise, length, condition, as_stated, noisier, raised } = self;
        write!(f, "{noise:>7.0e} {length:>8} {condition:>9.1e} |")?;
        write!(f, "{:>8.1e} {:>8.1e} ", as_stated.mean, as_stated.mean_in_deviations)?;
        write!(f, "{:>8.1e} {:>8.1e} ", as_stated.variance, as_stated.likelihood)?;
        write!(f, "{:>8.1e} |{:>8.1e} ", as_stated.gradient, noisier.mean)?;
        write!(f, "{:>8.1e} {:>8.1e} ", noisier.mean_in_deviations, noisier.likelihood)?;
        write!(f, "{:>8.1e} | {raised:>6}", noisier.gradient)
    }
}

/// The table, by falling noise and growing lengthscale.
fn measure() -> Vec<Row> {
    let file = read("conditioning.json");
    let mut rows: Vec<Row> = Vec::new();
    for expected in list(&file["ard"]) {
        let (noise, length) = (float(&expected["noise"][0]), float(&expected["lengthscale"]));
        let outcome = Case::ard(&file, expected).run::<4>();
        let errors = Errors::of(&outcome, expected);
        let at = rows.iter().position(|row| (row.noise, row.length) == (noise, length));
        let at = at.unwrap_or_else(|| {
            let none = Errors::default();
            rows.push(Row { noise, length, condition: 0.0, as_stated: none, noisier: none, raised: 0 });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.condition = row.condition.max(number(&expected["condition"]));
        row.raised = row.raised.max(outcome.fallbacks.pivots);
        let target = text(&expected["target"]);
        if !target.ends_with("1e-01") || noise == 0.1 {
            row.as_stated.include(errors);
        }
        if target.ends_with("1e-01") {
            row.noisier.include(errors);
        }
    }
    rows
}

#[test]
fn errors_are_those_of_the_committed_table_or_smaller() {
    let table: String = measure().iter().map(|row| format!("{row}\n")).collect();
    let table = format!("{HEADER}{table}");
    println!("{table}");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path(TABLE), &table).expect("the tests' folder can be written");
    }
    let committed = std::fs::read_to_string(path(TABLE)).expect("the table lies beside the tests");
    let (ours, theirs) = (table_numbers(&table), table_numbers(&committed));
    assert_eq!(ours.len(), theirs.len(), "rows were added or lost: UPDATE_GOLDEN=1 writes the table anew");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(
            (ours.len(), &ours[..3]),
            (theirs.len(), &theirs[..3]),
            "another noise, lengthscale or condition"
        );
        for (ours, theirs) in ours[3..].iter().zip(&theirs[3..]) {
            assert!(*ours <= 2.0 * theirs, "{ours:.1e} was {theirs:.1e}; UPDATE_GOLDEN=1 accepts that");
        }
    }
}

/// The numbers of each row.
fn table_numbers(table: &str) -> Vec<Vec<f64>> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let words =
        |row: &str| row.replace('|', " ").split_whitespace().map(|n| n.parse().expect("a number")).collect();
    rows.map(words).collect()
}

#[test]
fn from_the_noise_floor_on_mean_and_likelihood_can_be_trusted() {
    let rows = measure();
    assert!(rows.iter().any(|row| row.noise == NOISE_FLOOR), "the floor is not in the table");
    for row in rows.iter().filter(|row| row.noise >= NOISE_FLOOR) {
        assert_eq!(row.raised, 0, "{row}");
        for errors in [row.as_stated, row.noisier] {
            assert!(errors.mean < 1e-2 && errors.likelihood < 1e-3, "{row}");
        }
        assert!(row.as_stated.mean_in_deviations < 0.25, "{row}");
    }
}
