//! `cargo xtask soak properties`: the property tests of the whole workspace, on seeds that nobody has seen.
//!
//! `cargo test` takes the seed in `.cargo/config.toml`, so that it does not pass on some days and fail on others. What a
//! fresh seed finds is fixed, and kept as a test of its own.

use std::hash::{BuildHasher, RandomState};

use crate::shell::{cargo, run};
use crate::step::Trouble;

/// Seeds, unless told.
const SEEDS: u32 = 50;

/// Where property tests are: the arguments of `cargo test`. A test below finds what is missing.
const PROPERTIES: [(&str, &[&str]); 3] = [
    ("core/src/linalg/tests.rs", &["--package", "foretune-core", "--lib", "linalg::tests"]),
    ("core/tests/tuning/promises.rs", &["--package", "foretune-core", "--test", "tuning", "promises"]),
    ("link/tests/messages.rs", &["--package", "foretune-link", "--test", "messages"]),
];

/// `cargo xtask soak properties [--seeds N]`.
pub fn soak(words: &[String]) -> bool {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["properties"] => properties(SEEDS),
        ["properties", "--seeds", count] if count.parse::<u32>().is_ok_and(|count| count > 0) => {
            properties(count.parse().expect("a number, as was just seen"))
        }
        _ => Err(Trouble::failed("cargo xtask soak properties [--seeds N]; N is at least 1")),
    };
    if let Err(trouble) = &result {
        eprintln!("{}", trouble.why());
    }
    result.is_ok()
}

fn properties(seeds: u32) -> Result<(), Trouble> {
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

fn one(seed: u64, arguments: &[&str]) -> Result<(), Trouble> {
    let seed = seed.to_string();
    run(cargo().env("PROPTEST_RNG_SEED", &seed).args(["test", "--quiet"]).args(arguments)).map_err(|_| {
        let again = format!("PROPTEST_RNG_SEED={seed} cargo test {}", arguments.join(" "));
        Trouble::failed(format!("seed {seed} failed. Once more: {again}"))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::shell::root;

    /// Every file below a folder that has property tests.
    fn files_with_properties(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if entry.is_dir() && !hidden && !entry.join("CACHEDIR.TAG").exists() {
                files_with_properties(&entry, found);
            } else if entry.extension().is_some_and(|extension| extension == "rs")
                && std::fs::read_to_string(&entry).unwrap().lines().any(|line| line.starts_with("proptest!"))
            {
                let path = entry.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push(path);
            }
        }
    }

    #[test]
    fn no_property_test_is_left_out() {
        let mut found = Vec::new();
        files_with_properties(&root(), &mut found);
        found.sort();
        assert_eq!(found, PROPERTIES.map(|(file, _)| file));
    }

    #[test]
    fn the_test_command_takes_a_seed_that_is_committed() {
        let config = std::fs::read_to_string(root().join(".cargo/config.toml")).unwrap();
        assert!(config.contains("\nPROPTEST_RNG_SEED = "), "{config}");
        assert!(std::env::var_os("PROPTEST_RNG_SEED").is_some(), "cargo sets it for tests");
    }
}
