//! Samples of the optimum's value: a Gumbel distribution fitted to the quartiles of the maximum.
//!
//! With independent candidates, `P(f* ≤ z) = Πᵢ Φ((z − μᵢ)/σᵢ)`; its quartiles are found by bisection on
//! `Σ ln Φ`, and `P(f* ≤ z) ≈ exp(−exp(−(z − a)/b))` is fitted to them: `b` from the outer two, `a` from the median.
//! Cost: three bisections of [`BISECTIONS`] passes over the candidates.

use crate::math;

/// Passes of one bisection: resolves the bracket of some 10 deviations to 10⁻⁵ of one.
pub const BISECTIONS: u32 = 20;

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

/// What a candidate may reach: mean and one over the deviation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// Mean.
    pub mean: f32,
    /// One over the deviation.
    pub precision: f32,
}

impl Reach {
    /// Of a Gaussian belief.
    pub fn new(mean: f32, variance: f32) -> Reach {
        Reach { mean, precision: 1.0 / math::sqrt(variance) }
    }
}

/// `Σ ln Φ((z − μᵢ)/σᵢ)`. Candidates that stay below `z` by 6 deviations (`ln Φ > −10⁻⁹`) do not count.
fn log_probability(reach: &[Reach], z: f32) -> f32 {
    reach.iter().fold(0.0, |sum, reach| {
        let g = (z - reach.mean) * reach.precision;
        if g > 6.0 { sum } else { sum + math::ln_normal_cdf(g) }
    })
}

/// The `z` with `P(f* ≤ z) = p`, for at least one candidate.
pub fn quantile(reach: &[Reach], p: f32) -> f32 {
    let target = math::ln(p);
    let end = |sign: f32| {
        let edge = |r: &Reach| r.mean + sign * 6.0 / r.precision;
        reach.iter().map(edge).fold(f32::NEG_INFINITY, f32::max)
    };
    let (mut low, mut high) = (end(-1.0), end(1.0));
    for _ in 0..BISECTIONS {
        let middle = low + 0.5 * (high - low);
        if log_probability(reach, middle) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    low + 0.5 * (high - low)
}

/// Fits a Gumbel distribution to the quartiles of the maximum over the candidates.
pub fn fit(reach: &[Reach]) -> Gumbel {
    Gumbel::from_quartiles([0.25, 0.5, 0.75].map(|p| quantile(reach, p)))
}

/// The largest mean: no sample lies below it.
pub fn best_mean(reach: &[Reach]) -> f32 {
    reach.iter().fold(f32::NEG_INFINITY, |best, reach| best.max(reach.mean))
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
            let candidates: Vec<(f32, f32)> =
                (0..n).map(|_| (random.normal(), 0.05 + random.uniform())).collect();
            let reach: Vec<Reach> = candidates.iter().map(|&(m, s)| Reach::new(m, s * s)).collect();
            let mut maxima: Vec<f32> = (0..4000)
                .map(|_| candidates.iter().map(|&(m, s)| m + s * random.normal()).fold(f32::MIN, f32::max))
                .collect();
            maxima.sort_by(f32::total_cmp);
            let gumbel = fit(&reach);
            // Both tolerances in interquartile ranges. The sample's quartiles have a standard error of about 0.016. A Gumbel
            // distribution fitted to one Gaussian, the least Gumbel-like maximum, misses the outer quartiles by 0.06.
            let range = quantile(&reach, 0.75) - quantile(&reach, 0.25);
            for (p, sampled) in [(0.25, maxima[1000]), (0.5, maxima[2000]), (0.75, maxima[3000])] {
                let exact = quantile(&reach, p);
                assert!((exact - sampled).abs() < 0.07 * range, "n {n}, p {p}: {exact} against {sampled}");
                assert!(
                    (gumbel.quantile(p) - exact).abs() < 0.07 * range,
                    "n {n}, p {p}: {gumbel:?}, {exact}"
                );
            }
        }
    }

    #[test]
    fn extreme_candidates_give_finite_samples() {
        for (mean, variance) in [(0.0, 1e-12), (1e6, 1e-6), (-1e6, 1e6), (0.0, 1e12)] {
            let reach = [Reach::new(mean, variance); 3];
            let gumbel = fit(&reach);
            for p in [1e-7, 0.5, 0.999_999_9] {
                assert!(gumbel.quantile(p).is_finite(), "{mean} {variance} {gumbel:?}");
            }
        }
    }
}
