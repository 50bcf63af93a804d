//! Counts instructions of the deep profile's tuner: see `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::CAPACITY;
use foretune_core::Dimension;
use foretune_core::kernel::Model;
use foretune_core::optimizer::Memory;
use foretune_core::profile::DEEP;
use static_cell::ConstStaticCell;

const MODEL: Model = DEEP.model(6);
const F: usize = MODEL.features();
const P: usize = MODEL.parameters();

/// [`foretune_core::profile::Deep`] with one observation more.
static TUNER: ConstStaticCell<Memory<6, 4, CAPACITY, 10, F, P, 1, 256>> = ConstStaticCell::new(Memory::new());

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    counting::count_tuning(TUNER.take(), &[Dimension::Interval { low: 0.0, high: 1.0 }; 6], DEEP);
    counting::end()
}
