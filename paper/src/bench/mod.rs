//! How fast the optimizer is here, beside what this machine can do at most: `foretune-paper bench`.
//!
//! Times one search (`ask`) and one step of learning of the very core that runs on the device, counts the
//! floating-point operations that they need ([`work`]), and measures the machine's [`peak`](peak()) in the same process,
//! before and after every case: a clock that rises or falls meanwhile, or a neighbour, then hurts both sides of the
//! ratio. All times are the least of several runs.

mod case;
mod growth;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use foretune::cli::SettingArguments;
use foretune::cli::arguments::{PresetName, setup};
use foretune_report::table::Table;
use host_sim::error::Error;
use host_sim::problems::Problem;
use host_sim::results::check_writable;
use serde_json::{Value, json};

use crate::work;
use case::{MAX_OBSERVATIONS, MAX_WIDTH, Subject, Timing, peak};
use growth::Curves;

/// Time one search and one step of learning here, beside what this machine can do at most.
///
/// Without a problem: the paper's deep map on Hartmann-6 and our lengthscales on power control, of which docs/speed.md
/// tells.
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

pub(crate) fn run(arguments: &BenchArguments, out: &mut dyn Write) -> Result<(), Error> {
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
    for subject in subjects {
        for &observations in &arguments.observations {
            report.add(subject.clone(), observations, arguments.seed, patience)?;
        }
    }
    match arguments.json {
        true => Ok(writeln!(out, "{:#}", report.json(arguments.seed))?),
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
    for Row { subject, observations, timing } in &report.rows {
        let name = format!("{}, {}", subject.problem, subject.map());
        let mut cells = vec![name, observations.to_string()];
        for (time, work) in [timing.step, timing.ask] {
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
    for Row { subject, .. } in report.rows.first().into_iter().chain(report.rows.last()) {
        let (settings, all) = (&subject.settings, work::candidates(&subject.settings));
        writeln!(
            out,
            "{}, {}: {} particles, {} candidates ({all} with refinements)",
            subject.problem,
            subject.map(),
            settings.particles,
            settings.candidates,
        )?;
    }
    Ok(())
}

fn grow(
    subjects: &[Subject],
    arguments: &BenchArguments,
    patience: Duration,
    file: &Path,
    out: &mut dyn Write,
) -> Result<(), Error> {
    check_writable(file)?;
    let mut all: Vec<Curves> = Vec::new();
    for subject in subjects {
        all.extend(growth::growth(subject, arguments.seed, patience)?);
    }
    std::fs::write(file, growth::chart(&all)).map_err(Error::io("write", file))?;
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

/// A row of the table: which case, and what came out.
struct Row {
    subject: Subject,
    observations: usize,
    timing: Timing,
}

/// All rows, and the peak beside which they stand, in floating-point operations per second.
#[derive(Default)]
struct Report {
    peak: f64,
    rows: Vec<Row>,
}

impl Report {
    /// Times one more case.
    fn add(
        &mut self,
        subject: Subject,
        observations: usize,
        seed: u64,
        patience: Duration,
    ) -> Result<(), Error> {
        let timing = subject.time(observations, seed, patience)?;
        self.peak = self.peak.max(peak(patience / 10));
        self.rows.push(Row { subject, observations, timing });
        Ok(())
    }

    /// Everything as JSON: times in seconds, operations, shares of the peak.
    fn json(&self, seed: u64) -> Value {
        let side = |(time, work): (Duration, f64)| {
            let seconds = time.as_secs_f64();
            json!({ "seconds": seconds, "operations": work, "flops": work / seconds,
                "share_of_peak": work / seconds / self.peak })
        };
        let row = |Row { subject, observations, timing }: &Row| {
            json!({
                "problem": subject.problem.to_string(),
                "map": subject.map(),
                "particles": subject.settings.particles,
                "candidates": subject.settings.candidates,
                "candidates_with_refinements": work::candidates(&subject.settings),
                "observations": observations,
                "seed": seed,
                "runs": timing.runs,
                "step": side(timing.step),
                "ask": side(timing.ask),
            })
        };
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        json!({ "peak_flops": self.peak, "operations": PRICES, "rows": rows })
    }
}

const PRICES: &str =
    "sum, difference, product, quotient, root 1; tanh, exp 20; ln 26; ln of the normal distribution 48";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_was_timed_and_which_share_of_the_peak_it_reached() {
        let [_, ard] = Subject::usual().unwrap();
        let mut report = Report::default();
        report.add(ard, 10, 3, Duration::ZERO).unwrap();
        let json = report.json(3);
        let row = &json["rows"][0];
        assert_eq!(
            (&row["problem"], &row["map"], &row["observations"]),
            (&json!("rrm"), &json!("ard"), &json!(10))
        );
        let share = row["ask"]["share_of_peak"].as_f64().unwrap();
        let (time, work) = report.rows[0].timing.ask;
        let expected = work / time.as_secs_f64() / report.peak;
        assert!(share > 0.0 && (share / expected - 1.0).abs() < 1e-3, "{share}, not {expected}");
        // Below the release profile's level of optimisation the peak's loop keeps its sums in memory: it is no peak.
        assert!(share < 1.0 || cfg!(debug_assertions), "{share}");
    }
}
