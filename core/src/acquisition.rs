//! What a query is worth: information about the optimum and about `θ`, per cost.
//!
//! About the optimum, under the joint distribution of Eq. (20), with `r = φ(g)/Φ(g)` and `S` samples `f*ₛ` of its value:
//! - *paper* form, Eq. (21)-(23): `−½ meanₛ ln(1 − r(g + r))`, `g = (f*ₛ − μ⁽ᵐ⁾)/σ⁽ᵐ⁾`. The paper lacks the square root
//!   of the truncated variance; with it there is the factor ½, so its β is twice ours.
//! - *correlated* form: `−½ meanₛ ln(1 − ρ² r(g + r))`, `g` at the target fidelity and
//!   `ρ² = Cov(f⁽ᵐ⁾,f⁽ᴹ⁾)² / ((σ⁽ᵐ⁾² + σ²) σ⁽ᴹ⁾²)`. The paper form counts a cheap fidelity as if it were the truth.
//!
//! About `θ`, Eq. (33) with the bound of Eq. (34): Eq. (36), the noise of Eq. (35) kept in both terms,
//! `Δα = ½ [ln(meanᵥ(σᵥ² + μᵥ²) − (meanᵥ μᵥ)² + σ²) − meanᵥ ln(σᵥ² + σ²)]`, at most `ln V`: the information about
//! which of `V` equally likely particles is right cannot be more.
//!
//! Both together per cost, Eq. (28), (29), (32), come to Eq. (37): `(meanᵥ information + β Δα) / λ⁽ᵐ⁾`. With one particle
//! and without the second term that is Eq. (19), (24), (25).

use core::ops::Range;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::gp::Posterior;
use crate::kernel::MAX_FIDELITIES;
pub(crate) use crate::kernels::SIDE;
use crate::kernels::{either, shortcut};
use crate::math;
use crate::max_value::MAX_SAMPLES;

/// Which approximation of the information about the optimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Information {
    /// Eq. (22), as if every fidelity had the truth's maximum.
    Paper,
    /// Through the correlation of the fidelity with the truth (GIBBON).
    Correlated,
}

/// A number for each of some candidates.
pub type Side = [f32; SIDE];

/// Information of one observation of `f⁽ᵐ⁾` about the optimum, for one particle, in nats; at least 0.
#[cfg(any(test, feature = "internals"))]
pub fn information(
    form: Information,
    belief: &Posterior,
    truth: &Posterior,
    noise: f32,
    maxima: &[f32],
) -> f32 {
    let [[worth, ..], ..] = information_of_some(form, &[*belief, *truth], (0..1, 1), &[noise], maxima);
    worth
}

/// [`information`] of up to `SIDE` candidates, of each at some fidelities; the beliefs of a candidate follow each
/// other, at all fidelities up to the truth's.
///
/// What the optimum leaves of the truth's variance is the same for all fidelities: the correlated form takes it once.
pub fn information_of_some(
    form: Information,
    beliefs: &[Posterior],
    (fidelities, truth): (Range<usize>, usize),
    noise: &[f32],
    maxima: &[f32],
) -> [Side; MAX_FIDELITIES] {
    let mut sums = [[0.0; SIDE]; MAX_FIDELITIES];
    let mut left = [[0.0; SIDE]; MAX_SAMPLES];
    let left = &mut left[..maxima.len().min(MAX_SAMPLES)];
    let mut start = [0.0; SIDE];
    let all = maxima.len().max(1) as f32;
    for m in fidelities.clone() {
        let own = form == Information::Paper;
        if m == fidelities.start || own {
            start = remaining_of_some(left, beliefs, (if own { m } else { truth }, truth), maxima);
        }
        let mut share = [1.0; SIDE];
        if !own {
            for (share, beliefs) in share.iter_mut().zip(beliefs.chunks_exact(truth + 1)) {
                *share = correlation(&beliefs[m], &beliefs[truth], noise[m]);
            }
        }
        let mut sum = start;
        for left in &*left {
            for l in 0..SIDE {
                add_ln(&mut sum[l], (1.0 - share[l]) + share[l] * left[l]);
            }
        }
        sums[m] = sum.map(|sum| -0.5 * sum / all);
    }
    sums
}

