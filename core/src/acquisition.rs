//! What a query is worth: information about the optimum and about `θ`, per cost.
//!
//! About the optimum, under the joint distribution of Eq. (20), with `r = φ(g)/Φ(g)` and `S` samples `f*ₛ` of its value:
//! - *paper* form, Eq. (21)-(23): `−½ meanₛ ln(1 − r(g + r))`, `g = (f*ₛ − μ⁽ᵐ⁾)/σ⁽ᵐ⁾`. The paper lacks the square root
//!   of the truncated variance; with it there is the factor ½, so its β is twice ours.
//! - *correlated* form: `−½ meanₛ ln(1 − ρ² r(g + r))`, `g` at the truth's fidelity and
//!   `ρ² = Cov(f⁽ᵐ⁾,f⁽ᴹ⁾)² / ((σ⁽ᵐ⁾² + σ²) σ⁽ᴹ⁾²)`. The paper form counts a cheap fidelity as if it were the truth.
//!
//! About `θ`, Eq. (33) with the bound of Eq. (34): Eq. (36), the noise of Eq. (35) kept in both terms,
//! `Δα = ½ [ln(meanᵥ(σᵥ² + μᵥ²) − (meanᵥ μᵥ)² + σ²) − meanᵥ ln(σᵥ² + σ²)]`, at most `ln V`: the information about
//! which of `V` equally likely particles is right cannot be more.
//!
//! Both together per cost, Eq. (28), (29), (32), come to Eq. (37): `(meanᵥ information + β Δα) / λ⁽ᵐ⁾`. With one particle
//! and without the second term that is Eq. (19), (24), (25).

use crate::gp::Posterior;
use crate::linalg::LANES;
use crate::math;

/// Which approximation of the information about the optimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Information {
    /// Eq. (22), as if every fidelity had the truth's maximum.
    Paper,
    /// Through the correlation of the fidelity with the truth (GIBBON).
    Correlated,
}

/// Information of one observation of `f⁽ᵐ⁾` about the optimum, for one particle, in nats; at least 0.
pub fn information(
    form: Information,
    belief: &Posterior,
    truth: &Posterior,
    noise: f32,
    maxima: &[f32],
) -> f32 {
    let (at, share) = match form {
        Information::Paper => (belief, 1.0),
        Information::Correlated => (truth, correlation(belief, truth, noise)),
    };
    let precision = 1.0 / math::sqrt(at.variance);
    let worth = |maximum: f32| {
        let left = (1.0 - share) + share * remaining((maximum - at.mean) * precision);
        math::ln(math::clamp(left, SMALLEST_SHARE, 1.0))
    };
    let mut sum = 0.0;
    if cfg!(target_arch = "arm") {
        maxima.iter().for_each(|&maximum| sum += worth(maximum));
    } else {
        // Eight at once, which is vectorised; then summed up in order.
        for some in maxima.chunks(LANES) {
            let mut all = [at.mean; LANES];
            all.iter_mut().zip(some).for_each(|(all, maximum)| *all = *maximum);
            for value in &mut all {
                *value = worth(*value);
            }
            all.iter().take(some.len()).for_each(|worth| sum += worth);
        }
    }
    if maxima.is_empty() { 0.0 } else { -0.5 * sum / maxima.len() as f32 }
}

/// Least part of a variance that knowing the optimum can leave: that of a mean a million deviations above it.
const SMALLEST_SHARE: f32 = 1e-12;

/// `1 − r(g + r)`, the part of a variance that is left. The difference cancels where the mean lies far above the
/// optimum; there it is taken from its series in `1/g²`, to 3·10⁻⁵.
#[inline(always)]
fn remaining(g: f32) -> f32 {
    let near = 1.0 - math::truncation(g);
    let q = 1.0 / (g * g);
    if g > -16.0 { near } else { q * (1.0 - q * (6.0 - 50.0 * q)) }
}

/// `ρ²` between a noisy observation at a fidelity and the truth, in `[0, 1]`.
fn correlation(belief: &Posterior, truth: &Posterior, noise: f32) -> f32 {
    let share = belief.covariance / (belief.variance + noise) * (belief.covariance / truth.variance);
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// Running sums over particles, for one candidate at one fidelity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// `Σᵥ information`.
    pub information: f32,
    /// `meanᵥ μᵥ` so far.
    pub mean: f32,
    /// `Σᵥ [σᵥ² + (μᵥ − mean)²]`.
    spread: f32,
    /// `Σᵥ ln(σᵥ² + σ²)`.
    log_variance: f32,
}

