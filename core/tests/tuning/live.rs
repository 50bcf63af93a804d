//! A system in service: the point in use comes first, limits hold always, the floor most of the time, and a restored task
//! goes on bit for bit.

use crate::support::{
    PROBLEM, SETTINGS, Toy, answer, answer_next, assert_goes_on_elsewhere, bits, finish_task, next, noise,
    objective, snapshot, start, start_with, variants,
};
use foretune_core::{
    Ask, Details, Dimension, Error, Fidelity, Floor, Goal, Kind, Level, Limit, LiveStatus, Map, Method,
    Optimizer, Predicate, Problem, Recommend, Scaling, Settings, Stop,
};

const DEPLOYED: &[f32] = &[-2.0, -120.0, 0.5];
const FLOOR: Floor = Floor { level: Level::Drop(0.1), risk: 0.1 };
/// A tenth of the space, the point in use at its edge.
const LIMITS: &[Limit<'static>] = &[
    Limit { coefficients: &[1.0, 0.1, 0.0], at_most: -14.0 },
    Limit { coefficients: &[0.0, 0.0, -1.0], at_most: -0.5 },
];
const IN_USE: Problem<'static> = Problem { deployed: Some(DEPLOYED), ..PROBLEM };
const LIVE: Problem<'static> = Problem { floor: Some(FLOOR), limits: LIMITS, ..IN_USE };

fn is_batch(settings: &Settings) -> bool {
    matches!(settings.details.method, Method::Myopic { .. } | Method::TwoPhase { .. })
}

/// Every method with every map, with the floor where the method can have one.
fn scenes() -> impl Iterator<Item = (Problem<'static>, Settings)> {
    variants(SETTINGS).flat_map(|settings| {
        let floors = if is_batch(&settings) { vec![None] } else { vec![None, Some(FLOOR)] };
        floors.into_iter().map(move |floor| (Problem { floor, ..LIVE }, settings))
    })
}

fn live(tuner: &Optimizer<'_>) -> LiveStatus {
    tuner.status().live.expect("there is a point in use")
}

fn assert_within_limits(point: &[f32]) {
    for limit in LIMITS {
        let sum = limit.coefficients.iter().zip(point).fold(0.0, |sum, (a, x)| sum + a * x);
        assert!(sum <= limit.at_most, "{point:?} breaks {limit:?}");
    }
}

#[test]
fn limits_hold_for_every_query_and_every_recommendation() {
    for (problem, settings) in scenes() {
        for (seed, recommend) in [(1, Recommend::Queried), (2, Recommend::Anywhere)] {
            let settings = Settings { details: Details { recommend, ..settings.details }, ..settings };
            let mut tuner = start(problem, settings, seed);
            for _ in 0..3 {
                while let Ok(query) = next(&mut tuner, &[]).unwrap() {
                    assert_within_limits(query.point());
                    answer(&mut tuner, query);
                }
                assert_within_limits(tuner.recommendation().unwrap().point());
                tuner.next_task().unwrap();
            }
        }
    }
}

#[test]
fn limits_hold_for_points_that_were_carried_from_where_there_were_none() {
    let settings = SETTINGS;
    let mut tuner = start(PROBLEM, settings, 3);
    finish_task(&mut tuner);
    let outside = tuner.recommendation().unwrap().point()[0] > -2.0;
    assert!(outside, "the test needs a point that breaks the limits");
    let knowledge = snapshot(&tuner);
    for floor in [None, Some(FLOOR)] {
        let mut tuner = start(Problem { floor, ..LIVE }, settings, 3);
        tuner.load(&knowledge).unwrap();
        while let Ok(query) = next(&mut tuner, &[]).unwrap() {
            assert_within_limits(query.point());
            answer(&mut tuner, query);
        }
        assert_within_limits(tuner.recommendation().unwrap().point());
    }
}

#[test]
fn the_point_in_use_comes_first_at_the_truth_and_all_is_charged() {
    for (problem, settings) in scenes() {
        let mut tuner = start(problem, settings, 4);
        let mut in_use = DEPLOYED.to_vec();
        for _ in 0..2 {
            let (mut round, mut spent) = (0, 0.0);
            while let Ok(query) = next(&mut tuner, &[]).unwrap() {
                if round == 0 {
                    assert_eq!((query.point(), query.fidelity()), (&in_use[..], 2));
                }
                round += 1;
                spent += PROBLEM.fidelities[query.fidelity()].cost;
                answer(&mut tuner, query);
                assert_eq!(tuner.status().spent, spent);
            }
            assert!(spent <= PROBLEM.budget && round > 4, "{round} trials, {spent}");
            in_use = tuner.recommendation().unwrap().point().to_vec();
            tuner.next_task().unwrap();
        }
    }
}

