//! Quartiles of the maximum, the Gumbel distribution fitted to them, and draws from it.

use foretune_core::internals::max_value::{Candidate, Ends, best_mean, fit, quantile};

use crate::reference::{assert_near, floats, list, number, numbers, read, text};

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
