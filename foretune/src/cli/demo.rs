//! `foretune demo`, what a program without arguments does: a cellular system in service, hour by hour, never tuned and tuned,
//! told to someone who never saw the paper.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use foretune_core::{Floor, Level};

use super::arguments::shown;
use super::{ExecutionArguments, stop_flag};
use foretune_report::plot::{Axis, Curve, Dash, LineChart, Panel, Sample, Style, Theme, fixed_number};
use foretune_report::stats::mean;
use foretune_report::table::Table;
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::{Deployed, Problem, Rrm, Service};
use host_sim::results::{Kind, Manifest, Row, Study, Task, UnitId, check_writable};
use host_sim::runner::{self, Benchmark, Plan, Variant};
use host_sim::settings::{Preset, Setup};
use host_sim::words::{counted, spell};

/// Run a simulated cellular system in service, never tuned and tuned, for about a minute, and tell what its users got.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Different towns to average over.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    systems: u32,
    /// Hours in each.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    tasks: u32,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The picture.
    #[arg(long, short, value_name = "FILE", default_value = "foretune-demo.svg")]
    out: PathBuf,
    /// Worker threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,
}

impl Default for DemoArguments {
    fn default() -> Self {
        Self { systems: 8, tasks: 6, seed: 1, out: "foretune-demo.svg".into(), jobs: None }
    }
}

pub(super) fn run(arguments: &DemoArguments, out: &mut dyn Write) -> Result<(), Error> {
    check_writable(&arguments.out)?;
    let plan = plan(arguments, arguments.tasks, &METHODS, None)?;
    let first = self::plan(arguments, 1, &METHODS[2..], Some(FLEET.into()))?;
    writeln!(out, "{}\n", INTRODUCTION)?;
    let (methods, systems) = (METHODS.len(), counted(arguments.systems as usize, "town"));
    let hours = counted(arguments.tasks as usize, "hour");
    writeln!(out, "Now {systems} are run in {methods} ways for {hours} each.")?;
    out.flush()?;
    let folder = tempfile::tempdir().map_err(Error::Output)?;
    let jobs = ExecutionArguments { resume: false, jobs: arguments.jobs, shard: None, quiet: false };
    let started = Instant::now();
    let run = |plan, name| {
        runner::run(plan, &folder.path().join(name), jobs.execution(), stop_flag("nothing is kept"))
    };
    let (study, first) = (run(&plan, "demo")?, run(&first, "first hour")?);
    let time = spell(started.elapsed());
    tell(&study, &first, out)?;
    fs::write(&arguments.out, picture(&study)?).map_err(Error::io("write", &arguments.out))?;
    writeln!(out, "\nThat took {time}. The picture is in {}.\n\n{}", shown(&arguments.out), NEXT)?;
    Ok(())
}

/// The ways to run the system, in the order of tables and legends.
const METHODS: [Method; 3] = [Method::Never, Method::HillClimbing, Method::MftMes];
/// What they are called in the story.
const NAMES: [&str; 3] = ["never tuned", "tuned by hand", "Foretune"];
/// What forty other towns have in common, none of them the demonstration's:
/// `foretune run rrm --floor share:0.9 --experiments 40 --tasks 10 --seed 3000 --out runs/sites` and
/// `foretune fleet learn runs/sites -o examples/radio.fleet`.
const FLEET: &[u8] = include_bytes!("../../../examples/radio.fleet");
/// Room for observations: that of the device's compact profile.
const CAPACITY: &str = "64";
/// Samples in an hour; tuning takes at most half of it, then what was found is used.
const HOUR: f64 = 4000.0;
/// What trials should keep above, as a share of what the point in use gives, and for how much of the time they may not.
const FLOOR: Floor = Floor { level: Level::Share(0.9), risk: 0.05 };
/// And what the weakest two users keep of what they have there.
const GUARD: &str = "edge:share:0.9";
/// When tuning ends: no more than this share is to be gained.
const TOLERANCE: f32 = 0.01;

