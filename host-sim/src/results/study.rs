//! A study's folder: created, opened, continued, summed up.

use std::fs;
use std::path::{Path, PathBuf};

use super::disk::{read_if_there, remove_if_there, remove_leftovers, unseal, write_atomically};
use super::unit::unit_line;
use super::writer::state_name;
use super::{Manifest, TaskSummary, Timing, Unit, UnitId, UnitWriter, summary};
use crate::error::Error;
use crate::words::counted;

/// A folder that holds the results of a study.
#[derive(Clone, Debug)]
pub struct Study {
    folder: PathBuf,
    manifest: Manifest,
}

/// How a unit stands when its file is opened for writing.
#[derive(Debug)]
pub enum Resumed {
    Finished,
    /// Work goes on with task [`UnitWriter::next_task`].
    Continue {
        writer: Box<UnitWriter>,
        /// The optimizer's state after the task before, if there is such a task.
        state: Option<Vec<u8>>,
        /// What was dropped and why, if anything was.
        note: Option<String>,
    },
}

/// The summary of a study, from `tasks.csv` or else from its units.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// One row per closed task, in canonical order.
    pub rows: Vec<TaskSummary>,
    /// What is damaged or unfinished, one line each.
    pub notes: Vec<String>,
}

impl Study {
    /// Makes the folder of a new study; refuses one that already holds a study.
    pub fn create(folder: &Path, manifest: Manifest) -> Result<Self, Error> {
        let study = Self::new(folder, manifest)?;
        let path = study.manifest_path();
        if path.exists() {
            let problem = "already holds a study: resume it, or choose another folder";
            return Err(Error::refused(folder, problem));
        }
        if folder.join("units").read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::refused(folder, "holds units without a study.json: choose another folder"));
        }
        study.write_manifest()?;
        Ok(study)
    }

    /// Opens the folder to go on with the study, or creates it. The study on disk must be the same, except that it
    /// may have had fewer experiments.
    pub fn resume(folder: &Path, manifest: Manifest) -> Result<Self, Error> {
        let study = Self::new(folder, manifest)?;
        if !study.manifest_path().exists() {
            return Self::create(folder, study.manifest);
        }
        let found = Self::open(folder)?.manifest;
        let grown = Manifest {
            experiments: study.manifest.experiments,
            command: study.manifest.command.clone(),
            ..found.clone()
        };
        if let Some(field) = grown.first_difference(&study.manifest) {
            let problem = format!("holds a study that differs in its {field}: choose another folder");
            return Err(Error::refused(folder, problem));
        }
        if found.experiments > study.manifest.experiments {
            let problem =
                format!("holds a study of {} already", counted(found.experiments as usize, "experiment"));
            return Err(Error::refused(folder, problem));
        }
        remove_leftovers(folder)?;
        remove_leftovers(&folder.join("units"))?;
        // Derived from the units, and soon out of date.
        remove_if_there(&study.summary_path())?;
        if found != study.manifest {
            study.write_manifest()?;
        }
        Ok(study)
    }

    pub fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("study.json");
        let missing = || Error::refused(folder, "is not a study: it has no study.json");
        let text = read_if_there(&path)?.ok_or_else(missing)?;
        let text = String::from_utf8(text).map_err(|_| Error::damaged(&path, 1, "the file is not text"))?;
        let manifest = Manifest::from_json(&text, &path)?;
        Ok(Self { folder: folder.to_owned(), manifest })
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn unit_path(&self, unit: UnitId) -> PathBuf {
        self.folder.join("units").join(self.manifest.unit_name(unit) + ".csv")
    }

    /// Opens a unit for writing, after what is already done. Work goes on from the state that was saved with
    /// [`UnitWriter::save_snapshot`]: tasks behind it are done again.
    pub fn open_unit(&self, unit: UnitId) -> Result<Resumed, Error> {
        let (path, snapshot_path) = (self.unit_path(unit), self.unit_path(unit).with_extension("snapshot"));
        let bytes = read_if_there(&path)?.unwrap_or_default();
        let found = Unit::parse(&bytes, &self.manifest, unit);
        let Some(problem) = found.problem else {
            // A kill may have come between the last line and the end of the saved state.
            super::disk::remove_if_there(&snapshot_path)?;
            return Ok(Resumed::Finished);
        };
        if problem.foreign {
            return Err(Error::damaged(&path, problem.line, problem.what));
        }
        let closed = found.tasks.len();
        let mut notes = Vec::new();
        let started = bytes.len() > super::unit::header(&self.manifest, unit).len();
        if started && found.ends.last() != Some(&bytes.len()) {
            notes.push(Error::damaged(&path, problem.line, problem.what).to_string());
        }
        let (kept, state) = match closed > 0 {
            true => usable_snapshot(&snapshot_path, &unit_line(&self.manifest, unit), closed, &mut notes),
            false => (closed, None),
        };
        let end = kept.checked_sub(1).map_or(0, |last| found.ends[last]);
        let place = (path.as_path(), snapshot_path.as_path(), &self.manifest);
        let writer = UnitWriter::open(place, unit, &bytes[..end], &found.tasks[..kept])?;
        let going_on = || format!("{}; going on after task {kept}", notes.join("; "));
        let note = (!notes.is_empty()).then(going_on);
        Ok(Resumed::Continue { writer: Box::new(writer), state, note })
    }

    /// Reads as much of a unit as is sound; `None` when it was not begun.
    pub fn read_unit(&self, unit: UnitId) -> Result<Option<Unit>, Error> {
        let bytes = read_if_there(&self.unit_path(unit))?;
        Ok(bytes.map(|bytes| Unit::parse(&bytes, &self.manifest, unit)))
    }

    /// Reads a unit that must be finished and sound.
    pub fn finished_unit(&self, unit: UnitId) -> Result<Unit, Error> {
        let path = self.unit_path(unit);
        let missing = || Error::refused(&path, "the unit is missing");
        let found = self.read_unit(unit)?.ok_or_else(missing)?;
        match found.problem {
            Some(problem) => Err(Error::damaged(&path, problem.line, problem.what)),
            None => Ok(found),
        }
    }

    /// Sums the units up in `tasks.csv`; units that are missing or unfinished contribute their closed tasks.
    pub fn write_summary(&self) -> Result<(), Error> {
        let rows = self.sum_up()?.rows;
        write_atomically(&self.summary_path(), summary::format(&rows, &self.manifest).as_bytes())
    }

    /// The summary: from `tasks.csv` where there is one, else from the units as far as they are done. A damaged
    /// `tasks.csv` is replaced by what the units say, if there are any and all of them are sound.
    pub fn load(&self) -> Result<Loaded, Error> {
        let path = self.summary_path();
        let Some(bytes) = read_if_there(&path)? else { return self.sum_up() };
        match summary::parse(&bytes, &self.manifest, &path) {
            Ok(rows) => Ok(Loaded { rows, notes: Vec::new() }),
            Err(damage) => self.rebuilt(damage),
        }
    }

    /// The summary from sound units in place of a damaged one.
    fn rebuilt(&self, damage: Error) -> Result<Loaded, Error> {
        let Loaded { rows, notes } = self.sum_up()?;
        if rows.is_empty() || !notes.is_empty() {
            return Err(damage);
        }
        Ok(Loaded { rows, notes: vec![format!("{damage}; its rows are taken from the units")] })
    }

    /// How long the study took, if that was recorded.
    pub fn timing(&self) -> Result<Option<Timing>, Error> {
        Timing::read(&self.folder.join("timing.json"))
    }

    /// Adds a run to what `timing.json` tells.
    pub fn add_timing(&self, run: Timing) -> Result<(), Error> {
        let before = self.timing()?.unwrap_or_default();
        before.plus(run).write(&self.folder.join("timing.json"))
    }

    /// A study that may or may not be in the folder.
    pub fn new(folder: &Path, manifest: Manifest) -> Result<Self, Error> {
        let manifest = manifest.checked().map_err(|problem| Error::refused(folder, problem))?;
        Ok(Self { folder: folder.to_owned(), manifest })
    }

    /// Writes `study.json`, which makes a folder a study.
    pub fn write_manifest(&self) -> Result<(), Error> {
        self.make_folders()?;
        write_atomically(&self.manifest_path(), self.manifest.to_json().as_bytes())
    }

    pub fn make_folders(&self) -> Result<(), Error> {
        let units = self.folder.join("units");
        fs::create_dir_all(&units).map_err(Error::io("create the folder", &units))
    }

    pub fn manifest_path(&self) -> PathBuf {
        self.folder.join("study.json")
    }

    fn summary_path(&self) -> PathBuf {
        self.folder.join("tasks.csv")
    }

    fn sum_up(&self) -> Result<Loaded, Error> {
        let mut loaded = Loaded { rows: Vec::new(), notes: Vec::new() };
        for unit in self.manifest.units() {
            let Some(found) = self.read_unit(unit)? else { continue };
            loaded.rows.extend(found.summaries(unit));
            if let Some(problem) = found.problem {
                let path = self.unit_path(unit);
                loaded.notes.push(Error::damaged(&path, problem.line, problem.what).to_string());
            }
        }
        Ok(loaded)
    }
}

