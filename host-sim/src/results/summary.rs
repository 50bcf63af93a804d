//! `tasks.csv`: what became of every task, in one row each; small enough to keep for ever.

use std::path::Path;

use super::row::{number, optional, parse_number, parse_optional, quoted};
use super::{Error, Kind, Manifest, Task, UnitId};
use crate::checksum::crc32;

/// The columns of format 1.
const COLUMNS: &str = "variant,experiment,task,queries,spent,best,recommended,optimum,mean_tried";
/// The columns that format 2 has behind those of format 1.
const COLUMNS_2: &str = "meanwhile,below,worst,deployed";

fn columns(format: u32) -> String {
    if format < 2 { COLUMNS.into() } else { format!("{COLUMNS},{COLUMNS_2}") }
}

/// What became of one task. Values have nine significant digits.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSummary {
    /// Index of the variant in the manifest, from 0.
    pub variant: usize,
    /// Experiment, from 1.
    pub experiment: u32,
    /// Task, from 1.
    pub task: u32,
    /// Number of queries charged to the budget (initial points are not).
    pub queries: u32,
    /// What they cost together.
    pub spent: f64,
    /// The best true value among all points tried, initial ones included.
    pub best: f64,
    /// The true value of the recommended setting.
    pub recommended: f64,
    /// The true optimum.
    pub optimum: f64,
    /// Mean true value of the charged queries: what the tuning itself cost; none when nothing was charged.
    pub mean_tried: Option<f64>,
    /// Mean true value over all trials, initial ones included, weighted by their time: what users got meanwhile. None
    /// in format 1, as are all below.
    pub meanwhile: Option<f64>,
    /// Share of the trials whose true value is below the floor; none without a floor.
    pub below: Option<f64>,
    /// The lowest true value of a trial.
    pub worst: Option<f64>,
    /// The true value of the point in use at the task's start; none if the task did not start from one.
    pub deployed: Option<f64>,
}

impl TaskSummary {
    /// Sums a closed task up.
    pub fn of(unit: UnitId, task: u32, rows: &Task) -> Self {
        let tried = || rows.rows.iter().filter(|r| r.kind != Kind::Recommend);
        let charged: Vec<_> = tried().filter(|r| r.cost > 0.0).collect();
        let known: Vec<f64> = charged.iter().filter_map(|r| r.truth).collect();
        let total: f64 = known.iter().sum();
        let recommended = rows.rows.last().and_then(|r| r.truth).unwrap_or(f64::NAN);
        // Where no point was tried at the last fidelity, the recommended one is all that is known.
        let best = tried().filter_map(|r| r.truth).reduce(f64::max).unwrap_or(recommended);
        Self {
            variant: unit.variant,
            experiment: unit.experiment,
            task,
            queries: charged.len() as u32,
            spent: rounded(charged.iter().map(|r| r.cost).sum()),
            best: rounded(best),
            recommended: rounded(recommended),
            optimum: rounded(rows.terms.optimum),
            mean_tried: (!known.is_empty()).then(|| rounded(total / known.len() as f64)),
            meanwhile: meanwhile(rows).map(rounded),
            below: rows.terms.floor.map(|floor| rounded(share_below(rows, floor))),
            worst: timed(rows).map(|(_, truth)| truth).reduce(f64::min).map(rounded),
            deployed: rows.terms.deployed.map(rounded),
        }
    }
}

/// Time and true value of every trial; of none in format 1, which does not tell the time.
fn timed(task: &Task) -> impl Iterator<Item = (f64, f64)> {
    task.rows.iter().filter_map(|row| Some((row.time?, row.truth?)))
}

/// Mean true value by time; none if no time passed.
fn meanwhile(task: &Task) -> Option<f64> {
    let (time, sum) = timed(task).fold((0.0, 0.0), |(time, sum), (t, truth)| (time + t, sum + t * truth));
    (time > 0.0).then(|| sum / time)
}

