//! Parameters and conditions are doubles in C and floats in the core. Where a range or its steps are small beside its ends,
//! as from 2.40e9 to 2.48e9, the core has the distance from the low end, so that nothing is lost.

use foretune_core::Dimension;
use heapless::Vec;

use crate::types::*;

/// A range that is smaller than this share of its larger end is counted from its low end; as in problem files.
const NARROW: f64 = 1.0 / 256.0;
/// Likewise a grid whose steps are smaller than this share.
const FINE: f64 = 1.0 / 4096.0;

/// What the core's numbers of a dimension mean.
#[derive(Clone, Copy)]
pub struct Edge {
    /// What they are counted from.
    origin: f64,
    /// How far apart its levels are; 0: there are none, or floats are enough for them.
    step: f64,
}

impl Edge {
    pub const PLAIN: Edge = Edge { origin: 0.0, step: 0.0 };

    pub fn of(dimension: &foretune_dimension) -> Edge {
        use foretune_dimension_kind::*;
        let &foretune_dimension { kind, low, high, levels, .. } = dimension;
        let (range, largest) = (high - low, low.abs().max(high.abs()));
        if kind == FORETUNE_GRID as u32 {
            let step = divided(range, levels.max(2) - 1);
            return if step < largest * FINE { Edge { origin: low, step } } else { Edge::PLAIN };
        }
        let has_ends = kind == FORETUNE_INTERVAL as u32 || kind == FORETUNE_CONDITION as u32;
        if has_ends && range < largest * NARROW { Edge { origin: low, step: 0.0 } } else { Edge::PLAIN }
    }

    pub fn inward(self, value: f64) -> f32 {
        (value - self.origin) as f32
    }

    fn outward(self, value: f32) -> f64 {
        if self.step == 0.0 {
            return self.origin + f64::from(value);
        }
        self.origin + self.step * f64::from((value / self.step as f32 + 0.5) as u32)
    }
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
