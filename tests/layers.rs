//! Which package may use which, and how large a package may become.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// Every package of the workspace with all that it may use of it, tests apart: only what stands above it.
const LAYERS: [(&str, &[&str]); 15] = [
    ("foretune-core", &[]),
    ("foretune-link", &["foretune-core"]),
    ("foretune-c", &["foretune-core"]),
    ("foretune-firmware", &["foretune-core", "foretune-link"]),
    ("foretune-problems", &["foretune-core"]),
    ("host-sim", &["foretune-core", "foretune-problems"]),
    ("foretune-report", &["host-sim"]),
    ("foretune-fleet", &["foretune-core", "host-sim"]),
    ("foretune-tuning", &["foretune-core", "foretune-fleet", "foretune-report", "host-sim"]),
    (
        "foretune",
        &[
            "foretune-core",
            "foretune-firmware",
            "foretune-fleet",
            "foretune-link",
            "foretune-report",
            "foretune-tuning",
            "host-sim",
        ],
    ),
    ("foretune-paper", &["foretune", "foretune-core", "foretune-fleet", "foretune-report", "host-sim"]),
    ("foretune-python", &["foretune"]),
    (
        "foretune-fuzz",
        &[
            "foretune-c",
            "foretune-core",
            "foretune-firmware",
            "foretune-link",
            "foretune-paper",
            "foretune-report",
            "foretune-tuning",
            "host-sim",
        ],
    ),
    ("foretune-tests", &["foretune", "foretune-paper", "host-sim"]),
    ("xtask", &[]),
];

/// Lines of Rust, tests included.
const MOST: usize = 9000;

fn packages() -> Vec<Value> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    let asked =
        command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).output().unwrap();
    let metadata: Value = serde_json::from_slice(&asked.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// What a package says it uses of the workspace.
fn used(package: &Value) -> BTreeSet<&str> {
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    let own = dependencies.filter(|used| !used["path"].is_null() && used["kind"] != "dev");
    own.map(|used| used["name"].as_str().unwrap()).collect()
}

#[test]
fn a_package_uses_what_it_may_and_no_more() {
    let packages = packages();
    assert_eq!(packages.len(), LAYERS.len(), "a package is missing here");
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let place = LAYERS.iter().position(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(used(package), LAYERS[place].1.iter().copied().collect(), "{name}");
        let is_above = |used: &str| LAYERS[..place].iter().any(|(known, _)| *known == used);
        assert!(used(package).into_iter().all(is_above), "{name}");
    }
}

/// With more than one, or none, `cargo run` would ask which program is meant.
#[test]
fn a_bare_run_means_foretune() {
    let packages = packages();
    let meant: Vec<&Value> =
        packages.iter().map(|package| &package["default_run"]).filter(|run| !run.is_null()).collect();
    assert_eq!(meant, ["foretune"]);
}

fn lines(folder: &Path) -> usize {
    let of = |path: &Path| match path.extension() {
        _ if path.is_dir() => lines(path),
        Some(ending) if ending == "rs" => fs::read_to_string(path).unwrap().lines().count(),
        _ => 0,
    };
    fs::read_dir(folder).unwrap().map(|entry| of(&entry.unwrap().path())).sum()
}

#[test]
fn no_package_of_the_host_is_too_large_to_read() {
    for folder in ["host-sim", "report", "fleet", "tuning", "foretune", "paper"] {
        let count = lines(&Path::new("..").join(folder));
        assert!(count <= MOST, "{folder} has {count} lines");
    }
}
