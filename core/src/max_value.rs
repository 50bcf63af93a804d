//! Samples of the optimum's value: a Gumbel distribution fitted to the quartiles of the maximum.
//!
//! With independent candidates, `P(f* ≤ z) = Πᵢ Φ((z − μᵢ)/σᵢ)`; its quartiles are found on
//! `Σ ln Φ`, and `P(f* ≤ z) ≈ exp(−exp(−(z − a)/b))` is fitted to them: `b` from the outer two, `a` from the median.
//! Cost: for each quartile some 7, at most [`PASSES`], passes over the candidates.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::kernels::{BLOCK, shortcut};
use crate::math;

/// Most samples of the optimum's value per particle.
pub const MAX_SAMPLES: usize = 16;

/// Most passes over the candidates for one quartile; the usual number is 7.
pub const PASSES: u32 = 20;
/// How close `ln(−ln P)` must come: in `z` that is as much of the distribution's scale.
const CLOSE: f32 = 2e-5;

/// A Gumbel distribution of maxima.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gumbel {
    /// Location `a`.
    pub location: f32,
    /// Scale `b`; above 0.
    pub scale: f32,
}

/// `1 / (ln ln 4 − ln ln(4/3))`: scale per interquartile range.
const SCALE_PER_RANGE: f32 = 0.635_916_5;
/// `ln ln 2`.
const LN_LN_2: f32 = -0.366_512_92;

impl Gumbel {
    /// The distribution with these quartiles.
    pub fn from_quartiles([lower, median, upper]: [f32; 3]) -> Gumbel {
        let scale = (upper - lower).max(1e-6 * median.abs()).max(1e-9) * SCALE_PER_RANGE;
        Gumbel { location: median + scale * LN_LN_2, scale }
    }

    /// The value below which the maximum lies with probability `p` in (0, 1).
    pub fn quantile(&self, p: f32) -> f32 {
        self.location - self.scale * math::ln(-math::ln(p))
    }
}

/// What is believed of the truth at a candidate: mean and one over the standard deviation.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Candidate {
    /// Mean.
    pub mean: f32,
    /// One over the deviation.
    pub precision: f32,
}

impl Candidate {
    /// Of a Gaussian belief.
    pub fn new(mean: f32, variance: f32) -> Candidate {
        Candidate { mean, precision: 1.0 / math::sqrt(variance) }
    }
}

/// `−Σ ln Φ((z − μᵢ)/σᵢ)`. Candidates that stay below `z` by 6 deviations (`ln Φ > −10⁻⁹`) do not count.
///
/// Eight sums side by side, so that it vectorises and the order is the same everywhere.
fn surprise(candidates: &[Candidate], z: f32) -> f32 {
    let mut sums = [0.0; BLOCK];
    let (blocks, rest) = candidates.as_chunks::<BLOCK>();
    for block in blocks {
        add_surprise(&mut sums, block, z);
    }
    add_surprise(&mut sums, rest, z);
    sums.iter().fold(0.0, |sum, part| sum + part)
}

/// Of up to eight candidates.
#[inline(always)]
fn add_surprise(sums: &mut [f32; BLOCK], candidates: &[Candidate], z: f32) {
    for (sum, candidate) in sums.iter_mut().zip(candidates) {
        subtract_ln(sum, (z - candidate.mean) * candidate.precision);
    }
}

#[inline(always)]
fn subtract_ln(sum: &mut f32, g: f32) {
    let counts = g <= 6.0;
    shortcut!(!counts);
    let ln = math::ln_normal_cdf(g);
    *sum -= if counts { ln } else { 0.0 };
}

/// Between what values the maximum lies, and `ln(−ln P)` there: the same for every quantile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    low: End,
    high: End,
}

#[derive(Clone, Copy, Debug, Default)]
struct End {
    z: f32,
    ln_surprise: f32,
}

impl Ends {
    /// Of the maximum of at least one candidate.
    pub fn of(candidates: &[Candidate]) -> Ends {
        let end = |sign: f32| {
            let edge = |r: &Candidate| r.mean + sign * 6.0 / r.precision;
            let z = candidates.iter().map(edge).fold(f32::NEG_INFINITY, |z, edge| math::larger(edge, z));
            End { z, ln_surprise: math::ln(surprise(candidates, z)) }
        };
        Ends { low: end(-1.0), high: end(1.0) }
    }
}

