//! What must hold of a Gaussian process whatever its numbers; `tests/golden` checks the numbers.

use super::*;
use crate::features::Map;
use crate::kernel::Offsets;
use crate::random::{Purpose, Random};
extern crate std;
use std::vec;
use std::vec::Vec;

const D: usize = 3;
const FIDELITIES: usize = 3;
const MAPS: [Map; 2] = [Map::Ard, Map::Deep { width: 5 }];
const OFFSETS: Offsets = Offsets { length: -0.7, signal: 0.2, gamma: -1.5 };
const NOISE: [f32; FIDELITIES] = [0.2, 0.1, 0.05];

/// With one more than the features of either map, so that strides matter.
fn workspace() -> Workspace<'static> {
    Workspace::new(vec![0; Workspace::words(40, 6)].leak(), 40, 6)
}

fn model(map: Map) -> Model {
    Model::plain(map, D, OFFSETS)
}

/// A moderate `θ`.
fn parameters(model: &Model) -> Vec<f32> {
    let mut random = Random::new(1, 0, 0, Purpose::Prior, 0);
    (0..model.parameters()).map(|_| 0.5 * random.normal()).collect()
}

/// Owned observations.
#[derive(Clone, Default)]
struct Data {
    points: Vec<f32>,
    fidelity: Vec<u8>,
    z: Vec<f32>,
}

impl Data {
    /// A smooth function at random points and fidelities.
    fn random(t: usize) -> Data {
        let mut random = Random::new(2, 0, 0, Purpose::Start, 0);
        let mut data = Data::default();
        for _ in 0..t {
            let x: [f32; D] = core::array::from_fn(|_| random.uniform());
            let m = random.below(FIDELITIES);
            data.push(&x, m as u8, math::tanh(3.0 * x[0] - 2.0 * x[1] * x[2]) - 0.2 * m as f32);
        }
        data
    }

    fn push(&mut self, x: &[f32; D], fidelity: u8, z: f32) {
        self.points.extend(x);
        self.fidelity.push(fidelity);
        self.z.push(z);
    }

    fn first(&self, t: usize) -> Observations<'_> {
        let points = Matrix::from_slice(&self.points[..t * D], D, t);
        Observations { points, fidelity: &self.fidelity[..t], z: &self.z[..t], counts: &[], common: None }
    }

    fn all(&self) -> Observations<'_> {
        self.first(self.z.len())
    }
}

fn particle<'a>(model: &'a Model, theta: &'a [f32]) -> Particle<'a> {
    Particle::new(model, theta, &NOISE, &mut Fallbacks::default())
}

/// Factor and likelihood, all blocks at once.
fn build(workspace: &mut Workspace<'_>, particle: &Particle<'_>, data: &Observations<'_>) -> f32 {
    for first in (0..data.z.len()).step_by(LANES) {
        workspace.factor(particle, data, first, &mut Fallbacks::default()).expect("finite");
    }
    workspace.condition(data)
}

fn gradient(workspace: &mut Workspace<'_>, particle: &Particle<'_>, data: &Observations<'_>) -> Vec<f32> {
    let (mut gradient, mut sums) = (vec![0.0; particle.theta.len()], PairSums::default());
    workspace.solve(data.z.len());
    for first in (0..data.z.len()).step_by(LANES) {
        workspace.gradient(particle, data, first, &mut gradient, &mut sums);
    }
    particle.model.finish_gradient(&particle.hyper, &sums, &mut gradient);
    gradient
}

/// At all fidelities of up to 8 points.
fn beliefs(
    workspace: &mut Workspace<'_>,
    particle: &Particle<'_>,
    data: &Observations<'_>,
    points: &[[f32; D]],
) -> Vec<Posterior> {
    let mut out = vec![Posterior::default(); points.len() * FIDELITIES];
    let points = Matrix::from_slice(points.as_flattened(), D, points.len());
    workspace.posterior(particle, data, points, FIDELITIES, &mut out);
    out
}

