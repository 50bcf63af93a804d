//! `foretune hil`: plays the base station and its radio environment to a real or emulated device.
//!
//! The device tunes some tasks of power control; when it is done, the same tasks are run by the same core on this host,
//! and every query, every recommendation and what was learnt must be the same, bit for bit.

mod dialogue;
mod line;
mod notes;
mod profile;
mod station;
mod world;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use foretune_link::{Begin, Knowledge, Outcome, Phase, Query, Request};

use crate::error::Error;
use crate::words::counted;
use dialogue::{Device, Dialogue};
use line::{Address, Line};
use notes::Notes;
use profile::{Outline, Profile, Trace};
use world::World;

/// Plays the base station to a device, and compares what it does with the same core on this host.
#[derive(Debug, Args)]
pub struct HilArguments {
    /// Serial port of a real board, such as /dev/ttyACM0.
    #[arg(long, value_name = "PORT", required_unless_present = "connect", conflicts_with = "connect")]
    port: Option<String>,
    /// Socket of an emulated board: tcp:HOST:PORT or unix:PATH.
    #[arg(long, value_name = "ADDRESS")]
    connect: Option<Address>,
    /// Tasks to tune.
    #[arg(long, value_name = "N", default_value_t = 3)]
    tasks: usize,
    /// What the queries of a task may cost.
    #[arg(long, value_name = "COST", default_value_t = 400.0)]
    budget: f32,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Learning steps at the end of a task, if the firmware was built with other than the profile's own.
    #[arg(long, value_name = "N")]
    steps: Option<u32>,
    /// Knowledge to load into the device before its first task.
    #[arg(long, value_name = "FILE")]
    upload: Option<PathBuf>,
    /// Train on this host for so many tasks of another deployment, and load what was learnt into the device first.
    #[arg(long, value_name = "N", conflicts_with = "upload")]
    train: Option<usize>,
    /// Where to keep what the device knows in the end; it is then continued here for one task.
    #[arg(long, value_name = "FILE")]
    download: Option<PathBuf>,
    /// Make the device forget what it knows first.
    #[arg(long)]
    forget: bool,
    /// Abort the task that the device is at.
    #[arg(long)]
    abort: bool,
    /// Let a measurement fail now and then.
    #[arg(long)]
    flaky: bool,
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

/// Runs the command.
pub fn hil(arguments: &HilArguments, out: &mut dyn Write) -> Result<(), Error> {
    let address = match (&arguments.port, &arguments.connect) {
        (Some(port), _) => Address::Serial(port.clone()),
        (None, Some(address)) => address.clone(),
        (None, None) => return Err(Error::usage("say where the device is: --port or --connect")),
    };
    let patience = Duration::from_secs(arguments.patience);
    let mut dialogue = Dialogue::new(Line::open(address)?, arguments.timeout, patience);
    let device = dialogue.greet()?;
    let profile = Profile::find(&device.profile)?.with_steps(arguments.steps);
    introduce(&device, out)?;
    if device.problem != profile.problem() {
        return Err(Error::Device(
            "the device tunes another problem than this program: are both of the same version?".into(),
        ));
    }
    let mut world = World::new(arguments.seed, arguments.flaky);
    let mut notes = match Notes::load(arguments.notes.as_deref())? {
        Some(notes) => notes,
        None => {
            let notes = prepare(&mut dialogue, &profile, arguments, out)?;
            // Before the first task begins: a station that falls over right after that must find it in its notes.
            notes.save(arguments.notes.as_deref())?;
            notes
        }
    };
    station::play(&mut dialogue, &mut notes, &mut world, arguments, &profile, out)?;
    let learnt = compare(&notes, &profile, &mut world, device.tries, arguments, out)?;
    finish(&mut dialogue, &profile, &learnt, arguments, out)
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
    if let Some(bytes) = wanted(profile, arguments, device.tries)? {
        let now = dialogue.greet()?.knowledge;
        let stored = dialogue.upload(&bytes, &now)?;
        describe(profile, &bytes, out)?;
        writeln!(out, "loaded into the device as knowledge no. {}", stored.sequence)?;
    }
    let device = dialogue.greet()?;
    let start = read_knowledge(dialogue, &device.knowledge)?;
    Ok(Notes { first_task: device.task + 1, start, traces: vec![Trace::default(); arguments.tasks] })
}

/// Knowledge that the device shall have: from a file, or trained here.
fn wanted(profile: &Profile, arguments: &HilArguments, tries: u8) -> Result<Option<Vec<u8>>, Error> {
    if let Some(file) = &arguments.upload {
        let bytes = fs::read(file)
            .map_err(|error| Error::usage(format!("cannot read {}: {error}", file.display())))?;
        return Ok(Some(bytes));
    }
    let Some(tasks) = arguments.train else { return Ok(None) };
    let mut world = World::new(arguments.seed.wrapping_add(1), false);
    let mut knowledge = Vec::new();
    for place in 0..tasks {
        let begin = Begin {
            task: place as u32 + 1,
            problem: profile.problem(),
            seed: world.optimizer_seed(place),
            budget: arguments.budget,
        };
        let answer = &mut |query: &Query| settle(&mut world, place, query, tries);
        knowledge = profile.run(&begin, &knowledge, answer)?.knowledge;
    }
    Ok(Some(knowledge))
}

fn read_knowledge(dialogue: &mut Dialogue, knowledge: &Knowledge) -> Result<Vec<u8>, Error> {
    if knowledge.total == 0 { Ok(Vec::new()) } else { dialogue.download(knowledge) }
}

/// Shows what knowledge is, if it is for this profile.
fn describe(profile: &Profile, bytes: &[u8], out: &mut dyn Write) -> Result<(), Error> {
    let header = profile.check(bytes).map_err(foretune_core::Error::from)?;
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
    world: &mut World,
    tries: u8,
    arguments: &HilArguments,
    out: &mut dyn Write,
) -> Result<Vec<u8>, Error> {
    let mut knowledge = notes.start.clone();
    let mut queries = 0;
    for (place, seen) in notes.traces.iter().enumerate() {
        let begin = notes.begin(place, arguments, profile, world);
        let mut settle = |query: &Query| settle(world, place, query, tries);
        let Outline { trace, knowledge: learnt } = profile.run(&begin, &knowledge, &mut settle)?;
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
fn settle(world: &mut World, place: usize, query: &Query, tries: u8) -> Option<f32> {
    (0..tries).find_map(|attempt| match world.measure(place, &Query { attempt, ..query.clone() }) {
        Outcome::Value(value) if value.is_finite() => Some(value),
        _ => None,
    })
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
    fs::write(file, &knows)?;
    describe(profile, &knows, out)?;
    let mut world = World::new(arguments.seed, arguments.flaky);
    let place = arguments.tasks;
    let begin = Begin {
        task: device.task + 1,
        problem: device.problem,
        seed: world.optimizer_seed(place),
        budget: arguments.budget,
    };
    let next = profile.run(&begin, &knows, &mut |query| settle(&mut world, place, query, device.tries))?;
    if let Some(end) = &next.trace.recommendation {
        let (value, optimum) = world.judge(place, &end.point);
        writeln!(out, "continued on this host: {value:.1} of {optimum:.1} bit/s/Hz in the next task")?;
    }
    Ok(out.flush()?)
}
