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

use super::row::{Place, columns, format_row, parse_row, quoted};
use super::{Kind, Manifest, Row, TaskSummary, Terms, UnitId};
use crate::checksum::crc32;

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
    /// What is wrong there.
    pub what: String,
    /// Whether the file belongs to another unit or study, and must not be continued or overwritten.
    pub foreign: bool,
}

/// The sound part of a unit's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The closed tasks, from the first on.
    pub tasks: Vec<Task>,
    /// Why reading stopped before the end line; `None` when the unit is finished and sound.
    pub problem: Option<Problem>,
    /// For each closed task, the offset of the first byte after it.
    pub(super) ends: Vec<usize>,
}

/// The first line of a unit's file.
pub(super) fn unit_line(manifest: &Manifest, unit: UnitId) -> String {
    let key = &manifest.variants[unit.variant].key;
    format!("#unit {key} {} settings {:08x}\n", unit.experiment, manifest.fingerprint(unit.variant))
}

/// Everything before the first row.
pub(super) fn header(manifest: &Manifest, unit: UnitId) -> String {
    format!("{}{}\n", unit_line(manifest, unit), columns(manifest.format))
}

/// The line that closes a task.
pub(super) fn task_line(task: u32, rows: usize, crc: u32) -> String {
    format!("#task {task} rows {rows} crc {crc:08x}\n")
}

