//! `foretune tune`: one task of a problem of one's own, measured by a command.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::arguments::{PresetName, setup};
use super::show::{FileArguments, recommended, summary};
use super::{SettingArguments, shown, stop_flag};
use foretune_report::plot::short_number;
use foretune_tuning::{
    self as tuning, Answer, Ask, Command, Ended, MOST_AT_ONCE, Measured, Reason, Source, Standing, Store,
    Target, Told, Tuning, Why, Wire,
};
use host_sim::error::Error;
use host_sim::settings::Setup;
use host_sim::words::{counted, say, spell};

/// Tune what a command measures: one task of a problem that is described in a file.
///
/// For every query the command is started; the last line that it prints which is a number, or a JSON object with
/// "value" (and "cost", where it differs), is the answer. Interrupt or kill it at any moment: the same command goes on
/// where it was. Started again after the end, it runs the next task with what was learnt.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TuneArguments {
    /// The problem: parameters, fidelities, budget (docs/guide/tune.md).
    #[arg(value_name = "PROBLEM.TOML")]
    problem: PathBuf,
    /// What measures. {name} stands for a parameter's value, {fidelity}, {samples} and {task} for those; all are also
    /// in variables FORETUNE_NAME. Split into words as a shell would, without starting one.
    #[arg(long, short, value_name = "COMMAND")]
    command: String,
    /// Measure so many settings at once, 8 at most: the command is started for each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=MOST_AT_ONCE as i64))]
    parallel: u8,
    /// A measurement that takes longer has failed.
    #[arg(long, value_name = "SECONDS", value_parser = host_sim::words::seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    keep: KeepArguments,
    /// One JSON object per event, those of `foretune serve`, instead of lines for people.
    #[arg(long)]
    json: bool,
    /// When the task has ended, measure the setting in use every so many seconds, at the cheapest fidelity; as soon as it
    /// no longer gives what it gave, the next task begins. `run_length` in the problem says how rare false alarms are.
    #[arg(long, value_name = "SECONDS", value_parser = host_sim::words::seconds)]
    watch: Option<Duration>,
    /// Measure nothing, but say what the task that has ended recommends under these conditions.
    #[arg(long, value_name = "NAME=VALUE,…", conflicts_with = "watch")]
    at: Option<String>,
    /// Say why each setting is measured.
    #[arg(long, short, conflicts_with = "json")]
    verbose: bool,
    #[command(flatten)]
    files: FileArguments,
}

/// Where what was learnt is kept, and how tuning goes.
#[derive(Debug, Args)]
pub(crate) struct KeepArguments {
    /// File that keeps answers and what was learnt [tune: PROBLEM.state; serve: none].
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// The setting in use when the task begins [PROBLEM's, if edited since the last task, else the last recommendation].
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub deployed: Option<String>,
    /// What was measured before, free of charge: a table with a column for every parameter, `value`, and `fidelity` where it
    /// is not the last.
    #[arg(long, value_name = "FILE.csv")]
    pub past: Option<PathBuf>,
    /// Start the first task from what another site with the same parameters learnt: its state, or knowledge that Rust, C or Python
    /// handed out.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Root of all randomness [default: 1].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub settings: SettingArguments,
}

impl KeepArguments {
    /// The files that are read or kept, the problem's with them.
    pub fn inputs<'a>(&'a self, problem: &'a Path) -> impl Iterator<Item = &'a Path> + Clone {
        let others = [&self.state, &self.past, &self.from, &self.settings.settings];
        others.into_iter().filter_map(|file| file.as_deref()).chain([problem])
    }

    /// Opens the tuning of a target, kept in `state`.
    pub fn open(&self, target: Target, state: Option<&Path>) -> Result<Tuning, Error> {
        let store = state.map(Store::open).transpose()?;
        self.open_in(target, store)
    }

    pub fn open_in(&self, target: Target, store: Option<Store>) -> Result<Tuning, Error> {
        let setup = self.setup(&target)?;
        let deployed = self.deployed.as_deref().map(|text| tuning::point(&target, text)).transpose()?;
        let past = self.past.as_deref().map(|path| tuning::past::read(path, &target)).transpose()?;
        let mut tuning = Tuning::open(target, setup, (self.seed, deployed), store)?;
        if let Some(path) = &self.from {
            tuning.start_from_file(path)?;
        }
        if let Some(past) = past.filter(|past| !past.is_empty()) {
            tuning.take_past_once(past)?;
        }
        Ok(tuning)
    }

