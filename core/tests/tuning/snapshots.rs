//! A restored task continues bit for bit; damaged, foreign and newer bytes are refused and change nothing.

use crate::support::{
    Event, LEVELS, PROBLEM, SETTINGS, answer, answer_next, assert_goes_on_elsewhere, finish_task, knowledge,
    query_event, snapshot, start, variants,
};
use foretune_core::snapshot::{Crc, HEADER, Header, check_knowledge};
use foretune_core::{
    Activity, Details, Dimension, Error, Fidelity, Goal, Map, Method, Optimizer, Problem, ProblemPart,
    Progress, Recommend, Settings, SnapshotError, memory,
};

const SEED: u64 = 77;

/// Where it continues after `load`, until the task's end.
fn continued(settings: Settings, bytes: &[u8]) -> Vec<Event> {
    // Another seed: a snapshot brings its own.
    let mut tuner = start(PROBLEM, settings, 1);
    tuner.load(bytes).unwrap();
    finish_task(&mut tuner)
}

#[test]
fn a_task_restored_at_any_round_goes_on_bit_for_bit() {
    for settings in variants(SETTINGS) {
        let mut tuner = start(PROBLEM, settings, SEED);
        for _ in 0..3 {
            assert_goes_on_elsewhere(&mut tuner, || start(PROBLEM, settings, 1));
            tuner.next_task().unwrap();
        }
    }
}

#[test]
fn a_snapshot_in_the_middle_of_any_work_is_as_good() {
    for method in [Method::MftMes, Method::TwoPhase { c: 0.4 }] {
        let settings = SETTINGS.with_method(method);
        let mut tuner = start(PROBLEM, settings, SEED);
        finish_task(&mut tuner);
        tuner.next_task().unwrap();
        let (mut saved, mut events, mut slices) = (Vec::new(), Vec::new(), 0);
        loop {
            match tuner.advance() {
                Progress::Query(query) => {
                    events.push(query_event(&query));
                    answer(&mut tuner, query);
                }
                Progress::Done(_) => break events.extend(finish_task(&mut tuner)),
                _ => {}
            }
            slices += 1;
            if slices % 41 == 0 && tuner.status().activity != Activity::Done {
                saved.push((events.len(), snapshot(&tuner)));
            }
        }
        assert!(saved.len() > 5, "{slices} slices");
        for (position, bytes) in &saved {
            let mut other = start(PROBLEM, settings, 1);
            other.load(bytes).unwrap();
            // A snapshot of a task that is being replayed is that of the task.
            while other.status().to_replay > 1 {
                assert_eq!(other.advance(), Progress::Working);
            }
            assert_eq!(snapshot(&other), *bytes);
            assert_eq!(finish_task(&mut other), events[*position..], "{method:?} at {position}");
        }
    }
}

#[test]
fn a_stopped_task_restores_as_one() {
    let mut tuner = start(PROBLEM, SETTINGS, SEED);
    answer_next(&mut tuner, 6);
    tuner.stop();
    (0..20).for_each(|_| _ = tuner.advance());
    let bytes = snapshot(&tuner);
    assert_eq!(continued(SETTINGS, &bytes), finish_task(&mut tuner));
}

#[test]
fn knowledge_starts_the_next_task() {
    for settings in variants(SETTINGS) {
        let mut tuner = start(PROBLEM, settings, SEED);
        assert_eq!(tuner.knowledge(|_| panic!("nothing to write")), Err(Error::OutOfTurn));
        finish_task(&mut tuner);
        let bytes = knowledge(&tuner);
        assert_eq!(bytes, snapshot(&tuner), "a snapshot of a task that has ended is knowledge");
        assert_eq!(check_knowledge(&bytes, &settings, &PROBLEM).map(|header| header.task), Ok(2));
        tuner.next_task().unwrap();
        let mut other = start(PROBLEM, settings, SEED);
        other.load(&bytes).unwrap();
        assert_eq!(finish_task(&mut other), finish_task(&mut tuner), "{settings:?}");
    }
}

/// So a floor can be added to a problem, or left out: the presets' maps differ. What the linear map has beyond ARD begins with zeros.
#[test]
fn what_lengthscales_learnt_a_linear_map_goes_on_with_and_the_other_way_round() {
    let [ard, linear] = [Map::Ard, Map::Linear].map(|map| Settings { map, ..SETTINGS });
    for (from, to) in [(ard, linear), (linear, ard)] {
        let mut tuner = start(PROBLEM, from, SEED);
        finish_task(&mut tuner);
        let bytes = knowledge(&tuner);
        assert!(check_knowledge(&bytes, &to, &PROBLEM).is_ok());
        let mut other = start(PROBLEM, to, SEED);
        other.load(&bytes).unwrap();
        let shared = PROBLEM.dimensions.len() + 2;
        for (own, theirs) in tuner.particles().zip(other.particles()) {
            assert_eq!(own[..shared], theirs[..shared]);
            assert!(to == ard || theirs[shared..].iter().all(|shear| *shear == 0.0));
        }
        finish_task(&mut other);
    }
}

