//! A fleet's prior: what it gains where it holds, how it steps aside where it does not, and that all of it is replayed.

use crate::support::{
    PROBLEM, SETTINGS, answer_next, assert_goes_on_elsewhere, finish_task, knowledge, next, snapshot, start,
};
use foretune_core::fleet::Header;
use foretune_core::snapshot::ProblemSums;
use foretune_core::{
    Ask, Block, Capacities, Details, Error, Fleet, Floor, Level, Map, Method, Optimizer, Problem, Recommend,
    Scaling, Settings, SnapshotError,
};

/// One bump of height `top` around a point of the unit cube and one mode that says how high.
fn fleet(at: [f32; 3], top: f32) -> Vec<u8> {
    let header = Header {
        dimensions: 3,
        fidelities: 3,
        centres: 1,
        modes: 1,
        sets: 1,
        points: 1,
        problem: ProblemSums::of(&PROBLEM),
        learnt_from: [12, 30, 900],
        mean: 0.0,
        deviation: 0.2,
        spread: 0.1,
        margin: 1.0,
    };
    let narrow = 2.0;
    let theta = [-1.2, -1.2, -1.2, -3.0, -6.0];
    let transform = [narrow, 0.0, 0.0, 0.0, narrow, 0.0, 0.0, 0.0, narrow];
    let centre = at.map(|x| narrow * x);
    let weights = [top, 0.5, 0.0, 0.1];
    let point = [at[0], at[1], at[2], 0.2 * top];
    let numbers = theta.into_iter().chain(transform).chain(centre).chain(weights).chain(point);
    let mut bytes = Vec::new();
    header.write(numbers, |piece| bytes.extend_from_slice(piece));
    bytes
}

/// The first task's hill of [`objective`](crate::support::objective), and one far from it.
const LIKE: [f32; 3] = [0.35, 0.45, 0.55];
const UNLIKE: [f32; 3] = [0.95, 0.95, 0.05];

const LIVE: Problem<'static> = Problem {
    deployed: Some(&[2.0, -100.0, 0.6]),
    floor: Some(Floor { level: Level::Share(0.7), risk: 0.1 }),
    ..PROBLEM
};

fn start_with<'a>(problem: Problem<'a>, bytes: &'a [u8]) -> Optimizer<'a> {
    let mut tuner = start(problem, SETTINGS, 5);
    tuner.set_fleet(Some(Fleet::read(bytes).unwrap())).unwrap();
    tuner
}

fn hill(x: &[f32], at: [f32; 3]) -> f32 {
    let apart = x.iter().zip(at).fold(0.0, |sum, (x, at)| sum + (x - at) * (x - at));
    0.9 / (1.0 + 8.0 * apart)
}

/// Value of what is recommended after one task on a hill, and whether the fleet's prior was dropped.
fn tuned(problem: Problem<'static>, bytes: Option<&[u8]>) -> (f32, bool) {
    let mut tuner = start(problem, SETTINGS, 5);
    tuner.set_fleet(bytes.map(|bytes| Fleet::read(bytes).unwrap())).unwrap();
    tuner.run_task(|query| Some(hill(query.unit(), LIKE))).unwrap();
    let best = tuner.recommendation().unwrap();
    (hill(best.unit(), LIKE), tuner.status().fleet.is_some_and(|fleet| fleet.refuted))
}

#[test]
fn a_prior_that_holds_helps_and_one_that_does_not_steps_aside() {
    let (like, unlike) = (fleet(LIKE, 4.0), fleet(UNLIKE, 6.0));
    for problem in [PROBLEM, LIVE] {
        let (alone, _) = tuned(problem, None);
        let (helped, dropped) = tuned(problem, Some(&like));
        assert!(helped > 0.85 && helped >= alone - 0.02 && !dropped, "{alone} {helped}");
        let (misled, dropped) = tuned(problem, Some(&unlike));
        assert!(misled >= alone - 0.15 && (dropped || misled > 0.8), "{alone} {misled} {dropped}");
    }
    assert!(tuned(PROBLEM, Some(&unlike)).1, "far from what was measured everywhere");
}