    fn setup(&self, target: &Target) -> Result<Setup, Error> {
        let noise = vec![0.0; target.fidelities.len()];
        let spec = target.spec(&noise, target.budget);
        let preset = if target.floor.is_some() { PresetName::Live } else { PresetName::Default };
        setup(preset.into(), &spec, &self.settings.assignments()?)
    }
}

const EXAMPLES: &str = "\
Examples:
  foretune tune problem.toml --command './measure.sh {p0} {alpha} --samples {samples}'
  foretune tune problem.toml --command 'python3 simulate.py' --timeout 60 --report page.html";

pub(super) fn run(arguments: &TuneArguments, out: &mut dyn Write) -> Result<(), Error> {
    let target = tuning::read(&arguments.problem)?;
    let beside = arguments.problem.with_extension("state");
    let state = arguments.keep.state.as_deref().unwrap_or(&beside);
    arguments.files.check(arguments.keep.inputs(&arguments.problem).chain([state]))?;
    let command = Command::new(&arguments.command, &target, arguments.timeout)?;
    let mut tuning = arguments.keep.open(target.clone(), Some(state))?;
    arguments.files.show(&mut tuning);
    if let Some(text) = &arguments.at {
        let ended = tuning.recommend_at(&tuning::conditions(&target, text)?)?;
        return match (&ended.point, arguments.json) {
            (Some(point), false) => Ok(recommended(&target, point, &ended, out)?),
            _ => Ok(writeln!(out, "{}", Wire(&target).recommendation(&ended))?),
        };
    }
    let goes_on = |error: &Error| {
        if matches!(error, Error::Interrupted) {
            say("the same command goes on from here");
        }
    };
    loop {
        match (tuning.ended().is_some() && tuning.reported(), arguments.watch) {
            (true, Some(every)) => {
                watch(&mut tuning, &command, every, arguments, out).inspect_err(goes_on)?
            }
            (true, None) => tuning.next_task(None)?,
            (false, _) => {}
        }
        play(&mut tuning, &command, arguments, state, out).inspect_err(goes_on)?;
        if arguments.watch.is_none() {
            return Ok(());
        }
    }
}

/// Measures the setting in use until it no longer gives what it gave: the next task has begun then.
fn watch(
    tuning: &mut Tuning,
    command: &Command,
    every: Duration,
    arguments: &TuneArguments,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let (target, ask) = (tuning.target().clone(), tuning.in_use()?);
    let (setting, fidelity) = (target.words(&ask.point), &target.fidelities[ask.fidelity].name);
    if !arguments.json {
        writeln!(out, "Watching {setting} ({fidelity}), every {}.", spell(every))?;
    }
    let mut failed = 0;
    loop {
        out.flush()?;
        wait(every)?;
        let read = match command.measure(&target, &ask, &go_on)? {
            Measured::Value { value, kpis, conditions, .. } => {
                match tuning.watch(value, &kpis, &conditions) {
                    Err(Error::Usage(why)) => Err(why),
                    watched => Ok((value, watched?)),
                }
            }
            Measured::Failed(why) => Err(why),
        };
        let (value, watched) = match read {
            Ok(read) => read,
            Err(why) => {
                failed += 1;
                if failed >= target.failures {
                    return Err(Error::failing(failed, &why));
                }
                say(&format!("a reading failed: {why}"));
                continue;
            }
        };
        failed = 0;
        let readings = counted(watched.readings as usize, "reading");
        match &watched.changed {
            _ if arguments.json => writeln!(out, "{}", Wire(&target).watched(&watched))?,
            Some(changed) => writeln!(
                out,
                "Changed after {readings}: `{}` is {} than it was, usually {}.\n",
                changed.of,
                changed.change,
                short_number(changed.usual)
            )?,
            None if arguments.verbose => writeln!(
                out,
                "{:>4}  {}  steady, evidence of a change {} %",
                watched.readings,
                short_number(value),
                short_number(f64::from(100.0 * watched.evidence))
            )?,
            None => {}
        }
        if watched.changed.is_some() {
            return Ok(());
        }
    }
}

/// Sleeps, unless interrupted.
fn wait(time: Duration) -> Result<(), Error> {
    let started = Instant::now();
    while started.elapsed() < time {
        if !go_on() {
            return Err(Error::Interrupted);
        }
        thread::sleep((time - started.elapsed().min(time)).min(Duration::from_millis(100)));
    }
    Ok(())
}

