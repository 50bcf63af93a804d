//! Every bad request gets one line that names what is wrong, and a code that is not zero.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Folder, stderr};

#[test]
fn bad_requests_are_named_in_one_line() {
    let folder = Folder::new();
    folder.write("bad.toml", "beta = \n");
    folder.write("key.toml", "betta = 1\n");
    folder.write("range.toml", "# ours\nkde_mix = 7\n");
    for (line, words) in [
        ("frobnicate", "frobnicate"),
        ("run", "PROBLEM"),
        ("run hartmann7", "hartmann7"),
        ("run rrm:stations=9", "stations"),
        ("run rrm:colour=red", "colour"),
        ("run gas --method magic", "magic"),
        ("run gas --method mf-mes,mf-mes", "twice"),
        ("run gas --preset theirs", "theirs"),
        ("run gas --set beta", "key=value"),
        ("run gas --set beta=-1", "`beta`"),
        ("run gas --set betta=1", "`betta`"),
        ("run gas --set map=deep:1000", "`map`"),
        ("run gas --set capacity=32 --set initial=40", "`initial`"),
        ("run gas --set capacity=32 --set initial=28", "4 remembered values"),
        ("run gas --set scaling=initial --set initial=0", "`initial` is 0"),
        ("run gas --sweep beta", "key=value"),
        ("run gas --sweep beta=1,x", "`beta`"),
        ("run gas --settings none.toml", "none.toml"),
        ("run gas --settings bad.toml", "line 1"),
        ("run gas --settings key.toml", "key.toml, line 1: unknown setting `betta`"),
        ("run gas --settings range.toml", "range.toml, line 2: setting `kde_mix`"),
        ("run rrm:stations=2,stations=3", "option `stations` is there twice"),
        ("run pid --moved 0.1 -m relay-zn", "relay-zn is for problem pid, without --moved"),
        ("run gas --experiments 0", "experiments"),
        ("run gas --tasks -3", "invalid value '-3' for '--tasks <N>'"),
        ("run gas --seed x", "seed"),
        ("run gas --jobs 0", "jobs"),
        ("run gas --shard 3/2", "shard"),
        ("run gas --budget NaN", "budget"),
        ("run gas --budget -5", "the budget takes a number from 0 to 1e9, not -5"),
        ("run gas --budget 5", "the cheapest query of mft-mes costs 10"),
        ("run gas --budget 30 -m two-phase", "the cheapest query of two-phase costs 35"),
        ("run gas --unlike-task 0", "unlike"),
        ("run gas --unlike-task 20 --tasks 5", "the last task is 5"),
        ("run gas -m random,lattice --sweep beta=0,1", "changes nothing for random, lattice"),
        ("run gas --set beta=3 --sweep beta=0,1", "`beta` is in --set and in --sweep"),
        ("run gas --set beta=3 --set beta=4", "`beta` is set twice"),
        ("foretune-paper reproduce fig3 fig5 --set particles=3", "`particles` is fixed"),
        ("foretune-paper reproduce fig4 --set beta=3", "`beta` is fixed"),
        ("foretune-paper reproduce fig2", "fig2` to make: there are fig3 to fig10"),
        ("foretune-paper bench --preset paper", "name one"),
        ("foretune-paper bench rrm --growth x.svg -t 10", "--growth"),
        ("foretune-paper trace rrm --experiment 0", "experiment"),
        ("foretune-paper theory --rounds 100", "rounds must be 1 to 64"),
        ("foretune-paper day --threads 0", "threads"),
        ("foretune-paper inspect none.json", "cannot read none.json"),
        ("foretune-paper merge --out x", "SHARD"),
        ("report", "DIR"),
        ("report . -o x.png", "x.png: a report ends in .html"),
    ] {
        folder.fails(line, 2, words);
    }
}

#[test]
fn folders_and_files_that_cannot_be_used_are_named_before_the_work() {
    let folder = Folder::new();
    folder.write("file", "");
    folder.write("p.toml", super::tune::PROBLEM);
    for (line, words) in [
        ("run gas --tasks 1 --out file", "file"),
        ("run gas --tasks 1 --out file/below", "file"),
        ("run gas --tasks 1 --out /proc/nowhere", "/proc/nowhere"),
        ("foretune-paper merge missing --out x", "missing"),
        ("foretune-paper theory --out /proc/nowhere", "/proc/nowhere"),
        ("report missing", "missing"),
        ("report .", "."),
        ("demo --out nodir/x.svg", "cannot write nodir/x"),
        (
            "tune p.toml --command 'sh -c \"touch measured; echo 1\"' --report nodir/x.html",
            "cannot write nodir/x",
        ),
        ("report . --out nodir/x.html", "cannot write nodir/x"),
        ("foretune-paper bench --growth nodir/x.svg", "cannot write nodir/x"),
        ("hil --connect tcp:127.0.0.1:1 --download nodir/x", "cannot write nodir/x"),
        ("hil --connect tcp:127.0.0.1:1 --notes nodir/x", "cannot write nodir/x"),
    ] {
        folder.fails(line, 1, words);
    }
    assert!(!folder.path("measured").exists() && !folder.path("p.state").exists());
}

#[test]
fn a_port_that_is_not_there_is_told_at_once_and_waiting_for_a_device_now_and_then() {
    let folder = Folder::new();
    let started = Instant::now();
    folder.fails("hil --port /dev/no-such-port", 1, "cannot open /dev/no-such-port");
    assert!(started.elapsed() < Duration::from_secs(20), "not after its patience of 120 s");
    let output = folder.command("hil --connect unix:no-such-socket --patience 7").output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    let (waiting, gave_up) = error.split_once('\n').unwrap();
    assert!(
        waiting.starts_with("waiting for the device, 7 s at most: cannot open no-such-socket"),
        "{error}"
    );
    assert!(gave_up.starts_with("foretune: no answer for 7 s: cannot open no-such-socket"), "{error}");
}

/// What changes nothing is told, but harms nothing.
#[test]
fn settings_without_effect_are_told() {
    let folder = Folder::new();
    folder.write("base.toml", "beta = 3\n");
    for (more, words) in [
        ("-m random --set beta=3 --out a", "`beta` changes nothing for random"),
        ("--settings base.toml --sweep beta=0,1 --out b", "base.toml, line 1: `beta` gives way"),
    ] {
        let line = format!("run gas --tasks 1 --budget 35 --quiet {more}");
        let output = folder.command(&line).output().unwrap();
        assert!(output.status.success() && stderr(&output).contains(words), "{}", stderr(&output));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_and_a_closed_pipe_are_no_panic() {
    let folder = Folder::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let line = "foretune-paper trace hartmann6 --budget 10 --tasks 1";
    let output = folder.command(line).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot write the output"), "{}", stderr(&output));
    let mut child = folder.command(line).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn commands_of_the_papers_program_say_what_to_type_instead() {
    for command in ["reproduce", "merge", "trace", "inspect", "theory", "bench"] {
        let error = Folder::new().fail(&format!("{command} 'a b' --set x=1"), 2);
        for words in ["foretune-paper", "cargo run --release -p foretune-paper --"] {
            assert!(error.contains(&format!("{words} {command} 'a b' --set x=1")), "{error}");
        }
    }
}