/// How many of the closed tasks can be kept, given the state that was saved, and that state.
fn usable_snapshot(
    path: &Path,
    unit_line: &str,
    closed: usize,
    notes: &mut Vec<String>,
) -> (usize, Option<Vec<u8>>) {
    let note = match unseal(path) {
        Ok(Some((name, bytes))) => {
            match (1..=closed).find(|task| name == state_name(unit_line, *task as u32)) {
                Some(task) => return (task, Some(bytes)),
                None => format!(
                    "{}: the saved state is another unit's, or of a task that is lost",
                    path.display()
                ),
            }
        }
        Ok(None) => format!("{}: the saved state is missing", path.display()),
        Err(error) => error.to_string(),
    };
    notes.push(note);
    (0, None)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{UNIT, manifest, unit_bytes, whole_study, write_task, write_units};
    use super::*;

    fn continued(study: &Study) -> (Box<UnitWriter>, Option<Vec<u8>>, Option<String>) {
        match study.open_unit(UNIT).unwrap() {
            Resumed::Continue { writer, state, note } => (writer, state, note),
            Resumed::Finished => panic!("finished"),
        }
    }

    #[test]
    fn a_finished_unit_loses_the_state_that_a_kill_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(folder.path());
        let study = Study::resume(folder.path(), manifest()).unwrap();
        let left = study.unit_path(UNIT).with_extension("snapshot");
        fs::write(&left, "state after 3").unwrap();
        assert!(matches!(study.open_unit(UNIT), Ok(Resumed::Finished)));
        assert!(!left.exists());
    }

    #[test]
    fn a_study_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        Study::create(folder.path(), manifest()).unwrap();
        let error = Study::create(folder.path(), manifest()).unwrap_err().to_string();
        assert!(error.contains("already holds a study"), "{error}");
    }

    #[test]
    fn resume_grows_a_study_but_never_changes_it() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(folder.path());
        let grown = Manifest { experiments: 5, ..manifest() };
        let study = Study::resume(folder.path(), grown.clone()).unwrap();
        assert!(matches!(study.open_unit(UNIT).unwrap(), Resumed::Finished));
        assert_eq!(Study::open(folder.path()).unwrap().manifest(), &grown);
        let error = Study::resume(folder.path(), manifest()).unwrap_err().to_string();
        assert!(error.contains("5 experiments"), "{error}");
        let error = Study::resume(folder.path(), Manifest { seed: 1, ..grown }).unwrap_err().to_string();
        assert!(error.contains("seed"), "{error}");
    }

    #[test]
    fn interrupted_anywhere_the_unit_ends_up_the_same() {
        let whole = unit_bytes();
        let folder = tempfile::tempdir().unwrap();
        let study = Study::create(folder.path(), manifest()).unwrap();
        let path = study.unit_path(UNIT);
        // Every byte would take half a minute of waiting for the disk; the parser's own test tries them all.
        for length in (0..whole.len()).step_by(19) {
            fs::write(&path, &whole[..length]).unwrap();
            let (mut writer, _, note) = continued(&study);
            let next = writer.next_task();
            for task in next..=3 {
                write_task(&mut writer, UNIT, task);
            }
            writer.finish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), whole, "cut at {length}");
            assert!(note.is_none_or(|n| n.contains(&format!("after task {}", next - 1))));
        }
    }

    #[test]
    fn work_goes_on_from_the_saved_state() {
        let folder = tempfile::tempdir().unwrap();
        let study = Study::create(folder.path(), manifest()).unwrap();
        let (mut writer, state, note) = continued(&study);
        assert_eq!((writer.next_task(), state, note), (1, None, None));
        write_task(&mut writer, UNIT, 1);
        write_task(&mut writer, UNIT, 2);
        drop(writer);
        let (writer, state, note) = continued(&study);
        assert_eq!((writer.next_task(), state, note), (3, Some(b"state after 2".to_vec()), None));
    }

    #[test]
    fn a_task_closed_after_the_last_state_is_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let study = Study::create(folder.path(), manifest()).unwrap();
        let (mut writer, ..) = continued(&study);
        write_task(&mut writer, UNIT, 1);
        let state = fs::read(study.unit_path(UNIT).with_extension("snapshot")).unwrap();
        write_task(&mut writer, UNIT, 2);
        drop(writer);
        fs::write(study.unit_path(UNIT).with_extension("snapshot"), state).unwrap();
        let (writer, state, _) = continued(&study);
        assert_eq!((writer.next_task(), state), (2, Some(b"state after 1".to_vec())));
    }

    #[test]
    fn without_a_sound_state_the_unit_starts_again_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let study = Study::create(folder.path(), manifest()).unwrap();
        let snapshot_path = study.unit_path(UNIT).with_extension("snapshot");
        let spoil: [fn(&Path); 2] = [|p| fs::remove_file(p).unwrap(), |p| fs::write(p, b"junk").unwrap()];
        for spoil in spoil {
            let (mut writer, ..) = continued(&study);
            write_task(&mut writer, UNIT, 1);
            drop(writer);
            spoil(&snapshot_path);
            let (mut writer, state, note) = continued(&study);
            assert_eq!((writer.next_task(), state), (1, None));
            assert!(note.unwrap().contains(".snapshot"));
            for task in 1..=3 {
                write_task(&mut writer, UNIT, task);
            }
            writer.finish().unwrap();
            assert_eq!(fs::read(study.unit_path(UNIT)).unwrap(), unit_bytes());
            fs::remove_file(study.unit_path(UNIT)).unwrap();
        }
    }

    #[test]
    fn a_foreign_unit_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let study = Study::create(folder.path(), Manifest { seed: 8, ..manifest() }).unwrap();
        fs::write(study.unit_path(UNIT), unit_bytes()).unwrap();
        let error = study.open_unit(UNIT).unwrap_err().to_string();
        assert!(error.contains("other settings"), "{error}");
        assert_eq!(fs::read(study.unit_path(UNIT)).unwrap(), unit_bytes());
    }

    #[test]
    fn summary_from_units_and_from_file_agree() {
        let folder = tempfile::tempdir().unwrap();
        let study = whole_study(folder.path());
        let from_file = study.load().unwrap();
        fs::remove_file(folder.path().join("tasks.csv")).unwrap();
        let from_units = study.load().unwrap();
        assert_eq!(from_file.rows, from_units.rows);
        assert_eq!(from_file.rows.len(), 2 * 2 * 3);
        assert!(from_units.notes.is_empty());
    }

    #[test]
    fn a_damaged_summary_is_taken_from_sound_units_and_only_from_those() {
        let folder = tempfile::tempdir().unwrap();
        let study = whole_study(folder.path());
        let sound = study.load().unwrap().rows;
        let path = folder.path().join("tasks.csv");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen(",1,1,", ",1,2,", 1)).unwrap();
        let loaded = study.load().unwrap();
        assert_eq!(loaded.rows, sound);
        assert!(loaded.notes[0].contains("tasks.csv, line "), "{:?}", loaded.notes);
        fs::write(study.unit_path(UNIT), &unit_bytes()[..60]).unwrap();
        assert!(study.load().unwrap_err().to_string().contains("tasks.csv, line "));
        fs::remove_dir_all(folder.path().join("units")).unwrap();
        assert!(study.load().unwrap_err().to_string().contains("tasks.csv, line "));
    }

    #[test]
    fn an_unfinished_study_loads_with_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let study = Study::create(folder.path(), manifest()).unwrap();
        write_units(&study, [UNIT]);
        let bytes = unit_bytes();
        fs::write(study.unit_path(UNIT), &bytes[..bytes.len() - 60]).unwrap();
        let loaded = study.load().unwrap();
        assert_eq!(loaded.rows.len(), 2);
        assert!(loaded.notes[0].contains("cut off"), "{:?}", loaded.notes);
    }

    #[test]
    fn a_folder_without_a_study_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Study::open(&folder.path().join("nothing")).unwrap_err().to_string();
        assert!(error.contains("nothing") && error.contains("not a study"), "{error}");
        fs::write(folder.path().join("file"), "").unwrap();
        let error = Study::create(&folder.path().join("file"), manifest()).unwrap_err().to_string();
        assert!(error.contains("cannot create"), "{error}");
    }
}
