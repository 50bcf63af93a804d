//! Several measurements at once: a look beside what is pending leaves no trace, answers come in any order, the budget holds, and
//! the answers alone say how a task goes on.

use crate::support::{Draws, SETTINGS, bits, start_with};
use foretune_core::{
    Ask, Dimension, Error, Fidelity, Floor, Guard, Kind, Kpis, Level, Limit, Method, Optimizer, Point,
    Problem, Query, Record, Settings, Side, SnapshotError, Stop,
};

const X: Dimension<'static> = Dimension::Interval { low: 0.0, high: 1.0 };
const LOAD: Dimension<'static> = Dimension::Condition { low: 0.0, high: 2.0 };
const FLOOR: Floor = Floor { level: Level::Share(0.9), risk: 0.1 };
const PLAIN: Problem<'static> = Problem {
    dimensions: &[X, X],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 1, noise: 0.04 },
        Fidelity { cost: 3.0, samples: 1, noise: 0.01 },
    ],
    budget: 40.0,
    ..Problem::PLAIN
};
const GUARD: Guard<'static> = Guard { side: Side::AtMost, floor: FLOOR, noise: &[0.01, 0.01] };
const LIVE: Problem<'static> =
    Problem { deployed: Some(&[0.4, 0.4]), floor: Some(FLOOR), guards: &[GUARD], ..PLAIN };
const PROBLEMS: [Problem<'static>; 4] = [
    PLAIN,
    LIVE,
    Problem { dimensions: &[X, X, LOAD], deployed: Some(&[0.4, 0.4, f32::NAN]), guards: &[], ..LIVE },
    Problem {
        deployed: Some(&[0.2, 0.3]),
        limits: &[Limit { coefficients: &[1.0, 1.0], at_most: 1.1 }],
        ..PLAIN
    },
];

/// What a measurement gives: some fail, some cost more.
fn measured(problem: &Problem<'_>, query: &Query, number: u32) -> Record {
    let x = query.unit();
    let wobble = (number * 37 % 19) as f32 / 19.0 - 0.5;
    let y = 10.0 - 9.0 * (x[0] - 0.6).powi(2) - 5.0 * (x[1] - 0.5).powi(2) + 0.2 * wobble;
    let failed = number % 11 == 7;
    let kpis: Kpis = problem.guards.iter().map(|_| 3.0 + x[0] + 0.1 * wobble).collect();
    Record {
        unit: x.iter().copied().collect(),
        fidelity: query.fidelity(),
        kind: query.kind(),
        y: (!failed).then_some(y),
        kpis: if failed { Kpis::new() } else { kpis },
        cost: (number % 9 == 4).then_some(1.5),
    }
}

fn records(problem: &Problem<'_>, seed: u32, count: usize) -> Vec<Record> {
    let coordinate = |i: u32| ((seed * 31 + i * 17) % 64) as f32 / 128.0;
    let record = |i: u32| Record {
        unit: (0..problem.dimensions.len() as u32).map(|j| coordinate(3 * i + j)).collect(),
        fidelity: (i % 2) as usize,
        kind: Kind::Search,
        y: None,
        kpis: Kpis::new(),
        cost: None,
    };
    (0..count as u32).map(record).collect()
}

/// How a task ends, in bits.
fn end(mut tuner: Optimizer<'_>) -> Vec<u32> {
    tuner.stop();
    assert!(matches!(tuner.ask(), Ask::Done(_)));
    let best = tuner.recommendation().unwrap();
    let particles: Vec<u32> = tuner.particles().flat_map(bits).collect();
    [bits(best.unit()), bits(&[best.mean, best.deviation]), particles].concat()
}

#[test]
fn a_look_beside_leaves_no_trace_and_beside_nothing_it_is_ask() {
    for (problem, seed) in PROBLEMS.into_iter().zip(1..) {
        let [mut plain, mut looking] = [(); 2].map(|()| start_with(64, problem, SETTINGS, seed));
        for number in 0.. {
            let before = looking.status();
            let _ = looking.ask_beside(&records(&problem, number, number as usize % 8));
            assert_eq!(looking.status().spent, before.spent);
            let found = looking.ask_beside(&[]).0;
            let asked = plain.ask();
            let (Ask::Query(query), Ask::Query(own)) = (&found, &asked) else {
                assert_eq!(found, asked);
                break;
            };
            assert_eq!(query, own, "{seed}: query {number}");
            let record = measured(&problem, query, number);
            let query = asked.query().unwrap();
            plain.answer_all(query, record.y, &record.kpis, record.cost).unwrap();
            looking.observe(record, &[]).unwrap();
        }
        assert_eq!(end(plain), end(looking), "{seed}");
    }
}

