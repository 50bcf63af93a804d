//! Counts instructions of the deep profile's model, for which its tuner leaves no room: see `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::CAPACITY;
use foretune_core::internals::gp::Workspace;
use foretune_core::internals::kernel::Model;
use foretune_core::profile::DEEP;
use static_cell::ConstStaticCell;

const MODEL: Model = DEEP.model(6);
const F: usize = MODEL.features();
const P: usize = MODEL.parameters();

const WORDS: usize = Workspace::words(CAPACITY, F);
static GP: ConstStaticCell<[u32; WORDS]> = ConstStaticCell::new([0; WORDS]);
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
    let gp = Workspace::new(GP.take(), CAPACITY, F);
    counting::count_model(gp, &MODEL, theta, scratch);
    counting::end()
}
