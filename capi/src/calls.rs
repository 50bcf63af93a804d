//! The functions of the header.
//!
//! # Safety
//! The same for all of them: a pointer is null, or points to what its type says, as much of it as a count beside it says;
//! nobody else uses it during the call; nothing that is passed lies in a tuner's memory. What a problem points to stays as it
//! is while the tuner is used.
#![allow(clippy::missing_safety_doc, reason = "it is said once, above")]

use core::ffi::{c_char, c_void};
use core::fmt::{self, Write};
use core::ptr::null;

use foretune_core::{Activity, Ask, Error, Fleet, Optimizer, Progress, Query, Settings, profile};

use crate::convert::{self, Fault, Parts, settings_of};
use crate::edge::Edges;
use crate::error::foretune_error::{self, *};
use crate::error::foretune_error_text;
use crate::memory::{self, foretune};
use crate::pointer::{Sink, array, buffer, input, output};
use crate::types::foretune_progress::*;
use crate::types::*;

pub(crate) type Outcome = Result<(), foretune_error>;

pub(crate) fn number(outcome: Outcome) -> foretune_error {
    outcome.err().unwrap_or(FORETUNE_OK)
}

/// Writes a problem that says nothing yet: no dimensions, no fidelities, no budget, to be maximised, nothing in use, no floor,
/// no limits, no guards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_plain_problem(problem: *mut foretune_problem) -> foretune_error {
    let write = || {
        // SAFETY: the caller's promise.
        unsafe { output(problem) }?.write(foretune_problem::PLAIN);
        Ok(())
    };
    number(write())
}

/// Writes the preset of our choice: 10 particles, 128 candidates, 64 observations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_default_settings(settings: *mut foretune_settings) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { preset(settings, foretune_preset::FORETUNE_PRESET_DEFAULT, &Settings::DEFAULT) }
}

/// Writes the same with 80 candidates, which fits FORETUNE_COMPACT_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_compact_settings(settings: *mut foretune_settings) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { preset(settings, foretune_preset::FORETUNE_PRESET_DEFAULT, &profile::COMPACT) }
}

/// Writes the preset for a system in service, with a floor: it asks nearer to what is known to be good.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_live_settings(settings: *mut foretune_settings) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { preset(settings, foretune_preset::FORETUNE_PRESET_LIVE, &Settings::LIVE) }
}

/// # Safety
/// The caller's promise.
unsafe fn preset(
    settings: *mut foretune_settings,
    number: foretune_preset,
    preset: &Settings,
) -> foretune_error {
    let write = || {
        // SAFETY: the caller's promise.
        unsafe { output(settings) }?.write(convert::preset(number, preset, 64));
        Ok(())
    };
    self::number(write())
}

/// Says whether a problem and settings make sense, in words too, and how many bytes of memory they take (0 if they do not).
/// The text is cut to its room and always ends with a zero; no text is written where the room is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_check(
    problem: *const foretune_problem,
    settings: *const foretune_settings,
    size: *mut usize,
    text: *mut c_char,
    text_size: usize,
) -> foretune_error {
    let check = || {
        // SAFETY: the caller's promise.
        let (size, text) = unsafe { (output(size)?, buffer(text.cast(), text_size)?) };
        // SAFETY: the caller's promise.
        let found = unsafe { read(problem, settings) }.and_then(|(parts, (settings, observations))| {
            Ok(memory::needed(&parts, &settings, observations)?.0)
        });
        size.write(*found.as_ref().unwrap_or(&0));
        if let Some((last, room)) = text.split_last_mut() {
            room.fill(core::mem::MaybeUninit::new(0));
            last.write(0);
            let _ = Text(Sink::new(room)).say(found.as_ref().err());
        }
        found.map(drop).map_err(|fault| fault.number)
    };
    number(check())
}

