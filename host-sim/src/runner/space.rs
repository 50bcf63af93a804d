//! A benchmark as the optimizer sees it: the problem's space, fidelities and budget, and the way back.

use foretune_core::{Dimension, Fidelity, Goal, Guard, Kind, Limit, Problem as CoreProblem};

use crate::problems::{DimensionSpec, Guarded, Mapping, ProblemSpec, Service};
use crate::words::shortest;

#[derive(Clone, Debug)]
pub struct Space {
    inputs: Vec<Input>,
    fidelities: Vec<Fidelity>,
    budget: f32,
    goal: Goal,
    service: Service,
    /// Its limits, as the core has them.
    limits: Vec<(Vec<f32>, f32)>,
    in_use: bool,
    free_start: bool,
}

/// What the core's problem borrows of a [`Space`].
pub struct Parts<'a> {
    dimensions: Vec<Dimension<'a>>,
    limits: Vec<Limit<'a>>,
    guards: Vec<Guard<'a>>,
}

#[derive(Clone, Debug)]
struct Input {
    low: f32,
    high: f32,
    /// Values of the levels, empty for an interval.
    levels: Vec<f64>,
    /// The same as the core has them, empty where they are evenly spaced.
    uneven: Vec<f32>,
    /// Where the core is given another number than a person.
    mapping: Option<Mapping>,
    condition: bool,
    category: bool,
}

impl Space {
    /// Translates a problem that is maximised, as the built-in ones are.
    pub fn new(spec: &ProblemSpec) -> Self {
        Self::of_goal(spec, Goal::Maximise)
    }

    pub fn of_goal(spec: &ProblemSpec, goal: Goal) -> Self {
        let fidelity = |f: &crate::problems::FidelitySpec| Fidelity {
            cost: f.cost as f32,
            samples: f.samples,
            noise: f.noise_variance as f32,
        };
        Self {
            inputs: spec.dimensions.iter().map(Input::new).collect(),
            fidelities: spec.fidelities.iter().map(fidelity).collect(),
            budget: spec.budget as f32,
            goal,
            service: Service::default(),
            limits: Vec::new(),
            in_use: false,
            free_start: spec.free_start,
        }
    }

    /// The same with what is asked beside the problem, and whether tasks start from a point in use.
    #[must_use]
    pub fn asking(self, service: Service, in_use: bool) -> Self {
        let limit = |(coefficients, at_most): &(Vec<f64>, f64)| {
            let mut at_most = *at_most;
            let mapped = |(coefficient, input): (&f64, &Input)| {
                let (coefficient, less) =
                    input.mapping.map_or((*coefficient, 0.0), |m| m.limit(*coefficient));
                at_most -= less;
                coefficient as f32
            };
            let coefficients = coefficients.iter().zip(&self.inputs).map(mapped).collect();
            (coefficients, at_most as f32)
        };
        let limits = service.limits.iter().map(limit).collect();
        Self { service, limits, in_use, ..self }
    }

    /// What is asked of a system in service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Whether tasks start from a point in use.
    pub fn is_in_use(&self) -> bool {
        self.in_use
    }

    /// Whether a query costs nothing: an initial one of the paper's problems, unless a system is in service meanwhile.
    pub fn is_free(&self, kind: Kind) -> bool {
        kind == Kind::Initial && self.free_start && !self.in_use
    }

