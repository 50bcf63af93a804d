//! How long a study will take, before it runs: a count of multiply-adds, times the measured time of one.
//!
//! The count follows the documented costs of the core's slices. What it cannot know is how many queries a task will
//! have, since that depends on the fidelities chosen: it assumes the cheapest ones with the paper's rule and with
//! MFT-MES, which ask for little else, and a mixture otherwise. The time of a multiply-add is measured on a short task of
//! each kind of model.

use std::time::{Duration, Instant};

use foretune_core::{Information, Kind, Map, Settings};

use super::method::Method;
use super::plan::{Plan, Variant};
use super::seeds::Noise;
use super::session::{Answered, play};
use super::shapes::{STACK, with_optimizer};
use crate::error::Error;
use crate::results::UnitId;

/// Multiply-adds that one call of a transcendental function counts for.
const FUNCTION: f64 = 12.0;
/// Multiply-adds beside the optimizer's: a query, its row.
const QUERY: f64 = 2e5;

/// Estimated multiply-adds of one task of a variant.
pub(super) fn task_work(plan: &Plan, variant: usize) -> f64 {
    let spec = plan.benchmark().spec();
    let settings = plan.settings(variant);
    let method = plan.variants()[variant].method;
    let truth = spec.fidelities[spec.fidelities.len() - 1].cost;
    let cheapest = spec.fidelities[0].cost;
    let price = if method.only_truth() {
        truth
    } else if method == Method::MftMes || settings.information == Information::Paper {
        cheapest
    } else {
        1.5 * cheapest
    };
    let room = plan.variants()[variant].setup.capacity as f64;
    let (start, queries) = (settings.initial as f64, spec.budget / price);
    if method.core(0.0).is_none() {
        return QUERY * (start + queries);
    }
    let (d, m) = (spec.dimensions.len() as f64, spec.fidelities.len() as f64);
    count(&settings, d, m, start, (start + queries).min(room))
}

/// Multiply-adds of a task whose observations grow from `start` to `end`.
fn count(settings: &Settings, d: f64, m: f64, start: f64, end: f64) -> f64 {
    let v = settings.particles as f64;
    let rounds = (end - start).max(0.0);
    // Means of 1, t, t², t³ over the rounds.
    let mean =
        |power: i32| (end.powi(power + 1) - start.powi(power + 1)) / ((power + 1) as f64 * rounds.max(1.0));
    let search = v * search_work(settings, d, m, [mean(1), mean(2), mean(3)]);
    let learn = |t: [f64; 3]| v * learning_work(settings, d, t);
    let every = f64::from(settings.steps_per_round) * learn([mean(1), mean(2), mean(3)]);
    let last = f64::from(settings.steps_per_task) * learn([end, end * end, end * end * end]);
    let carries = settings.carry_particles && settings.particles > 1;
    rounds * (search + every + QUERY) + if carries { last } else { 0.0 }
}

/// Features per point and multiply-adds to get them.
fn map_work(settings: &Settings, d: f64) -> (f64, f64) {
    match settings.map {
        Map::Ard => (d, d),
        Map::Deep { width } => {
            let h = width as f64;
            (h, h * (d + 2.0 * h) + 3.0 * h * FUNCTION)
        }
    }
}

/// One particle's look at all candidates, refinements included; `t` are the powers of the observations.
fn search_work(settings: &Settings, d: f64, m: f64, [t, tt, ttt]: [f64; 3]) -> f64 {
    let (features, map) = map_work(settings, d);
    let (candidates, refinements) = (settings.candidates as f64, settings.refinements as f64);
    let all = candidates * (1.0 + refinements / 4.0);
    let belief = map + t * (features + FUNCTION) + m * (tt / 2.0 + 4.0 * t);
    let worth = m * settings.max_values as f64 * 3.0 * FUNCTION;
    let maxima = candidates * 60.0 * FUNCTION;
    let factor = t * map + tt * (features + FUNCTION) / 2.0 + ttt / 6.0;
    all * (belief + worth) + maxima + (1.0 + refinements) * factor
}

