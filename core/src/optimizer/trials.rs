//! What a task in service starts from, and what its trials come to.

use crate::data::Point;
use crate::error::Error;
use crate::live::FIRST_MARGIN;
use crate::settings::Method;
use crate::space::Problem;

/// What a task starts from, and the next one after it.
#[derive(Clone)]
pub(super) struct Start {
    /// The point in use, in the unit cube.
    pub deployed: Option<Point>,
    /// The margin below the mean, in standard deviations.
    pub margin: f32,
}

impl Start {
    /// Of the first task.
    pub fn new(problem: &Problem<'_>, method: Method) -> Result<Start, Error> {
        if problem.floor.is_some() && method.asks_in_batches() {
            return Err(Error::Live("a floor needs a method that learns from every trial: no batch design"));
        }
        let deployed = problem.deployed.map(|point| deployable(problem, point)).transpose()?;
        Ok(Start { deployed, margin: FIRST_MARGIN })
    }
}

/// A point in natural units in the unit cube, if it lies within the ranges.
pub(super) fn unit_of(problem: &Problem<'_>, point: &[f32]) -> Option<Point> {
    let values = problem.dimensions.iter().zip(point).map(|(dimension, value)| dimension.unit(*value));
    values.collect::<Option<Point>>().filter(|_| point.len() == problem.dimensions.len())
}

/// A point in natural units in the unit cube, if it may be used.
pub(super) fn deployable(problem: &Problem<'_>, point: &[f32]) -> Result<Point, Error> {
    let outside = Error::Live("the point in use must lie within the ranges of the dimensions");
    let unit = unit_of(problem, point).ok_or(outside)?;
    if problem.admits(&unit) {
        Ok(unit)
    } else {
        Err(Error::Live("the point in use must keep to the limits"))
    }
}

/// The task's trials as the model sees them afterwards.
#[derive(Clone, Copy)]
pub(super) struct Trials {
    /// The margin now.
    pub margin: f32,
    /// The floor, standardised; below all without one.
    pub floor: f32,
    pub below: u32,
    /// Standardised: the worst mean, and the sum of means times costs.
    pub worst: f32,
    pub sum: f32,
    pub time: f32,
    /// Of the time, that of trials below.
    pub time_below: f32,
    /// Standardised mean of the query that waits, if it was searched for.
    pub expected: Option<f32>,
    /// The best standardised mean that the last search saw.
    pub best: Option<f32>,
}

impl Trials {
    /// None yet.
    pub const NONE: Trials = Trials {
        margin: FIRST_MARGIN,
        floor: f32::NEG_INFINITY,
        below: 0,
        worst: f32::INFINITY,
        sum: 0.0,
        time: 0.0,
        time_below: 0.0,
        expected: None,
        best: None,
    };
}