#[test]
fn another_point_in_use_can_be_given_before_a_task() {
    let mut tuner = start(LIVE, SETTINGS, 5);
    let other = [-4.0, -150.0, 0.7];
    let refused = tuner.deploy(&[3.0, -150.0, 0.7]);
    assert_eq!(refused, Err(Error::Live("the point in use must keep to the limits")));
    let range = Err(Error::Live("the point in use must lie within the ranges"));
    assert_eq!(tuner.deploy(&[-50.0, -150.0, 0.7]), range);
    assert_eq!(tuner.deploy(&[-4.0]), range);
    tuner.deploy(&other).unwrap();
    let query = tuner.ask().query().unwrap();
    assert_eq!(query.point(), other);
    assert_eq!(tuner.deploy(DEPLOYED), Err(Error::OutOfTurn));
    let mut plain = start(PROBLEM, SETTINGS, 5);
    assert_eq!(plain.deploy(&other), Err(Error::OutOfTurn));
    assert!(plain.status().live.is_none() && plain.deployed().is_none());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let start = |problem: Problem<'static>, settings: Settings| {
        Toy::new().start(problem, settings, 1).err().expect("refused").to_string()
    };
    let floor = |level: Level, risk: f32| Problem { floor: Some(Floor { level, risk }), ..IN_USE };
    for (problem, words) in [
        (Problem { deployed: None, ..LIVE }, "need a point in use"),
        (Problem { deployed: Some(&[0.0]), ..LIVE }, "within the ranges"),
        (Problem { deployed: Some(&[5.0, -120.0, 0.5]), ..LIVE }, "keep to the limits"),
        (Problem { tolerance: -0.1, ..PROBLEM }, "tolerance"),
        (Problem { tolerance: f32::NAN, ..PROBLEM }, "tolerance"),
        (floor(Level::Value(f32::NAN), 0.1), "`floor`"),
        (floor(Level::Value(-1e31), 0.1), "`floor`"),
        (floor(Level::Drop(1e31), 0.1), "`floor`"),
        (floor(Level::Drop(0.0), 0.1), "`floor`"),
        (floor(Level::Share(1.0), 0.1), "`floor`"),
        (floor(Level::Share(0.9), 0.0), "`floor`"),
        (floor(Level::Share(0.9), 0.6), "`floor`"),
        (Problem { limits: &[Limit { coefficients: &[1.0], at_most: 0.0 }], ..IN_USE }, "limits"),
        (
            Problem { limits: &[Limit { coefficients: &[1.0, 0.0, f32::NAN], at_most: 0.0 }], ..IN_USE },
            "limits",
        ),
    ] {
        let why = start(problem, SETTINGS);
        assert!(why.contains(words), "{why}");
    }
    assert!(start(LIVE, SETTINGS.with_method(Method::TwoPhase { c: 0.5 })).contains("batch"));
}

#[test]
fn a_live_task_restored_at_any_round_goes_on_bit_for_bit() {
    for (problem, settings) in scenes() {
        let mut tuner = start(problem, settings, 6);
        for _ in 0..3 {
            assert_goes_on_elsewhere(&mut tuner, || start(problem, settings, 1));
            assert!(tuner.status().live.is_some());
            let knowledge = snapshot(&tuner);
            tuner.next_task().unwrap();
            let mut other = start(problem, settings, 6);
            other.load(&knowledge).unwrap();
            assert_eq!(bits(other.deployed().unwrap()), bits(tuner.deployed().unwrap()));
            assert_eq!(live(&other).margin, live(&tuner).margin);
        }
    }
}

#[test]
fn a_task_stopped_after_an_answer_ends_the_same_way_whenever_the_call_came() {
    let ended = |slices: usize| {
        let mut tuner = start(LIVE, SETTINGS, 7);
        answer_next(&mut tuner, 6);
        (0..slices).for_each(|_| _ = tuner.advance());
        tuner.stop();
        assert_eq!(next(&mut tuner, &[]).unwrap(), Err(Stop::Requested));
        (snapshot(&tuner), live(&tuner))
    };
    let first = ended(0);
    for slices in 1..60 {
        assert_eq!(ended(slices), first, "{slices} slices");
    }
}

