//! `tasks.csv`: what became of every task, in one row each; small enough to keep for ever.

use std::path::Path;

use super::row::{number, optional, parse_optional};
use super::{Bound, Kind, Manifest, Row, Task, UnitId};
use crate::error::Error;
use crate::results::crc32;

const COLUMNS: &str = "variant,experiment,task,queries,spent,best,recommended,optimum,mean_tried,\
                       meanwhile,below,below_time,worst,deployed";

/// What became of one task. Values have nine significant digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskSummary {
    /// Index of the variant in the manifest, from 0.
    pub variant: usize,
    /// Experiment, from 1.
    pub experiment: u32,
    /// Task, from 1.
    pub task: u32,
    /// Number of queries charged to the budget (initial points are not).
    pub queries: u32,
    pub spent: f64,
    /// The best true value among all points tried, initial ones included.
    pub best: f64,
    pub recommended: f64,
    pub optimum: f64,
    /// Mean true value of the charged queries: what the tuning itself cost; none when nothing was charged.
    pub mean_tried: Option<f64>,
    /// Mean true value over all trials, initial ones included, weighted by their time: what users got meanwhile.
    pub meanwhile: Option<f64>,
    /// Share of the trials whose true value is below the floor; none without a floor.
    pub below: Option<f64>,
    /// Their share of the time.
    pub below_time: Option<f64>,
    pub worst: Option<f64>,
    /// The true value of the point in use at the task's start; none if the task did not start from one.
    pub deployed: Option<f64>,
    /// What became of every guard.
    pub guards: Vec<GuardSummary>,
}

/// What became of a guard in a task, by true values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GuardSummary {
    /// Share of the trials that break it, and their share of the time.
    pub broken: f64,
    pub broken_time: f64,
    /// 1 where the recommendation keeps it, else 0.
    pub recommended: f64,
    /// Mean of the KPI over all trials, weighted by their time.
    pub meanwhile: f64,
}

impl GuardSummary {
    const NAMES: [&str; 4] = ["broken", "broken_time", "recommended", "meanwhile"];

    fn of(rows: &Task, index: usize, bound: &Bound) -> Self {
        let (mut trials, mut time, mut sums) = (0.0, 0.0, [0.0; 3]);
        for row in &rows.rows {
            if let (Some(took), Some(&kpi)) = (row.time, row.kpis.get(index)) {
                let broken = f64::from(!bound.is_kept_by(kpi));
                (trials, time) = (trials + 1.0, time + took);
                let terms = [broken, took * broken, took * kpi];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
        }
        let kept =
            rows.rows.last().and_then(|row| row.kpis.get(index)).is_some_and(|kpi| bound.is_kept_by(*kpi));
        let share = |sum: f64, of: f64| rounded(sum / f64::max(of, f64::MIN_POSITIVE));
        Self {
            broken: share(sums[0], trials),
            broken_time: share(sums[1], time),
            recommended: f64::from(kept),
            meanwhile: share(sums[2], time),
        }
    }

    fn numbers(&self) -> [f64; 4] {
        [self.broken, self.broken_time, self.recommended, self.meanwhile]
    }
}

/// The columns of a study: those of all, and some for each of its guards.
fn columns(manifest: &Manifest) -> String {
    let mut columns = COLUMNS.to_string();
    for name in manifest.guards() {
        GuardSummary::NAMES.iter().for_each(|column| columns += &format!(",{column}_{name}"));
    }
    columns
}

impl TaskSummary {
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
            below: rows.terms.floor.map(|floor| rounded(share_below(rows, floor, |_| 1.0))),
            below_time: rows.terms.floor.map(|floor| rounded(share_below(rows, floor, |time| time))),
            worst: timed(rows).map(|(_, truth)| truth).reduce(f64::min).map(rounded),
            deployed: rows.terms.deployed.map(rounded),
            guards: (0..)
                .zip(&rows.terms.bounds)
                .map(|(i, bound)| GuardSummary::of(rows, i, bound))
                .collect(),
        }
    }
}

/// Time and true value of the trials. Of a system in service that is measured, an answer at any fidelity is what its users got.
fn timed(task: &Task) -> impl Iterator<Item = (f64, f64)> {
    let answer = |row: &Row| row.y.filter(|_| task.terms.deployed.is_some());
    task.rows.iter().filter_map(move |row| Some((row.time?, row.truth.or_else(|| answer(row))?)))
}

/// Mean true value by time; none if no time passed.
fn meanwhile(task: &Task) -> Option<f64> {
    let (time, sum) = timed(task).fold((0.0, 0.0), |(time, sum), (t, truth)| (time + t, sum + t * truth));
    (time > 0.0).then(|| sum / time)
}

/// The share of the trials below the floor, each counting what `weight` makes of its time.
fn share_below(task: &Task, floor: f64, weight: fn(f64) -> f64) -> f64 {
    let (all, below) = timed(task).fold((0.0, 0.0), |(all, below), (time, truth)| {
        (all + weight(time), if truth < floor { below + weight(time) } else { below })
    });
    if all > 0.0 { below / all } else { 0.0 }
}

