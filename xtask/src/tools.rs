//! The tools that steps need beyond cargo: found, or installed where we have the right, once per run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::board::Variant;
use crate::error::Error;
use crate::install::{PATIENCE, crates_io, debian};
use crate::shell::{cargo, find, read, run_within};
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
