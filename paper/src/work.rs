//! How many floating-point operations a search, a step of learning and a task take.
//!
//! Counted is what the method needs, not what the program happens to do: a sum, a difference, a product, a quotient and
//! a root are one operation each, so a multiply-add is two; elementary functions have the [price] of the sums and
//! products in their polynomials. Comparisons, selections, moves and integer work count nothing, nor does anything
//! that is done for the sake of whole vectors. A symmetric matrix is counted by its half.
//!
//! From that, how long a study will take, before it runs: its operations, times the measured time of one. What the count cannot
//! know is how many queries a task will have, since that depends on the fidelities chosen: it assumes the cheapest ones with
//! the paper's rule and with MFT-MES, which ask for little else, and a mixture otherwise. The time of an operation is measured
//! on a short task of each kind of model.

use std::time::{Duration, Instant};

use foretune_core::{Bandwidth, Information, Kind, Map, Settings};
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::results::UnitId;
use host_sim::runner::{Answered, Noise, Plan, Variant, play};
use host_sim::shapes::Room;

pub mod price {
    /// `tanh`: a rational function of degree 9 over 8.
    pub const TANH: f64 = 20.0;
    /// `exp`.
    pub const EXP: f64 = 20.0;
    /// `ln`.
    pub const LN: f64 = 26.0;
    /// `ln Φ`: the excess hazard and a logarithm.
    pub const LN_CDF: f64 = 48.0;
    /// `1 − r(g + r)`: the excess hazard, and `φ` where the optimum lies above the mean.
    pub const REMAINING: f64 = 48.0;
}

/// Passes over all candidates that the search for a quartile of the optimum's value usually takes.
const PASSES: f64 = 7.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub dimensions: usize,
    pub fidelities: usize,
    pub observations: usize,
}

/// Candidates that a search looks at, those of its refinements included.
pub fn candidates(settings: &Settings) -> usize {
    settings.candidates + settings.details.refinements * (settings.candidates / 4).max(4)
}

/// Features per point, and operations to get them.
fn features(settings: &Settings, d: f64) -> (f64, f64) {
    match settings.map {
        Map::Ard => (d, d),
        Map::Linear => (d, d * d),
        Map::Deep { width } => {
            let h = width as f64;
            (h, 2.0 * h * (d + 2.0 * h) + 3.0 * h * price::TANH)
        }
    }
}

/// Features, kernel matrix, factor and `L⁻¹z` of one particle.
fn factor(settings: &Settings, shape: Shape) -> f64 {
    let (d, t) = (shape.dimensions as f64, shape.observations as f64);
    let (f, map) = features(settings, d);
    let pairs = t * t / 2.0;
    let kernel = pairs * (3.0 * f + price::EXP + 2.0);
    t * map + kernel + t * t * t / 3.0 + t * t + t * (price::LN + 4.0)
}

/// One particle's step: likelihood and gradient, and its share in the move of all.
fn particle_step(settings: &Settings, shape: Shape) -> f64 {
    let (d, t, v) = (shape.dimensions as f64, shape.observations as f64, settings.particles as f64);
    let (f, map) = features(settings, d);
    let inverse = 2.0 * t * t * t / 3.0 + t * t;
    let weights = 4.0 * t * t / 2.0;
    let pull = 3.0 * t * t * f;
    let back = match settings.map {
        Map::Ard | Map::Linear => 2.0 * t * map,
        Map::Deep { .. } => 2.0 * t * (map - 3.0 * f * price::TANH) + 9.0 * t * f,
    };
    let parameters = settings.model(shape.dimensions).parameters() as f64;
    let moved = match settings.details.bandwidth {
        // Half of the distances to all others, the sum of Eq. (39), prior and step.
        Bandwidth::Median => parameters * (3.0 * v / 2.0 + 5.0 * v + 8.0),
        // Particles of many numbers are soon known to be too far apart.
        Bandwidth::Fixed(_) => parameters.min(512.0) * 3.0 * v / 2.0 + parameters * 8.0,
    };
    inverse + weights + pull + back + moved
}

/// Operations of one step of learning of all particles.
pub fn step(settings: &Settings, shape: Shape) -> f64 {
    settings.particles as f64 * (factor(settings, shape) + particle_step(settings, shape))
}

