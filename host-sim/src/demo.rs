//! The demonstration: three methods tune a simulated cellular system, told to someone who never saw the paper.

use std::io::Write;

use crate::error::Error;
use crate::plot::{Axis, Curve, Dash, LineChart, Panel, Sample, Style, Theme, fixed_number};
use crate::problems::{Problem, Rrm};
use crate::results::stats::mean;
use crate::results::{Kind, Manifest, Metric, Point, Samples, Study, TaskSummary, UnitId};
use crate::runner::{Benchmark, Identity, Method, Plan, Variant};
use crate::settings::{Preset, Setup};
use crate::table::Table;

/// The methods of the demonstration, in the order of its tables.
pub const METHODS: [Method; 3] = [Method::MfMes, Method::Continual, Method::MftMes];
/// Room for observations: that of the device's compact profile.
const CAPACITY: &str = "64";

/// The demonstration's study.
///
/// # Errors
/// [`Error::Usage`] if a number is zero.
pub fn plan(systems: u32, tasks: u32, seed: u64) -> Result<Plan, Error> {
    let benchmark = Benchmark::new(Problem::Rrm(Rrm::default()));
    let mut setup = Setup::new(Preset::Default, benchmark.spec());
    setup.set("capacity", CAPACITY)?;
    let methods: Vec<&str> = METHODS.iter().map(|method| method.name()).collect();
    let command = format!(
        "foretune run rrm --method {} --set capacity={CAPACITY} --experiments {systems} --tasks {tasks} --seed {seed}",
        methods.join(",")
    );
    let identity = Identity {
        study: "demo".into(),
        preset: Preset::Default.name().into(),
        command,
        seed,
        experiments: systems,
        tasks,
    };
    Plan::new(identity, benchmark, METHODS.map(|method| Variant::of(method, setup)).into())
}

/// Said before the work begins.
pub const INTRODUCTION: &str = "\
Foretune: tuning what is expensive to measure
---------------------------------------------
Two base stations share a piece of town. Each has two numbers to set, a target power P0 and a share α of the
path loss to make up for, that tell its ten phones how loud to talk: too soft, and nobody is heard; too loud, and all
drown each other. There are 831 744 combinations, and the good ones lie on a narrow ridge. Every task is a new
situation: people have walked a few metres, and the best setting has moved.

A setting can only be tried on the air, and users live with it meanwhile. A trial of 10 channel samples is quick and
rough, one of 100 is exact; a task may use 2000 samples, and remember 64 trials. Three ways to
spend them:

  MF-MES            learns anew in every task how the system responds
  Continual MF-MES  carries on what it learnt about that, and the settings that were best in the last tasks
  MFT-MES           carries on the same, and makes some trials for the sake of the tasks to come";

/// Said at the end.
pub const NEXT: &str = "\
What to try next:
  foretune run rrm --method random,mft-mes --tasks 10       random trials beside the optimizer, all queries kept
  foretune run rrm --foreign-task 4 --tasks 6               a task where nothing that was learnt holds
  foretune run gas --sweep beta=0,0.2,1.2 --tasks 8         how much foresight pays, on another problem
  foretune reproduce fig5 --experiments 4 --preset default  a figure of the paper with our settings
  foretune --help                                           everything else";

/// Tells what came out.
///
/// # Errors
/// [`Error::Results`] if the study cannot be read, [`Error::Output`] if `out` cannot be written.
pub fn tell(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let rows = study.load()?.rows;
    let manifest = study.manifest();
    let systems = manifest.experiments;
    writeln!(
        out,
        "\nWhat users get with the setting that was found, in bit/s/Hz over all users (share of the best"
    )?;
    writeln!(out, "possible), mean of {systems} different towns:\n")?;
    by_task(manifest, &rows, |row| Some(row.recommended)).write(out)?;
    writeln!(out, "\nWhat they got meanwhile: the mean over all settings that were tried on them:\n")?;
    by_task(manifest, &rows, |row| row.mean_tried).write(out)?;
    writeln!(out)?;
    verdict(manifest, &rows, out)?;
    example(study, out)
}

/// A row per task: the best possible, then each method's value and share.
fn by_task(manifest: &Manifest, rows: &[TaskSummary], value: impl Fn(&TaskSummary) -> Option<f64>) -> Table {
    let labels = manifest.variants.iter().map(|variant| variant.label.clone());
    let mut table = Table::new(["task".to_string(), "best possible".into()].into_iter().chain(labels));
    let cell = |variant: usize, tasks: std::ops::RangeInclusive<u32>| {
        let found = |r: &&TaskSummary| r.variant == variant && tasks.contains(&r.task);
        let pairs: Vec<(f64, f64)> =
            rows.iter().filter(found).filter_map(|row| Some((value(row)?, row.optimum))).collect();
        let (values, optima): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        if values.is_empty() {
            return "–".into();
        }
        let (value, share) = (mean(&values), mean(&values) / mean(&optima));
        format!("{} ({} %)", fixed_number(value, 1), fixed_number(100.0 * share, 0))
    };
    let optimum = |tasks: std::ops::RangeInclusive<u32>| {
        let of = |r: &&TaskSummary| r.variant == 0 && tasks.contains(&r.task);
        let optima: Vec<f64> = rows.iter().filter(of).map(|row| row.optimum).collect();
        if optima.is_empty() { "–".into() } else { fixed_number(mean(&optima), 1) }
    };
    let last = manifest.tasks;
    let spans = (1..=last).map(|task| (task.to_string(), task..=task)).chain([("all".into(), 1..=last)]);
    for (name, tasks) in spans {
        let cells = (0..manifest.variants.len()).map(|variant| cell(variant, tasks.clone()));
        table.push([name, optimum(tasks.clone())].into_iter().chain(cells).collect());
    }
    table
}

