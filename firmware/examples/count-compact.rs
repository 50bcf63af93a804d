//! Counts instructions of the compact profile: see `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::CAPACITY;
use foretune_core::kernel::Model;
use foretune_core::optimizer::Memory;
use foretune_core::profile::COMPACT;
use foretune_core::{Dimension, gp};
use static_cell::ConstStaticCell;

const MODEL: Model = COMPACT.model(4);
const F: usize = MODEL.features();
const P: usize = MODEL.parameters();

const POWERS: Dimension = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
const SHARES: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);

/// [`foretune_core::profile::Compact`] with more observations.
static TUNER: ConstStaticCell<Memory<4, 4, CAPACITY, 10, F, P, 30, CAPACITY>> =
    ConstStaticCell::new(Memory::new());
static GP: ConstStaticCell<gp::Memory<CAPACITY, F>> = ConstStaticCell::new(gp::Memory::new());

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    counting::count_tuning(TUNER.take(), &[POWERS, SHARES, POWERS, SHARES], COMPACT);
    let scratch = [&mut [0.0; 8 * F][..], &mut [0.0; 8 * F], &mut [0.0; 8 * F]];
    counting::count_model(GP.take(), &MODEL, &[0.1; P], scratch);
    counting::end()
}
