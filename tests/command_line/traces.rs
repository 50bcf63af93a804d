//! Traces repeat themselves.

use super::program::succeed;

const TRACE: &[&str] =
    &["foretune-paper", "trace", "gas", "--budget", "60", "--set", "candidates=32", "--set", "particles=4"];

#[test]
fn a_trace_repeats_itself_and_follows_its_seed() {
    let folder = tempfile::tempdir().unwrap();
    let first = succeed(folder.path(), TRACE);
    assert_eq!(first, succeed(folder.path(), TRACE));
    assert_ne!(first, succeed(folder.path(), &[TRACE, &["--seed", "2"]].concat()));
    let digest = succeed(folder.path(), &[TRACE, &["--digest"]].concat());
    assert!(first.ends_with(&digest), "{first}{digest}");
    let count = |word: &str| first.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!(count("end "), 2);
    assert!(count("query ") > 2 * 10 && count("query 2 0 initial ") == 1);
}

/// Room for observations changes nothing as long as it is not scarce.
#[test]
fn capacity_matters_only_when_it_is_scarce() {
    let folder = tempfile::tempdir().unwrap();
    let with = |capacity| succeed(folder.path(), &[TRACE, &["--set", capacity]].concat());
    assert_eq!(with("capacity=64"), with("capacity=256"));
    let scarce = |capacity| {
        let budget = ["--budget", "750", "--tasks", "1"];
        succeed(
            folder.path(),
            &[&["foretune-paper", "trace", "gas", "--set", capacity, "--set", "particles=2"], &budget[..]]
                .concat(),
        )
    };
    let small = scarce("capacity=32");
    assert!(small.lines().count() <= 32 + 2);
    assert_ne!(small, scarce("capacity=128"));
}
