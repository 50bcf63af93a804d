//! Every bad request gets one line that names what is wrong, and a code that is not zero.

use std::fs;
use std::time::{Duration, Instant};

use super::program::{command, fail};

#[test]
fn bad_requests_are_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.toml"), "beta = \n").unwrap();
    fs::write(folder.path().join("key.toml"), "betta = 1\n").unwrap();
    fs::write(folder.path().join("range.toml"), "# ours\nkde_mix = 7\n").unwrap();
    for (arguments, words) in [
        (&["frobnicate"][..], "frobnicate"),
        (&["run"], "PROBLEM"),
        (&["run", "hartmann7"], "hartmann7"),
        (&["run", "rrm:stations=9"], "stations"),
        (&["run", "rrm:colour=red"], "colour"),
        (&["run", "gas", "--method", "magic"], "magic"),
        (&["run", "gas", "--method", "mf-mes,mf-mes"], "twice"),
        (&["run", "gas", "--preset", "theirs"], "theirs"),
        (&["run", "gas", "--set", "beta"], "key=value"),
        (&["run", "gas", "--set", "beta=-1"], "`beta`"),
        (&["run", "gas", "--set", "betta=1"], "`betta`"),
        (&["run", "gas", "--set", "map=deep:1000"], "`map`"),
        (&["run", "gas", "--set", "capacity=32", "--set", "initial=40"], "`initial`"),
        (&["run", "gas", "--set", "capacity=32", "--set", "initial=28"], "4 remembered values"),
        (&["run", "gas", "--set", "scaling=initial", "--set", "initial=0"], "`initial` is 0"),
        (&["run", "gas", "--sweep", "beta"], "key=value"),
        (&["run", "gas", "--sweep", "beta=1,x"], "`beta`"),
        (&["run", "gas", "--settings", "none.toml"], "none.toml"),
        (&["run", "gas", "--settings", "bad.toml"], "line 1"),
        (&["run", "gas", "--settings", "key.toml"], "key.toml, line 1: unknown setting `betta`"),
        (&["run", "gas", "--settings", "range.toml"], "range.toml, line 2: setting `kde_mix`"),
        (&["run", "gas", "--experiments", "0"], "experiments"),
        (&["run", "gas", "--tasks", "-3"], "invalid value '-3' for '--tasks <N>'"),
        (&["run", "gas", "--seed", "x"], "seed"),
        (&["run", "gas", "--jobs", "0"], "jobs"),
        (&["run", "gas", "--shard", "3/2"], "shard"),
        (&["run", "gas", "--budget", "NaN"], "budget"),
        (&["run", "gas", "--budget", "-5"], "the budget takes a number from 0 to 1e9, not -5"),
        (&["run", "gas", "--budget", "5"], "the cheapest query of mft-mes costs 10"),
        (&["run", "gas", "--budget", "30", "-m", "two-phase"], "the cheapest query of two-phase costs 35"),
        (&["run", "gas", "--unlike-task", "0"], "unlike"),
        (&["run", "gas", "--unlike-task", "20", "--tasks", "5"], "the last task is 5"),
        (
            &["run", "gas", "-m", "random,lattice", "--sweep", "beta=0,1"],
            "changes nothing for random, lattice",
        ),
        (&["run", "gas", "--set", "beta=3", "--sweep", "beta=0,1"], "`beta` is in --set and in --sweep"),
        (&["run", "gas", "--set", "beta=3", "--set", "beta=4"], "`beta` is set twice"),
        (&["foretune-paper", "reproduce", "fig3", "fig5", "--set", "particles=3"], "`particles` is fixed"),
        (&["foretune-paper", "reproduce", "fig4", "--set", "beta=3"], "`beta` is fixed"),
        (&["foretune-paper", "bench", "--preset", "paper"], "name one"),
        (&["foretune-paper", "bench", "rrm", "--growth", "x.svg", "-t", "10"], "--growth"),
        (&["foretune-paper", "trace", "rrm", "--experiment", "0"], "experiment"),
        (&["foretune-paper", "merge", "--out", "x"], "SHARD"),
        (&["report"], "DIR"),
        (&["report", ".", "-o", "x.png"], "x.png: a report ends in .html"),
    ] {
        let error = fail(folder.path(), arguments, 2);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn folders_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for arguments in [
        &["run", "gas", "--tasks", "1", "--out", "file"][..],
        &["run", "gas", "--tasks", "1", "--out", "file/below"],
        &["run", "gas", "--tasks", "1", "--out", "/proc/nowhere"],
        &["foretune-paper", "merge", "missing", "--out", "x"],
        &["report", "missing"],
        &["report", "."],
    ] {
        let error = fail(folder.path(), arguments, 1);
        let named = ["file", "/proc/nowhere", "missing", "."].iter().any(|word| error.contains(word));
        assert!(named, "{arguments:?}: {error}");
    }
}

#[test]
fn a_port_that_is_not_there_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let error = fail(folder.path(), &["hil", "--port", "/dev/no-such-port"], 1);
    assert!(error.contains("cannot open /dev/no-such-port"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(20), "not after its patience of 120 s");
}

#[test]
fn waiting_for_a_device_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["hil", "--connect", "unix:no-such-socket", "--patience", "7"];
    let output = command(folder.path(), &arguments).output().unwrap();
    let error = super::program::stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    let lines: Vec<&str> = error.lines().collect();
    assert!(
        lines[0].starts_with("waiting for the device, 7 s at most: cannot open no-such-socket"),
        "{error}"
    );
    assert!(lines[1].starts_with("foretune: no answer for 7 s: cannot open no-such-socket"), "{error}");
}

/// What changes nothing is told, but harms nothing.
#[test]
fn settings_without_effect_are_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("base.toml"), "beta = 3\n").unwrap();
    let tiny = ["run", "gas", "--tasks", "1", "--budget", "35", "--quiet"];
    for (more, words) in [
        (&["-m", "random", "--set", "beta=3", "--out", "a"][..], "`beta` changes nothing for random"),
        (
            &["--settings", "base.toml", "--sweep", "beta=0,1", "--out", "b"],
            "base.toml, line 1: `beta` gives way",
        ),
    ] {
        let output = command(folder.path(), &[&tiny[..], more].concat()).output().unwrap();
        let error = super::program::stderr(&output);
        assert!(output.status.success() && error.contains(words), "{error}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_and_a_closed_pipe_are_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments = ["foretune-paper", "trace", "hartmann6", "--budget", "10", "--tasks", "1"];
    let output = command(folder.path(), &arguments).stdout(full).output().unwrap();
    let error = super::program::stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("cannot write the output"), "{error}");
    let mut child = command(folder.path(), &arguments).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn commands_of_the_papers_program_say_what_to_type_instead() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["reproduce", "merge", "trace", "inspect", "theory", "bench"] {
        let error = fail(folder.path(), &[command, "a b", "--set", "x=1"], 2);
        for words in ["foretune-paper", "cargo run --release -p foretune-paper --"] {
            assert!(error.contains(&format!("{words} {command} 'a b' --set x=1")), "{error}");
        }
    }
}
