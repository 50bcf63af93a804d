//! Problems that are not built in: described in a file, measured by a command.
//!
//! A [`Target`] is read from `problem.toml` ([`read`]). A [`Command`] answers an [`Ask`] about it. `foretune tune` and
//! `serve`, studies, and the station of `hil` have their problem from here.

mod ask;
mod bench;
mod command;
mod file;
#[cfg(test)]
pub(crate) mod fixture;
mod target;

pub use ask::{Ask, Why};
pub use bench::Bench;
pub use command::{Command, Measured};
pub use file::read;
pub(crate) use target::Identity;
pub use target::{Limit, Rung, Target, point};
