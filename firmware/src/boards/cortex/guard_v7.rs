//! The guard of the stacks where the processor has no limit registers (Armv7-M): memory that is closed.
//!
//! On every such board the stack ends at `0x2000_0000`, where nothing lies below: `flip-link` puts the variables above
//! the stack, or the layout gives the stack a memory of its own. The 128 MB below are closed by the memory protection
//! unit, so that an overflow is a fault even where the bus would let it pass. A few bytes below the handlers' stack are
//! closed, too.

use cortex_m::peripheral::MPU;

use super::faults::Frame;
use super::stack::{GUARD_SIZE, end, handlers_end, move_handlers};

/// What is no memory of any board: 128 MB below every stack. (Further down, the nRF52840 has its configuration.)
const BELOW: u32 = 0x1800_0000;
const LOG2_BELOW: u32 = 27;

/// Closes the memory below the stacks and gives the handlers one of their own. Call once, early.
///
/// # Panics
/// When the layout puts the stack elsewhere.
pub fn guard_stack(mpu: &mut MPU) {
    const KEEP_DEFAULT_MAP: u32 = 1 << 2;
    const ENABLE: u32 = 1;
    assert!(end() == BELOW + (1 << LOG2_BELOW), "stack guard");
    close(mpu, 0, BELOW, LOG2_BELOW);
    close(mpu, 1, handlers_end(), GUARD_SIZE.ilog2());
    // SAFETY: what is closed is no memory of any board, as asserted, and bytes that nobody uses; all else stays as
    // without protection.
    unsafe { mpu.ctrl.write(KEEP_DEFAULT_MAP | ENABLE) };
    move_handlers();
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

/// Whether a fault with this status, at this address, with its frame there, is an overflow.
pub fn overflow(status: u32, address: u32, frame: u32) -> Option<Frame> {
    const STACKING_FAILED: u32 = 1 << 4 | 1 << 12;
    const ADDRESS_VALID: u32 = 1 << 7;
    let below = BELOW..end();
    if status & STACKING_FAILED != 0 || below.contains(&frame) {
        return Some(Frame::Lost);
    }
    (status & ADDRESS_VALID != 0 && below.contains(&address)).then_some(Frame::Kept)
}
