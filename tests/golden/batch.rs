//! The greedy batch design, put together from the core's parts as the optimizer does it.

use foretune_core::internals::batch::gain;
use foretune_core::internals::features::Map;
use foretune_core::internals::gp::{Fallbacks, Observations, Particle, Posterior, Workspace};
use foretune_core::internals::kernel::{Model, Offsets};
use foretune_core::internals::linalg::{LANES, Matrix};
use serde_json::Value;

use crate::reference::{assert_near, float, floats, list, number, read, text};

const D: usize = 2;
const MODEL: Model = Model::plain(Map::Ard, D, Offsets { length: 0.0, signal: 0.0, gamma: 0.0 });

/// Of the information, in nats; no two candidates of the golden data are as near to each other.
const TOLERANCE: f64 = 1e-4;

#[test]
fn greedy_design_agrees_with_the_reference() {
    for case in list(&read("batch.json")["cases"]) {
        let thetas = parameters(case);
        let particles: Vec<Particle<'_>> = thetas.iter().map(|theta| particle(theta, case)).collect();
        let points = floats(&case["x"]);
        let (mut chosen, mut information) = (Vec::new(), 0.0);
        for (pick, want) in list(&case["picks"]).iter().zip(list(&case["objective"])) {
            let gains = gains(&particles, &points, &chosen);
            let (best, gain) = best_of(&gains, &points, &chosen);
            assert_eq!(best as u64, pick.as_u64().expect("an index"), "{}", text(&case["name"]));
            information += gain;
            assert_near(information, number(want), 0.0, TOLERANCE, text(&case["name"]));
            chosen.extend(&points[best * D..][..D]);
        }
    }
}

fn parameters(case: &Value) -> Vec<Vec<f32>> {
    let scales = floats(&case["ln_scale"]);
    let thetas = list(&case["ln_lengthscales"]).iter().zip(scales);
    thetas.map(|(lengths, scale)| [floats(lengths), vec![scale, 0.0]].concat()).collect()
}

fn particle<'a>(theta: &'a [f32], case: &Value) -> Particle<'a> {
    let mut fallbacks = Fallbacks::default();
    let particle = Particle::new(&MODEL, theta, &[float(&case["noise"])], &mut fallbacks);
    assert_eq!(fallbacks, Fallbacks::default());
    particle
}

/// The first of the best candidates that are not chosen yet.
fn best_of(gains: &[f32], points: &[f32], chosen: &[f32]) -> (usize, f32) {
    let free = |&(c, _): &(usize, f32)| !chosen.chunks(D).any(|x| *x == points[c * D..][..D]);
    let all = gains.iter().copied().enumerate().filter(free);
    all.reduce(|best, next| if next.1 > best.1 { next } else { best }).expect("a candidate is left")
}

/// What each point would add to the chosen ones.
fn gains(particles: &[Particle<'_>], points: &[f32], chosen: &[f32]) -> Vec<f32> {
    let mut words = vec![0; Workspace::words(16, D)];
    let mut workspace = Workspace::new(&mut words, 16, D);
    let log_sums = particles.iter().fold(vec![0.0; points.len() / D], |sums, particle| {
        let variances = variances(&mut workspace, particle, points, chosen);
        sums.iter().zip(variances).map(|(sum, variance)| sum + (variance + particle.noise[0]).ln()).collect()
    });
    let means = mean_variances(&mut workspace, particles, points, chosen);
    let noise = particles[0].noise[0];
    means.iter().zip(log_sums).map(|(&mean, sum)| gain(mean, noise, sum, particles.len())).collect()
}

/// Under one particle.
fn variances(
    workspace: &mut Workspace<'_>,
    particle: &Particle<'_>,
    points: &[f32],
    chosen: &[f32],
) -> Vec<f32> {
    let fidelity = vec![0; chosen.len() / D];
    let data = Observations { points: columns(chosen), fidelity: &fidelity, z: &[], common: None };
    for first in (0..fidelity.len()).step_by(LANES) {
        workspace.factor(particle, &data, first, &mut Fallbacks::default()).expect("finite");
    }
    let mut variances = Vec::new();
    for block in points.chunks(LANES * D) {
        let mut out = vec![Posterior::default(); block.len() / D];
        workspace.posterior(particle, &data, columns(block), 1, &mut out);
        variances.extend(out.iter().map(|belief| belief.variance));
    }
    variances
}

/// Under the mean kernel.
fn mean_variances(
    workspace: &mut Workspace<'_>,
    particles: &[Particle<'_>],
    points: &[f32],
    chosen: &[f32],
) -> Vec<f32> {
    let t = chosen.len() / D;
    for (index, block) in chosen.chunks(LANES * D).enumerate() {
        let count = block.len() / D;
        workspace.mean_kernel(particles.iter().copied(), columns(chosen), columns(block));
        workspace.factor_mean(index * LANES, count, particles[0].noise[0]).expect("finite");
    }
    let signal = particles.iter().map(|particle| particle.hyper.signal).sum::<f32>() / particles.len() as f32;
    let mut variances = Vec::new();
    for block in points.chunks(LANES * D) {
        let count = block.len() / D;
        workspace.mean_kernel(particles.iter().copied(), columns(chosen), columns(block));
        variances.extend(&workspace.mean_variances(t, signal)[..count]);
    }
    variances
}

fn columns(points: &[f32]) -> Matrix<'_> {
    Matrix::from_slice(points, D, points.len() / D)
}
