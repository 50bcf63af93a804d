//! A memory that does not keep the last task's particles, as on a board with little RAM: knowledge and answers are
//! stored elsewhere, and everything comes out the same. And where a task does not begin with those particles.

use crate::support::{
    Event, PROBLEM, SETTINGS, answer, bits, finish_task, finish_task_with, knowledge, next, query_event,
    start, three_tasks,
};
use foretune_core::{
    Ask, Details, Error, Floor, Level, Map, Method, Optimizer, Point, Problem, Record, Settings,
    SnapshotError, Step, memory,
};

/// With room for the last task's particles.
type Keeps = memory!(
    dimensions: 3, fidelities: 3, observations: 24, particles: 4, map: Deep { width: 4 }, candidates: 32,
    step: Langevin { rate: 1.0 }
);
/// Without.
type Reads = memory!(
    dimensions: 3, fidelities: 3, observations: 24, particles: 4, map: Deep { width: 4 }, candidates: 32,
    step: Langevin { rate: 1.0 }, keeps_particles: false
);

const SAMPLING: Settings =
    Settings { details: Details { step: Step::Langevin { rate: 0.05 }, ..SETTINGS.details }, ..SETTINGS };

fn variants() -> [Settings; 4] {
    let deep = Settings { map: Map::Deep { width: 4 }, ..SAMPLING };
    [
        SAMPLING,
        deep,
        Settings { details: Details { step: Step::Plain { rate: 1e-2 }, ..deep.details }, ..deep },
        SAMPLING.with_method(Method::Myopic { c: 0.5 }),
    ]
}

/// A tuner that has no room for them.
fn reads(settings: Settings) -> Optimizer<'static> {
    Box::leak(Box::new(Reads::new())).start(PROBLEM, settings, 8).unwrap()
}

fn kept(settings: Settings) -> Vec<Event> {
    let mut memory = Box::new(Keeps::new());
    let mut tuner = memory.start(PROBLEM, settings, 8).unwrap();
    three_tasks(&mut tuner)
}

#[test]
fn centres_read_from_elsewhere_give_the_same_bits() {
    for settings in variants() {
        let mut tuner = reads(settings);
        let (mut events, mut known) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            events.extend(finish_task_with(&mut tuner, &known));
            known = knowledge(&tuner);
            tuner.next_task().unwrap();
        }
        assert_eq!(events, kept(settings), "{settings:?}");
    }
}

/// Power fails after every answer: all that is left is the last knowledge and the journal of answers.
#[test]
fn knowledge_and_recalled_answers_restore_the_task_after_every_answer() {
    for settings in variants() {
        let (mut events, mut known) = (Vec::new(), Vec::new());
        let mut journal: Vec<Record> = Vec::new();
        while events.iter().filter(|event| matches!(event, Event::End { .. })).count() < 3 {
            let mut tuner = reads(settings);
            if !known.is_empty() {
                tuner.load(&known).unwrap();
            }
            for record in &journal {
                tuner.recall(record.clone()).unwrap();
            }
            assert_eq!(tuner.records().collect::<Vec<_>>(), journal);
            match next(&mut tuner, &known).unwrap() {
                Ok(query) => {
                    events.push(query_event(&query));
                    answer(&mut tuner, query);
                    journal = tuner.records().collect();
                }
                Err(_) => {
                    events.extend(finish_task_with(&mut tuner, &known));
                    known = knowledge(&tuner);
                    journal.clear();
                }
            }
        }
        assert_eq!(events, kept(settings), "{settings:?}");
    }
}

