//! `foretune show`: what a state has, without starting anything; and what `tune` says at the end.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use foretune_core::Goal;

use super::shown;
use foretune_report::plot::short_number;
use foretune_report::table::Table;
use foretune_tuning::state::{State, TaskState, peek};
use foretune_tuning::{self as tuning, Ended, Target, Told, Tuning, lacking, past, reasons};
use host_sim::error::Error;
use host_sim::results::check_output;
use host_sim::words::counted;

/// Show what the state of `tune` or `serve` has: what is in use and recommended, what was spent, all measurements.
///
/// Nothing is started, changed or locked: it may be of a task that is running.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The file with the state.
    #[arg(value_name = "STATE")]
    state: PathBuf,
    #[command(flatten)]
    files: FileArguments,
}

/// What else is written.
#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// Write a page with pictures; `tune` and `serve` renew it with every query, and an open one loads itself again.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the measurements of all tasks as a table, which --past reads.
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
}

impl FileArguments {
    /// Refuses what cannot be written, and what is read or kept.
    pub fn check<'a>(&self, inputs: impl IntoIterator<Item = &'a Path> + Clone) -> Result<(), Error> {
        let mut outputs = [&self.report, &self.csv].into_iter().flatten();
        outputs.try_for_each(|path| check_output(path, inputs.clone()))
    }

    /// Has the page renewed while tuning.
    pub fn show(&self, tuning: &mut Tuning) {
        self.report.clone().into_iter().for_each(|page| tuning.show_on(page));
    }

    pub fn write(&self, target: &Target, state: &State) -> Result<(), Error> {
        if let Some(path) = &self.report {
            std::fs::write(path, tuning::page(target, state)).map_err(Error::io("write", path))?;
        }
        let Some(path) = &self.csv else { return Ok(()) };
        std::fs::write(path, past::table(target, state)).map_err(Error::io("write", path))
    }
}

pub(super) fn run(arguments: &ShowArguments, out: &mut dyn Write) -> Result<(), Error> {
    let state = peek(&arguments.state)?;
    let target = state.target(&arguments.state);
    arguments.files.check([&*arguments.state])?;
    arguments.files.write(&target, &state)?;
    if let Some(task) = state.current() {
        writeln!(out, "{}, task {}", shown(&arguments.state), state.task())?;
        match &task.ended {
            Some(ended) => summary(&target, task, ended, out)?,
            None => standing(&target, &state, task, out)?,
        }
    }
    writeln!(out)?;
    let [head, rows @ ..] = &past::cells(&target, &state)[..] else { return Err(Error::Defect) };
    let mut table = Table::new(head);
    rows.iter().for_each(|row| table.push(row.clone()));
    table.write(out)?;
    Ok(out.flush()?)
}

/// Say why every setting of a task was measured: what was expected of it, and what each bound ruled out.
///
/// From the state of `tune` or `serve`, which may be of a task that is running. `tune -v` says the same while it tunes.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The file with the state.
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// The task [default: the last].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    task: Option<u32>,
}

