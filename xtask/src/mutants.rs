//! `cargo xtask audit mutants`: which small changes to the core no test notices.
//!
//! `cargo-mutants` changes one expression or function at a time and runs the tests. All of them would take most of a day, so
//! a sample is taken, always the same, from each module by its share. The core's own tests are run against each; then those of
//! all packages against what these missed. Digests are left out: they notice everything, and one command rewrites them.
//!
//! Mutants are made in a copy of the sources, `target/mutants/source`: in one place, so that only what a mutant changes is built
//! anew. One that is done is kept below `target/mutants`, in a folder for this very source, so that the command goes on where
//! it was interrupted. Each is a shard of its own: names cannot select one, as `cargo-mutants` 27 lets some pass any filter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::install::crates_io;
use crate::shell::{read, root, run, target_dir, typed};

/// What is changed.
const FILES: &str = "core/src/**";
/// Whose tests are run: seconds for each mutant, then minutes for each that was missed.
const STAGES: [Stage; 2] = [
    Stage { name: "core", packages: &["foretune-core"], timeout: "120" },
    Stage {
        name: "all",
        packages: &[
            "foretune-core",
            "foretune-tests",
            "foretune-link",
            "foretune-firmware",
            "host-sim",
            "foretune",
            "foretune-paper",
        ],
        timeout: "1800",
    },
];
const DIGESTS: &str = "seeded_runs_have_the_committed_digests";

/// Outcomes by the names of the files in which `cargo-mutants` lists them.
const OUTCOMES: [&str; 4] = ["caught", "timeout", "missed", "unviable"];

/// Tests a sample of at least so many mutants of `core/src`, and prints what was missed.
pub fn measure(sample: usize) -> Result<(), Error> {
    crates_io("cargo-mutants", &[])?;
    copy_sources()?;
    let all = list()?;
    let chosen = choose(&all, sample);
    let folder = target_dir().join("mutants").join(format!("{:016x}", key(&chosen)?));
    println!("{} of {} mutants, in {}", chosen.len(), all.len(), folder.display());
    let mut score = Score::default();
    for stage in STAGES {
        let missed = |name: &&String| score.outcomes.get(*name).is_none_or(|outcome| *outcome == "missed");
        let left: Vec<_> = chosen.iter().filter(missed).collect();
        for (number, name) in left.iter().enumerate() {
            let index = all.iter().position(|own| own == *name).expect("chosen from all");
            let one = Mutant { name, shard: format!("{index}/{}", all.len()) };
            let outcome = one.test(&folder.join(format!("{index}-{}", stage.name)), &stage, number == 0)?;
            println!("{}: {} of {}: {outcome}: {name}", stage.name, number + 1, left.len());
            score.outcomes.insert(name.to_string(), outcome);
        }
    }
    print!("{}", score.table());
    Ok(())
}

/// All mutants of the core.
fn list() -> Result<Vec<String>, Error> {
    let mut command = mutants();
    let text = read(command.args(["--list", "--file", FILES]));
    let text = text.ok_or_else(|| Error::failed(format!("`{}` failed", typed(&command))))?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn mutants() -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "10", "cargo", "mutants", "--in-place"]).current_dir(source());
    command.env("CARGO_TARGET_DIR", target_dir().join("mutants").join("build"));
    // Nobody debugs a mutant.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

/// Where the copy of the sources lies.
fn source() -> PathBuf {
    target_dir().join("mutants").join("source")
}

/// Copies what git knows and the copy has not, or has otherwise: a mutant that was interrupted may be left in it.
fn copy_sources() -> Result<(), Error> {
    let files = read(Command::new("git").arg("ls-files").current_dir(root()));
    let files = files.ok_or_else(|| Error::failed("`git ls-files` failed"))?;
    for file in files.lines() {
        let (from, to) = (root().join(file), source().join(file));
        // A file that is no longer there is not missed: the tests would not see it either.
        let Ok(text) = std::fs::read(from) else { continue };
        if std::fs::read(&to).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(to, text)?;
    }
    Ok(())
}

/// The module that a mutant is of: `core/src/gp/…` and `core/src/gp.rs:…` are both `gp`.
fn module(name: &str) -> &str {
    let inside = name.strip_prefix("core/src/").unwrap_or(name);
    &inside[..inside.find(['/', '.', ':']).unwrap_or(inside.len())]
}

/// Each module's share of `sample`, rounded up; which of its mutants depends on nothing but their names.
fn choose(all: &[String], sample: usize) -> Vec<String> {
    let mut modules: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for name in all {
        modules.entry(module(name)).or_default().push(name);
    }
    let mut chosen = Vec::new();
    for names in modules.values_mut() {
        names.sort_by_key(|name| hash(0, name.as_bytes()));
        let share = (sample * names.len()).div_ceil(all.len()).min(names.len());
        chosen.extend(names[..share].iter().map(|name| name.to_string()));
    }
    chosen.sort_by_key(|name| hash(1, name.as_bytes()));
    chosen
}

