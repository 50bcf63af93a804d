//! A toy problem for all tests here, the ways to tune it, and a trace of what was asked.

use foretune_core::{
    Bandwidth, Block, Capacities, Details, Dimension, Error, Fidelity, FleetStatus, Goal, Information,
    LiveStatus, LogNormal, Map, Method, Optimizer, Prior, Problem, Progress, Query, Recommend, Scaling,
    Settings, Step, Stop, Weights, memory,
};

/// Room for either map, 24 observations.
pub type Toy = memory!(
    dimensions: 3, fidelities: 3, observations: 24, particles: 4, map: Deep { width: 4 }, candidates: 32, fleet: true
);

/// A tuner in a memory of its own.
pub fn start(problem: Problem<'_>, settings: Settings, seed: u64) -> Optimizer<'_> {
    let words = vec![0; Toy::CAPACITIES.words()].leak();
    Block::new(words, Toy::CAPACITIES).start(problem, settings, seed).unwrap()
}

/// A tuner in as much memory as it needs, with room for so many observations.
pub fn start_with(slots: usize, problem: Problem<'_>, settings: Settings, seed: u64) -> Optimizer<'_> {
    let capacities = Capacities::of(&problem, &settings, slots);
    Block::new(vec![0; capacities.words()].leak(), capacities).start(problem, settings, seed).unwrap()
}

pub const LEVELS: Dimension<'static> = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
pub const MIXED: &[Dimension<'static>] = &[
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
    ..Problem::PLAIN
};

const WIDE: LogNormal = LogNormal { mean: -0.5, deviation: 0.7 };

/// Small numbers, so that a task takes milliseconds; all of them here, so that a better default changes no digest.
pub const SETTINGS: Settings = Settings {
    map: Map::Ard,
    particles: 4,
    beta: 1.2,
    carry_particles: true,
    carried: 2,
    kept: 0,
    memory_after: 0.0,
    initial: 4,
    candidates: 32,
    verify: 0.0,
    confirm: 0.0,
    steps_per_round: 2,
    steps_per_task: 3,
    details: Details {
        method: Method::MftMes,
        prior: Prior {
            weights: Weights::PerInput(0.5),
            length: WIDE,
            signal: WIDE,
            gamma: LogNormal { mean: -4.0, deviation: 1.5 },
        },
        scaling: Scaling::Running,
        limited: false,
        kde_bandwidth: 0.55,
        kde_mix: 0.2,
        free_start: true,
        remeasure: true,
        memory_deviation: 0.5,
        information: Information::Correlated,
        max_values: 4,
        refinements: 2,
        recommend: Recommend::Queried,
        bandwidth: Bandwidth::Median,
        step: Step::Adam { rate: 0.05 },
    },
};

pub const METHODS: [Method; 6] = [
    Method::MfMes,
    Method::Continual,
    Method::MftMes,
    Method::Separation { c: 0.6 },
    Method::Myopic { c: 0.6 },
    Method::TwoPhase { c: 0.6 },
];

pub const MAPS: [Map; 3] = [Map::Ard, Map::Linear, Map::Deep { width: 4 }];

/// Every method with every map.
pub fn variants(settings: Settings) -> impl Iterator<Item = Settings> {
    MAPS.into_iter().flat_map(move |map| {
        METHODS.into_iter().map(move |method| Settings { map, ..settings }.with_method(method))
    })
}

/// The objective in `[0, 1]`, only by operations that are the same on all machines: a hill that moves from task to
/// task, cheaper fidelities biased, with a wobble in place of noise.
pub fn objective(query: &Query) -> f32 {
    let hill = query.unit().iter().enumerate().fold(1.0, |sum, (j, x)| {
        let gap = (x - 0.3 - 0.1 * j as f32 - 0.05 * query.task() as f32) / 0.3;
        sum + gap * gap
    });
    let wobble = (query.round() * 37 % 19) as f32 / 19.0 - 0.5;
    0.9 / hill + 0.02 * query.unit()[0] * (2.0 - query.fidelity() as f32) + 0.02 * wobble
}

/// The next query or the end of the task, slice by slice, for any memory; `knowledge` for those without centres.
pub fn next(tuner: &mut Optimizer<'_>, knowledge: &[u8]) -> Result<Result<Query, Stop>, Error> {
    loop {
        match tuner.advance_with(knowledge)? {
            Progress::Working => {}
            Progress::Query(query) => return Ok(Ok(query)),
            Progress::Waiting => panic!("asked while an answer is outstanding"),
            Progress::Done(stop) => return Ok(Err(stop)),
            other => panic!("{other:?}"),
        }
    }
}

/// One event of a run, in bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Query { task: u32, round: u32, fidelity: usize, point: Vec<u32>, unit: Vec<u32> },
    End { stop: Stop, recommendation: Option<Vec<u32>>, particles: Vec<u32>, carried: Vec<u32> },
}

pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

pub fn query_event(query: &Query) -> Event {
    Event::Query {
        task: query.task(),
        round: query.round(),
        fidelity: query.fidelity(),
        point: bits(query.point()),
        unit: bits(query.unit()),
    }
}

/// Tunes with [`objective`] to the end of the task. In every seventh round the measurement fails.
pub fn finish_task(tuner: &mut Optimizer<'_>) -> Vec<Event> {
    finish_task_with(tuner, &[])
}

/// As [`finish_task`], where the last task's knowledge lies elsewhere.
pub fn finish_task_with(tuner: &mut Optimizer<'_>, knowledge: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        match next(tuner, knowledge).expect("the knowledge is the last task's") {
            Ok(query) => {
                events.push(query_event(&query));
                answer(tuner, query);
            }
            Err(stop) => {
                let recommendation = tuner.recommendation().map(|best| {
                    [bits(best.point()), bits(best.unit()), bits(&[best.mean, best.deviation])].concat()
                });
                let particles = tuner.particles().flat_map(bits).collect();
                let carried = tuner.carried().flat_map(|x| bits(&x)).collect();
                events.push(Event::End { stop, recommendation, particles, carried });
                return events;
            }
        }
    }
}

