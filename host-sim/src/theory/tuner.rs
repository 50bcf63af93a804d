//! The core's optimizer on a law's grid, told θ or not.

use foretune_core::{
    Dimension, Error, Fidelity, Goal, Information, LogNormal, Memory, Method, Optimizer, Prior, Problem,
    Query, Scaling, Settings,
};

use super::law::Law;
use super::{MAX_PARTICLES, MAX_POINTS, MAX_ROUNDS};

/// Dimensions, fidelities, observations, particles, features, parameters, auxiliary rows, candidates.
pub type Room = Memory<2, 1, MAX_ROUNDS, MAX_PARTICLES, 2, 4, { 3 * MAX_PARTICLES }, MAX_POINTS>;
/// An optimizer in such a memory.
pub type Tuner<'a> = Optimizer<'a, 2, 1, MAX_ROUNDS, MAX_PARTICLES, 2, 4, { 3 * MAX_PARTICLES }, MAX_POINTS>;

/// As good as certain.
const CERTAIN: f32 = 1e-6;

/// What a law looks like to an optimizer.
pub struct Bench {
    dimensions: Vec<Dimension>,
    fidelities: [Fidelity; 1],
    queries: usize,
}

impl Bench {
    /// A number of queries, each of cost 1, with this noise.
    pub fn new(law: &Law, noise: f64, queries: usize) -> Self {
        let levels = Dimension::Grid { low: 0.0, high: 1.0, levels: law.side as u16 };
        Self {
            dimensions: vec![levels; law.d],
            fidelities: [Fidelity { cost: 1.0, samples: 1, noise: noise as f32 }],
            queries,
        }
    }

    /// Starts an optimizer.
    ///
    /// # Errors
    /// If it refuses the problem or the settings.
    pub fn start<'a>(
        &'a self,
        memory: &'a mut Room,
        settings: Settings,
        seed: u64,
    ) -> Result<Tuner<'a>, Error> {
        let problem = Problem {
            dimensions: &self.dimensions,
            fidelities: &self.fidelities,
            budget: self.queries as f32,
            goal: Goal::Maximise,
        };
        memory.start(problem, settings, seed)
    }
}

/// Settings for functions of variance 1 that are looked at point by point, without any initial points.
fn plain(law: &Law, length: LogNormal) -> Settings {
    let known = LogNormal { mean: 0.0, deviation: CERTAIN };
    Settings {
        information: Information::Paper,
        prior: Prior { length, signal: known, gamma: known, ..Settings::DEFAULT.prior },
        kde_mix: 0.0,
        steps_per_round: 0,
        carried: 0,
        initial: 0,
        scaling: Scaling::Fixed { mean: 0.0, deviation: 1.0 },
        candidates: law.size().max(16),
        ..Settings::DEFAULT
    }
}

/// Max-value entropy search by an optimizer that is told the lengthscale.
pub fn told(law: &Law) -> Settings {
    let length = LogNormal { mean: law.lengthscale.ln() as f32, deviation: CERTAIN };
    Settings { steps_per_task: 0, ..plain(law, length) }.with_method(Method::MfMes)
}

/// Two-phase by an optimizer that must learn the lengthscale, from a prior.
pub fn learning(law: &Law, length: LogNormal, c: f64, particles: usize, bandwidth: f64) -> Settings {
    Settings {
        particles,
        kde_bandwidth: bandwidth as f32,
        steps_per_task: 60,
        ..plain(law, length).with_method(Method::TwoPhase { c: c as f32 })
    }
}

/// The next query, until the task has ended.
pub fn ask(tuner: &mut Tuner<'_>) -> Option<Query<2>> {
    tuner.ask().and_then(Result::ok)
}

/// `⌈cT⌉`, as the optimizer counts it.
pub fn first_phase(c: f64, queries: usize) -> usize {
    (c as f32 * queries as f32).ceil() as usize
}
