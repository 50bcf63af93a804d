//! Reading a unit's file: as much of it as is sound, and what is wrong with the rest.
//!
//! ```text
//! #unit mft-mes 3 settings 5f3a1c22        names the unit and the checksum of what decided it
//! variant,experiment,task,round,...        the columns
//! mft-mes,3,1,1,initial,...                rows, one per query, the recommendation last
//! #task 1 rows 35 crc 1a2b3c4d             closes a task: CRC-32 of its rows
//! #end tasks 10 rows 350 crc 99aabbcc      closes the file: CRC-32 of everything before
//! ```
//!
//! The lines with `#` are compared with what they should be, sign by sign, so that no altered byte passes.

use std::ops::Range;

use super::row::{COLUMNS, parse_row};
use super::{Kind, Manifest, Row, TaskSummary, Terms, UnitId};
use crate::results::crc32;

/// A finished task as it stands in a unit's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What is the same in all rows.
    pub terms: Terms,
    /// All queries in order, then the recommendation.
    pub rows: Vec<Row>,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    pub what: String,
    /// Whether the file belongs to another unit or study, and must not be continued or overwritten.
    pub foreign: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    pub tasks: Vec<Task>,
    /// Why reading stopped before the end line; `None` when the unit is finished and sound.
    pub problem: Option<Problem>,
    /// For each closed task, the offset of the first byte after it.
    pub(super) ends: Vec<usize>,
}

pub(super) fn unit_line(manifest: &Manifest, unit: UnitId) -> String {
    let key = &manifest.variants[unit.variant].key;
    format!("#unit {key} {} settings {:08x}\n", unit.experiment, manifest.fingerprint(unit.variant))
}

pub(super) fn header(manifest: &Manifest, unit: UnitId) -> String {
    format!("{}{}\n", unit_line(manifest, unit), COLUMNS)
}

pub(super) fn task_line(task: u32, rows: usize, crc: u32) -> String {
    format!("#task {task} rows {rows} crc {crc:08x}\n")
}

pub(super) fn end_line(tasks: u32, rows: usize, crc: u32) -> String {
    format!("#end tasks {tasks} rows {rows} crc {crc:08x}\n")
}

/// What keeps a task's rows from being a whole task, if anything does.
pub(super) fn task_fault(rows: &[Row]) -> Option<&'static str> {
    match rows {
        [] => Some("the task has no rows"),
        [.., last] if last.kind != Kind::Recommend => Some("the task ends without a recommendation"),
        [_] => Some("the task has a recommendation but no query"),
        _ => None,
    }
}

impl Unit {
    /// Reads a file's bytes as the unit that they should be.
    pub fn parse(bytes: &[u8], manifest: &Manifest, unit: UnitId) -> Self {
        let mut found = Self { tasks: Vec::new(), ends: Vec::new(), problem: None };
        found.problem = found.read(bytes, manifest, unit).err();
        found
    }

    fn read(&mut self, bytes: &[u8], manifest: &Manifest, unit: UnitId) -> Result<(), Problem> {
        let (expected, owner) = (header(manifest, unit), unit_line(manifest, unit));
        let problem = |end: usize, what: String| {
            let line = bytes[..end].iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(Problem { line, what, foreign: false })
        };
        match bytes.iter().position(|&byte| byte == b'\n') {
            Some(end) if bytes[..=end] != *owner.as_bytes() => {
                let what = format!("not the unit `{}`: another unit, or other settings", owner.trim_end());
                return Err(Problem { line: 1, what, foreign: true });
            }
            Some(_) if !bytes.starts_with(expected.as_bytes()) => {
                return problem(owner.len(), "the columns are cut off or not the expected ones".into());
            }
            _ => {}
        }
        let (mut start, mut rows) = (expected.len(), 0);
        loop {
            let closed = self.tasks.len() as u32;
            let Some(mark) = mark(bytes, start) else {
                return problem(bytes.len(), format!("the file is cut off after {closed} closed tasks"));
            };
            let block = &bytes[start..mark.start];
            if bytes[mark.clone()] == *end_line(closed, rows, crc32(&bytes[..start])).as_bytes() {
                return match mark.end == bytes.len() && block.is_empty() && closed == manifest.tasks {
                    true => Ok(()),
                    false => problem(mark.end, format!("the end after {closed} of {} tasks", manifest.tasks)),
                };
            }
            let count = block.iter().filter(|&&byte| byte == b'\n').count();
            if bytes[mark.clone()] != *task_line(closed + 1, count, crc32(block)).as_bytes() {
                return problem(mark.start, "the line does not belong to the rows before it".into());
            }
            let Some(task) = task(block).filter(|_| closed < manifest.tasks) else {
                return problem(mark.start, "the rows before are no task of this study".into());
            };
            self.tasks.push(task);
            self.ends.push(mark.end);
            (start, rows) = (mark.end, rows + count);
        }
    }