fn plan(
    &DemoArguments { systems, seed, .. }: &DemoArguments,
    tasks: u32,
    methods: &[Method],
    fleet: Option<Arc<[u8]>>,
) -> Result<Plan, Error> {
    let benchmark = Benchmark::new(Problem::Rrm(Rrm::default()));
    let guards = benchmark.guards(&[GUARD.into()], FLOOR.risk)?;
    let service = Service { floor: Some(FLOOR), guards, tolerance: TOLERANCE, ..Service::default() };
    let benchmark = benchmark.in_service(Deployed::Default, service)?;
    let mut setup = Setup::new(Preset::Live, benchmark.spec());
    setup.set("capacity", CAPACITY)?;
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let command = format!(
        "foretune run rrm --floor share:0.9 --guard {GUARD} --risk {} --tolerance {TOLERANCE} --method {} \
         --set capacity={CAPACITY} --experiments {systems} --tasks {tasks} --seed {seed}",
        FLOOR.risk,
        names.join(",")
    );
    let study = Manifest {
        study: "demo".into(),
        preset: Preset::Live.name().into(),
        command,
        seed,
        experiments: systems,
        tasks,
        ..Manifest::default()
    };
    let variant = |method: &Method| match fleet.clone() {
        Some(fleet) => Variant::of(*method, setup).with_fleet(fleet),
        None => Variant::of(*method, setup),
    };
    Plan::new(study, benchmark, methods.iter().map(variant).collect())
}

/// Said before the work begins.
const INTRODUCTION: &str = "\
Foretune: tuning a network in service
-------------------------------------
Two base stations share a piece of town. Each has two numbers to set, a target power P0 and a share α of the
path loss to make up for, that tell its ten phones how loud to talk: too soft, and nobody is heard; too loud, and all
drown each other. There are 831 744 combinations, and the good ones lie on a narrow ridge. Every hour people have
walked a few metres, and the best setting has moved.

A setting can only be tried on the air, and users live with it meanwhile. A trial of 10 channel samples is quick and
rough, one of 100 is exact; an hour has 4000 samples, and tuning may take at most 2000 of them. Three ways to run it:

  never tuned    the setting it came with stays: P0 = -80 dBm, α = 0.8
  tuned by hand  one number at a time, a step up or down, kept if it looks better for all users together and not too bad
                 for the weakest two, for the whole 2000 samples
  Foretune       starts from the setting in use, and tries nothing that it does not expect to leave at least 90 % of what
                 that gives to all users together, and 90 % to the weakest two of the twenty (it may be wrong for a
                 twentieth of the time); carries what it learnt into the next hour, and stops when no more than 1 % is to
                 be gained";

const NEXT: &str = "\
What to try next:
  foretune run rrm --floor share:0.9 --guard edge:share:0.9 --tasks 10           as a study, all trials kept
  foretune fleet learn runs/sites -o radio.fleet                                 what your own sites have in common
  foretune tune problem.toml --command './measure.sh {p0} {alpha}'               something of your own
  foretune run rrm --method random,mf-mes,mft-mes --tasks 10                     without a floor, against other methods
  foretune --help                                                                everything else";

#[derive(Clone, Copy)]
struct Hour {
    /// What all users got, tuning included, and the mean of the weakest two, in bit/s/Hz.
    rates: [f64; 2],
    tuning: f64,
    trials: f64,
    /// Samples in trials below the floor, and in those that broke the guard.
    below: f64,
    broken: f64,
    /// The worst trial, as a share of what the point in use gave.
    worst: f64,
}

impl Hour {
    fn of(task: &Task) -> Self {
        let trials = || task.rows.iter().filter_map(|row| Some((row.time?, rates(row)?)));
        let tuning = trials().fold(0.0, |time, (t, _)| time + t);
        let after = recommended(task);
        let mean = |part: usize| {
            let sum = trials().fold(0.0, |sum, (t, rates)| sum + t * rates[part]);
            (sum + after[part] * (HOUR - tuning)) / HOUR
        };
        let (floor, deployed) =
            (task.terms.floor.unwrap_or(f64::NEG_INFINITY), task.terms.deployed.unwrap_or(f64::NAN));
        let breaks = |rate: f64| task.terms.bounds.iter().any(|bound| !bound.is_kept_by(rate));
        let took = |bad: &dyn Fn([f64; 2]) -> bool| {
            trials().filter(|(_, rates)| bad(*rates)).fold(0.0, |sum, (time, _)| sum + time)
        };
        Self {
            rates: [mean(0), mean(1)],
            tuning,
            trials: trials().count() as f64,
            below: took(&|[all, _]| all < floor),
            broken: took(&|[_, weakest]| breaks(weakest)),
            worst: trials().map(|(_, [all, _])| all).fold(f64::INFINITY, f64::min) / deployed,
        }
    }
}