/// What each maximum leaves of the variances of some candidates at one fidelity. Returns where the sums of logarithms begin: at
/// 0, or at NaN if there is one among the terms, which [`math::ln_normal`] would not pass on.
fn remaining_of_some(
    left: &mut [Side],
    beliefs: &[Posterior],
    (m, truth): (usize, usize),
    maxima: &[f32],
) -> Side {
    let (mut mean, mut precision) = ([0.0; SIDE], [0.0; SIDE]);
    let each = mean.iter_mut().zip(&mut precision).zip(beliefs.chunks_exact(truth + 1));
    for ((mean, precision), beliefs) in each {
        (*mean, *precision) = (beliefs[m].mean, 1.0 / math::sqrt(beliefs[m].variance));
    }
    let mut start = [0.0; SIDE];
    for (left, maximum) in left.iter_mut().zip(maxima) {
        for l in 0..SIDE {
            left[l] = remaining((maximum - mean[l]) * precision[l]);
            start[l] += 0.0 * left[l];
        }
    }
    start
}

/// Adds `ln` of what is left, at most 0.
#[inline(always)]
fn add_ln(sum: &mut f32, left: f32) {
    let less = left < 1.0;
    shortcut!(!less);
    *sum += math::ln_normal(if less { math::larger(left, SMALLEST_SHARE) } else { 1.0 });
}

/// Least part of a variance that knowing the optimum can leave: that of a mean a million deviations above it.
const SMALLEST_SHARE: f32 = 1e-12;

/// `1 − r(g + r)`, the part of a variance that is left. The difference cancels where the mean lies far above the
/// optimum; there it is taken from its series in `1/g²`, to 3·10⁻⁵.
#[inline(always)]
fn remaining(g: f32) -> f32 {
    either!(g > -16.0, 1.0 - math::truncation(g), {
        let q = 1.0 / (g * g);
        q * (1.0 - q * (6.0 - 50.0 * q))
    })
}

/// `ρ²` between a noisy observation at a fidelity and the truth, in `[0, 1]`.
fn correlation(belief: &Posterior, truth: &Posterior, noise: f32) -> f32 {
    let share = belief.covariance / (belief.variance + noise) * (belief.covariance / truth.variance);
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// The mixture of the particles' beliefs.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Mixture {
    /// `meanᵥ μᵥ` so far.
    pub mean: f32,
    /// `Σᵥ [σᵥ² + (μᵥ − mean)²]`.
    spread: f32,
}

impl Mixture {
    /// Nothing yet.
    pub const NONE: Mixture = Mixture { mean: 0.0, spread: 0.0 };

    /// Adds the belief of particle number `count`, from 1. Welford's update keeps the sum of squares free of
    /// cancellation.
    pub fn add(&mut self, belief: &Posterior, count: usize) {
        let gap = belief.mean - self.mean;
        self.mean += gap / count as f32;
        self.spread += belief.variance + gap * (belief.mean - self.mean);
    }

    /// Variance of the mixture of `v` beliefs.
    pub fn variance(&self, v: usize) -> f32 {
        self.spread / v as f32
    }
}

/// Running sums over particles, for one candidate at one fidelity.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct ScoreSums {
    /// `Σᵥ information`.
    pub information: f32,
    /// Of all particles.
    pub mixture: Mixture,
    /// `Σᵥ ln(σᵥ² + σ²)`.
    pub log_variance: f32,
}

impl ScoreSums {
    /// Nothing yet.
    pub const ZERO: ScoreSums = ScoreSums { information: 0.0, mixture: Mixture::NONE, log_variance: 0.0 };

    /// Adds the belief of particle number `count`, from 1.
    pub fn add(&mut self, belief: &Posterior, noise: f32, information: f32, count: usize) {
        self.information += information;
        self.mixture.add(belief, count);
        self.log_variance += math::ln(belief.variance + noise);
    }

