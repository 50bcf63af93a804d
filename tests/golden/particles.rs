//! The direction in which SVGD moves the particles, and the gradients of the priors.

use foretune_core::internals::features::Map;
use foretune_core::internals::kernel::Model;
use foretune_core::internals::linalg::{Matrix, MatrixMut};
use foretune_core::internals::prior::{Centres, Kde, LogNormal, MAX_PARTICLES, Prior, Weights, add_gradient};
use foretune_core::internals::svgd::{Bandwidth, add_distances, bandwidth, drift, kernel};
use serde_json::Value;

use crate::reference::{assert_near, float, floats, largest_error, list, number, numbers, read, size, text};

/// Relative to the largest entry.
const TOLERANCE: f64 = 1e-5;

#[test]
fn directions_and_bandwidths_agree_with_the_reference() {
    for case in list(&read("parts.json")["svgd"]["steps"]) {
        let fixed = Bandwidth::Fixed(float(&case["fixed_h"]));
        check_direction(case, fixed, number(&case["fixed_h"]), &numbers(&case["fixed_omega"]));
        check_direction(case, Bandwidth::Median, number(&case["median_h"]), &numbers(&case["median_omega"]));
    }
}

fn check_direction(case: &Value, kind: Bandwidth, h: f64, omega: &[f64]) {
    let name = format!("{}, {kind:?}", text(&case["name"]));
    let v = list(&case["theta"]).len();
    let (mut theta, mut gradient) = (floats(&case["theta"]), floats(&case["gradient"]));
    let p = theta.len() / v;
    let mut pairs = [[0.0; MAX_PARTICLES]; MAX_PARTICLES];
    // In two slices of coordinates, as the optimizer does it.
    let ranges = || [0..p / 2, p / 2..p].into_iter();
    let theta = MatrixMut::from_slice(&mut theta, p, v);
    let mut gradients = MatrixMut::from_slice(&mut gradient, p, v);
    for range in ranges() {
        add_distances(&theta.rows(range.start, range.len()), f32::INFINITY, &mut pairs);
    }
    let got = bandwidth(kind, &pairs, v);
    assert_near(got, h, TOLERANCE, 0.0, &name);
    kernel(&mut pairs, got, v);
    for range in ranges() {
        let mut some = gradients.rows_mut(range.start, range.len());
        drift(&theta.rows(range.start, range.len()), &mut some, &pairs, got);
    }
    let (error, size) = (largest_error(&gradient, omega), size(omega));
    assert!(error <= TOLERANCE * size, "{name}: off by {error:.1e} of {size}");
}

const UNIT: LogNormal = LogNormal { mean: 0.0, deviation: 1.0 };
const PRIOR: Prior = Prior { weights: Weights::Fixed(1.0), length: UNIT, signal: UNIT, gamma: UNIT };

fn model(prior: &Prior, dimensions: usize) -> Model {
    Model::plain(Map::Ard, dimensions, prior.offsets())
}

#[test]
fn density_estimate_agrees_with_the_reference() {
    for case in list(&read("parts.json")["svgd"]["priors"]) {
        let kde = &case["kde"];
        let (count, rows) = (list(&kde["centres"]).len(), floats(&kde["centres"]));
        let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
        let in_memory = Centres::Floats(Matrix::from_slice(&rows, rows.len() / count, count));
        for (theta, want) in list(&case["points"]).iter().zip(list(&kde["gradient"])) {
            for centres in [in_memory, Centres::Bytes(&bytes)] {
                let kde = Kde { centres, count, bandwidth: float(&kde["bandwidth"]), mix: 0.0 };
                let mut got = vec![0.0; rows.len() / count];
                let theta = floats(theta);
                add_gradient((&PRIOR, &theta), &model(&PRIOR, 1), Some(&kde), &theta, &mut got);
                let (error, size) = (largest_error(&got, &numbers(want)), size(&numbers(want)));
                assert!(error <= TOLERANCE * size, "at {theta:?}: off by {error:.1e} of {size}");
            }
        }
    }
}

/// The core's Gaussian prior has a mean and deviation for each kind of parameter, in logarithms; `θ` is relative to
/// the mean. So each coordinate of the reference is checked as a lengthscale, as a signal variance and as a decay.
#[test]
fn gaussian_prior_agrees_with_the_reference() {
    for case in list(&read("parts.json")["svgd"]["priors"]) {
        let (mean, deviation) = (floats(&case["gaussian"]["mean"]), floats(&case["gaussian"]["sd"]));
        let p = mean.len();
        for (point, want) in list(&case["points"]).iter().zip(list(&case["gaussian"]["gradient"])) {
            let (point, want) = (floats(point), numbers(want));
            for first in 0..p {
                let at = [first, (first + 1) % p, (first + 2) % p];
                let [length, signal, gamma] =
                    at.map(|i| LogNormal { mean: mean[i], deviation: deviation[i] });
                let prior = Prior { length, signal, gamma, ..PRIOR };
                let mut got = [0.0; 3];
                let relative = at.map(|i| point[i] - mean[i]);
                add_gradient((&prior, &relative), &model(&prior, 1), None, &relative, &mut got);
                for (got, i) in got.into_iter().zip(at) {
                    assert_near(got, want[i], TOLERANCE, TOLERANCE, &format!("coordinate {i} at {point:?}"));
                }
            }
        }
    }
}
