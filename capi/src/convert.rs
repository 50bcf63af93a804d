//! Problems and settings from C as the core's, and the core's answers as C's.

use foretune_core::{
    Activity, Dimension, Error, Fidelity, FleetStatus, Floor, Goal, Guard, GuardStatus, Kind, Level, Limit,
    LiveStatus, Problem, Query, Recommendation, Settings, Side, Status, Stop,
};

use crate::edge::{Edge, Edges};
use crate::error::foretune_error;
use crate::pointer::array;
use crate::types::*;

/// What is wrong: the number, and the core's error for the words, where it has one.
#[derive(Clone, Copy)]
pub struct Fault {
    pub number: foretune_error,
    pub error: Option<Error>,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault { number: error.into(), error: Some(error) }
    }
}

impl From<foretune_error> for Fault {
    fn from(number: foretune_error) -> Self {
        Fault { number, error: None }
    }
}

/// The value that belongs to a number, or an error with a name and what is allowed.
macro_rules! choose {
    ($number:expr, $error:expr, $($name:path => $value:expr,)*) => {
        match $number {
            $(number if number == $name as u32 => $value,)*
            _ => return Err($error),
        }
    };
}

fn setting(name: &'static str, allowed: &'static str) -> Error {
    Error::Setting { name, allowed }
}

/// A problem in the core's terms, its arrays not yet in the tuner's memory.
pub struct Parts {
    pub dimensions: [Dimension<'static>; FORETUNE_MAX_DIMENSIONS],
    pub fidelities: [Fidelity; FORETUNE_MAX_FIDELITIES],
    pub limits: [Limit<'static>; FORETUNE_MAX_LIMITS],
    pub guards: [Guard<'static>; FORETUNE_MAX_GUARDS],
    edges: [Edge; FORETUNE_MAX_DIMENSIONS],
    deployed: Option<[f32; FORETUNE_MAX_DIMENSIONS]>,
    counts: [usize; 4],
    rest: Problem<'static>,
}

impl Parts {
    /// Reads a problem and looks at its pointers and counts; [`Problem::checked`] looks at the rest.
    ///
    /// # Safety
    /// Pointers in it are null, or point to what they say as long as the tuner is used.
    pub unsafe fn new(problem: &foretune_problem) -> Result<Parts, Fault> {
        let foretune_problem { dimension_count, fidelity_count, limit_count, guard_count, .. } = *problem;
        let counts = [dimension_count, fidelity_count, limit_count, guard_count];
        check_counts(counts)?;
        let mut parts = Parts {
            dimensions: [Dimension::Interval { low: 0.0, high: 0.0 }; FORETUNE_MAX_DIMENSIONS],
            fidelities: [Fidelity { cost: 0.0, samples: 0, noise: 0.0 }; FORETUNE_MAX_FIDELITIES],
            limits: [Limit { coefficients: &[], at_most: 0.0 }; FORETUNE_MAX_LIMITS],
            guards: [NO_GUARD; FORETUNE_MAX_GUARDS],
            edges: [Edge::PLAIN; FORETUNE_MAX_DIMENSIONS],
            deployed: None,
            counts,
            rest: rest(problem)?,
        };
        // SAFETY: the caller's promise.
        let (dimensions, fidelities, limits, guards) = unsafe {
            (
                array(problem.dimensions, dimension_count)?,
                array(problem.fidelities, fidelity_count)?,
                array(problem.limits, limit_count)?,
                array(problem.guards, guard_count)?,
            )
        };
        for (index, from) in dimensions.iter().enumerate() {
            let edge = Edge::of(from);
            parts.edges[index] = edge;
            // SAFETY: the caller's promise.
            parts.dimensions[index] = unsafe { dimension(index, from, edge) }?;
        }
        let edges = Edges(&parts.edges[..dimension_count]);
        for (to, &foretune_fidelity { cost, samples, noise }) in parts.fidelities.iter_mut().zip(fidelities) {
            *to = Fidelity { cost, samples, noise };
        }
        for (to, from) in parts.limits.iter_mut().zip(limits) {
            // SAFETY: the caller's promise.
            let coefficients = unsafe { array(from.coefficients, dimension_count) }?;
            *to = Limit { coefficients, at_most: edges.at_most(coefficients, from.at_most) };
        }
        for (to, from) in parts.guards.iter_mut().zip(guards) {
            // SAFETY: the caller's promise.
            *to = guard(from, unsafe { array(from.noise, fidelity_count) }?)?;
        }
        if !problem.deployed.is_null() {
            // SAFETY: the caller's promise.
            parts.deployed =
                Some(padded(&edges.inward(unsafe { array(problem.deployed, dimension_count) }?)));
        }
        Ok(parts)
    }

    /// The problem, with arrays that lie elsewhere.
    pub fn with<'a>(
        &self,
        (dimensions, fidelities): (&'a [Dimension<'static>], &'a [Fidelity]),
        (limits, guards): (&'a [Limit<'static>], &'a [Guard<'static>]),
        deployed: &'a [f32],
    ) -> Problem<'a> {
        let deployed = self.deployed.is_some().then_some(deployed);
        Problem { dimensions, fidelities, limits, guards, deployed, ..self.rest }
    }

    pub fn edges(&self) -> &[Edge] {
        &self.edges[..self.counts[0]]
    }

    pub fn deployed(&self) -> &[f32] {
        self.deployed.as_ref().map_or(&[], |point| &point[..self.counts[0]])
    }

    pub fn dimensions(&self) -> &[Dimension<'static>] {
        &self.dimensions[..self.counts[0]]
    }

    pub fn fidelities(&self) -> &[Fidelity] {
        &self.fidelities[..self.counts[1]]
    }

    pub fn limits(&self) -> &[Limit<'static>] {
        &self.limits[..self.counts[2]]
    }

    pub fn guards(&self) -> &[Guard<'static>] {
        &self.guards[..self.counts[3]]
    }

    /// The problem, as long as this lives.
    pub fn problem(&self) -> Problem<'_> {
        self.with((self.dimensions(), self.fidelities()), (self.limits(), self.guards()), self.deployed())
    }
}