impl Tally {
    /// Nothing yet.
    pub const ZERO: Tally = Tally { information: 0.0, mean: 0.0, spread: 0.0, log_variance: 0.0 };

    /// `Σᵥ ln(σᵥ² + σ²)`.
    pub fn log_variance(&self) -> f32 {
        self.log_variance
    }

    /// Adds the belief of particle number `count`, from 1. Welford's update keeps the sum of squares free of
    /// cancellation.
    pub fn add(&mut self, belief: &Posterior, noise: f32, information: f32, count: usize) {
        self.information += information;
        let gap = belief.mean - self.mean;
        self.mean += gap / count as f32;
        self.spread += belief.variance + gap * (belief.mean - self.mean);
        self.log_variance += math::ln(belief.variance + noise);
    }

    /// Variance of the mixture of the `v` particles' beliefs, without noise: Eq. (35).
    pub fn variance(&self, v: usize) -> f32 {
        self.spread / v as f32
    }

    /// `Δα`, Eq. (36): information about which particle is right, in nats; in `[0, ln V]`.
    pub fn transfer(&self, noise: f32, v: usize) -> f32 {
        let bound = 0.5 * (math::ln(self.variance(v) + noise) - self.log_variance / v as f32);
        math::clamp(bound, 0.0, math::ln(v as f32))
    }

    /// Eq. (37).
    pub fn score(&self, beta: f32, noise: f32, cost: f32, v: usize) -> f32 {
        let information = self.information / v as f32;
        let transfer = if beta > 0.0 { beta * self.transfer(noise, v) } else { 0.0 };
        (information + transfer) / cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn belief(mean: f32, variance: f32, covariance: f32) -> Posterior {
        Posterior { mean, variance, covariance }
    }

    #[test]
    fn the_truth_without_noise_is_worth_the_same_in_both_forms() {
        let truth = belief(0.3, 0.5, 0.5);
        let maxima = [1.0, 1.5, 0.7];
        let paper = information(Information::Paper, &truth, &truth, 0.0, &maxima);
        let correlated = information(Information::Correlated, &truth, &truth, 0.0, &maxima);
        assert!((paper - correlated).abs() < 1e-6 && paper > 0.1);
    }

    #[test]
    fn an_uncorrelated_fidelity_is_worth_nothing_in_the_correlated_form() {
        let (cheap, truth) = (belief(0.3, 0.5, 0.0), belief(0.3, 0.5, 0.5));
        assert_eq!(information(Information::Correlated, &cheap, &truth, 0.1, &[1.0]), 0.0);
        assert!(information(Information::Paper, &cheap, &truth, 0.1, &[1.0]) > 0.1);
    }

    #[test]
    fn information_is_finite_and_not_negative_for_extreme_beliefs() {
        for variance in [1e-12, 1.0, 1e12] {
            for mean in [-1e6, 0.0, 1e6] {
                let truth = belief(mean, variance, variance);
                for form in [Information::Paper, Information::Correlated] {
                    let value = information(form, &truth, &truth, 1e-4, &[0.0, 1.0]);
                    assert!(value >= 0.0 && value.is_finite(), "{form:?} {variance} {mean}: {value}");
                }
            }
        }
    }

    #[test]
    fn transfer_is_zero_when_particles_agree_and_capped_when_they_contradict() {
        let mut agree = Tally::default();
        let mut contradict = Tally::default();
        for v in 1..=5 {
            agree.add(&belief(0.7, 0.2, 0.0), 0.1, 0.0, v);
            contradict.add(&belief(100.0 * v as f32, 1e-6, 0.0), 1e-6, 0.0, v);
        }
        assert!(agree.transfer(0.1, 5) < 1e-6);
        assert_eq!(contradict.transfer(1e-6, 5), math::ln(5.0));
        let mut alone = Tally::default();
        alone.add(&belief(3.0, 0.2, 0.0), 0.1, 0.25, 1);
        assert_eq!(alone.transfer(0.1, 1), 0.0);
        assert_eq!(alone.score(1.0, 0.1, 0.5, 1), 0.5);
    }
}