/// Which method was ahead once there was something to carry on, and how certain that is.
fn verdict(manifest: &Manifest, rows: &[TaskSummary], out: &mut dyn Write) -> Result<(), Error> {
    let samples = Samples::new(manifest, rows, Metric::Ratio, Point::Recommended);
    let last = manifest.tasks;
    if last < 2 {
        return Ok(());
    }
    writeln!(out, "After the first task, measured against learning anew in every task (MF-MES):")?;
    for (v, variant) in manifest.variants.iter().enumerate().skip(1) {
        let Some(gain) = samples.paired_gain(v, 0, 2..=last) else { continue };
        let [points, low, high] = [gain.mean, gain.low(), gain.high()].map(|g| fixed_number(100.0 * g, 1));
        let words = match (gain.half_width, gain.sign()) {
            (None, _) => format!("{points} points; one town proves nothing"),
            (_, 1) => format!("better by {points} points of a hundred (90 % interval {low} to {high})"),
            (_, -1) => format!("worse: {points} points of a hundred (90 % interval {low} to {high})"),
            _ => format!("{points} points of a hundred, which may be chance (90 % interval {low} to {high})"),
        };
        writeln!(out, "  {}: {words}", variant.label)?;
    }
    Ok(())
}

/// The last recommendation in the first town, to make it tangible.
fn example(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let manifest = study.manifest();
    let variant = manifest.variants.len() - 1;
    let Some(unit) = study.read_unit(UnitId { variant, experiment: 1 })? else { return Ok(()) };
    let Some(task) = unit.tasks.last() else { return Ok(()) };
    let Some(row) = task.rows.last().filter(|row| row.kind == Kind::Recommend) else { return Ok(()) };
    let stations: Vec<String> = row
        .x
        .chunks(2)
        .zip(1..)
        .map(|(x, b)| format!("P0 = {} dBm and α = {} at station {b}", fixed_number(x[0], 0), x[1]))
        .collect();
    writeln!(
        out,
        "\nFor example, in the first town after task {}, {} recommends {}: {} bit/s/Hz of {} possible.",
        unit.tasks.len(),
        manifest.variants[variant].label,
        stations.join(", "),
        fixed_number(row.truth.unwrap_or(f64::NAN), 1),
        fixed_number(task.terms.optimum, 1)
    )?;
    Ok(())
}

/// Share of the best possible by task: with the setting found, and meanwhile. As an SVG file.
///
/// # Errors
/// [`Error::Results`] if the study cannot be read.
pub fn picture(study: &Study) -> Result<String, Error> {
    let (manifest, rows) = (study.manifest(), study.load()?.rows);
    let styles = [
        Style { ink: 2, dash: Dash::DashDot, ..Style::default() },
        Style { ink: 1, dash: Dash::Long, ..Style::default() },
        Style { ink: 0, ..Style::default() },
    ];
    let panel = |point: Point, title: &str| {
        let samples = Samples::new(manifest, &rows, Metric::Ratio, point);
        let sample = |variant, task| {
            let estimate = samples.estimate(variant, task)?;
            let (low, high) = (estimate.low(), estimate.high());
            Some(Sample { x: f64::from(task), mean: estimate.mean, low, high })
        };
        let curves = manifest.variants.iter().enumerate().map(|(v, variant)| Curve {
            label: variant.label.clone(),
            style: styles[v % styles.len()],
            points: (1..=manifest.tasks).filter_map(|task| sample(v, task)).collect(),
        });
        Panel { title: title.into(), curves: curves.collect() }
    };
    let chart = LineChart {
        name: "Share of the best possible spectral efficiency by task, for three ways of tuning".into(),
        x: Axis { title: "task".into(), whole: true, ..Axis::default() },
        y: Axis {
            title: "share of the best possible".into(),
            limits: (Some(0.0), Some(1.0)),
            ..Axis::default()
        },
        panels: vec![
            panel(Point::Recommended, "With the setting that was found"),
            panel(Point::Tried, "Meanwhile: mean over the settings tried"),
        ],
    };
    Ok(chart.svg(960.0, Theme::Standalone))
}