struct Text<'a>(Sink<'a>);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl Text<'_> {
    fn say(&mut self, fault: Option<&Fault>) -> fmt::Result {
        let number = fault.map_or(FORETUNE_OK, |fault| fault.number);
        match fault.and_then(|fault| fault.error) {
            Some(error) => write!(self, "{error}"),
            None => {
                // SAFETY: the texts are constants.
                let text = unsafe { core::ffi::CStr::from_ptr(foretune_error_text(number as u32)) };
                self.0.write(text.to_bytes());
                Ok(())
            }
        }
    }
}

/// # Safety
/// The caller's promise.
unsafe fn read(
    problem: *const foretune_problem,
    settings: *const foretune_settings,
) -> Result<(Parts, (Settings, usize)), Fault> {
    // SAFETY: the caller's promise.
    let (problem, settings) = unsafe { (input(problem)?, input(settings)?) };
    // SAFETY: the caller's promise.
    Ok((unsafe { Parts::new(problem) }?, settings_of(settings)?))
}

/// Starts the first task with a tuner in the caller's memory, and says where the tuner is.
///
/// The memory is aligned by FORETUNE_COMPACT_ALIGN, and FORETUNE_SIZE(...) bytes or more. The structs and the point in use
/// are copied; the arrays of floats that they point to are read as long as the tuner is used. A tuner that was there before
/// is gone. There is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_start(
    memory: *mut c_void,
    size: usize,
    problem: *const foretune_problem,
    settings: *const foretune_settings,
    seed: u64,
    tuner: *mut *mut foretune,
) -> foretune_error {
    let start = || {
        // SAFETY: the caller's promise.
        let out = unsafe { output(tuner) }?;
        // SAFETY: the caller's promise.
        let (parts, settings) = unsafe { read(problem, settings) }?;
        // SAFETY: the caller's promise.
        out.write(unsafe { memory::start(memory.cast(), size, &parts, settings, seed) }?);
        Ok(())
    };
    number(start().map_err(|fault: Fault| fault.number))
}

/// What happens with the tuner behind a pointer.
///
/// # Safety
/// The caller's promise.
pub(crate) unsafe fn with(
    tuner: *mut foretune,
    work: impl FnOnce(&mut Optimizer<'static>) -> Outcome,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { with_edges(tuner, |tuner, _| work(tuner)) }
}

/// The same where parameters or conditions cross the border.
///
/// # Safety
/// The caller's promise.
pub(crate) unsafe fn with_edges(
    tuner: *mut foretune,
    work: impl FnOnce(&mut Optimizer<'static>, Edges<'static>) -> Outcome,
) -> foretune_error {
    // SAFETY: the caller's promise.
    number(unsafe { memory::tuner(tuner) }.and_then(|(tuner, edges)| work(tuner, edges)))
}

/// Does one slice of work, of bounded length: for those who serve a watchdog or a line meanwhile. The query is written if
/// there is one (FORETUNE_QUERY, FORETUNE_WAITING).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_advance(
    tuner: *mut foretune,
    progress: *mut foretune_progress,
    query: *mut foretune_query,
) -> foretune_error {
    let slice = |tuner: &mut Optimizer<'static>, _: Edges<'static>| match tuner.advance() {
        Progress::Working => Ok((FORETUNE_WORKING, None)),
        Progress::Query(query) => Ok((FORETUNE_QUERY, Some(query))),
        Progress::Done(_) => Ok((FORETUNE_DONE, None)),
        _ => Ok((FORETUNE_WAITING, tuner.outstanding())),
    };
    // SAFETY: the caller's promise.
    unsafe { step(tuner, progress, query, slice) }
}

/// Works until there is a query to answer or the task has ended: never FORETUNE_WORKING.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_ask(
    tuner: *mut foretune,
    progress: *mut foretune_progress,
    query: *mut foretune_query,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { step(tuner, progress, query, |tuner, _| Ok(ask(tuner))) }
}

pub(crate) fn ask(tuner: &mut Optimizer<'static>) -> (foretune_progress, Option<Query>) {
    match tuner.ask() {
        Ask::Query(query) => (FORETUNE_QUERY, Some(query)),
        Ask::Done(_) => (FORETUNE_DONE, None),
        _ => (FORETUNE_WAITING, tuner.outstanding()),
    }
}

