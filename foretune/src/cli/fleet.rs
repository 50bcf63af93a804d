//! `foretune fleet`: learns what sites have in common, shows it, and checks it on a site.

use std::io::Write;
use std::path::PathBuf;
use std::thread;

use clap::{Args, Subcommand};
use foretune_core::fleet::{MAX_CENTRES, MAX_MODES, MAX_POINTS};
use foretune_core::{Fleet, SnapshotError};
use foretune_report::table::Table;
use host_sim::error::Error;
use host_sim::problems::DimensionSpec;
use host_sim::results::{check_output, write_atomically};
use host_sim::words::say;
use indicatif::{ProgressBar, ProgressStyle};

use super::{shown, stop_flag};
use crate::fleet::{gather, page};
use foretune_fleet::{Fitted, Plan, Shape, fit, read, typical};

/// Learn what many sites have in common, so that a new one starts where they are.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct FleetArguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  foretune run rrm --floor share:0.9 --experiments 40 --tasks 10 --out runs/sites
  foretune fleet learn runs/sites -o radio.fleet
  foretune fleet show radio.fleet
  foretune run rrm --floor share:0.9 --experiments 20 --tasks 1 --seed 2 --fleet radio.fleet
  foretune fleet learn site-*.state --problem site.toml -o mine.fleet";

#[derive(Debug, Subcommand)]
enum Command {
    Learn(LearnArguments),
    Show(ShowArguments),
    Check(CheckArguments),
}

/// Learn a fleet's prior from what was measured at some sites.
#[derive(Debug, Args)]
struct LearnArguments {
    /// Folders of studies, each experiment a site, or files, each a site: states of `tune` and `serve`, answers of a device (`hil
    /// --answers`).
    #[arg(required = true, value_name = "PLACE")]
    places: Vec<PathBuf>,
    /// The problem's file, for states and for studies of a command of your own.
    #[arg(long, value_name = "FILE")]
    problem: Option<PathBuf>,
    /// The file to write.
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Bumps that mean and modes are made of [default: what predicts sites held back best].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=MAX_CENTRES as i64))]
    centres: Option<u8>,
    /// Ways in which sites differ [default: what predicts sites held back best].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=MAX_MODES as i64))]
    modes: Option<u8>,
    /// Typical points to carry, at most; each stands for three sites or more.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(0..=MAX_POINTS as i64))]
    points: u8,
    /// A mean and modes for every fidelity: where cheap ones are wrong, not only noisy.
    #[arg(long)]
    per_fidelity: bool,
    /// Margin to a floor in a new site's first task, in standard deviations.
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0)]
    margin: f32,
    /// Passes over all tasks.
    #[arg(long, value_name = "N", default_value_t = 60)]
    passes: u32,
    /// Fits from different starts, of which the one counts that predicts sites held back best.
    #[arg(long, value_name = "N", default_value_t = 3)]
    starts: u32,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads [default: all processors].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// Say what a fleet's file has in it.
#[derive(Debug, Args)]
struct ShowArguments {
    /// The file.
    file: PathBuf,
    /// Draw mean and modes over every two parameters on this page.
    #[arg(long, value_name = "PAGE.HTML")]
    page: Option<PathBuf>,
}

/// Say how well a fleet predicts sites that it was not learnt from.
#[derive(Debug, Args)]
struct CheckArguments {
    /// The file.
    file: PathBuf,
    /// Folders of studies, or files of states.
    #[arg(required = true, value_name = "PLACE")]
    places: Vec<PathBuf>,
    /// The problem's file, for states and for studies of a command of your own.
    #[arg(long, value_name = "FILE")]
    problem: Option<PathBuf>,
}

pub(super) fn run(arguments: &FleetArguments, out: &mut dyn Write) -> Result<(), Error> {
    match &arguments.command {
        Command::Learn(arguments) => learn(arguments, out),
        Command::Show(arguments) => show(arguments, out),
        Command::Check(arguments) => check(arguments, out),
    }
}

fn learn(arguments: &LearnArguments, out: &mut dyn Write) -> Result<(), Error> {
    if !(0.0..=4.0).contains(&arguments.margin) {
        return Err(Error::usage("--margin takes a number from 0 to 4"));
    }
    check_output(&arguments.out, arguments.places.iter().chain(&arguments.problem).map(PathBuf::as_path))?;
    let mut gathered = gather(&arguments.places, arguments.problem.as_deref())?;
    gathered.sites.retain(|site| {
        if !site.teaches() {
            say(&format!("{}: left out, there is nothing to learn from yet", site.name));
        }
        site.teaches()
    });
    let unordered = |d: &&DimensionSpec| matches!(d, DimensionSpec::Category { .. });
    if let Some(category) = gathered.spec.dimensions.iter().find(unordered) {
        let name = category.name();
        return Err(Error::usage(format!(
            "a fleet takes parameters with an order: the values of `{name}` have none"
        )));
    }
    let [sites, tasks, answers] = gathered.counts();
    writeln!(out, "{}: {sites} sites, {tasks} tasks, {answers} answers", gathered.spec.name)?;
    out.flush()?;
    let jobs = arguments.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let plan = Plan {
        centres: arguments.centres.map(usize::from),
        modes: arguments.modes.map(usize::from),
        per_fidelity: arguments.per_fidelity,
        passes: arguments.passes.max(1),
        starts: arguments.starts.max(1),
        seed: arguments.seed,
        jobs,
    };
    let bar = ProgressBar::new(u64::from(plan.all_passes(&gathered)));
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos} of {len} passes, {msg}, about {eta} left")
    {
        bar.set_style(style);
    }
    let kept = PathBuf::from(format!("{}.part", arguments.out.display()));
    let stop = stop_flag("the same command goes on from the last start that was finished");
    let fitted = fit(&gathered, &plan, &kept, stop, &mut |passes, value| {
        bar.set_message(format!("log likelihood per answer {value:.3}"));
        bar.inc(passes.into());
    })?;
    bar.finish_and_clear();
    let points = typical(&gathered, &fitted, arguments.points.into(), arguments.seed);
    let bytes = fitted.bytes(&gathered, &points, arguments.margin);
    Fleet::read(&bytes).map_err(|why| Error::usage(refused(why)))?;
    write_atomically(&arguments.out, &bytes)?;
    let Shape { centres, modes, .. } = fitted.shape;
    writeln!(out, "{centres} centres, {modes} modes, {} typical points", points.len())?;
    writeln!(out, "log likelihood per answer of sites held back: {:.3}", fitted.held_back)?;
    writeln!(out, "{} bytes in {}", bytes.len(), shown(&arguments.out))?;
    Ok(())
}

