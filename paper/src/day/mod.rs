//! `foretune-paper day`: a network in service for days, in which the load changes, people move, and things happen.

mod air;
mod ways;

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clap::{Args, ValueEnum};
use foretune::cli::{shown, stop_flag};
use foretune_report::plot::{Axis, Curve, Dash, LineChart, Panel, Sample, Style, Theme};
use foretune_report::stats::Estimate;
use foretune_report::table::Table;
use host_sim::error::Error;
use host_sim::problems::{STEPS_PER_HOUR, Town};
use host_sim::results::{crc32, write_atomically};
use host_sim::runner::Seeds;
use host_sim::words::say;

use crate::tables::{difference, mean};
use air::{STEP, Step};
use ways::Way;

/// Run a network for days in several ways: tuned and watched, tuned every hour, once, by GP-UCB, by hand, never, and by someone who knows.
#[derive(Debug, Args)]
#[command(after_help = "Finished towns are kept: the same command goes on where it was interrupted.\n\n\
    Example:\n  foretune-paper day --towns 2 --days 2 --out runs/day    some minutes; a table, and runs/day/day.svg")]
pub(crate) struct DayArguments {
    /// Towns, each a network of its own.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    towns: u32,
    /// Days that each town is run for.
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=366))]
    days: u32,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Ways to run it; the oracle's in any case, of which all are shares.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Way::value_variants().iter().copied())]
    way: Vec<Way>,
    /// What other sites have in common, for the ways that start from it.
    #[arg(long, value_name = "FILE", default_value = "examples/radio.fleet")]
    fleet: PathBuf,
    /// Threads to work with [default: all].
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Folder for steps, summary and picture.
    #[arg(long, value_name = "DIR", default_value = "runs/day")]
    out: PathBuf,
}

/// One town in one way.
type Unit = (u32, Way);

/// What is run, and the bytes of the fleet's file, if a way starts from it.
struct Days<'a> {
    arguments: &'a DayArguments,
    fleet: Vec<u8>,
}

pub(crate) fn run(arguments: &DayArguments, out: &mut dyn Write) -> Result<(), Error> {
    fs::create_dir_all(&arguments.out).map_err(Error::io("create", &arguments.out))?;
    let mut ways = Vec::new();
    for way in arguments.way.iter().chain([&Way::Oracle]) {
        if !ways.contains(way) {
            ways.push(*way);
        }
    }
    let units: Vec<Unit> =
        (1..=arguments.towns).flat_map(|town| ways.iter().map(move |way| (town, *way))).collect();
    let needs = ways.iter().any(|way| way.has_fleet());
    let fleet = if needs { foretune_fleet::read(&arguments.fleet)? } else { vec![] };
    let days = Days { arguments, fleet };
    work(&days, &units)?;
    let mut summary = String::from(HEADER);
    for unit in &units {
        summary += &row(*unit, &read(&days, *unit)?);
    }
    let file = arguments.out.join("summary.csv");
    write_atomically(&file, summary.as_bytes())?;
    writeln!(out, "{}", table(&file)?)?;
    let picture = arguments.out.join("day.svg");
    let (title, svg) = picture_of(&days)?;
    write_atomically(&picture, svg.as_bytes())?;
    writeln!(out, "{title}: {}", shown(&picture))?;
    Ok(())
}

/// Runs what is not done yet.
fn work(days: &Days<'_>, units: &[Unit]) -> Result<(), Error> {
    let (arguments, stop) = (days.arguments, stop_flag("finished towns"));
    let units: Vec<Unit> = units.iter().copied().filter(|unit| !file(days, *unit).exists()).collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let go_on = || !stop.load(Ordering::Relaxed);
    let threads = arguments.threads.or_else(|| thread::available_parallelism().ok());
    thread::scope(|scope| {
        for _ in 0..threads.map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = one(days, *unit, &go_on) {
                        *failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                        return;
                    }
                    say(&format!("day: town {} of {}, {}", unit.0, arguments.towns, unit.1.name()));
                }
            });
        }
    });
    failed.into_inner().unwrap_or_default().map_or(Ok(()), Err)
}

