//! `foretune hil`: plays the base station and what it measures to a real or emulated device.
//!
//! The device tunes some tasks: of power control, which it is built for and which is simulated here, or of a problem from
//! a file, which is sent to it and measured by a command. When it is done, the same tasks are run by the same core on this host,
//! and every query, every recommendation and what was learnt must be the same, bit for bit.

pub mod answers;
mod dialogue;
mod line;
mod notes;
mod profile;
mod radio;
mod station;
mod world;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use foretune_core::snapshot::{Header, knowledge_and_fleet};
use foretune_firmware::reference::{Answer, Outline, Trace};
use foretune_link::seal::Key;
use foretune_link::{Begin, Knowledge, Phase, Query, Recommendation, Request};

use dialogue::{Device, Dialogue};
use foretune_tuning::{self as tuning, Command};
use host_sim::error::Error;
use host_sim::results::check_output;
use host_sim::words::counted;
use line::{Address, Line};
use notes::Notes;
use profile::Profile;
use radio::Radio;
use world::{Own, World};

/// Plays the base station to a device, and compares what it does with the same core on this host.
#[derive(Debug, Args)]
pub struct HilArguments {
    /// The problem to tune, which is sent to the device (docs/guide/tune.md) [the one that it is built for].
    #[arg(value_name = "PROBLEM.TOML", requires = "command", conflicts_with_all = ["flaky", "train"])]
    problem: Option<PathBuf>,
    /// What measures it, as for `foretune tune`.
    #[arg(long, short, value_name = "COMMAND", requires = "problem")]
    command: Option<String>,
    /// A measurement that takes longer has failed.
    #[arg(long, value_name = "SECONDS", value_parser = host_sim::words::seconds, requires = "problem")]
    limit: Option<Duration>,
    /// The setting in use now [PROBLEM's, where the device knows nothing yet, else its last recommendation].
    #[arg(long, value_name = "NAME=VALUE,…", requires = "problem")]
    deployed: Option<String>,
    /// Serial port of a real board, such as /dev/ttyACM0.
    #[arg(long, value_name = "PORT", required_unless_present = "connect", conflicts_with = "connect")]
    port: Option<String>,
    /// Socket of an emulated board: tcp:HOST:PORT or unix:PATH.
    #[arg(long, value_name = "ADDRESS")]
    connect: Option<Address>,
    /// Tasks to tune.
    #[arg(long, value_name = "N", default_value_t = 3)]
    tasks: usize,
    /// What the queries of a task may cost [400, or as the problem says].
    #[arg(long, value_name = "COST")]
    budget: Option<f32>,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Learning steps at the end of a task, if the firmware was built with other than the profile's own.
    #[arg(long, value_name = "N")]
    steps: Option<u32>,
    /// Knowledge to load into the device before its first task.
    #[arg(long, value_name = "FILE")]
    upload: Option<PathBuf>,
    /// A fleet's file to load into the device before its first task, behind what it knows (`foretune fleet learn`).
    #[arg(long, value_name = "FILE")]
    fleet: Option<PathBuf>,
    /// Train on this host for so many tasks of another deployment, and load what was learnt into the device first.
    #[arg(long, value_name = "N", conflicts_with = "upload")]
    train: Option<usize>,
    /// Where to keep what the device knows in the end; it is then continued here for one task.
    #[arg(long, value_name = "FILE")]
    download: Option<PathBuf>,
    /// A file to add the answers of every task to, as read back from the device; `--tasks 0` reads back its last. `fleet
    /// learn` takes it.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Make the device forget what it knows first.
    #[arg(long)]
    forget: bool,
    /// Begin with what the device knows though it was learnt on another problem.
    #[arg(long, conflicts_with = "forget")]
    adopt: bool,
    /// Abort the task that the device is at.
    #[arg(long)]
    abort: bool,
    /// Begin the first task only: after each, hand in readings of its recommendation, of which one in so many may give a false
    /// alarm. The world changes after sixty, and the device begins the next task when it has noticed.
    #[arg(long, value_name = "READINGS", conflicts_with = "problem")]
    watch: Option<f32>,
    /// In the end, say what is best under these conditions; with `--tasks 0` that is all.
    #[arg(long, value_name = "NAME=VALUE,…", requires = "problem")]
    at: Option<String>,
    /// Let a measurement fail now and then.
    #[arg(long)]
    flaky: bool,
    /// The device's key: a file with 64 hexadecimal digits. Without one, the line is open to everybody.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Keep notes in this file, and go on from them if they are there.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// Milliseconds after which a request is repeated.
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    timeout: u32,
    /// Seconds of silence after which to give up.
    #[arg(long, value_name = "S", default_value_t = 120)]
    patience: u64,
}

