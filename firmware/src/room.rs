//! What a device has room for, and whether a problem can be tuned in it.

use foretune_core::{Capacities, Dimension, Error, Limit, Problem};
use foretune_link::{MAX_GUARDS, Misfit, Part};

/// What a device has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Most dimensions.
    pub dimensions: usize,
    /// Most fidelities.
    pub fidelities: usize,
    /// Most guards.
    pub guards: usize,
    /// Most features, if any dimension has several: the deep map takes no such category.
    pub features: usize,
}

impl Room {
    /// That of a memory.
    pub const fn of(capacities: &Capacities) -> Room {
        let Capacities { dimensions, fidelities, guards, map, .. } = *capacities;
        let features = if map.is_deep() { 0 } else { dimensions };
        Room { dimensions, fidelities, guards, features }
    }
}

/// Whether a device with so much room can tune a problem.
///
/// # Errors
/// The first part that it cannot take.
pub fn check(problem: &Problem<'_>, room: Room) -> Result<(), Misfit> {
    let misfit = |part, at: usize| Err(Misfit { part, at: at as u16 });
    let most = problem.dimensions.len().max(room.features).min(room.dimensions);
    if problem.dimensions.is_empty() || problem.features() > most {
        return misfit(Part::Dimensions, room.dimensions);
    }
    if problem.fidelities.is_empty() || problem.fidelities.len() > room.fidelities {
        return misfit(Part::Fidelities, room.fidelities);
    }
    // A report has room for so many numbers beside the value.
    let guards = room.guards.min(MAX_GUARDS.saturating_sub(problem.conditions()));
    if problem.guards.len() > guards {
        return misfit(Part::Guards, guards);
    }
    match problem.checked() {
        Err(Error::Dimension { index, .. }) => misfit(Part::Dimension, index),
        Err(Error::Fidelity { index, .. }) => misfit(Part::Fidelity, index),
        Err(_) => match live_fault(problem) {
            Part::Guards => misfit(Part::Guards, room.guards),
            part => misfit(part, 0),
        },
        Ok(_) if !can_be_in_use(problem) => misfit(Part::PointInUse, 0),
        Ok(_) => Ok(()),
    }
}

/// Which part the core has something against: the one without which it has not.
fn live_fault(problem: &Problem<'_>) -> Part {
    let bound = problem.floor.is_some() || !problem.limits.is_empty() || !problem.guards.is_empty();
    if problem.deployed.is_none() && bound {
        Part::PointInUse
    } else if (Problem { tolerance: 0.0, ..*problem }).checked().is_ok() {
        Part::Tolerance
    } else if (Problem { floor: None, ..*problem }).checked().is_ok() {
        Part::Floor
    } else if (Problem { guards: &[], ..*problem }).checked().is_ok() {
        Part::Guards
    } else {
        Part::Limits
    }
}