#[test]
fn eight_at_once_answered_in_any_order_keep_to_the_budget_and_the_answers_say_how_it_goes_on() {
    for (problem, seed) in PROBLEMS.into_iter().zip(1..) {
        let (mut tuner, mut pending, mut told) =
            (start_with(64, problem, SETTINGS, seed), Vec::new(), Vec::new());
        let (mut number, mut most) = (0, 0);
        let stop = loop {
            let found = if pending.len() == 8 { Ask::Waiting } else { tuner.ask_beside(&pending).0 };
            match found {
                Ask::Query(query) => {
                    let same =
                        |other: &Record| other.unit == query.unit() && other.fidelity == query.fidelity();
                    // With a floor there may be little else that is allowed, and noise to be averaged.
                    assert!(
                        problem.floor.is_some() || !pending.iter().any(same),
                        "{seed}: {query:?} is being measured already"
                    );
                    number += 1;
                    pending.push(measured(&problem, &query, number));
                    most = most.max(pending.len());
                    continue;
                }
                Ask::Done(stop) if pending.is_empty() => break stop,
                Ask::Waiting | Ask::Done(_) => {}
                other => panic!("{other:?}"),
            }
            let record = pending.remove((7 * number as usize + told.len()) % pending.len());
            tuner.observe(record.clone(), &[]).unwrap();
            told.push(record);
        };
        // With a floor nothing else may be allowed before an answer comes.
        let enough = if problem.floor.is_some() { 4 } else { 8 };
        assert!(most >= enough && stop == Stop::Budget && told.len() > 10, "{seed}: {most}, {stop:?}");
        let more: f32 = told.iter().filter_map(|record| record.cost).map(|cost| cost - 1.0).sum();
        assert!(tuner.status().spent <= problem.budget + more, "{}", tuner.status().spent);
        let mut again = start_with(64, problem, SETTINGS, seed);
        for record in told {
            again.observe(record, &[]).unwrap();
        }
        assert_eq!(end(tuner), end(again), "{seed}");
    }
}

#[test]
fn where_a_floor_is_kept_the_point_in_use_is_measured_first_and_bad_answers_change_nothing() {
    let mut tuner = start_with(64, LIVE, SETTINGS, 1);
    let query = tuner.ask_beside(&[]).0.query().unwrap();
    let record = measured(&LIVE, &query, 0);
    assert_eq!(tuner.ask_beside(std::slice::from_ref(&record)).0, Ask::Waiting);
    let refused = [
        (Record { y: Some(f32::NAN), ..record.clone() }, Error::NotFinite),
        (Record { cost: Some(-1.0), ..record.clone() }, Error::Cost),
        (Record { kpis: Kpis::new(), ..record.clone() }, Error::Kpis { wanted: 1, given: 0 }),
        (Record { fidelity: 2, ..record.clone() }, Error::Snapshot(SnapshotError::Contents)),
        (Record { kind: Kind::Past, ..record.clone() }, Error::Snapshot(SnapshotError::Contents)),
    ];
    for (bad, error) in refused {
        assert_eq!(tuner.observe(bad, &[]), Err(error));
        assert_eq!(
            tuner.ask_beside(&[]).0,
            Ask::Query(start_with(64, LIVE, SETTINGS, 1).ask().query().unwrap())
        );
    }
    // What came unasked is no measurement of the point in use.
    let unasked = Record { unit: [0.7, 0.2].into_iter().collect(), ..record.clone() };
    tuner.observe(unasked, &[]).unwrap();
    assert_eq!(tuner.ask_beside(&[]).0.query().unwrap().unit(), &record.unit[..]);
    tuner.observe(record.clone(), &[]).unwrap();
    let next = tuner.ask_beside(&[]).0.query().unwrap();
    assert_ne!(next.unit(), &record.unit[..]);
    let cannot_be = [Record { fidelity: 2, ..record.clone() }, Record { unit: Point::new(), ..record }];
    assert_eq!(tuner.ask_beside(&cannot_be).0, Ask::Query(next));
    tuner.stop();
    assert!(matches!(tuner.ask(), Ask::Done(Stop::Requested)));
    assert_eq!(tuner.observe(records(&LIVE, 1, 1).remove(0), &[]), Err(Error::OutOfTurn));
}

