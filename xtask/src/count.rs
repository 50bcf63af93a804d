//! `cargo xtask count`: instructions on the emulated Cortex-M7, beside the table that is kept of them.
//!
//! The emulator counts instructions, not cycles: a count repeats exactly, on any machine, and says nothing of memory
//! and pipeline. It is what we guard; seconds on a real chip are estimated from it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use crate::board::find;
use crate::c;
use crate::error::{Error, Verdict, ensure, fail};
use crate::qemu::output;
use crate::shell::{in_pairs, root};
use crate::tools::Tools;

const BOARD: &str = "mps2-an500";
/// Where the table is kept.
const TABLE: &str = "firmware/instructions.md";
/// A count may grow by this before the table must be written anew.
const TOLERANCE: f64 = 0.05;

/// Programs in `firmware/examples`, and their names in the table.
const PROGRAMS: [(&str, &str); 6] = [
    ("count-compact", "compact"),
    ("count-fleet", "compact, fleet"),
    ("count-guards", "compact, in service"),
    ("count-deep", "deep"),
    ("count-deep-model", "deep"),
    ("count-key", "key"),
];

/// The name of what the C program counts.
const FROM_C: &str = "compact, from C";
/// Most that a step or a search may take from C beyond what it takes from Rust.
const MORE_FROM_C: f64 = 0.01;

/// Instructions by profile, what was done, and observations.
type Counts = BTreeMap<(String, String, u64), u64>;

/// `cargo xtask count [--write]`: prints the table, and with `--write` keeps it.
pub fn count(write: bool) -> Result<(), Error> {
    if !write {
        return check(&Tools::default()).map(drop);
    }
    let counts = measure(&Tools::default())?;
    Ok(std::fs::write(root().join(TABLE), format!("{HEADING}{}", table_of(&counts)))?)
}

/// The step: no count has grown beyond what the table says.
pub fn check(tools: &Tools) -> Verdict {
    let counts = measure(tools)?;
    let kept = parse(&std::fs::read_to_string(root().join(TABLE))?);
    compare(&kept, &counts)
}

/// Runs all programs, and prints the table.
fn measure(tools: &Tools) -> Result<Counts, Error> {
    let (board, qemu) = (find(BOARD)?, tools.qemu()?);
    let mut programs = vec![(FROM_C, c::on_board(tools, &["board/count.c"], "count")?)];
    for (program, name) in PROGRAMS {
        programs.push((name, board.build_example(tools, program, &[])?));
    }
    let count =
        |(name, elf): (_, PathBuf)| Ok((name, output(&qemu, board, &elf, 900, &["-icount", "shift=0"])?));
    let mut counts = Counts::new();
    for (name, said) in in_pairs(programs, count)? {
        add(&mut counts, name, &said)?;
    }
    println!("\n{}", table_of(&counts));
    compare_languages(&counts)?;
    Ok(counts)
}

/// Adds what a program printed.
fn add(counts: &mut Counts, name: &str, said: &str) -> Result<(), Error> {
    ensure!(said.lines().last() == Some("done"), "{name} did not come to its end: {said}");
    for line in said.lines() {
        if let [what, t, instructions] = line.split(' ').collect::<Vec<_>>()[..] {
            let number = |word: &str| word.parse().map_err(|_| Error::failed(format!("`{line}`?")));
            counts.insert((name.into(), what.into(), number(t)?), number(instructions)?);
        }
    }
    Ok(())
}

/// Steps and searches take hardly more from C than from Rust. A snapshot does: from C it is copied, too.
fn compare_languages(counts: &Counts) -> Result<(), Error> {
    for ((name, what, t), &rust) in counts.iter().filter(|((name, ..), _)| name == "compact") {
        let Some(&from_c) = counts.get(&(FROM_C.into(), what.clone(), *t)) else { continue };
        let few = what == "snapshot" || from_c as f64 <= rust as f64 * (1.0 + MORE_FROM_C);
        ensure!(few, "{name} {what} at {t}: {from_c} from C, {rust} from Rust");
    }
    Ok(())
}