pub fn search(settings: &Settings, shape: Shape) -> f64 {
    let (d, t, m) = (shape.dimensions as f64, shape.observations as f64, shape.fidelities as f64);
    let (f, map) = features(settings, d);
    let kernel = t * (3.0 * f + price::EXP + 1.0);
    let per_fidelity = t * t + 6.0 * t + 4.0;
    let belief = map + kernel + m * per_fidelity;
    // In the correlated form, what a maximum leaves is the same for all fidelities.
    let left = match settings.details.information {
        Information::Paper => m * price::REMAINING,
        Information::Correlated => price::REMAINING,
    };
    let worth = settings.details.max_values as f64 * (left + m * (price::LN + 6.0)) + m * (price::LN + 10.0);
    let maxima = settings.candidates as f64 * 3.0 * PASSES * (price::LN_CDF + 3.0);
    let rounds = 1.0 + settings.details.refinements as f64;
    let all = candidates(settings) as f64;
    settings.particles as f64 * (rounds * factor(settings, shape) + all * (belief + worth) + maxima)
        + all * m * (price::LN + 10.0)
}

/// Operations beside the optimizer's, for each query: the problem's, a row of results.
const QUERY: f64 = 4e5;

/// Operations of a task whose observations grow to `end`; they are `shape`'s at its start.
pub fn task(settings: &Settings, shape: Shape, end: usize) -> f64 {
    let at = |observations| Shape { observations, ..shape };
    let round = |t| {
        let learning = f64::from(settings.steps_per_round) * step(settings, at(t));
        search(settings, at(t)) + learning + QUERY
    };
    let rounds: f64 = (shape.observations..end).map(round).sum();
    let carries = settings.carry_particles && settings.particles > 1;
    let last = f64::from(settings.steps_per_task) * step(settings, at(end));
    rounds + if carries { last } else { 0.0 }
}

/// Operations of a task of a method that does not think.
pub fn thoughtless_task(queries: usize) -> f64 {
    queries as f64 * QUERY
}

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
        None => thoughtless_task(end),
        Some(_) => task(&settings, start(plan, &settings), end.min(plan.variants()[variant].setup.capacity)),
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
    Ok(started.elapsed().as_secs_f64() / self::task(&settings, start, initial + queries))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { dimensions: 6, fidelities: 4, observations: 40 };

    #[test]
    fn the_deep_map_is_most_of_a_deep_step() {
        // 64 · (6 + 128) multiply-adds per point forward, twice that backward; ten particles, forty points.
        let network = 10.0 * 40.0 * 3.0 * 2.0 * 64.0 * 134.0;
        let step = step(&Settings::PAPER, SHAPE);
        assert!(step > network && step < 2.0 * network, "{step} {network}");
    }

    #[test]
    fn candidates_include_those_of_the_refinements() {
        assert_eq!(candidates(&Settings::PAPER), 512 + 3 * 128);
        let mut coarse = Settings::DEFAULT;
        coarse.details.refinements = 0;
        assert_eq!(candidates(&coarse), 128);
    }

    #[test]
    fn searches_grow_with_the_candidates_and_steps_with_the_particles() {
        let mut twice = Settings::PAPER;
        twice.candidates = 1024;
        let ratio = search(&twice, SHAPE) / search(&Settings::PAPER, SHAPE);
        assert!((1.8..2.0).contains(&ratio), "{ratio}");
        let mut half = Settings::PAPER;
        half.particles = 5;
        let ratio = step(&Settings::PAPER, SHAPE) / step(&half, SHAPE);
        assert!((2.0..2.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_task_is_the_sum_of_its_rounds_and_of_the_learning_after_them() {
        let start = Shape { observations: 10, ..SHAPE };
        let settings = Settings { steps_per_round: 0, steps_per_task: 0, ..Settings::DEFAULT };
        let one = task(&settings, start, 11);
        assert!((one - search(&settings, start) - QUERY).abs() < 1.0, "{one}");
        let both = Settings { steps_per_round: 3, steps_per_task: 7, ..settings };
        let last = 7.0 * step(&both, Shape { observations: 11, ..start });
        assert!((task(&both, start, 11) - one - 3.0 * step(&both, start) - last).abs() < 1.0);
        assert!(task(&settings, start, 40) > 30.0 * one);
    }
}
