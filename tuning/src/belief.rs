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
    /// Mean and deviation at a place along it, on a line between its neighbours.
    fn between(&self, name: &str, at: f64) -> [f64; 2] {
        let known = |i: usize| {
            self.expected.get(name).and_then(|along| along.get(i)).map_or([0.0; 2], |own| own.map(f64::from))
        };
        let right = self.at.partition_point(|x| *x < at).clamp(1, self.at.len() - 1);
        let (low, high) = (self.at[right - 1], self.at[right]);
        let share = ((at - low) / (high - low)).clamp(0.0, 1.0);
        let (left, right) = (known(right - 1), known(right));
        [0, 1].map(|i| left[i] + share * (right[i] - left[i]))
    }

    /// By how much the expected value changes along it.
    pub fn spread(&self) -> f32 {
        let means = || self.expected.get(VALUE).into_iter().flatten().map(|[mean, _]| *mean);
        means().fold(f32::MIN, f32::max) - means().fold(f32::MAX, f32::min)
    }
}

impl Belief {
    /// What is expected of its point under conditions, of the value and then of every KPI as the model sees it: by how much each
    /// condition alone changes that.
    pub(crate) fn under(&self, target: &Target, conditions: &[f64]) -> Vec<f32> {
        let slices = &self.slices[target.chosen().min(self.slices.len())..];
        let sum =
            |name: &str| slices.iter().zip(conditions).map(|(slice, at)| slice.between(name, *at)[0]).sum();
        let kpis: Vec<f64> = target.guards.iter().map(|guard| sum(&guard.name)).collect();
        let value: f64 = sum(VALUE);
        [value as f32].into_iter().chain(target.told(&kpis)).collect()
    }

    /// How unsure the value is under them.
    pub(crate) fn variance_under(&self, target: &Target, conditions: &[f64]) -> f64 {
        let slices = &self.slices[target.chosen().min(self.slices.len())..];
        slices.iter().zip(conditions).map(|(slice, at)| slice.between(VALUE, *at)[1].powi(2)).sum()
    }

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
