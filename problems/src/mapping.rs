//! Between a person's units and what the optimizer is given, which has single precision.
//!
//! A parameter is given as it is, wherever single precision tells its values apart. On a logarithmic scale, or in a range
//! that is small beside its numbers, such as some channels of a radio in Hz, it is given as its place between 0 and 1 instead,
//! worked out in double precision. Small ranges begin at other places, so that a device tells one from another.

use super::DimensionSpec;

/// How people write a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notation {
    /// Ratios count, not differences.
    pub log: bool,
    /// Whole numbers, printed as such.
    pub whole: bool,
    /// Not chosen but known; behind all that is chosen.
    pub condition: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mapping {
    low: f64,
    high: f64,
    log: bool,
    /// The place of the low end, below 1.
    first: f64,
}

impl Mapping {
    /// None where the parameter is given as it is.
    pub fn of(dimension: &DimensionSpec) -> Option<Self> {
        let (low, high) = dimension.range();
        let log = dimension.notation().log;
        let is_narrow = high - low < low.abs().max(high.abs()) / 256.0;
        // A multiple of 2⁻¹⁶: what is round stays so.
        let bits = low.to_bits() ^ high.to_bits().rotate_left(9);
        let mixed = ((bits ^ bits >> 32) as u32).wrapping_mul(0x9e37_79b9) >> 16;
        let first = if log { 0.0 } else { f64::from(mixed) / 65_536.0 };
        (log || is_narrow).then_some(Self { low, high, log, first })
    }

    /// Where a value is: the ends are 1 apart.
    pub fn place(self, value: f64) -> f64 {
        let Self { low, high, log, first } = self;
        let place =
            if log { libm::log(value / low) / libm::log(high / low) } else { (value - low) / (high - low) };
        first + place.clamp(0.0, 1.0)
    }

    /// The value at a place, with the digits that tell it from its neighbours in single precision.
    pub fn value(self, place: f32) -> f64 {
        let Self { low, high, log, first } = self;
        let (place, range) = (f64::from(place) - first, if log { libm::log(high / low) } else { high - low });
        let (value, slope) = match log {
            true => (low * libm::exp(range * place), low * libm::exp(range * place) * range),
            false => (low + range * place, range),
        };
        rounded(value, slope * f64::from(f32::EPSILON)).clamp(low, high)
    }

    /// What a limit's coefficient is in places, and what is to be taken off its other side.
    pub fn limit(self, coefficient: f64) -> (f64, f64) {
        let range = self.high - self.low;
        (coefficient * range, coefficient * (self.low - self.first * range))
    }
}

/// A value with no more digits than are needed beside others this far away.
pub fn rounded(value: f64, apart: f64) -> f64 {
    let place = |x: f64| libm::floor(libm::log10(x.abs()));
    let digits = (place(value) - place(apart)).clamp(0.0, 17.0);
    format!("{value:.0$e}", digits as usize).parse().unwrap_or(value)
}
