//! `foretune run`: one problem, any methods, any settings.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::arguments::{PresetName, setup, shell_word, shown};
use super::{ExecutionArguments, ServiceArguments, SettingArguments, SizeArguments, Table, stop_flag};
use foretune_report::plot::{fixed_number, short_number};
use foretune_report::{Metric, Point, Samples, stats};
use foretune_tuning::{self as tuning, Bench};
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::Problem;
use host_sim::results::{Manifest, Study, TaskSummary};
use host_sim::runner::{self, Benchmark, Plan, Variant};
use host_sim::settings::{Assignment, Key, Preset, Setup, keys};
use host_sim::words::say;

/// Run one problem with one method or several and keep every query.
///
/// Results are written as the work goes on; an interrupted run continues with --resume and ends with the same bytes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub(crate) struct RunArguments {
    #[arg(help = host_sim::problems::help() + "; or, with --command, the file of a problem of your own")]
    problem: String,
    /// What measures a problem of your own, as for `foretune tune`; {seed} and {experiment} stand for those. Its values
    /// take the place of regrets. One measurement at a time, unless --jobs says otherwise.
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// A measurement by the command that takes longer has failed.
    #[arg(long, value_name = "SECONDS", value_parser = host_sim::words::seconds, requires = "command")]
    timeout: Option<Duration>,
    /// Methods to compare: mf-mes, continual, mft-mes, separation, separation-myopic, two-phase; to beat: never, kept,
    /// hill-climbing, safe-opt, constrained-ei, unguarded, random, random-cheapest, lattice, mf-mes-ten, warm-start, and for
    /// pid relay-zn, relay-tl.
    #[arg(long, short, value_name = "NAME,…", value_delimiter = ',', default_value = "mft-mes")]
    method: Vec<Method>,
    /// What the settings start from [default: default; live where there is a floor].
    #[arg(long, value_enum)]
    preset: Option<PresetName>,
    #[command(flatten)]
    settings: SettingArguments,
    /// Compare several values of one setting: every method that it matters to is run with each.
    #[arg(long, value_name = "KEY=VALUE,…")]
    sweep: Option<String>,
    #[command(flatten)]
    size: SizeArguments,
    /// Budget of a task, instead of the problem's.
    #[arg(long, value_name = "COST")]
    budget: Option<f64>,
    #[command(flatten)]
    service: ServiceArguments,
    /// Make this task, from 1, one of another kind, for which nothing that was carried on holds.
    #[arg(long, value_name = "TASK")]
    unlike_task: Option<u32>,
    /// Move the optima of every experiment by a random part of every range, at most this share of it, in all its tasks.
    #[arg(long, value_name = "SHARE")]
    moved: Option<f64>,
    /// Start every experiment from what other sites have in common: a file that `foretune fleet learn` wrote.
    #[arg(long, value_name = "FILE")]
    fleet: Option<PathBuf>,
    /// Folder for the results [default: runs/PROBLEM].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Name of the study, for the report.
    #[arg(long, default_value = "run")]
    name: String,
    #[command(flatten)]
    execution: ExecutionArguments,
}

const EXAMPLES: &str = "\
Examples:
  foretune run rrm --method mf-mes,continual,mft-mes --tasks 10 --experiments 4
  foretune run gas --set beta=0.75 --set information=paper --out runs/gas-paper-rule
  foretune run hartmann6 --sweep beta=0,0.3,0.6,1.2 --tasks 10 --out runs/beta
  foretune run rrm --floor share:0.9 --risk 0.05 --tolerance 0.01 --method never,hill-climbing,mft-mes
  foretune run problem.toml --command './measure {x} {seed}' --method random,mf-mes,mft-mes --tasks 5
  foretune run hartmann6 --preset paper --settings mine.toml --shard 1/4 --out shard-1
All settings: foretune run --help";

fn long_help() -> String {
    let spec = Problem::Gas(host_sim::problems::Gas).spec();
    let presets = [Preset::Default, Preset::Paper].map(|preset| Setup::new(preset, &spec));
    let line = |key: &Key| {
        let [ours, paper] = presets.map(|setup| match key.value(&setup) {
            _ if key.name() == "initial" => "the problem's".to_string(),
            serde_json::Value::String(text) if text.starts_with("fixed:0:") => "fixed".into(),
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        });
        let values = if ours == paper { ours } else { format!("{ours}; in the paper preset {paper}") };
        format!(
            "  {} [default: {values}]\n      {}\n      takes {}",
            key.name(),
            key.help(),
            key.takes(&presets[0])
        )
    };
    let (public, details): (Vec<Key>, Vec<Key>) = keys().partition(|key| matches!(key, Key::Public(_)));
    let public: Vec<String> = public.iter().map(line).collect();
    let details: Vec<&str> = details.iter().map(Key::name).collect();
    format!(
        "{EXAMPLES}\n\nSettings, for --set KEY=VALUE and for files:\n{}\n\nTo study the method, also: {}",
        public.join("\n"),
        details.join(", ")
    )
}

