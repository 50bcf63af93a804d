//! The optimum's value, information about it and about `θ`, and the score.

use crate::reference::{FIDELITIES, assert_near, float, floats, list, number, numbers, read, text};
use foretune_core::internals::acquisition::{Information, ScoreSums, information};
use foretune_core::internals::gp::Posterior;
use foretune_core::internals::max_value::{Candidate, Ends, best_mean, fit, quantile};
use serde_json::Value;

const RELATIVE: f64 = 1e-3;
/// Of information that is tiny; a candidate that is worth something has hundredths of a nat.
const ABSOLUTE: f64 = 1e-6;

#[test]
fn information_agrees_with_the_reference_for_all_distances_and_correlations() {
    let table = &read("acquisition.json")["information"];
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
    for case in list(&read("acquisition.json")["cases"]) {
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
    for case in list(&read("max_value.json")["cases"]) {
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