/// Whether the point in use, if there is one, lies in its ranges and keeps to the limits.
fn can_be_in_use(problem: &Problem<'_>) -> bool {
    let Some(point) = problem.deployed else { return true };
    let value = |(d, x): (&Dimension<'_>, &f32)| d.unit(if d.is_condition() { d.value(0.0) } else { *x });
    let values =
        || problem.dimensions.iter().zip(point).map(move |pair| value(pair).map(|unit| pair.0.value(unit)));
    let within = |limit: &Limit<'_>| {
        let terms = limit.coefficients.iter().zip(values());
        terms.fold(0.0, |sum, (a, x)| sum + a * x.unwrap_or(f32::NAN)) <= limit.at_most
    };
    point.len() == problem.dimensions.len()
        && values().all(|value| value.is_some())
        && problem.limits.iter().all(within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_core::{Dimension, Fidelity, Floor, Goal, Guard, Level, Side};

    const DIMENSIONS: &[Dimension<'static>] = &[
        Dimension::Grid { low: -202.0, high: 24.0, levels: 114 },
        Dimension::Levels(&[0.0, 0.4, 1.0]),
        Dimension::Interval { low: -1.0, high: 1.0 },
    ];
    const FIDELITIES: &[Fidelity] = &[
        Fidelity { cost: 10.0, samples: 10, noise: 0.5 },
        Fidelity { cost: 20.0, samples: 300, noise: 0.25 },
    ];

    /// Everything that a problem can have.
    const LIVE: Problem<'static> = Problem {
        dimensions: DIMENSIONS,
        fidelities: FIDELITIES,
        budget: 7.0,
        goal: Goal::Minimise,
        deployed: Some(&[-80.0, 0.4, 0.5]),
        floor: Some(Floor { level: Level::Share(0.9), risk: 0.05 }),
        tolerance: 0.01,
        limits: &[Limit { coefficients: &[1.0, 2.0, 0.0], at_most: 0.0 }],
        guards: &[EDGE],
        ..Problem::PLAIN
    };

    const EDGE: Guard<'static> = Guard {
        side: Side::AtLeast,
        floor: Floor { level: Level::Share(0.9), risk: 0.05 },
        noise: &[0.5, 0.25],
    };
    const ROOM: Room = Room { dimensions: 4, fidelities: 4, guards: 2, features: 4 };

    #[test]
    fn what_does_not_fit_is_named() {
        let grid = Dimension::Grid { low: 0.0, high: 1.0, levels: 3 };
        let fidelity = Fidelity { cost: 1.0, samples: 1, noise: 0.0 };
        let floor = |share, risk| Some(Floor { level: Level::Share(share), risk });
        let beyond = Limit { coefficients: &[1.0, 0.0, 0.0], at_most: -100.0 };
        for (problem, part, at) in [
            (Problem { dimensions: &[], ..LIVE }, Part::Dimensions, 4),
            (Problem { fidelities: &[], ..LIVE }, Part::Fidelities, 4),
            (Problem { dimensions: &[grid; 5], ..LIVE }, Part::Dimensions, 4),
            (Problem { dimensions: &[grid, Dimension::Category { count: 4 }], ..LIVE }, Part::Dimensions, 4),
            (Problem { fidelities: &[fidelity; 5], ..LIVE }, Part::Fidelities, 4),
            (Problem { dimensions: &[grid, Dimension::Levels(&[1.0])], ..LIVE }, Part::Dimension, 1),
            (Problem { fidelities: &[Fidelity { cost: 0.0, ..fidelity }], ..LIVE }, Part::Fidelity, 0),
            (Problem { deployed: None, ..LIVE }, Part::PointInUse, 0),
            (Problem { deployed: Some(&[-80.0, 0.4, 2.0]), ..LIVE }, Part::PointInUse, 0),
            (Problem { deployed: Some(&[-80.0, 0.4, f32::NAN]), ..LIVE }, Part::PointInUse, 0),
            (Problem { limits: &[beyond], ..LIVE }, Part::PointInUse, 0),
            (Problem { floor: floor(1.5, 0.1), ..LIVE }, Part::Floor, 0),
            (Problem { floor: floor(0.5, f32::NAN), ..LIVE }, Part::Floor, 0),
            (Problem { guards: &[EDGE; 3], ..LIVE }, Part::Guards, 2),
            (Problem { guards: &[Guard { noise: &[0.5], ..EDGE }], ..LIVE }, Part::Guards, 2),
            (Problem { guards: &[Guard { noise: &[f32::NAN; 2], ..EDGE }], ..LIVE }, Part::Guards, 2),
            (Problem { deployed: None, floor: None, limits: &[], ..LIVE }, Part::PointInUse, 0),
            (Problem { tolerance: -1.0, ..LIVE }, Part::Tolerance, 0),
            (Problem { limits: &[Limit { at_most: f32::INFINITY, ..beyond }], ..LIVE }, Part::Limits, 0),
        ] {
            assert_eq!(check(&problem, ROOM), Err(Misfit { part, at }), "{problem:?}");
        }
        let category = Problem {
            dimensions: &[grid, Dimension::Category { count: 3 }],
            fidelities: LIVE.fidelities,
            budget: 1.0,
            ..Problem::PLAIN
        };
        assert_eq!(check(&category, ROOM), Ok(()));
        let wide = Misfit { part: Part::Dimensions, at: 4 };
        assert_eq!(check(&category, Room { features: 0, ..ROOM }), Err(wide));
    }
}