pub(super) fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Error> {
    let plan = plan(arguments)?;
    let name = Path::new(&arguments.problem).file_stem().unwrap_or_default().to_string_lossy();
    let default = || PathBuf::from("runs").join(name.replace([':', '=', ','], "-"));
    let folder = arguments.out.clone().unwrap_or_else(default);
    let mut execution = arguments.execution.execution();
    if arguments.command.is_some() && arguments.execution.jobs.is_none() {
        execution.jobs = 1;
    }
    let study =
        runner::run(&plan, &folder, execution, stop_flag("finished tasks are kept")).map_err(explained)?;
    if arguments.execution.shard.is_none() {
        outcome(&study, out)?;
    }
    whereabouts("foretune", &arguments.execution, &folder, out)
}

/// Tells, where work was interrupted, how it goes on.
pub fn explained(error: Error) -> Error {
    if matches!(error, Error::Interrupted) {
        say("the same command with --resume goes on from here");
    }
    error
}

/// Where the results are, and what to do with them.
pub fn whereabouts(
    program: &str,
    execution: &ExecutionArguments,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<(), Error> {
    match &execution.shard {
        Some(shard) => {
            writeln!(
                out,
                "Shard {shard} is in {}; `foretune-paper merge` joins it with the others.",
                shown(folder)
            )?;
        }
        None => writeln!(
            out,
            "\nAll queries are in {}; `{program} report {0}` makes a page of them.",
            shown(folder)
        )?,
    }
    Ok(())
}

fn plan(arguments: &RunArguments) -> Result<Plan, Error> {
    let mut benchmark = benchmark(arguments)?;
    if let Some(budget) = arguments.budget {
        benchmark = benchmark.with_budget(budget)?;
    }
    if let Some(task) = arguments.unlike_task {
        benchmark = benchmark.with_unlike(task)?;
    }
    if let Some(share) = arguments.moved {
        benchmark = benchmark.with_moved(share)?;
    }
    benchmark = arguments.service.put(benchmark)?;
    let assignments = assignments(arguments)?;
    let mut variants = variants(arguments, &benchmark, &assignments)?;
    if let Some(path) = &arguments.fleet {
        let fleet: Arc<[u8]> = foretune_fleet::read(path)?.into();
        variants = variants.into_iter().map(|variant| variant.with_fleet(fleet.clone())).collect();
    }
    if benchmark.bench().is_some() && arguments.unlike_task.is_some() {
        return Err(Error::usage("--unlike-task is for built-in problems: a command has its own tasks"));
    }
    let tasks = arguments.size.tasks.unwrap_or(benchmark.spec().tasks as u32);
    if let Some(unlike) = arguments.unlike_task.filter(|unlike| *unlike > tasks) {
        return Err(Error::usage(format!("--unlike-task is {unlike}, but the last task is {tasks}")));
    }
    let study = Manifest {
        study: arguments.name.clone(),
        preset: preset(arguments).name().into(),
        command: command(arguments, tasks, &assignments),
        seed: arguments.size.seed,
        experiments: arguments.size.experiments.unwrap_or(1),
        tasks,
        ..Manifest::default()
    };
    Plan::new(study, benchmark, variants)
}

/// The one that was asked for; with a floor the live one, else the default.
fn preset(arguments: &RunArguments) -> Preset {
    let guarded = arguments.service.floor.is_some() || !arguments.service.guard.is_empty();
    let usual = if guarded { PresetName::Live } else { PresetName::Default };
    arguments.preset.unwrap_or(usual).into()
}

/// The settings that count: not those that would change nothing, of which the user is told.
fn assignments(arguments: &RunArguments) -> Result<Vec<Assignment>, Error> {
    let mut all = arguments.settings.assignments()?;
    let swept = arguments.sweep.as_deref().map(str::parse::<Assignment>).transpose()?;
    let is_swept = |key: &str| swept.as_ref().is_some_and(|sweep| sweep.key == key);
    if let Some(both) = all.iter().find(|a| is_swept(&a.key) && a.place.is_none()) {
        return Err(Error::usage(format!("`{}` is in --set and in --sweep: which one counts?", both.key)));
    }
    for Assignment { key, place, .. } in all.extract_if(.., |a| is_swept(&a.key)) {
        say(&format!("note: {}: `{key}` gives way to --sweep", place.unwrap_or_default()));
    }
    for Assignment { key, .. } in all.iter().filter(|a| !matters(&a.key, &arguments.method)) {
        say(&format!("note: setting `{key}` changes nothing for {}", names(&arguments.method)));
    }
    match swept.filter(|sweep| !matters(&sweep.key, &arguments.method)) {
        Some(Assignment { key, .. }) => {
            Err(Error::usage(format!("--sweep of `{key}` changes nothing for {}", names(&arguments.method))))
        }
        None => Ok(all),
    }
}

/// Whether a setting makes a difference to one of the methods; an unknown one is refused elsewhere.
fn matters(name: &str, methods: &[Method]) -> bool {
    let known = keys().find(|key| key.name() == name);
    known.is_none_or(|key| methods.iter().any(|method| key.matters_to(*method)))
}

fn names(methods: &[Method]) -> String {
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    names.join(", ")
}

/// A built-in problem, or one of the user's own with a command.
fn benchmark(arguments: &RunArguments) -> Result<Benchmark, Error> {
    let Some(command) = &arguments.command else {
        let problem: Problem = arguments.problem.parse().map_err(|error: String| {
            let is_file = Path::new(&arguments.problem).exists();
            Error::usage(error + if is_file { "; a problem file wants --command" } else { "" })
        })?;
        return Ok(Benchmark::new(problem));
    };
    let target = tuning::read(Path::new(&arguments.problem))?;
    target.check_limits(target.deployed.as_ref())?;
    if !target.conditions().is_empty() {
        return Err(Error::usage(
            "a study of a command has no conditions: leave [[condition]] out, or use `foretune tune`",
        ));
    }
    let noise = target.given_noise("a study")?;
    let command = tuning::Command::new(command, &target, arguments.timeout)?;
    Ok(Bench { target, command }.benchmark(&noise))
}

fn variants(
    arguments: &RunArguments,
    benchmark: &Benchmark,
    assignments: &[Assignment],
) -> Result<Vec<Variant>, Error> {
    let base = setup(preset(arguments), benchmark.spec(), assignments)?;
    let mut methods: Vec<Method> = Vec::new();
    for &method in &arguments.method {
        if methods.contains(&method) {
            return Err(Error::usage(format!("method `{method}` is named twice")));
        }
        methods.push(method);
    }
    let Some(sweep) = &arguments.sweep else {
        return Ok(methods.into_iter().map(|method| Variant::of(method, base)).collect());
    };
    let Assignment { key: name, value: values, .. } = sweep.parse()?;
    let mut variants = Vec::new();
    for method in methods {
        if !matters(&name, &[method]) {
            variants.push(Variant::of(method, base));
            continue;
        }
        for value in values.split(',') {
            let mut setup = base;
            setup.set(&name, value)?;
            let usual = Variant::of(method, setup);
            let key = format!("{method}-{name}-{}", value.replace(':', "-"));
            variants.push(Variant { key, label: format!("{}, {name} = {value}", usual.label), ..usual });
        }
    }
    Ok(variants)
}

/// The command that runs the whole study, with a settings file spelt out.
fn command(arguments: &RunArguments, tasks: u32, assignments: &[Assignment]) -> String {
    let RunArguments { size, service, .. } = arguments;
    let mut options = vec![
        ("--command", arguments.command.clone()),
        ("--timeout", arguments.timeout.map(|timeout| timeout.as_secs_f64().to_string())),
        ("--method", Some(names(&arguments.method).replace(", ", ","))),
        ("--preset", Some(preset(arguments).name().into())),
    ];
    options.extend(assignments.iter().map(|set| ("--set", Some(format!("{}={}", set.key, set.value)))));
    options.extend([
        ("--sweep", arguments.sweep.clone()),
        ("--experiments", Some(size.experiments.unwrap_or(1).to_string())),
        ("--tasks", Some(tasks.to_string())),
        ("--seed", Some(size.seed.to_string())),
        ("--budget", arguments.budget.map(|budget| budget.to_string())),
    ]);
    options.extend(service.words().into_iter().map(|(name, value)| (name, Some(value))));
    options.extend([
        ("--unlike-task", arguments.unlike_task.map(|task| task.to_string())),
        ("--moved", arguments.moved.map(|share| share.to_string())),
        ("--fleet", arguments.fleet.as_ref().map(|path| path.display().to_string())),
        ("--name", Some(arguments.name.clone()).filter(|name| name != "run")),
    ]);
    let given =
        options.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", shell_word(&value?))));
    let words = ["foretune".into(), "run".into(), shell_word(&arguments.problem)].into_iter().chain(given);
    words.collect::<Vec<String>>().join(" ")
}

/// A line per variant: how well it did, first and last.
pub fn outcome(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let manifest = study.manifest();
    let loaded = study.load()?;
    let metric = Metric::of(manifest);
    let measure = match metric {
        Metric::Regret => "simple regret (0 is perfect)",
        Metric::Ratio => "share of the optimum (1 is perfect)",
        Metric::Value => "value (more is better; that of a problem to be minimised has its sign turned)",
    };
    let [best, recommended, tried] = [Point::Best, Point::Recommended, Point::Tried]
        .map(|point| Samples::new(manifest, &loaded.rows, metric, point));
    let last = manifest.tasks;
    writeln!(
        out,
        "{}: {measure}, mean and 90 % interval over experiments ({})",
        manifest.problem, manifest.experiments
    )?;
    // The first task and the last, which may be the same.
    let shown = if last == 1 { vec![1] } else { vec![1, last] };
    let mut titles = vec!["method".to_string()];
    titles.extend(shown.iter().map(|task| format!("best tried, task {task}")));
    titles.extend([format!("recommended, task {last}"), "mean tried, all tasks".into()]);
    let mut table = Table::new(titles);
    for (v, variant) in manifest.variants.iter().enumerate() {
        let all: Vec<f64> = (1..=last).flat_map(|task| tried.at(v, task)).flatten().copied().collect();
        let mut cells = vec![variant.label.clone()];
        cells.extend(shown.iter().map(|task| interval(best.estimate(v, *task))));
        cells.push(interval(recommended.estimate(v, last)));
        cells.push(if all.is_empty() { "–".into() } else { fixed_number(stats::mean(&all), 3) });
        table.push(cells);
    }
    table.write(out)?;
    live(manifest, &loaded.rows, metric, out)
}

/// What those who were served got meanwhile, where tasks started from a point in use.
fn live(manifest: &Manifest, rows: &[TaskSummary], metric: Metric, out: &mut dyn Write) -> Result<(), Error> {
    if !manifest.options.contains_key("deployed") || metric == Metric::Value {
        return Ok(());
    }
    writeln!(out, "\nMeanwhile, over all tasks:")?;
    let mut table = Table::new(
        ["method", "point in use", "by time", "worst trial", "time below the floor", "trials below", "spent"]
            .map(String::from),
    );
    for (v, variant) in manifest.variants.iter().enumerate() {
        let of = |value: &dyn Fn(&TaskSummary) -> Option<f64>| {
            let values: Vec<f64> = rows.iter().filter(|row| row.variant == v).filter_map(value).collect();
            (!values.is_empty()).then(|| stats::mean(&values))
        };
        let judged = |value: fn(&TaskSummary) -> Option<f64>| {
            of(&|row| value(row).map(|value| metric.measure(value, row.optimum)))
        };
        let cells = [judged(|row| row.deployed), judged(|row| row.meanwhile), judged(|row| row.worst)];
        let mut line = vec![variant.label.clone()];
        line.extend(cells.map(|cell| cell.map_or("–".into(), |cell| fixed_number(cell, 3))));
        let shares = [of(&|row| row.below_time), of(&|row| row.below)];
        line.extend(shares.map(|share| {
            share.map_or("–".into(), |share| format!("{} %", fixed_number(100.0 * share, 1)))
        }));
        line.push(of(&|row| Some(row.spent)).map_or("–".into(), |spent| fixed_number(spent, 0)));
        table.push(line);
    }
    table.write(out)?;
    Ok(())
}

/// `0.92 ± 0.03`, or a dash where nothing was run.
pub fn interval(estimate: Option<stats::Estimate>) -> String {
    match estimate {
        None => "–".into(),
        Some(stats::Estimate { mean, half_width: Some(half), .. }) => {
            format!("{} ± {}", fixed_number(mean, 3), short_number(half))
        }
        Some(stats::Estimate { mean, .. }) => fixed_number(mean, 3),
    }
}