pub fn hil(arguments: &HilArguments, out: &mut dyn Write) -> Result<(), Error> {
    let address = match (&arguments.port, &arguments.connect) {
        (Some(port), _) => Address::Serial(port.clone()),
        (None, Some(address)) => address.clone(),
        (None, None) => return Err(Error::usage("say where the device is: --port or --connect")),
    };
    for file in [&arguments.download, &arguments.notes, &arguments.answers].into_iter().flatten() {
        check_output(
            file,
            [&arguments.problem, &arguments.key, &arguments.fleet].into_iter().filter_map(Option::as_deref),
        )?;
    }
    let mut world = world(arguments)?;
    let others = arguments.at.as_deref().map_or(Ok(Vec::new()), |text| world.conditions(text))?;
    let patience = Duration::from_secs(arguments.patience);
    let key = arguments.key.as_deref().map(read_key).transpose()?;
    let mut dialogue = Dialogue::new(Line::open(address)?, arguments.timeout, patience, key);
    let device = dialogue.greet()?;
    let profile = Profile::find(&device.profile)?.with_steps(arguments.steps)?;
    introduce(&device, out)?;
    match world.problem() {
        Some(bytes) => profile.fits(bytes)?,
        None if device.problem == profile.problem() => {}
        None => {
            return Err(Error::Device(
                "the device tunes another problem than this program: are both of the same version?".into(),
            ));
        }
    }
    let mut notes = match Notes::load(arguments.notes.as_deref())? {
        Some(notes) => notes,
        None => {
            let notes = prepare(&mut dialogue, &profile, arguments, out)?;
            if let Some(beginning) = notes.beginning(arguments, &world) {
                writeln!(out, "{beginning}")?;
            }
            // Before the first task begins: a station that falls over right after that must find it in its notes.
            notes.save(arguments.notes.as_deref())?;
            notes
        }
    };
    station::play(&mut dialogue, &mut notes, &mut world, arguments, &profile, out)?;
    if let Some(file) = arguments.answers.as_deref().filter(|_| arguments.tasks == 0) {
        answers::keep_last(&mut dialogue, &profile, world.problem(), file, out)?;
    }
    let elsewhere = if others.is_empty() { None } else { Some(dialogue.best_under(&others)?) };
    if let Some(best) = &elsewhere {
        if !world.is_under(&best.point, &others) {
            return Err(Error::Device(format!(
                "restarted since its last task, the device knows only what that ended with: {}",
                world.show(&best.point)
            )));
        }
        writeln!(out, "best there: {}, {}", world.show(&best.point), world.judge(0, &best.point, best.mean))?;
    }
    let learnt = compare(&notes, &profile, &world, arguments, (&others, elsewhere), out)?;
    finish(&mut dialogue, &profile, &learnt, arguments, out)
}

