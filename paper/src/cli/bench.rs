//! `foretune-paper bench`: how fast the optimizer is on this machine.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::bench::growth::{self, Curves};
use crate::bench::{MAX_OBSERVATIONS, MAX_WIDTH, PRICES, Report, Subject, map};
use foretune::cli::SettingArguments;
use foretune::cli::arguments::{PresetName, setup};
use foretune_report::table::Table;
use host_sim::error::Error;
use host_sim::problems::Problem;
use host_sim::results::{self, check_writable};
use host_sim::work;

/// Time one search and one step of learning here, beside what this machine can do at most.
///
/// Without a problem: the paper's deep map on Hartmann-6 and our lengthscales on power control, which is the table in
/// docs/speed.md.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct BenchArguments {
    #[arg(help = host_sim::problems::help() + "; both usual cases when left out")]
    problem: Option<Problem>,
    /// What the settings start from, for a given problem.
    #[arg(long, value_enum, default_value = "default")]
    preset: PresetName,
    #[command(flatten)]
    settings: SettingArguments,
    /// Observations of the task, 1 to 255; may be repeated.
    #[arg(short = 't', long, value_name = "N", value_delimiter = ',', default_values_t = [10, 40, 128])]
    observations: Vec<usize>,
    /// Root of all randomness: of the task, its noise and the optimizer.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How long each case is repeated, at least, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    patience: f64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Show how the times grow with observations, particles, units and candidates instead, and draw it in this file.
    #[arg(long, value_name = "FILE.svg", conflicts_with = "observations")]
    growth: Option<PathBuf>,
}

const NOTES: &str = "\
A step moves all particles once by their gradients; an ask is one search for a query, without learning. Times are the
least of several runs. The peak is that of a dense multiply-then-add loop over numbers in the first-level cache, in the
same process, without fused multiply-add. docs/speed.md says what counts as an operation.";

pub(super) fn run(arguments: &BenchArguments, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(t) = arguments.observations.iter().find(|t| !(1..=MAX_OBSERVATIONS).contains(*t)) {
        return Err(Error::usage(format!("observations go from 1 to {MAX_OBSERVATIONS}, not to {t}")));
    }
    if !(0.0..=3600.0).contains(&arguments.patience) {
        return Err(Error::usage("the patience takes 0 to 3600 seconds"));
    }
    let patience = Duration::from_secs_f64(arguments.patience);
    let subjects = subjects(arguments)?;
    if let Some(file) = &arguments.growth {
        return grow(&subjects, arguments, patience, file, out);
    }
    let mut report = Report::default();
    for subject in &subjects {
        for &observations in &arguments.observations {
            report.add(subject, observations, arguments.seed, patience)?;
        }
    }
    match arguments.json {
        true => Ok(writeln!(out, "{:#}", report.json())?),
        false => write(&report, out),
    }
}

fn subjects(arguments: &BenchArguments) -> Result<Vec<Subject>, Error> {
    let assignments = arguments.settings.assignments()?;
    let Some(problem) = arguments.problem else {
        if !assignments.is_empty() || arguments.preset != PresetName::Default {
            return Err(Error::usage("a preset and settings need a problem: name one"));
        }
        return Ok(Subject::usual()?.into());
    };
    let subject = Subject::new(problem, &setup(arguments.preset.into(), &problem.spec(), &assignments)?)?;
    match subject.settings.map {
        foretune_core::Map::Deep { width } if width > MAX_WIDTH => {
            Err(Error::usage(format!("at most {MAX_WIDTH} units per layer can be timed")))
        }
        _ => Ok(vec![subject]),
    }
}

fn write(report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    let titles = ["problem, map", "t", "step ms", "Mflop", "GFLOP/s", "of peak"];
    let mut table = Table::new(titles.into_iter().chain(["ask ms", "Mflop", "GFLOP/s", "of peak"]));
    for row in &report.rows {
        let mut cells =
            vec![format!("{}, {}", row.problem, map(&row.settings)), row.observations.to_string()];
        let timing = &row.timing;
        for (time, work) in [(timing.step, timing.step_work), (timing.ask, timing.ask_work)] {
            let seconds = time.as_secs_f64();
            cells.push(format!("{:.3}", seconds * 1e3));
            cells.push(format!("{:.2}", work / 1e6));
            cells.push(format!("{:.1}", work / seconds / 1e9));
            cells.push(format!("{:.0} %", 100.0 * work / seconds / report.peak));
        }
        table.push(cells);
    }
    table.write(out)?;
    writeln!(out, "\npeak: {:.1} GFLOP/s, multiply-then-add in the first-level cache", report.peak / 1e9)?;
    writeln!(out, "operations: {PRICES}")?;
    for row in report.rows.first().into_iter().chain(report.rows.last()) {
        let settings = &row.settings;
        writeln!(
            out,
            "{}, {}: {} particles, {} candidates ({} with refinements)",
            row.problem,
            map(settings),
            settings.particles,
            settings.candidates,
            work::candidates(settings)
        )?;
    }
    Ok(())
}

fn grow(
    subjects: &[Subject],
    arguments: &BenchArguments,
    patience: Duration,
    file: &PathBuf,
    out: &mut dyn Write,
) -> Result<(), Error> {
    check_writable(file)?;
    let mut all: Vec<Curves> = Vec::new();
    for subject in subjects {
        all.extend(growth::growth(subject, arguments.seed, patience)?);
    }
    std::fs::write(file, growth::chart(&all)).map_err(results::Error::io("write", file))?;
    if arguments.json {
        let curves: Vec<serde_json::Value> = all.iter().map(Curves::json).collect();
        return Ok(writeln!(out, "{:#}", serde_json::Value::from(curves))?);
    }
    for curves in &all {
        let mut table = Table::new([curves.knob.name(), "step ms", "Mflop", "ask ms", "Mflop"]);
        for point in &curves.points {
            let cells = [point.step.0 * 1e3, point.step.1 / 1e6, point.ask.0 * 1e3, point.ask.1 / 1e6];
            let cells = cells.map(|value| format!("{value:.3}"));
            table.push([vec![point.value.to_string()], cells.into()].concat());
        }
        let exponents = curves.exponents().map(|exponent| format!("{exponent:.2}"));
        table.push([vec!["last exponent".into()], exponents.into()].concat());
        writeln!(out, "{}:", curves.map)?;
        table.write(out)?;
        writeln!(out)?;
    }
    Ok(())
}
