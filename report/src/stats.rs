//! Means over experiments and how far to trust them.
//!
//! Intervals are two-sided with 90 % confidence, as in the paper's figures, from Student's t over independent
//! experiments; differences are taken within an experiment before they are averaged, because variants of one
//! experiment share its tasks and its noise.

use statrs::distribution::{ContinuousCDF, StudentsT};

pub const CONFIDENCE: f64 = 0.90;

/// A mean and its 90 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of experiments behind it.
    pub n: usize,
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
pub fn covariance(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / (x.len() - 1) as f64
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
}
