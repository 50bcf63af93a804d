//! Ratios of means, and statistics of any kind, with how far to trust them.

use foretune_report::stats::{CONFIDENCE, covariance, mean, student_t};

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
    use foretune_report::stats::Estimate;

    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
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