/// The line that closes a file.
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
        let mut reader = Reader::new(bytes, manifest, unit);
        let problem = reader.read().err();
        Self { tasks: reader.tasks, ends: reader.ends, problem }
    }

    /// The row of `tasks.csv` for each closed task.
    pub fn summaries(&self, unit: UnitId) -> impl Iterator<Item = TaskSummary> {
        self.tasks.iter().zip(1..).map(move |(task, number)| TaskSummary::of(unit, number, task))
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    manifest: &'a Manifest,
    unit: UnitId,
    offset: usize,
    line: usize,
    dimension: Option<usize>,
    rows: usize,
    tasks: Vec<Task>,
    ends: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], manifest: &'a Manifest, unit: UnitId) -> Self {
        let (tasks, ends) = (Vec::new(), Vec::new());
        Self { bytes, manifest, unit, offset: 0, line: 0, dimension: None, rows: 0, tasks, ends }
    }

    fn read(&mut self) -> Result<(), Problem> {
        self.header()?;
        loop {
            let start = self.offset;
            let line = self.next_line()?;
            if line.starts_with("#end ") {
                return self.end(line, start);
            }
            let task = self.task(line, start)?;
            self.tasks.push(task);
            self.ends.push(self.offset);
        }
    }

    fn problem(&self, what: impl Into<String>) -> Problem {
        Problem { line: self.line, what: what.into(), foreign: false }
    }

    /// The next line without its newline.
    fn next_line(&mut self) -> Result<&'a str, Problem> {
        self.line += 1;
        let rest = &self.bytes[self.offset..];
        let Some(length) = rest.iter().position(|&b| b == b'\n') else {
            let place = match self.tasks.len() {
                0 => "before its first task was closed".to_string(),
                closed => format!("after {closed} closed tasks"),
            };
            return Err(self.problem(format!("the file is cut off {place}")));
        };
        self.offset += length + 1;
        std::str::from_utf8(&rest[..length]).map_err(|_| self.problem("the line is not text"))
    }

    fn header(&mut self) -> Result<(), Problem> {
        let expected = unit_line(self.manifest, self.unit);
        let line = self.next_line()?;
        if line != expected.trim_end() {
            let (found, expected) = (quoted_line(line), quoted_line(expected.trim_end()));
            let what = format!("{found} where {expected} belongs: another unit, or other settings");
            return Err(Problem { foreign: true, ..self.problem(what) });
        }
        let line = self.next_line()?;
        let known = line == columns(self.manifest.format);
        if known { Ok(()) } else { Err(self.problem("the columns are not the expected ones")) }
    }

    /// Reads a task whose first line was already taken from `start`.
    fn task(&mut self, first: &'a str, start: usize) -> Result<Task, Problem> {
        let number = self.tasks.len() as u32 + 1;
        if number > self.manifest.tasks {
            return Err(self.problem(format!("more than the study's {} tasks", self.manifest.tasks)));
        }
        let mut task = Task { terms: Terms::default(), rows: Vec::new() };
        let (mut line, mut rows_end) = (first, start);
        while !line.starts_with('#') {
            self.row(line, number, &mut task)?;
            rows_end = self.offset;
            line = self.next_line()?;
        }
        let crc = crc32(&self.bytes[start..rows_end]);
        let expected = task_line(number, task.rows.len(), crc);
        if line != expected.trim_end() {
            let (found, expected) = (quoted_line(line), quoted_line(expected.trim_end()));
            return Err(self.problem(format!("{found} where the rows of task {number} give {expected}")));
        }
        match task_fault(&task.rows) {
            Some(fault) => Err(self.problem(fault)),
            None => {
                self.rows += task.rows.len();
                Ok(task)
            }
        }
    }

    fn row(&mut self, line: &str, number: u32, task: &mut Task) -> Result<(), Problem> {
        let round = task.rows.len() + 1;
        let place = Place { task: number, round, ..Place::first(self.manifest, self.unit) };
        let (row, terms) = parse_row(line, place).map_err(|what| self.problem(what))?;
        if task.rows.last().is_some_and(|r| r.kind == Kind::Recommend) {
            return Err(self.problem("a row after the task's recommendation"));
        }
        if round > 1 && terms != task.terms {
            return Err(self.problem("optimum, point in use or floor changes within the task"));
        }
        if *self.dimension.get_or_insert(row.x.len()) != row.x.len() {
            return Err(self.problem("x has another number of values than before"));
        }
        // Not only equal numbers but equal text: a file that was edited and saved by a spreadsheet is not ours.
        if format_row(place, &row, &terms).trim_end() != line {
            return Err(self.problem("the numbers are not in their shortest form"));
        }
        task.terms = terms;
        task.rows.push(row);
        Ok(())
    }

    fn end(&mut self, line: &str, start: usize) -> Result<(), Problem> {
        let tasks = self.tasks.len() as u32;
        if tasks != self.manifest.tasks {
            return Err(self.problem(format!("the end after {tasks} of {} tasks", self.manifest.tasks)));
        }
        let expected = end_line(tasks, self.rows, crc32(&self.bytes[..start]));
        if line != expected.trim_end() {
            let (found, expected) = (quoted_line(line), quoted_line(expected.trim_end()));
            return Err(self.problem(format!("{found} where {expected} belongs")));
        }
        if self.offset != self.bytes.len() {
            self.line += 1;
            return Err(self.problem("more text after the end line"));
        }
        Ok(())
    }
}

fn quoted_line(line: &str) -> String {
    let short: String = line.chars().take(80).collect();
    if short.len() == line.len() && !line.contains(char::is_control) {
        format!("`{line}`")
    } else {
        quoted(line)
    }
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
    fn a_missing_or_doubled_line_is_noticed() {
        let bytes = unit_bytes();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|&b| b == b'\n').collect();
        for skip in 0..lines.len() {
            let less: Vec<u8> =
                lines.iter().enumerate().filter(|(i, _)| *i != skip).flat_map(|(_, l)| l.to_vec()).collect();
            assert!(parse(&less).problem.is_some(), "without line {}", skip + 1);
            let more: Vec<u8> = [&lines[..=skip], &lines[skip..]].concat().concat();
            assert!(parse(&more).problem.is_some(), "with line {} twice", skip + 1);
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut state = 1u64;
        for length in 0..300 {
            let noise: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    b"#unit,1\n.taskend\xff"[(state >> 33) as usize % 17]
                })
                .collect();
            assert!(parse(&noise).problem.is_some());
            let behind_header = [header(&manifest(), UNIT).as_bytes(), &noise].concat();
            assert!(parse(&behind_header).problem.is_some());
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
