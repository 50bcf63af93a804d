//! Information about the optimum and about `θ`, and the score.

use foretune_core::internals::acquisition::{Information, ScoreSums, information};
use foretune_core::internals::gp::Posterior;
use serde_json::Value;

use crate::case::FIDELITIES;
use crate::reference::{assert_near, float, floats, list, numbers, read, text};

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
