//! The current task's observations, Eq. (6), (7), in a fixed capacity, and their scaling.

use crate::error::Error;
use crate::math;

/// How observations are brought to zero mean and unit deviation before the model sees them.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

/// An affine map of observations; `deviation` is positive and finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Subtracted from an observation.
    pub mean: f32,
    /// Divides what remains.
    pub deviation: f32,
}

impl Scale {
    /// The map that changes nothing.
    pub const IDENTITY: Scale = Scale { mean: 0.0, deviation: 1.0 };

    /// Mean and deviation of `values`, the deviation at least [`least`](Self::least).
    ///
    /// Values up to 1e30 do not overflow: squares are taken of values relative to the largest.
    pub fn of(values: &[f32], noise: f32) -> Scale {
        let (largest, least) = (largest(values), Scale::least(values, noise));
        if largest == 0.0 {
            return Scale { mean: 0.0, deviation: least };
        }
        let count = values.len() as f32;
        let mean = values.iter().fold(0.0, |sum, value| sum + value / largest) / count;
        let square =
            values.iter().fold(0.0, |sum, value| sum + (value / largest - mean) * (value / largest - mean));
        let deviation = largest * math::sqrt(square / count);
        Scale { mean: mean * largest, deviation: deviation.max(least) }
    }

    /// Least deviation that says anything about `values`: that of the `noise`, or of rounding errors if there is none;
    /// 1 if all values are zero besides.
    pub fn least(values: &[f32], noise: f32) -> f32 {
        let rounding = (largest(values) * 1e-6).max(f32::MIN_POSITIVE);
        if largest(values) == 0.0 && noise == 0.0 { 1.0 } else { noise.max(rounding) }
    }

    /// The standardised observation.
    pub fn apply(&self, y: f32) -> f32 {
        (y - self.mean) / self.deviation
    }

    /// The observation behind a standardised one.
    pub fn undo(&self, z: f32) -> f32 {
        z * self.deviation + self.mean
    }
}

fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// How a query came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Kind {
    /// A point of the random start, not charged to the budget.
    Initial,
    /// A point carried on from an earlier task.
    Carried,
    /// A point that the acquisition found.
    Search,
}

/// One past query with its answer: what must be kept to restore a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<const D: usize> {
    /// Point in the unit cube.
    pub x: [f32; D],
    /// Index of the fidelity.
    pub fidelity: usize,
    /// How the query came about.
    pub kind: Kind,
    /// The observation, or `None` if the measurement failed.
    pub y: Option<f32>,
}

/// Observations beyond this many deviations from the mean are refused.
pub(crate) const LARGEST_DEVIATION: f32 = 1e6;
/// Observations beyond this are refused while there is no scale to judge them by.
pub(crate) const LARGEST_VALUE: f32 = 1e30;

/// Up to `N` observations in `D` dimensions.
#[derive(Clone, Debug)]
pub struct Data<const D: usize, const N: usize> {
    x: [[f32; D]; N],
    y: [f32; N],
    z: [f32; N],
    fidelity: [u8; N],
    kind: [u8; N],
    len: usize,
}

impl<const D: usize, const N: usize> Data<D, N> {
    /// No observations.
    pub const fn new() -> Self {
        const { assert!(D > 0 && N > 0) };
        Data { x: [[0.0; D]; N], y: [0.0; N], z: [0.0; N], fidelity: [0; N], kind: [0; N], len: 0 }
    }

    /// Forgets all observations.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends an observation.
    ///
    /// # Errors
    /// [`Error::Capacity`] when full, [`Error::NotFinite`]; nothing changes then.
    pub fn push(&mut self, x: &[f32; D], fidelity: usize, kind: Kind, y: f32) -> Result<(), Error> {
        if self.len == N {
            return Err(Error::Capacity { what: "observations", needed: N + 1, available: N });
        }
        if !y.is_finite() || y.abs() > LARGEST_VALUE {
            return Err(Error::NotFinite);
        }
        let i = self.len;
        self.x[i] = *x;
        self.y[i] = y;
        self.fidelity[i] = fidelity as u8;
        self.kind[i] = kind as u8;
        self.len += 1;
        Ok(())
    }

