//! Parameters and conditions are doubles in C and floats in the core. Where a range or its steps are small beside its ends,
//! as from 2.400e9 to 2.405e9, the core's numbers are smaller, so that nothing is lost.

use foretune_core::Dimension;
use heapless::Vec;

use crate::types::*;

/// A range that is smaller than this share of its larger end is moved; as in problem files.
const NARROW: f64 = 1.0 / 256.0;
/// Likewise a grid whose steps are smaller than this share.
const FINE: f64 = 1.0 / 4096.0;

/// What the core's numbers of a dimension mean.
#[derive(Clone, Copy)]
pub struct Edge {
    /// What they are counted from: near the low end, or 0.
    origin: f64,
    /// The ends, which a float may lie beyond.
    low: f64,
    high: f64,
    /// How far apart its levels are; 0: there are none, or floats are enough for them.
    step: f64,
}

impl Edge {
    pub const PLAIN: Edge = Edge { origin: 0.0, low: f64::NEG_INFINITY, high: f64::INFINITY, step: 0.0 };

    pub fn of(dimension: &foretune_dimension) -> Edge {
        use foretune_dimension_kind::*;
        let &foretune_dimension { kind, low, high, levels, .. } = dimension;
        let (range, largest) = (high - low, low.abs().max(high.abs()));
        let is_grid = kind == FORETUNE_GRID as u32;
        if !is_grid && kind != FORETUNE_INTERVAL as u32 && kind != FORETUNE_CONDITION as u32 {
            return Edge::PLAIN;
        }
        let step = if is_grid { divided(range, levels.max(2) - 1) } else { 0.0 };
        let moved = if is_grid { step < largest * FINE } else { range < largest * NARROW };
        let (origin, step) = if moved { (origin(low, range), step) } else { (0.0, 0.0) };
        Edge { origin, low, high, step }
    }

    pub fn inward(self, value: f64) -> f32 {
        (value - self.origin) as f32
    }

    fn outward(self, value: f32) -> f64 {
        let outward = if self.step == 0.0 {
            self.origin + f64::from(value)
        } else {
            let above = value - self.inward(self.low);
            self.low + self.step * f64::from((above / self.step as f32 + 0.5) as u32)
        };
        outward.max(self.low).min(self.high)
    }
}

/// From where a range's numbers are counted: below its low end by less than the range, by how much depends on that end. So
/// checksums tell apart what is known of different ranges.
fn origin(low: f64, range: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    let bits = low.to_bits();
    let mixed = ((bits ^ bits >> 32) as u32).wrapping_mul(0x9e37_79b9) >> 16;
    // A multiple of a power of two: what is round stays so.
    low - f64::from_bits(range.to_bits() & EXPONENT) * f64::from(mixed) * (1.0 / 65_536.0)
}

/// A range divided in parts, to 48 bits: two divisions of floats, where that of doubles is 1 KB of code.
fn divided(range: f64, parts: u32) -> f64 {
    let about = f64::from(range as f32 / parts as f32);
    let rest = range - about * f64::from(parts);
    about + f64::from(rest as f32 / parts as f32)
}

/// The edges of a problem's dimensions.
#[derive(Clone, Copy)]
pub struct Edges<'a>(pub &'a [Edge]);

impl Edges<'_> {
    /// A point as the core has it.
    pub fn inward(self, point: &[f64]) -> Vec<f32, FORETUNE_MAX_DIMENSIONS> {
        self.0.iter().zip(point).map(|(edge, value)| edge.inward(*value)).collect()
    }

    /// A point as C has it; zeros behind.
    pub fn outward(self, point: &[f32]) -> [f64; FORETUNE_MAX_DIMENSIONS] {
        let mut outward = [0.0; FORETUNE_MAX_DIMENSIONS];
        let values = self.0.iter().zip(point).map(|(edge, value)| edge.outward(*value));
        outward.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        outward
    }

    /// Conditions as the core has them: as many as were given, for it to refuse if they are too few or too many.
    pub fn conditions(
        self,
        dimensions: &[Dimension<'_>],
        given: &[f64],
    ) -> Vec<f32, FORETUNE_MAX_DIMENSIONS> {
        let of_conditions = dimensions.iter().zip(self.0).filter(|(dimension, _)| dimension.is_condition());
        let edges = of_conditions.map(|(_, edge)| *edge).chain(core::iter::repeat(Edge::PLAIN));
        let values = given.iter().zip(edges).map(|(value, edge)| edge.inward(*value));
        values.take(FORETUNE_MAX_DIMENSIONS).collect()
    }

    /// What a sum over a point as the core has it may be at most.
    pub fn at_most(self, coefficients: &[f32], at_most: f64) -> f32 {
        let part = |(edge, factor): (&Edge, &f32)| edge.origin * f64::from(*factor);
        (at_most - self.0.iter().zip(coefficients).map(part).sum::<f64>()) as f32
    }
}
