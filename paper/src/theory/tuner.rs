//! The core's optimizer on a law's grid, told θ or not.

use foretune_core::{
    Ask, Dimension, Error, Fidelity, Goal, Information, LogNormal, Method, Optimizer, Prior, Problem, Query,
    Scaling, Settings,
};

use host_sim::shapes::Room;

use super::law::Law;

/// As good as certain.
const CERTAIN: f32 = 1e-6;

/// What a law looks like to an optimizer.
pub struct Bench {
    dimensions: Vec<Dimension<'static>>,
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
    ) -> Result<Optimizer<'a>, Error> {
        let problem = Problem {
            dimensions: &self.dimensions,
            fidelities: &self.fidelities,
            budget: self.queries as f32,
            goal: Goal::Maximise,
            ..Problem::PLAIN
        };
        memory.start(problem, settings, seed)
    }
}

/// Settings for functions of variance 1 that are looked at point by point, without any initial points.
fn plain(law: &Law, length: LogNormal) -> Settings {
    let known = LogNormal { mean: 0.0, deviation: CERTAIN };
    let mut settings = Settings::DEFAULT;
    settings.details.prior = Prior { length, signal: known, gamma: known, ..settings.details.prior };
    settings.details.scaling = Scaling::Fixed { mean: 0.0, deviation: 1.0 };
    settings.steps_per_round = 0;
    settings.details.kde_mix = 0.0;
    settings.carried = 0;
    settings.initial = 0;
    settings.details.information = Information::Paper;
    settings.candidates = law.size().max(16);
    settings
}

/// Max-value entropy search by an optimizer that is told the lengthscale.
pub fn told(law: &Law) -> Settings {
    let length = LogNormal { mean: law.lengthscale.ln() as f32, deviation: CERTAIN };
    let mut settings = plain(law, length).with_method(Method::MfMes);
    settings.steps_per_task = 0;
    settings
}

/// Two-phase by an optimizer that must learn the lengthscale, from a prior.
pub fn learning(law: &Law, length: LogNormal, c: f64, particles: usize, bandwidth: f64) -> Settings {
    let mut settings = plain(law, length).with_method(Method::TwoPhase { c: c as f32 });
    settings.particles = particles;
    settings.steps_per_task = 60;
    settings.details.kde_bandwidth = bandwidth as f32;
    settings
}

/// The next query, until the task has ended.
pub fn ask(tuner: &mut Optimizer<'_>) -> Option<Query> {
    match tuner.ask() {
        Ask::Query(query) => Some(query),
        _ => None,
    }
}

/// `⌈cT⌉`, as the optimizer counts it.
pub fn first_phase(c: f64, queries: usize) -> usize {
    (c as f32 * queries as f32).ceil() as usize
}
