//! The guard of the stacks where the processor has limit registers (Armv8-M): it checks every push itself.

use core::arch::asm;

use super::faults::Frame;
use super::stack::{end, handlers_end, move_handlers};

/// Sets the limits of both stacks and gives the handlers one of their own. Call once, early.
pub fn guard_stack() {
    // SAFETY: the stack is far above its limit now, and so is the handlers' once they have it.
    unsafe { asm!("msr psplim, {limit}", limit = in(reg) end()) };
    move_handlers();
    // SAFETY: as above.
    unsafe { asm!("msr msplim, {limit}", limit = in(reg) handlers_end()) };
}

/// Whether a fault with this status is an overflow.
pub fn overflow(status: u32, _address: u32, _frame: u32) -> Option<Frame> {
    const STACK_OVERFLOW: u32 = 1 << 20;
    (status & STACK_OVERFLOW != 0).then_some(Frame::Lost)
}