#[test]
fn the_status_tells_what_became_of_those_who_were_served() {
    let mut tuner = start(LIVE, SETTINGS, 8);
    let before = live(&tuner);
    assert_eq!((before.below, before.worst, before.meanwhile, before.expected), (0, None, None, None));
    let query = tuner.ask().query().unwrap();
    let given = objective(&query);
    tuner.tell(query, given).unwrap();
    let query = tuner.ask().query().unwrap();
    let first = live(&tuner);
    assert_eq!(
        (first.below, first.margin),
        (0, before.margin),
        "the point in use is no trial of the tuner's"
    );
    assert_eq!(first.worst, first.meanwhile, "there is one");
    assert!((first.meanwhile.unwrap() - given).abs() < 0.05, "{first:?}, {given}");
    assert!(first.expected.unwrap() > given - 0.1, "{first:?}");
    tuner.fail(query).unwrap();
    let query = tuner.ask().query().unwrap();
    let second = live(&tuner);
    assert_eq!(second.below, 1, "a failure is below");
    assert!(second.margin > first.margin);
    let y = objective(&query);
    tuner.tell(query, y).unwrap();
    assert!(matches!(tuner.ask(), Ask::Query(_)));
    let third = live(&tuner);
    assert!(third.worst <= second.worst && third.worst <= third.meanwhile, "{third:?}");
}

/// What was seen at first is not seen through the scale of what came later.
#[test]
fn the_worst_trial_stays_what_it_was_whatever_comes_after_it() {
    let scaling = Scaling::Running;
    let settings = Settings { details: Details { scaling, ..SETTINGS.details }, ..SETTINGS };
    let mut tuner = start(IN_USE, settings, 8);
    let mut asked = tuner.ask().query();
    while let Some(query) = asked {
        let y = if query.round() == 0 { 1.0 } else { 1000.0 + objective(&query) };
        tuner.tell(query, y).unwrap();
        asked = tuner.ask().query();
        let status = live(&tuner);
        assert!(status.worst < Some(2.0) && status.meanwhile < Some(1001.0), "{status:?}");
    }
}

/// After a task that broke its floor nothing would be allowed in those that follow.
#[test]
fn no_task_begins_with_more_than_the_first_margin() {
    let mut tuner = start(LIVE, SETTINGS, 8);
    let query = tuner.ask().query().unwrap();
    let (y, at_first) = (objective(&query), live(&tuner).margin);
    tuner.tell(query, y).unwrap();
    while let Ask::Query(query) = tuner.ask() {
        tuner.fail(query).unwrap();
    }
    assert!(live(&tuner).margin > at_first + 1.0);
    tuner.next_task().unwrap();
    assert_eq!(live(&tuner).margin, at_first);
}

#[test]
fn a_long_trial_below_widens_the_margin_more_than_a_short_one_and_counts_as_time() {
    let after = |cost: f32| {
        let mut tuner = start(LIVE, SETTINGS, 8);
        let query = tuner.ask().query().unwrap();
        let y = objective(&query);
        tuner.answer(query, Some(y), Some(1.0)).unwrap();
        let query = tuner.ask().query().unwrap();
        let before = live(&tuner).margin;
        tuner.answer(query, None, Some(cost)).unwrap();
        let _ = tuner.ask();
        let LiveStatus { margin, below, below_time, .. } = live(&tuner);
        assert_eq!((below, below_time), (1, cost / (1.0 + cost)));
        margin - before
    };
    let ordinary = 0.011 * PROBLEM.budget;
    for (share, moves) in [(0.01, 0.25), (0.5, 0.5), (1.0, 1.0), (5.0, 2.0)] {
        let moved = after(share * ordinary);
        assert!((moved - 0.5 * moves * (1.0 - FLOOR.risk)).abs() < 1e-5, "{share}: {moved}");
    }
}

/// Share of the trials after the first that are worth less than the point in use by more than the floor's drop.
fn share_below(problem: Problem<'static>, goal: Goal) -> f32 {
    let sign = if goal == Goal::Maximise { 1.0 } else { -1.0 };
    let (mut below, mut trials) = (0.0, 0.0);
    for seed in 0..10 {
        let mut tuner = start(Problem { goal, ..problem }, SETTINGS, seed);
        for _ in 0..2 {
            let mut in_use = None;
            tuner
                .run_task(|query| {
                    let y = objective(query);
                    let v = *in_use.get_or_insert(y);
                    trials += 1.0;
                    below += f32::from(y < v - 0.1);
                    Some(sign * y)
                })
                .unwrap();
            tuner.next_task().unwrap();
        }
    }
    below / trials
}

