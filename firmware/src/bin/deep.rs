//! The tuner with the deep profile.
#![no_std]
#![no_main]

use foretune_firmware::app::App;
use foretune_firmware::boards::this;
use foretune_firmware::profile::{DEEP, Deep};
use static_cell::ConstStaticCell;

/// All that the optimizer works in: zeros at first, so it takes no room in the flash.
static MEMORY: ConstStaticCell<Deep> = ConstStaticCell::new(Deep::new());

#[cortex_m_rt::entry]
fn main() -> ! {
    let memory = MEMORY.take();
    // Not moved: it would lie on the stack twice.
    let mut app = App::new(this::take(), DEEP);
    let Ok(app) = &mut app else { panic!("the layout fits the board's flash") };
    loop {
        app.run(memory.lend(), |_: &mut _| true);
    }
}
