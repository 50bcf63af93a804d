//! The stack: where it lies, the handlers' own beside it, and how much of it was used.
//!
//! The program runs on the process stack and the handlers on a small one of their own: after an overflow there is still
//! room to say so. The whole stack is painted at the start (by `cortex-m-rt`); what lost its paint was in use.

use core::arch::asm;
use core::cell::UnsafeCell;

use crate::board::Stack;

/// Bytes at the bottom of the handlers' stack that may be closed.
pub const GUARD_SIZE: usize = 32;
const HANDLER_STACK_SIZE: usize = 2048;

/// The handlers' stack, its lowest bytes left free.
#[repr(align(32))]
struct HandlerStack(UnsafeCell<[u8; GUARD_SIZE + HANDLER_STACK_SIZE]>);

// SAFETY: only the processor uses it, as a stack, after `move_handlers` handed it over.
unsafe impl Sync for HandlerStack {}

static HANDLER_STACK: HandlerStack = HandlerStack(UnsafeCell::new([0; GUARD_SIZE + HANDLER_STACK_SIZE]));

unsafe extern "C" {
    /// One past the highest address of the stack, from the linker.
    static _stack_start: u32;
    /// The lowest address of the stack, from the linker.
    static _stack_end: u32;
}

/// The lowest address of the stack.
pub fn end() -> u32 {
    (&raw const _stack_end) as u32
}

/// The lowest address of the handlers' stack.
pub fn handlers_end() -> u32 {
    HANDLER_STACK.0.get() as u32
}

/// Gives the handlers a stack of their own. Call once, early.
pub fn move_handlers() {
    let top = handlers_end() + (GUARD_SIZE + HANDLER_STACK_SIZE) as u32;
    // SAFETY: the process stack takes over at the very address where the main stack stands, so the running program
    // notices nothing; the main stack, which from here on is the handlers', moves to memory that nobody else uses.
    unsafe {
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