#[test]
fn a_floor_keeps_trials_above_it_whatever_the_goal() {
    for goal in [Goal::Maximise, Goal::Minimise] {
        let without = share_below(IN_USE, goal);
        let with = share_below(Problem { floor: Some(FLOOR), ..IN_USE }, goal);
        assert!(with < 0.5 * without, "{goal:?}: {with} against {without}");
    }
}

/// Short tasks on rough ground, where the highest mean is often a guess.
#[test]
fn what_is_recommended_is_above_the_floor_as_surely_as_the_risk_asks() {
    let (mut elsewhere, seeds, deployed) = (0, 60, &[0.3, 0.6]);
    for seed in 0..seeds {
        let ground = |x: &[f32]| 4.0 + (9.0 * x[0] + seed as f32).sin() * (11.0 * x[1]).cos();
        let floor = ground(deployed) - 0.4;
        let problem = Problem {
            dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
            fidelities: &[Fidelity { cost: 10.0, samples: 1, noise: 0.01 }],
            budget: 60.0,
            deployed: Some(deployed),
            floor: Some(Floor { level: Level::Value(floor), risk: 0.05 }),
            ..Problem::PLAIN
        };
        let mut tuner = start_with(64, problem, Settings::LIVE, seed);
        tuner
            .run_task(|query| Some(ground(query.point()) + 0.1 * noise(query.round(), seed as u32)))
            .unwrap();
        let best = tuner.recommendation().unwrap();
        assert!(best.assured && best.mean - 1.64 * best.deviation >= floor, "seed {seed}: {best:?}, {floor}");
        elsewhere += u64::from(best.point() != deployed);
    }
    assert!(elsewhere > seeds / 2, "{elsewhere}");
}

/// A floor of 2.5 and one of 9, where 1 is in use and 4 the best.
#[test]
fn a_floor_that_the_point_in_use_does_not_reach_is_looked_for_and_not_promised() {
    let height = |x: &[f32]| 4.0 - 3.0 * (x[0] - 0.8).hypot(x[1] - 0.7) / 0.78;
    for (floor, within_reach) in [(2.5, true), (9.0, false)] {
        for seed in 0..8 {
            let problem = Problem {
                dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
                fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.0025 }],
                budget: 24.0,
                deployed: Some(&[0.2, 0.2]),
                floor: Some(Floor { level: Level::Value(floor), risk: 0.05 }),
                ..Problem::PLAIN
            };
            let mut tuner = start_with(64, problem, Settings::LIVE, seed);
            tuner.run_task(|query| Some(height(query.point()))).unwrap();
            let best = tuner.recommendation().unwrap();
            assert_eq!(best.assured, within_reach, "seed {seed}: {best:?}");
            assert_eq!(height(best.point()) > floor, within_reach, "seed {seed}: {best:?}");
        }
    }
}

/// How much is lost on a hill eight times as long as wide, its long side askew, from half-way up: with the map of the preset for
/// systems in service, and with lengthscales alone.
#[test]
fn on_a_ridge_that_lies_askew_a_linear_map_loses_less() {
    let height = |x: &[f32]| {
        let (across, along) = (x[0] + x[1] - 1.0, x[0] - x[1] - 0.5);
        4.0 - 20.0 * across * across - along * along
    };
    let problem = Problem {
        dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
        fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.04 }],
        budget: 24.0,
        deployed: Some(&[0.15, 0.85]),
        floor: Some(Floor { level: Level::Share(0.9), risk: 0.05 }),
        ..Problem::PLAIN
    };
    let lost = |map: Map| {
        let of = |seed: u32| {
            let mut tuner = start_with(64, problem, Settings { map, ..Settings::LIVE }, seed.into());
            tuner.run_task(|query| Some(height(query.point()) + 0.2 * noise(query.round(), seed))).unwrap();
            4.0 - height(tuner.recommendation().unwrap().point())
        };
        (0..32).map(of).sum::<f32>() / 32.0
    };
    let (linear, ard) = (lost(Map::Linear), lost(Map::Ard));
    println!("linear {linear:.3}, lengthscales alone {ard:.3}");
    assert!(linear < 0.8 * ard, "{linear}, {ard}");
}

