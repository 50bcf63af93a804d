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

use cortex_m::peripheral::SCB;
use defmt_rtt as _;
use embassy_nrf::buffered_uarte::{BufferedUarte, InterruptHandler};
use embassy_nrf::config::{Config, HfclkSource};
use embassy_nrf::gpio::{AnyPin, Level, Output, OutputDrive};
use embassy_nrf::peripherals::UARTE0;
use embassy_nrf::uarte::{Baudrate, Config as SerialConfig};
use embassy_nrf::wdt::{Config as WatchdogConfig, Watchdog, WatchdogHandle};
use embassy_nrf::{Peri, bind_interrupts, pac};
use static_cell::ConstStaticCell;

use super::cortex;
use crate::board::{Board, Cause, Fault, Parts, SERIAL_BUFFER, Stack, Status, System};
use crate::leds::{ActiveLow, Leds};

pub use flash::Flash;
pub use serial::Serial;

/// Frequency of the processor, in Hz.
const CLOCK: u32 = 64_000_000;
/// The watchdog's patience, in ticks of 1/32768 s.
const WATCHDOG: u32 = 8 * 32_768;

bind_interrupts!(struct Interrupts {
    UARTE0 => InterruptHandler<UARTE0>;
});

static RECEIVED: ConstStaticCell<[u8; SERIAL_BUFFER]> = ConstStaticCell::new([0; SERIAL_BUFFER]);
static TO_SEND: ConstStaticCell<[u8; SERIAL_BUFFER]> = ConstStaticCell::new([0; SERIAL_BUFFER]);

type Led = ActiveLow<Output<'static>>;

/// The board, set up.
pub struct NordicKit {
    serial: Serial,
    flash: Flash,
    system: NordicSystem,
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> NordicKit {
    let mut core = cortex_m::Peripherals::take().expect("the board is taken once");
    cortex::guard_stack(&mut core.MPU);
    let mut config = Config::default();
    config.hfclk_source = HfclkSource::ExternalXtal;
    let chip = embassy_nrf::init(config);
    cortex::start_clock(core.SYST, CLOCK);
    let mut patience = WatchdogConfig::default();
    patience.timeout_ticks = WATCHDOG;
    let watchdog = Watchdog::try_new(chip.WDT, patience).map(|(_, [handle])| handle);
    let mut serial_config = SerialConfig::default();
    serial_config.baudrate = Baudrate::Baud115200;
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
        RECEIVED.take(),
        TO_SEND.take(),
    );
    let led = |pin: Peri<'static, AnyPin>| ActiveLow(Output::new(pin, Level::High, OutputDrive::Standard));
    let leds =
        Leds { green: led(chip.P0_13.into()), yellow: led(chip.P0_14.into()), red: led(chip.P0_15.into()) };
    let system = NordicSystem { leds, watchdog: watchdog.ok(), last_fault: last_fault() };
    NordicKit { serial: Serial(uart), flash: Flash::new(chip.NVMC), system }
}

/// Stops: there is nowhere to exit to. A debugger halts here; without one the watchdog starts the board again.
pub fn exit(ok: bool) -> ! {
    defmt::info!("stopped, {}", if ok { "all well" } else { "something failed" });
    loop {
        cortex_m::asm::bkpt();
    }
}

/// Starts again from the reset vector.
pub fn restart() -> ! {
    SCB::sys_reset()
}

/// The note of the previous run, or the chip's own word that its watchdog ran out.
fn last_fault() -> Option<Fault> {
    let reasons = pac::POWER.resetreas().read();
    // A bit is cleared by writing it.
    pac::POWER.resetreas().write_value(reasons);
    let watchdog = Fault { cause: Cause::Watchdog, pc: 0, status: 0 };
    cortex::take_note().or(reasons.dog().then_some(watchdog))
}

impl Board for NordicKit {
    const NAME: &'static str = "nrf52840-dk";
    type Serial = Serial;
    type Flash = Flash;
    type System = NordicSystem;

    fn split(self) -> Parts<Self> {
        Parts { serial: self.serial, flash: self.flash, system: self.system }
    }
}

/// Everything but serial line and flash.
pub struct NordicSystem {
    leds: Leds<Led, Led, Led>,
    /// None when a program before this one left the watchdog running with another patience: it cannot be stopped.
    watchdog: Option<WatchdogHandle>,
    last_fault: Option<Fault>,
}

impl System for NordicSystem {
    fn show(&mut self, status: Status) {
        self.leds.show(status);
    }

    fn feed(&mut self) {
        self.watchdog.iter_mut().for_each(WatchdogHandle::pet);
    }

    fn ticks(&self) -> u64 {
        cortex::ticks()
    }

    fn ticks_per_second(&self) -> u32 {
        cortex::ticks_per_second()
    }

    fn idle(&mut self) {
        core::hint::spin_loop();
    }

    fn stack(&self) -> Stack {
        cortex::stack()
    }

    fn last_fault(&self) -> Option<Fault> {
        self.last_fault
    }

    fn restart(&mut self) -> ! {
        restart()
    }
}
