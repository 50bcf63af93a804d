//! `cargo xtask audit` and `cargo xtask fuzz`: checks that want more than the compiler in use, so that they are no steps of
//! `test`.

use std::process::Command;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::dist;
use crate::error::Error;
use crate::shell::{plain_cargo, root, run, target_dir};
use crate::tools::crates_io;

/// A check's name, and what it does; it takes how many shards the mutants are divided into.
type Check = (&'static str, fn(u32) -> Result<(), Error>);

const CHECKS: [Check; 6] = [
    ("licences", |_| licences()),
    ("advisories", |_| advisories()),
    ("semver", |_| dist::semver()),
    ("miri", |_| miri()),
    ("addresses", |_| addresses()),
    ("mutants", mutants),
];

/// This host, spelt out: what is built for it with a sanitizer is then kept apart from build scripts.
const HOST: &str = "x86_64-unknown-linux-gnu";

/// A processor like the boards', with pointers of 32 bits, and without the assembly of `libm` that Miri cannot run.
const LIKE_THE_BOARDS: &str = "armv7-unknown-linux-gnueabihf";

/// The names of all checks.
pub fn names() -> [&'static str; CHECKS.len()] {
    CHECKS.map(|(name, _)| name)
}

/// Checks that are run only by name: one needs a network, the other hours.
const BY_NAME: [&str; 2] = ["advisories", "mutants"];

/// All checks, or those named; one of so many shards of the mutants is tested.
pub fn audit(names: &[String], shards: u32) -> Result<(), Error> {
    let wanted = |(check, _): &&Check| match names.is_empty() {
        true => !BY_NAME.contains(check),
        false => names.iter().any(|name| name == check),
    };
    CHECKS.iter().filter(wanted).try_for_each(|(_, run)| run(shards))
}

/// Licences, sources and banned packages, from what is on this machine.
fn licences() -> Result<(), Error> {
    crates_io("cargo-deny", &[])?;
    run(plain_cargo().args(["deny", "--offline", "check", "licenses", "bans", "sources"]))
}

/// Known holes in dependencies: fetches RustSec's database.
fn advisories() -> Result<(), Error> {
    crates_io("cargo-deny", &[])?;
    run(plain_cargo().args(["deny", "check", "advisories"]))
}

/// The unit tests of core, link and storage, interpreted: undefined behaviour in them or in what they use would show.
/// The longest tests are left out (Miri is some hundred times slower than the processor).
fn miri() -> Result<(), Error> {
    let test = |package: &str, filters: &[&str]| {
        let mut command = nightly("miri", "miri");
        command.env("PROPTEST_CASES", "2").env("MIRIFLAGS", "-Zmiri-disable-isolation");
        command.args(["test", "--target", LIKE_THE_BOARDS, "--package", package, "--lib", "--"]);
        run(command.args(filters))
    };
    let skipped: Vec<_> = TOO_LONG.iter().flat_map(|name| ["--skip", *name]).collect();
    test("foretune-core", &skipped)?;
    test("foretune-c", &[])?;
    test("foretune-fuzz", &["capi"])?;
    test("foretune-link", &[])?;
    test("foretune-firmware", &["storage::", "--skip", "soak"])
}

/// Tests of the core that are too long for Miri, by parts of their names: many numbers, nothing but arithmetic.
const TOO_LONG: [&str; 10] = [
    "math::tests",
    "gp::tests",
    "central_differences",
    "correlated_gaussian",
    "both_modes",
    "height_of_the_tiles",
    "factor_grown",
    "solves_undo",
    "products_agree",
    "brute_force",
];

/// The address sanitizer over the library for C, link, firmware and simulator.
fn addresses() -> Result<(), Error> {
    let mut command = nightly("test", "addresses");
    // Some tests leak on purpose, to have bytes that live for ever.
    command.env("RUSTFLAGS", "-Zsanitizer=address").env("ASAN_OPTIONS", "detect_leaks=0");
    command.args(["--target", HOST, "--workspace", "--exclude", "xtask", "--exclude", "foretune-core"]);
    run(command.args(["--lib", "--test", "calls"]))
}

/// Which small changes to the core its own tests do not notice: `cargo-mutants` makes them, as `.cargo/mutants.toml` says. All
/// would take most of a day, so one shard of so many is taken, always the same one.
fn mutants(shards: u32) -> Result<(), Error> {
    crates_io("cargo-mutants", &[])?;
    let (shard, output) = (format!("0/{shards}"), target_dir());
    run(plain_cargo().args(["mutants", "--shard", &shard, "--output"]).arg(output))
}

/// `cargo +nightly <subcommand>`, building in a folder of its own.
fn nightly(subcommand: &str, folder: &str) -> Command {
    let mut command = plain_cargo();
    command.args(["+nightly", subcommand]).env("CARGO_TARGET_DIR", target_dir().join(folder));
    command
}

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

/// Has libFuzzer look for a while, with the address sanitizer watching; what it finds lies in `fuzz/artifacts/`, what it learnt in `fuzz/corpus/`.
fn search(target: &str, seconds: u32) -> Result<(), Error> {
    let folders = ["corpus", "artifacts"].map(|kind| root().join("fuzz").join(kind).join(target));
    folders.iter().try_for_each(std::fs::create_dir_all)?;
    let mut command = plain_cargo();
    command.env("FUZZ_TARGET", target).args(["+nightly", "fuzz", "run", "--features", "libfuzzer", "any"]);
    command.arg(&folders[0]).arg("--").arg(format!("-artifact_prefix={}/", folders[1].display()));
    command.args(["-max_len=4096", "-len_control=0", "-timeout=20", "-print_final_stats=1"]);
    run(command.arg(format!("-max_total_time={seconds}")))
}