/// Work that may come to a query.
///
/// # Safety
/// The caller's promise.
pub(crate) unsafe fn step(
    tuner: *mut foretune,
    progress: *mut foretune_progress,
    query: *mut foretune_query,
    work: impl FnOnce(
        &mut Optimizer<'static>,
        Edges<'static>,
    ) -> Result<(foretune_progress, Option<Query>), foretune_error>,
) -> foretune_error {
    let step = |tuner: &mut Optimizer<'static>, edges: Edges<'static>| {
        // SAFETY: the caller's promise.
        let (progress, out) = unsafe { (output(progress)?, output(query)?) };
        let (reached, query) = work(tuner, edges)?;
        progress.write(reached);
        if let Some(query) = query {
            out.write(convert::query(&query, edges));
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with_edges(tuner, step) }
}

/// Answers the query with what was measured.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_tell(
    tuner: *mut foretune,
    query: *const foretune_query,
    value: f32,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { foretune_answer(tuner, query, &value, null()) }
}

/// The same for a problem with guards: a KPI for each, in their order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_tell_all(
    tuner: *mut foretune,
    query: *const foretune_query,
    value: f32,
    kpis: *const f32,
    kpi_count: usize,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { foretune_answer_all(tuner, query, &value, kpis, kpi_count, null()) }
}

/// The measurement failed for good. It is charged and takes a slot, and another query follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_fail(tuner: *mut foretune, query: *const foretune_query) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { foretune_answer(tuner, query, null(), null()) }
}

/// Answers the query with what was measured (null: it failed) and what that cost (null: its fidelity's cost).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_answer(
    tuner: *mut foretune,
    query: *const foretune_query,
    value: *const f32,
    cost: *const f32,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { foretune_answer_all(tuner, query, value, null(), 0, cost) }
}

/// The same for a problem with guards: a KPI for each, in their order; of a measurement that failed, none is looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_answer_all(
    tuner: *mut foretune,
    query: *const foretune_query,
    value: *const f32,
    kpis: *const f32,
    kpi_count: usize,
    cost: *const f32,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { answer(tuner, query, value, (kpis, kpi_count), cost, (null(), 0)) }
}

/// An answer with all that it may have.
///
/// # Safety
/// The caller's promise.
pub(crate) unsafe fn answer(
    tuner: *mut foretune,
    query: *const foretune_query,
    value: *const f32,
    (kpis, kpi_count): (*const f32, usize),
    cost: *const f32,
    (conditions, condition_count): (*const f64, usize),
) -> foretune_error {
    let optional = |pointer: *const f32| match pointer.is_null() {
        true => Ok(None),
        // SAFETY: the caller's promise.
        false => unsafe { input(pointer) }.map(|number| Some(*number)),
    };
    let answer = |tuner: &mut Optimizer<'static>, edges: Edges<'static>| {
        let (value, cost) = (optional(value)?, optional(cost)?);
        // SAFETY: the caller's promise.
        let (query, kpis) = unsafe { (input(query)?, array(kpis, kpi_count)?) };
        let asked = tuner.outstanding().filter(|asked| convert::is_same(asked, edges, query));
        let asked = asked.ok_or(FORETUNE_UNKNOWN_QUERY)?;
        // SAFETY: the caller's promise.
        let conditions = unsafe { array(conditions, condition_count) }?;
        let conditions = edges.conditions(tuner.problem().dimensions, conditions);
        tuner.answer_at(asked, value, kpis, cost, &conditions).map_err(|refused| refused.error.into())
    };
    // SAFETY: the caller's promise.
    unsafe { with_edges(tuner, answer) }
}

/// Ends the task: what was observed is learnt by the next calls, and a recommendation made. A query outstanding is void.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_stop(tuner: *mut foretune) -> foretune_error {
    let stop = |tuner: &mut Optimizer<'static>| {
        tuner.stop();
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(tuner, stop) }
}

