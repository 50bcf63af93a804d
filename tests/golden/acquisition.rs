//! The optimum's value, information about it and about `θ`, the score; and the greedy batch design, put together from the
//! core's parts as the optimizer does it.

use crate::reference::{FIDELITIES, assert_near, float, floats, list, number, numbers, read, text};
use foretune_core::internals::acquisition::{Information, ScoreSums, information};
use foretune_core::internals::batch::gain;
use foretune_core::internals::features::Map;
use foretune_core::internals::gp::{Fallbacks, Observations, Particle, Posterior, Workspace};
use foretune_core::internals::kernel::{Model, Offsets};
use foretune_core::internals::linalg::{LANES, Matrix};
use foretune_core::internals::max_value::{Candidate, Ends, best_mean, fit, quantile};
use serde_json::Value;

const RELATIVE: f64 = 1e-3;
/// Of information that is tiny; a candidate that is worth something has hundredths of a nat.
const ABSOLUTE: f64 = 1e-6;

#[test]
fn information_agrees_with_the_reference_for_all_distances_and_correlations() {
    let table = &read("parts.json")["acquisition"]["information"];
    for (&g, row) in floats(&table["g"]).iter().zip(list(&table["value"])) {
        for (&share, want) in floats(&table["rho2"]).iter().zip(numbers(row)) {
            let truth = Posterior { mean: 0.0, variance: 1.0, covariance: 1.0 };
            let belief = Posterior { covariance: share.sqrt(), ..truth };
            let got = information(Information::Correlated, &belief, &truth, 0.0, &[g]);
            assert_near(got, want, RELATIVE, ABSOLUTE, &format!("g {g}, ρ² {share}"));
            if share == 1.0 {
                let got = information(Information::Paper, &belief, &truth, 0.0, &[g]);
                assert_near(got, want, RELATIVE, ABSOLUTE, &format!("g {g}"));
            }
        }
    }
}

#[test]
fn terms_and_scores_agree_with_the_reference() {
    for case in list(&read("parts.json")["acquisition"]["cases"]) {
        for (form, terms, scores) in [
            (Information::Paper, "paper", "score_paper"),
            (Information::Correlated, "correlated", "score_correlated"),
        ] {
            check(case, form, &numbers(&case[terms]), &numbers(&case[scores]));
        }
    }
}

fn check(case: &Value, form: Information, terms: &[f64], scores: &[f64]) {
    let beliefs = beliefs(case);
    let (noise, cost) = (floats(&case["noise"]), floats(&case["cost"]));
    let maxima: Vec<Vec<f32>> = list(&case["maxima"]).iter().map(floats).collect();
    let v = maxima.len();
    for m in 0..FIDELITIES {
        let name = format!("{}, {form:?}, fidelity {m}", text(&case["name"]));
        let mut sums = ScoreSums::default();
        for (particle, maxima) in maxima.iter().enumerate() {
            let at = |m: usize| &beliefs[particle * FIDELITIES + m];
            let got = information(form, at(m), at(FIDELITIES - 1), noise[m], maxima);
            assert_near(got, terms[particle * FIDELITIES + m], RELATIVE, ABSOLUTE, &name);
            sums.add(at(m), noise[m], got, particle + 1);
        }
        let transfer = numbers(&case["transfer_capped"])[m];
        assert_near(sums.transfer(noise[m], v), transfer, RELATIVE, ABSOLUTE, &name);
        let score = sums.score(float(&case["beta"]), false, noise[m], cost[m], v);
        assert_near(score, scores[m], RELATIVE, ABSOLUTE / f64::from(cost[m]), &name);
    }
}

/// Per particle and fidelity.
fn beliefs(case: &Value) -> Vec<Posterior> {
    let [mean, variance, covariance] = ["mean", "variance", "covariance"].map(|field| floats(&case[field]));
    let all = mean.into_iter().zip(variance).zip(covariance);
    all.map(|((mean, variance), covariance)| Posterior { mean, variance, covariance }).collect()
}

/// Of all values, in units of the Gumbel distribution's scale.
const TOLERANCE: f64 = 1e-3;

#[test]
fn quartiles_fit_and_draws_agree_with_the_reference() {
    for case in list(&read("parts.json")["max_value"]["cases"]) {
        let name = text(&case["name"]);
        let (mean, deviation) = (floats(&case["mean"]), floats(&case["sd"]));
        let candidates: Vec<Candidate> =
            mean.iter().zip(&deviation).map(|(&m, &s)| Candidate::new(m, s * s)).collect();
        let scale = number(&case["scale"]);
        let near = |got, want, what: &str| {
            assert_near(got, want, 0.0, TOLERANCE * scale, &format!("{name}, {what}"));
        };
        for (p, want) in [0.25, 0.5, 0.75].into_iter().zip(numbers(&case["quartiles"])) {
            near(quantile(&candidates, &Ends::of(&candidates), p), want, &format!("quantile {p}"));
        }
        let gumbel = fit(&candidates);
        near(gumbel.location, number(&case["location"]), "location");
        near(gumbel.scale, scale, "scale");
        for (u, want) in floats(&case["u"]).into_iter().zip(numbers(&case["draws"])) {
            // Far out in the tail, a draw is many scales away, and so is what an error of the scale does to it.
            let far = (want - number(&case["location"])).abs().max(scale);
            let got = gumbel.quantile(u).max(best_mean(&candidates));
            assert_near(got, want, 0.0, TOLERANCE * far, &format!("{name}, draw at {u}"));
        }
    }
}

const D: usize = 2;
const MODEL: Model = Model::plain(Map::Ard, D, Offsets { length: 0.0, signal: 0.0, gamma: 0.0 });

/// Of the information, in nats; no two candidates of the golden data are as near to each other.
const NATS: f64 = 1e-4;

#[test]
fn greedy_design_agrees_with_the_reference() {
    for case in list(&read("parts.json")["batch"]["cases"]) {
        let thetas = parameters(case);
        let particles: Vec<Particle<'_>> = thetas.iter().map(|theta| particle(theta, case)).collect();
        let points = floats(&case["x"]);
        let (mut chosen, mut information) = (Vec::new(), 0.0);
        for (pick, want) in list(&case["picks"]).iter().zip(list(&case["objective"])) {
            let gains = gains(&particles, &points, &chosen);
            let (best, gain) = best_of(&gains, &points, &chosen);
            assert_eq!(best as u64, pick.as_u64().expect("an index"), "{}", text(&case["name"]));
            information += gain;
            assert_near(information, number(want), 0.0, NATS, text(&case["name"]));
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
    let data =
        Observations { points: columns(chosen), fidelity: &fidelity, z: &[], counts: &[], common: None };
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