fn check_counts([dimensions, fidelities, limits, guards]: [usize; 4]) -> Result<(), Error> {
    match () {
        _ if dimensions > FORETUNE_MAX_DIMENSIONS => {
            Err(Error::Dimension { index: FORETUNE_MAX_DIMENSIONS, what: "there may be 16 at most" })
        }
        _ if fidelities > FORETUNE_MAX_FIDELITIES => {
            Err(Error::Fidelity { index: FORETUNE_MAX_FIDELITIES, what: "there may be 8 at most" })
        }
        _ if limits > FORETUNE_MAX_LIMITS => Err(Error::Live("there may be 8 `limits` at most")),
        _ if guards > FORETUNE_MAX_GUARDS => Err(Error::Live("there may be 4 `guards` at most")),
        _ => Ok(()),
    }
}

/// Everything but the arrays.
fn rest(problem: &foretune_problem) -> Result<Problem<'static>, Error> {
    let goal = choose!(problem.goal, Error::Live("`goal` must be a foretune_goal"),
        foretune_goal::FORETUNE_MAXIMISE => Goal::Maximise,
        foretune_goal::FORETUNE_MINIMISE => Goal::Minimise,
    );
    let level = level(problem.floor, problem.floor_level, Error::Live("`floor` must be a foretune_floor"))?;
    Ok(Problem {
        budget: problem.budget,
        goal,
        floor: level.map(|level| Floor { level, risk: problem.risk }),
        tolerance: problem.tolerance,
        ..Problem::PLAIN
    })
}

/// `None`: there is no floor.
fn level(floor: u32, number: f32, error: Error) -> Result<Option<Level>, Error> {
    Ok(choose!(floor, error,
        foretune_floor::FORETUNE_NO_FLOOR => None,
        foretune_floor::FORETUNE_FLOOR_VALUE => Some(Level::Value(number)),
        foretune_floor::FORETUNE_FLOOR_DROP => Some(Level::Drop(number)),
        foretune_floor::FORETUNE_FLOOR_SHARE => Some(Level::Share(number)),
    ))
}

const NO_GUARD: Guard<'static> =
    Guard { side: Side::AtLeast, floor: Floor { level: Level::Value(0.0), risk: 0.0 }, noise: &[] };

