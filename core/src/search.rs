//! Candidates: where the acquisition is looked at. Deterministic in its seed.
//!
//! A space of few enough points is searched whole. Elsewhere: a low-discrepancy set (an additive recurrence with the
//! generalised golden ratio, shifted at random every round), the best observed points and points around them; then
//! refinements around the best few by score.

use crate::random::Random;
use crate::space::{self, Dimension, MAX_DIMENSIONS};

/// `2³² / φ_d` for `d` = 1 to 16, `φ_d` the positive root of `x^(d+1) = x + 1`.
const INVERSE_RATIO: [u32; MAX_DIMENSIONS] = [
    0x9e37_79b9,
    0xc13f_a9a9,
    0xd1b5_4a32,
    0xdb4f_0b91,
    0xe19b_01aa,
    0xe60e_2b72,
    0xe95e_1dd1,
    0xebed_eed9,
    0xedf8_4ed4,
    0xefa2_39aa,
    0xf104_2720,
    0xf22e_ecf6,
    0xf32e_81f3,
    0xf40b_a295,
    0xf4cc_d627,
    0xf577_16bc,
];

/// A shifted low-discrepancy sequence, or a whole space if it is small enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lattice {
    shift: [u32; MAX_DIMENSIONS],
    /// Number of points, if the space is searched whole.
    pub whole: Option<usize>,
}

