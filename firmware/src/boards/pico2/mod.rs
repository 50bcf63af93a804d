//! Raspberry Pi Pico 2: RP2350, a Cortex-M33 at 150 MHz (its second one rests).
//!
//! | part | what it is |
//! |---|---|
//! | serial line | UART0, GP0 (pin 1) transmits, GP1 (pin 2) receives; 115 200 baud, 8N1; wants an adapter or a Debug Probe |
//! | flash | 128 KB in the second megabyte of the external flash, see [`flash`] |
//! | log | `defmt` over RTT, read by the debug probe |
//! | LED | GP25 green, the only one: it blinks |
//! | watchdog | the chip's, 8 s |
//! | clock | 150 MHz from the crystal |
//!
//! What is left as a note for the next start lies in the watchdog's scratch registers: they survive every reset but that
//! of power, and the boot code in the chip's ROM leaves the first four alone.

mod flash;

use embassy_rp::gpio::{Level, Output};
use embassy_rp::peripherals::UART0;
use embassy_rp::uart::{BufferedInterruptHandler, BufferedUart, Config as SerialConfig};
use embassy_rp::watchdog::{self, ResetReason};
use embassy_rp::{bind_interrupts, pac};
use embassy_time::Duration;

use super::cortex::{self, CortexSystem, Watchdog};
use super::probed;
use crate::board::{Board, Parts};
use crate::leds::OneLed;

pub use super::cortex::idle;
pub use super::probed::exit;
pub use flash::Flash;

/// Frequency of the processor, in Hz: what the HAL sets by itself.
const CLOCK: u32 = 150_000_000;
/// The watchdog's patience.
const WATCHDOG: Duration = Duration::from_secs(8);

bind_interrupts!(struct Interrupts {
    UART0_IRQ => BufferedInterruptHandler<UART0>;
});

/// The board.
pub enum Pico {}

impl Board for Pico {
    const NAME: &'static str = "pico2";
    type Serial = BufferedUart;
    type Flash = Flash;
    type System = CortexSystem<OneLed<Output<'static>>, watchdog::Watchdog>;
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> Parts<Pico> {
    let core = cortex_m::Peripherals::take().expect("the board is taken once");
    cortex::guard_stack();
    let chip = embassy_rp::init(embassy_rp::config::Config::default());
    cortex::start_clock(core.SYST, CLOCK);
    let mut watchdog = watchdog::Watchdog::new(chip.WATCHDOG);
    let ran_out = watchdog.reset_reason() == Some(ResetReason::TimedOut);
    watchdog.start(WATCHDOG);
    let mut serial_config = SerialConfig::default();
    serial_config.baudrate = probed::BAUD_RATE;
    let (to_send, received) = probed::serial_buffers();
    let serial =
        BufferedUart::new(chip.UART0, chip.PIN_0, chip.PIN_1, Interrupts, to_send, received, serial_config);
    let led = OneLed::new(Output::new(chip.PIN_25, Level::Low));
    Parts { serial, flash: flash::open(chip.FLASH), system: CortexSystem::new(led, watchdog, ran_out) }
}

/// Starts the whole chip again; what the processor calls a reset would leave its peripherals as they are.
pub fn restart() -> ! {
    pac::PSM.wdsel().write_value(pac::psm::regs::Wdsel(0x0001_fffc)); // everything but the oscillators
    pac::WATCHDOG.ctrl().write(|control| control.set_trigger(true));
    loop {
        core::hint::spin_loop();
    }
}

impl Watchdog for watchdog::Watchdog {
    fn feed(&mut self) {
        watchdog::Watchdog::feed(self, WATCHDOG);
    }
}