/// The posterior of a model fitted from nothing.
fn fitted(particle: &Particle<'_>, data: &Observations<'_>, points: &[[f32; D]]) -> Vec<Posterior> {
    let mut workspace = workspace();
    build(&mut workspace, particle, data);
    beliefs(&mut workspace, particle, data, points)
}

const POINTS: [[f32; D]; 3] = [[0.5, 0.5, 0.5], [0.0, 1.0, 0.2], [0.9, 0.1, 0.8]];

#[test]
fn grown_observation_by_observation_it_has_the_bits_of_one_built_at_once() {
    let data = Data::random(27);
    for map in MAPS {
        let model = model(map);
        let theta = parameters(&model);
        let particle = particle(&model, &theta);
        let mut growing = workspace();
        for t in 1..=27 {
            let data = data.first(t);
            let last = (t - 1) / LANES * LANES;
            growing.factor(&particle, &data, last, &mut Fallbacks::default()).expect("finite");
            let likelihood = growing.condition(&data);
            let mut built = workspace();
            assert_eq!(likelihood.to_bits(), build(&mut built, &particle, &data).to_bits());
            let grown = beliefs(&mut growing, &particle, &data, &POINTS);
            assert_eq!(grown, beliefs(&mut built, &particle, &data, &POINTS), "{map:?}, {t} observations");
        }
    }
}

#[test]
fn analytic_gradient_agrees_with_central_differences() {
    const STEP: f32 = 0.01;
    let data = Data::random(21);
    for map in MAPS {
        let model = model(map);
        let theta = parameters(&model);
        let mut workspace = workspace();
        build(&mut workspace, &particle(&model, &theta), &data.all());
        let gradient = gradient(&mut workspace, &particle(&model, &theta), &data.all());
        let largest = gradient.iter().fold(0.0f32, |largest, entry| largest.max(entry.abs()));
        assert!(largest > 1.0, "too flat to tell");
        for i in 0..theta.len() {
            let mut likelihood = |by: f32| {
                let mut moved = theta.clone();
                moved[i] += by;
                build(&mut workspace, &particle(&model, &moved), &data.all())
            };
            let slope = (likelihood(STEP) - likelihood(-STEP)) / (2.0 * STEP);
            let error = (slope - gradient[i]).abs();
            assert!(error < 1e-3 * largest, "{map:?}, {i}: {} against {slope} of {largest}", gradient[i]);
        }
    }
}

#[test]
fn the_order_of_observations_changes_rounding_only() {
    let data = Data::random(33);
    let mut shuffled = Data::default();
    for i in (0..33).map(|i| i * 20 % 33) {
        let x = data.points[i * D..].first_chunk().expect("a point");
        shuffled.push(x, data.fidelity[i], data.z[i]);
    }
    for map in MAPS {
        let model = model(map);
        let theta = parameters(&model);
        let particle = particle(&model, &theta);
        let one = fitted(&particle, &data.all(), &POINTS);
        let other = fitted(&particle, &shuffled.all(), &POINTS);
        for (one, other) in one.iter().zip(&other) {
            assert!((one.mean - other.mean).abs() < 1e-5, "{map:?}: {one:?} against {other:?}");
            assert!((one.variance - other.variance).abs() < 1e-5, "{map:?}: {one:?} against {other:?}");
            assert!((one.covariance - other.covariance).abs() < 1e-5, "{map:?}: {one:?} against {other:?}");
        }
    }
}

#[test]
fn with_little_noise_it_passes_through_the_observations() {
    let model = model(Map::Ard);
    let theta = [0.0; D + 2];
    let mut fallbacks = Fallbacks::default();
    let particle = Particle::new(&model, &theta, &[0.0; FIDELITIES], &mut fallbacks);
    assert_eq!(fallbacks, Fallbacks { noise: 3, ..Fallbacks::default() });
    let data = Data::random(24);
    for i in 0..24 {
        let x = *data.points[i * D..].first_chunk().expect("a point");
        let belief = fitted(&particle, &data.all(), &[x])[usize::from(data.fidelity[i])];
        assert!((belief.mean - data.z[i]).abs() < 0.01, "{i}: {} instead of {}", belief.mean, data.z[i]);
        assert!(belief.variance <= 1.01 * particle.noise[0], "{i}: {}", belief.variance);
    }
}