#[test]
fn what_was_never_measured_is_recommended_only_where_the_answers_speak_for_the_fleet() {
    let details = Details { recommend: Recommend::Measured, ..SETTINGS.details };
    for (at, verify, measured) in [(LIKE, 0.0, false), (UNLIKE, 0.3, true)] {
        let settings = Settings { verify, details, ..SETTINGS };
        let bytes = fleet(at, 5.0);
        let (mut tuner, mut seen) = (start(PROBLEM, settings, 5), Vec::new());
        tuner.set_fleet(Some(Fleet::read(&bytes).unwrap())).unwrap();
        tuner
            .run_task(|query| {
                if query.fidelity() == 2 {
                    seen.push(query.unit().to_vec());
                }
                Some(hill(query.unit(), LIKE))
            })
            .unwrap();
        let best = tuner.recommendation().unwrap();
        assert!(!seen.is_empty());
        assert_eq!(seen.iter().any(|unit| unit == best.unit()), measured, "{:?}", tuner.status().fleet);
        assert!(measured || tuner.status().fleet.unwrap().evidence > 2.0);
    }
}

#[test]
fn a_task_with_a_fleet_is_restored_bit_for_bit_whether_its_word_counts_or_not() {
    for (bytes, problem) in [
        (fleet(LIKE, 4.0), PROBLEM),
        (fleet(LIKE, 4.0), LIVE),
        (fleet(UNLIKE, 6.0), PROBLEM),
        (fleet(UNLIKE, 6.0), LIVE),
    ] {
        let mut tuner = start_with(problem, &bytes);
        for _ in 0..2 {
            assert_goes_on_elsewhere(&mut tuner, || start_with(problem, &bytes));
            tuner.next_task().unwrap();
        }
    }
}

#[test]
fn a_refuted_fleet_stays_so_in_the_tasks_that_follow_and_over_a_restart() {
    let bytes = fleet(UNLIKE, 6.0);
    let mut tuner = start_with(PROBLEM, &bytes);
    tuner.run_task(|query| Some(hill(query.unit(), LIKE))).unwrap();
    assert!(tuner.status().fleet.unwrap().refuted);
    let knowledge = knowledge(&tuner);
    tuner.next_task().unwrap();
    assert!(tuner.status().fleet.unwrap().refuted);
    let mut other = start_with(PROBLEM, &bytes);
    assert!(!other.status().fleet.unwrap().refuted);
    other.load(&knowledge).unwrap();
    assert!(other.status().fleet.unwrap().refuted);
    assert_eq!(finish_task(&mut tuner), finish_task(&mut other));
}

#[test]
fn a_task_that_refuted_its_fleet_begins_anew_with_what_the_one_before_learnt() {
    let bytes = fleet(LIKE, 4.0);
    let mut tuner = start_with(PROBLEM, &bytes);
    tuner.run_task(|query| Some(hill(query.unit(), LIKE))).unwrap();
    tuner.next_task().unwrap();
    let begun = snapshot(&tuner);
    while !tuner.status().fleet.unwrap().refuted {
        let query = tuner.ask().query().expect("what the fleet says does not hold here");
        let y = 40.0 * hill(query.unit(), UNLIKE) - 30.0;
        tuner.tell(query, y).unwrap();
    }
    tuner.restart().unwrap();
    assert_eq!(snapshot(&tuner), begun);
}

