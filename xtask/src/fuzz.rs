//! `cargo xtask fuzz`: libFuzzer looks for new paths through the targets in `fuzz/`, with the address sanitizer watching. It wants
//! `cargo-fuzz`, a nightly compiler and a C++ one.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::error::Error;
use crate::install::crates_io;
use crate::shell::{plain_cargo, root, run};

/// The targets that the package names.
fn targets() -> Vec<&'static str> {
    let package = std::fs::read_to_string(root().join("fuzz/src/lib.rs")).unwrap_or_default();
    let names = package.split("Target { name: \"").skip(1).filter_map(|rest| rest.split('"').next());
    names.map(|name| &*name.to_owned().leak()).collect()
}

/// What libFuzzer is asked to do.
#[derive(Debug, Args)]
pub struct FuzzArguments {
    /// Targets, instead of all.
    #[arg(value_name = "TARGET", value_parser = PossibleValuesParser::new(targets()))]
    targets: Vec<String>,
    /// How long to look at each target.
    #[arg(long, value_name = "N", default_value_t = 100)]
    seconds: u32,
}

/// `cargo xtask fuzz`: libFuzzer on all targets, or those named.
pub fn fuzz(arguments: &FuzzArguments) -> Result<(), Error> {
    crates_io("cargo-fuzz", &[])?;
    let FuzzArguments { targets: named, seconds } = arguments;
    let all =
        targets().into_iter().filter(|target| named.is_empty() || named.iter().any(|name| name == target));
    all.into_iter().try_for_each(|target| search(target, *seconds))
}

/// Has libFuzzer look for a while; what it finds lies in `fuzz/artifacts/`, what it learnt in `fuzz/corpus/`.
fn search(target: &str, seconds: u32) -> Result<(), Error> {
    let folders = ["corpus", "artifacts"].map(|kind| root().join("fuzz").join(kind).join(target));
    folders.iter().try_for_each(std::fs::create_dir_all)?;
    let mut command = plain_cargo();
    command.env("FUZZ_TARGET", target).args(["+nightly", "fuzz", "run", "--features", "libfuzzer", "any"]);
    command.arg(&folders[0]).arg("--").arg(format!("-artifact_prefix={}/", folders[1].display()));
    command.args(["-max_len=4096", "-len_control=0", "-timeout=20", "-print_final_stats=1"]);
    run(command.arg(format!("-max_total_time={seconds}")))
}
