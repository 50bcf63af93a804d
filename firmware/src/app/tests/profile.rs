//! Two small profiles, and what the core does with them on its own.

use std::boxed::Box;
use std::vec::Vec;

use foretune_core::{
    Details, Dimension, Fidelity, Floor, Information, Level, Limit, Map, Problem, Progress, Scaling,
    Settings, Step,
};
use foretune_link::profile::{coordinates, reason, take_over};
use foretune_link::{Begin, Query, Reason, Recommendation, Ticket, profile};

use super::mock::{MockBoard, MockSystem};
use crate::app::profile::{COMPACT, Compact, POWER_CONTROL};
use crate::app::{App, Config};
use crate::storage::Layout;

/// A profile: its settings and its memory.
pub trait Profile {
    const CONFIG: Config;
    /// What the station sends, if the device is to tune another problem than its own.
    const SENT: Option<Problem<'static>> = None;

    /// What is tuned.
    fn problem() -> Problem<'static> {
        Self::SENT.unwrap_or(Self::CONFIG.profile.problem)
    }

    /// Runs the app as long as `going` says, in fresh memory.
    fn run(app: &mut App<MockBoard>, going: &mut dyn FnMut(&mut MockSystem) -> bool);

    /// One task on the core alone, from some knowledge. `answer` measures; `None` gives the query up.
    fn task(begin: &Begin, knowledge: &[u8], answer: &mut dyn FnMut(&Query) -> Answer) -> Outline;
}

/// What becomes of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Value(f32),
    GivenUp,
    /// Stop instead.
    Stop,
}

/// What a task comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The queries in their order.
    pub queries: Vec<Query>,
    /// The end; none if nothing was observed.
    pub recommendation: Option<Recommendation>,
    /// What the next task starts from.
    pub knowledge: Vec<u8>,
}

/// The compact profile's settings in small: lengthscales, Adam, particles kept in memory.
pub struct Small;
/// The deep profile's settings in small: the network, plain steps, particles read from flash.
pub struct Network;