fn refused(why: SnapshotError) -> String {
    format!("the fit came to nothing that could be used: {why}")
}

/// Places along a parameter at which mean and modes are told.
const PLACES: usize = 9;

fn show(arguments: &ShowArguments, out: &mut dyn Write) -> Result<(), Error> {
    let bytes = read(&arguments.file)?;
    let fleet = Fleet::read(&bytes).map_err(|why| Error::usage(why.to_string()))?;
    let header = fleet.header();
    let [sites, tasks, answers] = header.learnt_from;
    writeln!(out, "learnt from {sites} sites, {tasks} tasks, {answers} answers; {} bytes", bytes.len())?;
    let fidelities = if header.sets == 1 { "one prior for all" } else { "a prior for each" };
    writeln!(
        out,
        "{} parameters, {} fidelities ({fidelities}), {} centres, {} modes, {} typical points",
        header.dimensions, header.fidelities, header.centres, header.modes, header.points
    )?;
    let mut middle = vec![0.5; header.dimensions];
    for i in 0..header.points {
        let numbers: Vec<f32> = fleet.typical(i).collect();
        let (value, x) = numbers.split_last().unwrap_or((&0.0, &[]));
        if i == 0 {
            middle = x.to_vec();
        }
        let x: Vec<String> = x.iter().map(|x| format!("{x:.3}")).collect();
        writeln!(out, "typical point {} of the unit cube: {value:.2} expected", x.join(" "))?;
    }
    if let Some(file) = &arguments.page {
        check_output(file, [&*arguments.file])?;
        write_atomically(file, page(&fleet, &middle).as_bytes())?;
        writeln!(out, "mean and modes are drawn in {}", shown(file))?;
    }
    let through = if header.points > 0 { "the first typical point" } else { "the middle" };
    writeln!(out, "\nThrough {through}, from the lowest to the highest value of each parameter:")?;
    for parameter in 0..header.dimensions {
        let at = |place: usize| {
            let mut x = middle.clone();
            x[parameter] = place as f32 / (PLACES - 1) as f32;
            fleet.at(&x, header.fidelities - 1)
        };
        let all: Vec<_> = (0..PLACES).map(at).collect();
        let row = |of: &dyn Fn(&foretune_core::fleet::Terms) -> f32| -> String {
            all.iter().map(|terms| format!("{:>8.2}", of(terms))).collect()
        };
        let mean = row(&|terms| header.mean + header.deviation * terms[0]);
        writeln!(out, "parameter {}   mean{mean}", parameter + 1)?;
        for mode in 1..=header.modes {
            writeln!(out, "           mode {mode} {}", row(&|terms| header.deviation * terms[mode]))?;
        }
    }
    Ok(())
}

fn check(arguments: &CheckArguments, out: &mut dyn Write) -> Result<(), Error> {
    let bytes = read(&arguments.file)?;
    let fleet = Fleet::read(&bytes).map_err(|why| Error::usage(why.to_string()))?;
    let gathered = gather(&arguments.places, arguments.problem.as_deref())?;
    gathered.check(&fleet)?;
    let fitted = Fitted::of(&fleet, gathered.sign);
    let mut table =
        Table::new(["site", "answers", "with the fleet", "without", "the fleet's word"].map(String::from));
    for site in &gathered.sites {
        let (mut sums, mut count) = ([0.0; 2], 0.0);
        for task in site.tasks.iter().filter(|task| task.y.len() > 1) {
            if let Some(found) = fitted.predicts(task) {
                let answers = task.y.len() as f64;
                sums = [sums[0] + answers * found[0], sums[1] + answers * found[1]];
                count += answers;
            }
        }
        let cells = match sums.map(|sum| sum / count) {
            _ if count == 0.0 => ["–".into(), "–".into(), "nothing can be told".into()],
            [with, without] => {
                let word = if with >= without { "holds" } else { "does not hold" };
                [format!("{with:.3}"), format!("{without:.3}"), word.into()]
            }
        };
        table.push([site.name.clone(), format!("{count}")].into_iter().chain(cells));
    }
    writeln!(out, "Log likelihood per answer; more is better:")?;
    table.write(out)?;
    Ok(())
}
