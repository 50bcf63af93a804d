//! A benchmark as the optimizer sees it: the problem's space, fidelities and budget, and the way back.

use foretune_core::{Dimension, Fidelity, Goal, Problem as CoreProblem};

use crate::problems::{DimensionSpec, ProblemSpec};
use crate::settings::shortest;

/// A problem in the core's terms.
#[derive(Clone, Debug)]
pub struct Space {
    dimensions: Vec<Dimension>,
    /// Values of the levels of each dimension, empty for an interval.
    levels: Vec<Vec<f64>>,
    fidelities: Vec<Fidelity>,
    budget: f32,
    goal: Goal,
}

impl Space {
    /// Translates a problem that is maximised, as the built-in ones are.
    pub fn new(spec: &ProblemSpec) -> Self {
        Self::of_goal(spec, Goal::Maximise)
    }

    /// Translates a problem.
    pub fn of_goal(spec: &ProblemSpec, goal: Goal) -> Self {
        let fidelity = |f: &crate::problems::FidelitySpec| Fidelity {
            cost: f.cost as f32,
            samples: f.samples,
            noise: f.noise_variance as f32,
        };
        let levels = |d: &DimensionSpec| match d {
            DimensionSpec::Interval { .. } => Vec::new(),
            DimensionSpec::Levels { values, .. } => values.clone(),
        };
        Self {
            dimensions: spec.dimensions.iter().map(dimension).collect(),
            levels: spec.dimensions.iter().map(levels).collect(),
            fidelities: spec.fidelities.iter().map(fidelity).collect(),
            budget: spec.budget as f32,
            goal,
        }
    }

    /// The core's problem.
    pub fn problem(&self) -> CoreProblem<'_> {
        CoreProblem {
            dimensions: &self.dimensions,
            fidelities: &self.fidelities,
            budget: self.budget,
            goal: self.goal,
        }
    }

    /// The inputs.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The setting at a point of the unit cube, in the problem's units: a level exactly as the problem has it, any
    /// other value with the digits that the optimizer's `f32` has.
    pub fn natural(&self, unit: &[f32]) -> Vec<f64> {
        let value = |((x, dimension), levels): ((&f32, &Dimension), &Vec<f64>)| match dimension
            .level_of_unit(*x)
            .and_then(|level| levels.get(level))
        {
            Some(level) => *level,
            None => shortest(dimension.value(*x)),
        };
        unit.iter().zip(&self.dimensions).zip(&self.levels).map(value).collect()
    }
}

fn dimension(spec: &DimensionSpec) -> Dimension {
    match spec {
        DimensionSpec::Interval { low, high, .. } => {
            Dimension::Interval { low: *low as f32, high: *high as f32 }
        }
        DimensionSpec::Levels { values, .. } => match even_levels(values) {
            Some(levels) => {
                Dimension::Grid { low: values[0] as f32, high: values[values.len() - 1] as f32, levels }
            }
            // The core wants levels that live as long as the program. A program has a handful of problems.
            None => Dimension::Levels(values.iter().map(|v| *v as f32).collect::<Vec<f32>>().leak()),
        },
    }
}

/// The number of levels, if they are evenly spaced.
fn even_levels(values: &[f64]) -> Option<u16> {
    let (first, last) = (values.first()?, values.last()?);
    let gap = (last - first) / (values.len() - 1) as f64;
    let even = |(i, value): (usize, &f64)| (value - (first + gap * i as f64)).abs() < 1e-9 * gap;
    values.iter().enumerate().all(even).then(|| u16::try_from(values.len()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::Problem;

    #[test]
    fn every_level_of_every_problem_comes_back_exactly() {
        for name in ["rrm", "rrm:stations=4", "gas", "hartmann6"] {
            let spec = name.parse::<Problem>().unwrap().spec();
            let space = Space::new(&spec);
            assert!(space.problem().checked().is_ok());
            let count = space.dimensions.iter().filter_map(Dimension::levels).max().unwrap_or(0);
            for level in 0..count {
                let at = |d: &Dimension| d.unit_of_level(level.min(d.levels().map_or(0, |n| n - 1)));
                let unit: Vec<f32> = space.dimensions.iter().map(at).collect();
                for (value, dimension) in space.natural(&unit).iter().zip(&spec.dimensions) {
                    if let DimensionSpec::Levels { values, .. } = dimension {
                        assert_eq!(*value, values[level.min(values.len() - 1)]);
                    }
                }
            }
        }
    }

    #[test]
    fn power_levels_are_a_grid_and_alpha_a_list() {
        let space = Space::new(&"rrm".parse::<Problem>().unwrap().spec());
        assert_eq!(space.dimensions()[0], Dimension::Grid { low: -202.0, high: 24.0, levels: 114 });
        assert!(matches!(space.dimensions()[1], Dimension::Levels(values) if values.len() == 8));
    }
}
