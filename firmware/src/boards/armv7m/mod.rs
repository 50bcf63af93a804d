//! What all Cortex-M boards share: the clock, the stack and its guard, and what happens on a fault.

mod clock;
mod faults;
mod stack;

pub use clock::{start_clock, ticks, ticks_per_second};
#[cfg(feature = "mps2")]
pub use faults::leave_note;
pub use faults::take_note;
pub use stack::{guard_stack, stack};
