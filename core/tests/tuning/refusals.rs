//! What is refused, why, and that nothing changes by it; failures, early ends and restarts.

use crate::support::{
    Event, METHODS, PROBLEM, SETTINGS, Toy, answer, answer_next, finish_task, query_event, snapshot, start,
};
use foretune_core::{
    Activity, Ask, Details, Dimension, Error, Fidelity, Goal, Kind, Method, Problem, Refused, Scaling,
    Settings, Stop,
};

const FIXED: Settings = Settings {
    details: Details { scaling: Scaling::Fixed { mean: 1.0, deviation: 2.0 }, ..SETTINGS.details },
    ..SETTINGS
};

#[test]
fn an_answer_that_is_no_number_gives_the_query_back() {
    let mut tuner = start(PROBLEM, SETTINGS, 4);
    for round in 0..8 {
        let mut query = tuner.ask().query().unwrap();
        assert_eq!(query.round(), round);
        let (before, event) = (snapshot(&tuner), query_event(&query));
        let bad = [
            (f32::NAN, Error::NotFinite),
            (f32::INFINITY, Error::NotFinite),
            (f32::NEG_INFINITY, Error::NotFinite),
            (2e30, Error::Outlier),
            (f32::MIN, Error::Outlier),
        ];
        for (y, error) in bad {
            let refused = tuner.tell(query, y).unwrap_err();
            assert_eq!(refused.error, error);
            assert_eq!(refused.to_string(), error.to_string());
            query = refused.query;
            assert_eq!(query_event(&query), event, "the same query comes back");
            assert_eq!(snapshot(&tuner), before, "and nothing has changed");
            assert_eq!(tuner.ask(), Ask::Waiting, "an answer is still outstanding");
        }
        tuner.tell(query, 0.1 * round as f32).unwrap();
    }
}

#[test]
fn an_absurd_answer_is_refused_once_there_is_a_scale() {
    let judged = |settings: Settings, first: &[f32], y: f32| {
        let mut tuner = start(PROBLEM, Settings { initial: 4, ..settings }, 4);
        for y in first {
            let query = tuner.ask().query().unwrap();
            tuner.tell(query, *y).unwrap();
        }
        let query = tuner.ask().query().unwrap();
        let plausible = tuner.plausible().contains(&y);
        let told = tuner.tell(query, y).map_err(|refused| refused.error);
        assert_eq!(told.is_ok(), plausible);
        told
    };
    let initial = Settings { details: Details { scaling: Scaling::Initial, ..SETTINGS.details }, ..SETTINGS };
    assert_eq!(judged(initial, &[1.0, 2.0, 3.0, 4.0], 1e8), Err(Error::Outlier));
    assert_eq!(judged(initial, &[1.0, 2.0, 3.0, 4.0], 1e5), Ok(()));
    let confirmed = Settings { confirm: 30.0, ..initial };
    assert_eq!(judged(confirmed, &[1.0, 2.0, 3.0, 4.0], 1e8), Ok(()), "measured again, it may be true");
    assert_eq!(judged(FIXED, &[], 1e8), Err(Error::Outlier), "a fixed scale judges from the start");
    assert_eq!(judged(FIXED, &[1.0, 2.0, 3.0, 4.0], -1e8), Err(Error::Outlier));
    assert_eq!(judged(SETTINGS, &[1.0, 2.0, 3.0, 4.0], 1e8), Ok(()), "a running scale follows");
    assert_eq!(judged(initial, &[5.0; 4], 1e8), Ok(()), "a constant start is no scale");
    assert_eq!(judged(initial, &[0.0; 4], 1e8), Ok(()));
    assert_eq!(
        judged(initial, &[5.0, 5.0, 5.0, 5.0, 10.0], 1e8),
        Err(Error::Outlier),
        "until something differs"
    );
}