fn guard(from: &foretune_guard, noise: &'static [f32]) -> Result<Guard<'static>, Error> {
    let side = choose!(from.side, Error::Live("`side` of `guards` must be a foretune_side"),
        foretune_side::FORETUNE_AT_LEAST => Side::AtLeast,
        foretune_side::FORETUNE_AT_MOST => Side::AtMost,
    );
    let wrong = Error::Live("`floor` of `guards` must be a foretune_floor, and not FORETUNE_NO_FLOOR");
    let level = level(from.floor, from.level, wrong)?.ok_or(wrong)?;
    Ok(Guard { side, floor: Floor { level, risk: from.risk }, noise })
}

/// # Safety
/// The pointer in it is null, or points to as many values as there are levels.
unsafe fn dimension(
    index: usize,
    from: &foretune_dimension,
    edge: Edge,
) -> Result<Dimension<'static>, Fault> {
    let &foretune_dimension { kind, low, high, levels, values } = from;
    let [low, high] = [low, high].map(|end| edge.inward(end));
    let Ok(levels) = u16::try_from(levels) else {
        return Err(Error::Dimension { index, what: "at most 65535 levels" }.into());
    };
    Ok(choose!(kind, Error::Dimension { index, what: "its kind must be a foretune_dimension_kind" }.into(),
        foretune_dimension_kind::FORETUNE_INTERVAL => Dimension::Interval { low, high },
        foretune_dimension_kind::FORETUNE_CONDITION => Dimension::Condition { low, high },
        foretune_dimension_kind::FORETUNE_CATEGORY => {
            Dimension::Category { count: u8::try_from(levels).unwrap_or(u8::MAX) }
        },
        foretune_dimension_kind::FORETUNE_GRID => Dimension::Grid { low, high, levels },
        foretune_dimension_kind::FORETUNE_LEVELS => {
            // SAFETY: the caller's promise.
            Dimension::Levels(unsafe { array(values, usize::from(levels)) }?)
        },
    ))
}

/// Settings as the core's, and the number of slots.
pub fn settings_of(from: &foretune_settings) -> Result<(Settings, usize), Error> {
    let preset = choose!(from.preset, setting("preset", "a foretune_preset"),
        foretune_preset::FORETUNE_PRESET_DEFAULT => Settings::DEFAULT,
        foretune_preset::FORETUNE_PRESET_LIVE => Settings::LIVE,
    );
    let settings = Settings {
        map: preset.map,
        particles: from.particles as usize,
        steps_per_round: from.steps_per_round,
        steps_per_task: from.steps_per_task,
        beta: from.beta,
        carry_particles: match from.carry_particles {
            0 => false,
            1 => true,
            _ => return Err(setting("carry_particles", "0 or 1")),
        },
        carried: from.carried as usize,
        kept: from.kept as usize,
        memory_after: from.memory_after,
        initial: from.initial as usize,
        candidates: from.candidates as usize,
        verify: from.verify,
        confirm: from.confirm,
        details: preset.details,
    };
    Ok((settings, from.observations as usize))
}

/// A preset of the core for C.
pub fn preset(number: foretune_preset, settings: &Settings, observations: u32) -> foretune_settings {
    foretune_settings {
        observations,
        preset: number as u32,
        particles: settings.particles as u32,
        steps_per_round: settings.steps_per_round,
        steps_per_task: settings.steps_per_task,
        beta: settings.beta,
        carry_particles: u32::from(settings.carry_particles),
        carried: settings.carried as u32,
        kept: settings.kept as u32,
        memory_after: settings.memory_after,
        initial: settings.initial as u32,
        candidates: settings.candidates as u32,
        verify: settings.verify,
        confirm: settings.confirm,
    }
}

fn padded(values: &[f32]) -> [f32; FORETUNE_MAX_DIMENSIONS] {
    let mut padded = [0.0; FORETUNE_MAX_DIMENSIONS];
    padded.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
    padded
}

pub fn query(query: &Query, edges: Edges<'_>) -> foretune_query {
    let kind = match query.kind() {
        Kind::Initial => foretune_kind::FORETUNE_KIND_INITIAL,
        Kind::Carried => foretune_kind::FORETUNE_KIND_CARRIED,
        Kind::Search => foretune_kind::FORETUNE_KIND_SEARCH,
        Kind::Past => foretune_kind::FORETUNE_KIND_PAST,
    };
    foretune_query {
        task: query.task(),
        round: query.round(),
        fidelity: query.fidelity() as u32,
        kind: kind as u32,
        point: edges.outward(query.point()),
        unit: padded(query.unit()),
    }
}