/// What a setting gives to all users, and to the weakest two.
fn rates(row: &Row) -> Option<[f64; 2]> {
    Some([row.truth?, *row.kpis.first()?])
}

fn recommended(task: &Task) -> [f64; 2] {
    let row = task.rows.iter().find(|row| row.kind == Kind::Recommend);
    row.and_then(rates).unwrap_or([f64::NAN; 2])
}

/// All hours of a way to run the system: by task, then by town.
fn hours(study: &Study, variant: usize) -> Result<Vec<Vec<Hour>>, Error> {
    let manifest = study.manifest();
    let mut hours = vec![Vec::new(); manifest.tasks as usize];
    for experiment in 1..=manifest.experiments {
        let Some(unit) = study.read_unit(UnitId { variant, experiment })? else { continue };
        for (hours, task) in hours.iter_mut().zip(&unit.tasks) {
            hours.push(Hour::of(task));
        }
    }
    Ok(hours)
}

fn average(hours: &[Hour], value: impl Fn(&Hour) -> f64) -> f64 {
    mean(&hours.iter().map(value).collect::<Vec<_>>())
}

/// `first` has the first hour with a fleet.
fn tell(study: &Study, first: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let hours: Vec<Vec<Vec<Hour>>> =
        (0..METHODS.len()).map(|variant| hours(study, variant)).collect::<Result<_, _>>()?;
    let percent = |share: f64| format!("{} %", fixed_number(100.0 * share, 1));
    let towns = study.manifest().experiments;
    for (part, who, digits) in [(0, "all twenty users", 2), (1, "the weakest two users, in the mean,", 3)] {
        writeln!(
            out,
            "\nWhat {who} got in each hour, tuning included, in bit/s/Hz (mean of {towns} towns):\n"
        )?;
        let titles = ["hour".to_string()].into_iter().chain(NAMES.map(String::from));
        let mut table = Table::new(titles);
        for task in 0..study.manifest().tasks as usize {
            let rate = |of: &Vec<Vec<Hour>>| average(&of[task], |hour| hour.rates[part]);
            let rates = hours.iter().map(|of| fixed_number(rate(of), digits));
            table.push([(task + 1).to_string()].into_iter().chain(rates));
        }
        table.write(out)?;
    }
    let with_fleet = self::hours(first, 0)?.concat();
    let [never, _, alone] = [0, 1, 2].map(|variant| hours[variant][0].clone());
    let all: Vec<Vec<Hour>> = hours.into_iter().map(|of| of.concat()).collect();
    writeln!(out, "\nWhile it was tuned:\n")?;
    let titles = [
        "",
        "samples",
        "trials",
        "time below the floor",
        "time with the weakest two below 90 %",
        "worst trial, of what was in use",
    ];
    let mut table = Table::new(titles.map(String::from));
    for (name, hours) in NAMES.iter().zip(&all).skip(1) {
        let tuning = average(hours, |hour| hour.tuning);
        let share = |of: &dyn Fn(&Hour) -> f64| percent(average(hours, of) / tuning);
        table.push(vec![
            (*name).into(),
            fixed_number(tuning, 0),
            fixed_number(average(hours, |hour| hour.trials), 0),
            share(&|hour| hour.below),
            share(&|hour| hour.broken),
            percent(average(hours, |hour| hour.worst)),
        ]);
    }
    table.write(out)?;
    let gain = |hours: &[Hour], against: &[Hour], part: usize| {
        let rate = |hours: &[Hour]| average(hours, |hour| hour.rates[part]);
        let gain = rate(hours) / rate(against) - 1.0;
        format!("{}{}", if gain < 0.0 { "" } else { "+" }, percent(gain))
    };
    let samples = |hours: &[Hour]| fixed_number(average(hours, |hour| hour.tuning), 0);
    writeln!(
        out,
        "\nIn the first hour, where nothing is known of a town, Foretune took {} samples and all users got {};\n\
         with a file of what forty other towns have in common, {} samples and {}.",
        samples(&alone),
        gain(&alone, &never, 0),
        samples(&with_fleet),
        gain(&with_fleet, &never, 0)
    )?;
    writeln!(
        out,
        "\nAgainst the setting it came with, all users got {} with Foretune, {} tuned by hand; the weakest two {} and {}.",
        gain(&all[2], &all[0], 0),
        gain(&all[1], &all[0], 0),
        gain(&all[2], &all[0], 1),
        gain(&all[1], &all[0], 1)
    )?;
    Ok(())
}

