//! Arrays that are laid out at run time do what those of a memory do, and are as large as is said.

use crate::support::{Event, PROBLEM, SETTINGS, Toy, finish_task, snapshot, variants};
use foretune_core::{
    Block, Capacities, Dimension, Error, Fallbacks, Fidelity, Floor, Goal, Level, Map, Method, Optimizer,
    Problem, Settings, Step,
};

/// Three tasks, and how often numerics had to help themselves in each.
fn events(tuner: &mut Optimizer<'_>) -> (Vec<Event>, Vec<Fallbacks>) {
    let (mut events, mut fallbacks) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        finish_task(tuner, &[], &mut events);
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
        let mut memory = Box::new(Toy::new());
        let mut one = memory.start(problem, settings, 11).unwrap();
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
                finish_task(&mut tuner, &[], &mut Vec::new());
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