#[test]
fn knowledge_that_is_not_this_tasks_is_refused_and_changes_nothing() {
    let mut tuner = reads(SAMPLING);
    let mut events = finish_task(&mut tuner);
    let first = knowledge(&tuner);
    tuner.next_task().unwrap();
    events.extend(finish_task_with(&mut tuner, &first));
    let second = knowledge(&tuner);
    tuner.next_task().unwrap();
    let model = Err(Error::Snapshot(SnapshotError::Model));
    assert_eq!(tuner.advance_with(&first).map(drop), model);
    assert_eq!(tuner.advance_with(&[]).map(drop), Err(Error::Snapshot(SnapshotError::Truncated)));
    assert_eq!(tuner.advance_with(&second[..100]).map(drop), Err(Error::Snapshot(SnapshotError::Truncated)));
    events.extend(finish_task_with(&mut tuner, &second));
    assert_eq!(events, kept(SAMPLING));
}

#[test]
fn answers_are_recalled_only_at_the_start_and_only_if_they_can_be() {
    let mut tuner = reads(SAMPLING);
    let at = |x: &[f32]| Record {
        unit: Point::from_slice(x).unwrap(),
        fidelity: 0,
        kind: foretune_core::Kind::Initial,
        y: Some(1.0),
        kpis: Default::default(),
        cost: None,
    };
    let good = at(&[0.25, 0.0, 0.4]);
    let contents = Err(Error::Snapshot(SnapshotError::Contents));
    for bad in [
        at(&[1.25, 0.0, 0.4]),
        at(&[f32::NAN, 0.0, 0.4]),
        at(&[0.25, 0.0, 0.45]),
        at(&[0.25, 0.0]),
        Record { fidelity: 3, ..good.clone() },
        Record { y: Some(f32::NAN), ..good.clone() },
        Record { y: Some(-1e31), ..good.clone() },
        Record { cost: Some(-1.0), ..good.clone() },
        Record { cost: Some(f32::NAN), ..good.clone() },
        Record { kind: foretune_core::Kind::Past, y: None, ..good.clone() },
    ] {
        assert_eq!(tuner.recall(bad.clone()), contents, "{bad:?}");
    }
    for i in 0..24 {
        let y = (i % 3 > 0).then_some(1.0);
        assert_eq!(tuner.recall(Record { y, ..good.clone() }), Ok(()), "{i}");
    }
    let full = Error::Capacity { what: "observations", needed: 25, available: 24 };
    assert_eq!(tuner.recall(good.clone()), Err(full));
    assert_eq!((tuner.records().count(), tuner.status().to_replay), (24, 24));

    let mut tuner = reads(SAMPLING);
    let query = next(&mut tuner, &[]).unwrap().unwrap();
    assert_eq!(tuner.recall(good.clone()), Err(Error::OutOfTurn));
    tuner.fail(query).unwrap();
    assert_eq!(tuner.recall(good), Err(Error::OutOfTurn), "also after a failure, with no observation yet");
}

/// With one fidelity a task's last answers lie close to its optimum: particles that these taught draw the next ones towards them,
/// but do not search in their place.
#[test]
fn with_one_fidelity_and_nothing_to_keep_later_tasks_draw_their_first_particles() {
    let one = Problem { fidelities: &PROBLEM.fidelities[2..], ..PROBLEM };
    let in_use = Problem { deployed: Some(&[0.0, 24.0, 0.5]), ..one };
    let floor = Some(Floor { level: Level::Drop(0.5), risk: 0.1 });
    let no_share = Settings { details: Details { kde_mix: 0.0, ..SETTINGS.details }, ..SETTINGS };
    for (problem, settings, drawn) in [
        (PROBLEM, SETTINGS, false),
        (one, SETTINGS, true),
        (in_use, SETTINGS, true),
        (Problem { floor, ..in_use }, SETTINGS, false),
        (one, no_share, false),
    ] {
        let mut tuner = start(problem, settings, 5);
        finish_task(&mut tuner);
        let learnt: Vec<u32> = tuner.particles().flat_map(bits).collect();
        tuner.next_task().unwrap();
        assert!(matches!(tuner.ask(), Ask::Query(_)));
        let first: Vec<u32> = tuner.particles().flat_map(bits).collect();
        assert_eq!(first != learnt, drawn, "{problem:?}");
    }
}
