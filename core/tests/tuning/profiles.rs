//! The ready-made profiles at work, each in a `static`.

use std::sync::Mutex;

use crate::support::{finish_task, objective};
use foretune_core::profile::{COMPACT, Compact, DEEP, Deep};
use foretune_core::{Details, Dimension, Fidelity, Goal, Problem, Settings, Stop};

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
    let (mut events, mut knowledge) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        finish_task(&mut tuner, &knowledge, &mut events);
        assert!(tuner.recommendation().is_some());
        knowledge.clear();
        tuner.knowledge(|piece| knowledge.extend_from_slice(piece)).unwrap();
        assert_eq!(knowledge.len(), tuner.snapshot_len());
        tuner.next_task().unwrap();
    }
    // Ten particles of 8 641 numbers: what a board must find room for in its flash.
    assert!((345_000..346_000).contains(&knowledge.len()), "{}", knowledge.len());
}
