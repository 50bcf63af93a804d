//! QEMU's MPS2 boards: `mps2-an500` with a Cortex-M7, `mps2-an386` with a Cortex-M4F, `mps2-an505` with a Cortex-M33;
//! otherwise alike, at other addresses.
//!
//! | part | what it is |
//! |---|---|
//! | serial line | CMSDK UART 0 |
//! | flash | a model of the real board's (`ecc_flash`), kept in the file `flash.bin` of the emulator's folder |
//! | log | `defmt` frames on the semihosting console, that is the emulator's standard output |
//! | LEDs | the board's LEDs 0 (green), 1 (yellow), 2 (red) |
//! | watchdog | CMSDK watchdog, 8 s |
//! | clock | 25 MHz, 20 on `mps2-an505`; with QEMU's `-icount shift=0` an instruction takes 1 ns: a tick is 40 or 50 of them |

mod flash;
mod machine;
mod serial;

use core::convert::Infallible;

use cortex_m::peripheral::SCB;
use cortex_m_rt::exception;
use defmt_semihosting as _;
use embedded_hal::digital::{ErrorType, OutputPin};

use super::cortex::{self, CortexSystem};
use crate::board::{Board, Cause, Fault, Parts};
use crate::leds::Leds;
use machine::CLOCK;

pub use super::cortex::{idle, restart};
pub use flash::Flash;
pub use serial::Serial;

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

const LEDS: Register = Register(machine::LEDS);
const WATCHDOG_LOAD: Register = Register(machine::WATCHDOG);
const WATCHDOG_CONTROL: Register = Register(machine::WATCHDOG + 0x8);
const WATCHDOG_CLEAR: Register = Register(machine::WATCHDOG + 0xC);

/// The board.
pub enum Mps2 {}

impl Board for Mps2 {
    const NAME: &'static str = machine::NAME;
    type Serial = Serial;
    type Flash = Flash;
    type System = CortexSystem<Leds<Led, Led, Led>, Watchdog>;
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> Parts<Mps2> {
    #[cfg_attr(armv8m, expect(unused_mut))]
    let mut core = cortex_m::Peripherals::take().expect("the board is taken once");
    #[cfg(not(armv8m))]
    cortex::guard_stack(&mut core.MPU);
    #[cfg(armv8m)]
    cortex::guard_stack();
    cortex::start_clock(core.SYST, CLOCK);
    let leds = Leds::new(Led(0), Led(1), Led(2));
    let system = CortexSystem::new(leds, Watchdog::start(), false);
    Parts { serial: Serial::open(), flash: flash::open(), system }
}

/// Ends the emulation.
pub fn exit(ok: bool) -> ! {
    semihosting::process::exit(if ok { 0 } else { 1 })
}

/// The watchdog. When it runs out it raises the non-maskable interrupt, and resets if that does not help.
pub struct Watchdog(());

impl Watchdog {
    fn start() -> Self {
        const INTERRUPT: u32 = 1;
        const RESET: u32 = 2;
        WATCHDOG_LOAD.write(WATCHDOG * CLOCK);
        WATCHDOG_CONTROL.write(INTERRUPT | RESET);
        Watchdog(())
    }
}

impl cortex::Watchdog for Watchdog {
    fn feed(&mut self) {
        WATCHDOG_CLEAR.write(1);
    }
}

#[exception]
unsafe fn NonMaskableInt() -> ! {
    let fault = Fault { cause: Cause::Watchdog, pc: 0, status: 0 };
    cortex::leave_note(fault);
    // No log: the watchdog may have caught the program in the middle of a log frame. The next start tells.
    SCB::sys_reset()
}

/// One of the board's LEDs.
pub struct Led(u8);

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
