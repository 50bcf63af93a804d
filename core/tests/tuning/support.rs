//! A toy problem for all tests here, the ways to tune it, and a trace of what was asked.

use foretune_core::{
    Bandwidth, Dimension, Error, Fidelity, Goal, Information, LogNormal, Map, Memory, Method, Optimizer,
    Prior, Problem, Progress, Query, Recommend, Scaling, Settings, Step, Stop, Weights,
};

/// Three dimensions, three fidelities, 24 observations, 4 particles; features and parameters for ARD or a deep map of
/// width 4 (57 parameters in three dimensions); 4 carried particles and 8 rows for Adam; 32 candidates.
pub type Toy = Memory<3, 3, 24, 4, 4, 57, 12, 32>;
pub type Tuner<'a> = Optimizer<'a, 3, 3, 24, 4, 4, 57, 12, 32>;

pub const LEVELS: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
pub const MIXED: &[Dimension] = &[
    Dimension::Interval { low: -5.0, high: 10.0 },
    Dimension::Grid { low: -202.0, high: 24.0, levels: 114 },
    LEVELS,
];

pub const PROBLEM: Problem<'static> = Problem {
    dimensions: MIXED,
    fidelities: &[
        Fidelity { cost: 1.0, samples: 10, noise: 0.01 },
        Fidelity { cost: 2.0, samples: 20, noise: 0.005 },
        Fidelity { cost: 5.0, samples: 50, noise: 0.002 },
    ],
    budget: 30.0,
    goal: Goal::Maximise,
};

const WIDE: LogNormal = LogNormal { mean: -0.5, deviation: 0.7 };

/// Small numbers, so that a task takes milliseconds; all of them here, so that a better default changes no digest.
pub const SETTINGS: Settings = Settings {
    method: Method::MftMes,
    map: Map::Ard,
    particles: 4,
    beta: 1.2,
    information: Information::Correlated,
    max_values: 4,
    prior: Prior {
        weights: Weights::PerInput(0.5),
        length: WIDE,
        signal: WIDE,
        gamma: LogNormal { mean: -4.0, deviation: 1.5 },
    },
    carry_particles: true,
    kde_bandwidth: 0.55,
    kde_mix: 0.2,
    bandwidth: Bandwidth::Median,
    step: Step::Adam { rate: 0.05 },
    steps_per_round: 2,
    steps_per_task: 3,
    carried: 2,
    retry: true,
    doubt: 0.5,
    fresh: 0.0,
    initial: 4,
    scaling: Scaling::Running,
    candidates: 32,
    refinements: 2,
    recommend: Recommend::Queried,
};

pub const METHODS: [Method; 6] = [
    Method::MfMes,
    Method::Continual,
    Method::MftMes,
    Method::Separation { c: 0.6 },
    Method::Myopic { c: 0.6 },
    Method::TwoPhase { c: 0.6 },
];

pub const MAPS: [Map; 2] = [Map::Ard, Map::Deep { width: 4 }];

/// Every method with every map.
pub fn variants(settings: Settings) -> impl Iterator<Item = Settings> {
    MAPS.into_iter().flat_map(move |map| {
        METHODS.into_iter().map(move |method| Settings { map, ..settings }.with_method(method))
    })
}

/// The objective in `[0, 1]`, only by operations that are the same on all machines: a hill that moves from task to
/// task, cheaper fidelities biased, with a wobble in place of noise.
pub fn objective<const D: usize>(query: &Query<D>) -> f32 {
    let hill = query.unit().iter().enumerate().fold(1.0, |sum, (j, x)| {
        let gap = (x - 0.3 - 0.1 * j as f32 - 0.05 * query.task() as f32) / 0.3;
        sum + gap * gap
    });
    let wobble = (query.round() * 37 % 19) as f32 / 19.0 - 0.5;
    0.9 / hill + 0.02 * query.unit()[0] * (2.0 - query.fidelity() as f32) + 0.02 * wobble
}

/// The next query or the end of the task, slice by slice, for any memory; `knowledge` for those without centres.
pub fn next<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
>(
    tuner: &mut Optimizer<'_, D, M, N, V, F, P, A, Q>,
    knowledge: &[u8],
) -> Result<Result<Query<D>, Stop>, Error> {
    loop {
        match tuner.advance_with(knowledge)? {
            Progress::Working => {}
            Progress::Query(query) => return Ok(Ok(query)),
            Progress::Waiting => panic!("asked while an answer is outstanding"),
            Progress::Done(stop) => return Ok(Err(stop)),
        }
    }
}

/// One event of a run, in bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Query { task: u32, round: u32, fidelity: usize, setting: Vec<u32>, unit: Vec<u32> },
    End { stop: Stop, recommendation: Option<Vec<u32>>, particles: Vec<u32>, carried: Vec<u32> },
}

pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

pub fn query_event<const D: usize>(query: &Query<D>) -> Event {
    Event::Query {
        task: query.task(),
        round: query.round(),
        fidelity: query.fidelity(),
        setting: bits(query.setting()),
        unit: bits(query.unit()),
    }
}

/// Tunes with [`objective`] to the end of the task. In every seventh round the measurement fails.
pub fn finish_task<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
>(
    tuner: &mut Optimizer<'_, D, M, N, V, F, P, A, Q>,
    knowledge: &[u8],
    events: &mut Vec<Event>,
) {
    loop {
        match next(tuner, knowledge).expect("the knowledge is the last task's") {
            Ok(query) => {
                events.push(query_event(&query));
                answer(tuner, query);
            }
            Err(stop) => {
                let recommendation = tuner.recommendation().map(|best| {
                    [bits(best.setting()), bits(best.unit()), bits(&[best.mean, best.deviation])].concat()
                });
                let particles = tuner.particles().flat_map(bits).collect();
                let dimensions = tuner.problem().dimensions.len();
                let carried = tuner.carried().iter().flat_map(|x| bits(&x[..dimensions])).collect();
                return events.push(Event::End { stop, recommendation, particles, carried });
            }
        }
    }
}

/// Answers as [`finish_task`] does.
pub fn answer<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
>(
    tuner: &mut Optimizer<'_, D, M, N, V, F, P, A, Q>,
    query: Query<D>,
) {
    let y = objective(&query);
    let told = if query.round() % 7 == 3 { tuner.fail(query) } else { tuner.tell(query, y) };
    told.expect("the query asked last, with a good answer");
}

/// The bytes of a snapshot.
pub fn snapshot(tuner: &Tuner<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    tuner.snapshot(|piece| bytes.extend_from_slice(piece));
    assert_eq!(bytes.len(), tuner.snapshot_len());
    bytes
}
