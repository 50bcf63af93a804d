//! Finding and reading the studies that a report is about.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Metric, Point, Samples};
use host_sim::error::Error;
use host_sim::results::{Kind, Loaded, Manifest, Study, Task, TaskSummary, Timing};

#[derive(Clone, Debug)]
pub struct StudyData {
    pub name: String,
    pub manifest: Manifest,
    pub rows: Vec<TaskSummary>,
    /// What is unfinished or damaged, one line each.
    pub notes: Vec<String>,
    pub timing: Option<Timing>,
    /// How every task went, query by query; only if the page shows it.
    pub trails: Vec<Trail>,
}

#[derive(Clone, Debug)]
pub struct Trail {
    /// Index of the variant.
    pub variant: usize,
    /// Task, from 1.
    pub task: u32,
    /// What was spent, and the best true value tried by then; a step at every query.
    pub steps: Vec<(f64, f64)>,
    /// Charged queries at every fidelity.
    pub counts: Vec<u32>,
    pub optimum: f64,
}

impl Trail {
    fn of(variant: usize, task: u32, rows: &Task) -> Self {
        let truth = rows.rows.last().map_or(0, |row| row.fidelity as usize);
        let (mut spent, mut best) = (0.0, f64::NEG_INFINITY);
        let mut trail =
            Self { variant, task, steps: Vec::new(), counts: vec![0; truth], optimum: rows.terms.optimum };
        for row in rows.rows.iter().filter(|row| row.kind != Kind::Recommend) {
            spent += row.cost;
            best = row.truth.map_or(best, |truth| best.max(truth));
            trail.steps.push((spent, best));
            if let Some(count) = trail.counts.get_mut(row.fidelity as usize - 1).filter(|_| row.cost > 0.0) {
                *count += 1;
            }
        }
        trail
    }
}

impl StudyData {
    fn read(folder: &Path, wants_trails: fn(&Manifest) -> bool) -> Result<Self, Error> {
        let study = Study::open(folder)?;
        let Loaded { rows, mut notes } = study.load()?;
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        // A page can do without the time that the study took.
        let timing = study.timing().unwrap_or_else(|error| {
            notes.push(error.to_string());
            None
        });
        let manifest = study.manifest().clone();
        let trails = if wants_trails(&manifest) { trails(&study)? } else { Vec::new() };
        Ok(Self { name, manifest, rows, notes, timing, trails })
    }

    /// How success is measured: as the paper does for the problem.
    pub fn metric(&self) -> Metric {
        Metric::of(&self.manifest)
    }

    pub fn samples(&self, point: Point) -> Samples {
        Samples::new(&self.manifest, &self.rows, self.metric(), point)
    }

    /// The least and the greatest number of finished experiments over variants, each counted by its last task.
    pub fn finished(&self) -> (usize, usize) {
        let last = self.manifest.tasks;
        let count = |v: usize| self.rows.iter().filter(|r| r.variant == v && r.task == last).count();
        let counts: Vec<usize> = (0..self.manifest.variants.len()).map(count).collect();
        (counts.iter().copied().min().unwrap_or(0), counts.iter().copied().max().unwrap_or(0))
    }
}

/// All closed tasks of all units that are there; results may have been kept without them.
fn trails(study: &Study) -> Result<Vec<Trail>, Error> {
    let mut trails = Vec::new();
    for unit in study.manifest().units() {
        let Some(found) = study.read_unit(unit)? else { continue };
        trails.extend(found.tasks.iter().zip(1..).map(|(task, n)| Trail::of(unit.variant, n, task)));
    }
    Ok(trails)
}

/// Reads all studies in the folders, or in the folders directly below them. A study that cannot be read does not hide
/// the others: its error comes beside them. A folder without any study is an error.
pub fn load(
    folders: &[PathBuf],
    trails: fn(&Manifest) -> bool,
) -> Result<(Vec<StudyData>, Vec<Error>), Error> {
    let (mut studies, mut unreadable) = (Vec::new(), Vec::new());
    for folder in folders {
        for found in studies_in(folder)? {
            match StudyData::read(&found, trails) {
                Ok(study) => studies.push(study),
                Err(error) => unreadable.push(error),
            }
        }
    }
    Ok((studies, unreadable))
}

fn studies_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_study = |path: &PathBuf| path.join("study.json").exists();
    if is_study(&folder.to_owned()) {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = fs::read_dir(folder).map_err(Error::io("read the folder", folder))?;
    let paths = entries.collect::<Result<Vec<_>, _>>().map_err(Error::io("read the folder", folder))?;
    let mut found: Vec<PathBuf> = paths.into_iter().map(|e| e.path()).filter(is_study).collect();
    found.sort();
    match found.is_empty() {
        true => Err(Error::refused(folder, "holds no study: neither it nor a folder in it has a study.json")),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::results::fixture::whole_study;

    #[test]
    fn finds_studies_in_and_below_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(&folder.path().join("b"));
        whole_study(&folder.path().join("a"));
        let names = |path: PathBuf| -> Vec<String> {
            load(&[path], |_| true).unwrap().0.into_iter().map(|s| s.name).collect()
        };
        assert_eq!(names(folder.path().to_owned()), ["a", "b"]);
        assert_eq!(names(folder.path().join("b")), ["b"]);
        assert!(
            load(&[folder.path().join("a/units")], |_| true).unwrap_err().to_string().contains("no study")
        );
        assert!(load(&[folder.path().join("c")], |_| true).is_err());
    }

    #[test]
    fn a_damaged_study_does_not_hide_the_others() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(&folder.path().join("a"));
        whole_study(&folder.path().join("b"));
        fs::write(folder.path().join("a/study.json"), "nonsense").unwrap();
        let (studies, unreadable) = load(&[folder.path().to_owned()], |_| true).unwrap();
        assert_eq!((studies.len(), unreadable.len()), (1, 1));
        assert!(unreadable[0].to_string().contains("a/study.json, line 1"), "{unreadable:?}");
        assert_eq!(studies[0].finished(), (2, 2));
    }

    #[test]
    fn a_damaged_time_is_a_note() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(folder.path());
        fs::write(folder.path().join("timing.json"), "nonsense").unwrap();
        let (studies, unreadable) = load(&[folder.path().to_owned()], |_| true).unwrap();
        assert!(unreadable.is_empty() && studies[0].timing.is_none());
        assert!(studies[0].notes[0].contains("timing.json"), "{:?}", studies[0].notes);
    }
}
