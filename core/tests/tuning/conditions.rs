//! Conditions that are known: what is chosen follows them, bounds are relative to the point in use under them, and a restored
//! task goes on bit for bit.

use crate::support::{Draws, SETTINGS, bits, knowledge, query_event, snapshot, start_with};
use foretune_core::{
    Ask, Block, Capacities, Details, Dimension, Error, Fidelity, Floor, Guard, Kind, Level, Limit, Method,
    Optimizer, Problem, Query, Recommend, Scaling, Settings, Side, Stop,
};

/// From 20 to 80 %.
const LOAD: Dimension<'static> = Dimension::Condition { low: 20.0, high: 80.0 };
const X: Dimension<'static> = Dimension::Interval { low: 0.0, high: 1.0 };
const NOISE: f32 = 1.0;
const PROBLEM: Problem<'static> = Problem {
    dimensions: &[LOAD, X],
    fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: NOISE }],
    budget: 40.0,
    ..Problem::PLAIN
};
const FLOOR: Floor = Floor { level: Level::Share(0.9), risk: 0.1 };
const LIVE: Problem<'static> = Problem { deployed: Some(&[f32::NAN, 0.5]), floor: Some(FLOOR), ..PROBLEM };
const GUARD: Guard<'static> = Guard { side: Side::AtLeast, floor: FLOOR, noise: &[NOISE] };
/// The same for a tuner that does not know the load.
const BLIND: Problem<'static> = Problem { dimensions: &[X], deployed: Some(&[0.5]), ..LIVE };

/// The best `x` moves with the load, and all of it is worth half as much at the highest.
fn value(load: f32, x: f32) -> f32 {
    let c = (load - 20.0) / 60.0;
    (100.0 - 50.0 * c) * (1.0 - 1.5 * (x - 0.2 - 0.6 * c).powi(2))
}

fn load(draws: &mut Draws) -> f32 {
    20.0 + 60.0 * draws.uniform()
}

#[test]
fn the_recommendation_follows_the_condition() {
    for (problem, seed) in [(PROBLEM, 1), (PROBLEM, 2), (LIVE, 3), (LIVE, 4)] {
        let (mut tuner, mut draws) = (start_with(64, problem, Settings::DEFAULT, seed), Draws(seed));
        loop {
            let load = load(&mut draws);
            let Ask::Query(query) = tuner.ask_at(&[load]).unwrap() else { break };
            assert!((query.point()[0] - load).abs() < 1e-4, "asked under the condition at hand");
            let y = value(load, query.point()[1]) + NOISE * draws.normal();
            tuner.tell(query, y).unwrap();
        }
        let own = tuner.recommendation().unwrap();
        assert_eq!(tuner.recommendation_at(&[own.point()[0]]).unwrap(), own);
        let knowledge = snapshot(&tuner);
        for load in [26.0, 50.0, 74.0] {
            let best = tuner.recommendation_at(&[load]).unwrap();
            let (found, optimum) =
                (value(load, best.point()[1]), value(load, 0.2 + 0.6 * (load - 20.0) / 60.0));
            assert!(found > 0.97 * optimum, "seed {seed}, load {load}: {found} of {optimum}");
            assert!((best.mean - found).abs() < 0.08 * optimum, "{} is expected, {found} true", best.mean);
            // Slice by slice it is the same.
            assert!(tuner.change_conditions(&[load]).unwrap() && tuner.recommendation().is_none());
            assert!(matches!(tuner.ask(), Ask::Done(_)));
            assert_eq!(tuner.recommendation().unwrap(), best);
            assert!(!tuner.change_conditions(&[load]).unwrap());
        }
        // And back: nothing is left of it.
        assert!(tuner.change_conditions(&[own.point()[0]]).unwrap());
        assert!(matches!(tuner.ask(), Ask::Done(_)));
        assert_eq!((tuner.recommendation().unwrap(), snapshot(&tuner)), (own, knowledge));
    }
}

