//! The fuzz targets: a fixed number of inputs as a step, libFuzzer as a command.
//!
//! The targets are plain functions in `fuzz/`, a workspace of its own. The step needs no more than the compiler in use;
//! `cargo xtask fuzz` wants `cargo-fuzz`, a nightly compiler and a C++ one, and looks for new paths with the address
//! sanitizer watching.

use std::process::Command;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::error::Error;
use crate::install::crates_io;
use crate::shell::{cargo, plain_cargo, root, run, target_dir};
use crate::step::Verdict;
use crate::tools::Tools;

/// All targets.
const TARGETS: [&str; 8] =
    ["optimizer", "snapshot", "storage", "link", "seal", "inspect", "settings", "capi"];

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

/// What libFuzzer is asked to do.
#[derive(Debug, Args)]
pub struct FuzzArguments {
    /// Targets, instead of all.
    #[arg(value_name = "TARGET", value_parser = PossibleValuesParser::new(TARGETS))]
    targets: Vec<String>,
    /// How long to look at each target.
    #[arg(long, value_name = "N", default_value_t = 100)]
    seconds: u32,
}

/// `cargo xtask fuzz`: libFuzzer on all targets, or those named.
pub fn fuzz(arguments: &FuzzArguments) -> Result<(), Error> {
    let FuzzArguments { targets, seconds } = arguments;
    crates_io("cargo-fuzz", &[])?;
    let chosen = TARGETS.iter().filter(|target| targets.is_empty() || targets.iter().any(|t| t == *target));
    chosen.into_iter().try_for_each(|target| search(target, *seconds))
}

/// Has libFuzzer look for a while; what it finds lies in `fuzz/artifacts/`, what it learnt in `fuzz/corpus/`.
fn search(target: &str, seconds: u32) -> Result<(), Error> {
    let mut command = plain_cargo();
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
