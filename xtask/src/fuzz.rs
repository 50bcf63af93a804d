//! The fuzz targets: a fixed number of inputs as a step, libFuzzer as a chore.
//!
//! The targets are plain functions in `fuzz/`, a workspace of its own. The step needs no more than the compiler in use;
//! `cargo xtask fuzz` wants `cargo-fuzz`, a nightly compiler and a C++ one, and looks for new paths with the address
//! sanitizer watching.

use std::process::Command;

use crate::shell::{cargo, root, run, target_dir};
use crate::step::{Trouble, Verdict};
use crate::tools::{Tools, crates_io};

/// All targets.
const TARGETS: [&str; 6] = ["optimizer", "snapshot", "storage", "link", "inspect", "settings"];

/// Seconds per target, unless told.
const SECONDS: &str = "100";

fn cargo_in_fuzz() -> Command {
    let mut cargo = cargo();
    cargo.current_dir(root().join("fuzz"));
    cargo
}

/// The step: what once failed, the seeds, and a fixed number of inputs for every target.
pub fn check(tools: &Tools) -> Verdict {
    tools.component("rustfmt", "fmt")?;
    run(cargo_in_fuzz().args(["fmt", "--check"]))?;
    // The same folder as everything else: what both need is built once.
    run(cargo_in_fuzz().args(["test", "--target-dir"]).arg(target_dir()).args(["--", "--nocapture"]))?;
    Ok(String::new())
}

/// `cargo xtask fuzz [seconds] [target ...]`: libFuzzer on all targets, or those named.
pub fn fuzz(words: &[String]) -> bool {
    let (seconds, named) = match words.split_first() {
        Some((first, rest)) if first.parse::<u32>().is_ok() => (first.as_str(), rest),
        _ => (SECONDS, words),
    };
    if let Some(unknown) = named.iter().find(|name| !TARGETS.contains(&name.as_str())) {
        eprintln!("no target is called `{unknown}`; there are {}", TARGETS.join(", "));
        return false;
    }
    let chosen = TARGETS.iter().filter(|target| named.is_empty() || named.iter().any(|name| name == *target));
    let result = crates_io("cargo-fuzz", &[])
        .and_then(|_| chosen.into_iter().try_for_each(|target| search(target, seconds)));
    if let Err(trouble) = &result {
        eprintln!("{}", trouble.why());
    }
    result.is_ok()
}

/// Has libFuzzer look for a while; what it finds lies in `fuzz/artifacts/`, what it learnt in `fuzz/corpus/`.
fn search(target: &str, seconds: &str) -> Result<(), Trouble> {
    let mut command = Command::new("cargo");
    command.current_dir(root()).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command.args(["+nightly", "fuzz", "run", "--features", "libfuzzer", target, "--"]);
    run(command.args([
        &format!("-max_total_time={seconds}"),
        "-max_len=4096",
        "-len_control=0",
        "-timeout=20",
        "-print_final_stats=1",
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_a_program_of_the_fuzz_workspace() {
        let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        for target in TARGETS {
            assert!(manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")), "{target}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    }
}
