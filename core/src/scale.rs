//! How observations are brought to a scale that the model is made for.

use crate::math;

/// How observations are brought to zero mean and unit deviation before the model sees them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Scaling {
    /// `(y − mean) / deviation` with fixed numbers: the paper's setting.
    Fixed {
        /// Subtracted.
        mean: f32,
        /// Divided by; above 0.
        deviation: f32,
    },
    /// Mean and deviation of the task's initial observations, then kept; renewed further while all observations are
    /// alike but for the noise.
    Initial,
    /// Mean and deviation of all observations so far, renewed with every observation.
    Running,
    /// As [`Initial`](Self::Initial), unless bad observations lie much farther out than good ones: then the good ones give the
    /// scale, renewed with every observation, and of the bad ones the logarithm counts.
    Robust,
}

/// A map of observations, affine but where it is warped; `deviation` is positive and finite.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Scale {
    /// Subtracted from an observation.
    pub mean: f32,
    /// Divides what remains.
    pub deviation: f32,
    /// The sign of what is farther from the mean and bad, where its logarithm is taken, or 0: `z` becomes `± ln(1 + |z|)`, but no
    /// more than [`WORST`].
    pub warp: f32,
}

/// The worst of what is warped, in deviations: all that is worse is as bad, lest a model of how bad it is bends what is good beside it.
const WORST: f32 = 2.0;

impl Scale {
    /// The map that changes nothing.
    pub const IDENTITY: Scale = Scale { mean: 0.0, deviation: 1.0, warp: 0.0 };

    /// Mean and deviation of `values`, the deviation at least [`least`](Self::least).
    ///
    /// Values up to 1e30 do not overflow: squares are taken of values relative to the largest.
    pub fn of(values: impl Iterator<Item = f32> + Clone, noise: f32) -> Scale {
        let (largest, least) = (largest(values.clone()), Scale::least(values.clone(), noise));
        if largest == 0.0 {
            return Scale { mean: 0.0, deviation: least, warp: 0.0 };
        }
        let count = values.clone().count() as f32;
        let mean = values.clone().fold(0.0, |sum, value| sum + value / largest) / count;
        let square = values.fold(0.0, |sum, value| sum + (value / largest - mean) * (value / largest - mean));
        let deviation = largest * math::sqrt(square / count);
        Scale { mean: mean * largest, deviation: deviation.max(least), warp: 0.0 }
    }

    /// Where bad `values` are farther from the median than good ones, `heavy` times as far on average, such as those of a loop
    /// that is unstable: the median, and the deviation of the good half, at least the noise's. `sign` is 1 when larger is
    /// better.
    pub fn warped(
        values: impl Iterator<Item = f32> + Clone,
        noise: f32,
        sign: f32,
        heavy: f32,
    ) -> Option<Scale> {
        let half = values.clone().count() / 2;
        let better = |y: f32| values.clone().filter(|other| sign * other > sign * y).count();
        let good = values.clone().filter(|y| better(*y) <= half);
        let median = good.reduce(|a, b| if sign * b < sign * a { b } else { a })?;
        let spread = |side: f32| {
            let beyond = values.clone().map(|y| side * (y - median)).filter(|by| *by > 0.0);
            beyond.clone().fold(0.0, |sum, by| sum + by) / beyond.count().max(1) as f32
        };
        let deviation = (1.25 * spread(sign)).max(Scale::least(values.clone(), noise));
        let heavy_tailed = deviation.is_finite() && spread(-sign) > heavy * deviation;
        heavy_tailed.then_some(Scale { mean: median, deviation, warp: -sign })
    }

    /// For a task that starts from a point in use, which gave `v`, and keeps above a floor. `noise` is a standard
    /// deviation, `sign` 1 when maximising.
    ///
    /// The unit is the drop that the floor allows, `Δ = |v − floor|`: observations are divided by `2.5 Δ`, and the model
    /// expects `5 Δ` less than `v` where it knows nothing. So a prior that suits values spread over the whole space needs
    /// no knowledge of that spread, of which the first trials, close together, would show too little. Of 0 without noise it is 1.
    pub fn around(v: f32, floor: f32, noise: f32, sign: f32) -> Scale {
        let least = (libm::fabsf(v) * 1e-5).max(4.0 * noise);
        let deviation = (2.5 * libm::fabsf(v - floor)).max(least);
        let deviation = if deviation > 1e-20 { deviation } else { 1.0 };
        Scale { mean: v - sign * 2.0 * deviation, deviation, warp: 0.0 }
    }

