//! Counts instructions of the deep profile's model, for which its tuner leaves no room: see `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::CAPACITY;
use foretune_core::internals::gp;
use foretune_core::internals::kernel::Model;
use foretune_core::profile::DEEP;
use static_cell::ConstStaticCell;

const MODEL: Model = DEEP.model(6);
const F: usize = MODEL.features();
const P: usize = MODEL.parameters();

static GP: ConstStaticCell<gp::Memory<CAPACITY, F>> = ConstStaticCell::new(gp::Memory::new());
static THETA: ConstStaticCell<[f32; P]> = ConstStaticCell::new([0.0; P]);
static SCRATCH: ConstStaticCell<[[f32; 8 * F]; 3]> = ConstStaticCell::new([[0.0; 8 * F]; 3]);

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    let theta = THETA.take();
    for (i, weight) in theta.iter_mut().enumerate() {
        *weight = (i * 37 % 101) as f32 / 300.0 - 0.16;
    }
    let scratch = SCRATCH.take().each_mut().map(|rows| &mut rows[..]);
    counting::count_model(GP.take(), &MODEL, theta, scratch);
    counting::end()
}
