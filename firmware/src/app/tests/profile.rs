//! Two small profiles, and what the core does with them on its own.

use std::boxed::Box;

use foretune_core::{
    Checked, Details, Dimension, Fidelity, Floor, Guard, Information, Level, Limit, Map, Problem, Scaling,
    Settings, Side, Step,
};
use foretune_link::{Begin, Query, Reason};

use super::mock::{MockSystem, SimBoard};
use crate::app::App;
use crate::profile::{self, COMPACT, Compact, POWER_CONTROL};
use crate::reference::{Answer, Outline, run};
use crate::storage::Layout;

/// A profile: its settings and its memory.
pub trait Profile {
    const PROFILE: profile::Profile;
    /// What the station sends, if the device is to tune another problem than its own.
    const SENT: Option<Problem<'static>> = None;
    /// What the third coordinate, a condition, is to be at a step, if the station says so before it measures.
    const UNDER: Option<fn(u32) -> f32> = None;

    /// What is tuned.
    fn problem() -> Problem<'static> {
        Self::SENT.unwrap_or(Self::PROFILE.problem)
    }

    /// Runs the app as long as `going` says, in fresh memory.
    fn run<const W: usize, const E: usize>(
        app: &mut App<SimBoard<W, E>>,
        going: &mut dyn FnMut(&mut MockSystem) -> bool,
    );

    /// One task on the core alone, from some knowledge. `answer` measures; `None` gives the query up.
    fn task(begin: &Begin, knowledge: &[u8], answer: &mut dyn FnMut(&Query) -> Answer) -> Outline;
}

/// The compact profile's settings in small: lengthscales, Adam, particles kept in memory.
pub struct Small;
/// The deep profile's settings in small: the network, plain steps, particles read from flash.
pub struct Network;

macro_rules! profile {
    ($name:ident, $memory:ty, $profile:expr $(, $sent:expr $(, $under:expr)?)?) => {
        impl Profile for $name {
            const PROFILE: profile::Profile = $profile;
            $(
                const SENT: Option<Problem<'static>> = Some($sent);
                $(const UNDER: Option<fn(u32) -> f32> = Some($under);)?
            )?

            fn run<const W: usize, const E: usize>(
                app: &mut App<SimBoard<W, E>>,
                going: &mut dyn FnMut(&mut MockSystem) -> bool,
            ) {
                let mut memory = Box::new(<$memory>::new());
                app.run(memory.lend(), going);
            }

            fn task(begin: &Begin, knowledge: &[u8], answer: &mut dyn FnMut(&Query) -> Answer) -> Outline {
                let problem = Problem { budget: begin.budget, ..Self::problem() };
                let mut memory = Box::new(<$memory>::new());
                run(memory.lend(), &Self::PROFILE, problem, begin, knowledge, answer, &[]).unwrap()
            }
        }
    };
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
    foretune_core::memory!(
        dimensions: 4, fidelities: 4, observations: 24, particles: 3, map: Linear, candidates: 32, fleet: true, guards: 2
    ),
    profile::Profile {
        name: "small",
        settings: Checked::of(SMALL),
        sent: Checked::of(SMALL),
        // Those that keep answers are in service.
        live: Checked::of(Settings {
            map: Map::Linear,
            kept: 6,
            details: Details { information: Information::Paper, ..SMALL.details },
            ..SMALL
        }),
        layout: Layout::consecutive(0, 1024, 6 * 1024),
        ..COMPACT
    }
);

const NETWORK: Settings = Settings {
    map: Map::Deep { width: 4 },
    kept: 2,
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
    profile::Profile {
        name: "network",
        settings: Checked::of(NETWORK),
        sent: Checked::of(NETWORK),
        live: Checked::of(NETWORK),
        ..Small::PROFILE
    }
);

/// The small profile with a problem that the station sends: in service, with a floor, a limit and two
/// guards.
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
    guards: &[
        Guard {
            side: Side::AtLeast,
            floor: Floor { level: Level::Share(0.9), risk: 0.1 },
            noise: &[0.01, 0.001],
        },
        Guard { side: Side::AtMost, floor: Floor { level: Level::Drop(0.5), risk: 0.2 }, noise: &[0.0, 0.0] },
    ],
    ..POWER_CONTROL
};

profile!(
    Sent,
    foretune_core::memory!(
        dimensions: 4, fidelities: 4, observations: 24, particles: 3, map: Linear, candidates: 32, guards: 2
    ),
    Small::PROFILE,
    SENT
);

/// The same with a condition in place of the third parameter.
pub struct Known;

profile!(
    Known,
    foretune_core::memory!(
        dimensions: 4, fidelities: 4, observations: 24, particles: 3, map: Linear, candidates: 32, guards: 2
    ),
    Small::PROFILE,
    Problem {
        dimensions: &[
            SENT.dimensions[0],
            SENT.dimensions[1],
            Dimension::Condition { low: -100.0, high: 100.0 },
            SENT.dimensions[3]
        ],
        limits: &[],
        ..SENT
    }
);

/// The same, with conditions that the station gives before it measures.
pub struct Given;

profile!(
    Given,
    foretune_core::memory!(
        dimensions: 4, fidelities: 4, observations: 24, particles: 3, map: Linear, candidates: 32, guards: 2
    ),
    Small::PROFILE,
    Known::SENT.unwrap(),
    |step| (step * 53 % 9) as f32 * 25.0 - 100.0
);

/// The same, built in.
pub struct Guarded;

profile!(
    Guarded,
    foretune_core::memory!(
        dimensions: 4, fidelities: 4, observations: 24, particles: 3, map: Linear, candidates: 32, guards: 2
    ),
    profile::Profile { problem: SENT, number: foretune_link::problem::number(&SENT), ..Small::PROFILE }
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
