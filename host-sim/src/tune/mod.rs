//! Tuning what is not built in: a problem from a file, measurements from a command or from another program.
//!
//! A [`Target`] is read from `problem.toml` ([`read`]). A [`Tuning`] runs its tasks, one after the other, on the same
//! core as everything else, and keeps a [`State`] on the disk after every answer, so that a process killed at any
//! moment goes on bit for bit. Where answers come from is a [`Source`]: a [`command`](Command) for every
//! query, or JSON lines on standard input ([`serve()`]).

mod command;
mod file;
mod page;
mod serve;
mod session;
mod state;
mod target;
mod wire;

pub use command::{Command, Measured};
pub use file::read;
pub use page::page;
pub(crate) use page::setting;
pub use serve::serve;
pub use session::{Answer, Ask, Source, Standing, Tuning};
pub use state::{Ended, Outcome, Reason, State, Store, Told, Why};
pub(crate) use target::admissible;
pub use target::{Limit, Rung, Target};
pub use wire::{PROTOCOL, Wire};
