//! The tools that steps need beyond cargo: found, or installed where we have the right, once per run.
//!
//! They come from crates.io and from Debian. Nothing here uses `sudo`: where rights are missing, the error names the one
//! command to type.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::board::Variant;
use crate::error::Error;
use crate::shell::{cargo, find, is_root, read, run_within};
use crate::toolchain::BoardToolchain;

/// Remembers what was found, so that nothing is looked for or installed twice.
#[derive(Default)]
pub struct Tools {
    /// By target.
    board_toolchains: RefCell<BTreeMap<&'static str, Result<BoardToolchain, Error>>>,
    /// Programs of this run, by where they lie.
    built: RefCell<BTreeMap<PathBuf, Variant>>,
    /// By name.
    programs: RefCell<BTreeMap<&'static str, Result<PathBuf, Error>>>,
}

impl Tools {
    /// A component of the Rust toolchain that ships apart from the compiler, such as `rustfmt`.
    pub fn component(&self, name: &str, subcommand: &str) -> Result<(), Error> {
        let works = || read(cargo().args([subcommand, "--version"])).is_some();
        if works() {
            return Ok(());
        }
        if find("rustup").is_some() {
            run_within(Command::new("rustup").args(["component", "add", name]), PATIENCE).ok();
        }
        match works() {
            true => Ok(()),
            false => Err(Error::missing(format!("{name} is missing: rustup component add {name}"))),
        }
    }

    /// A compiler for a board's processor, with `flip-link` to link.
    pub fn board_toolchain(&self, target: &'static str) -> Result<BoardToolchain, Error> {
        self.flip_link()?;
        let mut known = self.board_toolchains.borrow_mut();
        let found = known.entry(target).or_insert_with(|| {
            let found = BoardToolchain::find_or_install(target);
            if let Ok(toolchain) = &found {
                println!("compiler for {toolchain}");
            }
            found
        });
        found.clone()
    }

    /// Whether a program was built in this run, and no other in its place since.
    pub fn has_built(&self, program: &Path, variant: &Variant) -> bool {
        self.built.borrow().get(program) == Some(variant)
    }

    pub fn note_built(&self, program: PathBuf, variant: &Variant) {
        self.built.borrow_mut().insert(program, variant.clone());
    }

    fn program(
        &self,
        name: &'static str,
        get: impl FnOnce(&str) -> Result<PathBuf, Error>,
    ) -> Result<PathBuf, Error> {
        self.programs.borrow_mut().entry(name).or_insert_with(|| get(name)).clone()
    }

    /// A program that has a Debian package.
    pub fn debian(&self, name: &'static str, package: &str) -> Result<PathBuf, Error> {
        self.program(name, |name| debian(name, &[package]))
    }

    pub fn qemu(&self) -> Result<PathBuf, Error> {
        self.debian("qemu-system-arm", "qemu-system-arm")
    }

    /// The C compiler for bare boards.
    pub fn arm_compiler(&self) -> Result<PathBuf, Error> {
        self.debian("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    }

    /// The C or C++ compiler of this host, `cc` or `c++`.
    pub fn host_compiler(&self, name: &'static str) -> Result<PathBuf, Error> {
        self.debian(name, if name == "cc" { "gcc" } else { "g++" })
    }

    /// The linker that puts variables above the stack.
    pub fn flip_link(&self) -> Result<PathBuf, Error> {
        self.program("flip-link", |name| crates_io(name, &[]))
    }

    /// The decoder of `defmt` logs. Built without optimisation: that halves the wait, and logs are short.
    pub fn defmt_print(&self) -> Result<PathBuf, Error> {
        self.program("defmt-print", |name| crates_io(name, &["--debug"]))
    }
}

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