/// What users of the first town get, moment by moment. As an SVG file.
fn picture(study: &Study) -> Result<String, Error> {
    let town = |variant| study.read_unit(UnitId { variant, experiment: 1 });
    let (Some(never), Some(by_hand), Some(tuned)) = (town(0)?, town(1)?, town(2)?) else {
        return Err(Error::Defect);
    };
    let plain = |ink: usize, dash: Dash| Style { ink, dash, plain: true, ..Style::default() };
    let panel = |part: usize, who: &str, best: bool, keeps: &dyn Fn(&Task) -> Option<f64>| {
        let steady = |value: Option<f64>| value.map(|value| (0.0, value)).into_iter().collect();
        let mut curves = vec![
            curve("tuned by hand, mean", plain(4, Dash::DashDot), &by_hand.tasks, |task| means(task, part)),
            curve(NAMES[2], plain(0, Dash::Solid), &tuned.tasks, |task| moments(task, part)),
            curve(NAMES[0], plain(1, Dash::Long), &never.tasks, |task| steady(Some(recommended(task)[part]))),
            curve("what Foretune keeps to", plain(2, Dash::Short), &tuned.tasks, |task| steady(keeps(task))),
        ];
        if best {
            let optimum = |task: &Task| steady(Some(task.terms.optimum));
            curves.insert(0, curve("best possible", plain(3, Dash::Dotted), &tuned.tasks, optimum));
        }
        let y = Some(Axis { title: "bit/s/Hz".into(), ..Axis::default() });
        Panel { title: format!("What {who} of town 1 of {} get", study.manifest().experiments), curves, y }
    };
    let chart = LineChart {
        name: "What the users of the first town get, hour by hour, while it is tuned".into(),
        x: Axis { title: "hour".into(), whole: true, ..Axis::default() },
        panels: vec![
            panel(0, "all twenty users", true, &|task| task.terms.floor),
            panel(1, "the weakest two users", false, &|task| Some(task.terms.bounds.first()?.at)),
        ],
        ..LineChart::default()
    };
    Ok(chart.svg(960.0, Theme::Standalone))
}

/// When something else begins, in samples, and what users get from then on: the trials, then what was found.
fn moments(task: &Task, part: usize) -> Vec<(f64, f64)> {
    let mut time = 0.0;
    let mut moments = Vec::new();
    for (takes, rates) in task.rows.iter().filter_map(|row| Some((row.time?, rates(row)?))) {
        moments.push((time, rates[part]));
        time += takes;
    }
    moments.push((time, recommended(task)[part]));
    moments
}

/// The same in means over twentieths of an hour: who tries something all the time is a blur otherwise.
fn means(task: &Task, part: usize) -> Vec<(f64, f64)> {
    const STEP: f64 = HOUR / 20.0;
    let moments = moments(task, part);
    let ends = moments.iter().skip(1).map(|(time, _)| *time).chain([HOUR]);
    let pieces: Vec<(f64, f64, f64)> =
        moments.iter().zip(ends).map(|((begin, value), end)| (*begin, end, *value)).collect();
    let mean = |i: u32| {
        let (low, high) = (f64::from(i) * STEP, f64::from(i + 1) * STEP);
        let part = |(begin, end, value): &(f64, f64, f64)| (end.min(high) - begin.max(low)).max(0.0) * value;
        (low, pieces.iter().map(part).sum::<f64>() / STEP)
    };
    (0..20).map(mean).collect()
}

/// A curve of steps over all hours.
fn curve(label: &str, style: Style, tasks: &[Task], values: impl Fn(&Task) -> Vec<(f64, f64)>) -> Curve {
    let mut points = Vec::new();
    let mut push = |x: f64, mean: f64| points.push(Sample { x, mean, low: mean, high: mean });
    for (hour, task) in tasks.iter().enumerate() {
        let values = values(task);
        let ends = values.iter().skip(1).map(|(time, _)| *time).chain([HOUR]);
        for ((time, value), end) in values.iter().zip(ends) {
            push(hour as f64 + time / HOUR, *value);
            push(hour as f64 + end / HOUR, *value);
        }
    }
    Curve { label: label.into(), style, points }
}