macro_rules! profile {
    ($name:ident, $memory:ty, $config:expr $(, $sent:expr)?) => {
        impl Profile for $name {
            const CONFIG: Config = $config;
            $(const SENT: Option<Problem<'static>> = Some($sent);)?

            fn run(app: &mut App<MockBoard>, going: &mut dyn FnMut(&mut MockSystem) -> bool) {
                app.run(&mut *Box::new(<$memory>::new()), going);
            }

            fn task(begin: &Begin, knowledge: &[u8], answer: &mut dyn FnMut(&Query) -> Answer) -> Outline {
                let mut memory = Box::new(<$memory>::new());
                let problem = Problem { budget: begin.budget, ..Self::problem() };
                let settings = Self::CONFIG.profile.settings_for(&problem);
                let mut core = memory.start(problem, settings, begin.seed).unwrap();
                take_over(&mut core, begin, knowledge).unwrap();
                let mut queries = Vec::new();
                let stop = loop {
                    match core.advance_with(knowledge).unwrap() {
                        Progress::Working => {}
                        Progress::Done(stop) => break stop,
                        Progress::Query(query) => {
                            let asked =
                                as_asked(&problem, begin.task, queries.len(), query.unit(), query.fidelity());
                            queries.push(asked.clone());
                            match answer(&asked) {
                                Answer::Value(value) => core.tell(query, value).unwrap(),
                                Answer::GivenUp => core.fail(query).unwrap(),
                                Answer::Stop => core.stop(),
                            }
                        }
                        other => unreachable!("every query is answered: {other:?}"),
                    }
                };
                let recommendation = core.recommendation().map(|best| Recommendation {
                    task: begin.task,
                    reason: reason(stop),
                    queries: core.records().count() as u32,
                    spent: core.status().spent,
                    mean: best.mean,
                    point: coordinates(problem.dimensions, best.unit()),
                });
                let mut knowledge = Vec::new();
                core.knowledge(|bytes| knowledge.extend_from_slice(bytes)).unwrap();
                Outline { queries, recommendation, knowledge }
            }
        }
    };
}

/// The query as the link would put it.
fn as_asked(problem: &Problem, task: u32, step: usize, unit: &[f32], fidelity: usize) -> Query {
    Query {
        ticket: Ticket { task, step: step as u32 },
        attempt: 0,
        fidelity: fidelity as u8,
        samples: problem.fidelities[fidelity].samples,
        cost: problem.fidelities[fidelity].cost,
        point: coordinates(problem.dimensions, unit),
    }
}

const SMALL: Settings = Settings {
    particles: 3,
    candidates: 32,
    initial: 3,
    carried: 1,
    steps_per_round: 1,
    steps_per_task: 3,
    details: Details { max_values: 3, refinements: 1, ..Settings::DEFAULT.details },
    ..Settings::DEFAULT
};

profile!(
    Small,
    foretune_core::memory!(problem: POWER_CONTROL, settings: SMALL, observations: 24),
    Config {
        profile: profile::Profile {
            name: "small",
            problem: POWER_CONTROL,
            number: COMPACT.profile.number,
            room: COMPACT.profile.room,
            settings: SMALL,
            live: Settings { details: Details { information: Information::Paper, ..SMALL.details }, ..SMALL },
        },
        layout: Layout::consecutive(0, 1024, 6 * 1024),
        key: None,
    }
);

const NETWORK: Settings = Settings {
    map: Map::Deep { width: 4 },
    details: Details {
        scaling: Scaling::Fixed { mean: 18.6, deviation: 11.0 },
        step: Step::Plain { rate: 1e-3 },
        ..SMALL.details
    },
    ..SMALL
};

profile!(
    Network,
    foretune_core::memory!(
        dimensions: 4, fidelities: 4, observations: 24, particles: 3, map: Deep { width: 4 }, candidates: 32,
        step: Plain { rate: 1.0 }, keeps_particles: false
    ),
    Config {
        profile: profile::Profile {
            name: "network",
            problem: POWER_CONTROL,
            number: COMPACT.profile.number,
            room: COMPACT.profile.room,
            settings: NETWORK,
            live: NETWORK,
        },
        layout: Layout::consecutive(0, 1024, 6 * 1024),
        key: None,
    }
);

/// The small profile with a problem that the station sends: in service, with a floor and a limit.
pub struct Sent;

const SENT: Problem<'static> = Problem {
    dimensions: &[
        Dimension::Grid { low: -120.0, high: 24.0, levels: 114 },
        Dimension::Levels(&[0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        Dimension::Interval { low: -120.0, high: 24.0 },
        Dimension::Levels(&[0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
    ],
    fidelities: &[
        Fidelity { cost: 10.0, samples: 10, noise: 0.5 },
        Fidelity { cost: 30.0, samples: 30, noise: 0.25 },
    ],
    deployed: Some(&[-40.0, 0.5, -40.0, 0.5]),
    floor: Some(Floor { level: Level::Drop(8.0), risk: 0.1 }),
    limits: &[Limit { coefficients: &[1.0, 0.0, 1.0, 0.0], at_most: 20.0 }],
    ..POWER_CONTROL
};

profile!(
    Sent,
    foretune_core::memory!(problem: POWER_CONTROL, settings: SMALL, observations: 24),
    Small::CONFIG,
    SENT
);

/// The compact profile itself.
pub struct Real;

profile!(Real, Compact, COMPACT);

/// Bytes of flash that the layouts of the small ones take.
pub const FLASH: usize = 14 * 1024;

/// Whether the reason is one of a task that ended by itself.
pub fn by_itself(reason: Reason) -> bool {
    matches!(reason, Reason::Budget | Reason::Capacity | Reason::Exhausted | Reason::Tolerance)
}