#[test]
fn an_observation_shrinks_the_variance_near_it_and_at_its_fidelity_most() {
    let model = model(Map::Ard);
    let theta = [0.0; D + 2];
    let particle = particle(&model, &theta);
    let (here, near, far) = ([0.2; D], [0.25; D], [1.0; D]);
    let mut data = Data::default();
    data.push(&here, 2, 1.0);
    let after = fitted(&particle, &data.all(), &[here, near, far]);
    let variance = |point: usize, m: usize| after[point * FIDELITIES + m].variance;
    let prior = particle.hyper.signal;
    assert!(variance(0, 2) < variance(1, 2) && variance(1, 2) < variance(2, 2) && variance(2, 2) < prior);
    assert!(variance(0, 2) < variance(0, 1) && variance(0, 1) < variance(0, 0) && variance(0, 0) < prior);
    for at in [0, 1, 2].map(|point| after[point * FIDELITIES + 2]) {
        assert_eq!(at.covariance, at.variance, "of the truth with itself");
    }
}

#[test]
fn repeating_one_observation_at_the_noise_floor_keeps_the_variance_positive() {
    for map in MAPS {
        let model = model(map);
        let theta = parameters(&model);
        let mut fallbacks = Fallbacks::default();
        let particle = Particle::new(&model, &theta, &[0.0; FIDELITIES], &mut fallbacks);
        let (x, mut data) = ([0.3, 0.6, 0.9], Data::default());
        let mut workspace = workspace();
        for t in 1..=40 {
            data.push(&x, 1, 0.7);
            let last = (t - 1) / LANES * LANES;
            workspace.factor(&particle, &data.all(), last, &mut fallbacks).expect("finite");
            workspace.condition(&data.all());
            let belief = beliefs(&mut workspace, &particle, &data.all(), &[x])[1];
            assert!((belief.mean - 0.7).abs() < 2e-3, "{map:?}, {t}: {belief:?}");
            let expected = particle.noise[1] / t as f32;
            // Some 10⁻⁷ of the prior's variance are lost to rounding.
            let lost = 2e-6 * particle.hyper.signal;
            assert!(belief.variance > 0.0, "{map:?}, {t}: {belief:?}");
            assert!((belief.variance - expected).abs() < 0.01 * expected + lost, "{map:?}, {t}: {belief:?}");
        }
        assert_eq!(fallbacks.pivots, 0, "{map:?}");
    }
}

#[test]
fn the_mean_of_repeats_says_what_they_say() {
    for map in MAPS {
        let model = model(map);
        let theta = parameters(&model);
        let particle = particle(&model, &theta);
        let (once, points) = (Data::random(12), [[0.2, 0.4, 0.6], [0.9, 0.1, 0.5]]);
        let mut repeated = once.clone();
        for i in 0..3 {
            let x: [f32; D] = once.points[i * D..][..D].try_into().unwrap();
            (0..i + 1).for_each(|_| repeated.push(&x, once.fidelity[i], once.z[i] + 0.5));
        }
        let (mut z, mut counts) = (once.z.clone(), [1.0; 12]);
        for (i, (z, count)) in z.iter_mut().zip(&mut counts).enumerate().take(3) {
            *count += (i + 1) as f32;
            *z += 0.5 * (i + 1) as f32 / *count;
        }
        let shared = Observations { z: &z, counts: &counts, ..once.all() };
        let found = fitted(&particle, &shared, &points);
        for (one, other) in found.iter().zip(fitted(&particle, &repeated.all(), &points)) {
            let gaps =
                [one.mean - other.mean, one.variance - other.variance, one.covariance - other.covariance];
            assert!(gaps.iter().all(|gap| gap.abs() < 1e-4), "{map:?}: {one:?} {other:?}");
        }
    }
}