pub(super) fn explain(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<(), Error> {
    let state = peek(&arguments.state)?;
    let (target, number) = (state.target(&arguments.state), arguments.task.unwrap_or(state.task()));
    let Some(task) = state.tasks.get((number as usize).wrapping_sub(1)) else {
        let tasks = counted(state.tasks.len(), "task");
        return Err(Error::usage(format!(
            "{}: there is no task {number}, of {tasks}",
            shown(&arguments.state)
        )));
    };
    writeln!(out, "{}, task {number}", shown(&arguments.state))?;
    for (i, told) in task.answers.iter().enumerate() {
        let value = told.value.map_or("failed".into(), |value| short_number(value.into()));
        let fidelity = &target.fidelities[told.fidelity].name;
        writeln!(out, "\n{:>4}  {}  ({fidelity})  →  {value}", i + 1, target.words(&told.point))?;
        reasons(&target, told).iter().try_for_each(|line| writeln!(out, "        {line}"))?;
    }
    if let Some(ended) = &task.ended {
        writeln!(out)?;
        summary(&target, task, ended, out)?;
    }
    Ok(out.flush()?)
}

/// How far a task is that has not ended, and what the one before it recommended.
fn standing(target: &Target, state: &State, task: &TaskState, out: &mut dyn Write) -> Result<(), Error> {
    let before = state.tasks.iter().rev().find_map(|task| task.ended.as_ref()?.point.as_ref());
    if let Some(point) = before {
        writeln!(out, "Recommended by the task before: {}", target.words(point))?;
    }
    if let Some(point) = &task.begun.deployed {
        writeln!(out, "In use: {}", target.words(point))?;
    }
    lacking(target, task).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let (spent, budget) = (short_number(task.spent()), short_number(task.begun.budget));
    writeln!(out, "Spent {spent} of {budget} in {} measurements; not ended.", task.answers.len())?;
    Ok(())
}

/// The recommendation, and what is expected of it.
pub(super) fn recommended(
    target: &Target,
    point: &[f64],
    ended: &Ended,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(out, "Recommended: {}", target.words(point))?;
    if ended.unassured {
        writeln!(out, "No setting keeps floor and guards as surely as asked for: this is the one in use.")?;
    }
    let [mean, deviation] = [ended.mean, ended.deviation].map(|number| short_number(number.into()));
    writeln!(out, "Expected of it: {mean} ± {deviation}")
}

/// The recommendation, beside the point in use, and why the task ended.
pub(super) fn summary(
    target: &Target,
    task: &TaskState,
    ended: &Ended,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Some(point) = &ended.point else { return Ok(()) };
    recommended(target, point, ended, out)?;
    let used = task.begun.deployed.as_ref();
    // Under other conditions it is worth something else.
    let alike = |told: &Told| {
        used.is_some_and(|used| {
            ended.point.as_ref().is_some_and(|best| {
                told.point.starts_with(used) && told.point[used.len()..] == best[used.len()..]
            })
        })
    };
    let at_use = |told: &&Told| alike(told) && told.fidelity == target.truth();
    let values: Vec<f64> =
        task.answers.iter().filter(at_use).filter_map(|t| t.value.map(f64::from)).collect();
    match (used, values.is_empty()) {
        (Some(used), false) => {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let gain = match target.goal {
                Goal::Maximise => f64::from(ended.mean) - mean,
                Goal::Minimise => mean - f64::from(ended.mean),
            };
            let compared = match gain {
                _ if point.starts_with(used) => "it stays in use".into(),
                0.0.. => format!("the recommendation is better by {}", short_number(gain)),
                _ => format!("the recommendation is worse by {}", short_number(-gain)),
            };
            writeln!(out, "In use: {}, measured {}; {compared}", target.words(used), short_number(mean))?;
        }
        (Some(used), true) => {
            let where_else =
                if target.conditions().is_empty() { "in this task" } else { "under the last conditions" };
            writeln!(out, "In use: {}, not measured {where_else}", target.words(used))?;
        }
        (None, _) => {}
    }
    lacking(target, task).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(
        out,
        "Spent {} of {} in {} measurements; ended because {}.",
        short_number(ended.spent),
        short_number(task.begun.budget),
        task.answers.len(),
        ended.reason
    )?;
    if ended.outliers > 0 {
        let outliers = ended.outliers;
        writeln!(
            out,
            "Outliers: {outliers} of the answers, too far from all others and not confirmed by a second."
        )?;
    }
    if let Some(value) = only_value(&task.answers) {
        writeln!(
            out,
            "All answers are {}: no setting is better than another here, or the command does not use its parameters.",
            short_number(value.into())
        )?;
    }
    Ok(())
}

/// The value that all measurements gave, if they were of several settings.
fn only_value(answers: &[Told]) -> Option<f32> {
    let mut told = answers.iter().filter_map(|told| Some((&told.point, told.value?)));
    let (point, value) = told.next()?;
    let (mut others, mut same) = (false, true);
    told.for_each(|(x, y)| (others, same) = (others || x != point, same && y == value));
    (others && same).then_some(value)
}