#[test]
fn a_foreign_query_is_refused() {
    let (mut tuner, mut other) = (start(PROBLEM, SETTINGS, 4), start(PROBLEM, SETTINGS, 5));
    let foreign = other.ask().query().unwrap();
    let foreign = tuner.tell(foreign, 1.0).unwrap_err();
    assert_eq!(foreign.error, Error::UnknownQuery, "before anything was asked");
    let own = tuner.ask().query().unwrap();
    assert_eq!((own.task(), own.round()), (foreign.query.task(), foreign.query.round()));
    let before = snapshot(&tuner);
    let foreign = tuner.tell(foreign.query, 1.0).unwrap_err();
    assert_eq!(foreign.error, Error::UnknownQuery, "of the same round, but of another tuner");
    let Refused { query, error } = tuner.fail(foreign.query).unwrap_err();
    assert_eq!((error, snapshot(&tuner)), (Error::UnknownQuery, before));
    tuner.tell(own, 1.0).unwrap();
    other.tell(query, 1.0).unwrap();

    let late = tuner.ask().query().unwrap();
    tuner.stop();
    assert_eq!(tuner.tell(late, 1.0).unwrap_err().error, Error::UnknownQuery, "void by now");
    let old = other.ask().query().unwrap();
    other.load(&snapshot(&tuner)).unwrap();
    assert_eq!(other.fail(old).unwrap_err().error, Error::UnknownQuery, "from before a restore");
}

#[test]
fn calls_out_of_turn_are_refused() {
    let mut tuner = start(PROBLEM, SETTINGS, 4);
    assert_eq!(tuner.next_task(), Err(Error::OutOfTurn));
    assert_eq!(tuner.recommendation(), None);
    finish_task(&mut tuner);
    assert_eq!(tuner.restart(), Err(Error::OutOfTurn));
    assert!(tuner.recommendation().is_some());
    assert_eq!(tuner.ask(), Ask::Done(Stop::Budget), "however often one asks");
    tuner.stop();
    assert_eq!(tuner.ask(), Ask::Done(Stop::Budget));
    assert_eq!(tuner.next_task(), Ok(()));
    assert_eq!(tuner.next_task(), Err(Error::OutOfTurn));
}

#[test]
fn measurements_that_fail_are_charged_take_a_slot_and_are_not_asked_again() {
    for method in METHODS {
        let mut tuner = start(PROBLEM, SETTINGS.with_method(method), 4);
        let (mut failed, mut spent) = (Vec::new(), 0.0);
        while let Ask::Query(query) = tuner.ask() {
            let event = (query.unit().to_vec(), query.fidelity());
            assert!(!failed.contains(&event), "{method:?} asks again for what failed");
            failed.push(event);
            if query.kind() != Kind::Initial {
                spent += PROBLEM.fidelities[query.fidelity()].cost;
            }
            tuner.fail(query).unwrap();
            assert_eq!(tuner.status().spent, spent);
        }
        let status = tuner.status();
        assert_eq!((status.failures, status.room + failed.len()), (failed.len(), 24), "{method:?}");
        let expected = if status.room == 0 { Stop::Capacity } else { Stop::Budget };
        assert_eq!((tuner.ask(), tuner.recommendation()), (Ask::Done(expected), None), "{method:?}");
        assert!(failed.len() > 8, "{method:?} gave up after {} failures", failed.len());
        tuner.next_task().unwrap();
        finish_task(&mut tuner);
        assert!(tuner.recommendation().is_some());
    }
}

/// Whenever the call comes: what counts is the last answer.
#[test]
fn a_task_stopped_after_some_answer_ends_the_same_way() {
    for method in [Method::MftMes, Method::Myopic { c: 0.3 }] {
        let mut ends: Vec<Vec<Event>> = Vec::new();
        for wait in [0, 1, 3, 10, 50, 1000] {
            let mut tuner = start(PROBLEM, SETTINGS.with_method(method), 4);
            answer_next(&mut tuner, 5);
            (0..wait).for_each(|_| _ = tuner.advance());
            tuner.stop();
            let mut events = finish_task(&mut tuner);
            assert_eq!(tuner.ask(), Ask::Done(Stop::Requested));
            tuner.next_task().unwrap();
            events.extend(finish_task(&mut tuner));
            ends.push(events);
        }
        assert!(ends.iter().all(|events| *events == ends[0]), "{method:?}");
    }
}

