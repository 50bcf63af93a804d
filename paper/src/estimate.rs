//! How long a study will take, before it runs: its operations ([`work`]), times the measured time of one.
//!
//! What the count cannot know is how many queries a task will have, since that depends on the fidelities chosen: it
//! assumes the cheapest ones with the paper's rule and with MFT-MES, which ask for little else, and a mixture otherwise. The
//! time of an operation is measured on a short task of each kind of model.

use std::time::{Duration, Instant};

use foretune_core::{Information, Kind, Map, Settings};

use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::results::UnitId;
use host_sim::runner::{Answered, Noise, Plan, Variant, play};
use host_sim::shapes::Room;

use crate::work::{self, Shape};

/// Estimated operations of one task of a variant.
fn task_work(plan: &Plan, variant: usize) -> f64 {
    let spec = plan.benchmark().spec();
    let settings = plan.settings(variant);
    let method = plan.variants()[variant].method;
    let truth = spec.fidelities[spec.fidelities.len() - 1].cost;
    let cheapest = spec.fidelities[0].cost;
    let price = if method.only_truth() {
        truth
    } else if method == Method::MftMes || settings.details.information == Information::Paper {
        cheapest
    } else {
        1.5 * cheapest
    };
    let end = settings.initial + (spec.budget / price) as usize;
    match method.core(0.0) {
        None => work::thoughtless_task(end),
        Some(_) => {
            work::task(&settings, start(plan, &settings), end.min(plan.variants()[variant].setup.capacity))
        }
    }
}

/// The shape of a task after its initial points.
fn start(plan: &Plan, settings: &Settings) -> Shape {
    let spec = plan.benchmark().spec();
    let (dimensions, fidelities) = (spec.dimensions.len(), spec.fidelities.len());
    Shape { dimensions, fidelities, observations: settings.initial }
}

/// The time that some units of a study will take on one core, from a short measurement of this machine.
pub(crate) fn estimate(plan: &Plan, units: &[UnitId]) -> Duration {
    if units.is_empty() {
        return Duration::ZERO;
    }
    let speeds = speeds(plan);
    let tasks = f64::from(plan.manifest().tasks);
    let seconds: f64 = units.iter().map(|u| tasks * task_work(plan, u.variant) * speeds[u.variant]).sum();
    Duration::from_secs_f64(seconds.min(1e12))
}

/// Seconds per operation of each variant; measured once for each kind of model, on its most expensive variant.
fn speeds(plan: &Plan) -> Vec<f64> {
    let all = 0..plan.variants().len();
    let mut known: Vec<(Map, f64)> = Vec::new();
    for map in all.clone().map(|variant| plan.settings(variant).map) {
        if known.iter().all(|(m, _)| *m != map) {
            let alike = all.clone().filter(|&variant| plan.settings(variant).map == map);
            let longest = alike.max_by(|&a, &b| task_work(plan, a).total_cmp(&task_work(plan, b)));
            // Without a measurement: some 2·10⁹ operations a second.
            known.push((map, longest.and_then(|variant| measure(plan, variant).ok()).unwrap_or(5e-10)));
        }
    }
    let speed =
        |variant| known.iter().find(|(m, _)| *m == plan.settings(variant).map).map_or(0.0, |(_, s)| *s);
    all.map(speed).collect()
}

/// Queries of a measurement.
const QUERIES: usize = 4;

/// Times a few queries and steps of learning at a typical number of observations.
fn measure(plan: &Plan, variant: usize) -> Result<f64, Error> {
    let mut settings = plan.settings(variant);
    let Variant { method, setup, .. } = &plan.variants()[variant];
    let fidelities = &plan.benchmark().spec().fidelities;
    let initial = (settings.initial + 30).min(setup.capacity - QUERIES);
    settings.initial = initial;
    settings.carried = 0;
    settings.steps_per_task = settings.steps_per_task.min(5);
    let cheapest = &fidelities[if method.only_truth() { fidelities.len() - 1 } else { 0 }];
    let benchmark = plan.benchmark().clone().with_budget(QUERIES as f64 * cheapest.cost)?;
    let (spec, space) = (benchmark.spec(), benchmark.space());
    let task = benchmark.tasks(0)?.task(0);
    // From the end of the initial points on, which cost nothing.
    let (mut started, mut queries) = (Instant::now(), 0);
    let mut each = |answered: Answered| {
        match answered.proposal.kind {
            Kind::Initial => started = Instant::now(),
            _ => queries += 1,
        }
        Ok(())
    };
    let parts = space.parts();
    let mut room = Room::new(setup.capacity);
    let mut optimizer = room.start(space.problem(&parts, None), settings, 0)?;
    play(&mut optimizer, &*task, spec, space, &mut Noise::new(0, 1), &|| true, &mut each)?;
    let start = start(plan, &settings);
    Ok(started.elapsed().as_secs_f64() / work::task(&settings, start, initial + queries))
}
