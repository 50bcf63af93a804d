//! The tools that steps need beyond cargo: found, or installed where we have the right, once per run.
//!
//! Nothing here uses `sudo`. Where rights are missing, the trouble that comes back names the one command to type.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::shell::{cargo, find, is_root, read, run_within};
use crate::step::Trouble;
use crate::toolchain::BoardToolchain;

/// How long an installation may take before we believe that it hangs.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Remembers what was found, so that nothing is looked for or installed twice.
#[derive(Default)]
pub struct Tools {
    board_toolchain: OnceCell<Result<BoardToolchain, Trouble>>,
    qemu: OnceCell<Result<PathBuf, Trouble>>,
    flip_link: OnceCell<Result<PathBuf, Trouble>>,
    defmt_print: OnceCell<Result<PathBuf, Trouble>>,
}

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

    /// A compiler for the boards' processor, with `flip-link` to link.
    pub fn board_toolchain(&self) -> Result<&BoardToolchain, Trouble> {
        self.flip_link()?;
        let found = self.board_toolchain.get_or_init(|| {
            let found = BoardToolchain::find_or_install();
            if let Ok(toolchain) = &found {
                println!("board toolchain: {toolchain}");
            }
            found
        });
        found.as_ref().map_err(Clone::clone)
    }

    /// The emulator.
    pub fn qemu(&self) -> Result<PathBuf, Trouble> {
        self.qemu.get_or_init(|| debian("qemu-system-arm", &["qemu-system-arm"])).clone()
    }

    /// The linker that puts variables above the stack.
    pub fn flip_link(&self) -> Result<PathBuf, Trouble> {
        self.flip_link.get_or_init(|| crates_io("flip-link", &[])).clone()
    }

    /// The decoder of `defmt` logs. Built without optimisation: that halves the wait, and logs are short.
    pub fn defmt_print(&self) -> Result<PathBuf, Trouble> {
        self.defmt_print.get_or_init(|| crates_io("defmt-print", &["--debug"])).clone()
    }
}

/// A program from crates.io, which anybody may install for himself.
pub(crate) fn crates_io(program: &str, options: &[&str]) -> Result<PathBuf, Trouble> {
    if let Some(path) = find(program) {
        return Ok(path);
    }
    let command = format!("cargo install {program} --locked");
    run_within(cargo().args(["install", program, "--locked"]).args(options), PATIENCE).map_err(
        |trouble| Trouble::missing(format!("{program} is missing: {command} ({})", trouble.why())),
    )?;
    find(program).ok_or_else(|| Trouble::missing(format!("{program} was installed, but is not to be found")))
}

/// A program from Debian packages (or those of its kin), which need an administrator.
pub(crate) fn debian(program: &str, packages: &[&str]) -> Result<PathBuf, Trouble> {
    if let Some(path) = find(program) {
        return Ok(path);
    }
    install(packages)?;
    find(program).ok_or_else(|| Trouble::missing(format!("{program} was installed, but is not to be found")))
}

/// Installs Debian packages when we are the administrator; otherwise says what to type.
pub(crate) fn install(packages: &[&str]) -> Result<(), Trouble> {
    let by_hand = format!("sudo apt-get install {}", packages.join(" "));
    let missing = |why: &str| Trouble::missing(format!("{why}: {by_hand}"));
    if find("apt-get").is_none() {
        return Err(Trouble::missing(format!("not a Debian system; install what `{by_hand}` would")));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_the_path_is_found_without_installing() {
        assert!(debian("sh", &["no-such-package"]).is_ok());
    }
}
