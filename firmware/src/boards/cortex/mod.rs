//! What all Cortex-M boards share: the clock, the stack and its guard, and what happens on a fault.

mod clock;
mod faults;
#[cfg_attr(armv8m, path = "guard_v8.rs")]
#[cfg_attr(not(armv8m), path = "guard_v7.rs")]
mod guard;
mod stack;

#[cfg(feature = "one-led")]
pub use clock::milliseconds;
pub use clock::{start_clock, ticks, ticks_per_second};
#[cfg(feature = "mps2")]
pub use faults::leave_note;
pub use faults::take_note;
pub use guard::guard_stack;
pub use stack::stack;