/// Named after all that decides what is in it.
fn file(days: &Days<'_>, (town, way): Unit) -> PathBuf {
    let DayArguments { days: number, seed, out, .. } = days.arguments;
    let with = if way.has_fleet() { format!("-with-{:08x}", crc32(&days.fleet)) } else { String::new() };
    out.join(format!("{}-{town}-of-seed-{seed}-{number}-days{with}.csv", way.name()))
}

fn one(days: &Days<'_>, unit: Unit, go_on: &dyn Fn() -> bool) -> Result<(), Error> {
    let arguments = days.arguments;
    let seeds = Seeds::new(arguments.seed, unit.0);
    let steps = unit.1.run(&Town::new(seeds.tasks, arguments.days as usize), &seeds, &days.fleet, go_on)?;
    let line = |step: &Step| {
        let Step { value, trial, below, trials, tasks, events, found, delay } = step;
        format!("{value},{trial},{below},{trials},{tasks},{events},{found},{delay}\n")
    };
    let rows: String = steps.iter().map(line).collect();
    write_atomically(
        &file(days, unit),
        format!("value,trial,below,trials,tasks,events,found,delay\n{rows}").as_bytes(),
    )
}

/// The steps of a town, each with what is there from the oracle.
fn read(days: &Days<'_>, unit: Unit) -> Result<Vec<(Step, f64)>, Error> {
    let [steps, best] = [unit, (unit.0, Way::Oracle)].map(|unit| parse(&file(days, unit)));
    let (steps, best) = (steps?, best?);
    if [&steps, &best].iter().any(|of| of.len() != days.arguments.days as usize * 24 * STEPS_PER_HOUR) {
        return Err(Error::refused(
            &file(days, unit),
            "a step is missing, here or in the oracle's file: delete both",
        ));
    }
    Ok(steps.into_iter().zip(best.into_iter().map(|step| step.value)).collect())
}

fn parse(path: &Path) -> Result<Vec<Step>, Error> {
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let steps = text.lines().enumerate().skip(1).map(|(line, text)| {
        let numbers: Vec<f64> = text.split(',').filter_map(|number| number.parse().ok()).collect();
        let &[value, trial, below, trials, tasks, events, found, delay] = numbers.as_slice() else {
            return Err(Error::damaged(path, line + 1, "is no step of a town: delete the file"));
        };
        let [trials, tasks, events, found, delay] =
            [trials, tasks, events, found, delay].map(|count| count as u32);
        Ok(Step { value, trial, below, trials, tasks, events, found, delay })
    });
    steps.collect()
}

const HEADER: &str = "way,town,share,below,tasks,trials,time,events,found,delay\n";

/// What a town came to in a way: value in service, of the oracle's; time below the floor, of the time in trials; tasks and trials
/// per day; time in trials, of all time; events, those found, and readings until then.
fn row((town, way): Unit, steps: &[(Step, f64)]) -> String {
    let sum = |part: fn(&Step) -> f64| steps.iter().map(|(step, _)| part(step)).sum::<f64>();
    let count = |part: fn(&Step) -> u32| steps.iter().map(|(step, _)| part(step)).sum::<u32>();
    let (all, trial) = (steps.len() as f64, sum(|step| step.trial));
    let share = steps.iter().map(|(step, best)| step.value / best).sum::<f64>() / all;
    let below = if trial > 0.0 { sum(|step| step.below) / trial } else { 0.0 };
    let days = all / (24 * STEPS_PER_HOUR) as f64;
    let [tasks, trials] =
        [count(|step| step.tasks), count(|step| step.trials)].map(|count| f64::from(count) / days);
    let [events, found, delay] =
        [count(|step| step.events), count(|step| step.found), count(|step| step.delay)];
    let (way, time) = (way.name(), trial / (all * STEP));
    format!("{way},{town},{share:.5},{below:.5},{tasks:.2},{trials:.1},{time:.4},{events},{found},{delay}\n")
}

