//! What happens when something goes wrong: a line in the log, a note for the next start, and a restart.
//!
//! The note lies in memory that survives a reset, so that the next run can report it over the line too. A fault in the
//! middle of a log line cannot be logged (the logger would be entered twice): then the note alone must do.

use core::panic::{Location, PanicInfo};
use core::sync::atomic::{AtomicBool, Ordering};

use cortex_m::peripheral::SCB;
use cortex_m_rt::{ExceptionFrame, exception};

use super::guard;
use crate::board::{Cause, Fault};

unsafe extern "C" {
    /// Four words of memory that survive a reset, from the board's layout.
    static mut _last_words: [u32; 4];
}

/// First of the last words: says that the others mean something.
const MAGIC: u32 = 0x4641_554C;

/// Leaves a note for the next start.
pub fn leave_note(fault: Fault) {
    let cause = match fault.cause {
        Cause::Panic => 0,
        Cause::StackOverflow => 1,
        Cause::HardFault => 2,
        Cause::Watchdog => 3,
    };
    // SAFETY: the layout sets these words aside for this function and the next; who comes here restarts soon after.
    unsafe { (&raw mut _last_words).write_volatile([MAGIC, cause, fault.pc, fault.status]) };
}

/// Takes the note that the previous run left.
pub fn take_note() -> Option<Fault> {
    // SAFETY: as in `leave_note`; any bit pattern is a valid array.
    let [magic, cause, pc, status] = unsafe { (&raw const _last_words).read_volatile() };
    // SAFETY: as above.
    unsafe { (&raw mut _last_words).write_volatile([0; 4]) };
    let cause = match cause {
        0 => Cause::Panic,
        1 => Cause::StackOverflow,
        2 => Cause::HardFault,
        3 => Cause::Watchdog,
        _ => return None,
    };
    (magic == MAGIC).then_some(Fault { cause, pc, status })
}

/// Whether what the processor pushes when it takes a fault can be read.
pub enum Frame {
    /// It can.
    #[cfg_attr(
        armv8m,
        expect(dead_code, reason = "a limit register stops an overflow before anything is pushed")
    )]
    Kept,
    /// There was no room for it.
    Lost,
}

static FAILING: AtomicBool = AtomicBool::new(false);

/// Notes, logs, restarts; when logging fails in its turn, comes here again and restarts at once.
fn give_up(fault: Fault, message: impl FnOnce()) -> ! {
    if !FAILING.swap(true, Ordering::Relaxed) {
        leave_note(fault);
        message();
        defmt::error!("restarting after {}", fault);
    }
    super::super::this::restart()
}

// Inlined, so that it is seen that nobody reads messages: what puts them together takes 2 KB of flash.
#[panic_handler]
#[allow(unused_attributes, reason = "said to be ignored, but it is not")]
#[inline(always)]
fn panic(info: &PanicInfo) -> ! {
    panicked(info.location())
}

#[inline(never)]
fn panicked(place: Option<&Location>) -> ! {
    cortex_m::interrupt::disable();
    let fault = Fault { cause: Cause::Panic, pc: 0, status: 0 };
    // The place says which check it was.
    give_up(fault, || {
        let (file, line) = place.map_or(("", 0), |place| (place.file(), place.line()));
        defmt::error!("the program panicked at {}:{}", file, line);
    })
}

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    give_up(diagnose(frame), || {})
}

/// Tells an overflow from everything else.
fn diagnose(frame: &ExceptionFrame) -> Fault {
    // SAFETY: reads of status registers.
    let (status, address) = unsafe { ((*SCB::PTR).cfsr.read(), (*SCB::PTR).mmfar.read()) };
    match guard::overflow(status, address, &raw const *frame as u32) {
        // The frame itself may lie below the stack: then there is nothing to be read from it.
        Some(Frame::Lost) => Fault { cause: Cause::StackOverflow, pc: 0, status },
        Some(Frame::Kept) => Fault { cause: Cause::StackOverflow, pc: frame.pc(), status },
        None => Fault { cause: Cause::HardFault, pc: frame.pc(), status },
    }
}
