//! Means over experiments and how far to trust them.
//!
//! Intervals are two-sided with 90 % confidence, as in the paper's figures, from Student's t over independent
//! experiments; differences are taken within an experiment before they are averaged, because variants of one
//! experiment share its tasks and its noise.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence of all intervals.
pub const CONFIDENCE: f64 = 0.90;

/// A mean and its 90 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of experiments behind it.
    pub n: usize,
    /// The mean.
    pub mean: f64,
    /// Half the interval's width; none for a single experiment.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The mean of the values, `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = mean(values);
        let half_width = (n > 1).then(|| student_t(n - 1) * (covariance(values, values) / n as f64).sqrt());
        Some(Self { n, mean, half_width })
    }

    /// Lower end of the interval; the mean itself for a single experiment.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width.unwrap_or(0.0)
    }

    /// Upper end of the interval; the mean itself for a single experiment.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width.unwrap_or(0.0)
    }

    /// On which side of zero the whole interval lies: 1, -1, or 0 when it spans zero or is unknown.
    pub fn sign(&self) -> i8 {
        match self.half_width {
            Some(half) if self.mean > half => 1,
            Some(half) if self.mean < -half => -1,
            _ => 0,
        }
    }
}

/// A ratio of two means and its 90 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Number of experiments behind it.
    pub n: usize,
    /// Mean of the one over mean of the other.
    pub value: f64,
    /// The interval; none when the denominator's mean cannot be told from zero.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// The ratio of the means of paired values, with Fieller's interval; `None` without pairs or with a zero mean
    /// below the bar.
    pub fn of_means(above: &[f64], below: &[f64]) -> Option<Self> {
        let n = above.len();
        assert_eq!(n, below.len(), "values come in pairs");
        let (a, b) = (mean(above), mean(below));
        if n == 0 || b == 0.0 {
            return None;
        }
        Some(Self { n, value: a / b, interval: if n > 1 { fieller(above, below) } else { None } })
    }
}

/// All ratios ρ for which the mean of `above - ρ below` cannot be told from zero.
fn fieller(above: &[f64], below: &[f64]) -> Option<(f64, f64)> {
    let n = above.len();
    let (a, b) = (mean(above), mean(below));
    let t2 = student_t(n - 1).powi(2) / n as f64;
    let [aa, ab, bb] = [(above, above), (above, below), (below, below)].map(|(x, y)| t2 * covariance(x, y));
    // (a - ρb)² = aa - 2ρ ab + ρ² bb, a quadratic in ρ.
    let square = b * b - bb;
    let half = a * b - ab;
    let discriminant = half * half - square * (a * a - aa);
    // Rounding can push the discriminant of a sharp ratio just below zero.
    let root = discriminant.max(0.0).sqrt();
    (square > 0.0).then(|| ((half - root) / square, (half + root) / square))
}

/// Two-sided quantile of Student's t for [`CONFIDENCE`].
pub fn student_t(degrees: usize) -> f64 {
    let quantile = |t: StudentsT| t.inverse_cdf(0.5 + CONFIDENCE / 2.0);
    StudentsT::new(0.0, 1.0, degrees as f64).map_or(f64::NAN, quantile)
}

/// The mean, NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample covariance of paired values.
fn covariance(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / (x.len() - 1) as f64
}

/// Percentile interval of a statistic over resampled experiments; `None` below three experiments or when the
/// statistic is undefined. The resampling is seeded, so that the same data give the same interval.
pub fn bootstrap(experiments: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<(f64, f64)> {
    const RESAMPLES: usize = 1000;
    if experiments < 3 {
        return None;
    }
    let mut state = 0x5eed_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % experiments
    };
    let mut values = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let chosen: Vec<usize> = (0..experiments).map(|_| draw()).collect();
        values.push(statistic(&chosen)?);
    }
    values.sort_by(f64::total_cmp);
    let at = |p: f64| values[((RESAMPLES - 1) as f64 * p).round() as usize];
    Some((at(0.5 - CONFIDENCE / 2.0), at(0.5 + CONFIDENCE / 2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn quantiles_agree_with_the_printed_table() {
        for (degrees, t) in [(1, 6.314), (2, 2.920), (4, 2.132), (9, 1.833), (19, 1.729), (99, 1.660)] {
            close(student_t(degrees), t, 6e-4);
        }
    }

    #[test]
    fn mean_and_interval_agree_with_hand_computation() {
        // 1, 2, 4, 5: mean 3, sum of squares 10, s² = 10/3, s/√4 = 0.91287, t(3) = 2.35336.
        let e = Estimate::of(&[1.0, 2.0, 4.0, 5.0]).unwrap();
        assert_eq!((e.n, e.mean), (4, 3.0));
        close(e.half_width.unwrap(), 2.148, 1e-3);
        close(e.low(), 0.852, 1e-3);
        assert_eq!(e.sign(), 1);
    }

    #[test]
    fn a_single_experiment_has_no_interval() {
        let e = Estimate::of(&[2.0]).unwrap();
        assert_eq!((e.mean, e.half_width, e.sign(), e.low()), (2.0, None, 0, 2.0));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn interval_covers_the_truth_nine_times_in_ten() {
        let mut state = 3u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let covered = (0..4000).filter(|_| {
            let sample: Vec<f64> = (0..8).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect();
            Estimate::of(&sample).unwrap().sign() == 0
        });
        // Standard deviation of the share: √(0.9 · 0.1 / 4000) = 0.0047.
        close(covered.count() as f64 / 4000.0, 0.9, 0.015);
    }

    #[test]
    fn ratio_interval_agrees_with_hand_computation() {
        // above 1, 2, 3; below 3, 4, 5: a = 2, b = 4, all (co)variances 1, t² / n = 2.92² / 3 = 2.842.
        // 13.158 ρ² - 2 · 5.158 ρ + 1.158 = 0: ρ = 0.1351 or 0.6489.
        let r = Ratio::of_means(&[1.0, 2.0, 3.0], &[3.0, 4.0, 5.0]).unwrap();
        assert_eq!(r.value, 0.5);
        let (low, high) = r.interval.unwrap();
        close(low, 0.1351, 1e-3);
        close(high, 0.6489, 1e-3);
    }

    #[test]
    fn exact_ratios_have_sharp_intervals_and_noisy_denominators_none() {
        let exact = Ratio::of_means(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap().interval.unwrap();
        close(exact.0, 2.0, 1e-6);
        close(exact.1, 2.0, 1e-6);
        assert_eq!(Ratio::of_means(&[1.0, 2.0], &[-5.0, 6.0]).unwrap().interval, None);
        assert_eq!(Ratio::of_means(&[1.0, 2.0], &[-5.0, 5.0]), None);
    }

    #[test]
    fn bootstrap_of_the_mean_resembles_students_interval() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i * 17 % 40)).collect();
        let resampled = |chosen: &[usize]| Some(chosen.iter().map(|&i| values[i]).sum::<f64>() / 40.0);
        let (low, high) = bootstrap(40, resampled).unwrap();
        let e = Estimate::of(&values).unwrap();
        close(low, e.low(), 0.6);
        close(high, e.high(), 0.6);
        assert_eq!(bootstrap(2, |_| Some(1.0)), None);
        assert_eq!(bootstrap(5, |_| None), None);
    }
}
