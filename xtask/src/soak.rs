//! `cargo xtask soak`: the long tests. Property tests on fresh seeds, storage, line and a life of a thousand tasks on this
//! host, disturbed emulated boards, the real boards' drivers on emulated chips.
//!
//! `cargo test` takes the seed in `.cargo/config.toml`, so that it does not pass on some days and fail on others. What a
//! fresh seed finds is fixed, and kept as a test of its own.

use std::hash::{BuildHasher, RandomState};

use clap::Args;

use crate::error::Error;
use crate::shell::{cargo, run};
use crate::{disturbed, selftest};

/// Where property tests are: the arguments of `cargo test`. A test below finds what is missing.
const PROPERTIES: [(&str, &[&str]); 6] = [
    ("core/src/linalg/tests.rs", &["--package", "foretune-core", "--lib", "linalg::tests"]),
    ("core/src/outlier.rs", &["--package", "foretune-core", "--lib", "outlier::tests"]),
    ("core/tests/tuning/categories.rs", &["--package", "foretune-core", "--test", "tuning", "categories"]),
    ("core/tests/tuning/outliers.rs", &["--package", "foretune-core", "--test", "tuning", "outliers"]),
    ("core/tests/tuning/promises.rs", &["--package", "foretune-core", "--test", "tuning", "promises"]),
    ("link/tests/dialogue/messages.rs", &["--package", "foretune-link", "--test", "dialogue", "messages"]),
];

/// A soak test: its name, and what it does.
type Soak = (&'static str, fn(&SoakArguments) -> Result<(), Error>);

/// All soak tests.
const SOAKS: [Soak; 6] = [
    ("properties", |arguments| properties(arguments.seeds)),
    ("storage", |_| ignored("foretune-firmware", "app::tests::compact")),
    ("line", |_| ignored("foretune-link", "a_very_long_bad_line")),
    ("life", |_| ignored("foretune-tests", "a_life_of_a_thousand_tasks")),
    ("board", |_| disturbed::soak()),
    ("drivers", |_| selftest::soak()),
];

/// Which soak tests, and how long.
#[derive(Debug, Args)]
pub struct SoakArguments {
    /// Soak tests to run, instead of all.
    #[arg(value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(SOAKS.map(|(name, _)| name)))]
    names: Vec<String>,
    /// Fresh seeds for the property tests.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
}

/// `cargo xtask soak [name ...]`: all of them, or those named.
pub fn soak(arguments: &SoakArguments) -> Result<(), Error> {
    let names = &arguments.names;
    let chosen = SOAKS.iter().filter(|(soak, _)| names.is_empty() || names.iter().any(|name| name == soak));
    chosen.into_iter().try_for_each(|(_, run)| run(arguments))
}

/// Tests that are ignored otherwise, in release mode, their figures printed.
fn ignored(package: &str, filter: &str) -> Result<(), Error> {
    let mut test = cargo();
    test.args(["test", "--release", "--package", package, filter]);
    run(test.args(["--", "--ignored", "--nocapture"]))
}

fn properties(seeds: u32) -> Result<(), Error> {
    for number in 1..=seeds {
        let seed = RandomState::new().hash_one(number);
        println!("seed {number} of {seeds}: {seed}");
        for (_, arguments) in PROPERTIES {
            one(seed, arguments)?;
        }
    }
    println!("{seeds} fresh seeds, none failed");
    Ok(())
}

fn one(seed: u64, arguments: &[&str]) -> Result<(), Error> {
    let seed = seed.to_string();
    run(cargo().env("PROPTEST_RNG_SEED", &seed).args(["test", "--quiet"]).args(arguments)).map_err(|_| {
        let again = format!("PROPTEST_RNG_SEED={seed} cargo test {}", arguments.join(" "));
        Error::failed(format!("seed {seed} failed. Once more: {again}"))
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::shell::{read, root};

    #[test]
    fn no_property_test_is_left_out() {
        let mut grep = Command::new("git");
        grep.args(["grep", "-l", "--untracked", "^ *proptest! {", "--", "*.rs"]).current_dir(root());
        let found = read(&mut grep).unwrap();
        assert_eq!(found.lines().collect::<Vec<_>>(), PROPERTIES.map(|(file, _)| file));
    }

    #[test]
    fn the_test_command_takes_a_seed_that_is_committed() {
        assert!(std::env::var_os("PROPTEST_RNG_SEED").is_some(), "cargo sets it for tests");
    }
}