/// Plays the current task to its end, and says what came of it.
fn play(
    tuning: &mut Tuning,
    command: &Command,
    arguments: &TuneArguments,
    state: &Path,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let target = tuning.target().clone();
    let mut bench = Bench::new(&target, command, arguments, out);
    bench.begin(tuning, &beginning(arguments, tuning))?;
    let played = tuning.play(&mut bench);
    bench.bar.finish_and_clear();
    let failure = std::mem::take(&mut bench.failure);
    drop(bench);
    played?;
    arguments.files.write(&target, tuning.state())?;
    match (tuning.state().current(), tuning.ended()) {
        (_, Some(ended)) if arguments.json => writeln!(out, "{}", Wire(&target).recommendation(ended))?,
        (Some(task), Some(ended)) if ended.point.is_some() => {
            writeln!(out)?;
            summary(&target, task, ended, out)?;
            let next =
                if arguments.watch.is_some() { "." } else { "; the same command again runs the next task." };
            writeln!(out, "What was learnt is in {}{next}", shown(state))?;
        }
        _ => {}
    }
    out.flush()?;
    tuning.report()?;
    check_measured(tuning, &failure)
}

/// A task that ended because measuring failed, or with nothing to recommend, is an error.
fn check_measured(tuning: &Tuning, failure: &str) -> Result<(), Error> {
    match (tuning.state().current(), tuning.ended()) {
        (Some(task), Some(Ended { reason: Reason::Failures, .. })) => {
            Err(Error::failing(task.failing(), failure))
        }
        (_, Some(Ended { point: None, reason, .. })) => {
            let last = if failure.is_empty() { "" } else { ", and the last measurement failed: " };
            Err(Error::Device(format!("nothing is recommended: {reason}{last}{failure}")))
        }
        _ => Ok(()),
    }
}

/// Where a task begins, in words, and who says so.
fn beginning(arguments: &TuneArguments, tuning: &Tuning) -> String {
    let tasks = &tuning.state().tasks;
    let Some((task, earlier)) = tasks.split_last() else { return String::new() };
    let past = match task.begun.past.len() {
        0 => String::new(),
        count => format!(" It knows {} from before.", counted(count, "measurement")),
    };
    let Some(point) = &task.begun.deployed else { return past };
    let same_file = earlier.last().filter(|before| before.begun.filed == task.begun.filed);
    let origin = match (&arguments.keep.deployed, same_file) {
        (Some(_), _) => "the setting in use given by --deployed".into(),
        (None, None) => format!("the setting in use given in {}", shown(&arguments.problem)),
        (None, Some(before)) if before.ended.as_ref().is_some_and(|ended| ended.point.is_some()) => {
            "the last recommendation".into()
        }
        (None, Some(_)) => "the setting in use before".to_string(),
    };
    format!("{past} It begins at {origin}: {}.", tuning.target().words(point))
}

/// Starts the command for every query, and tells what comes of it.
struct Bench<'a> {
    target: &'a Target,
    command: &'a Command,
    json: bool,
    verbose: bool,
    out: &'a mut dyn Write,
    bar: ProgressBar,
    failure: String,
    /// How often the world has changed in the task.
    changes: u32,
    /// Whether it was said that the setting in use breaks a bound.
    warned: bool,
    at_once: usize,
    /// What measures, and what came of it.
    threads: Vec<JoinHandle<()>>,
    results: (Sender<Outcome>, Receiver<Outcome>),
    over: Arc<AtomicBool>,
}

type Outcome = (u64, Result<Measured, Error>);

impl Drop for Bench<'_> {
    /// Whatever is still being measured is wanted no more.
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // What it had to say was said to nobody.
            thread.join().ok();
        }
    }
}

impl<'a> Bench<'a> {
    fn new(
        target: &'a Target,
        command: &'a Command,
        &TuneArguments { json, verbose, parallel, .. }: &TuneArguments,
        out: &'a mut dyn Write,
    ) -> Self {
        // The bar is on the error output; lines on the output do not disturb it there.
        let visible = !json && std::io::stderr().is_terminal();
        let bar = if visible { ProgressBar::new(1000) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent} % of the budget, {elapsed}{msg}")
        {
            bar.set_style(style);
        }
        Self {
            target,
            command,
            json,
            verbose,
            out,
            bar,
            failure: String::new(),
            changes: 0,
            warned: false,
            at_once: parallel.into(),
            threads: Vec::new(),
            results: mpsc::channel(),
            over: Arc::default(),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), Error> {
        let written = self.bar.suspend(|| writeln!(self.out, "{line}").and_then(|()| self.out.flush()));
        Ok(written?)
    }

    fn begin(&mut self, tuning: &Tuning, beginning: &str) -> Result<(), Error> {
        let (task, answered) =
            (tuning.state().task(), tuning.state().current().map_or(0, |task| task.answers.len()));
        if self.json {
            let hello = Wire(self.target).hello(task, answered);
            return self.line(&hello);
        }
        match answered {
            0 => self.line(&format!("Task {task} of {}.{beginning}", self.target.name)),
            _ => {
                self.line(&format!("Task {task} of {}, going on after {answered} answers.", self.target.name))
            }
        }
    }
}

impl Source for Bench<'_> {
    fn start(&mut self, ask: &Ask, beside: &[u64]) -> Result<(), Error> {
        if self.json {
            let line = Wire(self.target).ask(ask, beside);
            self.line(&line)?;
        }
        let (command, target, ask) = (self.command.clone(), self.target.clone(), ask.clone());
        let (results, over) = (self.results.0.clone(), self.over.clone());
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(thread::Builder::new().spawn(move || {
            let measured = command.measure(&target, &ask, &|| go_on() && !over.load(Ordering::Relaxed));
            // Nobody listens any more once the task has ended.
            results.send((ask.id, measured)).ok();
        })?);
        Ok(())
    }