/// One particle's step of learning.
fn learning_work(settings: &Settings, d: f64, [t, tt, ttt]: [f64; 3]) -> f64 {
    let (features, map) = map_work(settings, d);
    let (v, parameters) = (settings.particles as f64, settings.model(d as usize).parameters() as f64);
    let factor = t * map + tt * (features + FUNCTION) / 2.0 + ttt / 6.0;
    let gradient = 2.0 * t * map + tt * (features + 8.0) + 0.7 * ttt;
    factor + gradient + parameters * 6.0 * v
}

/// The time that some units of a study will take on one core, from a short measurement of this machine.
pub fn estimate(plan: &Plan, units: &[UnitId]) -> Duration {
    if units.is_empty() {
        return Duration::ZERO;
    }
    let speeds = speeds(plan);
    let tasks = f64::from(plan.manifest().tasks);
    let seconds: f64 = units.iter().map(|u| tasks * task_work(plan, u.variant) * speeds[u.variant]).sum();
    Duration::from_secs_f64(seconds.min(1e12))
}

/// Seconds per multiply-add of each variant; measured once for each kind of model, on its dearest variant.
fn speeds(plan: &Plan) -> Vec<f64> {
    let all = 0..plan.variants().len();
    let mut known: Vec<(Map, f64)> = Vec::new();
    for map in all.clone().map(|variant| plan.settings(variant).map) {
        if known.iter().all(|(m, _)| *m != map) {
            let alike = all.clone().filter(|&variant| plan.settings(variant).map == map);
            let dearest = alike.max_by(|&a, &b| task_work(plan, a).total_cmp(&task_work(plan, b)));
            // Without a measurement: some 2·10⁹ multiply-adds a second.
            known.push((map, dearest.and_then(|variant| measured(plan, variant)).unwrap_or(5e-10)));
        }
    }
    let speed =
        |variant| known.iter().find(|(m, _)| *m == plan.settings(variant).map).map_or(0.0, |(_, s)| *s);
    all.map(speed).collect()
}

/// [`measure`] on a stack that has room for it.
fn measured(plan: &Plan, variant: usize) -> Option<f64> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || measure(plan, variant)).ok()?;
        thread.join().ok()?.ok()
    })
}

/// Queries of a measurement.
const QUERIES: usize = 4;

/// Times a few queries and steps of learning at a typical number of observations.
fn measure(plan: &Plan, variant: usize) -> Result<f64, Error> {
    let usual = plan.settings(variant);
    let Variant { method, setup, .. } = &plan.variants()[variant];
    let fidelities = &plan.benchmark().spec().fidelities;
    let initial = (usual.initial + 30).min(setup.capacity - QUERIES);
    let settings = Settings { initial, carried: 0, steps_per_task: usual.steps_per_task.min(5), ..usual };
    let cheapest = &fidelities[if method.only_truth() { fidelities.len() - 1 } else { 0 }];
    let benchmark = plan.benchmark().clone().with_budget(QUERIES as f64 * cheapest.cost)?;
    let task = benchmark.tasks(0)?.task(0);
    // From the end of the initial points on, which cost nothing.
    let (mut started, mut queries) = (Instant::now(), 0.0);
    with_optimizer(benchmark.space().problem(), settings, setup.capacity, 0, |tuner| {
        let mut each = |answered: Answered| {
            match answered.proposal.kind {
                Kind::Initial => started = Instant::now(),
                _ => queries += 1.0,
            }
            Ok(())
        };
        let (spec, space) = (benchmark.spec(), benchmark.space());
        play(tuner, &*task, spec, space, &mut Noise::new(0, 1), &|| true, &mut each)
    })??;
    let spec = benchmark.spec();
    let (d, m, start) = (spec.dimensions.len() as f64, spec.fidelities.len() as f64, initial as f64);
    Ok(started.elapsed().as_secs_f64() / count(&settings, d, m, start, start + queries))
}
