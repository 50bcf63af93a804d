//! The bound of Eq. (64), and where it loses.
//!
//! Its proof is four steps, each of which gives something away. With the least normalised regret `ν_t`, the deviation
//! `σ_t` at the query and the information `I = ½ Σ ln(1 + σ_t²/σ²)` that the queries brought:
//! `R = Σ ν_t σ_t ≤ ν* Σ σ_t ≤ ν* √(T Σ σ_t²) ≤ ν* √(ζ T I) ≤ ν* √(ζ T ρ_T)`.
//! The first is an equality for the rule of Eq. (63) only; the third needs a kernel of at most 1.

use super::law::Law;
use super::watch::Round;

/// `ζ = 2/ln(1 + σ⁻²)`.
pub fn zeta(noise: f64) -> f64 {
    2.0 / (1.0 / noise).ln_1p()
}

/// Greedy maximum information gain of 1, 2, … `rounds` observations, Eq. (65), (66); a point may be observed again.
///
/// At least `1 − 1/e` of the true maximum, because information is submodular.
pub fn greedy_gain(law: &Law, noise: f64, rounds: usize) -> Vec<f64> {
    let (mut spread, mut sum) = (law.covariance(), 0.0);
    (0..rounds)
        .map(|_| {
            let by_variance = |&a: &usize, &b: &usize| spread.variance(a).total_cmp(&spread.variance(b));
            let widest = (0..law.size()).max_by(by_variance).unwrap_or(0);
            sum += information(spread.variance(widest), noise);
            spread.observe(widest, noise);
            sum
        })
        .collect()
}

fn information(variance: f64, noise: f64) -> f64 {
    0.5 * (variance / noise).ln_1p()
}

/// The four steps of the proof, in order, by what each gives away.
pub const LOOSENESS: [&str; 4] = ["worst ν", "unequal σ", "ζ", "gain"];

/// The bound for one run, beside what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Cumulative expected regret, Eq. (41).
    pub regret: f64,
    /// What was lost in truth, summed up.
    pub loss: f64,
    /// `ν*`.
    pub nu: f64,
    /// `ν* √(ζ T ρ_T)`.
    pub bound: f64,
    /// By what factor each step of [`LOOSENESS`] exceeds the one before; their product is `bound / regret`.
    pub factors: [f64; 4],
}

impl Bound {
    /// Of the rounds of a run, with the maximum information gain of as many observations.
    pub fn of(rounds: &[Round], noise: f64, gain: f64) -> Self {
        let t = rounds.len() as f64;
        let sum = |f: fn(&Round) -> f64| rounds.iter().map(f).sum::<f64>();
        let (regret, loss) = (sum(|round| round.regret), sum(|round| round.loss));
        let (deviations, variances) = (sum(|round| round.deviation), sum(|round| round.deviation.powi(2)));
        let nu = rounds.iter().map(|round| round.least).fold(0.0, f64::max);
        let own: f64 = rounds.iter().map(|round| information(round.deviation.powi(2), noise)).sum();
        let steps = [
            regret,
            nu * deviations,
            nu * (t * variances).sqrt(),
            nu * (zeta(noise) * t * own).sqrt(),
            nu * (zeta(noise) * t * gain).sqrt(),
        ];
        let factors = std::array::from_fn(|i| steps[i + 1] / steps[i]);
        Self { regret, loss, nu, bound: steps[4], factors }
    }

    /// Whether the expected regret is below, but for rounding. For the rule of Eq. (63) that is algebra: both sides come
    /// from one posterior, right or wrong.
    pub fn holds(&self) -> bool {
        self.regret <= self.bound * (1.0 + 1e-5)
    }

    /// Whether what was lost in truth is below.
    pub fn covers_loss(&self) -> bool {
        self.loss <= self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_of_independent_points_is_known() {
        let law = Law::new(1, 8, 1e-3);
        let gains = greedy_gain(&law, 0.25, 8);
        for (t, gain) in gains.iter().enumerate() {
            let expected = (t + 1) as f64 * 0.5 * 5f64.ln();
            assert!((gain - expected).abs() < 1e-9, "{gain} instead of {expected}");
        }
    }

    #[test]
    fn the_greedy_gain_of_two_points_is_close_to_the_greatest() {
        let law = Law::new(1, 9, 0.4);
        let noise = 0.1;
        let pair = |i: usize, j: usize| {
            let mut spread = law.covariance();
            let first = information(spread.variance(i), noise);
            spread.observe(i, noise);
            first + information(spread.variance(j), noise)
        };
        let greatest = (0..81).map(|k| pair(k / 9, k % 9)).fold(0.0, f64::max);
        let greedy = greedy_gain(&law, noise, 2)[1];
        assert!(greedy <= greatest + 1e-12 && greedy >= (1.0 - (-1f64).exp()) * greatest);
    }

    #[test]
    fn the_factors_multiply_to_the_whole() {
        let round = |regret: f64, least: f64, deviation: f64| Round {
            regret,
            least,
            excess: 0.0,
            deviation,
            loss: 1.0,
        };
        let rounds = [round(1.0, 1.0, 1.0), round(0.4, 0.5, 0.8), round(0.02, 0.2, 0.1)];
        let bound = Bound::of(&rounds, 0.1, 5.0);
        assert!((bound.regret - 1.42).abs() < 1e-12 && bound.nu == 1.0 && bound.loss == 3.0);
        let product: f64 = bound.factors.iter().product();
        assert!((product - bound.bound / bound.regret).abs() < 1e-12);
        assert!((bound.bound - (zeta(0.1) * 3.0 * 5.0).sqrt()).abs() < 1e-12);
        assert!(bound.factors.iter().all(|factor| *factor >= 1.0) && bound.holds());
    }

    #[test]
    fn zeta_is_what_the_paper_says() {
        assert!((zeta(0.01) - 2.0 / 101f64.ln()).abs() < 1e-12);
    }
}