/// Over many seeds: share of the trials that are truly worth less than nine tenths of the point in use under the same load, and what
/// a trial is worth beside it on average. The load falls in the course of the task, so that all of it is worth more and more.
fn outcome(problem: Problem<'static>) -> (f32, f32) {
    let (mut broken, mut worth, mut trials) = (0.0, 0.0, 0.0);
    for seed in 0..10 {
        let (mut tuner, mut draws) = (start_with(64, problem, Settings::DEFAULT, seed), Draws(seed));
        for round in 0.. {
            let load = (80.0 - 1.5 * round as f32 + 6.0 * (draws.uniform() - 0.5)).clamp(20.0, 80.0);
            let asked = if problem.conditions() > 0 { tuner.ask_at(&[load]).unwrap() } else { tuner.ask() };
            let Ask::Query(query) = asked else { break };
            let x = *query.point().last().unwrap();
            let share = value(load, x) / value(load, 0.5);
            broken += f32::from(share < 0.9);
            (worth, trials) = (worth + share, trials + 1.0);
            let [y, kpi] = [(); 2].map(|()| value(load, x) + NOISE * draws.normal());
            // With a guard the objective is something else, which it keeps from being followed to its end.
            match problem.guards.is_empty() {
                true => tuner.tell(query, y).unwrap(),
                false => tuner.tell_all(query, 100.0 * x, &[kpi]).unwrap(),
            }
        }
    }
    (broken / trials, worth / trials)
}

#[test]
fn the_floor_is_relative_to_the_point_in_use_under_the_same_condition() {
    let (known, blind) = (outcome(LIVE), outcome(BLIND));
    let words = format!("(broken, worth): {known:?}, {blind:?} where the load is not known");
    assert!(known.0 <= FLOOR.risk && known.1 > 1.01, "{words}");
    assert!(blind.0 > 3.0 * known.0 && blind.1 < 1.0, "{words}");
    let guarded = [LIVE, BLIND].map(|problem| outcome(Problem { floor: None, guards: &[GUARD], ..problem }));
    let words = format!("(broken, worth): {guarded:?} with a guard");
    assert!(guarded[0].0 <= FLOOR.risk && guarded[1].0 > 3.0 * guarded[0].0, "{words}");
}

