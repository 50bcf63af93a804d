//! Nordic's nRF52840-DK: nRF52840, a Cortex-M4F at 64 MHz.
//!
//! | part | what it is |
//! |---|---|
//! | serial line | UARTE0, P0.06 transmits, P0.08 receives: the virtual serial port of the on-board J-Link; 115 200 baud, 8N1 |
//! | flash | the last 64 KB, 16 pages of 4 KB, see [`flash`] |
//! | log | `defmt` over RTT, read by the debug probe |
//! | LEDs | LED1 P0.13 for green, LED2 P0.14 for yellow, LED3 P0.15 for red; all of them are green, and light when low |
//! | watchdog | WDT, 8 s; once started it runs through every reset but that of power |
//! | clock | 64 MHz from the crystal; the processor's timer stands still while it sleeps, so the app does not let it |

mod flash;
mod serial;

use embassy_nrf::buffered_uarte::{BufferedUarte, InterruptHandler};
use embassy_nrf::config::{Config, HfclkSource};
use embassy_nrf::gpio::{AnyPin, Level, Output, OutputDrive};
use embassy_nrf::peripherals::UARTE0;
use embassy_nrf::uarte::{Baudrate, Config as SerialConfig};
use embassy_nrf::wdt::{self, WatchdogHandle};
use embassy_nrf::{Peri, bind_interrupts, pac};

use super::cortex::{self, CortexSystem, Watchdog};
use super::probed;
use crate::board::{Board, Parts};
use crate::leds::{ActiveLow, Leds};

pub use super::cortex::restart;
pub use super::probed::exit;
pub use flash::Flash;
pub use serial::Serial;

/// Frequency of the processor, in Hz.
const CLOCK: u32 = 64_000_000;
/// The watchdog's patience, in ticks of 1/32768 s.
const WATCHDOG: u32 = 8 * 32_768;

bind_interrupts!(struct Interrupts {
    UARTE0 => InterruptHandler<UARTE0>;
});

type Led = ActiveLow<Output<'static>>;

/// The board.
pub enum NordicKit {}

impl Board for NordicKit {
    const NAME: &'static str = "nrf52840-dk";
    type Serial = Serial;
    type Flash = Flash;
    type System = CortexSystem<Leds<Led, Led, Led>, Option<WatchdogHandle>>;
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> Parts<NordicKit> {
    let mut core = cortex_m::Peripherals::take().expect("the board is taken once");
    cortex::guard_stack(&mut core.MPU);
    let mut config = Config::default();
    config.hfclk_source = HfclkSource::ExternalXtal;
    let chip = embassy_nrf::init(config);
    cortex::start_clock(core.SYST, CLOCK);
    let mut patience = wdt::Config::default();
    patience.timeout_ticks = WATCHDOG;
    let watchdog = wdt::Watchdog::try_new(chip.WDT, patience).map(|(_, [handle])| handle);
    let mut serial_config = SerialConfig::default();
    serial_config.baudrate = Baudrate::Baud115200;
    let (to_send, received) = probed::serial_buffers();
    let uart = BufferedUarte::new(
        chip.UARTE0,
        chip.TIMER0,
        chip.PPI_CH0,
        chip.PPI_CH1,
        chip.PPI_GROUP0,
        chip.P0_08,
        chip.P0_06,
        Interrupts,
        serial_config,
        received,
        to_send,
    );
    let led = |pin: Peri<'static, AnyPin>| ActiveLow(Output::new(pin, Level::High, OutputDrive::Standard));
    let leds = Leds::new(led(chip.P0_13.into()), led(chip.P0_14.into()), led(chip.P0_15.into()));
    let system = CortexSystem::new(leds, watchdog.ok(), watchdog_ran_out());
    Parts { serial: Serial(uart), flash: flash::open(chip.NVMC), system }
}

/// Looks again at once: asleep, the clock would stand still.
pub fn idle() {
    core::hint::spin_loop();
}

/// Whether the watchdog was the reason for this start.
fn watchdog_ran_out() -> bool {
    let reasons = pac::POWER.resetreas().read();
    // A bit is cleared by writing it.
    pac::POWER.resetreas().write_value(reasons);
    reasons.dog()
}

/// None when a program before this one left the watchdog running with another patience: it cannot be stopped.
impl Watchdog for Option<WatchdogHandle> {
    fn feed(&mut self) {
        self.iter_mut().for_each(WatchdogHandle::pet);
    }
}