/// Three tasks in a row.
pub fn three_tasks(tuner: &mut Optimizer<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..3 {
        events.extend(finish_task(tuner));
        tuner.next_task().unwrap();
    }
    events
}

/// Answers as [`finish_task`] does.
pub fn answer(tuner: &mut Optimizer<'_>, query: Query) {
    let y = objective(&query);
    let told = if query.round() % 7 == 3 { tuner.fail(query) } else { tuner.tell(query, y) };
    told.expect("the query asked last, with a good answer");
}

/// Answers the next queries.
pub fn answer_next(tuner: &mut Optimizer<'_>, count: usize) {
    for _ in 0..count {
        let query = tuner.ask().query().unwrap();
        answer(tuner, query);
    }
}

/// To the end of the task: events, and what the status says of a live system and of a fleet then. `save` is called before
/// and after every answer, with the number of events so far.
fn watched(
    tuner: &mut Optimizer<'_>,
    mut save: impl FnMut(&Optimizer<'_>, usize),
) -> Vec<(Event, Option<LiveStatus>, Option<FleetStatus>)> {
    let seen_with = |event, tuner: &Optimizer<'_>| (event, tuner.status().live, tuner.status().fleet);
    let mut seen = Vec::new();
    while let Ok(query) = next(tuner, &[]).unwrap() {
        save(tuner, seen.len());
        seen.push(seen_with(query_event(&query), tuner));
        answer(tuner, query);
        save(tuner, seen.len());
    }
    let end = finish_task(tuner).remove(0);
    seen.push(seen_with(end, tuner));
    seen
}

/// Finishes the task. From a snapshot before or after any answer it goes on elsewhere, bit for bit.
pub fn assert_goes_on_elsewhere<'a>(tuner: &mut Optimizer<'_>, elsewhere: impl Fn() -> Optimizer<'a>) {
    let mut saved = Vec::new();
    let seen = watched(tuner, |tuner, position| saved.push((position, snapshot(tuner))));
    for (position, bytes) in &saved {
        let mut other = elsewhere();
        other.load(bytes).unwrap();
        let rest = watched(&mut other, |_, _| ());
        assert_eq!(rest, seen[*position..], "{:?}, task {}, at {position}", tuner.settings(), tuner.task());
    }
}

/// The bytes of a snapshot.
pub fn snapshot(tuner: &Optimizer<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    tuner.snapshot(|piece| bytes.extend_from_slice(piece)).expect("this memory keeps its particles");
    assert_eq!(bytes.len(), tuner.snapshot_len());
    bytes
}

/// What was learnt in a task that has ended.
pub fn knowledge(tuner: &Optimizer<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    tuner.knowledge(|piece| bytes.extend_from_slice(piece)).unwrap();
    bytes
}

/// Any number between −√3 and √3, the same whenever the same is asked.
pub fn noise(round: u32, salt: u32) -> f32 {
    let bits = (round + 1).wrapping_mul(2_654_435_761).wrapping_add(salt.wrapping_mul(40_503)) >> 8;
    (bits % 4096) as f32 / 4096.0 * 3.46 - 1.73
}

/// Numbers from 0 to 1 that look random, and normal ones.
pub struct Draws(pub u64);

impl Draws {
    pub fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }

    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0
    }
}
