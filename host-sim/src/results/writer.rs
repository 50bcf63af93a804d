//! Writing a unit's file as the work goes on.
//!
//! Every row is in the file when [`TaskWriter::push`] returns, every closed task on the disk when
//! [`TaskWriter::close`] does. A task that was begun and not closed is cut off when the next one begins.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::row::{Place, format_row};
use super::unit::{end_line, header, task_fault, task_line, unit_line};
use super::{Kind, Manifest, Row, Task, Terms, UnitId, disk};
use crate::error::Error;
use crate::results::Crc;

#[derive(Debug)]
pub struct UnitWriter {
    file: File,
    path: PathBuf,
    snapshot_path: PathBuf,
    unit: UnitId,
    unit_line: String,
    key: String,
    all_tasks: u32,
    closed: Closed,
}

#[derive(Clone, Debug, Default)]
struct Closed {
    tasks: u32,
    rows: usize,
    bytes: u64,
    crc: Crc,
}

impl Closed {
    fn add(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.crc.update(text.as_bytes());
    }
}

impl UnitWriter {
    /// Starts or continues the file: `kept` is the text of the tasks to keep, or empty for a new beginning.
    pub(super) fn open(
        study: (&Path, &Path, &Manifest),
        unit: UnitId,
        kept: &[u8],
        tasks: &[Task],
    ) -> Result<Self, Error> {
        let (path, snapshot_path, manifest) = study;
        let file = File::options().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(Error::io("write", path))?;
        if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
            return Err(Error::refused(path, "another process is writing it"));
        }
        let mut writer = Self {
            file,
            path: path.to_owned(),
            snapshot_path: snapshot_path.to_owned(),
            unit,
            unit_line: unit_line(manifest, unit),
            key: manifest.variants[unit.variant].key.clone(),
            all_tasks: manifest.tasks,
            closed: Closed::default(),
        };
        if tasks.is_empty() {
            writer.cut_back()?;
            writer.append(&header(manifest, unit))?;
            writer.closed.add(&header(manifest, unit));
        } else {
            writer.closed.crc.update(kept);
            writer.closed.bytes = kept.len() as u64;
            writer.closed.tasks = tasks.len() as u32;
            writer.closed.rows = tasks.iter().map(|t| t.rows.len()).sum();
            writer.cut_back()?;
        }
        Ok(writer)
    }

    /// The task to be written next, from 1.
    pub fn next_task(&self) -> u32 {
        self.closed.tasks + 1
    }

    /// Begins the next task, whose terms are known to the simulator.
    pub fn begin_task(&mut self, terms: Terms) -> Result<TaskWriter<'_>, Error> {
        if self.closed.tasks == self.all_tasks {
            return Err(Error::refused(&self.path, format!("all {} tasks are written", self.all_tasks)));
        }
        if !terms.is_sound() {
            return Err(Error::refused(
                &self.path,
                "the task's optimum, point in use or floor is not finite",
            ));
        }
        self.cut_back()?;
        let after = self.closed.clone();
        let task = Task { terms, rows: Vec::new() };
        Ok(TaskWriter { unit: self, task, crc: Crc::new(), after })
    }

    /// Keeps the optimizer's state after the last closed task, for a later resume; replaces the state before it.
    pub fn save_snapshot(&self, bytes: &[u8]) -> Result<(), Error> {
        disk::seal(&self.snapshot_path, &state_name(&self.unit_line, self.closed.tasks), bytes)
    }

    /// Closes the file after its last task, and drops the saved state.
    pub fn finish(mut self) -> Result<(), Error> {
        let Closed { tasks, rows, .. } = self.closed;
        if tasks != self.all_tasks {
            let problem = format!("only {tasks} of {} tasks are written", self.all_tasks);
            return Err(Error::refused(&self.path, problem));
        }
        self.cut_back()?;
        let crc = self.closed.crc.value();
        self.append(&end_line(tasks, rows, crc))?;
        self.sync()?;
        disk::remove_if_there(&self.snapshot_path)
    }

    fn cut_back(&mut self) -> Result<(), Error> {
        let place = self.closed.bytes;
        let cut = self.file.set_len(place).and_then(|()| self.file.seek(SeekFrom::Start(place)));
        cut.map(drop).map_err(Error::io("write", &self.path))
    }

    fn append(&mut self, text: &str) -> Result<(), Error> {
        self.file.write_all(text.as_bytes()).map_err(Error::io("write", &self.path))
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.file.sync_data().map_err(Error::io("write", &self.path))
    }
}

/// What a saved state of the unit that the line names is called.
pub(super) fn state_name(unit_line: &str, task: u32) -> String {
    format!("{} state after task {task}", unit_line.trim_end())
}