#[test]
fn a_task_ends_when_going_on_does_not_pay() {
    let run = |tolerance: f32| {
        let problem = Problem { tolerance, floor: Some(FLOOR), ..IN_USE };
        let mut tuner = start(problem, SETTINGS, 9);
        let stop = tuner.run_task(|query| Some(objective(query))).unwrap();
        (stop, tuner.status().spent)
    };
    let (all, whole) = run(0.0);
    assert_ne!(all, Stop::Tolerance);
    // Once a fifth of what the best is worth is more than can be hoped for above it; no later where all of it is.
    let (stop, spent) = run(0.2);
    assert_eq!(stop, Stop::Tolerance);
    assert!(spent < whole, "{spent} of {whole}");
    let (stop, less) = run(1.0);
    assert_eq!(stop, Stop::Tolerance);
    assert!(less <= spent, "{less} of {spent}");
}

#[test]
fn what_a_measurement_really_cost_is_charged_and_survives_a_restore() {
    let mut tuner = start(LIVE, SETTINGS, 10);
    let query = tuner.ask().query().unwrap();
    let y = objective(&query);
    for cost in [-1.0, f32::NAN, f32::INFINITY] {
        let refused = tuner.answer(tuner.outstanding().unwrap(), Some(y), Some(cost)).unwrap_err();
        assert_eq!(refused.error, Error::Cost);
    }
    assert_eq!(tuner.status().spent, 0.0);
    tuner.answer(query, Some(y), Some(0.25)).unwrap();
    assert_eq!(tuner.status().spent, 0.25);
    let query = tuner.ask().query().unwrap();
    tuner.answer(query, None, Some(0.5)).unwrap();
    assert_eq!((tuner.status().spent, tuner.status().failures), (0.75, 1));
    let query = tuner.ask().query().unwrap();
    let saved = snapshot(&tuner);
    tuner.answer(query, Some(y), Some(2.0 * PROBLEM.budget)).unwrap();
    assert!(matches!(tuner.ask(), Ask::Done(Stop::Budget)), "beyond the budget nothing can be paid");

    let mut other = start(LIVE, SETTINGS, 1);
    other.load(&saved).unwrap();
    assert!(other.ask().query().is_some());
    assert_eq!(other.status().spent, 0.75);
    let costs: Vec<_> = other.records().map(|record| record.cost).collect();
    assert_eq!(costs, [Some(0.25), Some(0.5)]);
}

/// Points on a line through the point in use, and what they gave.
fn past() -> impl Iterator<Item = ([f32; 3], usize, f32)> {
    (0..6).map(|i| ([-4.5 + i as f32, -120.0, 0.5], i % 3, 0.1 * i as f32))
}

#[test]
fn past_measurements_teach_but_are_neither_charged_nor_trials() {
    for (problem, settings) in scenes() {
        let mut tuner = start(problem, settings, 11);
        past().for_each(|(point, fidelity, y)| tuner.add_past(&point, fidelity, y).unwrap());
        let query = next(&mut tuner, &[]).unwrap().unwrap();
        let status = tuner.status();
        assert_eq!((status.past, status.observations, status.spent), (6, 0, 0.0));
        assert_eq!((query.point(), query.round()), (DEPLOYED, 0), "the point in use still comes first");
        assert_eq!(status.live.unwrap().below, 0);
        assert_eq!(tuner.add_past(DEPLOYED, 0, 1.0), Err(Error::OutOfTurn));
        let saved = snapshot(&tuner);
        answer(&mut tuner, query);
        let events = finish_task(&mut tuner);
        assert_within_limits(tuner.recommendation().unwrap().point());

        let mut other = start(problem, settings, 1);
        other.load(&saved).unwrap();
        assert_eq!(
            other.add_past(DEPLOYED, 0, 1.0).err(),
            None,
            "behind others that are still to be replayed"
        );
        other.load(&saved).unwrap();
        answer_next(&mut other, 1);
        assert_eq!(finish_task(&mut other), events, "{settings:?}");

        other.load(&saved).unwrap();
        other.restart().unwrap();
        answer_next(&mut other, 1);
        assert_eq!(finish_task(&mut other), events, "begun anew, {settings:?}");
    }
}

/// Floor and guards are relative to what the point in use gives.
#[test]
fn nothing_is_assured_before_the_point_in_use_was_measured() {
    let mut tuner = start(LIVE, SETTINGS, 11);
    past().for_each(|(point, fidelity, y)| tuner.add_past(&point, fidelity, y).unwrap());
    tuner.stop();
    assert!(matches!(tuner.ask(), Ask::Done(Stop::Requested)));
    let best = tuner.recommendation().unwrap();
    assert_eq!((best.point(), best.assured), (DEPLOYED, false));
}

