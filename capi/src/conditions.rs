//! Conditions that are known: given with a question, and with an answer. Their values stand in the order of the problem's
//! dimensions, without the others.
#![allow(clippy::missing_safety_doc, reason = "it is said once, in `calls`")]

use core::ptr::null;

use foretune_core::{Activity, Optimizer};

use crate::calls::{self, answer, with_edges};
use crate::convert;
use crate::edge::Edges;
use crate::error::foretune_error::{self, *};
use crate::memory::foretune;
use crate::pointer::{array, output};
use crate::types::*;

/// Says under which conditions the next query is asked; a search that goes on under others begins anew. Refused while a query
/// asked under others waits for its answer: answer or withdraw it first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_set_conditions(
    tuner: *mut foretune,
    conditions: *const f64,
    condition_count: usize,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { with_edges(tuner, |tuner, edges| set(tuner, edges, array(conditions, condition_count)?)) }
}

fn set(
    tuner: &mut Optimizer<'static>,
    edges: Edges<'static>,
    conditions: &[f64],
) -> Result<(), foretune_error> {
    Ok(tuner.set_conditions(&edges.conditions(tuner.problem().dimensions, conditions))?)
}

/// Takes the query back that waits for its answer, free of charge: the next one is asked anew, for instance under other conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_withdraw(tuner: *mut foretune) -> foretune_error {
    let withdraw = |tuner: &mut Optimizer<'static>| {
        tuner.withdraw();
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { calls::with(tuner, withdraw) }
}

/// foretune_set_conditions, then foretune_ask.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_ask_at(
    tuner: *mut foretune,
    conditions: *const f64,
    condition_count: usize,
    progress: *mut foretune_progress,
    query: *mut foretune_query,
) -> foretune_error {
    let ask = |tuner: &mut Optimizer<'static>, edges: Edges<'static>| {
        // SAFETY: the caller's promise.
        set(tuner, edges, unsafe { array(conditions, condition_count) }?)?;
        Ok(calls::ask(tuner))
    };
    // SAFETY: the caller's promise.
    unsafe { calls::step(tuner, progress, query, ask) }
}

/// Answers the query with what was measured under these conditions, which may differ from those it was asked under.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_tell_at(
    tuner: *mut foretune,
    query: *const foretune_query,
    value: f32,
    conditions: *const f64,
    condition_count: usize,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { foretune_answer_at(tuner, query, &value, null(), 0, null(), conditions, condition_count) }
}

/// The same with all that an answer may have: foretune_answer_all. No conditions: those that it was asked under.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "C has no slices")]
pub unsafe extern "C" fn foretune_answer_at(
    tuner: *mut foretune,
    query: *const foretune_query,
    value: *const f32,
    kpis: *const f32,
    kpi_count: usize,
    cost: *const f32,
    conditions: *const f64,
    condition_count: usize,
) -> foretune_error {
    // SAFETY: the caller's promise.
    unsafe { answer(tuner, query, value, (kpis, kpi_count), cost, (conditions, condition_count)) }
}

/// Writes what would be recommended under other conditions, once the task has ended or while a query waits for its answer; about
/// as much work as the recommendation itself, and nothing else changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_recommendation_at(
    tuner: *mut foretune,
    conditions: *const f64,
    condition_count: usize,
    recommendation: *mut foretune_recommendation,
) -> foretune_error {
    let recommend = |tuner: &mut Optimizer<'static>, edges: Edges<'static>| {
        // SAFETY: the caller's promise.
        let (conditions, out) = unsafe { (array(conditions, condition_count)?, output(recommendation)?) };
        let nothing = tuner.status().activity == Activity::Done && tuner.recommendation().is_none();
        let best = tuner.recommendation_at(&edges.conditions(tuner.problem().dimensions, conditions));
        let best = best.map_err(|error| if nothing { FORETUNE_NOTHING_OBSERVED } else { error.into() })?;
        out.write(convert::recommendation(&best, edges));
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with_edges(tuner, recommend) }
}
