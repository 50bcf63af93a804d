//! `cargo xtask audit`: checks that want more than the compiler in use, so that they are no steps of `test`.

use std::process::Command;

use crate::shell::{root, run, target_dir};
use crate::step::Trouble;
use crate::tools::crates_io;

struct Check {
    name: &'static str,
    run: fn() -> Result<(), Trouble>,
}

const CHECKS: [Check; 4] = [
    Check { name: "licences", run: licences },
    Check { name: "advisories", run: advisories },
    Check { name: "miri", run: miri },
    Check { name: "addresses", run: addresses },
];

/// This host, spelt out: what is built for it with a sanitizer is then kept apart from build scripts.
const HOST: &str = "x86_64-unknown-linux-gnu";

/// A kin of the boards' processor, with pointers of 32 bits, and without the assembly of `libm` that Miri cannot run.
const KIN: &str = "armv7-unknown-linux-gnueabihf";

/// All checks, or those named. Advisories need a network, so they are run only by name.
pub fn audit(words: &[String]) -> bool {
    if let Some(unknown) = words.iter().find(|word| CHECKS.iter().all(|check| check.name != **word)) {
        eprintln!("no check is called `{unknown}`; there are {}", CHECKS.map(|check| check.name).join(", "));
        return false;
    }
    let wanted = |check: &&Check| match words.is_empty() {
        true => check.name != "advisories",
        false => words.iter().any(|word| word == check.name),
    };
    let result = CHECKS.iter().filter(wanted).try_for_each(|check| (check.run)());
    if let Err(trouble) = &result {
        eprintln!("{}", trouble.why());
    }
    result.is_ok()
}

/// Licences, sources and banned packages, from what is on this machine.
fn licences() -> Result<(), Trouble> {
    crates_io("cargo-deny", &[])?;
    run(nothing_chosen().args(["deny", "--offline", "check", "licenses", "bans", "sources"]))
}

/// Known holes in dependencies: fetches RustSec's database.
fn advisories() -> Result<(), Trouble> {
    crates_io("cargo-deny", &[])?;
    run(nothing_chosen().args(["deny", "check", "advisories"]))
}

/// The unit tests of core, link and storage, interpreted: undefined behaviour in them or in what they use would show.
/// The longest tests are left out (Miri is some hundred times slower than the processor).
fn miri() -> Result<(), Trouble> {
    let test = |package: &str, filters: &[&str]| {
        let mut command = nightly("miri", "miri");
        command.env("PROPTEST_CASES", "2").env("MIRIFLAGS", "-Zmiri-disable-isolation");
        command.args(["test", "--target", KIN, "--package", package, "--lib", "--"]);
        run(command.args(filters))
    };
    let skipped: Vec<_> = TOO_LONG.iter().flat_map(|name| ["--skip", *name]).collect();
    test("foretune-core", &skipped)?;
    test("foretune-link", &[])?;
    test("foretune-firmware", &["storage::", "--skip", "campaign"])
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

/// The address sanitizer over link, firmware and simulator.
fn addresses() -> Result<(), Trouble> {
    let mut command = nightly("test", "addresses");
    // Some tests leak on purpose, to have bytes that live for ever.
    command.env("RUSTFLAGS", "-Zsanitizer=address").env("ASAN_OPTIONS", "detect_leaks=0");
    command.args(["--target", HOST, "--lib"]);
    run(command.args([
        "--package",
        "foretune-link",
        "--package",
        "foretune-firmware",
        "--package",
        "host-sim",
    ]))
}

/// `cargo +nightly <subcommand>`, building in a folder of its own.
fn nightly(subcommand: &str, folder: &str) -> Command {
    let mut command = nothing_chosen();
    command.args(["+nightly", subcommand]).env("CARGO_TARGET_DIR", target_dir().join(folder));
    command
}

/// Cargo by its name, so that a toolchain can be asked for although one is running us.
fn nothing_chosen() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command
}
