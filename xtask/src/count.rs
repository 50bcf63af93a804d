//! `cargo xtask count`: instructions on the emulated Cortex-M7, beside the table that is kept of them.
//!
//! The emulator counts instructions, not cycles: a count repeats exactly, on any machine, and says nothing of memory
//! and pipeline. It is what we guard; seconds on a real chip are estimated from it.

use std::collections::{BTreeMap, BTreeSet};
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
    ("count-rounds", "compact, in service"),
    ("count-deep", "deep"),
    ("count-deep-model", "deep"),
    ("count-key", KEY),
];

/// Frames of the serial line: counted by bytes of data, not by observations.
const KEY: &str = "key";

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

As `cargo xtask count --write` found them on the emulated `mps2-an500`, by number of observations, with the compiler
settings of the two profiles. `cargo xtask test count` fails when one has grown by more than 5 %. They are not cycles:
at one instruction per cycle, 280 million take a second on the NUCLEO-H7A3ZI-Q.

| what | is |
|---|---|
| forward | the feature map at one point, of a block of 8 |
| posterior | mean, variance and covariance at one point, of a block of 8, for all 4 fidelities |
| step | one step of learning of all 10 particles |
| ask | one search for a query: compact 80 + 3 · 20 candidates, deep 256 + 3 · 64 |
| snapshot | what goes on to the next task, as bytes; from C it is copied, from Rust only counted |
| round, guarded-round, fleet-round | from an answer to the next query with a floor; with two guards, too; with a fleet |
| frame, seal | a frame of the serial line written without a key, with one; by bytes of data in it |
| open, session | a frame with a key checked; the first of a session, which takes two keys to derive |

Compact has 4 dimensions, deep 6; the fleet has 32 centres and 4 modes. Steps and searches may take 1 % more from C.

";

/// The header of a part: what its columns are numbers of.
fn header(of: &str, columns: &[u64]) -> String {
    let titles: String = columns.iter().map(|t| format!(" {t} |")).collect();
    format!("| profile | {of} |{titles}\n|---|---|{}\n", "---:|".repeat(columns.len()))
}

/// A row for each profile and what was done, a column for each number of observations; frames apart.
fn table_of(counts: &Counts) -> String {
    let mut parts = Vec::new();
    for (of, is_key) in [("observations", false), ("bytes", true)] {
        let part = || counts.iter().filter(move |((profile, ..), _)| (profile == KEY) == is_key);
        let columns: BTreeSet<u64> = part().map(|((.., t), _)| *t).collect();
        let columns: Vec<u64> = columns.into_iter().collect();
        let rows: BTreeSet<(&str, &str)> =
            part().map(|((profile, what, _), _)| (&**profile, &**what)).collect();
        if rows.is_empty() {
            continue;
        }
        let mut table = header(of, &columns);
        for (profile, what) in rows {
            let cell = |t: &u64| {
                counts.get(&(profile.into(), what.into(), *t)).map_or_else(String::new, u64::to_string)
            };
            let cells: String = columns.iter().map(|t| format!(" {} |", cell(t))).collect();
            writeln!(table, "| {profile} | {what} |{cells}").expect("writing to a string");
        }
        parts.push(table);
    }
    parts.join("\n")
}

/// The counts of a table.
fn parse(text: &str) -> Counts {
    let (mut counts, mut columns) = (Counts::new(), Vec::new());
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [profile, what, numbers @ ..] = &cells[..] else { continue };
        if *profile == "profile" {
            columns = numbers.iter().filter_map(|cell| cell.parse().ok()).collect();
        }
        for (t, cell) in columns.iter().zip(numbers).filter(|_| *profile != "profile") {
            if let Ok(count) = cell.parse() {
                counts.insert(((*profile).into(), (*what).into(), *t), count);
            }
        }
    }
    counts
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
        let mut counts = counts(123_456);
        for (profile, what, t) in [("deep", "step", 128), ("deep", "forward", 0), (KEY, "open", 256)] {
            counts.insert((profile.into(), what.into(), t), t + 7);
        }
        assert_eq!(parse(&format!("{HEADING}{}", table_of(&counts))), counts);
    }

    #[test]
    fn growth_beyond_the_tolerance_is_an_error() {
        assert!(compare(&counts(1000), &counts(1049)).is_ok());
        assert!(compare(&counts(1000), &counts(1051)).unwrap_err().why().contains("5.1 %"));
        assert!(compare(&Counts::new(), &counts(1)).unwrap_err().why().contains("not in"));
        assert!(compare(&counts(1000), &counts(900)).unwrap().contains("less than in the table: 1;"));
    }
}
