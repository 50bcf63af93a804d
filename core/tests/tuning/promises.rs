//! Whatever the problem, the settings and the answers: never a panic, nothing that is not finite, nothing outside the
//! space or beyond the budget, refusals that change nothing, and nothing saved that cannot be loaded.

use crate::support::{METHODS, PROBLEM, SETTINGS, Toy, bits, finish_task, objective, snapshot, start};
use foretune_core::{
    Activity, Ask, Bandwidth, Details, Dimension, Error, Fallbacks, Fidelity, Floor, Goal, Information, Kind,
    Level, LogNormal, Map, Method, Optimizer, Prior, Problem, Query, Recommend, Record, Scaling, Settings,
    Step, Stop, Weights,
};
use proptest::prelude::*;

const DIMENSIONS: [Dimension<'static>; 6] = [
    Dimension::Interval { low: -1e-30, high: 1e-30 },
    Dimension::Interval { low: -1e30, high: 2e30 },
    Dimension::Grid { low: -202.0, high: 24.0, levels: 114 },
    Dimension::Grid { low: 0.0, high: 1.0, levels: 2 },
    Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
    Dimension::Levels(&[-1e6, -1.0, 1e6]),
];

/// What the objective is like.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Hill,
    Constant,
    /// Two values only.
    Steps,
    /// One value far from all others.
    Spike,
    /// Without any pattern.
    Wild,
}

/// What happens to a query before or instead of its answer.
#[derive(Clone, Copy, Debug)]
enum Mishap {
    None,
    NotFinite,
    Fails,
    /// This answer in place of the objective's.
    Value(f32),
    /// The measurement costs this.
    Costs(f32),
    Stop,
    Restart,
    Restore,
}

/// Whether there is a point in use, and a floor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum InUse {
    Nothing,
    Point,
    Floor(Level),
}

#[derive(Clone, Debug)]
struct Scene {
    dimensions: Vec<Dimension<'static>>,
    fidelities: Vec<Fidelity>,
    budget: f32,
    goal: Goal,
    in_use: InUse,
    settings: Settings,
    shape: Shape,
    size: f32,
    offset: f32,
    mishaps: Vec<Mishap>,
    seed: u64,
}

fn fidelities() -> impl Strategy<Value = Vec<Fidelity>> {
    let noise = prop::sample::select(vec![0.0f32, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 1e3, 1e20]);
    let cost = prop::sample::select(vec![0.1f32, 1.0, 1.0, 3.0, 7.5]);
    prop::collection::vec((cost, noise), 1..=3).prop_map(|mut list| {
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        list.into_iter().map(|(cost, noise)| Fidelity { cost, samples: 1, noise }).collect()
    })
}