    pub fn parts(&self) -> Parts<'_> {
        let limits = self.limits.iter().map(|(a, b)| Limit { coefficients: a, at_most: *b }).collect();
        let guards = self.service.guards.iter().map(Guarded::core).collect();
        Parts { dimensions: self.dimensions(), limits, guards }
    }

    /// The core's problem; the point in use is as [`Space::core_point`] has it.
    pub fn problem<'a>(&'a self, parts: &'a Parts<'a>, deployed: Option<&'a [f32]>) -> CoreProblem<'a> {
        CoreProblem {
            dimensions: &parts.dimensions,
            fidelities: &self.fidelities,
            budget: self.budget,
            goal: self.goal,
            deployed,
            floor: self.service.floor,
            tolerance: self.service.tolerance,
            limits: &parts.limits,
            guards: &parts.guards,
            ..CoreProblem::PLAIN
        }
    }

    pub fn dimensions(&self) -> Vec<Dimension<'_>> {
        self.inputs.iter().map(Input::dimension).collect()
    }

    /// The setting at a point of the unit cube, in the problem's units: a level exactly as the problem has it, any
    /// other value with the digits that the optimizer's `f32` has.
    pub fn natural(&self, unit: &[f32]) -> Vec<f64> {
        unit.iter().zip(&self.inputs).map(|(x, input)| input.natural(*x)).collect()
    }

    /// The same for people: levels, too, have no more digits than the optimizer has.
    pub fn shown(&self, unit: &[f32]) -> Vec<f64> {
        let value = |(x, input): (&f32, &Input)| match input.mapping {
            Some(_) => input.natural(*x),
            None => shortest(input.natural(*x) as f32),
        };
        unit.iter().zip(&self.inputs).map(value).collect()
    }

    /// A point in the problem's units as the core is given it; conditions may be left out, at its end.
    pub fn core_point(&self, natural: &[f64]) -> Vec<f32> {
        let given = |(j, input): (usize, &Input)| natural.get(j).map_or(input.low, |x| input.core(*x));
        self.inputs.iter().enumerate().map(given).collect()
    }

    /// The point of the unit cube nearest to a point in the problem's units.
    pub fn unit(&self, natural: &[f64]) -> Vec<f32> {
        let nearest = |(x, input): (&f64, &Input)| {
            let dimension = input.dimension();
            let (low, high) = (dimension.value(0.0), dimension.value(1.0));
            dimension.snap((input.core(*x) - low) / (high - low))
        };
        natural.iter().zip(&self.inputs).map(nearest).collect()
    }
}

impl Input {
    fn new(spec: &DimensionSpec) -> Self {
        let mapping = Mapping::of(spec);
        let core = |value: f64| mapping.map_or(value, |mapping| mapping.place(value));
        let (low, high) = spec.range();
        let (low, high) = (core(low) as f32, core(high) as f32);
        let condition = spec.notation().condition;
        let category = matches!(spec, DimensionSpec::Category { .. });
        let mut input =
            Self { low, high, levels: Vec::new(), uneven: Vec::new(), mapping, condition, category };
        if let DimensionSpec::Levels { values, .. } = spec {
            let given: Vec<f64> = values.iter().map(|value| core(*value)).collect();
            input.levels = values.clone();
            if !are_even(&given) {
                input.uneven = given.iter().map(|value| *value as f32).collect();
            }
        }
        input
    }

    fn core(&self, value: f64) -> f32 {
        self.mapping.map_or(value as f32, |mapping| mapping.place(value) as f32)
    }

    fn natural(&self, unit: f32) -> f64 {
        let dimension = self.dimension();
        let level = dimension.level_of_unit(unit).and_then(|level| self.levels.get(level));
        match (level, self.mapping) {
            (Some(level), _) => *level,
            (None, Some(mapping)) => mapping.value(dimension.value(unit)),
            (None, None) => shortest(dimension.value(unit)),
        }
    }

    fn dimension(&self) -> Dimension<'_> {
        match *self {
            Self { low, high, condition: true, .. } => Dimension::Condition { low, high },
            Self { high, category: true, .. } => Dimension::Category { count: high as u8 + 1 },
            Self { ref uneven, .. } if !uneven.is_empty() => Dimension::Levels(uneven),
            Self { low, high, ref levels, .. } if levels.is_empty() => Dimension::Interval { low, high },
            Self { low, high, ref levels, .. } => Dimension::Grid { low, high, levels: levels.len() as u16 },
        }
    }
}

/// Whether levels are evenly spaced, and not too many for a grid.
fn are_even(values: &[f64]) -> bool {
    let (first, last) = (values[0], values[values.len() - 1]);
    let gap = (last - first) / (values.len() - 1) as f64;
    let even = |(i, value): (usize, &f64)| (value - (first + gap * i as f64)).abs() < 1e-9 * gap;
    values.len() <= usize::from(u16::MAX) && values.iter().enumerate().all(even)
}
