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

use cortex_m::asm::wfi;
use defmt_rtt as _;
use embassy_rp::gpio::{Level, Output};
use embassy_rp::peripherals::UART0;
use embassy_rp::uart::{BufferedInterruptHandler, BufferedUart, Config as SerialConfig};
use embassy_rp::watchdog::{ResetReason, Watchdog};
use embassy_rp::{bind_interrupts, pac};
use embassy_time::Duration;
use static_cell::ConstStaticCell;

use super::cortex;
use crate::board::{Board, Cause, Fault, Parts, SERIAL_BUFFER, Stack, Status, System};
use crate::leds::OneLed;

pub use flash::Flash;

/// Frequency of the processor, in Hz: what the HAL sets by itself.
const CLOCK: u32 = 150_000_000;
const BAUD_RATE: u32 = 115_200;
/// The watchdog's patience.
const WATCHDOG: Duration = Duration::from_secs(8);

bind_interrupts!(struct Interrupts {
    UART0_IRQ => BufferedInterruptHandler<UART0>;
});

static RECEIVED: ConstStaticCell<[u8; SERIAL_BUFFER]> = ConstStaticCell::new([0; SERIAL_BUFFER]);
static TO_SEND: ConstStaticCell<[u8; SERIAL_BUFFER]> = ConstStaticCell::new([0; SERIAL_BUFFER]);

/// The board, set up.
pub struct Pico {
    serial: BufferedUart,
    flash: Flash,
    system: PicoSystem,
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> Pico {
    let core = cortex_m::Peripherals::take().expect("the board is taken once");
    cortex::guard_stack();
    let chip = embassy_rp::init(embassy_rp::config::Config::default());
    cortex::start_clock(core.SYST, CLOCK);
    let mut watchdog = Watchdog::new(chip.WATCHDOG);
    let last_fault = last_fault(&watchdog);
    watchdog.start(WATCHDOG);
    let mut serial_config = SerialConfig::default();
    serial_config.baudrate = BAUD_RATE;
    let (to_send, received) = (TO_SEND.take(), RECEIVED.take());
    let serial =
        BufferedUart::new(chip.UART0, chip.PIN_0, chip.PIN_1, Interrupts, to_send, received, serial_config);
    let led = OneLed::new(Output::new(chip.PIN_25, Level::Low));
    Pico { serial, flash: Flash::new(chip.FLASH), system: PicoSystem { led, watchdog, last_fault } }
}

/// Stops: there is nowhere to exit to. A debugger halts here; without one the watchdog starts the board again.
pub fn exit(ok: bool) -> ! {
    defmt::info!("stopped, {}", if ok { "all well" } else { "something failed" });
    loop {
        cortex_m::asm::bkpt();
    }
}

/// Starts the whole chip again; what the processor calls a reset would leave its peripherals as they are.
pub fn restart() -> ! {
    pac::PSM.wdsel().write_value(pac::psm::regs::Wdsel(0x0001_fffc)); // everything but the oscillators
    pac::WATCHDOG.ctrl().write(|control| control.set_trigger(true));
    loop {
        core::hint::spin_loop();
    }
}

/// The note of the previous run, or the chip's own word that its watchdog ran out.
fn last_fault(watchdog: &Watchdog) -> Option<Fault> {
    let ran_out = watchdog.reset_reason() == Some(ResetReason::TimedOut);
    let fault = Fault { cause: Cause::Watchdog, pc: 0, status: 0 };
    cortex::take_note().or(ran_out.then_some(fault))
}

impl Board for Pico {
    const NAME: &'static str = "pico2";
    type Serial = BufferedUart;
    type Flash = Flash;
    type System = PicoSystem;

    fn split(self) -> Parts<Self> {
        Parts { serial: self.serial, flash: self.flash, system: self.system }
    }
}

/// Everything but serial line and flash.
pub struct PicoSystem {
    led: OneLed<Output<'static>>,
    watchdog: Watchdog,
    last_fault: Option<Fault>,
}

impl System for PicoSystem {
    fn show(&mut self, status: Status) {
        self.led.show(status);
    }

    fn feed(&mut self) {
        self.watchdog.feed(WATCHDOG);
        self.led.refresh(cortex::milliseconds());
    }

    fn ticks(&self) -> u64 {
        cortex::ticks()
    }

    fn ticks_per_second(&self) -> u32 {
        cortex::ticks_per_second()
    }

    fn idle(&mut self) {
        wfi();
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
