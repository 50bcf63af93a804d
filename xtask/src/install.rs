//! Programs from crates.io and from Debian: found, or installed where we have the right.
//!
//! Nothing here uses `sudo`. Where rights are missing, the error names the one command to type.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::error::Error;
use crate::shell::{cargo, find, is_root, run_within};

/// How long an installation may take before we believe that it hangs.
pub const PATIENCE: Duration = Duration::from_secs(1800);

/// A program from crates.io, which anybody may install for themselves.
pub fn crates_io(program: &str, options: &[&str]) -> Result<PathBuf, Error> {
    if let Some(path) = find(program) {
        return Ok(path);
    }
    let command = format!("cargo install {program} --locked");
    run_within(cargo().args(["install", program, "--locked"]).args(options), PATIENCE)
        .map_err(|error| Error::missing(format!("{program} is missing: {command} ({})", error.why())))?;
    find(program).ok_or_else(|| Error::missing(format!("{program} was installed, but is not to be found")))
}

/// A program from Debian packages (or those of a system like it), which need an administrator.
pub fn debian(program: &str, packages: &[&str]) -> Result<PathBuf, Error> {
    if let Some(path) = find(program) {
        return Ok(path);
    }
    install(packages)?;
    find(program).ok_or_else(|| Error::missing(format!("{program} was installed, but is not to be found")))
}

/// Installs Debian packages when we are the administrator; otherwise says what to type.
pub fn install(packages: &[&str]) -> Result<(), Error> {
    let by_hand = format!("sudo apt-get install {}", packages.join(" "));
    let missing = |why: &str| Error::missing(format!("{why}: {by_hand}"));
    if find("apt-get").is_none() {
        return Err(Error::missing(format!("not a Debian system; install what `{by_hand}` would")));
    }
    if !is_root() {
        return Err(missing("packages are missing"));
    }
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(words);
        run_within(&mut command, PATIENCE)
    };
    let install: Vec<_> =
        ["install", "-y", "--no-install-recommends"].iter().chain(packages).copied().collect();
    // Fresh machines have no package lists; others have them already, and need no network for them.
    apt(&install)
        .or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
        .map_err(|_| missing("packages could not be installed"))
}