/// The table of a summary.
pub(crate) fn table(path: &Path) -> Result<Table, Error> {
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let numbers = |way: Way, column: usize| -> Vec<f64> {
        let of_way =
            text.lines().map(|line| line.split(',').collect::<Vec<_>>()).filter(|row| row[0] == way.name());
        of_way.filter_map(|row| row.get(column)?.parse().ok()).collect()
    };
    let titles = [
        "",
        "value in service, of the oracle's",
        "against hourly",
        "time below the floor, of that in trials",
        "tasks per day",
        "trials per day",
        "events found",
    ];
    let ways = Way::value_variants().iter().filter(|way| !numbers(**way, 2).is_empty());
    let mut table = Table::new(titles);
    for way in ways {
        let average = |column: usize| foretune_report::stats::mean(&numbers(*way, column));
        let sum = |column: usize| numbers(*way, column).iter().sum::<f64>();
        let hourly = numbers(Way::Hourly, 2);
        let ahead: Vec<f64> = numbers(*way, 2).iter().zip(hourly).map(|(own, other)| own - other).collect();
        let other = Estimate::of(&ahead).filter(|_| *way != Way::Hourly);
        let (events, found) = (sum(7), sum(8));
        table.push(vec![
            way.name(),
            Estimate::of(&numbers(*way, 2)).map_or_else(String::new, mean),
            other.map_or_else(String::new, difference),
            format!("{:.1} %", 100.0 * average(3)),
            format!("{:.1}", average(4)),
            format!("{:.0}", average(5)),
            if events > 0.0 { format!("{found} of {events}") } else { String::new() },
        ]);
    }
    Ok(table)
}

/// The ways that a picture shows.
const SHOWN: [Way; 4] = [Way::Fleet, Way::Hourly, Way::Never, Way::Oracle];

/// The first town on the first day on which something happens, or on the first one: what it shows, and the SVG file.
fn picture_of(days: &Days<'_>) -> Result<(&'static str, String), Error> {
    let arguments = days.arguments;
    let town = Town::new(Seeds::new(arguments.seed, 1).tasks, arguments.days as usize);
    let day = 24 * STEPS_PER_HOUR;
    let first = town.events().first().map_or(0, |event| event.from / day * day);
    let title = match town.events() {
        [] => "Town 1 on its first day; nothing happens",
        _ => "Town 1 on the first day with an event",
    };
    let hour = |step: usize| (step - first) as f64 / STEPS_PER_HOUR as f64;
    let curve = |label: &str, style: Style, points: Vec<(f64, f64)>| Curve {
        label: label.into(),
        style: Style { plain: true, ..style },
        points: points.into_iter().map(|(x, y)| Sample { x, mean: y, low: y, high: y }).collect(),
    };
    let dashes = [Dash::Solid, Dash::Long, Dash::Short, Dash::Dotted];
    let mut curves = Vec::new();
    for (ink, way) in SHOWN.into_iter().enumerate().filter(|(_, way)| arguments.way.contains(way)) {
        let steps = read(days, (1, way))?;
        let points =
            steps.iter().enumerate().skip(first).take(day).map(|(i, (step, _))| (hour(i), step.value / STEP));
        curves.push(curve(
            &way.name(),
            Style { ink, dash: dashes[ink], ..Style::default() },
            points.collect(),
        ));
    }
    let today = first..(first + day).min(town.steps());
    let loads = today.clone().map(|step| (hour(step), town.load(step))).collect();
    let mut below = vec![curve("load", Style { ink: SHOWN.len(), ..Style::default() }, loads)];
    for (ink, event) in town.events().iter().filter(|event| today.contains(&event.from)).enumerate() {
        let (from, until) = (hour(event.from), hour(event.until.min(today.end)).max(hour(event.from) + 0.3));
        let style = Style { ink: ink + SHOWN.len() + 1, dash: Dash::Long, ..Style::default() };
        below.push(curve(event.name(), style, vec![(from, 0.4), (from, 1.0), (until, 1.0), (until, 0.4)]));
    }
    let axis = |title: &str| Some(Axis { title: title.into(), ..Axis::default() });
    let chart = LineChart {
        name: title.into(),
        x: Axis { title: "hour".into(), whole: true, ..Axis::default() },
        panels: vec![
            Panel { title: "What users of town 1 get".into(), curves, y: axis("bit/s/Hz") },
            Panel { title: "Load, and what happens".into(), curves: below, y: axis("share of users active") },
        ],
        ..LineChart::default()
    };
    Ok((title, chart.svg(960.0, Theme::Standalone)))
}
