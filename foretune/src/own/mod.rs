//! Problems that are not built in: described in a file, measured by a command.
//!
//! A [`Target`] is read from `problem.toml` ([`read`]). A [`Command`] answers an [`Ask`] about it. `foretune tune` and
//! `serve`, studies, and the station of `hil` have their problem from here.

mod command;
mod file;
mod parameter;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod target;

pub use command::Bench;
pub use command::{Command, Measured};
pub use file::{read, read_text};
pub(crate) use target::Identity;
pub use target::{Ask, Why};
pub use target::{Rung, Target, conditions, point};
