//! Every bad request gets one line that names what is wrong, and a code that is not zero.

use std::fs;

use super::program::{command, fail};

#[test]
fn bad_requests_are_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.toml"), "beta = \n").unwrap();
    fs::write(folder.path().join("key.toml"), "betta = 1\n").unwrap();
    fs::write(folder.path().join("range.toml"), "kde_mix = 7\n").unwrap();
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
        (&["run", "gas", "--settings", "key.toml"], "`betta`"),
        (&["run", "gas", "--settings", "range.toml"], "`kde_mix`"),
        (&["run", "gas", "--experiments", "0"], "experiments"),
        (&["run", "gas", "--tasks", "-3"], "-3"),
        (&["run", "gas", "--seed", "x"], "seed"),
        (&["run", "gas", "--jobs", "0"], "jobs"),
        (&["run", "gas", "--shard", "3/2"], "shard"),
        (&["run", "gas", "--budget", "NaN"], "budget"),
        (&["run", "gas", "--budget", "-5"], "-5"),
        (
            &["run", "gas", "--budget", "5", "--set", "initial=0", "--set", "scaling=running"],
            "nothing can be measured",
        ),
        (&["run", "gas", "--foreign-task", "0"], "foreign"),
        (&["trace", "rrm", "--experiment", "0"], "experiment"),
        (&["merge", "--out", "x"], "SHARD"),
        (&["report"], "DIR"),
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
        &["merge", "missing", "--out", "x"],
        &["report", "missing"],
        &["report", "."],
    ] {
        let error = fail(folder.path(), arguments, 1);
        let named = ["file", "/proc/nowhere", "missing", "."].iter().any(|word| error.contains(word));
        assert!(named, "{arguments:?}: {error}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_and_a_closed_pipe_are_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments = ["trace", "hartmann6", "--budget", "10", "--tasks", "1"];
    let output = command(folder.path(), &arguments).stdout(full).output().unwrap();
    let error = super::program::stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("cannot write the output"), "{error}");
    let mut child = command(folder.path(), &arguments).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
