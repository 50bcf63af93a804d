//! The tools that steps need beyond cargo: found, or installed where we have the right, once per run.

use std::process::Command;
use std::time::Duration;

use crate::shell::{cargo, find, read, run_within};
use crate::step::Trouble;

/// How long an installation may take before we believe that it hangs.
const PATIENCE: Duration = Duration::from_secs(600);

/// Remembers what was found.
#[derive(Default)]
pub struct Tools {}

impl Tools {
    /// A component of the Rust toolchain that ships apart from the compiler, such as `rustfmt`.
    pub fn component(&self, name: &str, subcommand: &str) -> Result<(), Trouble> {
        let works = || read(cargo().args([subcommand, "--version"])).is_some();
        if works() {
            return Ok(());
        }
        if find("rustup").is_some() {
            run_within(Command::new("rustup").args(["component", "add", name]), PATIENCE).ok();
        }
        match works() {
            true => Ok(()),
            false => Err(Trouble::missing(format!("{name} is missing: rustup component add {name}"))),
        }
    }
}