    /// Counts the next slot as an observation: one that [`push_hidden`](Self::push_hidden) wrote.
    pub(crate) fn reveal(&mut self) {
        self.len = (self.len + 1).min(N);
    }

    /// Writes an observation that does not count yet, `ahead` slots beyond the last; see [`reveal`](Self::reveal).
    pub(crate) fn push_hidden(
        &mut self,
        ahead: usize,
        x: &[f32; D],
        fidelity: usize,
        kind: Kind,
        y: f32,
    ) -> Result<(), Error> {
        let len = self.len;
        self.len += ahead;
        let pushed = self.push(x, fidelity, kind, y);
        self.len = len;
        pushed
    }

    /// Observation `i`, whether it counts already or is hidden.
    pub(crate) fn record(&self, i: usize) -> Record<D> {
        Record {
            x: self.x[i],
            fidelity: usize::from(self.fidelity[i]),
            kind: self.kind(i),
            y: Some(self.y[i]),
        }
    }

    /// Renews the standardised observations: `z = sign · (y − mean) / deviation`, within ±10⁶.
    ///
    /// An answer farther out is refused; a value remembered of an earlier task may be, and its square must stay finite.
    pub fn rescale(&mut self, scale: Scale, sign: f32) {
        for (z, y) in self.z[..self.len].iter_mut().zip(&self.y) {
            *z = sign * scale.apply(*y).clamp(-LARGEST_DEVIATION, LARGEST_DEVIATION);
        }
    }

    /// Number of observations.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Free slots.
    pub fn room(&self) -> usize {
        N - self.len
    }

    /// Points in the unit cube.
    pub fn x(&self) -> &[[f32; D]] {
        &self.x[..self.len]
    }

    /// Observations as told.
    pub fn y(&self) -> &[f32] {
        &self.y[..self.len]
    }

    /// Observations as the model sees them: standardised, larger is better.
    pub fn z(&self) -> &[f32] {
        &self.z[..self.len]
    }

    /// Fidelities.
    pub fn fidelity(&self) -> &[u8] {
        &self.fidelity[..self.len]
    }

    /// How observation `i` came about.
    pub fn kind(&self, i: usize) -> Kind {
        [Kind::Initial, Kind::Carried, Kind::Search][usize::from(self.kind[i]).min(2)]
    }

    /// How often the point has been observed at a fidelity.
    pub fn count(&self, x: &[f32; D], fidelity: usize) -> usize {
        (0..self.len).filter(|&i| usize::from(self.fidelity[i]) == fidelity && self.x[i] == *x).count()
    }
}

impl<const D: usize, const N: usize> Default for Data<D, N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_not_finite_or_does_not_fit_and_stays_unchanged() {
        let mut data = Data::<1, 2>::new();
        assert_eq!(data.push(&[0.5], 0, Kind::Initial, f32::NAN), Err(Error::NotFinite));
        assert_eq!(data.push(&[0.5], 0, Kind::Initial, f32::INFINITY), Err(Error::NotFinite));
        assert!(data.is_empty());
        data.push(&[0.5], 0, Kind::Initial, 1.0).unwrap();
        data.push(&[0.5], 1, Kind::Search, 2.0).unwrap();
        let full = Error::Capacity { what: "observations", needed: 3, available: 2 };
        assert_eq!(data.push(&[0.1], 0, Kind::Search, 3.0), Err(full));
        assert_eq!((data.len(), data.room(), data.y()), (2, 0, &[1.0, 2.0][..]));
        assert_eq!((data.count(&[0.5], 1), data.kind(1)), (1, Kind::Search));
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
            let scale = Scale::of(&values, 0.0);
            assert!(scale.deviation > 0.0 && scale.deviation.is_finite(), "{values:?} {scale:?}");
            for value in values {
                assert!(scale.apply(value).abs() < 2.0, "{values:?} {scale:?}");
                assert!((scale.undo(scale.apply(value)) - value).abs() <= 2e-6 * value.abs() + 3e-45);
            }
        }
        let scale = Scale::of(&[2.0, 4.0], 0.5);
        assert_eq!(scale, Scale { mean: 3.0, deviation: 1.0 });
        assert_eq!(Scale::of(&[1.0, 1.0], 0.5).deviation, 0.5);
        assert_eq!(Scale::of(&[], 0.5).deviation, 0.5);
    }
}
