//! `cargo xtask audit`: checks that want more than the compiler in use, so that they are no steps of `test`.

use std::process::Command;

use crate::error::{Error, ensure};
use crate::install::crates_io;
use crate::shell::{plain_cargo, read, root, run, target_dir, typed};

struct Check {
    name: &'static str,
    /// Takes the size of the sample of mutants.
    run: fn(usize) -> Result<(), Error>,
}

const CHECKS: [Check; 5] = [
    Check { name: "licences", run: |_| licences() },
    Check { name: "advisories", run: |_| advisories() },
    Check { name: "miri", run: |_| miri() },
    Check { name: "addresses", run: |_| addresses() },
    Check { name: "mutants", run: mutants },
];

/// This host, spelt out: what is built for it with a sanitizer is then kept apart from build scripts.
const HOST: &str = "x86_64-unknown-linux-gnu";

/// A processor like the boards', with pointers of 32 bits, and without the assembly of `libm` that Miri cannot run.
const LIKE_THE_BOARDS: &str = "armv7-unknown-linux-gnueabihf";

/// The names of all checks.
pub fn names() -> [&'static str; CHECKS.len()] {
    CHECKS.map(|check| check.name)
}

/// Checks that are run only by name: one needs a network, the other hours.
const BY_NAME: [&str; 2] = ["advisories", "mutants"];

/// All checks, or those named; `sample` is how many mutants to test.
pub fn audit(names: &[String], sample: usize) -> Result<(), Error> {
    let wanted = |check: &&Check| match names.is_empty() {
        true => !BY_NAME.contains(&check.name),
        false => names.iter().any(|name| name == check.name),
    };
    CHECKS.iter().filter(wanted).try_for_each(|check| (check.run)(sample))
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

/// Mutants in a shard: what is lost when the command is interrupted.
const SHARD: usize = 30;
/// How `cargo-mutants` ends when all were tested: caught, some missed, some hung.
const TESTED: [Option<i32>; 3] = [Some(0), Some(2), Some(3)];

/// Which small changes to the core its own tests do not notice: `cargo-mutants` makes them, as `.cargo/mutants.toml` says.
/// All would take most of a day, so every n-th is taken, always the same ones. A shard that is done is kept in a folder
/// for this very source, so that the command goes on where it was interrupted.
fn mutants(sample: usize) -> Result<(), Error> {
    crates_io("cargo-mutants", &[])?;
    let words = |command: &mut Command| read(command).ok_or_else(|| Error::failed(typed(command)));
    let source = words(Command::new("git").args(["rev-parse", "HEAD:core"]).current_dir(root()))?;
    let all = words(plain_cargo().args(["mutants", "--list"]))?.lines().count();
    let shards = all.div_ceil(SHARD);
    for shard in 0..sample.div_ceil(SHARD).min(shards) {
        let folder = target_dir().join("mutants").join(&source).join(format!("{shard}-{shards}"));
        let lists = folder.join("mutants.out");
        if !folder.join("done").exists() {
            std::fs::create_dir_all(&folder)?;
            let mut command = plain_cargo();
            command.args(["mutants", "--shard", &format!("{shard}/{shards}"), "--output"]).arg(&folder);
            // Nobody debugs a mutant.
            let code = command.env("CARGO_PROFILE_DEV_DEBUG", "0").status()?.code();
            ensure!(TESTED.contains(&code), "shard {shard} was not tested: {code:?}");
            std::fs::write(folder.join("done"), "")?;
        }
        print!("{}", std::fs::read_to_string(lists.join("missed.txt"))?);
    }
    println!(
        "{} shards of {shards}, {all} mutants in all; what was missed stands above",
        sample.div_ceil(SHARD)
    );
    Ok(())
}

/// `cargo +nightly <subcommand>`, building in a folder of its own.
fn nightly(subcommand: &str, folder: &str) -> Command {
    let mut command = plain_cargo();
    command.args(["+nightly", subcommand]).env("CARGO_TARGET_DIR", target_dir().join(folder));
    command
}
