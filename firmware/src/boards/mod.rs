//! The boards. A program is built for one of them, chosen by a Cargo feature; [`this`] is that one, and
//! [`This`] its type.
//!
//! What a board's module provides: a type that implements [`Board`](crate::board::Board), `take() -> Parts<..>` that sets
//! the hardware up once, `idle()`, `restart() -> !`, and `exit(ok) -> !` for programs that end; most take the latter three
//! from `cortex` and `probed`, which hold what boards have in common. Its memory layout lies beside it.
#![allow(unsafe_code)] // the hardware's side of the fence; each block says why it is sound

mod cortex;
#[cfg(feature = "probed")]
mod probed;

#[cfg(feature = "mps2")]
pub mod mps2;
#[cfg(feature = "mps2")]
pub use mps2::{self as this, Mps2 as This};

#[cfg(feature = "nucleo-h7a3zi")]
pub mod nucleo_h7a3zi;
#[cfg(feature = "nucleo-h7a3zi")]
pub use nucleo_h7a3zi::{self as this, Nucleo as This};

#[cfg(feature = "nucleo-f446re")]
pub mod nucleo_f446re;
#[cfg(feature = "nucleo-f446re")]
pub use nucleo_f446re::{self as this, Nucleo as This};

#[cfg(feature = "nrf52840-dk")]
pub mod nrf52840_dk;
#[cfg(feature = "nrf52840-dk")]
pub use nrf52840_dk::{self as this, NordicKit as This};

#[cfg(feature = "pico2")]
pub mod pico2;
#[cfg(feature = "pico2")]
pub use pico2::{self as this, Pico as This};
