//! Tuning what is not built in: a problem from a file, measurements from a command or from another program.
//!
//! A [`Tuning`] runs the tasks of a [`Target`](crate::own::Target), one after the other, on the same core as everything
//! else, and keeps a state on the disk after every answer, so that a process killed at any
//! moment goes on bit for bit. Where answers come from is a [`Source`]: a [`command`](crate::own::Command) for every
//! query, or JSON lines on standard input ([`serve()`]).

mod page;
pub mod past;
mod serve;
mod session;
pub mod state;
mod why;
mod wire;

pub use page::page;
pub use past::Known;
pub use serve::serve;
pub use session::{Answer, Source, Standing, Tuning};
pub use state::{Ended, Reason, Store, Told};
pub use why::{Because, reasons};
pub use wire::Wire;