    /// Variance of the mixture of the `v` particles' beliefs, without noise: Eq. (35).
    pub fn variance(&self, v: usize) -> f32 {
        self.mixture.variance(v)
    }

    /// `Δα`, Eq. (36): information about which particle is right, in nats; in `[0, ln V]`.
    pub fn transfer(&self, noise: f32, v: usize) -> f32 {
        let bound = 0.5 * (math::ln(self.variance(v) + noise) - self.log_variance / v as f32);
        math::clamp(bound, 0.0, math::ln(v as f32))
    }

    /// Eq. (37); `limited` counts the second term at most as much as the first.
    pub fn score(&self, beta: f32, limited: bool, noise: f32, cost: f32, v: usize) -> f32 {
        let [information, transfer] = self.parts(beta, limited, noise, v);
        (information + transfer) / cost
    }

    /// The terms of Eq. (37) before they are added: information about the optimum, and about `θ` as it counts.
    pub fn parts(&self, beta: f32, limited: bool, noise: f32, v: usize) -> [f32; 2] {
        let information = self.information / v as f32;
        let transfer = if beta > 0.0 { beta * self.transfer(noise, v) } else { 0.0 };
        [information, if limited && transfer > information { information } else { transfer }]
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
    fn candidates_side_by_side_have_the_bits_of_each_alone() {
        let beliefs: [[Posterior; 3]; SIDE] = core::array::from_fn(|c| {
            core::array::from_fn(|m| belief(0.3 * c as f32 - m as f32, 0.2 + 0.1 * c as f32, 0.05 * m as f32))
        });
        let flat = beliefs.as_flattened();
        let (noise, maxima) = ([0.1, 0.2, 0.3], [0.5, -1.0, 4.0, 2.5]);
        for form in [Information::Paper, Information::Correlated] {
            for count in 1..=SIDE {
                let some = information_of_some(form, &flat[..3 * count], (0..3, 2), &noise, &maxima);
                for (c, beliefs) in beliefs[..count].iter().enumerate() {
                    for m in 0..3 {
                        let alone = information(form, &beliefs[m], &beliefs[2], noise[m], &maxima);
                        assert_eq!(some[m][c].to_bits(), alone.to_bits(), "{form:?} {c} {m}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_uncorrelated_fidelity_is_worth_nothing_in_the_correlated_form() {
        let (cheap, truth) = (belief(0.3, 0.5, 0.0), belief(0.3, 0.5, 0.5));
        assert_eq!(information(Information::Correlated, &cheap, &truth, 0.1, &[1.0]), 0.0);
        assert!(information(Information::Paper, &cheap, &truth, 0.1, &[1.0]) > 0.1);
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let (sound, other) = (belief(0.3, 0.5, 0.5), belief(f32::NAN, 0.5, 0.5));
        for form in [Information::Paper, Information::Correlated] {
            assert!(information(form, &other, &other, 0.1, &[1.0, 2.0]).is_nan(), "{form:?}");
            assert!(information(form, &sound, &sound, 0.1, &[1.0, f32::NAN]).is_nan(), "{form:?}");
        }
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
        let mut agree = ScoreSums::default();
        let mut contradict = ScoreSums::default();
        for v in 1..=5 {
            agree.add(&belief(0.7, 0.2, 0.0), 0.1, 0.0, v);
            contradict.add(&belief(100.0 * v as f32, 1e-6, 0.0), 1e-6, 0.0, v);
        }
        assert!(agree.transfer(0.1, 5) < 1e-6);
        assert_eq!(contradict.transfer(1e-6, 5), math::ln(5.0));
        let mut alone = ScoreSums::default();
        alone.add(&belief(3.0, 0.2, 0.0), 0.1, 0.25, 1);
        assert_eq!(alone.transfer(0.1, 1), 0.0);
        assert_eq!(alone.score(1.0, false, 0.1, 0.5, 1), 0.5);
    }
}