fn share_below(task: &Task, floor: f64) -> f64 {
    let (all, below) = (timed(task).count(), timed(task).filter(|(_, truth)| *truth < floor).count());
    below as f64 / all.max(1) as f64
}

/// Nine significant digits: enough for every use of a summary, and half the file.
fn rounded(v: f64) -> f64 {
    format!("{v:.8e}").parse().unwrap_or(v)
}

/// The text of `tasks.csv`.
pub(super) fn format(rows: &[TaskSummary], manifest: &Manifest) -> String {
    let mut text = columns(manifest.format) + "\n";
    for r in rows {
        let key = &manifest.variants[r.variant].key;
        let numbers = [r.spent, r.best, r.recommended, r.optimum].map(number).join(",");
        let tried = optional(r.mean_tried);
        text += &format!("{key},{},{},{},{numbers},{tried}", r.experiment, r.task, r.queries);
        if manifest.format >= 2 {
            let live = [r.meanwhile, r.below, r.worst, r.deployed].map(optional);
            text += &format!(",{}", live.join(","));
        }
        text += "\n";
    }
    let crc = crc32(text.as_bytes());
    text += &format!("#end rows {} crc {crc:08x}\n", rows.len());
    text
}

/// Reads `tasks.csv`; `path` is for the error.
pub(super) fn parse(bytes: &[u8], manifest: &Manifest, path: &Path) -> Result<Vec<TaskSummary>, Error> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
        Error::damaged(path, line, "the line is not text")
    })?;
    let mut rows: Vec<TaskSummary> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let damaged = |problem: String| Error::damaged(path, number, problem);
        if number == 1 {
            if line != columns(manifest.format) {
                return Err(damaged("the columns are not the expected ones".into()));
            }
        } else if line.starts_with('#') {
            return if format(&rows, manifest) == text {
                Ok(rows)
            } else {
                Err(damaged("the rows above do not match their checksum".into()))
            };
        } else {
            let row = parse_row(line, manifest).map_err(damaged)?;
            let place = |r: &TaskSummary| (r.variant, r.experiment, r.task);
            if rows.last().is_some_and(|before| place(before) >= place(&row)) {
                return Err(damaged("the row is out of order or there twice".into()));
            }
            rows.push(row);
        }
    }
    Err(Error::damaged(path, text.lines().count().max(1), "the file is cut off: it has no end line"))
}