/// Whether C means this query.
pub fn is_same(query: &Query, edges: Edges<'_>, other: &foretune_query) -> bool {
    let bits = |query: &foretune_query| (query.point.map(f64::to_bits), query.unit.map(f32::to_bits));
    let own = self::query(query, edges);
    (own.task, own.round, own.fidelity) == (other.task, other.round, other.fidelity)
        && bits(&own) == bits(other)
}

pub fn recommendation(best: &Recommendation, edges: Edges<'_>) -> foretune_recommendation {
    foretune_recommendation {
        point: edges.outward(best.point()),
        unit: padded(best.unit()),
        mean: best.mean,
        deviation: best.deviation,
        assured: u32::from(best.assured),
    }
}

pub fn guard_status(status: &GuardStatus) -> foretune_guard_status {
    let GuardStatus { margin, bound, broken, broken_time, ruled_out, .. } = *status;
    foretune_guard_status { margin, bound: bound.unwrap_or(f32::NAN), broken, broken_time, ruled_out }
}

/// Where a task stands, and why it ended if it has.
pub fn status(status: &Status, stop: Option<Stop>) -> foretune_status {
    let activity = match status.activity {
        Activity::Preparing => foretune_activity::FORETUNE_PREPARING,
        Activity::Replaying => foretune_activity::FORETUNE_REPLAYING,
        Activity::Learning => foretune_activity::FORETUNE_LEARNING,
        Activity::Searching => foretune_activity::FORETUNE_SEARCHING,
        Activity::Waiting => foretune_activity::FORETUNE_AWAITING,
        Activity::Done => foretune_activity::FORETUNE_ENDED,
    };
    let live = status.live;
    let fleet = match status.fleet {
        None => foretune_fleet::FORETUNE_NO_FLEET,
        Some(FleetStatus { refuted: true, .. }) => foretune_fleet::FORETUNE_FLEET_REFUTED,
        Some(FleetStatus { supported: true, .. }) => foretune_fleet::FORETUNE_FLEET_SUPPORTED,
        Some(_) => foretune_fleet::FORETUNE_FLEET_WEIGHED,
    };
    let number = |of: fn(LiveStatus) -> Option<f32>| live.and_then(of).unwrap_or(f32::NAN);
    foretune_status {
        task: status.task,
        activity: activity as u32,
        stop: stop.map_or(foretune_stop_reason::FORETUNE_STOP_NONE, stop_reason) as u32,
        observations: status.observations as u32,
        failures: status.failures as u32,
        remembered: status.remembered as u32,
        past: status.past as u32,
        room: status.room as u32,
        to_replay: status.to_replay as u32,
        spent: status.spent,
        noise_raised: status.fallbacks.noise,
        pivots_raised: status.fallbacks.pivots,
        particles_silent: status.fallbacks.particles,
        live: u32::from(live.is_some()),
        below: live.map_or(0, |live| live.below),
        below_time: number(|live| Some(live.below_time)),
        margin: number(|live| Some(live.margin)),
        worst: number(|live| live.worst),
        meanwhile: number(|live| live.meanwhile),
        expected: number(|live| live.expected),
        changes: live.map_or(0, |live| live.changes),
        fleet: fleet as u32,
        fleet_evidence: status.fleet.map_or(f32::NAN, |fleet| fleet.evidence),
    }
}

fn stop_reason(stop: Stop) -> foretune_stop_reason {
    match stop {
        Stop::Budget => foretune_stop_reason::FORETUNE_STOP_BUDGET,
        Stop::Capacity => foretune_stop_reason::FORETUNE_STOP_CAPACITY,
        Stop::Exhausted => foretune_stop_reason::FORETUNE_STOP_EXHAUSTED,
        Stop::Tolerance => foretune_stop_reason::FORETUNE_STOP_TOLERANCE,
        _ => foretune_stop_reason::FORETUNE_STOP_REQUESTED,
    }
}