/// FNV-1a: the same on every machine.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Another source or another sample has another folder.
fn key(chosen: &[String]) -> Result<u64, Error> {
    let mut files = Vec::new();
    for folder in ["core/src", "core/tests", "tests"] {
        collect(&root().join(folder), &mut files)?;
    }
    files.sort();
    let mut key = chosen.iter().fold(0, |key, name| hash(key, name.as_bytes()));
    for file in files {
        key = hash(key, &std::fs::read(file)?);
    }
    Ok(key)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

struct Stage {
    name: &'static str,
    packages: &'static [&'static str],
    /// Seconds until a mutant's tests count as hanging.
    timeout: &'static str,
}

struct Mutant<'a> {
    name: &'a str,
    /// Its place among all of them.
    shard: String,
}

impl Mutant<'_> {
    /// What became of it, tested now or earlier.
    fn test(&self, folder: &Path, stage: &Stage, baseline: bool) -> Result<&'static str, Error> {
        if let Some(outcome) = self.outcome(folder) {
            return Ok(outcome);
        }
        std::fs::create_dir_all(folder)?;
        copy_sources()?;
        let mut command = mutants();
        command
            .args(["--file", FILES, "--shard", &self.shard, "--timeout", stage.timeout, "--output"])
            .arg(folder);
        command.args(["--baseline", if baseline { "run" } else { "skip" }]);
        for package in stage.packages {
            command.args(["--test-package", package]);
        }
        // It ends with a code of its own when a mutant is missed; what it lists tells whether it got through.
        let result = run(command.args(["--", "--", "--skip", DIGESTS]));
        let why = || result.err().unwrap_or_else(|| Error::failed(format!("{} was not tested", self.name)));
        self.outcome(folder).ok_or_else(why)
    }

    /// In which of its lists `cargo-mutants` has it.
    fn outcome(&self, folder: &Path) -> Option<&'static str> {
        let lists = |outcome: &&str| {
            let path = folder.join("mutants.out").join(format!("{outcome}.txt"));
            std::fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line == self.name))
        };
        OUTCOMES.into_iter().find(lists)
    }
}

/// What became of all mutants so far.
#[derive(Default)]
struct Score {
    outcomes: BTreeMap<String, &'static str>,
}

impl Score {
    fn names(&self, outcome: &str) -> impl Iterator<Item = &str> {
        self.outcomes.iter().filter(move |(_, own)| **own == outcome).map(|(name, _)| name.as_str())
    }

    /// Per module: viable mutants, and which of them were missed.
    fn table(&self) -> String {
        let mut modules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (name, outcome) in self.outcomes.iter().filter(|(_, outcome)| **outcome != "unviable") {
            let (viable, missed) = modules.entry(module(name)).or_default();
            *viable += 1;
            *missed += usize::from(*outcome == "missed");
        }
        let all = modules.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let line = |name: &str, (viable, missed): (usize, usize)| {
            let share = 100.0 * missed as f64 / viable.max(1) as f64;
            format!("| `{name}` | {viable} | {missed} | {share:.1} % |\n")
        };
        let lines: String = modules.iter().map(|(name, counts)| line(name, *counts)).collect();
        let missed: String = self.names("missed").map(|name| format!("- `{name}`\n")).collect();
        format!(
            "| module | viable | missed | share |\n|---|---:|---:|---:|\n{lines}{}\n{missed}",
            line("all", all)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_has_its_share_and_the_choice_is_always_the_same() {
        let name = |i: usize| match i {
            0..200 => format!("core/src/gp.rs:{i}:5: replace + with -"),
            200..290 => format!("core/src/optimizer/task.rs:{i}:5: replace + with -"),
            _ => format!("core/src/batch.rs:{i}:5: replace + with -"),
        };
        let all: Vec<_> = (0..300).map(name).collect();
        let chosen = choose(&all, 60);
        let count = |wanted: &str| chosen.iter().filter(|name| module(name) == wanted).count();
        assert_eq!((count("gp"), count("optimizer"), count("batch")), (40, 18, 2));
        let mut backwards = all.clone();
        backwards.reverse();
        assert_eq!(choose(&backwards, 60), chosen);
        assert_eq!(choose(&all, 1000).len(), 300);
    }

    #[test]
    fn a_mutant_that_was_tested_is_not_tested_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("mutants.out")).unwrap();
        std::fs::write(folder.path().join("mutants.out/missed.txt"), "core/src/gp.rs:1:1: a\n").unwrap();
        let mutant = |name| Mutant { name, shard: "0/2".into() };
        assert_eq!(mutant("core/src/gp.rs:1:1: a").test(folder.path(), &STAGES[0], true), Ok("missed"));
        assert_eq!(mutant("core/src/gp.rs:1:1: b").outcome(folder.path()), None);
    }

    #[test]
    fn the_table_counts_what_can_be_built() {
        let mut score = Score::default();
        for (line, outcome) in [(1, "caught"), (2, "missed"), (3, "unviable")] {
            score.outcomes.insert(format!("core/src/gp.rs:{line}:1: a"), outcome);
        }
        assert_eq!(score.names("missed").collect::<Vec<_>>(), ["core/src/gp.rs:2:1: a"]);
        assert!(score.table().contains("| `gp` | 2 | 1 | 50.0 % |"), "{}", score.table());
    }
}