/// The `z` with `P(f* ≤ z) = p`, for at least one candidate.
///
/// As the maximum is nearly Gumbel-distributed, `ln(−ln P)` is nearly linear in `z`: the bracket is cut where the line
/// through its ends says (regula falsi, Illinois form: an end that stays is taken for half as far off).
pub fn quantile(candidates: &[Candidate], ends: &Ends, p: f32) -> f32 {
    let target = math::ln(-math::ln(p));
    // How far `ln(−ln P)` is from its target: above it at the lower end, below it at the upper.
    let miss = |ln_surprise: f32| math::clamp(ln_surprise - target, -16.0, 16.0);
    let (mut low, mut high) = (ends.low.z, ends.high.z);
    let (mut above, mut below) = (miss(ends.low.ln_surprise), miss(ends.high.ln_surprise));
    let mut z = low;
    let mut side = 0;
    for _ in 0..PASSES {
        z = low + math::clamp(above / (above - below), 0.0, 1.0) * (high - low);
        let here = miss(math::ln(surprise(candidates, z)));
        if here.abs() < CLOSE {
            break;
        } else if here > 0.0 {
            (low, above) = (z, here);
            below *= if side > 0 { 0.5 } else { 1.0 };
            side = 1;
        } else {
            (high, below) = (z, here);
            above *= if side < 0 { 0.5 } else { 1.0 };
            side = -1;
        }
    }
    z
}

/// Fits a Gumbel distribution to the quartiles of the maximum over the candidates.
#[cfg(any(test, feature = "internals"))]
pub fn fit(candidates: &[Candidate]) -> Gumbel {
    let ends = Ends::of(candidates);
    Gumbel::from_quartiles([0.25, 0.5, 0.75].map(|p| quantile(candidates, &ends, p)))
}

/// The largest mean: no sample lies below it.
pub fn best_mean(candidates: &[Candidate]) -> f32 {
    candidates.iter().fold(f32::NEG_INFINITY, |best, candidate| math::larger(candidate.mean, best))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Random};
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn constants_are_what_they_say() {
        assert!((1.0 / (4f64.ln().ln() - (4f64 / 3.0).ln().ln()) - f64::from(SCALE_PER_RANGE)).abs() < 1e-6);
        assert!((2f64.ln().ln() - f64::from(LN_LN_2)).abs() < 1e-7);
    }

    #[test]
    fn quartiles_agree_with_brute_force_sampling_of_the_maximum() {
        let mut random = Random::new(11, 0, 0, Purpose::MaxValues, 0);
        for n in [1, 5, 200] {
            let beliefs: Vec<(f32, f32)> =
                (0..n).map(|_| (random.normal(), 0.05 + random.uniform())).collect();
            let candidates: Vec<Candidate> = beliefs.iter().map(|&(m, s)| Candidate::new(m, s * s)).collect();
            let mut maxima: Vec<f32> = (0..4000)
                .map(|_| beliefs.iter().map(|&(m, s)| m + s * random.normal()).fold(f32::MIN, f32::max))
                .collect();
            maxima.sort_by(f32::total_cmp);
            let gumbel = fit(&candidates);
            // Both tolerances in interquartile ranges. The sample's quartiles have a standard error of about 0.016. A Gumbel
            // distribution fitted to one Gaussian, the least Gumbel-like maximum, misses the outer quartiles by 0.06.
            let ends = Ends::of(&candidates);
            let range = quantile(&candidates, &ends, 0.75) - quantile(&candidates, &ends, 0.25);
            for (p, sampled) in [(0.25, maxima[1000]), (0.5, maxima[2000]), (0.75, maxima[3000])] {
                let exact = quantile(&candidates, &ends, p);
                assert!((exact - sampled).abs() < 0.07 * range, "n {n}, p {p}: {exact} against {sampled}");
                assert!(
                    (gumbel.quantile(p) - exact).abs() < 0.07 * range,
                    "n {n}, p {p}: {gumbel:?}, {exact}"
                );
            }
        }
    }

    #[test]
    fn quartiles_are_found_to_rounding_in_few_passes() {
        let mut random = Random::new(12, 0, 0, Purpose::MaxValues, 0);
        for n in [1, 3, 20, 512] {
            for spread in [1e-3, 0.3, 30.0] {
                let candidates: Vec<Candidate> = (0..n)
                    .map(|_| Candidate::new(spread * random.normal(), (0.1 + random.uniform()) * 0.5))
                    .collect();
                for p in [0.25, 0.5, 0.75] {
                    let z = f64::from(quantile(&candidates, &Ends::of(&candidates), p));
                    let exact: f64 = candidates
                        .iter()
                        .map(|r| (z - f64::from(r.mean)) * f64::from(r.precision))
                        .map(|g| (0.5 * libm::erfc(-g * core::f64::consts::FRAC_1_SQRT_2)).ln())
                        .sum();
                    assert!((exact.exp() - f64::from(p)).abs() < 3e-5, "{n} {spread} {p}: {}", exact.exp());
                }
            }
        }
    }

    #[test]
    fn extreme_candidates_give_finite_samples() {
        for (mean, variance) in [(0.0, 1e-12), (1e6, 1e-6), (-1e6, 1e6), (0.0, 1e12)] {
            let candidates = [Candidate::new(mean, variance); 3];
            let gumbel = fit(&candidates);
            for p in [1e-7, 0.5, 0.999_999_9] {
                assert!(gumbel.quantile(p).is_finite(), "{mean} {variance} {gumbel:?}");
            }
        }
    }
}
