//! The boards. A program is built for one of them, chosen by a Cargo feature; [`this`] is that one.
//!
//! What a board's module provides: a type that implements [`Board`](crate::board::Board), `take() -> Self` that sets
//! the hardware up once, and `exit(ok) -> !` for programs that end. Its memory layout lies in `firmware/boards/`.
#![allow(unsafe_code)] // the hardware's side of the fence; each block says why it is sound

mod armv7m;

#[cfg(feature = "mps2")]
pub mod mps2;
#[cfg(feature = "mps2")]
pub use mps2 as this;

#[cfg(feature = "nucleo-h7a3zi")]
pub mod nucleo_h7a3zi;
#[cfg(feature = "nucleo-h7a3zi")]
pub use nucleo_h7a3zi as this;
