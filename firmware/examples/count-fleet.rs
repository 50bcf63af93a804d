//! Counts instructions of the compact profile with a fleet's prior that holds: see `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::{CAPACITY, OBSERVATIONS};
use foretune_core::profile::COMPACT;
use foretune_core::{Dimension, Fleet, Settings};
use static_cell::ConstStaticCell;

const POWERS: Dimension = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
const SHARES: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);

/// [`foretune_core::profile::Compact`] with more observations.
type Memory = foretune_core::memory!(
    dimensions: 4, fidelities: 4, observations: CAPACITY, particles: 10, map: Ard, candidates: CAPACITY, fleet: true
);
static TUNER: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    let fleet = Fleet::read(include_bytes!("../../examples/radio.fleet")).expect("a fleet");
    let header = fleet.header();
    // What the fleet's mean says, so that it is never dropped.
    let answer = |x: &[f32], fidelity: usize| header.mean + header.deviation * fleet.at(x, fidelity)[0];
    let (memory, problem) = (TUNER.take(), counting::problem(&[POWERS, SHARES, POWERS, SHARES]));
    for t in OBSERVATIONS {
        // No answer is measured again: the round is to end with a search.
        let settings = Settings { confirm: 0.0, ..counting::settings(t, COMPACT) };
        let mut tuner = memory.start(problem, settings, 1).expect("the settings fit");
        tuner.set_fleet(Some(fleet)).expect("it is of this problem");
        counting::count_tuning(Ok(tuner), t, answer);
    }
    counting::end()
}
