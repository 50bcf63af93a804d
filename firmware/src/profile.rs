//! The device's profiles: what it tunes unless another problem is sent, how, and in how much memory and flash.
//!
//! Both tune the uplink power control of two base stations (target power and path loss compensation of each). *Compact*
//! is lengthscales, with a floor or guards after a shear, in under 64 KB; *deep* is the paper's map and its settings in under 1 MB. The device and whoever runs
//! its tasks on a host take the same from here.

use foretune_core::{Checked, Details, Dimension, Fidelity, Goal, Problem, Settings};
use foretune_link::problem::number;
use foretune_link::seal::Key;

use crate::app::entry;
use crate::room::Room;
use crate::storage::Layout;

/// What a device is, how it tunes, and where it keeps what.
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
    pub settings: Checked,
    /// How, if the station sent it: every query is charged.
    pub sent: Checked,
    /// How, if the problem has a floor or guards; knowledge is good for both.
    pub live: Checked,
    /// What it stores, one area behind the other; each grows to whole sectors of the board's flash.
    pub layout: Layout,
    /// What only those who may talk to it know; without one, everybody may.
    pub key: Option<Key>,
}

impl Profile {
    /// Whether the built-in problem has no more dimensions, fidelities and guards than there is room for, in memory and journal.
    const fn has_room(&self) -> bool {
        self.problem.dimensions.len() <= self.room.dimensions
            && self.problem.fidelities.len() <= self.room.fidelities
            && self.problem.guards.len() <= self.room.guards
            && self.room.dimensions + self.room.guards <= entry::NUMBERS
            && self.room.guards < crate::app::WATCHES
    }

    /// How the problem of this number is tuned.
    pub fn settings_for(&self, number: u32, problem: &Problem<'_>) -> &Checked {
        if problem.floor.is_some() || !problem.guards.is_empty() {
            &self.live
        } else if number == self.number {
            &self.settings
        } else {
            &self.sent
        }
    }
}

const KB: u32 = 1024;

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

/// Lengthscales, learning after every observation.
pub const COMPACT: Profile = Profile {
    name: "compact",
    problem: POWER_CONTROL,
    number: number(&POWER_CONTROL),
    room: Room::of(&Compact::CAPACITIES),
    // The problem's budget is the paper's, which is without the initial points.
    settings: Checked::of(Settings {
        initial: 10,
        details: Details { free_start: true, ..foretune_core::profile::COMPACT.details },
        ..foretune_core::profile::COMPACT
    }),
    sent: Checked::of(foretune_core::profile::COMPACT),
    live: Checked::of(Settings { candidates: foretune_core::profile::COMPACT.candidates, ..Settings::LIVE }),
    layout: Layout::consecutive(0, 4 * KB, 16 * KB),
    key: KEY,
};

/// Memory of the deep profile: 128 observations, 10 particles; the last task's are read from flash.
pub type Deep = foretune_core::memory!(
    dimensions: 4, fidelities: 4, observations: 128, particles: 10, map: Deep { width: 64 }, candidates: 256,
    step: Langevin { rate: 1.0 }, keeps_particles: false, guards: 2
);

/// The paper's map, with the preset that makes it work.
pub const DEEP: Profile = Profile {
    name: "deep",
    problem: POWER_CONTROL,
    number: number(&POWER_CONTROL),
    room: Room::of(&Deep::CAPACITIES),
    settings: Checked::of(DEEP_SETTINGS),
    sent: Checked::of(Settings {
        details: Details { free_start: false, ..DEEP_SETTINGS.details },
        ..DEEP_SETTINGS
    }),
    live: Checked::of(Settings {
        beta: Settings::LIVE.beta,
        details: Details { information: Settings::LIVE.details.information, ..DEEP_SETTINGS.details },
        ..DEEP_SETTINGS
    }),
    layout: Layout::consecutive(0, 352 * KB, 32 * KB),
    key: KEY,
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

/// The device's key, if it is built with one: `FORETUNE_KEY`, 64 hexadecimal digits.
#[cfg(feature = "key")]
const KEY: Option<Key> = match option_env!("FORETUNE_KEY") {
    Some(digits) => Some(key(digits.as_bytes())),
    None => None,
};
#[cfg(not(feature = "key"))]
const KEY: Option<Key> = None;

#[cfg(all(feature = "board", not(feature = "key")))]
const _: () = assert!(option_env!("FORETUNE_KEY").is_none(), "FORETUNE_KEY wants the feature `key`");

#[cfg(feature = "key")]
const fn key(digits: &[u8]) -> Key {
    assert!(digits.len() == 64, "FORETUNE_KEY must be 64 hexadecimal digits");
    let (mut key, mut i) = ([0; 32], 0);
    while i < 64 {
        let value = match (digits[i] as char).to_digit(16) {
            Some(value) => value as u8,
            None => panic!("FORETUNE_KEY must be 64 hexadecimal digits"),
        };
        key[i / 2] = key[i / 2] << 4 | value;
        i += 1;
    }
    key
}

const _: () = assert!(POWER_CONTROL.checked().is_ok());
const _: () = assert!(COMPACT.has_room() && DEEP.has_room());
const _: () = assert!(size_of::<Compact>() <= 50_000 && size_of::<Deep>() <= 1_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_queries_are_charged_but_the_first_ones_of_the_papers_problem() {
        for profile in [COMPACT, DEEP] {
            let other = profile.number + 1;
            let free = |number| profile.settings_for(number, &POWER_CONTROL).get().details.free_start;
            assert_eq!([profile.number, other].map(free), [true, false], "{}", profile.name);
        }
    }

    #[test]
    fn knowledge_fits_its_slot() {
        for profile in [COMPACT, DEEP] {
            let (d, v) = (profile.problem.dimensions.len(), profile.live.get().particles);
            let parameters = profile.live.get().model(d).parameters();
            // With a fleet's file behind it, and answers that are kept in half of the slots.
            let (numbers, kept) = (d + profile.room.guards, 32);
            let longest = foretune_core::snapshot::HEADER
                + 4 * (v * parameters
                    + foretune_core::MAX_CARRIED * (d + 1)
                    + numbers
                    + 1
                    + kept * (numbers + 3))
                + 4
                + crate::app::MAX_FLEET;
            assert!(longest as u32 + crate::storage::PAYLOAD_OFFSET <= profile.layout.slots[0].length);
        }
    }

    #[test]
    fn a_task_with_every_try_of_every_query_and_all_its_restarts_fits_the_journal() {
        const STRIDE: u32 = 64;
        for (profile, queries) in [(COMPACT, 64), (DEEP, 128)] {
            let entries = queries * u32::from(crate::app::TRIES) + crate::app::RESTARTS + 2;
            let room = profile.layout.journals[0].length - crate::storage::PAYLOAD_OFFSET;
            let room = room - crate::storage::MAX_PREAMBLE as u32;
            assert!(entries * STRIDE <= room, "{}: {entries} entries", profile.name);
        }
    }
}