/// Two-phase's design is made when the initial points are in, whoever asks.
#[test]
fn a_batch_design_is_handed_out_beside_others() {
    let settings = SETTINGS.with_method(Method::TwoPhase { c: 0.5 });
    let asked = |at_once: usize| {
        let mut tuner = start_with(64, PLAIN, settings, 3);
        let (mut pending, mut asked) = (Vec::new(), Vec::new());
        loop {
            match tuner.ask_beside(&pending).0 {
                Ask::Query(query) if pending.len() < at_once => {
                    let record = measured(&PLAIN, &query, 0);
                    assert!(!asked.contains(&record), "{record:?} is asked twice");
                    asked.push(record.clone());
                    pending.push(record);
                }
                Ask::Done(stop) if pending.is_empty() => return (asked, stop),
                Ask::Waiting if pending.is_empty() => panic!("waits for nothing"),
                _ => tuner.observe(pending.remove(0), &[]).unwrap(),
            }
        }
    };
    let ((one, stop), (four, _)) = (asked(1), asked(4));
    assert_eq!((one.len(), stop), (four.len(), Stop::Budget));
    assert!(one.len() > 12, "{} asked", one.len());
}

/// Branin's function, upside down: its three optima are worth −0.398.
fn branin(x: &[f32]) -> f32 {
    let (a, b) = (x[0], x[1]);
    let curve = b - 0.129_185 * a * a + 1.591_549 * a - 6.0;
    -(curve * curve + 9.602_113 * a.cos() + 10.0)
}

#[test]
fn four_at_once_find_as_much_in_a_third_of_the_time() {
    let dimensions =
        &[Dimension::Interval { low: -5.0, high: 10.0 }, Dimension::Interval { low: 0.0, high: 15.0 }];
    let fidelities = &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }];
    let problem = |budget| Problem { dimensions, fidelities, budget, ..Problem::PLAIN };
    let settings = Settings { particles: 4, candidates: 128, ..Settings::DEFAULT };
    let [one, four] = [(1, 36.0), (4, 48.0)].map(|(at_once, budget)| {
        let (mut rounds, mut losses) = (0, Vec::new());
        for seed in 0..32 {
            let (mut tuner, mut draws) = (start_with(64, problem(budget), settings, seed), Draws(seed));
            loop {
                let mut pending: Vec<Record> = Vec::new();
                while let Some(query) = tuner.ask_beside(&pending).0.query() {
                    let y = branin(query.point()) + 0.1 * draws.normal();
                    let unit = query.unit().iter().copied().collect();
                    let (fidelity, kind, kpis) = (query.fidelity(), query.kind(), Kpis::new());
                    pending.push(Record { unit, fidelity, kind, y: Some(y), kpis, cost: None });
                    if pending.len() == at_once {
                        break;
                    }
                }
                if pending.is_empty() {
                    break;
                }
                rounds += 1;
                pending.into_iter().for_each(|record| tuner.observe(record, &[]).unwrap());
            }
            assert_eq!(tuner.ask(), Ask::Done(Stop::Budget));
            losses.push(-0.397_887 - branin(tuner.recommendation().unwrap().point()));
        }
        losses.sort_by(f32::total_cmp);
        (rounds as f32 / 32.0, losses.iter().sum::<f32>() / 32.0, losses[16])
    });
    println!("rounds, mean and median loss: {one:?} one by one, {four:?} four at once");
    assert!(one.0 >= 3.0 * four.0 && four.1 < one.1 + 0.01 && four.2 < one.2 + 0.01, "{one:?} {four:?}");
}