#[test]
fn past_measurements_change_what_is_asked() {
    let queries = |past: &[([f32; 3], f32)]| {
        let mut tuner = start(IN_USE, SETTINGS, 12);
        past.iter().for_each(|(point, y)| tuner.add_past(point, 2, *y).unwrap());
        finish_task(&mut tuner)
    };
    assert_ne!(queries(&[]), queries(&[([3.0, -60.0, 0.2], 0.4), ([1.0, -60.0, 0.2], 0.1)]));
}

#[test]
fn past_measurements_that_make_no_sense_are_refused() {
    let mut tuner = start(LIVE, SETTINGS, 13);
    let unknown = Err(Error::Live("a past measurement must be of this problem's points and fidelities"));
    assert_eq!(tuner.add_past(&[-60.0, -120.0, 0.5], 0, 1.0), unknown);
    assert_eq!(tuner.add_past(&[-2.0], 0, 1.0), unknown);
    assert_eq!(tuner.add_past(DEPLOYED, 3, 1.0), unknown);
    assert_eq!(tuner.add_past(DEPLOYED, 0, f32::NAN), Err(Error::NotFinite));
    let full = std::iter::repeat_with(|| tuner.add_past(DEPLOYED, 0, 1.0)).take(1000).find(Result::is_err);
    assert!(matches!(full, Some(Err(Error::Capacity { what: "observations", .. }))), "{full:?}");
    assert!(tuner.ask().query().is_some(), "there is room for the task");
}

#[test]
fn a_predicate_holds_for_every_query_and_every_recommendation() {
    let inside = |point: &[f32]| (point[0] + 2.0).powi(2) < 4.0 && point[2] != 0.0;
    let problem = Problem { predicate: Some(Predicate(inside)), ..IN_USE };
    for (seed, floor) in [(1, None), (2, Some(FLOOR))] {
        let mut tuner = start(Problem { floor, ..problem }, SETTINGS, seed);
        for _ in 0..2 {
            while let Ok(query) = next(&mut tuner, &[]).unwrap() {
                assert!(inside(query.point()), "{query:?}");
                answer(&mut tuner, query);
            }
            assert!(inside(tuner.recommendation().unwrap().point()));
            tuner.next_task().unwrap();
        }
    }
    let outside = Problem { deployed: Some(&[3.0, -120.0, 0.5]), ..problem };
    assert!(Toy::new().start(outside, SETTINGS, 1).is_err());
    assert!(Toy::new().start(Problem { deployed: None, ..problem }, SETTINGS, 1).is_err());
}

#[test]
fn with_a_floor_the_point_in_use_is_asked_until_it_has_an_answer() {
    let mut tuner = start(LIVE, SETTINGS, 14);
    for _ in 0..3 {
        let query = tuner.ask().query().unwrap();
        assert_eq!((query.point(), query.kind()), (DEPLOYED, Kind::Initial));
        tuner.fail(query).unwrap();
    }
    let query = tuner.ask().query().unwrap();
    assert_eq!(query.point(), DEPLOYED);
    let y = objective(&query);
    tuner.tell(query, y).unwrap();
    let query = tuner.ask().query().unwrap();
    assert_ne!((query.point(), query.fidelity()), (DEPLOYED, 2));
    let mut hopeless = start(LIVE, SETTINGS, 15);
    assert_eq!(hopeless.run_task(|_| None), Ok(Stop::Budget));
    assert_eq!((hopeless.status().observations, hopeless.status().spent), (6, PROBLEM.budget));
    assert!(hopeless.recommendation().is_none() && hopeless.status().best.is_none());
}

#[test]
fn the_status_says_what_the_best_is_expected_to_be_worth_in_the_users_units() {
    let best = |times: f32| {
        let mut tuner = start(IN_USE, SETTINGS, 9);
        assert_eq!(tuner.status().best, None, "nothing was looked at yet");
        tuner.run_task(|query| Some(times * objective(query))).unwrap();
        tuner.status().best.unwrap()
    };
    let once = best(1.0);
    assert!((0.3..1.2).contains(&once), "the hill is 0.9 high: {once}");
    // Not quite ten times: the noise that is given stays the same.
    let ratio = best(10.0) / once;
    assert!((8.0..12.0).contains(&ratio), "{ratio}");
}