/// A task of each kind: no bounds, a floor, a guard; levels alone to choose from; a cheap way to measure beside the one that counts.
fn scenes() -> [(Problem<'static>, Settings); 5] {
    const BOTH: &[Fidelity] = &[
        Fidelity { cost: 0.5, samples: 1, noise: 4.0 * NOISE },
        Fidelity { cost: 2.0, samples: 4, noise: NOISE },
    ];
    const LEVELS: &[Dimension<'static>] =
        &[Dimension::Grid { low: 0.0, high: 1.0, levels: 5 }, LOAD, Dimension::Levels(&[0.0, 0.4, 1.0])];
    let carries = SETTINGS.with_method(Method::MftMes);
    [
        (Problem { budget: 9.0, ..PROBLEM }, carries),
        (Problem { budget: 9.0, ..LIVE }, carries),
        (Problem { budget: 9.0, guards: &[GUARD], floor: None, ..LIVE }, carries),
        (Problem { budget: 12.0, dimensions: LEVELS, ..PROBLEM }, carries),
        (Problem { budget: 12.0, fidelities: BOTH, ..LIVE }, carries),
    ]
}

/// Answers with what was measured, under a load somewhat off the one that was asked for; now and then the measurement fails.
fn answer(tuner: &mut Optimizer<'_>, query: Query) {
    let problem = *tuner.problem();
    let at = problem.dimensions.iter().position(Dimension::is_condition).unwrap();
    let load = (query.point()[at] + 3.0).min(80.0);
    let y = (query.round() % 5 != 4).then(|| value(load, query.point()[1 - at]));
    let kpis = [y.unwrap_or(0.0); 1];
    tuner.answer_at(query, y, &kpis[..problem.guards.len()], None, &[load]).unwrap();
    assert_eq!(tuner.conditions()[0], LOAD.value(LOAD.unit(load).unwrap()), "the last known is at hand");
}

/// Asks under another load than before, every third time without a word about it; every fourth query is taken back, and asked
/// under yet another.
fn ask(tuner: &mut Optimizer<'_>, round: usize) -> Option<Query> {
    if round % 3 != 2 {
        tuner.set_conditions(&[20.0 + (37 * round % 60) as f32]).unwrap();
    }
    let query = tuner.ask().query()?;
    if round % 4 != 1 {
        return Some(query);
    }
    tuner.withdraw();
    assert_eq!(tuner.tell(query, 1.0).unwrap_err().error, Error::UnknownQuery);
    tuner.ask_at(&[25.0 + (29 * round % 50) as f32]).unwrap().query()
}

/// To the end of the task; where a query is at hand, hands over the tuner before it is answered.
fn finish(tuner: &mut Optimizer<'_>, mut each: impl FnMut(&mut Optimizer<'_>, usize)) -> Vec<Vec<u32>> {
    let mut seen = Vec::new();
    while let Some(query) = ask(tuner, seen.len()) {
        each(tuner, seen.len());
        seen.push(bits(query.point()));
        answer(tuner, query);
    }
    let best = tuner.recommendation().unwrap();
    seen.push(bits(&[best.point(), &[best.mean, best.deviation]].concat()));
    seen.push(tuner.particles().flat_map(bits).collect());
    seen
}

#[test]
fn a_task_restored_at_any_round_goes_on_bit_for_bit() {
    for (problem, settings) in scenes() {
        let mut tuner = start_with(64, problem, settings, 6);
        for task in 1..4 {
            let mut saved = Vec::new();
            let seen = finish(&mut tuner, |tuner, _| saved.push(snapshot(tuner)));
            assert!(saved.len() > 6, "{} queries", saved.len());
            for (position, bytes) in saved.iter().enumerate() {
                let mut other = start_with(64, problem, settings, 1);
                other.load(bytes).unwrap();
                let Ask::Query(query) = other.ask() else { panic!("a query was outstanding") };
                assert_eq!(bits(query.point()), seen[position], "task {task}, at {position}");
                answer(&mut other, query);
                let mut rest = Vec::new();
                while let Some(query) = ask(&mut other, position + 1 + rest.len()) {
                    rest.push(bits(query.point()));
                    answer(&mut other, query);
                }
                assert_eq!(rest, seen[position + 1..saved.len()], "task {task}, at {position}");
                assert_eq!(snapshot(&other), snapshot(&tuner), "task {task}, at {position}");
            }
            tuner.next_task().unwrap();
        }
    }
}

#[test]
fn what_would_be_recommended_elsewhere_changes_nothing() {
    for (problem, settings) in scenes() {
        let (mut one, mut other) =
            (start_with(64, problem, settings, 7), start_with(64, problem, settings, 7));
        let seen = finish(&mut one, |_, _| {});
        let asked = finish(&mut other, |tuner, round| {
            let (before, reasons) = (snapshot(tuner), tuner.explain());
            let elsewhere = tuner.recommendation_at(&[75.0]);
            assert_eq!(elsewhere.is_ok(), round > 0, "{elsewhere:?}");
            let elsewhere = tuner.explain_at(&[0.9, 0.1, 0.5][..problem.dimensions.len()]);
            assert_eq!(elsewhere.is_some(), round > 0);
            assert_eq!((snapshot(tuner), tuner.explain()), (before, reasons.clone()));
            let here = tuner.outstanding().and_then(|query| tuner.explain_at(query.unit()));
            assert_eq!(here.map(|here| here.objective), reasons.map(|reasons| reasons.objective));
        });
        assert_eq!(asked, seen);
        let before = (snapshot(&other), other.status());
        let at = problem.dimensions.iter().position(Dimension::is_condition).unwrap();
        for load in [20.0, 33.0, 80.0] {
            let best = other.recommendation_at(&[load]).unwrap();
            assert!((best.point()[at] - load).abs() < 1e-4, "{best:?}");
        }
        assert_eq!((snapshot(&other), other.status()), before);
    }
}

#[test]
fn while_another_recommendation_is_looked_for_the_task_has_ended_all_the_same() {
    for (problem, settings) in scenes() {
        let mut tuner = start_with(64, problem, settings, 7);
        finish(&mut tuner, |_, _| {});
        tuner.change_conditions(&[44.0]).unwrap();
        assert!(tuner.recommendation().is_none(), "not found yet");
        assert_eq!(tuner.restart(), Err(Error::OutOfTurn));
        let bytes = snapshot(&tuner);
        assert_eq!(knowledge(&tuner), bytes);
        let mut other = start_with(64, problem, settings, 7);
        other.load(&bytes).unwrap();
        assert_eq!(other.task(), 2);
        tuner.next_task().unwrap();
        assert_eq!(finish(&mut tuner, |_, _| {}), finish(&mut other, |_, _| {}));
    }
}

/// Whether it was like those before it is what the task after it goes by.
#[test]
fn a_task_unlike_those_before_it_is_seen_the_same_way_after_its_end() {
    let details = Details {
        scaling: Scaling::Fixed { mean: 50.0, deviation: 20.0 },
        memory_deviation: 1.0,
        recommend: Recommend::Anywhere,
        ..SETTINGS.details
    };
    let problem = scenes()[0].0;
    let mut tuner = start_with(64, problem, Settings { carried: 3, details, ..SETTINGS }, 21);
    for task in 1.. {
        tuner.set_conditions(&[50.0]).unwrap();
        let answer = |query: &Query| {
            let by = if task == 5 && query.kind() == Kind::Carried { 120.0 } else { 0.0 };
            Some(value(50.0, query.point()[1]) - by)
        };
        tuner.run_task(answer).unwrap();
        if task == 5 {
            break;
        }
        tuner.next_task().unwrap();
    }
    let best = tuner.recommendation();
    for load in [44.0, 50.0] {
        tuner.change_conditions(&[load]).unwrap();
        assert!(matches!(tuner.ask(), Ask::Done(_)));
    }
    assert_eq!(tuner.recommendation(), best);
}

/// A replay, which has the answers' conditions alone, could not find it again.
#[test]
fn conditions_that_went_and_came_back_change_nothing() {
    let (problem, settings) = scenes()[2];
    let asked = |moves: bool| {
        let mut tuner = start_with(64, problem, settings, 9);
        let mut seen = Vec::new();
        tuner.set_conditions(&[50.0]).unwrap();
        while let Some(mut query) = tuner.ask().query() {
            if moves {
                tuner.withdraw();
                tuner.set_conditions(&[70.0]).unwrap();
                query = tuner.ask_at(&[50.0]).unwrap().query().unwrap();
            }
            seen.push(bits(query.point()));
            let y = value(50.0, query.point()[1]);
            tuner.tell_all(query, y, &[y]).unwrap();
        }
        seen
    };
    assert_eq!(asked(true), asked(false));
}

#[test]
fn a_search_that_goes_on_begins_anew_under_other_conditions() {
    for (problem, settings) in scenes() {
        let asked = |slices: usize| {
            let mut tuner = start_with(64, problem, settings, 8);
            for load in [30.0, 70.0, 40.0] {
                let query = tuner.ask_at(&[load]).unwrap().query().unwrap();
                answer(&mut tuner, query);
            }
            tuner.set_conditions(&[25.0]).unwrap();
            (0..slices).for_each(|_| _ = tuner.advance());
            (tuner.outstanding().is_none())
                .then(|| query_event(&tuner.ask_at(&[66.0]).unwrap().query().unwrap()))
        };
        let first = asked(0);
        let many =
            (1..).map_while(|slices| asked(7 * slices).map(|event| assert_eq!(Some(event), first))).count();
        assert!(many > 0 || problem.guards.is_empty(), "{many}");
    }
}

#[test]
fn every_choice_of_a_small_space_is_looked_at_under_the_condition_at_hand() {
    let (problem, _) = scenes()[3];
    let mut tuner = start_with(64, Problem { budget: 40.0, ..problem }, Settings::DEFAULT, 9);
    let mut draws = Draws(9);
    let stop = loop {
        let load = if draws.uniform() < 0.5 { 20.0 } else { 80.0 };
        match tuner.ask_at(&[load]).unwrap() {
            Ask::Query(query) => {
                assert_eq!(query.point()[1], load);
                let y = value(load, query.point()[0]) - 5.0 * query.point()[2] + NOISE * draws.normal();
                tuner.tell(query, y).unwrap();
            }
            Ask::Done(stop) => break stop,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(stop, Stop::Budget);
    assert_eq!(tuner.recommendation_at(&[20.0]).unwrap().point(), [0.25, 20.0, 0.0]);
    assert_eq!(tuner.recommendation_at(&[80.0]).unwrap().point(), [0.75, 80.0, 0.0]);
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut tuner = start_with(64, LIVE, SETTINGS, 10);
    assert_eq!(tuner.conditions(), [50.0], "before the first is given, the middle");
    let before = snapshot(&tuner);
    for (bad, words) in [
        (&[][..], "one value"),
        (&[30.0, 30.0], "one value"),
        (&[f32::NAN], "within"),
        (&[19.0], "within"),
        (&[81.0], "within"),
    ] {
        let why = tuner.ask_at(bad).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
        assert_eq!(tuner.recommendation_at(bad).unwrap_err().to_string(), why);
    }
    assert_eq!(tuner.recommendation_at(&[30.0]), Err(Error::OutOfTurn), "nothing was observed");
    assert_eq!(snapshot(&tuner), before);
    let query = tuner.ask_at(&[30.0]).unwrap().query().unwrap();
    assert_eq!(tuner.ask_at(&[30.0]), Ok(Ask::Waiting));
    let why = tuner.ask_at(&[31.0]).unwrap_err().to_string();
    assert!(why.contains("answer or withdraw it first"), "{why}");
    let refused = tuner.tell_at(query, 1.0, &[100.0]).unwrap_err();
    assert!(matches!(refused.error, Error::Condition(_)));
    tuner.tell_at(refused.query, 1.0, &[35.0]).unwrap();
    assert_eq!(tuner.records().next().unwrap().unit[0], 0.25, "measured under another load than asked for");

    let refused = |problem: Problem<'static>, settings: Settings| {
        let capacities = Capacities::of(&problem, &settings, 64);
        let started = Block::new(vec![0; capacities.words()].leak(), capacities).start(problem, settings, 1);
        started.err().expect("refused").to_string()
    };
    let limit = &[Limit { coefficients: &[1.0, 1.0], at_most: 1.0 }];
    for (problem, words) in [
        (Problem { dimensions: &[LOAD], ..PROBLEM }, "no condition"),
        (
            Problem { dimensions: &[X, Dimension::Condition { low: 1.0, high: 1.0 }], ..PROBLEM },
            "below its upper",
        ),
        (Problem { limits: limit, ..LIVE }, "0 for a condition"),
        (Problem { deployed: Some(&[0.5]), ..LIVE }, "within the ranges"),
    ] {
        let why = refused(problem, SETTINGS);
        assert!(why.contains(words), "{why}");
    }
    assert!(refused(PROBLEM, SETTINGS.with_method(Method::TwoPhase { c: 0.5 })).contains("batch"));
}

#[test]
fn answers_recalled_one_by_one_go_on_bit_for_bit_whatever_conditions_were_given_between_them() {
    for (problem, settings) in scenes() {
        let wanted = |round: usize| [20.0 + (53 * round % 60) as f32];
        let end = |tuner: &mut Optimizer<'_>| {
            while let Some(query) = tuner.ask().query() {
                let round = query.round() as usize;
                if tuner.change_conditions(&wanted(round)).unwrap() {
                    continue;
                }
                let at = problem.dimensions.iter().position(Dimension::is_condition).unwrap();
                let y = value(query.point()[at], query.point()[1 - at]);
                tuner.tell_all(query, y, &[y][..problem.guards.len()]).unwrap();
            }
            snapshot(tuner)
        };
        let mut straight = start_with(64, problem, settings, 6);
        let expected = end(&mut straight);
        let records: Vec<_> = straight.records().collect();
        for told in 0..records.len() {
            let mut other = start_with(64, problem, settings, 6);
            records[..told].iter().for_each(|record| other.recall(record.clone()).unwrap());
            // The next may be known before they are replayed.
            for _ in 0..told {
                let _ = other.advance();
            }
            other.change_conditions(&wanted(told)).unwrap();
            assert!(end(&mut other) == expected, "after {told}: {problem:?}");
        }
    }
}
