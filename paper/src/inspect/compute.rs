//! What the core makes of a file.

use foretune_core::internals::acquisition::{ScoreSums, information};
use foretune_core::internals::gp::{
    Fallbacks, NOISE_FLOOR, Observations, Particle, Posterior, VARIANCE_FLOOR, Workspace,
};
use foretune_core::internals::kernel::{Hyper, PairSums};
use foretune_core::internals::linalg::{LANES, Matrix};

use super::case::{Case, Scoring};
use super::overflow;
use super::parameters::{Gradient, Parameters};
use host_sim::error::Error;

#[derive(Clone, Debug)]
pub struct Belief {
    /// Posterior as `[candidate · fidelities + m]`.
    pub posterior: Vec<Posterior>,
    pub likelihood: f32,
    pub gradient: Gradient,
}

/// What the core computes for all particles together, by name, as `[candidate · fidelities + m]`.
type Scores = [(&'static str, Vec<f32>); 3];

/// Computes the belief of one particle. Where the core had to help itself, it says so in `warnings`.
pub fn belief(case: &Case, parameters: &Parameters, warnings: &mut Vec<String>) -> Result<Belief, Error> {
    let (t, features) = (case.y.len(), parameters.model.features());
    let mut words = vec![0; Workspace::words(t, features)];
    let mut workspace = Workspace::new(&mut words, t, features);
    let mut fallbacks = Fallbacks::default();
    let noise = &parameters.noise[..case.fidelities];
    let particle = Particle::new(&parameters.model, &parameters.theta, noise, &mut fallbacks);
    let points = Matrix::from_slice(&case.points, case.d, case.y.len());
    let data = Observations { points, fidelity: &case.fidelity, z: &case.y, counts: &[], common: None };
    for first in (0..case.y.len()).step_by(LANES) {
        workspace
            .factor(&particle, &data, first, &mut fallbacks)
            .map_err(|_| overflow(format!("kernel matrix of {}", parameters.name)))?;
    }
    // Minus zero, without observations, would be no help to anyone.
    let likelihood = workspace.condition(&data) + 0.0;
    let gradient = gradient(&mut workspace, &particle, &data);
    let posterior = posterior(&mut workspace, &particle, &data, case);
    warnings.extend(remarks(parameters, &particle, &fallbacks, &posterior, case.fidelities));
    check(parameters, &posterior, likelihood, &gradient)?;
    Ok(Belief { posterior, likelihood, gradient: parameters.natural_gradient(&gradient) })
}

/// The core's gradient, but for that in `γ`, which is natural, so that `γ = 0` has one too.
fn gradient(workspace: &mut Workspace<'_>, particle: &Particle<'_>, data: &Observations<'_>) -> Vec<f32> {
    workspace.solve(data.z.len());
    let (mut gradient, mut sums) = (vec![0.0; particle.theta.len()], PairSums::default());
    for first in (0..data.z.len()).step_by(LANES) {
        workspace.gradient(particle, data, first, &mut gradient, &mut sums);
    }
    // ∂/∂ ln γ = γ ∂/∂γ: the same at γ = 1.
    particle.model.finish_gradient(&Hyper { gamma: 1.0, ..particle.hyper }, &sums, &mut gradient);
    gradient
}

fn posterior(
    workspace: &mut Workspace<'_>,
    particle: &Particle<'_>,
    data: &Observations<'_>,
    case: &Case,
) -> Vec<Posterior> {
    let mut all = Vec::with_capacity(case.candidates.len() / case.d * case.fidelities);
    for block in case.candidates.chunks(LANES * case.d) {
        let points = Matrix::from_slice(block, case.d, block.len() / case.d);
        let mut out = vec![Posterior::default(); points.ncols() * case.fidelities];
        workspace.posterior(particle, data, points, case.fidelities, &mut out);
        all.extend(out);
    }
    all
}

/// Where the core did otherwise than the file says.
fn remarks(
    parameters: &Parameters,
    particle: &Particle<'_>,
    fallbacks: &Fallbacks,
    posterior: &[Posterior],
    fidelities: usize,
) -> Vec<String> {
    let mut remarks = Vec::new();
    let name = &parameters.name;
    if fallbacks.noise > 0 {
        let floor = NOISE_FLOOR * particle.hyper.signal;
        let below: Vec<String> = (0..fidelities)
            .filter(|&m| parameters.noise[m] < floor)
            .map(|m| format!("{} at fidelity {}", parameters.noise[m], m + 1))
            .collect();
        remarks.push(format!(
            "{name}.noise: {} was raised to {floor}, {NOISE_FLOOR} of the signal variance: less cannot be told from rounding in 32-bit floats",
            below.join(", ")
        ));
    }
    if fallbacks.pivots > 0 {
        remarks.push(format!("{name}: {} pivots of the kernel matrix were raised", fallbacks.pivots));
    }
    let least = particle.hyper.signal * VARIANCE_FLOOR;
    let raised = posterior.iter().filter(|belief| belief.variance <= least).count();
    if raised > 0 {
        remarks.push(format!(
            "{name}: {raised} of the variances were raised to {least}, {VARIANCE_FLOOR} of the signal variance"
        ));
    }
    remarks
}

fn check(
    parameters: &Parameters,
    posterior: &[Posterior],
    likelihood: f32,
    gradient: &[f32],
) -> Result<(), Error> {
    let numbers = |f: fn(&Posterior) -> f32| posterior.iter().all(|belief| f(belief).is_finite());
    for (finite, result) in [
        (numbers(|belief| belief.mean), "mean"),
        (numbers(|belief| belief.variance), "var"),
        (numbers(|belief| belief.covariance), "cov"),
        (likelihood.is_finite(), "lml"),
        (gradient.iter().all(|entry| entry.is_finite()), "grad"),
    ] {
        if !finite {
            return Err(overflow(format!("{result} of {}", parameters.name)));
        }
    }
    Ok(())
}

/// Scores the candidates.
///
/// As in the optimizer, noise below the floor counts as the floor. The optimizer's noise is the problem's; if here the
/// particles disagree about it, `mean_v(σᵥ² + μᵥ²) − (mean_v μᵥ)²` of Eq. (36) takes the mean of their noises.
pub fn scores(case: &Case, scoring: &Scoring, beliefs: &[Belief]) -> Result<Scores, Error> {
    let (v, levels) = (beliefs.len(), case.fidelities);
    let (mut about_optimum, mut transfer, mut score) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..case.candidates.len() / case.d * levels {
        let (m, truth) = (i % levels, i - i % levels + levels - 1);
        let (mut sums, mut mean_noise) = (ScoreSums::ZERO, 0.0);
        for (number, (belief, maxima)) in beliefs.iter().zip(&scoring.maxima).enumerate() {
            let noise = case.particles[number].noise[m].max(NOISE_FLOOR);
            let (own, truth) = (&belief.posterior[i], &belief.posterior[truth]);
            sums.add(own, noise, information(scoring.form, own, truth, noise, maxima), number + 1);
            mean_noise += (noise - mean_noise) / (number + 1) as f32;
        }
        about_optimum.push(sums.information / v as f32);
        transfer.push(sums.transfer(mean_noise, v));
        score.push(sums.score(scoring.beta, false, mean_noise, scoring.costs[m], v));
    }
    let scores = [("information", about_optimum), ("transfer", transfer), ("score", score)];
    match scores.iter().find(|(_, values)| !values.iter().all(|value| value.is_finite())) {
        Some((result, _)) => Err(overflow(result)),
        None => Ok(scores),
    }
}
