//! Memory: larger capacities than needed change no bit, arrays that are laid out at run time do what those of a memory do and
//! are as large as is said, what does not fit is named; and the ready-made profiles at work, each in a `static`.

use std::sync::Mutex;

use crate::support::{
    Event, PROBLEM, SETTINGS, finish_task, finish_task_with, knowledge, objective, snapshot, start,
    three_tasks, variants,
};
use foretune_core::profile::{COMPACT, Compact, DEEP, Deep};
use foretune_core::{
    Block, Capacities, Details, Dimension, Error, Fallbacks, Fidelity, Floor, Goal, Level, Map, Method,
    Optimizer, Problem, Settings, Step, Stop, memory,
};

const PLANE: &[Dimension<'static>] =
    &[Dimension::Interval { low: -5.0, high: 10.0 }, Dimension::Grid { low: 0.0, high: 1.0, levels: 40 }];
const PLAIN: Problem<'static> = Problem { dimensions: PLANE, budget: 40.0, ..PROBLEM };

/// ARD in two dimensions, and nothing to spare.
type Exact = memory!(
    dimensions: 2, fidelities: 3, observations: 20, particles: 4, map: Ard, candidates: 32
);
/// More of everything but of observations.
type Roomy = memory!(
    dimensions: 5, fidelities: 4, observations: 20, particles: 7, map: Deep { width: 9 }, candidates: 50
);

macro_rules! run {
    ($memory:ty, $settings:expr) => {{
        let mut memory = Box::new(<$memory>::new());
        three_tasks(&mut memory.start(PLAIN, $settings, 11).unwrap())
    }};
}

#[test]
fn room_to_spare_changes_no_bit() {
    for method in [Method::MftMes, Method::MfMes, Method::TwoPhase { c: 0.5 }] {
        let settings = SETTINGS.with_method(method);
        assert_eq!(run!(Exact, settings), run!(Roomy, settings), "{method:?}");
    }
}

/// Used before by a problem with more dimensions and another map, which leave their traces in the arrays.
#[test]
fn a_used_memory_is_as_good_as_a_new_one() {
    let mut memory = Box::new(Roomy::new());
    for method in [Method::MftMes, Method::Myopic { c: 0.5 }] {
        let settings = SETTINGS.with_method(method);
        let deep = Settings { map: Map::Deep { width: 4 }, ..settings };
        finish_task(&mut memory.start(PROBLEM, deep, 3).unwrap());
        let mut events = Vec::new();
        let mut tuner = memory.start(PLAIN, settings, 11).unwrap();
        for _ in 0..3 {
            events.extend(finish_task(&mut tuner));
            assert!(tuner.records().all(|record| record.unit.len() == 2), "no coordinate that is not used");
            tuner.next_task().unwrap();
        }
        assert_eq!(events, run!(Roomy, settings), "{method:?}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let mut memory = Box::new(Exact::new());
    let mut refused = |problem: Problem<'static>, settings: Settings| match memory.start(problem, settings, 1)
    {
        Err(Error::Capacity { what, needed, available }) => (what, needed, available),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{problem:?} and {settings:?} should not fit"),
    };
    const FOUR: &[Fidelity] = &[PROBLEM.fidelities[0]; 4];
    let four = Problem { fidelities: FOUR, ..PLAIN };
    assert_eq!(refused(PROBLEM, SETTINGS), ("dimensions", 3, 2));
    assert_eq!(refused(four, SETTINGS), ("fidelities", 4, 3));
    assert_eq!(refused(PLAIN, Settings { initial: 20, ..SETTINGS }), ("observations", 23, 20));
    assert_eq!(refused(PLAIN, Settings { particles: 5, ..SETTINGS }), ("particles", 5, 4));
    let deep = Settings { map: Map::Deep { width: 3 }, ..SETTINGS };
    assert_eq!(refused(PLAIN, deep), ("features", 3, 2));
    let narrow = Settings { map: Map::Deep { width: 2 }, ..SETTINGS };
    assert_eq!(refused(PLAIN, narrow), ("parameters", 19, 4));
    assert_eq!(refused(PLAIN, Settings { candidates: 33, ..SETTINGS }), ("candidates", 33, 32));
    type WithoutAdam = memory!(
        dimensions: 2, fidelities: 3, observations: 20, particles: 4, map: Ard, candidates: 32,
        step: Plain { rate: 1.0 }
    );
    let mut small = Box::new(WithoutAdam::new());
    let rows = small.start(PLAIN, SETTINGS, 1).err();
    assert_eq!(rows, Some(Error::Capacity { what: "moments of the steps", needed: 8, available: 0 }));
    let plain =
        Settings { details: Details { step: Step::Plain { rate: 0.1 }, ..SETTINGS.details }, ..SETTINGS };
    assert!(small.start(PLAIN, plain, 1).is_ok());
}

/// Three tasks, and how often numerics had to help themselves in each.
fn events(tuner: &mut Optimizer<'_>) -> (Vec<Event>, Vec<Fallbacks>) {
    let (mut events, mut fallbacks) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        events.extend(finish_task(tuner));
        fallbacks.push(tuner.status().fallbacks);
        tuner.next_task().unwrap();
    }
    (events, fallbacks)
}

/// Whatever was in the words before, and with the particles' factors kept too.
#[test]
fn every_method_asks_the_same_bit_for_bit() {
    let deployed = Some(&[-2.0, -120.0, 0.5][..]);
    let live = Problem {
        deployed,
        floor: Some(Floor { level: Level::Drop(0.2), risk: 0.1 }),
        tolerance: 0.01,
        ..PROBLEM
    };
    for (problem, settings) in
        variants(SETTINGS).map(|settings| (PROBLEM, settings)).chain([(live, SETTINGS)])
    {
        let mut one = start(problem, settings, 11);
        let expected = events(&mut one);
        for keeps_factors in [false, true] {
            let capacities = Capacities::checked(&problem, &settings, 24).unwrap();
            let capacities = Capacities { keeps_factors, ..capacities };
            let mut words = vec![u32::MAX; capacities.words()];
            let mut other = Block::new(&mut words, capacities).start(problem, settings, 11).unwrap();
            assert_eq!(expected, events(&mut other), "{settings:?}");
            assert_eq!(snapshot(&one), snapshot(&other), "{settings:?}");
        }
    }
}

/// A whole task of what has just as many words, with its last array full; a word less is too few.
#[test]
fn it_takes_as_many_words_as_it_says() {
    let interval = Dimension::Interval { low: 0.0, high: 1.0 };
    let fidelity = Fidelity { cost: 1.0, samples: 1, noise: 0.1 };
    for (d, m, n, v, q) in
        [(1, 1, 10, 1, 16), (4, 4, 64, 10, 80), (6, 4, 129, 10, 256), (16, 8, 30, 16, 100), (3, 2, 90, 2, 33)]
    {
        for map in [Map::Ard, Map::Deep { width: 7 }] {
            for step in [Step::Plain { rate: 0.1 }, Step::Adam { rate: 0.1 }] {
                let (dimensions, fidelities) = (vec![interval; d], vec![fidelity; m]);
                let problem = Problem {
                    dimensions: &dimensions,
                    fidelities: &fidelities,
                    budget: 2.0,
                    goal: Goal::Minimise,
                    ..Problem::PLAIN
                };
                let mut settings = SETTINGS;
                (settings.map, settings.particles) = (map, v);
                (settings.details.step, settings.candidates) = (step, q);
                settings.details.memory_deviation = 0.0;
                let capacities = Capacities::checked(&problem, &settings, n).unwrap();
                let capacities = Capacities { keeps_factors: n % 2 > 0, ..capacities };
                let needed = capacities.words();
                let mut words = vec![0; needed];
                let few = Block::new(&mut words[1..], capacities).start(problem, settings, 1).err();
                let available = needed - 1;
                assert_eq!(few, Some(Error::Capacity { what: "words", needed, available }), "{capacities:?}");
                let mut tuner = Block::new(&mut words, capacities).start(problem, settings, 1).unwrap();
                finish_task(&mut tuner);
                tuner.next_task().unwrap();
                assert!(words.last().is_some_and(|word| *word == 0), "room for eight carried points");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_named_before_a_word_is_touched() {
    let capacity = |what, needed, available| Error::Capacity { what, needed, available };
    let refused = |problem: Problem<'static>, settings: Settings, observations: usize| {
        let mut words = vec![7; 100_000];
        let capacities = Capacities::of(&problem, &settings, observations);
        let error =
            Block::without_deep_map(&mut words, capacities).start(problem, settings, 1).err().unwrap();
        let checked = Capacities::checked(&problem, &settings, observations).err();
        assert!(checked.is_none_or(|checked| checked == error), "{checked:?}");
        assert!(words.iter().all(|word| *word == 7));
        error
    };
    assert_eq!(refused(PROBLEM, SETTINGS, 6), capacity("observations", 7, 6));
    assert_eq!(refused(PROBLEM, SETTINGS, 65_536), capacity("observations", 65_536, 65_535));
    const EIGHT: &[Fidelity] = &[PROBLEM.fidelities[0]; 8];
    assert_eq!(refused(Problem { fidelities: EIGHT, ..PROBLEM }, SETTINGS, 24), capacity("fidelities", 9, 8));
    let deep = Settings { map: Map::Deep { width: 3 }, ..SETTINGS };
    assert!(matches!(refused(PROBLEM, deep, 24), Error::Setting { name: "map", .. }));
    let outside = Problem { deployed: Some(&[99.0, -120.0, 0.5]), ..PROBLEM };
    assert!(matches!(refused(outside, SETTINGS, 24), Error::Live(_)));
    let many = Settings { candidates: usize::MAX, ..SETTINGS.with_method(Method::Continual) };
    assert_eq!(Capacities::checked(&PROBLEM, &many, 24).unwrap().words(), usize::MAX);
    assert_eq!(refused(PROBLEM, many, 24), capacity("words", usize::MAX, 100_000));
}

static SMALL: Mutex<Compact> = Mutex::new(Compact::new());
static LARGE: Mutex<Deep> = Mutex::new(Deep::new());

const POWER: Dimension = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
const COMPENSATION: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);

const fn averaged(samples: u32) -> Fidelity {
    Fidelity { cost: samples as f32, samples, noise: 0.1 / samples as f32 }
}

const RADIO: Problem<'static> = Problem {
    dimensions: &[POWER, COMPENSATION, POWER, COMPENSATION],
    fidelities: &[averaged(10), averaged(20), averaged(50), averaged(100)],
    budget: 2000.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};

#[test]
fn the_compact_profile_tunes_a_radio() {
    let mut memory = SMALL.lock().unwrap();
    let mut tuner = memory.start(RADIO, COMPACT, 3).unwrap();
    for task in 1..=2 {
        let stop = tuner.run_task(|query| Some(objective(query))).unwrap();
        assert!(matches!(stop, Stop::Budget | Stop::Capacity), "{stop:?}");
        let best = tuner.recommendation().unwrap();
        // The top is 0.9; a random point is worth 0.2 on average.
        assert!(best.mean > 0.7, "task {task}: {best:?}");
        tuner.next_task().unwrap();
    }
}

#[test]
fn the_deep_profile_runs_with_centres_from_elsewhere() {
    let mut memory = LARGE.lock().unwrap();
    let settings = Settings {
        steps_per_task: 2,
        initial: 8,
        details: Details { refinements: 0, ..DEEP.details },
        ..DEEP
    };
    let mut tuner = memory.start(Problem { budget: 100.0, ..RADIO }, settings, 3).unwrap();
    let mut known = Vec::new();
    for _ in 0..2 {
        finish_task_with(&mut tuner, &known);
        assert!(tuner.recommendation().is_some());
        known = knowledge(&tuner);
        assert_eq!(known.len(), tuner.snapshot_len());
        tuner.next_task().unwrap();
    }
    // Ten particles of 8 641 numbers: what a board must find room for in its flash.
    assert!((345_000..346_000).contains(&known.len()), "{}", known.len());
}
