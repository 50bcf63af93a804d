//! Counts instructions of the compact profile: see `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::{CAPACITY, OBSERVATIONS};
use foretune_core::Dimension;
use foretune_core::internals::gp::Workspace;
use foretune_core::internals::kernel::Model;
use foretune_core::profile::COMPACT;
use static_cell::ConstStaticCell;

const MODEL: Model = COMPACT.model(4);
const F: usize = MODEL.features();
const P: usize = MODEL.parameters();

const POWERS: Dimension = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
const SHARES: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);

/// [`foretune_core::profile::Compact`] with more observations.
type Memory = foretune_core::memory!(
    dimensions: 4, fidelities: 4, observations: CAPACITY, particles: 10, map: Ard, candidates: CAPACITY
);
static TUNER: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());
const WORDS: usize = Workspace::words(CAPACITY, F);
static GP: ConstStaticCell<[u32; WORDS]> = ConstStaticCell::new([0; WORDS]);

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    let (memory, problem) = (TUNER.take(), counting::problem(&[POWERS, SHARES, POWERS, SHARES]));
    for t in OBSERVATIONS {
        counting::count_tuning(
            memory.start(problem, counting::settings(t, COMPACT), 1),
            t,
            counting::objective,
        );
    }
    let scratch = [&mut [0.0; 8 * F][..], &mut [0.0; 8 * F], &mut [0.0; 8 * F]];
    let gp = Workspace::new(GP.take(), CAPACITY, F);
    counting::count_model(gp, &MODEL, &[0.1; P], scratch);
    counting::end()
}