fn read_key(file: &Path) -> Result<Key, Error> {
    let wrong = |what: &dyn std::fmt::Display| Error::usage(format!("{}: {what}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| wrong(&error))?;
    let digits: Option<Vec<u8>> = text.trim().chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits.filter(|digits| digits.len() == 64);
    let digits = digits.ok_or_else(|| wrong(&"a key has 64 hexadecimal digits and nothing else"))?;
    Ok(std::array::from_fn(|i| digits[2 * i] << 4 | digits[2 * i + 1]))
}

fn world(arguments: &HilArguments) -> Result<World, Error> {
    let (Some(problem), Some(command)) = (&arguments.problem, &arguments.command) else {
        return Ok(World::Radio(Box::new(Radio::new(arguments.seed, arguments.flaky))));
    };
    let mut target = tuning::read(problem)?;
    if let Some(text) = &arguments.deployed {
        target.deployed = Some(tuning::point(&target, text)?);
    }
    let command = Command::new(command, &target, arguments.limit)?;
    Ok(World::Own(Box::new(Own::new(target, command, arguments.seed)?)))
}

fn introduce(device: &Device, out: &mut dyn Write) -> Result<(), Error> {
    let Device { firmware, profile, phase, task, knowledge, .. } = device;
    writeln!(out, "device: {firmware}, profile {profile}, {phase:?}, last task {task}")?;
    writeln!(out, "device: knowledge no. {}, {} bytes", knowledge.sequence, knowledge.total)?;
    Ok(out.flush()?)
}

/// Brings the device to where the first task can begin; notes what it starts from.
fn prepare(
    dialogue: &mut Dialogue,
    profile: &Profile,
    arguments: &HilArguments,
    out: &mut dyn Write,
) -> Result<Notes, Error> {
    let device = dialogue.greet()?;
    if matches!(device.phase, Phase::Thinking | Phase::Waiting) {
        if !arguments.abort {
            let task = device.task;
            return Err(Error::Device(format!(
                "the device is in the middle of task {task}: --abort drops it, --notes FILE goes on with it"
            )));
        }
        dialogue.order(&Request::Abort { task: device.task })?;
        writeln!(out, "task {} aborted", device.task)?;
    }
    if arguments.forget {
        dialogue.order(&Request::Forget { knowledge: device.knowledge.sequence })?;
        writeln!(out, "the device has forgotten what it knew")?;
    }
    let now = dialogue.greet()?.knowledge;
    let mut knowledge = wanted(profile, arguments, device.tries)?;
    if let Some(file) = &arguments.fleet {
        let known = knowledge.map_or_else(|| read_knowledge(dialogue, &now), Ok)?;
        knowledge = Some([knowledge_and_fleet(&known).0, &foretune_fleet::read(file)?].concat());
    }
    if let Some(bytes) = knowledge {
        let stored = dialogue.upload(&bytes, &now)?;
        describe(&bytes, out)?;
        writeln!(out, "loaded into the device as knowledge no. {}", stored.sequence)?;
    }
    let device = dialogue.greet()?;
    let start = read_knowledge(dialogue, &device.knowledge)?;
    let (traces, answers) = (vec![Trace::default(); arguments.tasks], vec![Vec::new(); arguments.tasks]);
    Ok(Notes { first_task: device.task + 1, start, traces, answers })
}

/// Knowledge that the device shall have: from a file, or trained here.
fn wanted(profile: &Profile, arguments: &HilArguments, tries: u8) -> Result<Option<Vec<u8>>, Error> {
    if let Some(file) = &arguments.upload {
        let bytes = fs::read(file)
            .map_err(|error| Error::usage(format!("cannot read {}: {error}", file.display())))?;
        return Ok(Some(bytes));
    }
    let Some(tasks) = arguments.train else { return Ok(None) };
    let mut world = Radio::new(arguments.seed.wrapping_add(1), false);
    let mut knowledge = Vec::new();
    for place in 0..tasks {
        let begin = Begin {
            task: place as u32 + 1,
            problem: profile.problem(),
            seed: world.optimizer_seed(place),
            budget: arguments.budget.unwrap_or(Radio::BUDGET),
            ..Begin::PLAIN
        };
        let answer = &mut |query: &Query| settle(&mut world, place, query, tries);
        knowledge = profile.run(&begin, None, &knowledge, answer, &[])?.knowledge;
    }
    Ok(Some(knowledge))
}

fn read_knowledge(dialogue: &mut Dialogue, knowledge: &Knowledge) -> Result<Vec<u8>, Error> {
    if knowledge.total == 0 { Ok(Vec::new()) } else { dialogue.download(knowledge) }
}

fn describe(bytes: &[u8], out: &mut dyn Write) -> Result<(), Error> {
    let (bytes, fleet) = knowledge_and_fleet(bytes);
    if !fleet.is_empty() {
        writeln!(out, "fleet: {} bytes", fleet.len())?;
    }
    if bytes.is_empty() {
        return Ok(());
    }
    let header = Header::verify(bytes).map_err(foretune_core::Error::from)?;
    writeln!(
        out,
        "knowledge: {} bytes, {} particles of {} parameters, {} carried points, for task {}",
        bytes.len(),
        header.particles,
        header.parameters,
        header.carried,
        header.task
    )?;
    Ok(())
}

/// Runs the same tasks on this host and compares. Returns what was learnt.
fn compare(
    notes: &Notes,
    profile: &Profile,
    world: &World,
    arguments: &HilArguments,
    (others, elsewhere): (&[f32], Option<Recommendation>),
    out: &mut dyn Write,
) -> Result<Vec<u8>, Error> {
    let mut knowledge = notes.start.clone();
    let mut queries = 0;
    for (place, seen) in notes.traces.iter().enumerate() {
        let begin = notes.begin(place, arguments, profile, world);
        let mut answer = |query: &Query| notes.answer(place, query);
        let asked = if place + 1 == notes.traces.len() { others } else { &[] };
        let Outline { trace, knowledge: learnt, elsewhere: here } =
            profile.run(&begin, world.problem(), &knowledge, &mut answer, asked)?;
        if let Some(step) = seen.queries.iter().zip(&trace.queries).position(|(a, b)| a != b) {
            let (device, host) = (&seen.queries[step], &trace.queries[step]);
            return Err(Error::Device(format!(
                "DIFFERENT: query {step} of task {}: {device:?} on the device, {host:?} here",
                begin.task
            )));
        }
        if *seen != trace {
            let (device, host) = (seen, &trace);
            return Err(Error::Device(format!(
                "DIFFERENT: task {}: {} queries and {:?} on the device, {} and {:?} here",
                begin.task,
                device.queries.len(),
                device.recommendation,
                host.queries.len(),
                host.recommendation
            )));
        }
        if !asked.is_empty() && elsewhere != here {
            return Err(Error::Device(format!(
                "DIFFERENT: under other conditions {elsewhere:?} on the device, {here:?} here"
            )));
        }
        queries += trace.queries.len();
        if trace.recommendation.is_some() {
            knowledge = learnt;
        }
    }
    let tasks = notes.traces.len();
    let (queries, tasks) = (counted(queries, "query"), counted(tasks, "task"));
    writeln!(out, "IDENTICAL: {queries} and the recommendations of {tasks}, bit for bit")?;
    Ok(knowledge)
}

/// What becomes of a query after all its tries.
fn settle(world: &mut Radio, place: usize, query: &Query, tries: u8) -> Answer {
    let mut tried = |attempt| world.measure(place, &Query { attempt, ..query.clone() }).finite();
    let numbers = (0..tries).find_map(&mut tried);
    numbers.map_or(Answer::GivenUp(None), |(value, kpis)| Answer::Value(value, kpis, None))
}

/// Compares what the device knows, keeps it if wished, and goes on with it here for one task.
fn finish(
    dialogue: &mut Dialogue,
    profile: &Profile,
    learnt: &[u8],
    arguments: &HilArguments,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let device = dialogue.greet()?;
    let knows = read_knowledge(dialogue, &device.knowledge)?;
    if knows != learnt {
        return Err(Error::Device("DIFFERENT: what the device learnt is not what was learnt here".into()));
    }
    writeln!(out, "IDENTICAL: what was learnt, {} bytes", knows.len())?;
    let Some(file) = &arguments.download else { return Ok(out.flush()?) };
    fs::write(file, &knows).map_err(Error::io("write", file))?;
    describe(&knows, out)?;
    if arguments.problem.is_some() {
        return Ok(out.flush()?);
    }
    let mut world = Radio::new(arguments.seed, arguments.flaky);
    let place = arguments.tasks;
    let begin = Begin {
        task: device.task + 1,
        problem: device.problem,
        seed: world.optimizer_seed(place),
        budget: arguments.budget.unwrap_or(Radio::BUDGET),
        ..Begin::PLAIN
    };
    let mut answer = |query: &Query| settle(&mut world, place, query, device.tries);
    let next = profile.run(&begin, None, &knows, &mut answer, &[])?;
    if let Some(end) = &next.trace.recommendation {
        let (value, optimum) = world.judge(place, &end.point);
        writeln!(out, "continued on this host: {value:.1} of {optimum:.1} bit/s/Hz in the next task")?;
    }
    Ok(out.flush()?)
}