#[test]
fn a_task_stopped_before_any_answer_leaves_particles_for_the_next() {
    let mut tuner = start(PROBLEM, SETTINGS, 4);
    tuner.stop();
    assert_eq!((tuner.ask(), tuner.recommendation()), (Ask::Done(Stop::Requested), None));
    let particles: Vec<Vec<f32>> = tuner.particles().map(<[f32]>::to_vec).collect();
    assert!(particles.windows(2).all(|pair| pair[0] != pair[1]), "{particles:?}");
    tuner.next_task().unwrap();
    finish_task(&mut tuner);
    assert!(tuner.recommendation().is_some());
}

#[test]
fn a_restarted_task_is_the_same_task() {
    for method in METHODS {
        let mut tuner = start(PROBLEM, SETTINGS.with_method(method), 4);
        for task in 1..=2 {
            answer_next(&mut tuner, 7);
            let _outstanding = tuner.ask();
            tuner.restart().unwrap();
            let status = tuner.status();
            assert_eq!((status.task, status.observations, status.spent), (task, 0, 0.0));
            let mut fresh = start(PROBLEM, SETTINGS.with_method(method), 4);
            for _ in 1..task {
                finish_task(&mut fresh);
                fresh.next_task().unwrap();
            }
            assert_eq!(finish_task(&mut tuner), finish_task(&mut fresh), "{method:?} task {task}");
            tuner.next_task().unwrap();
        }
    }
}

#[test]
fn malformed_problems_and_settings_are_refused_by_name() {
    let mut memory = Box::new(Toy::new());
    let mut error = |problem: Problem<'static>, settings: Settings| {
        memory.start(problem, settings, 1).err().map(|error| error.to_string())
    };
    const FLAT: &[Dimension<'static>] = &[PROBLEM.dimensions[0], Dimension::Interval { low: 1.0, high: 1.0 }];
    const FALLING: &[Fidelity] = &[PROBLEM.fidelities[1], PROBLEM.fidelities[0]];
    for (problem, settings, words) in [
        (
            Problem { dimensions: FLAT, ..PROBLEM },
            SETTINGS,
            "dimension 1 (from 0): its lower end must be below its upper end",
        ),
        (
            Problem { dimensions: &[], ..PROBLEM },
            SETTINGS,
            "dimension 0 (from 0): there must be one at least",
        ),
        (
            Problem { fidelities: FALLING, ..PROBLEM },
            SETTINGS,
            "fidelity 1 (from 0): it must cost no less than the one before it",
        ),
        (Problem { fidelities: &[], ..PROBLEM }, SETTINGS, "fidelity 0 (from 0): there must be one at least"),
        (Problem { budget: -1.0, ..PROBLEM }, SETTINGS, "the budget is negative or not finite"),
        (PROBLEM, Settings { beta: -1.0, ..SETTINGS }, "setting `beta` must be 0 to 1e6"),
        (PROBLEM, Settings { particles: 0, ..SETTINGS }, "setting `particles` must be 1 to 16"),
    ] {
        assert_eq!(error(problem, settings).as_deref(), Some(words));
    }
    assert_eq!(error(Problem { goal: Goal::Minimise, ..PROBLEM }, SETTINGS), None);
}

#[test]
fn the_status_says_what_it_is_doing() {
    let mut tuner = start(PROBLEM, SETTINGS, 4);
    assert_eq!(tuner.status().activity, Activity::Preparing);
    let mut seen = Vec::new();
    for _ in 0..6 {
        let query = tuner.ask().query().unwrap();
        assert_eq!(tuner.status().activity, Activity::Waiting);
        assert!(!tuner.status().activity.is_busy());
        answer(&mut tuner, query);
        seen.push(tuner.status().activity);
    }
    assert!(seen.contains(&Activity::Learning) && seen.contains(&Activity::Searching), "{seen:?}");
    let bytes = snapshot(&tuner);
    tuner.load(&bytes).unwrap();
    let _ = tuner.advance();
    while tuner.status().to_replay > 0 {
        assert!(matches!(tuner.status().activity, Activity::Preparing | Activity::Replaying));
        let _ = tuner.advance();
    }
    finish_task(&mut tuner);
    assert_eq!(tuner.status().activity, Activity::Done);
}
