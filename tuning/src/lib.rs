//! Tuning what is not built in: a problem from a file, measurements from a command or from another program.
//!
//! A [`Target`] is read from `problem.toml` ([`read`]). A [`Tuning`] runs its tasks, one after the other, on the same core as
//! everything else, and keeps a state on the disk after every answer, so that a process killed at any moment goes on bit for
//! bit. Where answers come from is a [`Source`]: a [`Command`] for every query, or JSON lines ([`serve()`]). Studies and
//! the station of `hil` have their problem and command from here, too.
#![allow(
    missing_docs,
    reason = "a comment stands where a name does not say it: this package is part of a program"
)]

mod belief;
mod command;
mod file;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod page;
mod parameter;
pub mod past;
mod serve;
mod session;
pub mod state;
mod target;
mod why;
mod wire;

pub use command::{Bench, Command, Measured};
pub use file::{read, read_text};
pub use page::page;
pub use past::Known;
pub use serve::serve;
pub use session::{Answer, MOST_AT_ONCE, Source, Standing, Tuning};
pub use state::{Ended, Reason, Store, Told};
pub use target::{Ask, Given, Limit, Rung, Target, Why, conditions, point};
pub use why::{Because, lacking, reasons};
pub use wire::Wire;
