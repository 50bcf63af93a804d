//! A small tuner whose every decision is kept, with all that it knew at the time. The only file here that calls the core.

use foretune_core::{
    Ask, Bandwidth, Details, Dimension, Fidelity, Goal, Information, LogNormal, Map, Method, Optimizer,
    Prior, Problem, Recommend, Scaling, Settings, Step, Weights, memory,
};

use crate::oracle::{Model, Observation, Offsets, Point};

/// Room for the whole space among the candidates.
type Small = memory!(dimensions: 2, fidelities: 2, observations: 40, particles: 4, map: Deep { width: 16 }, candidates: 64);

/// Levels of each dimension.
const LEVELS: u16 = 8;
const AXIS: Dimension<'static> = Dimension::Grid { low: 0.0, high: 1.0, levels: LEVELS };

pub const SEED: u64 = 11;
pub const FIDELITIES: &[Fidelity] =
    &[Fidelity { cost: 1.0, samples: 1, noise: 0.04 }, Fidelity { cost: 2.0, samples: 2, noise: 0.02 }];
pub const PROBLEM: Problem<'static> = Problem {
    dimensions: &[AXIS, AXIS],
    fidelities: FIDELITIES,
    budget: 20.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};

/// Logarithms of lengths around 0.4, of signals around 1, of γ around 0.4.
const fn around(mean: f32) -> LogNormal {
    LogNormal { mean, deviation: 0.7 }
}

/// Values are taken as they are, so that a test knows what the model sees.
pub const SETTINGS: Settings = Settings {
    map: Map::Ard,
    particles: 4,
    beta: 0.6,
    carry_particles: true,
    carried: 0,
    kept: 0,
    memory_after: 0.0,
    initial: 4,
    candidates: LEVELS as usize * LEVELS as usize,
    verify: 0.0,
    confirm: 0.0,
    steps_per_round: 1,
    steps_per_task: 2,
    details: Details {
        method: Method::MftMes,
        prior: Prior {
            weights: Weights::PerInput(0.5),
            length: around(-1.0),
            signal: around(0.0),
            gamma: around(-1.0),
        },
        scaling: Scaling::Fixed { mean: 0.0, deviation: 1.0 },
        limited: false,
        kde_bandwidth: 0.55,
        kde_mix: 0.0,
        free_start: true,
        remeasure: false,
        memory_deviation: 0.0,
        information: Information::Correlated,
        max_values: 6,
        refinements: 0,
        recommend: Recommend::Anywhere,
        bandwidth: Bandwidth::Median,
        step: Step::Adam { rate: 0.05 },
    },
};

/// All points of the space.
pub fn space() -> Vec<Point> {
    let level = |i: u16| f64::from(i) / f64::from(LEVELS - 1);
    (0..LEVELS * LEVELS).map(|i| [level(i % LEVELS), level(i / LEVELS)]).collect()
}

/// A decision, and what was known when it was taken.
pub struct Asked {
    pub round: u32,
    pub point: Point,
    pub fidelity: usize,
    /// Drawn at random at the start of the task, not decided.
    pub initial: bool,
    pub known: Vec<Observation>,
    pub particles: Vec<Vec<f64>>,
    /// Budget left before it.
    pub left: f64,
}

/// What became of a task.
pub struct Task {
    pub number: u32,
    pub asked: Vec<Asked>,
    /// All answers.
    pub known: Vec<Observation>,
    pub best: Point,
    pub best_mean: f64,
    /// Particles at its end.
    pub particles: Vec<Vec<f64>>,
}

impl Task {
    /// The queries that were decided on.
    pub fn decided(&self) -> impl Iterator<Item = &Asked> {
        self.asked.iter().filter(|asked| !asked.initial)
    }
}

/// Tunes so many tasks; `objective` takes task, point and fidelity.
pub fn tune(
    problem: Problem<'_>,
    settings: Settings,
    seed: u64,
    tasks: u32,
    objective: impl Fn(u32, Point, usize) -> f64,
) -> Vec<Task> {
    let mut memory = Box::new(Small::new());
    let mut tuner = memory.start(problem, settings, seed).expect("good settings");
    let mut all = Vec::new();
    for _ in 0..tasks {
        all.push(one_task(&mut tuner, &objective));
        tuner.next_task().expect("the task has ended");
    }
    all
}

fn one_task(tuner: &mut Optimizer<'_>, objective: impl Fn(u32, Point, usize) -> f64) -> Task {
    let (mut asked, mut known) = (Vec::new(), Vec::new());
    let mut left = f64::from(tuner.problem().budget);
    while let Ask::Query(query) = tuner.ask() {
        let (point, fidelity, round) = (point(query.unit()), query.fidelity(), query.round());
        let initial = (round as usize) < tuner.settings().initial;
        let particles = particles(tuner);
        asked.push(Asked { round, point, fidelity, initial, known: known.clone(), particles, left });
        left -= if initial { 0.0 } else { f64::from(tuner.problem().fidelities[fidelity].cost) };
        let y = objective(tuner.task(), point, fidelity) as f32;
        let noise = f64::from(tuner.problem().fidelities[fidelity].noise);
        known.push(Observation { point, fidelity, noise, y: f64::from(y) });
        tuner.tell(query, y).expect("a good answer");
    }
    let best = tuner.recommendation().expect("there were answers");
    Task {
        number: tuner.task(),
        asked,
        known,
        best: point(best.unit()),
        best_mean: f64::from(best.mean),
        particles: particles(tuner),
    }
}

fn point(unit: &[f32]) -> Point {
    [f64::from(unit[0]), f64::from(unit[1])]
}

fn particles(tuner: &Optimizer<'_>) -> Vec<Vec<f64>> {
    tuner.particles().map(|theta| theta.iter().map(|value| f64::from(*value)).collect()).collect()
}

/// The oracle's view of some particles under the settings' prior.
pub fn models(particles: &[Vec<f64>], settings: &Settings) -> Vec<Model> {
    let Prior { length, signal, gamma, .. } = settings.details.prior;
    let offsets = Offsets { length: length.mean, signal: signal.mean, gamma: gamma.mean };
    particles.iter().map(|theta| Model::new(theta, offsets)).collect()
}
