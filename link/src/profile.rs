//! The device's profiles: what it tunes unless another problem is sent, how, and in how much memory.
//!
//! Both tune the uplink power control of two base stations (target power and path loss compensation of each). *Compact*
//! is the ARD map in under 64 KB; *deep* is the paper's map and its settings in under 1 MB. The device and whoever runs
//! its tasks on a host take the same from here, and the same steps around a task.

use foretune_core::{Details, Dimension, Error, Fidelity, Goal, Optimizer, Problem, Settings, Stop};

use crate::message::{Begin, Coordinate, Point, Reason};
use crate::problem::{Bytes, Room};

/// What a device is and how it tunes.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name, as in the greeting.
    pub name: &'static str,
    /// What is tuned unless the station sends another problem; the budget comes with each task.
    pub problem: Problem<'static>,
    /// Its number: [`number`] of it.
    pub number: u32,
    /// What a problem may have at most: what the memory has room for.
    pub room: Room,
    /// How.
    pub settings: Settings,
    /// How, if the problem has a floor; the same model, so that knowledge is good for both.
    pub live: Settings,
}

impl Profile {
    /// Whether the built-in problem has no more dimensions and fidelities than there is room for.
    pub const fn has_room(&self) -> bool {
        self.problem.dimensions.len() <= self.room.dimensions
            && self.problem.fidelities.len() <= self.room.fidelities
    }

    /// How a problem is tuned.
    pub fn settings_for(&self, problem: &Problem<'_>) -> Settings {
        if problem.floor.is_some() { self.live } else { self.settings }
    }
}

/// The number by which both sides of the line name a problem.
///
/// # Panics
/// If the problem has more than fits a description; at compile time where this is a constant.
pub const fn number(problem: &Problem<'_>) -> u32 {
    match Bytes::of(problem) {
        Some(bytes) => bytes.number(),
        None => panic!("the problem does not fit a description"),
    }
}

/// Target power `P0` in dBm, 3GPP's grid.
const POWER: Dimension = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
/// Path loss compensation `α`, 3GPP's values.
const COMPENSATION: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);

const fn samples(samples: u32) -> Fidelity {
    Fidelity { cost: samples as f32, samples, noise: 0.83 }
}

/// Sum spectral efficiency of two cells, in bit/s/Hz, over 10 to 100 channel samples.
pub const POWER_CONTROL: Problem<'static> = Problem {
    dimensions: &[POWER, COMPENSATION, POWER, COMPENSATION],
    fidelities: &[samples(10), samples(20), samples(50), samples(100)],
    budget: 2000.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};

/// Memory of the compact profile: 64 observations, 10 particles kept twice, and two rows each for Adam.
pub type Compact = foretune_core::profile::Compact;

/// ARD map, learning after every observation.
pub const COMPACT: Profile = Profile {
    name: "compact",
    problem: POWER_CONTROL,
    number: number(&POWER_CONTROL),
    room: Room { dimensions: Compact::DIMENSIONS, fidelities: Compact::FIDELITIES },
    settings: Settings { initial: 10, ..foretune_core::profile::COMPACT },
    live: Settings { candidates: foretune_core::profile::COMPACT.candidates, ..Settings::LIVE },
};

/// Memory of the deep profile: 128 observations, 10 particles; the last task's are read from flash.
pub type Deep = foretune_core::memory!(
    dimensions: 4, fidelities: 4, observations: 128, particles: 10, map: Deep { width: 64 }, candidates: 256,
    step: Langevin { rate: 1.0 }, keeps_particles: false
);

/// The paper's map, with the preset that makes it work.
pub const DEEP: Profile = Profile {
    name: "deep",
    problem: POWER_CONTROL,
    number: number(&POWER_CONTROL),
    room: Room { dimensions: Deep::DIMENSIONS, fidelities: Deep::FIDELITIES },
    settings: DEEP_SETTINGS,
    live: Settings {
        beta: Settings::LIVE.beta,
        details: Details { information: Settings::LIVE.details.information, ..DEEP_SETTINGS.details },
        ..DEEP_SETTINGS
    },
};

const DEEP_SETTINGS: Settings = Settings {
    steps_per_task: steps(Settings::DEEP.steps_per_task, option_env!("FORETUNE_STEPS")),
    ..Settings::DEEP
};

/// Learning steps at the end of a task: a test may build with fewer.
const fn steps(default: u32, chosen: Option<&str>) -> u32 {
    let Some(digits) = chosen else { return default };
    let (digits, mut value, mut i) = (digits.as_bytes(), 0, 0);
    while i < digits.len() {
        assert!(digits[i].is_ascii_digit(), "FORETUNE_STEPS must be a number");
        value = value * 10 + (digits[i] - b'0') as u32;
        i += 1;
    }
    value
}

const _: () = assert!(COMPACT.settings.checked().is_ok() && COMPACT.live.checked().is_ok());
const _: () = assert!(DEEP.settings.checked().is_ok() && DEEP.live.checked().is_ok());
const _: () = assert!(POWER_CONTROL.checked().is_ok());
const _: () = assert!(COMPACT.has_room() && DEEP.has_room());
const _: () = assert!(size_of::<Compact>() <= 48_000 && size_of::<Deep>() <= 1_000_000);

/// Loads what a task begins with: knowledge, if there is any, and the point in use, if the station names it anew.
///
/// # Errors
/// Why the knowledge cannot be used.
pub fn take_over(optimizer: &mut Optimizer<'_>, begin: &Begin, knowledge: &[u8]) -> Result<(), Error> {
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