/// Writes the recommendation, once the task has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_recommendation(
    tuner: *mut foretune,
    recommendation: *mut foretune_recommendation,
) -> foretune_error {
    let recommend = |tuner: &mut Optimizer<'static>, edges: Edges<'static>| {
        // SAFETY: the caller's promise.
        let out = unsafe { output(recommendation) }?;
        let ended = tuner.status().activity == Activity::Done;
        let none = if ended { FORETUNE_NOTHING_OBSERVED } else { FORETUNE_OUT_OF_TURN };
        out.write(convert::recommendation(&tuner.recommendation().ok_or(none)?, edges));
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with_edges(tuner, recommend) }
}

/// Starts the next task, once this one has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_next_task(tuner: *mut foretune) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { with(tuner, |tuner| Ok(tuner.next_task()?)) }
}

/// Forgets the task's observations and starts it anew; FORETUNE_OUT_OF_TURN once it has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_restart(tuner: *mut foretune) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { with(tuner, |tuner| Ok(tuner.restart()?)) }
}

/// Says which point is in use, one value per dimension, if it is not the last recommendation; before the task's first slice of
/// work, and in a problem with a point in use: else FORETUNE_OUT_OF_TURN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_deploy(tuner: *mut foretune, point: *const f64) -> foretune_error {
    let deploy = |tuner: &mut Optimizer<'static>, edges: Edges<'static>| {
        // SAFETY: the caller's promise.
        let point = unsafe { array(point, edges.0.len()) }?;
        Ok(tuner.deploy(&edges.inward(point))?)
    };
    // SAFETY: the caller's promise.
    unsafe { with_edges(tuner, deploy) }
}

/// Hands in what was measured before the task; before its first slice of work. It takes a slot, but is not charged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_add_past(
    tuner: *mut foretune,
    point: *const f64,
    fidelity: u32,
    value: f32,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { foretune_add_past_all(tuner, point, fidelity, value, null(), 0) }
}

/// The same for a problem with guards: a KPI for each, in their order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_add_past_all(
    tuner: *mut foretune,
    point: *const f64,
    fidelity: u32,
    value: f32,
    kpis: *const f32,
    kpi_count: usize,
) -> foretune_error {
    let add = |tuner: &mut Optimizer<'static>, edges: Edges<'static>| {
        // SAFETY: the caller's promise.
        let (point, kpis) = unsafe { (array(point, edges.0.len())?, array(kpis, kpi_count)?) };
        Ok(tuner.add_past_all(&edges.inward(point), fidelity as usize, value, kpis)?)
    };
    // SAFETY: the caller's promise.
    unsafe { with_edges(tuner, add) }
}

/// Starts from what other sites have in common: the bytes of a file that `foretune fleet learn` wrote, which stay where they
/// are as long as the tuner is used, for instance in flash. Before the first slice of work, and before foretune_load and
/// foretune_restore. The memory needs FORETUNE_FLEET_BYTES more per observation, else FORETUNE_CAPACITY is returned. Null: no
/// fleet any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_set_fleet(
    tuner: *mut foretune,
    bytes: *const u8,
    size: usize,
) -> foretune_error {
    let set = |tuner: &mut Optimizer<'static>| {
        if bytes.is_null() {
            return Ok(tuner.set_fleet(None)?);
        }
        // SAFETY: the caller's promise.
        let bytes: &'static [u8] = unsafe { array(bytes, size) }?;
        let fleet = Fleet::read(bytes).map_err(Error::Fleet)?;
        Ok(tuner.set_fleet(Some(fleet))?)
    };
    // SAFETY: the caller's promise.
    unsafe { with(tuner, set) }
}