    /// The row of `tasks.csv` for each closed task.
    pub fn summaries(&self, unit: UnitId) -> impl Iterator<Item = TaskSummary> {
        self.tasks.iter().zip(1..).map(move |(task, number)| TaskSummary::of(unit, number, task))
    }
}

/// The next line that begins with `#` and is whole.
fn mark(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let mut start = from;
    loop {
        let end = start + bytes.get(start..)?.iter().position(|&byte| byte == b'\n')? + 1;
        if bytes[start] == b'#' {
            return Some(start..end);
        }
        start = end;
    }
}

/// The task that a block of rows is.
fn task(block: &[u8]) -> Option<Task> {
    let rows: Vec<(Row, Terms)> =
        std::str::from_utf8(block).ok()?.lines().map(parse_row).collect::<Option<_>>()?;
    let terms = rows.first()?.1.clone();
    Some(Task { terms, rows: rows.into_iter().map(|(row, _)| row).collect() })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{UNIT, manifest, unit_bytes};
    use super::*;

    fn parse(bytes: &[u8]) -> Unit {
        Unit::parse(bytes, &manifest(), UNIT)
    }

    #[test]
    fn a_finished_file_reads_whole() {
        let unit = parse(&unit_bytes());
        assert_eq!(unit.problem, None);
        assert_eq!(unit.tasks.len(), manifest().tasks as usize);
    }

    #[test]
    fn cut_at_every_byte_leaves_the_closed_tasks() {
        let bytes = unit_bytes();
        let whole = parse(&bytes);
        for length in 0..bytes.len() {
            let cut = parse(&bytes[..length]);
            let closed = whole.ends.iter().filter(|&&end| end <= length).count();
            assert_eq!(cut.tasks, whole.tasks[..closed], "cut at {length}");
            let problem = cut.problem.expect("a cut file has a problem");
            assert!(!problem.foreign && !problem.what.is_empty());
        }
    }

    #[test]
    fn any_altered_byte_is_noticed_and_what_is_kept_is_true() {
        let bytes = unit_bytes();
        let whole = parse(&bytes);
        for place in 0..bytes.len() {
            for altered in [bytes[place] ^ 1, bytes[place] ^ 0x80, b'\n', b'#', b',', b'0', 0] {
                if altered == bytes[place] {
                    continue;
                }
                let mut damaged = bytes.clone();
                damaged[place] = altered;
                let unit = parse(&damaged);
                let problem = unit.problem.unwrap_or_else(|| panic!("byte {place} as {altered} passed"));
                let before = bytes[..place].iter().filter(|&&b| b == b'\n').count();
                assert!(problem.line > before, "byte {place}: blamed line {}", problem.line);
                assert_eq!(unit.tasks, whole.tasks[..unit.tasks.len()], "byte {place} as {altered}");
            }
        }
    }

    #[test]
    fn another_studys_unit_is_foreign() {
        let mut other = manifest();
        other.seed += 1;
        let unit = Unit::parse(&unit_bytes(), &other, UNIT);
        assert!(unit.problem.unwrap().foreign);
    }
}