fn parse_row(line: &str, manifest: &Manifest) -> Result<TaskSummary, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let columns = columns(manifest.format);
    let columns: Vec<&str> = columns.split(',').collect();
    if fields.len() != columns.len() {
        return Err(format!("{} fields where {} belong", fields.len(), columns.len()));
    }
    let variant = manifest.variants.iter().position(|v| v.key == fields[0]);
    let count = |i: usize| {
        fields[i].parse::<u32>().map_err(|_| format!("{} {} is not a count", columns[i], quoted(fields[i])))
    };
    let value = |i: usize| parse_number(columns[i], fields[i]);
    let optional = |i: usize| parse_optional(columns.get(i).unwrap_or(&""), fields.get(i));
    let row = TaskSummary {
        variant: variant.ok_or_else(|| format!("variant {} is not in study.json", quoted(fields[0])))?,
        experiment: count(1)?,
        task: count(2)?,
        queries: count(3)?,
        spent: value(4)?,
        best: value(5)?,
        recommended: value(6)?,
        optimum: value(7)?,
        mean_tried: optional(8)?,
        meanwhile: optional(9)?,
        below: optional(10)?,
        worst: optional(11)?,
        deployed: optional(12)?,
    };
    let known =
        (1..=manifest.experiments).contains(&row.experiment) && (1..=manifest.tasks).contains(&row.task);
    known.then_some(row).ok_or_else(|| "the experiment or task is not in study.json".to_string())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{manifest, whole_study};
    use super::super::{Row, Terms};
    use super::*;

    #[test]
    fn sums_a_task_up() {
        let row = |kind, cost, truth| {
            let time = Some(f64::max(cost, 5.0));
            Row { kind, fidelity: 1, cost, time, x: vec![0.0], y: Some(0.0), truth: Some(truth) }
        };
        let rows = vec![
            row(Kind::Initial, 0.0, 2.0),
            row(Kind::Carried, 10.0, 1.0),
            row(Kind::Search, 25.0, 0.5),
            Row { y: None, time: None, ..row(Kind::Recommend, 0.0, 9.0) },
        ];
        let terms = Terms { optimum: 10.0, deployed: Some(2.0), floor: Some(1.0) };
        let unit = UnitId { variant: 1, experiment: 2 };
        let sum = TaskSummary::of(unit, 3, &Task { terms, rows: rows.clone() });
        let expected = TaskSummary {
            variant: 1,
            experiment: 2,
            task: 3,
            queries: 2,
            spent: 35.0,
            best: 2.0,
            recommended: 9.0,
            optimum: 10.0,
            mean_tried: Some(0.75),
            meanwhile: Some(0.8125),
            below: Some(0.333333333),
            worst: Some(0.5),
            deployed: Some(2.0),
        };
        assert_eq!(sum, expected);
        let old = rows.into_iter().map(|row| Row { time: None, ..row }).collect();
        let terms = Terms { optimum: 10.0, ..Terms::default() };
        let old = TaskSummary::of(unit, 3, &Task { terms, rows: old });
        assert_eq!(
            old,
            TaskSummary { meanwhile: None, below: None, worst: None, deployed: None, ..expected }
        );
    }

    #[test]
    fn format_1_is_still_read() {
        let text = "variant,experiment,task,queries,spent,best,recommended,optimum,mean_tried\n\
                    mft-mes,2,3,2,35,2,9,10,0.75\n";
        let text = format!("{text}#end rows 1 crc {:08x}\n", crc32(text.as_bytes()));
        let manifest = Manifest { format: 1, ..manifest() };
        let rows = parse(text.as_bytes(), &manifest, Path::new("tasks.csv")).unwrap();
        assert_eq!((rows[0].mean_tried, rows[0].meanwhile, rows[0].deployed), (Some(0.75), None, None));
        assert_eq!(format(&rows, &manifest), text);
    }

    #[test]
    fn damage_anywhere_is_an_error_naming_a_line() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(folder.path());
        let path = folder.path().join("tasks.csv");
        let good = std::fs::read(&path).unwrap();
        let whole = parse(&good, &manifest(), &path).unwrap();
        assert_eq!(format(&whole, &manifest()).as_bytes(), good);
        for place in 0..good.len() {
            let cut = parse(&good[..place], &manifest(), &path).unwrap_err().to_string();
            assert!(cut.contains("line "), "{cut}");
            for altered in [good[place] ^ 1, b'\n', 0xff] {
                let mut bad = good.clone();
                bad[place] = altered;
                assert!(altered == good[place] || parse(&bad, &manifest(), &path).is_err(), "byte {place}");
            }
        }
    }

    #[test]
    fn a_hundred_experiments_stay_small() {
        let rows: Vec<TaskSummary> = (1..=100)
            .map(|experiment| TaskSummary {
                variant: 1,
                experiment,
                task: 10,
                queries: 35,
                spent: 500.0,
                best: rounded(3.0 + f64::from(experiment).sin() / 3.0),
                recommended: rounded(3.0 + f64::from(experiment).cos() / 3.0),
                optimum: rounded(3.4 + f64::from(experiment).cos() / 9.0),
                mean_tried: Some(rounded(1.0 + f64::from(experiment).cos() / 3.0)),
                meanwhile: Some(rounded(1.0 + f64::from(experiment).sin() / 3.0)),
                below: Some(rounded(f64::from(experiment) / 300.0)),
                worst: Some(rounded(0.5 + f64::from(experiment).cos() / 3.0)),
                deployed: Some(rounded(1.0 + f64::from(experiment).cos() / 5.0)),
            })
            .collect();
        assert!(format(&rows, &manifest()).len() < 100 * 130);
    }
}