    /// Least deviation that says anything about `values`: that of the `noise`, or of rounding errors if there is none;
    /// 1 if all values are zero besides.
    pub fn least(values: impl Iterator<Item = f32>, noise: f32) -> f32 {
        let largest = largest(values);
        let rounding = (largest * 1e-6).max(f32::MIN_POSITIVE);
        if largest == 0.0 && noise == 0.0 { 1.0 } else { noise.max(rounding) }
    }

    /// The standardised observation.
    pub fn apply(&self, y: f32) -> f32 {
        let z = (y - self.mean) / self.deviation;
        if z * self.warp > 0.0 { self.warp * math::ln(1.0 + libm::fabsf(z)).min(WORST) } else { z }
    }

    /// The observation behind a standardised one; behind the worst, the least bad of those that it stands for.
    pub fn undo(&self, z: f32) -> f32 {
        let z = if z * self.warp > 0.0 { self.warp * (math::exp(libm::fabsf(z)) - 1.0) } else { z };
        z * self.deviation + self.mean
    }
}

fn largest(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(0.0, |largest, value| largest.max(libm::fabsf(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_out_bad_values_are_told_by_their_logarithms_and_good_ones_as_they_are() {
        for sign in [1.0f32, -1.0] {
            let values = [1.0, 2.0, 3.0, 4.0, 5.0, -90.0, -900.0, -9000.0, -0.5].map(|value| sign * value);
            let scale = Scale::warped(values.into_iter(), 0.0, sign, 2.0).unwrap();
            assert_eq!((scale.mean, scale.deviation), (sign, 1.25 * 2.5));
            let z = values.map(|value| sign * scale.apply(value));
            assert!(z[..5].is_sorted() && z[4] > 1.2 && z[5..8] == [-WORST; 3], "{z:?}");
            assert!(z[8] < 0.0 && z[8] > -WORST, "{z:?}");
            for value in values.into_iter().filter(|value| libm::fabsf(*value) < 10.0) {
                assert!((scale.undo(scale.apply(value)) - value).abs() <= 1e-5 * value.abs(), "{value}");
            }
            // Good values far out, or all alike, are no reason.
            for values in [values.map(|value| -value), [sign; 9]] {
                assert_eq!(Scale::warped(values.into_iter(), 0.0, sign, 2.0), None);
            }
            assert_eq!(Scale::warped([].into_iter(), 0.0, sign, 2.0), None);
        }
    }

    #[test]
    fn the_scale_has_the_floor_within_a_deviation_of_the_point_in_use() {
        for (v, floor, sign) in [(40.0, 36.0, 1.0), (-40.0, -44.0, 1.0), (40.0, 44.0, -1.0)] {
            let scale = Scale::around(v, floor, 0.1, sign);
            assert_eq!(sign * scale.apply(v), 2.0);
            assert!((sign * scale.apply(floor) - 1.6).abs() < 1e-5);
        }
        assert!(Scale::around(0.0, 0.0, 0.0, 1.0).deviation > 0.0);
    }

    #[test]
    fn scale_of_constant_tiny_and_huge_values_is_usable() {
        for values in [
            [0.0; 3],
            [5.0; 3],
            [1e30, -1e30, 1e30],
            [1e-30, 2e-30, 3e-30],
            [1e30, 1e30, 1e30],
            [1e-40, 1e-40, 1e-40],
            [1e-45, 0.0, 1e-45],
        ] {
            let scale = Scale::of(values.into_iter(), 0.0);
            assert!(scale.deviation > 0.0 && scale.deviation.is_finite(), "{values:?} {scale:?}");
            for value in values {
                assert!(scale.apply(value).abs() < 2.0, "{values:?} {scale:?}");
                assert!((scale.undo(scale.apply(value)) - value).abs() <= 2e-6 * value.abs() + 3e-45);
            }
        }
        let scale = Scale::of([2.0, 4.0].into_iter(), 0.5);
        assert_eq!(scale, Scale { mean: 3.0, deviation: 1.0, warp: 0.0 });
        assert_eq!(Scale::of([1.0, 1.0].into_iter(), 0.5).deviation, 0.5);
        assert_eq!(Scale::of([].into_iter(), 0.5).deviation, 0.5);
    }
}
