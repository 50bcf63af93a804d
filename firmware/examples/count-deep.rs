//! Counts instructions of the deep profile's tuner: see `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::{CAPACITY, OBSERVATIONS};
use foretune_core::Dimension;
use foretune_core::profile::DEEP;
use static_cell::ConstStaticCell;

/// [`foretune_core::profile::Deep`] with one observation more.
type Memory = foretune_core::memory!(
    dimensions: 6, fidelities: 4, observations: CAPACITY, particles: 10, map: Deep { width: 64 }, candidates: 256,
    step: Plain { rate: 1.0 }, keeps_particles: false
);
static TUNER: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    let (memory, problem) =
        (TUNER.take(), counting::problem(&[Dimension::Interval { low: 0.0, high: 1.0 }; 6]));
    for t in OBSERVATIONS {
        counting::count_tuning(memory.start(problem, counting::settings(t, DEEP), 1), t, counting::objective);
    }
    counting::end()
}