#[test]
fn each_fidelity_has_its_own_noise() {
    let model = model(Map::Ard);
    let theta = [0.0; D + 2];
    let particle = particle(&model, &theta);
    let s = particle.hyper.signal;
    for (m, noise) in NOISE.into_iter().enumerate() {
        let mut data = Data::default();
        data.push(&[0.4; D], m as u8, 1.0);
        let belief = fitted(&particle, &data.all(), &[[0.4; D]])[m];
        assert!((belief.mean - s / (s + noise)).abs() < 1e-6, "{m}: {belief:?}");
        assert!((belief.variance - s * noise / (s + noise)).abs() < 1e-6, "{m}: {belief:?}");
    }
}

#[test]
fn the_noise_floor_acts_per_fidelity_and_is_counted() {
    let model = model(Map::Ard);
    let mut fallbacks = Fallbacks::default();
    let particle = Particle::new(&model, &[0.0; D + 2], &[1e-6, 0.5, 0.0], &mut fallbacks);
    let floor = NOISE_FLOOR * particle.hyper.signal;
    assert_eq!(particle.noise[..3], [floor, 0.5, floor]);
    assert_eq!(fallbacks.noise, 2);
}

/// As far as SVGD lets a parameter go, with offsets as far as a prior may have them.
#[test]
fn huge_parameters_give_no_nan() {
    let data = Data::random(20);
    for map in MAPS {
        for offset in [-20.0, 0.0, 20.0] {
            let offsets = Offsets { length: offset, signal: offset, gamma: offset };
            let model = Model::plain(map, D, offsets);
            for signs in 0..8 {
                let sign = |bit: usize| if signs >> bit & 1 == 0 { 30.0 } else { -30.0 };
                let mut theta: Vec<f32> = (0..model.parameters()).map(|i| sign(i % 2)).collect();
                theta[model.gamma()] = sign(2);
                check_finite(&particle(&model, &theta), &data.all());
            }
        }
    }
}

fn check_finite(particle: &Particle<'_>, data: &Observations<'_>) {
    let mut workspace = workspace();
    assert!(build(&mut workspace, particle, data).is_finite());
    assert!(gradient(&mut workspace, particle, data).iter().all(|entry| entry.is_finite()));
    for belief in beliefs(&mut workspace, particle, data, &POINTS) {
        assert!(belief.mean.is_finite() && belief.covariance.is_finite(), "{belief:?}");
        assert!(belief.variance > 0.0 && belief.variance.is_finite(), "{belief:?}");
    }
}

#[test]
fn a_kernel_that_is_not_a_number_is_an_error() {
    let data = Data::random(3);
    for map in MAPS {
        let model = model(map);
        let mut theta = parameters(&model);
        theta[0] = f32::NAN;
        let particle = particle(&model, &theta);
        let result = workspace().factor(&particle, &data.all(), 0, &mut Fallbacks::default());
        assert_eq!(result, Err(Error::NotPositiveDefinite { row: 0 }));
    }
}

/// Without any noise, an observation that is repeated leaves nothing for the pivot: it is raised to the floor.
#[test]
fn pivots_that_vanish_are_raised_to_the_floor_and_counted() {
    for map in MAPS {
        let model = model(map);
        let theta = parameters(&model);
        let mut particle = particle(&model, &theta);
        particle.noise = [0.0; MAX_FIDELITIES];
        let (x, mut data, mut fallbacks) = ([0.3, 0.6, 0.9], Data::default(), Fallbacks::default());
        (0..LANES).for_each(|_| data.push(&x, 1, 0.7));
        let mut workspace = workspace();
        workspace.factor(&particle, &data.all(), 0, &mut fallbacks).expect("finite");
        assert_eq!(fallbacks.pivots as usize, LANES - 1, "{map:?}: all but the first");
        assert!(workspace.condition(&data.all()).is_finite(), "{map:?}");
        let belief = beliefs(&mut workspace, &particle, &data.all(), &[x])[1];
        assert!((belief.mean - 0.7).abs() < 1e-3 && belief.variance > 0.0, "{map:?}: {belief:?}");
    }
}
