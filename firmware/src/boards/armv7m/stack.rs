//! The stack: where it ends, what guards it, how much of it was used.
//!
//! On every board the stack ends at `0x2000_0000`, where nothing lies below: `flip-link` puts the variables above the
//! stack, or the layout gives the stack a memory of its own. The 256 MB below are closed by the memory protection
//! unit, so that an overflow is a fault even where the bus would let it pass. The program runs on the process stack and
//! the handlers on a small one of their own: after an overflow there is still room to say so. Below that one, too, a
//! few bytes are closed.
//!
//! The whole stack is painted at the start (by `cortex-m-rt`); what lost its paint was in use.

use core::arch::asm;
use core::cell::UnsafeCell;

use cortex_m::peripheral::MPU;

use crate::board::Stack;

/// What may be no memory at all: 256 MB below every stack.
pub const BELOW: u32 = 0x1000_0000;

const GUARD_SIZE: usize = 32;
const HANDLER_STACK_SIZE: usize = 2048;

/// The handlers' stack, its lowest bytes closed.
#[repr(align(32))]
struct HandlerStack(UnsafeCell<[u8; GUARD_SIZE + HANDLER_STACK_SIZE]>);

// SAFETY: only the processor uses it, as a stack, after `guard_stack` handed it over.
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

/// Closes the memory below the stacks and gives the handlers one of their own. Call once, early.
///
/// # Panics
/// When the layout puts the stack elsewhere.
pub fn guard_stack(mpu: &mut MPU) {
    const KEEP_DEFAULT_MAP: u32 = 1 << 2;
    const ENABLE: u32 = 1;
    assert!(end() == BELOW + (256 << 20));
    let bottom = HANDLER_STACK.0.get() as u32;
    close(mpu, 0, BELOW, 28);
    close(mpu, 1, bottom, GUARD_SIZE.ilog2());
    // SAFETY: what is closed is no memory of any board, as asserted, and bytes that nobody uses; all else stays as
    // without protection.
    unsafe { mpu.ctrl.write(KEEP_DEFAULT_MAP | ENABLE) };
    let top = bottom + (GUARD_SIZE + HANDLER_STACK_SIZE) as u32;
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

/// Takes every right from 2^`log2_size` bytes at `base`.
fn close(mpu: &mut MPU, region: u32, base: u32, log2_size: u32) {
    const NO_EXECUTE: u32 = 1 << 28;
    const ENABLE: u32 = 1;
    // SAFETY: takes effect when the caller switches protection on.
    unsafe {
        mpu.rnr.write(region);
        mpu.rbar.write(base);
        mpu.rasr.write(NO_EXECUTE | (log2_size - 1) << 1 | ENABLE);
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