/// Found by a user: the model expects more of a point than was ever told, and 10³⁰ is the most that is read.
#[test]
fn what_was_learnt_from_the_largest_values_can_be_loaded() {
    let details = Details { recommend: Recommend::Anywhere, ..SETTINGS.details };
    for (goal, unit) in [(Goal::Maximise, 1e30), (Goal::Minimise, -1e30), (Goal::Maximise, 1e-45)] {
        let problem = Problem { goal, ..PROBLEM };
        for settings in variants(Settings { details, ..SETTINGS }) {
            for seed in 0..4 {
                let mut tuner = start(problem, settings, seed);
                tuner.run_task(|query| Some([1.0, unit, -unit, unit][query.round() as usize % 4])).unwrap();
                let best = tuner.recommendation().unwrap();
                assert!(best.mean.abs() <= 1e30 && best.deviation.is_finite(), "{best:?}");
                start(problem, settings, seed).load(&snapshot(&tuner)).unwrap();
            }
        }
    }
}

/// A tuner in its second task, and its snapshot.
fn second_task() -> (Optimizer<'static>, Vec<u8>) {
    let mut tuner = start(PROBLEM, SETTINGS, SEED);
    finish_task(&mut tuner);
    tuner.next_task().unwrap();
    answer_next(&mut tuner, 6);
    let bytes = snapshot(&tuner);
    (tuner, bytes)
}

