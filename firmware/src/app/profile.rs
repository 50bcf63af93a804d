//! The two profiles: what the device tunes, with which model, in how much memory.
//!
//! Both tune the uplink power control of two base stations (target power and path loss compensation of each). *Compact*
//! is the ARD map in under 64 KB; *deep* is the paper's map and its settings in under 1 MB. The host takes the same
//! problem and settings from here when it plays the base station.

use foretune_core::{
    Dimension, Fidelity, Goal, LearningSettings, Map, ModelSettings, Problem, Scaling, SearchSettings,
    Settings,
};

use super::{Capacity, Config, number};
use crate::storage::Layout;

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

const KB: u32 = 1024;

/// Memory of the compact profile: 64 observations, 10 particles kept twice, and two rows each for Adam.
pub type Compact = foretune_core::profile::Compact;

/// ARD map, learning after every observation.
pub const COMPACT: Config = Config {
    profile: "compact",
    problem: POWER_CONTROL,
    number: number(&POWER_CONTROL),
    room: Compact::ROOM,
    settings: Settings {
        search: SearchSettings { initial: 10, ..foretune_core::profile::COMPACT.search },
        ..foretune_core::profile::COMPACT
    },
    live: Settings {
        search: SearchSettings {
            candidates: foretune_core::profile::COMPACT.search.candidates,
            ..Settings::LIVE.search
        },
        ..Settings::LIVE
    },
    layout: Layout::consecutive(0, 4 * KB, 16 * KB),
};

/// Memory of the deep profile: 128 observations, 10 particles; the last task's are read from flash.
pub type Deep = foretune_core::memory!(
    dimensions: 4, fidelities: 4, observations: 128, particles: 10, map: Deep { width: 64 }, candidates: 256,
    step: Plain { rate: 1.0 }, keeps_particles: false
);

/// The paper's map and settings.
pub const DEEP: Config = Config {
    profile: "deep",
    problem: POWER_CONTROL,
    number: number(&POWER_CONTROL),
    room: Deep::ROOM,
    settings: PAPER,
    live: PAPER,
    layout: Layout::consecutive(0, 352 * KB, 32 * KB),
};

/// The paper's settings for the deep profile, with its fixed scaling for this problem.
const PAPER: Settings = Settings {
    model: ModelSettings {
        map: Map::Deep { width: 64 },
        scaling: Scaling::Fixed { mean: 18.6, deviation: 11.0 },
        ..Settings::PAPER.model
    },
    search: SearchSettings { candidates: 256, initial: 10, ..Settings::PAPER.search },
    learning: LearningSettings {
        steps_per_task: steps(Settings::PAPER.learning.steps_per_task, option_env!("FORETUNE_STEPS")),
        ..Settings::PAPER.learning
    },
    ..Settings::PAPER
};

/// Learning steps at the end of a task: the paper's 2000 take minutes, so a test may build with fewer.
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
const _: () = assert!(PAPER.checked().is_ok());
const _: () = assert!(POWER_CONTROL.checked().is_ok());
const _: () = assert!(COMPACT.has_room() && DEEP.has_room());

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::size_of;

    #[test]
    fn the_memories_fit_their_budgets() {
        assert!(size_of::<Compact>() <= 48_000, "{}", size_of::<Compact>());
        assert!(size_of::<Deep>() <= 1_000_000, "{}", size_of::<Deep>());
    }

    #[test]
    fn knowledge_fits_its_slot() {
        for config in [COMPACT, DEEP] {
            let (d, v) = (config.problem.dimensions.len(), config.settings.model.particles);
            let parameters = config.settings.model(d).parameters();
            let longest =
                foretune_core::snapshot::HEADER + v * parameters * 4 + foretune_core::MAX_CARRIED * d * 4 + 4;
            assert!(longest as u32 + crate::storage::PAYLOAD_OFFSET <= config.layout.slots[0].length);
        }
    }

    #[test]
    fn a_task_with_every_try_of_every_query_and_all_its_restarts_fits_the_journal() {
        const STRIDE: u32 = 64;
        for (config, queries) in [(COMPACT, 64), (DEEP, 128)] {
            let entries = queries * u32::from(super::super::TRIES) + super::super::RESTARTS + 2;
            let room = config.layout.journals[0].length - crate::storage::PAYLOAD_OFFSET;
            let room = room - crate::storage::MAX_PREAMBLE as u32;
            assert!(entries * STRIDE <= room, "{}: {entries} entries", config.profile);
        }
    }
}
