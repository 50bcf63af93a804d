//! The station at work: from task to task, measuring what is asked; between them, readings of a recommendation in use until
//! the device notices that the world has changed, and the same watch here.

use std::io::Write;
use std::time::{Duration, Instant};

use foretune_core::{Reading as Verdict, Watch};
use foretune_link::{
    Phase, Query, Reading, Recommendation, Refusal, Response, Station, StationEvent, Status,
};

use super::dialogue::{Dialogue, SIGN_OF_LIFE, refused};
use super::notes::Notes;
use super::profile::Profile;
use super::world::{Result as Measured, World};
use super::{HilArguments, answers};
use host_sim::error::Error;

/// What came over the line, kept beyond the answer's bytes.
enum Heard {
    Greeted { phase: Phase, task: u32 },
    Measure(Query),
    Finished(Recommendation),
    Status(Status),
    Working { step: u32 },
    Steady { next: u32 },
    Changed { task: u32 },
    Refused(Refusal),
}

/// Goes through the tasks of the notes that have not ended, to the last.
pub fn play(
    dialogue: &mut Dialogue,
    notes: &mut Notes,
    world: &mut World,
    arguments: &HilArguments,
    profile: &Profile,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let patience = Duration::from_secs(arguments.patience);
    let sent = world.problem().map(<[u8]>::to_vec);
    let mut station = dialogue.station();
    let mut alive = Instant::now();
    let mut told = Instant::now();
    let mut watching = None;
    station.greet();
    loop {
        for heard in exchange(dialogue, &mut station) {
            alive = Instant::now();
            match heard {
                Heard::Greeted { phase, task } => {
                    let Some(begin) = go_on(&mut station, phase, task, notes)? else { continue };
                    let Some(place) = begin else { return Ok(()) };
                    if let Some(run_length) = arguments.watch.filter(|_| place > 0) {
                        watching = Watching::begin(place, run_length, notes, world, &mut station)?;
                        if watching.is_some() {
                            continue;
                        }
                    }
                    let begin = notes.begin(place, arguments, profile, world);
                    match &sent {
                        Some(bytes) => station.begin_with(begin, bytes),
                        None => station.begin(begin),
                    }
                }
                Heard::Measure(query) => {
                    let (outcome, cost) = measure(notes, world, &query, out)?;
                    notes.save(arguments.notes.as_deref())?;
                    station.report(outcome, cost);
                }
                Heard::Finished(end) => {
                    finished(notes, world, &end, out)?;
                    notes.save(arguments.notes.as_deref())?;
                    if let Some(file) = &arguments.answers {
                        answers::keep(dialogue, profile, sent.as_deref(), &end, file, out)?;
                    }
                    station.greet();
                    station.ask_status();
                }
                Heard::Status(status) => show_status(&status, out)?,
                Heard::Working { step } if told.elapsed() > SIGN_OF_LIFE => {
                    told = Instant::now();
                    writeln!(out, "device: thinking about query {step}")?;
                    out.flush()?;
                }
                Heard::Working { .. } => {}
                Heard::Steady { next } => match &mut watching {
                    Some(watching) => watching.steady(next, world, &mut station)?,
                    None => station.greet(),
                },
                Heard::Changed { task } => {
                    watching.take().map_or(Ok(()), |watching: Watching| watching.changed(task, out))?
                }
                // Where things stand may have changed: after a power failure, say. Look again.
                Heard::Refused(Refusal::WrongTask { .. }) => station.greet(),
                Heard::Refused(refusal) => return Err(refused(&refusal)),
            }
        }
        if alive.elapsed() > patience {
            return Err(dialogue.silent());
        }
    }
}

/// Sends what is due and hears what has come.
fn exchange(dialogue: &mut Dialogue, station: &mut Station<'_>) -> Vec<Heard> {
    let now = dialogue.now();
    if let Some((tag, request)) = station.transmit(now) {
        dialogue.send(tag, &request);
    }
    let mut heard = Vec::new();
    dialogue.listen(|tag, response: &Response<'_>| {
        heard.extend(match station.receive(now, tag, response) {
            StationEvent::Greeted(greeting) => {
                Some(Heard::Greeted { phase: greeting.phase, task: greeting.task })
            }
            StationEvent::Measure(query) => Some(Heard::Measure(query)),
            StationEvent::Finished(end) => Some(Heard::Finished(end)),
            StationEvent::Status(status) => Some(Heard::Status(status)),
            StationEvent::Working { ticket, .. } => Some(Heard::Working { step: ticket.step }),
            StationEvent::Refused(refusal) => Some(Heard::Refused(refusal)),
            StationEvent::Steady { next } => Some(Heard::Steady { next }),
            StationEvent::Changed { task } => Some(Heard::Changed { task }),
            StationEvent::Nothing
            | StationEvent::Begun { .. }
            | StationEvent::Settled { .. }
            | StationEvent::Aborted { .. } => None,
        });
    });
    heard
}

/// Resumes the task that runs, or fetches an end that was missed. Else the place of the next task to begin, if there is one.
fn go_on(
    station: &mut Station<'_>,
    phase: Phase,
    task: u32,
    notes: &Notes,
) -> Result<Option<Option<usize>>, Error> {
    let place = notes.place(task);
    let ended = place.is_none_or(|place| notes.traces[place].recommendation.is_some());
    let next = (task + 1).checked_sub(notes.first_task).map(|place| place as usize);
    match (phase, next) {
        (Phase::Fault, _) => {
            return Err(Error::Device(
                "the device is out of order: its log says why, a restart may help".into(),
            ));
        }
        (Phase::Thinking | Phase::Waiting, _) if place.is_some() => station.resume(task),
        (Phase::Finished | Phase::Watching, _) if !ended => station.resume(task),
        (Phase::Idle | Phase::Finished | Phase::Watching, Some(next)) if next < notes.traces.len() => {
            return Ok(Some(Some(next)));
        }
        (Phase::Idle | Phase::Finished | Phase::Watching, Some(next)) if next == notes.traces.len() => {
            return Ok(Some(None));
        }
        _ => return Err(Error::Device(not_ours(task))),
    }
    Ok(None)
}