#[test]
fn what_cannot_be_used_is_refused_and_changes_nothing() {
    let bytes = fleet(LIKE, 4.0);
    let read = || Some(Fleet::read(&bytes).unwrap());
    let other = Problem { goal: foretune_core::Goal::Minimise, ..PROBLEM };
    let mut tuner = start(other, SETTINGS, 5);
    assert!(matches!(tuner.set_fleet(read()), Err(Error::Fleet(SnapshotError::Problem(_)))));
    let deep = Settings { map: Map::Deep { width: 4 }, ..SETTINGS };
    for settings in [deep, SETTINGS.with_method(Method::TwoPhase { c: 0.5 })] {
        let refused = start(PROBLEM, settings, 5).set_fleet(read());
        assert_eq!(refused, Err(Error::Fleet(SnapshotError::Model)), "{settings:?}");
    }
    let mut tuner = start(PROBLEM, SETTINGS, 5);
    for v in 1..=SETTINGS.particles {
        let _ = tuner.advance();
        assert_eq!(tuner.set_fleet(read()), Err(Error::OutOfTurn), "{v} particles were drawn");
    }
    let _ = next(&mut tuner, &[]).unwrap();
    assert_eq!(tuner.set_fleet(read()), Err(Error::OutOfTurn));
    // A snapshot that was taken with a fleet is not taken over without.
    let mut with = start_with(PROBLEM, &bytes);
    answer_next(&mut with, 1);
    let stored = snapshot(&with);
    let mut without = start(PROBLEM, SETTINGS, 5);
    assert_eq!(without.load(&stored), Err(Error::Snapshot(SnapshotError::Settings)));
}

#[test]
fn fixed_scaling_gives_way_to_the_fleets() {
    let scaling = Scaling::Fixed { mean: 100.0, deviation: 7.0 };
    let settings = Settings { details: Details { scaling, ..SETTINGS.details }, ..SETTINGS };
    let bytes = fleet(LIKE, 4.0);
    let mut tuner = start(PROBLEM, settings, 5);
    tuner.set_fleet(Some(Fleet::read(&bytes).unwrap())).unwrap();
    tuner.run_task(|query| Some(hill(query.unit(), LIKE))).unwrap();
    assert!(tuner.recommendation().unwrap().mean < 2.0);
}

/// After one answer little is known: what is recommended then is in use, or assured.
#[test]
fn a_task_stopped_at_once_recommends_what_is_in_use() {
    let bytes = fleet(LIKE, 4.0);
    let settings = Settings { candidates: 32, particles: 4, ..Settings::LIVE };
    for (share, seed) in [0.9, 0.95, 0.98].into_iter().flat_map(|share| (0..4).map(move |seed| (share, seed)))
    {
        let floor = Some(Floor { level: Level::Share(share), risk: 0.1 });
        let problem = Problem { floor, ..LIVE };
        let mut capacities = Capacities::of(&problem, &settings, 40);
        capacities.fleet = true;
        let mut words = vec![0; capacities.words()];
        let mut tuner = Block::new(&mut words, capacities).start(problem, settings, seed).unwrap();
        tuner.set_fleet(Some(Fleet::read(&bytes).unwrap())).unwrap();
        let in_use = tuner.deployed().unwrap().to_vec();
        let query = tuner.ask().query().unwrap();
        let y = hill(query.unit(), LIKE);
        tuner.tell(query, y).unwrap();
        tuner.stop();
        finish_task(&mut tuner);
        let best = tuner.recommendation().unwrap();
        assert!(best.assured || best.unit() == in_use, "share {share}, seed {seed}: {best:?}");
    }
}

#[test]
fn the_first_task_may_use_every_slot_and_be_restored() {
    let bytes = fleet(LIKE, 4.0);
    let mut tuner = start_with(Problem { budget: 300.0, ..PROBLEM }, &bytes);
    while let Ask::Query(query) = tuner.ask() {
        let y = hill(query.unit(), LIKE);
        tuner.tell(query, y).unwrap();
        let mut other = start_with(Problem { budget: 300.0, ..PROBLEM }, &bytes);
        other.load(&snapshot(&tuner)).unwrap();
    }
    assert_eq!(tuner.status().observations, 24);
}