/// Nine significant digits: enough for every use of a summary, and half the file.
fn rounded(v: f64) -> f64 {
    format!("{v:.8e}").parse().unwrap_or(v)
}

pub(super) fn format(rows: &[TaskSummary], manifest: &Manifest) -> String {
    let mut text = format!("{}\n", columns(manifest));
    for r in rows {
        let key = &manifest.variants[r.variant].key;
        let numbers = [r.spent, r.best, r.recommended, r.optimum].map(number).join(",");
        let known = [r.mean_tried, r.meanwhile, r.below, r.below_time, r.worst, r.deployed];
        let known = known.map(optional).join(",");
        let guards: String =
            r.guards.iter().flat_map(GuardSummary::numbers).map(|v| format!(",{}", number(v))).collect();
        text += &format!("{key},{},{},{},{numbers},{known}{guards}\n", r.experiment, r.task, r.queries);
    }
    let end = end_line(rows.len(), &text);
    text + &end
}

fn end_line(rows: usize, text: &str) -> String {
    format!("#end rows {rows} crc {:08x}\n", crc32(text.as_bytes()))
}

/// Reads `tasks.csv`; `path` is for the error.
pub(super) fn parse(bytes: &[u8], manifest: &Manifest, path: &Path) -> Result<Vec<TaskSummary>, Error> {
    let text = String::from_utf8_lossy(bytes);
    let count = text.lines().count();
    let damaged = |line: usize, problem: &str| Error::damaged(path, line.max(1), problem);
    let Some((rows, _)) = text.strip_prefix(&*columns(manifest)).and_then(|rows| rows.split_once("\n#"))
    else {
        return Err(damaged(count, "the file is cut off, or has other columns"));
    };
    let body = &text[..columns(manifest).len() + rows.len() + 1];
    if text[body.len()..] != end_line(rows.lines().count().saturating_sub(1), body) {
        return Err(damaged(count, "the rows above do not match their checksum"));
    }
    let row = |(line, number)| {
        parse_row(line, manifest).ok_or_else(|| damaged(number, "the row is no task of this study"))
    };
    rows.trim_start().lines().zip(2..).map(row).collect()
}

fn parse_row(line: &str, manifest: &Manifest) -> Option<TaskSummary> {
    let fields: Vec<&str> = line.split(',').collect();
    let known: Vec<Option<f64>> =
        fields.get(4..)?.iter().map(|field| parse_optional(field)).collect::<Option<_>>()?;
    let (known, guards) = known.split_at_checked(COLUMNS.split(',').count() - 4)?;
    let &[spent, best, recommended, optimum, mean_tried, meanwhile, below, below_time, worst, deployed] =
        known
    else {
        return None;
    };
    let guard = |numbers: &[Option<f64>; 4]| {
        let [broken, broken_time, recommended, meanwhile] = *numbers;
        let [broken, broken_time] = [broken?, broken_time?];
        Some(GuardSummary { broken, broken_time, recommended: recommended?, meanwhile: meanwhile? })
    };
    let row = TaskSummary {
        variant: manifest.variants.iter().position(|variant| variant.key == fields[0])?,
        experiment: fields[1].parse().ok()?,
        task: fields[2].parse().ok()?,
        queries: fields[3].parse().ok()?,
        spent: spent?,
        best: best?,
        recommended: recommended?,
        optimum: optimum?,
        mean_tried,
        meanwhile,
        below,
        below_time,
        worst,
        deployed,
        guards: guards.as_chunks().0.iter().map(guard).collect::<Option<_>>()?,
    };
    let known =
        (1..=manifest.experiments).contains(&row.experiment) && (1..=manifest.tasks).contains(&row.task);
    known.then_some(row)
}

#[cfg(test)]
mod tests {
    use super::super::Terms;
    use super::super::fixture::{manifest, whole_study};
    use super::*;

    #[test]
    fn sums_a_task_up() {
        let row = |kind, cost, truth| {
            let time = Some(f64::max(cost, 5.0));
            let kpis = vec![truth, cost];
            Row { kind, fidelity: 1, cost, time, x: vec![0.0], y: Some(0.0), truth: Some(truth), kpis }
        };
        let rows = vec![
            row(Kind::Initial, 0.0, 2.0),
            row(Kind::Carried, 10.0, 1.0),
            row(Kind::Search, 25.0, 0.5),
            Row { y: None, time: None, ..row(Kind::Recommend, 0.0, 9.0) },
        ];
        let bounds = vec![Bound { at_most: false, at: 1.0 }, Bound { at_most: true, at: 20.0 }];
        let terms = Terms { optimum: 10.0, deployed: Some(2.0), floor: Some(1.0), bounds };
        let unit = UnitId { variant: 1, experiment: 2 };
        let sum = TaskSummary::of(unit, 3, &Task { terms, rows });
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
            below_time: Some(0.625),
            worst: Some(0.5),
            deployed: Some(2.0),
            guards: vec![
                GuardSummary { broken: 0.333333333, broken_time: 0.625, recommended: 1.0, meanwhile: 0.8125 },
                GuardSummary { broken: 0.333333333, broken_time: 0.625, recommended: 1.0, meanwhile: 18.125 },
            ],
        };
        assert_eq!(sum, expected);
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
}
