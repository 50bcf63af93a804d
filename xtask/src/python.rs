//! `import foretune`: the wheel is built, installed into environments of its own under `target/python`, and tried there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Verdict};
use crate::shell::{read, root, run, run_within, target_dir};
use crate::tools::{PATIENCE, Tools, install};

/// What builds the package, and what it works with where that is there.
const PACKAGES: [&str; 5] = ["maturin>=1.9,<2", "matplotlib", "mypy", "numpy", "optuna"];
/// The minor versions of Python 3 that are looked for beside `python3`; the package asks for 9 or more.
const MINORS: std::ops::RangeInclusive<u32> = 9..=16;

/// The step: all tests with everything installed, then with nothing else on every other Python that is there.
pub fn check(_: &Tools) -> Verdict {
    let (first, version) = first()?;
    let folder = target_dir().join("python");
    // As tests are built, so that little is compiled for this alone.
    let wheel = build(&first, "dev", &folder.join("wheels"))?;
    try_out(&first, &wheel)?;
    let mut tried = vec![version];
    for python in MINORS.map(|minor| format!("python3.{minor}")) {
        if let Some(version) = self::version(&python).filter(|version| !tried.contains(version)) {
            try_out(&environment(&folder, &python, &version)?, &wheel)?;
            tried.push(version);
        }
    }
    Ok(format!("Python {}", tried.join(", ")))
}

/// A release's wheel.
pub fn wheel(profile: &str, out: &Path) -> Result<String, Error> {
    build(&first()?.0, profile, out)
}

/// An environment of `python3` with everything installed, and its version.
fn first() -> Result<(PathBuf, String), Error> {
    if read(Command::new("python3").args(["-c", "import ensurepip"])).is_none() {
        install(&["python3-venv"])?;
    }
    let version = version("python3").ok_or_else(|| Error::missing("there is no python3"))?;
    let first = environment(&target_dir().join("python"), "python3", &version)?;
    pip(&first, &PACKAGES).map_err(|error| {
        Error::missing(format!("pip cannot install {} ({})", PACKAGES.join(", "), error.why()))
    })?;
    Ok((first, version))
}

/// An environment of its own with this package.
pub fn with_package(package: &str) -> Result<PathBuf, Error> {
    let version = version("python3").ok_or_else(|| Error::missing("there is no python3"))?;
    let python = environment(&target_dir().join("python/emulator"), "python3", &version)?;
    pip(&python, &[package])?;
    Ok(python)
}

fn version(python: impl AsRef<OsStr>) -> Option<String> {
    read(Command::new(python).arg("-c").arg("import platform; print(platform.python_version())"))
}

/// The Python of an environment of its own, which is made anew after an update of the one it was made by.
fn environment(folder: &Path, python: &str, wanted: &str) -> Result<PathBuf, Error> {
    let environment = folder.join(python);
    let inside = environment.join("bin/python");
    if version(&inside).is_none_or(|version| version != wanted) {
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&environment))?;
    }
    Ok(inside)
}

fn pip(python: &Path, words: &[&str]) -> Result<(), Error> {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run_within(command.args(words), PATIENCE)
}

fn build(python: &Path, profile: &str, out: &Path) -> Result<String, Error> {
    std::fs::remove_dir_all(out).ok();
    let mut command = Command::new(python);
    command.args([
        "-m",
        "maturin",
        "build",
        "--profile",
        profile,
        "--manifest-path",
        "python/Cargo.toml",
        "--out",
    ]);
    run(command.arg(out).current_dir(root()))?;
    let wheel =
        std::fs::read_dir(out)?.next().ok_or_else(|| Error::failed("maturin has left no wheel"))??;
    Ok(wheel.path().display().to_string())
}

fn try_out(python: &Path, wheel: &str) -> Result<(), Error> {
    pip(python, &["--force-reinstall", "--no-deps", "--no-index", wheel])?;
    // Not beside the sources, which have no extension module.
    let tests = root().join("python/tests/test_foretune.py");
    run(Command::new(python).arg("-W").arg("error").arg(tests).current_dir(target_dir()))
}