#[derive(Debug)]
#[must_use = "a task counts only when it is closed"]
pub struct TaskWriter<'a> {
    unit: &'a mut UnitWriter,
    task: Task,
    crc: Crc,
    after: Closed,
}

impl TaskWriter<'_> {
    /// Appends a query, or as the last row the recommendation. A row that makes no sense is refused and not written.
    pub fn push(&mut self, row: Row) -> Result<(), Error> {
        if !row.is_sound() || self.task.rows.last().is_some_and(|last| last.kind == Kind::Recommend) {
            return Err(Error::refused(
                &self.unit.path,
                "a row is not finite, or follows the recommendation",
            ));
        }
        let (task, round) = (self.unit.next_task(), self.task.rows.len() + 1);
        let place = Place { variant: &self.unit.key, experiment: self.unit.unit.experiment, task, round };
        let line = format_row(place, &row, &self.task.terms);
        self.unit.append(&line)?;
        self.crc.update(line.as_bytes());
        self.after.add(&line);
        self.task.rows.push(row);
        Ok(())
    }

    /// Closes the task; it is on the disk from here on.
    pub fn close(mut self) -> Result<(), Error> {
        if let Some(fault) = task_fault(&self.task.rows) {
            return Err(Error::refused(&self.unit.path, fault));
        }
        let rows = self.task.rows.len();
        let line = task_line(self.unit.next_task(), rows, self.crc.value());
        self.unit.append(&line)?;
        self.unit.sync()?;
        self.after.add(&line);
        self.after.tasks += 1;
        self.after.rows += rows;
        self.unit.closed = self.after;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{UNIT, manifest, rows, unit_bytes, write_task};
    use super::*;

    const TERMS: Terms = Terms { optimum: 9.0, deployed: None, floor: None, bounds: Vec::new() };

    fn writer(folder: &Path) -> UnitWriter {
        let (path, state) = (folder.join("u.csv"), folder.join("u.snapshot"));
        UnitWriter::open((&path, &state, &manifest()), UNIT, &[], &[]).unwrap()
    }

    #[test]
    fn an_abandoned_task_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path());
        for task in 1..=manifest().tasks {
            let mut abandoned = writer.begin_task(TERMS).unwrap();
            abandoned.push(rows(UNIT, 1)[0].clone()).unwrap();
            assert!(abandoned.close().is_err(), "a task without a recommendation does not close");
            write_task(&mut writer, UNIT, task);
        }
        let mut extra = writer.begin_task(TERMS).unwrap_err().to_string();
        extra.make_ascii_lowercase();
        assert!(extra.contains("all 3 tasks"), "{extra}");
        writer.finish().unwrap();
        assert_eq!(std::fs::read(folder.path().join("u.csv")).unwrap(), unit_bytes());
        assert!(!folder.path().join("u.snapshot").exists());
    }

    #[test]
    fn rows_that_make_no_sense_are_refused_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path());
        let good = rows(UNIT, 1);
        let mut task = writer.begin_task(TERMS).unwrap();
        for bad in [
            Row { truth: Some(f64::NAN), ..good[0].clone() },
            Row { cost: f64::INFINITY, ..good[0].clone() },
            Row { time: Some(-1.0), ..good[0].clone() },
            Row { x: vec![], ..good[0].clone() },
            Row { y: None, ..good[0].clone() },
            Row { fidelity: 0, ..good[0].clone() },
        ] {
            assert!(task.push(bad).is_err());
        }
        for row in good {
            task.push(row).unwrap();
        }
        assert!(task.push(rows(UNIT, 1)[0].clone()).is_err(), "nothing follows the recommendation");
        task.close().unwrap();
        assert_eq!(writer.next_task(), 2);
        assert!(writer.begin_task(Terms { optimum: f64::NAN, ..TERMS }).is_err());
        assert!(writer.begin_task(Terms { floor: Some(f64::NAN), ..TERMS }).is_err());
        assert!(writer.finish().unwrap_err().to_string().contains("only 1 of 3"));
    }

    #[test]
    fn one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let _first = writer(folder.path());
        let (path, state) = (folder.path().join("u.csv"), folder.path().join("u.snapshot"));
        let second = UnitWriter::open((&path, &state, &manifest()), UNIT, &[], &[]);
        assert!(second.unwrap_err().to_string().contains("another process"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_with_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path());
        let mut task = writer.begin_task(TERMS).unwrap();
        task.unit.file = File::options().write(true).open("/dev/full").unwrap();
        let error = task.push(rows(UNIT, 1)[0].clone()).unwrap_err().to_string();
        assert!(error.contains("u.csv") && error.contains("space"), "{error}");
    }
}
