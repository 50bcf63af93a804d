//! What all Cortex-M boards share: the clock, the stack and its guard, and what happens on a fault.
//!
//! **Stack.** On every board the stack ends at `0x2000_0000`, where nothing lies below: `flip-link` puts the variables
//! above the stack, or the layout gives the stack a memory of its own. The 256 MB below are closed by the memory
//! protection unit, so that an overflow is a fault even where the bus would let it pass. The program runs on the
//! process stack and the handlers on a small one of their own: after an overflow there is still room to say so.
//! The whole stack is painted at the start (by `cortex-m-rt`); what lost its paint was in use.
//!
//! **Faults.** A panic prints its message and ends in a fault, too. The fault handler logs what it knows, leaves a
//! note in memory that survives a reset, and restarts the board.

use core::arch::asm;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{MPU, SCB, SYST};
use cortex_m_rt::{ExceptionFrame, exception};
use critical_section::Mutex;
use panic_probe as _;

use crate::board::{Cause, Fault, Stack};

/// How often the clock interrupts, and so the longest sleep: 100 times a second.
const WRAPS_PER_SECOND: u32 = 100;

static WRAPS: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));
static TICKS_PER_SECOND: AtomicU32 = AtomicU32::new(WRAPS_PER_SECOND);

/// Starts the clock on the processor's own, of the given frequency in Hz.
pub fn start_clock(mut syst: SYST, frequency: u32) {
    TICKS_PER_SECOND.store(frequency, Ordering::Relaxed);
    syst.set_clock_source(SystClkSource::Core);
    syst.set_reload(frequency / WRAPS_PER_SECOND - 1);
    syst.clear_current();
    syst.enable_interrupt();
    syst.enable_counter();
}

/// Ticks since the clock was started.
pub fn ticks() -> u64 {
    critical_section::with(|token| {
        let mut wraps = WRAPS.borrow(token).get();
        let mut left = SYST::get_current();
        if SCB::is_pendst_pending() {
            // It wrapped after interrupts were masked: count that wrap, and read on its far side.
            wraps += 1;
            left = SYST::get_current();
        }
        let period = ticks_per_second() / WRAPS_PER_SECOND;
        wraps * u64::from(period) + u64::from(period - 1 - left)
    })
}

/// Ticks in a second.
pub fn ticks_per_second() -> u32 {
    TICKS_PER_SECOND.load(Ordering::Relaxed)
}

#[exception]
fn SysTick() {
    critical_section::with(|token| {
        let wraps = WRAPS.borrow(token);
        wraps.set(wraps.get() + 1);
    });
}

defmt::timestamp!("{=u64:us}", {
    // In two steps, because ticks · 10⁶ overflows after some hours.
    let (ticks, second) = (ticks(), u64::from(ticks_per_second()));
    ticks / second * 1_000_000 + ticks % second * 1_000_000 / second
});

unsafe extern "C" {
    /// One past the highest address of the stack, from the linker.
    static _stack_start: u32;
    /// The lowest address of the stack, from the linker.
    static _stack_end: u32;
    /// Four words of memory that survive a reset, from the board's layout.
    static mut _last_words: [u32; 4];
}

const HANDLER_STACK_SIZE: usize = 2048;

#[repr(align(8))]
struct HandlerStack(UnsafeCell<[u32; HANDLER_STACK_SIZE / 4]>);

// SAFETY: only the processor uses it, as a stack, after `guard_stack` handed it over.
unsafe impl Sync for HandlerStack {}

static HANDLER_STACK: HandlerStack = HandlerStack(UnsafeCell::new([0; HANDLER_STACK_SIZE / 4]));

/// Closes the memory below the stack and gives the handlers a stack of their own. Call once, early.
pub fn guard_stack(mpu: &mut MPU) {
    const BASE: u32 = 0x1000_0000;
    const SIZE_256_MB: u32 = 27 << 1;
    const NO_EXECUTE: u32 = 1 << 28;
    const ENABLE: u32 = 1;
    const KEEP_DEFAULT_MAP: u32 = 1 << 2;
    assert!((&raw const _stack_end) as u32 == BASE + (256 << 20));
    let top = (HANDLER_STACK.0.get() as u32) + HANDLER_STACK_SIZE as u32;
    // SAFETY: region 0 with no access rights covers addresses where no board keeps anything, as asserted; all else
    // stays as without protection. The process stack takes over at the very address where the main stack stands, so
    // the running program notices nothing; the main stack moves to memory that nobody else uses.
    unsafe {
        mpu.rnr.write(0);
        mpu.rbar.write(BASE);
        mpu.rasr.write(NO_EXECUTE | SIZE_256_MB | ENABLE);
        mpu.ctrl.write(KEEP_DEFAULT_MAP | ENABLE);
        asm!(
            "dsb",
            "isb",
            "mrs {scratch}, msp",
            "msr psp, {scratch}",
            "mrs {scratch}, control",
            "orr {scratch}, {scratch}, #2",
            "msr control, {scratch}",
            "isb",
            "msr msp, {top}",
            scratch = out(reg) _,
            top = in(reg) top,
        );
    }
}

/// Size and high-water mark of the program's stack.
pub fn stack() -> Stack {
    let (end, start) = (&raw const _stack_end, &raw const _stack_start);
    let size = start as u32 - end as u32;
    let words = size as usize / 4;
    let is_painted = |index: &usize| {
        // SAFETY: inside the stack; a word below the stack pointer may be any value, and one above it is only read.
        unsafe { end.add(*index).read_volatile() == cortex_m_rt::STACK_PAINT_VALUE }
    };
    let painted = (0..words).take_while(is_painted).count();
    Stack { size, used: size - 4 * painted as u32 }
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
    // SAFETY: the layout sets these words aside for this function and the next; no handler interrupts another here.
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

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    // SAFETY: a read of a status register, in the one handler that nothing can interrupt.
    let status = unsafe { (*SCB::PTR).cfsr.read() };
    let fault = diagnose(frame, status);
    leave_note(fault);
    defmt::error!("{}: restarting", fault);
    SCB::sys_reset()
}

/// Tells an overflow, a panic and everything else apart.
fn diagnose(frame: &ExceptionFrame, status: u32) -> Fault {
    const STACKING_FAILED: u32 = 1 << 4 | 1 << 12;
    const ADDRESS_VALID: u32 = 1 << 7;
    // SAFETY: a read of a status register.
    let address = unsafe { (*SCB::PTR).mmfar.read() };
    let stack_end = (&raw const _stack_end) as u32;
    let beyond = status & ADDRESS_VALID != 0 && address < stack_end && address >= stack_end - (256 << 20);
    if status & STACKING_FAILED != 0 || beyond || (frame as *const ExceptionFrame as u32) < stack_end {
        return Fault { cause: Cause::StackOverflow, pc: 0, status };
    }
    match is_end_of_panic(frame.pc()) {
        true => Fault { cause: Cause::Panic, pc: 0, status },
        false => Fault { cause: Cause::HardFault, pc: frame.pc(), status },
    }
}

/// Whether the instruction at `pc` is the `udf` that `panic-probe` ends with.
fn is_end_of_panic(pc: u32) -> bool {
    unsafe extern "C" {
        static __stext: u8;
        static __etext: u8;
    }
    let code = (&raw const __stext) as u32..(&raw const __etext) as u32;
    // SAFETY: an aligned read inside the program's own code.
    code.contains(&pc) && unsafe { ((pc & !1) as *const u16).read_volatile() } & 0xFF00 == 0xDE00
}