/// Writes what the next task starts from, once this one has ended; and how many bytes that is. If they do not fit, what does
/// not is cut off, and FORETUNE_TOO_SMALL is returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_knowledge(
    tuner: *mut foretune,
    bytes: *mut u8,
    size: usize,
    length: *mut usize,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { save(tuner, (bytes, size), length, |tuner, sink| tuner.knowledge(|piece| sink.write(piece))) }
}

/// Writes all that is needed to go on from here; and how many bytes that is, as foretune_knowledge does. Once the task has ended it
/// is that: the next task begins from it, and the recommendation is not in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_snapshot(
    tuner: *mut foretune,
    bytes: *mut u8,
    size: usize,
    length: *mut usize,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { save(tuner, (bytes, size), length, |tuner, sink| tuner.snapshot(|piece| sink.write(piece))) }
}

/// # Safety
/// The caller's promise.
unsafe fn save(
    tuner: *mut foretune,
    (bytes, size): (*mut u8, usize),
    length: *mut usize,
    write: impl FnOnce(&Optimizer<'static>, &mut Sink<'_>) -> Result<(), Error>,
) -> foretune_error {
    let save = |tuner: &mut Optimizer<'static>| {
        // SAFETY: the caller's promise.
        let (bytes, out) = unsafe { (buffer(bytes, size)?, output(length)?) };
        let mut sink = Sink::new(bytes);
        write(tuner, &mut sink)?;
        out.write(sink.length);
        if sink.length > size { Err(FORETUNE_TOO_SMALL) } else { Ok(()) }
    };
    // SAFETY: the caller's promise.
    unsafe { with(tuner, save) }
}

/// Starts the next task from knowledge, which may come from another device, but not from another problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_load(
    tuner: *mut foretune,
    bytes: *const u8,
    size: usize,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { load(tuner, (bytes, size), Optimizer::load) }
}

/// The same, on purpose, from knowledge of a problem with other ranges, levels, costs, noise or goal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_load_from_another_problem(
    tuner: *mut foretune,
    bytes: *const u8,
    size: usize,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { load(tuner, (bytes, size), Optimizer::load_from_another_problem) }
}

/// Goes on from a snapshot, with the seed that it was taken with. Answers of a task that was running are replayed by the next
/// calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_restore(
    tuner: *mut foretune,
    bytes: *const u8,
    size: usize,
) -> foretune_error {
    // SAFETY: the caller's promise. Snapshots and knowledge are one format, which says what it is.
    unsafe { foretune_load(tuner, bytes, size) }
}

/// # Safety
/// The caller's promise.
unsafe fn load(
    tuner: *mut foretune,
    (bytes, size): (*const u8, usize),
    read: fn(&mut Optimizer<'static>, &[u8]) -> Result<(), Error>,
) -> foretune_error {
    let load = |tuner: &mut Optimizer<'static>| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { array(bytes, size) }?;
        Ok(read(tuner, bytes)?)
    };
    // SAFETY: the caller's promise.
    unsafe { with(tuner, load) }
}

/// Writes where the task stands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_status(
    tuner: *mut foretune,
    status: *mut foretune_status,
) -> foretune_error {
    let look = |tuner: &mut Optimizer<'static>| {
        // SAFETY: the caller's promise.
        let out = unsafe { output(status) }?;
        let status = tuner.status();
        // Where a task has ended, there is no work that this would do.
        let stop = match status.activity {
            Activity::Done => match tuner.advance() {
                Progress::Done(stop) => Some(stop),
                _ => None,
            },
            _ => None,
        };
        out.write(convert::status(&status, stop));
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(tuner, look) }
}

/// Writes how the problem's guard number `guard`, from 0, is kept; FORETUNE_KPIS if it has no such guard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_guard_status(
    tuner: *mut foretune,
    guard: usize,
    status: *mut foretune_guard_status,
) -> foretune_error {
    let look = |tuner: &mut Optimizer<'static>| {
        // SAFETY: the caller's promise.
        let out = unsafe { output(status) }?;
        out.write(convert::guard_status(&tuner.guard(guard).ok_or(FORETUNE_KPIS)?));
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(tuner, look) }
}
