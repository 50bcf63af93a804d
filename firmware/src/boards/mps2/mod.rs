//! QEMU's MPS2 boards: `mps2-an500` with a Cortex-M7, `mps2-an386` with a Cortex-M4F; otherwise alike.
//!
//! | part | what it is |
//! |---|---|
//! | line | CMSDK UART 0 |
//! | flash | a model of the real board's (`ecc_flash`), kept in the file `flash.bin` of the emulator's folder |
//! | log | `defmt` frames on the semihosting console, that is the emulator's standard output |
//! | lamps | the board's LEDs 0 (green), 1 (yellow), 2 (red) |
//! | watchdog | CMSDK watchdog, 8 s |
//! | clock | 25 MHz; with QEMU's `-icount shift=0` an instruction takes 1 ns, so a tick is 40 instructions |

mod flash;
mod line;

use core::convert::Infallible;

use cortex_m::asm::wfi;
use cortex_m::peripheral::SCB;
use cortex_m_rt::exception;
use defmt_semihosting as _;
use embedded_hal::digital::{ErrorType, OutputPin};

use super::armv7m;
use crate::board::{Board, Cause, Fault, Parts, Stack, Status, System};
use crate::lamps::Lamps;

pub use flash::Flash;
pub use line::Line;

/// Frequency of everything on the board, in Hz.
const CLOCK: u32 = 25_000_000;
/// The watchdog's patience, in seconds.
const WATCHDOG: u32 = 8;

/// A device register.
#[derive(Clone, Copy)]
struct Register(u32);

impl Register {
    fn read(self) -> u32 {
        // SAFETY: every `Register` below is a word-sized device register of this machine.
        unsafe { (self.0 as *const u32).read_volatile() }
    }

    fn write(self, value: u32) {
        // SAFETY: as above; none of them makes the machine write to memory.
        unsafe { (self.0 as *mut u32).write_volatile(value) }
    }
}

const LEDS: Register = Register(0x4002_F004);
const WATCHDOG_LOAD: Register = Register(0x4000_8000);
const WATCHDOG_CONTROL: Register = Register(0x4000_8008);
const WATCHDOG_CLEAR: Register = Register(0x4000_800C);

/// The board, set up.
pub struct Mps2 {
    line: Line,
    flash: Flash,
    last_fault: Option<Fault>,
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> Mps2 {
    let mut core = cortex_m::Peripherals::take().expect("the board is taken once");
    armv7m::guard_stack(&mut core.MPU);
    armv7m::start_clock(core.SYST, CLOCK);
    start_watchdog();
    Mps2 { line: Line::open(), flash: flash::open(), last_fault: armv7m::take_note() }
}

/// Ends the emulation.
pub fn exit(ok: bool) -> ! {
    semihosting::process::exit(if ok { 0 } else { 1 })
}

impl Board for Mps2 {
    const NAME: &'static str = if cfg!(feature = "mps2-an500") { "mps2-an500" } else { "mps2-an386" };
    type Line = Line;
    type Flash = Flash;
    type System = Mps2System;

    fn split(self) -> Parts<Self> {
        let lamps = Lamps { green: Led(0), yellow: Led(1), red: Led(2) };
        Parts {
            line: self.line,
            flash: self.flash,
            system: Mps2System { lamps, last_fault: self.last_fault },
        }
    }
}

/// Everything but line and flash.
pub struct Mps2System {
    lamps: Lamps<Led, Led, Led>,
    last_fault: Option<Fault>,
}

impl System for Mps2System {
    fn show(&mut self, status: Status) {
        self.lamps.show(status);
    }

    fn feed(&mut self) {
        WATCHDOG_CLEAR.write(1);
    }

    fn ticks(&self) -> u64 {
        armv7m::ticks()
    }

    fn ticks_per_second(&self) -> u32 {
        armv7m::ticks_per_second()
    }

    fn idle(&mut self) {
        wfi();
    }

    fn stack(&self) -> Stack {
        armv7m::stack()
    }

    fn last_fault(&self) -> Option<Fault> {
        self.last_fault
    }

    fn restart(&mut self) -> ! {
        SCB::sys_reset()
    }
}

/// Starts the watchdog. When it runs out it raises the non-maskable interrupt, and resets if that does not help.
fn start_watchdog() {
    const INTERRUPT: u32 = 1;
    const RESET: u32 = 2;
    WATCHDOG_LOAD.write(WATCHDOG * CLOCK);
    WATCHDOG_CONTROL.write(INTERRUPT | RESET);
}

#[exception]
unsafe fn NonMaskableInt() -> ! {
    let fault = Fault { cause: Cause::Watchdog, pc: 0, status: 0 };
    armv7m::leave_note(fault);
    // No log: the watchdog may have caught the program in the middle of a log frame. The next start tells.
    SCB::sys_reset()
}

/// One of the board's LEDs.
struct Led(u8);

impl ErrorType for Led {
    type Error = Infallible;
}

impl OutputPin for Led {
    fn set_low(&mut self) -> Result<(), Infallible> {
        LEDS.write(LEDS.read() & !(1 << self.0));
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        LEDS.write(LEDS.read() | 1 << self.0);
        Ok(())
    }
}
