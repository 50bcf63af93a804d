//! Larger capacities than needed change no bit; what does not fit is named.

use crate::support::{Event, PROBLEM, SETTINGS, finish_task};
use foretune_core::{Details, Dimension, Error, Fidelity, Map, Method, Problem, Settings, Step, memory};

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
        let mut tuner = memory.start(PLAIN, $settings, 11).unwrap();
        let mut events: Vec<Event> = Vec::new();
        for _ in 0..3 {
            finish_task(&mut tuner, &[], &mut events);
            tuner.next_task().unwrap();
        }
        events
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
        finish_task(&mut memory.start(PROBLEM, deep, 3).unwrap(), &[], &mut Vec::new());
        let mut events = Vec::new();
        let mut tuner = memory.start(PLAIN, settings, 11).unwrap();
        for _ in 0..3 {
            finish_task(&mut tuner, &[], &mut events);
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
