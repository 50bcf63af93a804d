//! What all Cortex-M boards share: the clock, the stack and its guard, the [`System`](crate::board::System) of these, and
//! what happens on a fault.

mod clock;
mod faults;
#[cfg_attr(armv8m, path = "guard_v8.rs")]
#[cfg_attr(not(armv8m), path = "guard_v7.rs")]
mod guard;
mod stack;
mod system;

pub use clock::start_clock;
#[cfg(feature = "mps2")]
pub use faults::leave_note;
pub use guard::guard_stack;
#[cfg(not(feature = "nrf52840-dk"))]
pub use system::idle;
#[cfg(not(feature = "pico2"))]
pub use system::restart;
pub use system::{CortexSystem, Watchdog};