impl Lattice {
    /// A lattice that covers a space of at most `limit` points whole.
    pub fn new(dimensions: &[Dimension<'_>], limit: usize, random: &mut Random) -> Self {
        Lattice { shift: core::array::from_fn(|_| random.bits()), whole: space::size(dimensions, limit) }
    }

    /// Point `index`, on the levels of the space.
    pub fn point(&self, dimensions: &[Dimension<'_>], index: usize, x: &mut [f32]) {
        if self.whole.is_some() {
            return space::enumerate(dimensions, index, x);
        }
        let ratio = u64::from(INVERSE_RATIO[(dimensions.len() - 1).min(MAX_DIMENSIONS - 1)]);
        let mut step = ratio;
        for (j, (x, dimension)) in x.iter_mut().zip(dimensions).enumerate() {
            let word = self.shift[j].wrapping_add((index as u32).wrapping_mul(step as u32));
            *x = dimension.spread((word >> 8) as f32 * (1.0 / 16_777_216.0));
            step = (step * ratio) >> 32;
        }
    }
}

/// A uniform point of the space.
pub(crate) fn uniform(dimensions: &[Dimension<'_>], random: &mut Random, x: &mut [f32]) {
    for (x, dimension) in x.iter_mut().zip(dimensions) {
        *x = match dimension.levels() {
            Some(levels) => dimension.unit_of_level(random.below(levels)),
            None => random.uniform(),
        };
    }
}

/// How often a category takes another value while all coordinates move.
const CHANGED: f32 = 0.2;

/// A point around `centre`: every coordinate moves by some `radius`, or, half the time, one coordinate alone.
///
/// On levels the move is at least one level. A category alone takes another value, beside others one time in five, whatever the
/// radius.
pub(crate) fn around(
    dimensions: &[Dimension<'_>],
    centre: &[f32],
    radius: f32,
    random: &mut Random,
    x: &mut [f32],
) {
    let alone = (random.uniform() < 0.5).then(|| random.below(dimensions.len()));
    let alone = alone.filter(|&only| dimensions.get(only).is_some_and(|only| !only.is_condition()));
    for (j, dimension) in dimensions.iter().enumerate() {
        let by = radius * random.normal();
        x[j] = match alone {
            Some(only) if only != j => centre[j],
            _ if dimension.is_category() => changed(dimension, centre[j], alone.is_some(), random),
            _ => moved(dimension, centre[j], by),
        };
    }
}

/// Another value of a category, surely or now and then.
fn changed(category: &Dimension<'_>, from: f32, surely: bool, random: &mut Random) -> f32 {
    if !surely && random.uniform() >= CHANGED {
        return from;
    }
    let (value, count) = (category.level_of_unit(from).unwrap_or(0), category.levels().unwrap_or(2));
    let next = value + 1 + random.below(count - 1);
    category.unit_of_level(if next < count { next } else { next - count })
}

fn moved(dimension: &Dimension<'_>, from: f32, by: f32) -> f32 {
    let to = dimension.snap(from + by);
    match (dimension.level_of_unit(from), dimension.levels()) {
        (Some(level), Some(levels)) if to == from => {
            let next = if by < 0.0 { level.saturating_sub(1) } else { (level + 1).min(levels - 1) };
            dimension.unit_of_level(next)
        }
        _ => to,
    }
}

/// Radius of refinement `index`, from 0: 0.1, then a third of the last.
pub(crate) fn radius(index: usize) -> f32 {
    (0..index).fold(0.1, |radius, _| radius / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    extern crate std;
    use std::vec::Vec;

    fn random() -> Random {
        Random::new(3, 1, 1, Purpose::Candidates, 0)
    }

    #[test]
    fn the_lattice_fills_every_box_of_a_coarse_grid() {
        let dimensions = [Dimension::Interval { low: 0.0, high: 1.0 }; 3];
        let lattice = Lattice::new(&dimensions, 256, &mut random());
        let mut hit = [false; 64];
        for index in 0..256 {
            let mut x = [0.0; 3];
            lattice.point(&dimensions, index, &mut x);
            let cell = x.iter().fold(0, |cell, &x| cell * 4 + (x * 4.0) as usize);
            hit[cell] = true;
        }
        assert!(hit.iter().filter(|&&hit| hit).count() >= 62);
    }

    #[test]
    fn small_spaces_are_covered_whole() {
        let dimensions =
            [Dimension::Grid { low: 0.0, high: 1.0, levels: 5 }, Dimension::Levels(&[0.0, 0.4, 1.0])];
        let lattice = Lattice::new(&dimensions, 15, &mut random());
        assert_eq!(lattice.whole, Some(15));
        let points: std::collections::BTreeSet<[u32; 2]> = (0..15)
            .map(|index| {
                let mut x = [0.0; 2];
                lattice.point(&dimensions, index, &mut x);
                x.map(f32::to_bits)
            })
            .collect();
        assert_eq!(points.len(), 15);
    }

    #[test]
    fn neighbours_lie_in_the_space_and_differ_from_the_centre() {
        let dimensions = [
            Dimension::Grid { low: 0.0, high: 1.0, levels: 114 },
            Dimension::Levels(&[0.0, 0.4, 1.0]),
            Dimension::Interval { low: -5.0, high: 5.0 },
        ];
        let mut random = random();
        let centre = [0.0, 1.0, 0.5];
        let mut same = 0;
        for _ in 0..200 {
            let mut x = [0.0; 3];
            around(&dimensions, &centre, 0.01, &mut random, &mut x);
            let snapped: Vec<f32> = dimensions.iter().zip(x).map(|(d, x)| d.snap(x)).collect();
            assert_eq!(snapped, x);
            same += usize::from(x == centre);
        }
        assert!(same < 80, "only moves beyond the border of a level stay: {same}");
    }

    #[test]
    fn a_category_jumps_to_any_other_value_however_small_the_radius() {
        let dimensions = [Dimension::Category { count: 4 }, Dimension::Interval { low: 0.0, high: 1.0 }];
        let (mut random, mut hits) = (random(), [0; 4]);
        for _ in 0..3000 {
            let mut x = [0.0; 2];
            around(&dimensions, &[dimensions[0].unit_of_level(1), 0.5], 1e-3, &mut random, &mut x);
            hits[dimensions[0].value(x[0]) as usize] += 1;
            assert!(x != [dimensions[0].unit_of_level(1), 0.5], "no move at all");
        }
        // A fourth of the time alone, half of the time beside others: 0.25 + 0.5 · 0.2.
        let others = [hits[0], hits[2], hits[3]];
        assert!(others.iter().all(|hits| (300..400).contains(hits)), "{hits:?}");
    }
}
