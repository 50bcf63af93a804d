//! What goes to the registry: the guide's program with the packaged crates alone, in an empty folder outside the workspace.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Verdict};
use crate::shell::{cargo, read, root, run, target_dir};
use crate::tools::Tools;

/// The crates for the registry.
pub const CRATES: [&str; 2] = ["foretune-core", "foretune-link"];

/// The step. Cargo before 1.90 cannot package a crate along with one that it needs.
pub fn check(_: &Tools) -> Verdict {
    let version = env!("CARGO_PKG_VERSION");
    let mut package = cargo();
    package.args(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    run(package.args(CRATES.iter().flat_map(|name| ["--package", name])))?;
    let folder = tempfile::tempdir()?;
    for name in CRATES {
        let file = target_dir().join(format!("package/{name}-{version}.crate"));
        run(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(folder.path()))?;
    }
    let examples = folder.path().join(format!("foretune-core-{version}/examples"));
    run(Command::new("cp").arg("-r").arg(examples).arg(folder.path()))?;
    project(folder.path(), version)?;
    // Options and profile as here, so that no dependency is compiled twice.
    let mut check = cargo();
    for config in ["Cargo.toml", ".cargo/config.toml"] {
        check.arg("--config").arg(root().join(config));
    }
    check.current_dir(folder.path()).env("CARGO_TARGET_DIR", target_dir());
    run(check.args(["check", "--quiet", "--bins", "--examples"]))?;
    Ok(String::new())
}

/// A program of its own, with the versions of dependencies that everything else here is tested with.
fn project(folder: &Path, version: &str) -> Result<(), Error> {
    let each = |row: fn(&str, &str) -> String| CRATES.map(|name| row(name, version)).concat();
    let used = each(|name, version| format!("{name} = \"{version}\"\n"));
    let from = each(|name, version| format!("{name}.path = \"{name}-{version}\"\n"));
    let package = "[package]\nname = \"first\"\nedition = \"2024\"\n";
    let manifest = format!("{package}[dependencies]\n{used}[patch.crates-io]\n{from}");
    let page = std::fs::read_to_string(root().join("docs/guide/rust.md"))?;
    let program = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let program = program.ok_or_else(|| Error::failed("docs/guide/rust.md has no program"))?;
    std::fs::create_dir(folder.join("src"))?;
    std::fs::write(folder.join("src/main.rs"), program)?;
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}

/// `cargo xtask audit semver`: whether the version says what has changed since the last tag.
pub fn semver() -> Result<(), Error> {
    let tag = read(Command::new("git").args(["describe", "--tags", "--abbrev=0"]).current_dir(root()));
    let Some(tag) = tag else {
        println!("semver: there is no tag yet, so nothing to compare with");
        return Ok(());
    };
    crate::install::crates_io("cargo-semver-checks", &[])?;
    let packages = CRATES.iter().flat_map(|name| ["--package", name]);
    run(crate::shell::plain_cargo().args(["semver-checks", "--baseline-rev", &tag]).args(packages))
}
