//! Between the optimizer's words and the link's: how a task starts, what is asked, why it ended.

use foretune_core::{Dimension, Error, Fleet, LARGEST_VALUE, Optimizer, Problem, Query, Stop};
use foretune_link::{Begin, Coordinate, MAX_GUARDS, Point, Proposal, Reason, Recommendation};
use heapless::Vec;

use crate::log::warn;

/// Loads what a task begins with: a fleet's file, if there is one and it can be used, knowledge, if there is any, and the point
/// in use, if the station names it anew.
///
/// # Errors
/// Why the knowledge cannot be used.
pub fn take_over<'a>(
    optimizer: &mut Optimizer<'a>,
    begin: &Begin,
    knowledge: &[u8],
    fleet: &'a [u8],
) -> Result<(), Error> {
    if Fleet::read(fleet).is_ok_and(|fleet| optimizer.set_fleet(Some(fleet)).is_err()) {
        warn!("the fleet's file is of no use here");
    }
    match (knowledge, begin.adopt) {
        ([], _) => {}
        (_, false) => optimizer.load(knowledge)?,
        (_, true) => optimizer.load_from_another_problem(knowledge)?,
    }
    match optimizer.problem().deployed.filter(|_| begin.deploy) {
        Some(point) => optimizer.deploy(point),
        None => Ok(()),
    }
}

/// Whether a measurement can give these numbers. One that cannot counts as failed.
pub fn is_plausible(optimizer: &Optimizer<'_>, value: f32, kpis: &[f32]) -> bool {
    optimizer.plausible().contains(&value) && kpis.iter().all(|kpi| kpi.abs() <= LARGEST_VALUE)
}

/// Where a query was measured that a report with these numbers answers, in the unit cube, and under which conditions, moved into
/// their ranges; none where it does not say. They stand behind the KPIs.
pub fn measured(
    problem: &Problem<'_>,
    query: &Query,
    numbers: &[f32],
) -> (foretune_core::Point, Vec<f32, MAX_GUARDS>) {
    let (mut unit, mut conditions) = (foretune_core::Point::new(), Vec::new());
    let mut told = numbers.iter().skip(problem.guards.len());
    for (dimension, asked) in problem.dimensions.iter().zip(query.unit()) {
        let x = if dimension.is_condition() { told.next() } else { None };
        let x = x.map(|x| x.max(dimension.value(0.0)).min(dimension.value(1.0)));
        let _ = unit.push(x.and_then(|x| dimension.unit(x)).unwrap_or(*asked));
        x.into_iter().for_each(|x| _ = conditions.push(x));
    }
    (unit, conditions)
}

/// The optimizer's reason as the link says it.
pub fn reason(stop: Stop) -> Reason {
    match stop {
        Stop::Budget => Reason::Budget,
        Stop::Capacity => Reason::Capacity,
        Stop::Exhausted => Reason::Exhausted,
        Stop::Tolerance => Reason::Tolerance,
        _ => Reason::Stopped,
    }
}

/// A point of the unit cube as the link says it: levels by index, intervals by their exact bits.
pub fn coordinates(dimensions: &[Dimension], unit: &[f32]) -> Point {
    dimensions
        .iter()
        .zip(unit)
        .map(|(dimension, &unit)| match dimension.level_of_unit(unit) {
            Some(level) => Coordinate::Level(level as u16),
            None => Coordinate::Unit(unit),
        })
        .collect()
}

/// A query as the link says it.
pub fn proposal(problem: &Problem<'_>, query: &Query) -> Proposal {
    let fidelity = problem.fidelities[query.fidelity()];
    Proposal {
        fidelity: query.fidelity() as u8,
        samples: fidelity.samples,
        cost: fidelity.cost,
        point: coordinates(problem.dimensions, query.unit()),
    }
}

/// The end of a task as the link says it; none if nothing was observed.
pub fn recommendation(optimizer: &Optimizer<'_>, task: u32, stop: Stop) -> Option<Recommendation> {
    optimizer.recommendation().map(|best| Recommendation {
        task,
        reason: reason(stop),
        queries: optimizer.records().count() as u32,
        spent: optimizer.status().spent,
        mean: best.mean,
        point: coordinates(optimizer.problem().dimensions, best.unit()),
        assured: best.assured,
    })
}
