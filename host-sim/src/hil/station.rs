//! The station at work: from task to task, measuring what is asked.

use std::io::Write;
use std::time::{Duration, Instant};

use foretune_link::{Outcome, Phase, Query, Recommendation, Response, Station, StationEvent, Status};

use super::HilArguments;
use super::dialogue::{Dialogue, SIGN_OF_LIFE, refused};
use super::notes::Notes;
use super::profile::Profile;
use super::world::World;
use crate::error::Error;

/// What came over the line, kept beyond the answer's bytes.
enum Heard {
    Greeted { phase: Phase, task: u32 },
    Measure(Query),
    Finished(Recommendation),
    Status(Status),
    Working { step: u32 },
    Refused(foretune_link::Refusal),
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
    let mut station = dialogue.station();
    let mut alive = Instant::now();
    let mut told = Instant::now();
    station.greet();
    loop {
        for heard in exchange(dialogue, &mut station) {
            alive = Instant::now();
            match heard {
                Heard::Greeted { phase, task } => {
                    if !go_on(&mut station, phase, task, notes, world, arguments, profile)? {
                        return Ok(());
                    }
                }
                Heard::Measure(query) => {
                    let outcome = measure(notes, world, &query, out)?;
                    notes.save(arguments.notes.as_deref())?;
                    station.report(outcome);
                }
                Heard::Finished(end) => {
                    finished(notes, world, &end, out)?;
                    notes.save(arguments.notes.as_deref())?;
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
                // Where things stand may have changed: after a power failure, say. Look again.
                Heard::Refused(foretune_link::Refusal::WrongTask { .. }) => station.greet(),
                Heard::Refused(refusal) => return Err(refused(&refusal)),
            }
        }
        if alive.elapsed() > patience {
            return Err(dialogue.silent());
        }
    }
}

/// Sends what is due and hears what has come.
fn exchange(dialogue: &mut Dialogue, station: &mut Station) -> Vec<Heard> {
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
            StationEvent::Nothing
            | StationEvent::Begun { .. }
            | StationEvent::Settled { .. }
            | StationEvent::Aborted { .. } => None,
        });
    });
    heard
}

/// Resumes the task that runs, fetches an end that was missed, or begins the next; false when all is done.
fn go_on(
    station: &mut Station,
    phase: Phase,
    task: u32,
    notes: &Notes,
    world: &World,
    arguments: &HilArguments,
    profile: &Profile,
) -> Result<bool, Error> {
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
        (Phase::Finished, _) if !ended => station.resume(task),
        (Phase::Idle | Phase::Finished, Some(next)) if next < notes.traces.len() => {
            station.begin(notes.begin(next, arguments, profile, world));
        }
        (Phase::Idle | Phase::Finished, Some(next)) if next == notes.traces.len() => return Ok(false),
        _ => return Err(Error::Device(not_ours(task))),
    }
    Ok(true)
}

fn not_ours(task: u32) -> String {
    format!("the device is at task {task}, which this run did not begin: has another station begun it?")
}

fn measure(
    notes: &mut Notes,
    world: &mut World,
    query: &Query,
    out: &mut dyn Write,
) -> Result<Outcome, Error> {
    let task = query.ticket.task;
    let place = notes.place(task).ok_or_else(|| Error::Device(not_ours(task)))?;
    notes.note_query(place, query)?;
    let outcome = world.measure(place, query);
    let setting = world.show(&query.point);
    let result = match outcome {
        Outcome::Value(value) => format!("{value:.2} bit/s/Hz"),
        Outcome::Failed => "failed".into(),
    };
    writeln!(
        out,
        "task {task} query {:2}: {setting}, {:3} samples: {result}",
        query.ticket.step, query.samples
    )?;
    out.flush()?;
    Ok(outcome)
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
    let (value, optimum) = world.judge(place, &end.point);
    let setting = world.show(&end.point);
    writeln!(
        out,
        "task {task} ended ({:?}) after {} queries for {}: {setting}, {value:.1} of {optimum:.1} bit/s/Hz",
        end.reason, end.queries, end.spent
    )?;
    Ok(out.flush()?)
}

fn show_status(status: &Status, out: &mut dyn Write) -> Result<(), Error> {
    let Status { line, reports, health, .. } = status;
    writeln!(
        out,
        "device: {} reports counted, {} repeated, {} failed, {} given up; frames {} good, {} bad; stack {} free; fault {}",
        reports.counted,
        reports.repeated,
        reports.failed,
        reports.given_up,
        line.good,
        line.broken + line.oversize + line.unknown,
        health.stack_free,
        health.fault
    )?;
    Ok(out.flush()?)
}
