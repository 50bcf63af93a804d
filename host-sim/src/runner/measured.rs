//! Tasks whose values come from a command: nothing is known but what is measured, and no optimum at all.
//!
//! Maximised like every problem of the simulator: the values of a problem that is to be minimised have their sign turned.
//! A row has a truth only where it was measured at the last fidelity; the recommended point is measured there once,
//! without being charged. A measurement that failed is told to the optimizer, and leaves no row.

use super::plan::Plan;
use super::session::kind;
use super::tuner::{Next, Tuner};
use super::watcher::Watcher;
use crate::error::Error;
use crate::own::{Ask, Bench, Why};
use crate::results::{self, Row, TaskSummary, Terms, UnitId, UnitWriter};
use crate::words::shortest;

/// Plays one task and writes its rows.
pub(super) fn task(
    plan: &Plan,
    bench: &Bench,
    unit: UnitId,
    number: u32,
    tuner: &mut dyn Tuner,
    writer: &mut UnitWriter,
    watcher: &dyn Watcher,
) -> Result<TaskSummary, Error> {
    let (spec, space) = (plan.benchmark().spec(), plan.benchmark().space());
    let seed = plan.seeds(unit.experiment).tasks;
    let bench = Bench { command: bench.command.for_experiment(seed, unit.experiment), ..bench.clone() };
    let go_on = || watcher.go_on();
    let truth = spec.fidelities.len() - 1;
    let ask = |point: &[f64], fidelity| Ask {
        id: 0,
        task: number,
        point: point.to_vec(),
        fidelity,
        why: Why::Search,
    };
    let mut rows = writer.begin_task(Terms::default())?;
    let mut spent = 0.0;
    loop {
        let proposal = match tuner.next(&go_on) {
            Next::Query(proposal) => proposal,
            Next::Interrupted => return Err(Error::Interrupted),
            Next::Done(_) => break,
        };
        let (point, fidelity) = (space.natural(&proposal.unit), proposal.fidelity);
        let cost = if space.is_free(proposal.kind) { 0.0 } else { spec.fidelities[fidelity].cost };
        spent += cost;
        let Some(value) = bench.measure(&ask(&point, fidelity), &go_on)? else {
            tuner.fail()?;
            continue;
        };
        let y = value as f32;
        tuner.tell(y)?;
        watcher.advanced(unit, spent / spec.budget.max(f64::MIN_POSITIVE));
        rows.push(Row {
            kind: kind(proposal.kind),
            fidelity: fidelity as u32 + 1,
            cost,
            time: Some(spec.fidelities[fidelity].cost),
            x: point,
            y: Some(shortest(y)),
            truth: (fidelity == truth).then_some(value),
        })?;
    }
    let nothing = || Error::Device("every measurement of a task failed".into());
    let point = space.natural(&tuner.advice().ok_or_else(nothing)?.unit);
    let value = bench.judge(&ask(&point, truth), &go_on)?;
    let kind = results::Kind::Recommend;
    let fidelity = truth as u32 + 1;
    rows.push(Row { kind, fidelity, cost: 0.0, time: None, x: point, y: None, truth: Some(value) })?;
    Ok(rows.close()?)
}
