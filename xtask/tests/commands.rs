//! The built program: help, refusals, and what is missing told before work begins.

use std::process::{Command, Output};

fn xtask(words: &[&str]) -> Output {
    // Nothing can be found or built: whatever is told then is told first.
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.env("PATH", "").env("CARGO_HOME", "/nowhere").env("CARGO", "/nowhere/cargo");
    command.args(words).output().unwrap()
}

#[test]
fn flash_looks_for_the_probe_before_it_builds() {
    let output = xtask(&["flash", "compact", "--board", "pico2"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.starts_with("probe-rs is missing: cargo install"), "{error}");
    assert!(output.stdout.is_empty(), "nothing was begun");
}

#[test]
fn unknown_options_are_refused() {
    for words in [
        &["size", "--wirte"][..],
        &["count", "-w"],
        &["flash"],
        &["flash", "compact"],
        &["tset"],
        &["test", "hosts"],
    ] {
        let output = xtask(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty(), "{words:?}");
    }
}
