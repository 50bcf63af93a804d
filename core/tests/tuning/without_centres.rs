//! A memory that does not keep the last task's particles, as on a board with little RAM: knowledge and answers are
//! stored elsewhere, and everything comes out the same.

use crate::support::{Event, PROBLEM, SETTINGS, answer, finish_task, next, query_event};
use foretune_core::{Error, Map, Memory, Method, Record, Settings, SnapshotError, Step};

/// With room for the last task's particles and the shared moment.
type Keeps = Memory<3, 3, 24, 4, 4, 57, 5, 32>;
/// Without.
type Reads = Memory<3, 3, 24, 4, 4, 57, 1, 32>;

const SHARED: Settings = Settings { step: Step::Shared { rate: 0.05 }, ..SETTINGS };

fn variants() -> [Settings; 4] {
    let deep = Settings { map: Map::Deep { width: 4 }, ..SHARED };
    [
        SHARED,
        deep,
        Settings { step: Step::Plain { rate: 1e-2 }, ..deep },
        SHARED.with_method(Method::Myopic { c: 0.5 }),
    ]
}

fn kept(settings: Settings) -> Vec<Event> {
    let mut memory = Box::new(Keeps::new());
    let mut tuner = memory.start(PROBLEM, settings, 8).unwrap();
    let mut events = Vec::new();
    for _ in 0..3 {
        finish_task(&mut tuner, &[], &mut events);
        tuner.next_task().unwrap();
    }
    events
}

#[test]
fn centres_read_from_elsewhere_give_the_same_bits() {
    for settings in variants() {
        let mut memory = Box::new(Reads::new());
        let mut tuner = memory.start(PROBLEM, settings, 8).unwrap();
        let (mut events, mut knowledge) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            finish_task(&mut tuner, &knowledge, &mut events);
            knowledge.clear();
            tuner.knowledge(|piece| knowledge.extend_from_slice(piece)).unwrap();
            tuner.next_task().unwrap();
        }
        assert_eq!(events, kept(settings), "{settings:?}");
    }
}

/// Power fails after every answer: all that is left is the last knowledge and the journal of answers.
#[test]
fn knowledge_and_recalled_answers_restore_the_task_after_every_answer() {
    for settings in variants() {
        let (mut events, mut knowledge) = (Vec::new(), Vec::new());
        let mut journal: Vec<Record<3>> = Vec::new();
        while events.iter().filter(|event| matches!(event, Event::End { .. })).count() < 3 {
            let mut memory = Box::new(Reads::new());
            let mut tuner = memory.start(PROBLEM, settings, 8).unwrap();
            if !knowledge.is_empty() {
                tuner.load(&knowledge).unwrap();
            }
            for &record in &journal {
                tuner.recall(record).unwrap();
            }
            assert_eq!(tuner.records().collect::<Vec<_>>(), journal);
            match next(&mut tuner, &knowledge).unwrap() {
                Ok(query) => {
                    events.push(query_event(&query));
                    answer(&mut tuner, query);
                    journal = tuner.records().collect();
                }
                Err(_) => {
                    finish_task(&mut tuner, &knowledge, &mut events);
                    knowledge.clear();
                    tuner.knowledge(|piece| knowledge.extend_from_slice(piece)).unwrap();
                    journal.clear();
                }
            }
        }
        assert_eq!(events, kept(settings), "{settings:?}");
    }
}

#[test]
fn knowledge_that_is_not_this_tasks_is_refused_and_changes_nothing() {
    let mut memory = Box::new(Reads::new());
    let mut tuner = memory.start(PROBLEM, SHARED, 8).unwrap();
    let (mut events, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
    finish_task(&mut tuner, &[], &mut events);
    tuner.knowledge(|piece| first.extend_from_slice(piece)).unwrap();
    tuner.next_task().unwrap();
    finish_task(&mut tuner, &first, &mut events);
    tuner.knowledge(|piece| second.extend_from_slice(piece)).unwrap();
    tuner.next_task().unwrap();
    let model = Err(Error::Snapshot(SnapshotError::Model));
    assert_eq!(tuner.advance_with(&first).map(drop), model);
    assert_eq!(tuner.advance_with(&[]).map(drop), Err(Error::Snapshot(SnapshotError::Truncated)));
    assert_eq!(tuner.advance_with(&second[..100]).map(drop), Err(Error::Snapshot(SnapshotError::Truncated)));
    finish_task(&mut tuner, &second, &mut events);
    assert_eq!(events, kept(SHARED));
}

#[test]
fn answers_are_recalled_only_at_the_start_and_only_if_they_can_be() {
    let mut memory = Box::new(Reads::new());
    let mut tuner = memory.start(PROBLEM, SHARED, 8).unwrap();
    let good = Record { x: [0.25, 0.0, 0.4], fidelity: 0, kind: foretune_core::Kind::Initial, y: Some(1.0) };
    let contents = Err(Error::Snapshot(SnapshotError::Contents));
    for bad in [
        Record { x: [1.25, 0.0, 0.4], ..good },
        Record { x: [f32::NAN, 0.0, 0.4], ..good },
        Record { x: [0.25, 0.0, 0.45], ..good },
        Record { fidelity: 3, ..good },
        Record { y: Some(f32::NAN), ..good },
        Record { y: Some(-1e31), ..good },
    ] {
        assert_eq!(tuner.recall(bad), contents, "{bad:?}");
    }
    for i in 0..8 {
        assert_eq!(tuner.recall(Record { y: None, ..good }), Ok(()), "{i}");
    }
    let failures = Error::Capacity { what: "failures", needed: 9, available: 8 };
    assert_eq!(tuner.recall(Record { y: None, ..good }), Err(failures));
    for i in 0..24 {
        assert_eq!(tuner.recall(good), Ok(()), "{i}");
    }
    let full = Error::Capacity { what: "observations", needed: 25, available: 24 };
    assert_eq!(tuner.recall(good), Err(full));
    assert_eq!((tuner.records().count(), tuner.status().to_replay), (32, 24));

    let mut memory = Box::new(Reads::new());
    let mut tuner = memory.start(PROBLEM, SHARED, 8).unwrap();
    let query = next(&mut tuner, &[]).unwrap().unwrap();
    assert_eq!(tuner.recall(good), Err(Error::OutOfTurn));
    tuner.fail(query).unwrap();
    assert_eq!(tuner.recall(good), Err(Error::OutOfTurn), "also after a failure, with no observation yet");
}
