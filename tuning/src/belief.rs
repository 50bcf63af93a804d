//! What the model believes around the best point: along every parameter, and over the two that matter most.

use std::collections::BTreeMap;

use foretune_core::{Dimension, Optimizer};
use host_sim::runner::Space;
use serde::{Deserialize, Serialize};

use crate::Target;
use crate::why::{Because, VALUE};

/// Places along a parameter, unless it has fewer levels; and along each side of a map.
const ALONG: usize = 25;
const SIDE: usize = 13;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Belief {
    /// The point that all of it goes through, in natural units.
    pub through: Vec<f64>,
    /// One for every parameter and condition.
    pub slices: Vec<Slice>,
    /// What must be kept to, by KPI.
    pub bounds: BTreeMap<String, f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<Map>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    pub at: Vec<f64>,
    /// Mean and deviation at each of these, of the objective, `value`, and of every guarded KPI.
    pub expected: BTreeMap<String, Vec<[f32; 2]>>,
}

/// The mean over two parameters, the second from row to row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    pub over: [usize; 2],
    pub at: [Vec<f64>; 2],
    pub mean: Vec<Vec<f32>>,
}

impl Slice {
    /// By how much the expected value changes along it.
    pub fn spread(&self) -> f32 {
        let means = || self.expected.get(VALUE).into_iter().flatten().map(|[mean, _]| *mean);
        means().fold(f32::MIN, f32::max) - means().fold(f32::MAX, f32::min)
    }
}

impl Belief {
    /// Around a point of the unit cube; none before anything was observed. Deviations are wider where noise was estimated.
    pub(crate) fn of(
        target: &Target,
        space: &Space,
        tuner: &mut Optimizer<'_>,
        (through, widening): (&[f32], f32),
    ) -> Option<Self> {
        let mut look = |unit: &[f32]| Some(Because::of(target, &tuner.explain_at(unit)?, widening).expected);
        let bound = |(name, expected): (String, crate::why::Expected)| Some((name, expected.bound?));
        let bounds = look(through)?.into_iter().filter_map(bound).collect();
        let dimensions = space.dimensions();
        let mut slices = Vec::new();
        for (j, dimension) in dimensions.iter().enumerate() {
            let mut slice = Slice { at: Vec::new(), expected: BTreeMap::new() };
            for unit in moved(through, (j, dimension), ALONG) {
                slice.at.push(space.shown(&unit)[j]);
                for (name, expected) in look(&unit)? {
                    let along = slice.expected.entry(name).or_default();
                    along.push([expected.mean, expected.deviation]);
                }
            }
            slices.push(slice);
        }
        let mut by_spread: Vec<usize> = (0..slices.len()).collect();
        by_spread.sort_by(|a, b| slices[*b].spread().total_cmp(&slices[*a].spread()));
        let map = match by_spread[..] {
            [first, second, ..] => {
                let axis = |j: usize| moved(through, (j, &dimensions[j]), SIDE);
                let shown = |j: usize| axis(j).iter().map(|unit| space.shown(unit)[j]).collect();
                let rows = axis(second).into_iter().map(|row| {
                    let cells = moved(&row, (first, &dimensions[first]), SIDE);
                    cells.iter().map(|unit| Some(look(unit)?.get(VALUE)?.mean)).collect()
                });
                let mean: Option<Vec<Vec<f32>>> = rows.collect();
                mean.map(|mean| Map { over: [first, second], at: [shown(first), shown(second)], mean })
            }
            _ => None,
        };
        Some(Self { through: space.shown(through), slices, bounds, map })
    }
}

/// A point moved along a dimension, to all its levels or to so many places.
fn moved(through: &[f32], (j, dimension): (usize, &Dimension<'_>), count: usize) -> Vec<Vec<f32>> {
    let levels = dimension.levels().filter(|levels| *levels <= count);
    let place = |i: usize| match levels {
        Some(_) => dimension.unit_of_level(i),
        None => dimension.snap(i as f32 / (count - 1) as f32),
    };
    let at = |i: usize| {
        let mut point = through.to_vec();
        point[j] = place(i);
        point
    };
    let mut points: Vec<Vec<f32>> = (0..levels.unwrap_or(count)).map(at).collect();
    points.dedup();
    points
}
