//! Tasks whose values are measured: nothing else is known, and no optimum at all.
//!
//! A row has a truth only where it was measured at the last fidelity; the recommended point, and the one in use when a task
//! starts from one, are measured there once, without being charged. A measurement that failed is told to the optimizer, and
//! leaves no row.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde_json::Value;

use super::plan::Plan;
use super::pool::{Pool, bounds};
use super::session::kind;
use super::tuner::{Next, Tuner};
use crate::error::Error;
use crate::results::{self, Row, Terms, UnitId, UnitWriter};
use crate::words::shortest;

const ATTEMPTS: u32 = 3;

/// What measures a problem that is not built in; maximised, like every problem of the simulator.
pub trait Bench: Debug + Send + Sync {
    /// What `study.json` says about the problem, with this budget of a task.
    fn options(&self, budget: f64) -> BTreeMap<String, Value>;

    /// Failures in a row after which no more is tried.
    fn failures(&self) -> usize;

    /// A measurement with the KPIs that are guarded, or why it failed.
    ///
    /// # Errors
    /// Why no measurement is possible; [`Error::Interrupted`] if `go_on` says no meanwhile.
    fn measure(&self, trial: &Trial<'_>, go_on: &dyn Fn() -> bool) -> Result<Measured, Error>;
}

pub type Measured = Result<(f64, Vec<f64>), String>;

#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    pub seed: u64,
    /// The experiment, from 1.
    pub experiment: u32,
    /// The task, from 1.
    pub task: u32,
    /// The point, in natural units.
    pub point: &'a [f64],
    /// Index of the fidelity.
    pub fidelity: usize,
}

/// A measurement that has to succeed, in a few attempts.
fn judge(
    bench: &dyn Bench,
    what: &str,
    trial: &Trial<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<(f64, Vec<f64>), Error> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match bench.measure(trial, go_on)? {
            Ok(measured) => return Ok(measured),
            Err(why) => last = why,
        }
    }
    Err(Error::Device(format!("the {what} could not be measured in {ATTEMPTS} attempts, the last: {last}")))
}

pub(super) fn task(
    plan: &Plan,
    bench: &dyn Bench,
    unit: UnitId,
    number: u32,
    tuner: &mut dyn Tuner,
    writer: &mut UnitWriter,
    pool: &Pool<'_>,
) -> Result<(), Error> {
    let (spec, space) = (plan.benchmark().spec(), plan.benchmark().space());
    let seed = plan.seeds(unit.experiment).tasks;
    let go_on = || pool.go_on();
    let truth = spec.fidelities.len() - 1;
    let (experiment, task) = (unit.experiment, number);
    let in_use = |unit: Vec<f32>| {
        let trial = Trial { seed, experiment, task, point: &space.natural(&unit), fidelity: truth };
        judge(bench, "point in use", &trial, &go_on)
    };
    let guards = &space.service().guards;
    let (deployed, kpis) = tuner.deployed().map(in_use).transpose()?.unzip();
    let bounds = bounds(guards, kpis.unwrap_or_default());
    let floor = space.service().floor.zip(deployed);
    let floor = floor.map(|(floor, value)| f64::from(floor.level.at(value as f32, 1.0)));
    let mut rows = writer.begin_task(Terms { deployed, floor, bounds, ..Terms::default() })?;
    let (mut spent, mut failed) = (0.0, 0);
    loop {
        let proposal = match tuner.next(&go_on) {
            Next::Query(proposal) => proposal,
            Next::Interrupted => return Err(Error::Interrupted),
            Next::Done(_) => break,
        };
        let (point, fidelity) = (space.natural(&proposal.unit), proposal.fidelity);
        let cost = if space.is_free(proposal.kind) { 0.0 } else { spec.fidelities[fidelity].cost };
        spent += cost;
        let trial = Trial { seed, experiment, task, point: &point, fidelity };
        let (value, kpis) = match bench.measure(&trial, &go_on)? {
            Ok(measured) => measured,
            Err(why) => {
                tuner.answer(None, &[])?;
                failed += 1;
                if failed >= bench.failures() {
                    return Err(Error::failing(failed, &why));
                }
                continue;
            }
        };
        failed = 0;
        let y = value as f32;
        let told: Vec<f32> = guards.iter().zip(&kpis).map(|(guard, kpi)| guard.told(*kpi)).collect();
        tuner.answer(Some(y), if tuner.knows_guards() { &told } else { &[] })?;
        pool.progress.advanced(unit, spent / spec.budget.max(f64::MIN_POSITIVE));
        rows.push(Row {
            kind: kind(proposal.kind),
            fidelity: fidelity as u32 + 1,
            cost,
            time: Some(spec.fidelities[fidelity].cost),
            x: point,
            y: Some(shortest(y)),
            truth: (fidelity == truth).then_some(value),
            kpis,
        })?;
    }
    let nothing = || Error::Device("every measurement of a task failed".into());
    let point = space.natural(&tuner.advice().ok_or_else(nothing)?.unit);
    let trial = Trial { seed, experiment, task, point: &point, fidelity: truth };
    let (value, kpis) = judge(bench, "recommended point", &trial, &go_on)?;
    let kind = results::Kind::Recommend;
    let fidelity = truth as u32 + 1;
    let (x, truth) = (point, Some(value));
    rows.push(Row { kind, fidelity, cost: 0.0, time: None, x, y: None, truth, kpis })?;
    rows.close()
}