    fn wait(&mut self, _: &[Ask]) -> Result<(u64, Answer), Error> {
        let (id, measured) = self.results.1.recv().map_err(|_| Error::Defect)?;
        let answer = match measured? {
            Measured::Value { value, kpis, cost, conditions } => {
                Answer::Value { value, kpis, cost, conditions }
            }
            Measured::Failed(why) => {
                self.failure = why;
                Answer::Failed
            }
        };
        Ok((id, answer))
    }

    fn refused(&mut self, _: &Ask, why: &str) -> Result<Option<Answer>, Error> {
        self.failure = why.into();
        Ok(Some(Answer::Failed))
    }

    fn at_once(&self) -> usize {
        self.at_once
    }

    fn told(&mut self, ask: &Ask, told: &Told, standing: &Standing) -> Result<(), Error> {
        self.bar.set_position((1000.0 * standing.spent / standing.budget.max(1e-12)).min(1000.0) as u64);
        self.bar.set_message(standing_in_words(standing));
        if self.json {
            let line = Wire(self.target).told(ask, told);
            return self.line(&line);
        }
        let changes = ask.because.as_ref().map_or(self.changes, |because| because.changes);
        if changes > self.changes {
            self.changes = changes;
            self.line(
                "The setting in use no longer gives what it gave: what was measured before counts less.",
            )?;
        }
        let answer = match told.value {
            Some(value) => short_number(value.into()),
            None => format!("failed: {}", self.failure),
        };
        let kind = match told.why {
            Why::Noise => ", to learn the noise",
            Why::Initial => ", initial",
            Why::Carried => ", carried",
            Why::Search => "",
        };
        let expected =
            standing.expected.map(|best| format!(", {} expected of the best", short_number(best.into())));
        let best = standing.best.map(|best| format!(", best so far {}", short_number(best.into())));
        let best = expected.or(best);
        let outliers = match standing.outliers {
            0 => String::new(),
            count => format!(", {}", counted(count, "outlier")),
        };
        let line = format!(
            "{:>4}  {}  ({}{kind})  →  {answer}   [spent {} of {}{}{outliers}]",
            ask.id,
            self.target.words(&told.point),
            self.target.fidelities[told.fidelity].name,
            short_number(standing.spent),
            short_number(standing.budget),
            best.unwrap_or_default(),
        );
        self.line(&line)?;
        if !standing.lacking.is_empty() && !std::mem::replace(&mut self.warned, true) {
            standing.lacking.iter().try_for_each(|line| self.line(line))?;
        }
        let why = if self.verbose { tuning::reasons(self.target, told) } else { Vec::new() };
        why.iter().try_for_each(|line| self.line(&format!("        {line}")))
    }

    fn go_on(&self) -> bool {
        go_on()
    }
}

/// What users have, what was found, and what it cost them.
fn standing_in_words(standing: &Standing) -> String {
    let mut words =
        standing.in_use.map_or(String::new(), |value| format!("; in use {}", short_number(value)));
    if let Some(best) = standing.best.map(f64::from) {
        words += &format!("; best {}", short_number(best));
        if let Some(in_use) = standing.in_use.filter(|value| *value != 0.0) {
            words += &format!(" ({:+.1} %)", 100.0 * (best - in_use) / in_use.abs());
        }
    }
    for (name, [broken, all]) in &standing.broken {
        words += &format!("; {name} beyond its bound in {broken} of {all}");
    }
    words
}

fn go_on() -> bool {
    !stop_flag("every answer is kept").load(Ordering::Relaxed)
}