fn refusal(tuner: &mut Optimizer<'_>, bytes: &[u8]) -> SnapshotError {
    match tuner.load(bytes) {
        Err(Error::Snapshot(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused_and_changes_nothing() {
    let (mut tuner, bytes) = second_task();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let why = refusal(&mut tuner, &damaged);
        let right = match bit / 8 {
            0..8 => why == SnapshotError::Foreign,
            8..10 if damaged[8..10] == [0, 0] => why == SnapshotError::Contents,
            8..10 if damaged[8..10] == [1, 0] => why == SnapshotError::Older { version: 1 },
            8..10 => matches!(why, SnapshotError::Newer { version } if version > 2),
            10..HEADER => matches!(why, SnapshotError::Contents | SnapshotError::Checksum),
            _ => why == SnapshotError::Checksum,
        };
        assert!(right, "bit {bit}: {why}");
    }
    for length in 0..bytes.len() {
        assert_eq!(refusal(&mut tuner, &bytes[..length]), SnapshotError::Truncated, "cut at {length}");
    }
    assert_eq!(refusal(&mut tuner, b"something else entirely"), SnapshotError::Foreign);
    assert_eq!(refusal(&mut tuner, &[0xff; 4096]), SnapshotError::Foreign);
    assert_eq!(snapshot(&tuner), bytes, "the state is unchanged");
    let events = finish_task(&mut tuner);
    assert_eq!(continued(SETTINGS, &bytes), events);
    let longer = [&bytes[..], &[0xff; 100]].concat();
    assert_eq!(continued(SETTINGS, &longer), events, "what lies behind it in flash does not matter");
}

/// The bytes with a change, and a checksum that matches it.
fn forged(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let body = bytes.len() - 4;
    change(&mut bytes[..body]);
    let mut crc = Crc::new();
    crc.update(&bytes[..body]);
    bytes[body..].copy_from_slice(&crc.value().to_le_bytes());
    bytes
}

#[test]
fn contents_that_cannot_be_are_refused_although_the_checksum_matches() {
    let (mut tuner, bytes) = second_task();
    let header = Header::read(&bytes).unwrap();
    assert_eq!((header.particles, header.carried, header.records), (4, 1, 6));
    let carried = HEADER + 4 * header.parameters * 4;
    let records = carried + 16;
    let put = |at: usize, value: f32| {
        forged(&bytes, |bytes| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()))
    };
    let set = |at: usize, value: u8| forged(&bytes, |bytes| bytes[at] = value);
    for (name, forged) in [
        ("a particle that is no number", put(HEADER, f32::NAN)),
        ("a particle beyond all bounds", put(HEADER, 31.0)),
        ("a carried point that is no number", put(carried, f32::INFINITY)),
        ("a remembered value that is no number", put(carried + 12, f32::NAN)),
        ("a point outside the space", put(records, 1.5)),
        ("a point between levels", put(records + 4, 0.123_456)),
        ("an infinite observation", put(records + 12, f32::INFINITY)),
        ("an absurd observation", put(records + 12, 1e31)),
        ("a fidelity that does not exist", set(records + 20, 3)),
        ("an unknown kind", set(records + 21, 4)),
        ("a past measurement after a query", set(records + 24 + 21, 3)),
        ("neither failed nor not", set(records + 22, 2)),
        ("with a cost and without", set(records + 23, 2)),
        ("task zero", set(32, 0)),
        ("task four billion", forged(&bytes, |bytes| bytes[32..36].fill(0xff))),
    ] {
        assert_eq!(refusal(&mut tuner, &forged), SnapshotError::Contents, "{name}");
    }
    assert_eq!(snapshot(&tuner), bytes, "the state is unchanged");
}

#[test]
fn another_model_is_refused_and_other_settings_only_within_a_task() {
    let (mut tuner, within) = second_task();
    finish_task(&mut tuner);
    let knowledge = snapshot(&tuner);
    let load =
        |problem: Problem<'static>, settings: Settings, bytes: &[u8]| start(problem, settings, 9).load(bytes);
    let model = Err(Error::Snapshot(SnapshotError::Model));
    for other in [
        Settings { map: Map::Deep { width: 4 }, ..SETTINGS },
        Settings { particles: 3, ..SETTINGS },
        Settings {
            details: Details { prior: Settings::PAPER.details.prior, ..SETTINGS.details },
            ..SETTINGS
        },
    ] {
        assert_eq!(load(PROBLEM, other, &knowledge), model, "{other:?}");
        assert_eq!(load(PROBLEM, other, &within), model, "{other:?}");
    }
    let plane = Problem { dimensions: &PROBLEM.dimensions[..2], ..PROBLEM };
    let two = Problem { fidelities: &PROBLEM.fidelities[..2], ..PROBLEM };
    assert_eq!(load(plane, SETTINGS, &knowledge), model);
    assert_eq!(load(two, SETTINGS, &knowledge), model);

    let settings = Err(Error::Snapshot(SnapshotError::Settings));
    let budget = Problem { budget: 31.0, ..PROBLEM };
    let beta = Settings { beta: 0.5, ..SETTINGS };
    assert_eq!(load(PROBLEM, beta, &within), settings);
    assert_eq!(load(budget, SETTINGS, &within), settings);
    assert_eq!(load(PROBLEM, beta, &knowledge), Ok(()));
    assert_eq!(load(budget, SETTINGS, &knowledge), Ok(()));
    for (other, part) in [
        (Problem { dimensions: WIDER, ..PROBLEM }, ProblemPart::Parameters),
        (Problem { fidelities: NOISIER, ..PROBLEM }, ProblemPart::Fidelities),
        (Problem { goal: Goal::Minimise, ..PROBLEM }, ProblemPart::Goal),
    ] {
        let problem = SnapshotError::Problem(part);
        assert_eq!(load(other, SETTINGS, &knowledge), Err(problem.into()));
        assert_eq!(check_knowledge(&knowledge, &SETTINGS, &other), Err(problem));
        let mut tuner = start(other, SETTINGS, 9);
        assert_eq!(tuner.load_from_another_problem(&knowledge), Ok(()), "on purpose");
        assert_eq!(tuner.task(), 3);
    }
    type Larger = memory!(
        dimensions: 3, fidelities: 3, observations: 25, particles: 4, map: Deep { width: 4 }, candidates: 32
    );
    let mut larger = Box::new(Larger::new());
    let mut larger = larger.start(PROBLEM, SETTINGS, 1).unwrap();
    assert_eq!(larger.load(&within), settings, "more slots would mean other prices");
    assert_eq!(larger.load(&knowledge), Ok(()));
}

/// As in the problem, but for one range.
const WIDER: &[Dimension<'static>] =
    &[Dimension::Interval { low: -5.0, high: 11.0 }, PROBLEM.dimensions[1], PROBLEM.dimensions[2]];
/// As in the problem, but for one noise.
const NOISIER: &[Fidelity] =
    &[Fidelity { noise: 0.02, ..PROBLEM.fidelities[0] }, PROBLEM.fidelities[1], PROBLEM.fidelities[2]];

#[test]
fn carried_points_move_to_the_levels_of_the_new_problem() {
    let (mut tuner, _) = second_task();
    finish_task(&mut tuner);
    let knowledge = snapshot(&tuner);
    let coarse: &[Dimension] = &[Dimension::Grid { low: 0.0, high: 1.0, levels: 3 }, LEVELS, LEVELS];
    let problem = Problem { dimensions: coarse, ..PROBLEM };
    let mut tuner = start(problem, Settings { carried: 1, ..SETTINGS }, 9);
    let parameters = SnapshotError::Problem(ProblemPart::Parameters);
    assert_eq!(tuner.load(&knowledge), Err(parameters.into()), "only on purpose");
    tuner.load_from_another_problem(&knowledge).unwrap();
    assert_eq!(tuner.carried().len(), 1, "no more than the settings say");
    for (x, dimension) in tuner.carried().next().unwrap().iter().zip(coarse) {
        assert_eq!(dimension.snap(*x), *x);
    }
    assert_eq!((tuner.task(), tuner.seed()), (3, 9), "knowledge does not bring a seed");
}