/// From sensible to as far out as is allowed.
fn priors() -> impl Strategy<Value = Prior> {
    let logs = vec![
        LogNormal { mean: -0.7, deviation: 0.7 },
        LogNormal { mean: 0.0, deviation: 10.0 },
        LogNormal { mean: 20.0, deviation: 5.0 },
        LogNormal { mean: -20.0, deviation: 5.0 },
        LogNormal { mean: 0.0, deviation: 1e-6 },
    ];
    let log = move || prop_oneof![3 => Just(logs[0]), 1 => prop::sample::select(logs.clone())];
    let weights =
        vec![Weights::PerInput(0.5), Weights::Fixed(0.5), Weights::Fixed(1e6), Weights::Fixed(1e-12)];
    (prop::sample::select(weights), log(), log(), log()).prop_map(|(weights, length, signal, gamma)| Prior {
        weights,
        length,
        signal,
        gamma,
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let scaling = prop::sample::select(vec![
        Scaling::Running,
        Scaling::Initial,
        Scaling::Robust,
        Scaling::Fixed { mean: 0.0, deviation: 1.0 },
        Scaling::Fixed { mean: -1e10, deviation: 1e-20 },
        Scaling::Fixed { mean: 3.0, deviation: 1e20 },
    ]);
    let step = prop::sample::select(vec![
        Step::Plain { rate: 1e-3 },
        Step::Plain { rate: 10.0 },
        Step::Adam { rate: 0.05 },
        Step::Adam { rate: 10.0 },
        Step::Langevin { rate: 0.01 },
    ]);
    let bandwidth =
        prop::sample::select(vec![Bandwidth::Median, Bandwidth::Fixed(0.75), Bandwidth::Fixed(1e9)]);
    let model = (
        priors(),
        prop::sample::select(METHODS.to_vec()),
        prop::bool::ANY,
        1usize..=4,
        prop::sample::select(vec![0.0, 1.2, 1e6]),
        prop::bool::ANY,
        1usize..=16,
    );
    let learning = (scaling, step, bandwidth, 0u32..=2, 0u32..=3, prop::sample::select(vec![0.0, 0.2, 1.0]));
    let looking_back = (
        0usize..=3,
        prop::sample::select(vec![0, 1, 6]),
        prop::bool::ANY,
        prop::sample::select(vec![0.0, 0.01, 1.0]),
        prop::sample::select(vec![0.0, 0.4, 1.0]),
    );
    let recommend = prop::sample::select(vec![
        (Recommend::Queried, 0.0),
        (Recommend::Anywhere, 0.0),
        (Recommend::Measured, 0.15),
        (Recommend::Anywhere, 0.5),
    ]);
    let search = (looking_back, 0usize..=8, 16usize..=32, 0usize..=2, prop::bool::ANY, recommend);
    (model, learning, search).prop_map(|(model, learning, search)| {
        let (prior, method, deep, particles, beta, correlated, max_values) = model;
        let (scaling, step, bandwidth, steps_per_round, steps_per_task, kde_mix) = learning;
        let (
            (carried, kept, remeasure, memory_deviation, memory_after),
            initial,
            candidates,
            refinements,
            carry_particles,
            (recommend, verify),
        ) = search;
        Settings {
            map: if deep { Map::Deep { width: 4 } } else { Map::Ard },
            particles,
            beta,
            carried,
            kept,
            memory_after,
            carry_particles,
            initial: if matches!(scaling, Scaling::Initial | Scaling::Robust) {
                initial.max(1)
            } else {
                initial
            },
            candidates,
            verify,
            confirm: if recommend == Recommend::Anywhere { 30.0 } else { 2.0 },
            steps_per_round,
            steps_per_task,
            details: Details {
                prior,
                scaling,
                limited: correlated,
                free_start: remeasure,
                kde_mix,
                remeasure,
                memory_deviation,
                information: if correlated { Information::Correlated } else { Information::Paper },
                max_values,
                refinements,
                recommend,
                step,
                bandwidth,
                ..Settings::DEFAULT.details
            },
        }
        .with_method(method)
    })
}

fn in_use() -> impl Strategy<Value = InUse> {
    let levels =
        [Level::Value(0.0), Level::Value(1e30), Level::Drop(0.5), Level::Drop(1e30), Level::Share(0.9)];
    let floors = prop::sample::select(levels.to_vec()).prop_map(InUse::Floor);
    prop_oneof![2 => Just(InUse::Nothing), 1 => Just(InUse::Point), 1 => floors]
}

fn scenes() -> impl Strategy<Value = Scene> {
    let mishap = prop_oneof![
        20 => Just(Mishap::None),
        3 => Just(Mishap::NotFinite),
        2 => Just(Mishap::Fails),
        3 => prop::sample::select(vec![1e30, -1e30, 1e-40, -1e-45, 0.0, 1.0, 3e15]).prop_map(Mishap::Value),
        1 => prop::sample::select(vec![1e30, 1e12, 2.0, 1e-40, 0.0]).prop_map(Mishap::Costs),
        1 => Just(Mishap::Stop),
        1 => Just(Mishap::Restart),
        1 => Just(Mishap::Restore),
    ];
    let shape =
        prop::sample::select(vec![Shape::Hill, Shape::Constant, Shape::Steps, Shape::Spike, Shape::Wild]);
    let problem = (
        prop::collection::vec(prop::sample::select(DIMENSIONS.to_vec()), 1..=3),
        fidelities(),
        prop::sample::select(vec![0.0, 0.05, 1.0, 12.0, 40.0, 1e6]),
        prop::bool::ANY,
        in_use(),
    );
    let size = prop::sample::select(vec![0.0, 1e-45, 1e-38, 1e-30, 1e-6, 1.0, 1e3, 1e12, 3e29, 1e30]);
    let offset = prop::sample::select(vec![0.0, 0.0, 1.0, -1e6, 5e29]);
    // In half of the scenes nothing can be measured for long.
    let mishaps = (prop::collection::vec(mishap, 60), prop_oneof![Just(0usize), 0usize..60]);
    let mishaps = mishaps.prop_map(|(mut mishaps, failing)| {
        mishaps[..failing].fill(Mishap::Fails);
        mishaps
    });
    (problem, settings(), shape, (size, offset), mishaps, prop::num::u64::ANY).prop_map(
        |(
            (dimensions, fidelities, budget, minimise, in_use),
            settings,
            shape,
            (size, offset),
            mishaps,
            seed,
        )| {
            let batch = matches!(settings.details.method, Method::Myopic { .. } | Method::TwoPhase { .. });
            Scene {
                dimensions,
                fidelities,
                budget,
                goal: if minimise { Goal::Minimise } else { Goal::Maximise },
                in_use: if batch && in_use != InUse::Nothing { InUse::Point } else { in_use },
                settings,
                shape,
                size,
                offset,
                mishaps,
                seed,
            }
        },
    )
}

impl Scene {
    fn answer(&self, query: &Query) -> f32 {
        let hash = (query.round().wrapping_mul(0x9e37_79b9) ^ query.task().wrapping_mul(0x85eb_ca6b)) >> 8;
        let wild = hash as f32 / 8_388_608.0 - 1.0;
        let distance: f32 = query.unit().iter().map(|x| (x - 0.4) * (x - 0.4)).sum();
        let value = match self.shape {
            Shape::Hill => -distance + 0.01 * wild,
            Shape::Constant => 1.0,
            Shape::Steps => f32::from(u8::from(query.unit()[0] > 0.5)),
            Shape::Spike => f32::from(u8::from(query.round() % 9 == 7)),
            Shape::Wild => wild,
        };
        self.offset + self.size * value
    }

    fn check_query(&self, query: &Query) {
        assert_eq!(query.unit().len(), self.dimensions.len());
        for ((x, value), dimension) in query.unit().iter().zip(query.point()).zip(&self.dimensions) {
            assert_eq!(dimension.snap(*x), *x, "{query:?} is not in the space");
            assert!(value.is_finite() && dimension.unit(*value).is_some(), "{query:?}");
        }
        assert!(query.fidelity() < self.fidelities.len());
    }

    fn is_charged(&self, kind: Kind) -> bool {
        let start = self.in_use != InUse::Nothing || !self.settings.details.free_start;
        kind != Kind::Past && (start || kind != Kind::Initial)
    }

    /// What a query costs is there when it is asked. A measurement that then costs more is charged all the same.
    fn check_payable(&self, tuner: &Optimizer<'_>, query: &Query) {
        let (spent, cost) = (tuner.status().spent, self.fidelities[query.fidelity()].cost);
        let payable = spent + cost <= self.budget * (1.0 + 1e-6);
        assert!(payable || !self.is_charged(query.kind()), "{spent} + {cost} of {}", self.budget);
    }

    /// What was spent, in the order of the records, exactly.
    fn check_budget(&self, tuner: &Optimizer<'_>) {
        let charged = tuner.records().filter(|record| self.is_charged(record.kind));
        let cost = |record: Record| f64::from(record.cost.unwrap_or(self.fidelities[record.fidelity].cost));
        let spent: f64 = charged.map(cost).sum();
        assert!((f64::from(tuner.status().spent) - spent).abs() <= 1e-6 * spent);
    }

    /// What is saved can be loaded, and is the same then.
    fn check_saved(&self, tuner: &Optimizer<'_>, other: &mut Optimizer<'_>) {
        let bytes = snapshot(tuner);
        other.load(&bytes).unwrap();
        assert!(snapshot(other) == bytes || tuner.status().activity == Activity::Done);
    }

    fn check_particles(&self, tuner: &Optimizer<'_>) {
        assert!(tuner.particles().flatten().all(|value| value.is_finite() && value.abs() <= 30.0));
    }

    /// One task; false if it was begun anew.
    fn task(
        &self,
        tuner: &mut Optimizer<'_>,
        other: &mut Optimizer<'_>,
        mishaps: &mut impl Iterator<Item = Mishap>,
    ) -> bool {
        loop {
            self.check_saved(tuner, other);
            let mut query = match tuner.ask() {
                Ask::Query(query) => query,
                Ask::Done(stop) => {
                    self.check_end(tuner, stop);
                    return true;
                }
                other => panic!("no answer is outstanding: {other:?}"),
            };
            self.check_query(&query);
            self.check_payable(tuner, &query);
            let mishap = mishaps.next().unwrap_or(Mishap::None);
            let (mut y, mut cost) = (self.answer(&query), None);
            match mishap {
                Mishap::Value(value) => y = value,
                Mishap::Costs(own) => cost = Some(own),
                Mishap::NotFinite => {
                    let before = snapshot(tuner);
                    let refused = tuner.tell(query, f32::NAN).unwrap_err();
                    assert_eq!(refused.error, Error::NotFinite);
                    assert_eq!(snapshot(tuner), before);
                    query = refused.query;
                }
                Mishap::Fails => {
                    tuner.fail(query).unwrap();
                    self.check_budget(tuner);
                    continue;
                }
                Mishap::Stop => {
                    tuner.stop();
                    continue;
                }
                Mishap::Restart => {
                    tuner.restart().unwrap();
                    return false;
                }
                Mishap::Restore => {
                    let bytes = snapshot(tuner);
                    tuner.load(&bytes).unwrap();
                    assert_eq!(tuner.ask(), Ask::Query(query), "asks again for what was outstanding");
                    tuner.load(&bytes).unwrap();
                    continue;
                }
                Mishap::None => {}
            }
            let plausible = tuner.plausible();
            match tuner.answer(query, Some(y), cost) {
                Ok(()) => assert!(plausible.contains(&y)),
                Err(refused) => {
                    assert!(refused.error == Error::Outlier && !plausible.contains(&y), "{y}: {refused}");
                    tuner.fail(refused.query).unwrap();
                }
            }
            self.check_budget(tuner);
        }
    }

    fn check_end(&self, tuner: &Optimizer<'_>, stop: Stop) {
        self.check_particles(tuner);
        let status = tuner.status();
        let measured = status.observations + status.past > status.failures;
        assert_eq!(tuner.recommendation().is_some(), measured, "{stop:?}");
        assert!(measured || status.best.is_none(), "nothing is expected where nothing was measured");
        if let Some(best) = tuner.recommendation() {
            assert!(best.mean.is_finite() && best.deviation.is_finite() && best.deviation >= 0.0, "{best:?}");
            for (x, dimension) in best.unit().iter().zip(&self.dimensions) {
                assert_eq!(dimension.snap(*x), *x, "{best:?} is not in the space");
            }
        }
        match stop {
            Stop::Capacity => assert_eq!(status.room, 0),
            Stop::Budget => {
                let most_expensive = self.fidelities.last().unwrap().cost;
                assert!(tuner.status().spent + most_expensive > self.budget * (1.0 - 1e-6));
            }
            Stop::Exhausted => {
                let small = self.dimensions.iter().all(|dimension| dimension.levels().is_some());
                let floor = matches!(self.in_use, InUse::Floor(_));
                assert!(small || floor, "an interval is never exhausted: {:?}", tuner.status());
            }
            _ => {}
        }
    }
}

// `cargo xtask soak properties` looks at other scenes.
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_promise_is_kept_in_every_scene(scene in scenes()) {
        let deployed: Vec<f32> = scene.dimensions.iter().map(|dimension| dimension.value(0.3)).collect();
        let problem = Problem {
            dimensions: &scene.dimensions,
            fidelities: &scene.fidelities,
            budget: scene.budget,
            goal: scene.goal,
            deployed: (scene.in_use != InUse::Nothing).then_some(&deployed),
            floor: match scene.in_use {
                InUse::Floor(level) => Some(Floor { level, risk: 0.1 }),
                InUse::Nothing | InUse::Point => None,
            },
            ..Problem::PLAIN
        };
        let (mut memory, mut memory_of_other) = (Box::new(Toy::new()), Box::new(Toy::new()));
        let mut tuner = memory.start(problem, scene.settings, scene.seed).unwrap();
        let mut other = memory_of_other.start(problem, scene.settings, scene.seed).unwrap();
        let mut mishaps = scene.mishaps.iter().copied();
        for _ in 0..2 {
            while !scene.task(&mut tuner, &mut other, &mut mishaps) {}
            scene.check_saved(&tuner, &mut other);
            tuner.next_task().unwrap();
            assert_eq!(snapshot(&tuner), snapshot(&other), "knowledge that was loaded starts the same task");
            scene.check_particles(&tuner);
        }
    }
}

/// Two tasks without initial points, so that the second begins with nothing but a remembered value; the objective is
/// as many times as large as `sizes` says. What the second asked, how it ended, and what it had to fall back to.
fn remembering(problem: Problem<'_>, remeasure: bool, sizes: [f32; 2]) -> (Vec<Vec<u32>>, Stop, Fallbacks) {
    let settings = Settings { initial: 0, details: Details { remeasure, ..SETTINGS.details }, ..SETTINGS };
    let mut tuner = start(problem, settings, 5);
    finish(&mut tuner, sizes[0]);
    tuner.next_task().unwrap();
    let (asked, stop) = finish(&mut tuner, sizes[1]);
    (asked, stop, tuner.status().fallbacks)
}

fn finish(tuner: &mut Optimizer<'_>, size: f32) -> (Vec<Vec<u32>>, Stop) {
    let mut asked = Vec::new();
    loop {
        match tuner.ask() {
            Ask::Query(query) => {
                asked.push(bits(query.unit()));
                let y = size * objective(&query);
                tuner.tell(query, y).unwrap();
            }
            Ask::Done(stop) => return (asked, stop),
            other => panic!("{other:?}"),
        }
    }
}

/// Found by the property above: before the first answer the scale was 1, whatever the remembered values were.
#[test]
fn a_task_is_tuned_to_its_end_whatever_the_size_of_what_is_remembered() {
    let noiseless = [Fidelity { cost: 1.0, samples: 1, noise: 0.0 }];
    let problem = Problem { fidelities: &noiseless, budget: 12.0, ..PROBLEM };
    let sizes = [0.0, 1e-45, 1e-30, 1.0, -1e12, 3e29];
    for (first, second) in sizes.iter().flat_map(|first| sizes.map(|second| (*first, second))) {
        for remeasure in [false, true] {
            let (asked, stop, fallbacks) = remembering(problem, remeasure, [first, second]);
            assert_eq!((stop, asked.len()), (Stop::Budget, 12), "{first:e}, then {second:e}");
            assert_eq!(fallbacks.particles, 0, "{first:e}, then {second:e}");
        }
    }
}

/// Powers of two change no digit, so no bit of any query may depend on them.
#[test]
fn the_unit_of_the_objective_does_not_matter() {
    let asked = |unit: f32, remeasure| {
        let fidelities = [Fidelity { cost: 2.5, samples: 1, noise: 0.002 * unit * unit }];
        let problem = Problem { fidelities: &fidelities, ..PROBLEM };
        remembering(problem, remeasure, [unit, unit]).0
    };
    for remeasure in [false, true] {
        let expected = asked(1.0, remeasure);
        assert_eq!(expected.len(), 12);
        for unit in [1.0 / 1024.0, 4.0, 65536.0] {
            assert_eq!(asked(unit, remeasure), expected, "{unit}");
        }
    }
}

#[test]
fn noise_below_the_floor_is_raised_and_counted() {
    let count = |noise: f32| {
        let fidelities = [Fidelity { cost: 1.0, samples: 1, noise }];
        let problem = Problem { fidelities: &fidelities, ..PROBLEM };
        let mut tuner = start(problem, SETTINGS, 1);
        finish_task(&mut tuner);
        tuner.status().fallbacks
    };
    for noise in [0.0, 1e-6] {
        assert!(count(noise).noise > 0, "{noise}");
    }
    for noise in [0.1, 1e3] {
        assert_eq!(count(noise), Fallbacks::default(), "{noise}");
    }
}