const HEADING: &str = "\
# Instructions on a Cortex-M7

As `cargo xtask count --write` found them on the emulated Cortex-M7 (`mps2-an500`), with the compiler settings of the
two profiles; `cargo xtask test count` fails when one of them has grown by more than 5 %. They are instructions, not
cycles: seconds at 280 MHz are an estimate, at one instruction per cycle.

*forward*: the feature map at one point, of a block of 8. *posterior*: mean, variance and covariance at one point, of a
block of 8, for all 4 fidelities. *step*: one step of learning of all 10 particles. *ask*: one search for a query, all
candidates and refinements (compact 80 + 3 · 20, deep 256 + 3 · 64). *snapshot*: what goes on to the next task, as bytes. Compact has 4
dimensions, deep 6. *From C*: the compact profile through `capi/`, with the same work; steps and searches may take 1 % more
at most. A snapshot is copied from C, and only counted from Rust. *Fleet*: the compact profile with a fleet of 32 centres and 4
modes that holds; its step has the weighing of the prior with it. *In service*: the compact profile with a floor; *round*: from an
answer to the next query, *guarded-round*: the same with two guards.

*Key*: a frame of the serial line; the number is not of observations but of bytes of data in it. *frame*: written without a key,
*seal*: written with one, *open*: one with a key checked, *session*: the first of a session, which takes two keys to derive.

";

fn table_of(counts: &Counts) -> String {
    let mut table = String::from(
        "| profile | what | observations | instructions | s at 280 MHz |\n|---|---|---:|---:|---:|\n",
    );
    for ((profile, what, t), instructions) in counts {
        let seconds = *instructions as f64 / 280e6;
        writeln!(table, "| {profile} | {what} | {t} | {instructions} | {seconds:.6} |")
            .expect("writing to a string");
    }
    table
}

/// The counts of a table.
fn parse(text: &str) -> Counts {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    text.lines()
        .filter_map(|line| {
            let cells = cells(line);
            let number = |i: usize| cells.get(i)?.parse::<u64>().ok();
            Some(((cells.get(1)?.clone(), cells.get(2)?.clone(), number(3)?), number(4)?))
        })
        .collect()
}

/// What has grown beyond the tolerance, or is not in the table, is an error.
fn compare(kept: &Counts, now: &Counts) -> Verdict {
    let mut less = 0;
    for (key @ (profile, what, t), &count) in now {
        let name = format!("{profile} {what} at {t}");
        let Some(&before) = kept.get(key) else {
            fail!("{name} is not in {TABLE}: cargo xtask count --write");
        };
        let (before, count) = (before as f64, count as f64);
        let growth = 100.0 * (count / before - 1.0);
        let few = count <= before * (1.0 + TOLERANCE);
        ensure!(
            few,
            "{name} takes {growth:.1} % more instructions; if that is wanted: cargo xtask count --write"
        );
        less += u32::from(count < before * (1.0 - TOLERANCE));
    }
    Ok(if less > 0 {
        format!("less than in the table: {less}; cargo xtask count --write")
    } else {
        String::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(instructions: u64) -> Counts {
        Counts::from([(("deep".into(), "step".into(), 40), instructions)])
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        assert_eq!(parse(&format!("{HEADING}{}", table_of(&counts(123_456)))), counts(123_456));
    }

    #[test]
    fn growth_beyond_the_tolerance_is_an_error() {
        assert!(compare(&counts(1000), &counts(1049)).is_ok());
        assert!(compare(&counts(1000), &counts(1051)).unwrap_err().why().contains("5.1 %"));
        assert!(compare(&Counts::new(), &counts(1)).unwrap_err().why().contains("not in"));
        assert!(compare(&counts(1000), &counts(900)).unwrap().contains("less than in the table: 1;"));
    }
}