fn not_ours(task: u32) -> String {
    format!("the device is at task {task}, which this run did not begin: has another station begun it?")
}

fn measure(
    notes: &mut Notes,
    world: &mut World,
    query: &Query,
    out: &mut dyn Write,
) -> Result<Measured, Error> {
    let task = query.ticket.task;
    let place = notes.place(task).ok_or_else(|| Error::Device(not_ours(task)))?;
    notes.note_query(place, query)?;
    let (outcome, cost) = world.measure(place, query)?;
    notes.note_answer(place, query, (outcome, cost));
    let setting = world.show(&query.point);
    let result = outcome.numbers().map_or("failed".into(), |(value, kpis)| world.values(value, &kpis));
    writeln!(
        out,
        "task {task} query {:2}: {setting}, {:3} samples: {result}",
        query.ticket.step, query.samples
    )?;
    out.flush()?;
    Ok((outcome, cost))
}

fn finished(
    notes: &mut Notes,
    world: &mut World,
    end: &Recommendation,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let task = end.task;
    let place = notes.place(task).ok_or_else(|| Error::Device(not_ours(task)))?;
    notes.note_end(place, end)?;
    let worth = world.judge(place, &end.point, end.mean);
    let setting = world.show(&end.point);
    writeln!(
        out,
        "task {task} ended ({:?}) after {} queries for {}: {setting}, {worth}",
        end.reason, end.queries, end.spent
    )?;
    if !end.assured {
        writeln!(
            out,
            "no setting keeps floor and guards with the probability asked for: what is in use stays"
        )?;
    }
    Ok(out.flush()?)
}

fn show_status(status: &Status, out: &mut dyn Write) -> Result<(), Error> {
    let Status { line, reports, health, .. } = status;
    writeln!(
        out,
        "device: {} reports counted, {} repeated, {} failed, {} given up; frames {} good, {} bad; stack {} free; fault {}; {} below the floor",
        reports.counted,
        reports.repeated,
        reports.failed,
        reports.given_up,
        line.good,
        line.broken + line.oversize + line.unknown,
        health.stack_free,
        health.fault,
        health.below
    )?;
    Ok(out.flush()?)
}

/// Readings before the world changes to that of the next task.
const STEADY: u32 = 60;

/// A watch: its reading that the device looks at, and the watches of its numbers.
struct Watching {
    place: usize,
    query: Query,
    run_length: f32,
    reading: Reading,
    watches: Vec<Watch>,
}

impl Watching {
    /// Hands in the first reading of what was recommended in the task before this place; none if nothing was.
    fn begin(
        place: usize,
        run_length: f32,
        notes: &Notes,
        world: &mut World,
        station: &mut Station<'_>,
    ) -> Result<Option<Self>, Error> {
        let last = &notes.traces[place - 1];
        let query = last.queries.iter().max_by_key(|query| query.fidelity);
        let (Some(query), Some(end)) = (query, &last.recommendation) else { return Ok(None) };
        let query = Query { point: end.point.clone(), ..query.clone() };
        let reading = read(&query, place, run_length, 0, world)?;
        let watches = vec![Watch::new(run_length)?];
        station.watch(reading);
        Ok(Some(Watching { place, query, run_length, reading, watches }))
    }

    /// The device finds nothing, and wants reading `next`: 0 after a restart.
    fn steady(&mut self, next: u32, world: &mut World, station: &mut Station<'_>) -> Result<(), Error> {
        if next == 0 {
            self.watches.iter_mut().for_each(Watch::restart);
        } else {
            self.compare(Verdict::Steady)?;
        }
        if next > 10 * STEADY {
            return Err(Error::Device("the device does not notice that the world has changed".into()));
        }
        self.reading = read(&self.query, self.place, self.run_length, next, world)?;
        station.watch(self.reading);
        Ok(())
    }

    fn changed(mut self, task: u32, out: &mut dyn Write) -> Result<(), Error> {
        self.compare(Verdict::Changed)?;
        writeln!(
            out,
            "reading {} of the setting in use: changed, so that task {task} begins",
            self.reading.number
        )?;
        Ok(out.flush()?)
    }

    fn compare(&mut self, device: Verdict) -> Result<(), Error> {
        let Reading { number, deviation, value, .. } = self.reading;
        let host = Watch::tell_all(&mut self.watches, &[value], deviation)?;
        if host == device {
            return Ok(());
        }
        Err(Error::Device(format!("DIFFERENT: reading {number}: {device:?} on the device, {host:?} here")))
    }
}

fn read(
    query: &Query,
    place: usize,
    run_length: f32,
    number: u32,
    world: &mut World,
) -> Result<Reading, Error> {
    let place = if number < STEADY { place - 1 } else { place };
    let mut query = query.clone();
    query.ticket.step = number;
    for attempt in 0..10 {
        query.attempt = attempt;
        if let Some((value, kpis)) = world.measure(place, &query)?.0.finite() {
            let task = query.ticket.task;
            return Ok(Reading { task, number, run_length, deviation: 1.0, value, kpis });
        }
    }
    Err(Error::Device("the recommendation cannot be measured".into()))
}
