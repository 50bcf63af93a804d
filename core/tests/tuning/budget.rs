//! Budget, slots, which fidelity, and nothing asked twice for nothing.

use std::collections::HashMap;

use crate::support::{METHODS, PROBLEM, SETTINGS, finish_task, next, objective, snapshot, start, start_with};
use foretune_core::{
    Details, Dimension, Fidelity, Kind, Method, Optimizer, Problem, Query, Recommend, Scaling, Settings, Stop,
};

const GRID: Dimension = Dimension::Grid { low: 0.0, high: 1.0, levels: 3 };
const TINY: &[Dimension] = &[GRID, GRID];

const fn fidelity(cost: f32, noise: f32) -> Fidelity {
    Fidelity { cost, samples: 1, noise }
}

/// A query, to keep.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    unit: Vec<u32>,
    fidelity: usize,
    kind: Kind,
}

/// All queries of one task, answered by `answer`.
fn task(tuner: &mut Optimizer<'_>, mut answer: impl FnMut(&Query) -> f32) -> (Vec<Asked>, Stop) {
    let mut all = Vec::new();
    loop {
        match next(tuner, &[]).unwrap() {
            Err(stop) => return (all, stop),
            Ok(query) => {
                let unit = query.unit().iter().map(|x| x.to_bits()).collect();
                all.push(Asked { unit, fidelity: query.fidelity(), kind: query.kind() });
                let y = answer(&query);
                tuner.tell(query, y).unwrap();
            }
        }
    }
}

fn toy_task(problem: Problem<'_>, settings: Settings) -> (Vec<Asked>, Stop) {
    task(&mut start(problem, settings, 21), objective)
}

fn searched(queries: &[Asked]) -> impl Iterator<Item = &Asked> {
    queries.iter().filter(|query| query.kind != Kind::Initial)
}

/// In single precision, three times 1.1 is more than 3.3.
#[test]
fn all_that_a_budget_pays_for_is_asked() {
    for (cost, budget, count) in [(0.1, 1.0, 10), (1.1, 3.3, 3), (0.3, 0.9, 3), (1.1, 6.6, 6), (0.3, 3.6, 12)]
    {
        let problem = Problem { fidelities: &[fidelity(cost, 0.01)], budget, ..PROBLEM };
        for method in METHODS {
            let (queries, stop) = toy_task(problem, SETTINGS.with_method(method));
            assert_eq!(
                (searched(&queries).count(), stop),
                (count, Stop::Budget),
                "{method:?}: {budget} at {cost}"
            );
        }
    }
}

#[test]
fn without_money_only_the_initial_points_are_asked() {
    for budget in [0.0, 0.9] {
        for method in METHODS {
            let (queries, stop) = toy_task(Problem { budget, ..PROBLEM }, SETTINGS.with_method(method));
            assert_eq!((queries.len(), stop), (SETTINGS.initial, Stop::Budget), "{method:?}");
            assert!(queries.iter().all(|query| query.kind == Kind::Initial));
        }
    }
}

/// Nothing but the target fidelity is asked from what is kept, while that can be paid; what remains buys cheaper ones.
#[test]
fn what_is_kept_of_the_budget_is_spent_at_the_truths_fidelity() {
    let costs = |budget, verify, method| {
        let settings = Settings { verify, ..SETTINGS }.with_method(method);
        let (queries, stop) = toy_task(Problem { budget, ..PROBLEM }, settings);
        assert_eq!(stop, Stop::Budget);
        searched(&queries).map(|query| PROBLEM.fidelities[query.fidelity].cost).collect::<Vec<f32>>()
    };
    for method in [Method::MfMes, Method::Continual, Method::MftMes] {
        // 5 is a measurement at the target fidelity; a share below that keeps one.
        for (budget, verify, kept) in
            [(31.0, 0.5, 15.5), (31.0, 0.2, 6.2), (31.0, 0.01, 5.0), (10.0, 0.5, 5.0)]
        {
            let mut left = budget;
            for cost in costs(budget, verify, method) {
                assert!(
                    cost == 5.0 || left < 5.0 || left - cost >= kept,
                    "{method:?}: {cost} of {left}, {kept} kept"
                );
                left -= cost;
            }
            assert!((0.0..1.0).contains(&left), "{left} left");
        }
        // With one fidelity as many queries are made; only the last ones differ.
        let only = Problem { fidelities: &PROBLEM.fidelities[2..], ..PROBLEM };
        let details = Details { recommend: Recommend::Anywhere, ..SETTINGS.details };
        let keeping = Settings { verify: 0.5, details, ..SETTINGS }.with_method(method);
        let (kept, free) = (toy_task(only, keeping).0, toy_task(only, Settings { verify: 0.0, ..keeping }).0);
        let searched = SETTINGS.initial + (free.len() - SETTINGS.initial) / 2;
        assert!(kept[..searched] == free[..searched] && kept.len() == free.len(), "{method:?}");
        // Too little for the target fidelity, or hardly enough: nothing is kept for it.
        for budget in [4.0, 9.0] {
            assert_eq!(costs(budget, 0.5, method), costs(budget, 0.0, method));
        }
    }
}

#[test]
fn without_initial_points_the_search_starts_at_once() {
    for method in METHODS {
        let (queries, stop) = toy_task(PROBLEM, Settings { initial: 0, ..SETTINGS }.with_method(method));
        assert!(queries.len() >= 6 && queries.iter().all(|query| query.kind == Kind::Search), "{method:?}");
        assert!(matches!(stop, Stop::Budget | Stop::Capacity));
    }
}

#[test]
fn the_variants_at_the_truths_fidelity_ask_for_no_other() {
    for method in &METHODS[3..] {
        let (queries, stop) = toy_task(PROBLEM, SETTINGS.with_method(*method));
        assert!(searched(&queries).all(|query| query.fidelity == 2), "{method:?}");
        assert_eq!((searched(&queries).count(), stop), (6, Stop::Budget), "{method:?}: 6 · 5 = 30");
    }
}

#[test]
fn a_full_data_set_ends_the_task() {
    let problem = Problem { budget: 1e9, ..PROBLEM };
    for method in METHODS {
        let (queries, stop) = toy_task(problem, SETTINGS.with_method(method));
        assert_eq!((queries.len(), stop), (24, Stop::Capacity), "{method:?}");
    }
}

/// The price of a slot makes cheap fidelities no cheaper than it.
#[test]
fn with_few_slots_dearer_fidelities_win_and_the_money_is_used_up() {
    let problem = Problem { budget: 60.0, ..PROBLEM };
    let cost = |queries: &[Asked]| {
        let spent: f32 = searched(queries).map(|query| problem.fidelities[query.fidelity].cost).sum();
        (spent, spent / searched(queries).count() as f32)
    };
    for method in [Method::MftMes, Method::Continual] {
        let settings = SETTINGS.with_method(method);
        let (queries, stop) = task(&mut start_with(14, problem, settings, 21), objective);
        let (spent, mean) = cost(&queries);
        assert_eq!((queries.len(), stop), (14, Stop::Capacity), "{method:?}");
        assert!(spent >= 45.0, "{method:?} leaves {spent} of 60");
        let (queries, _) = task(&mut start_with(80, problem, settings, 21), objective);
        let (_, cheap) = cost(&queries);
        assert!(mean > 1.5 * cheap, "{method:?}: {mean} with few slots, {cheap} with many");
    }
}

#[test]
fn what_has_no_noise_is_never_asked_twice_and_a_small_space_is_exhausted() {
    let noises: [&[Fidelity]; 2] = [
        &[fidelity(1.0, 0.0), fidelity(2.0, 0.0)],
        &[fidelity(1.0, 1e-6), fidelity(2.0, 1e-6)], // below the floor
    ];
    for fidelities in noises {
        let problem = Problem { dimensions: TINY, fidelities, budget: 1000.0, ..PROBLEM };
        for method in METHODS {
            let (queries, stop) = toy_task(problem, SETTINGS.with_method(method));
            let multi = matches!(method, Method::MfMes | Method::Continual | Method::MftMes);
            assert_eq!(stop, Stop::Exhausted, "{method:?}");
            for (i, query) in queries.iter().enumerate() {
                assert!(
                    !queries[..i]
                        .iter()
                        .any(|other| other.unit == query.unit && other.fidelity == query.fidelity),
                    "{method:?} repeats {query:?}"
                );
            }
            let truths = queries.iter().filter(|query| query.fidelity == 1).count();
            assert_eq!(truths, 9, "{method:?}");
            assert!(!multi || queries.len() == 18, "{method:?} leaves something unasked");
        }
    }
}

#[test]
fn what_is_noisy_is_asked_again_but_not_for_ever() {
    let fidelities = &[fidelity(1.0, 0.005)];
    let problem = Problem { dimensions: &TINY[..1], fidelities, budget: 1000.0, ..PROBLEM };
    for method in METHODS {
        let mut tuner = start_with(160, problem, SETTINGS.with_method(method), 21);
        let (queries, stop) = task(&mut tuner, objective);
        let mut counts: HashMap<Vec<u32>, usize> = HashMap::new();
        queries.iter().for_each(|query| *counts.entry(query.unit.clone()).or_default() += 1);
        // One more of forty moves a mean by a fortieth of the noise's deviation.
        let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
        assert_eq!(stop, Stop::Exhausted, "{method:?}");
        assert!(*least > 20 && *most <= 50, "{method:?} asks {least} to {most} times");
    }
}

#[test]
fn carried_points_come_first_at_the_truths_fidelity_and_are_charged() {
    for method in METHODS {
        let mut tuner = start(PROBLEM, SETTINGS.with_method(method), 21);
        let mut wanted: Vec<Vec<u32>> = Vec::new();
        for number in 1..=3 {
            let (queries, _) = task(&mut tuner, objective);
            let carried: Vec<&Asked> = queries.iter().filter(|query| query.kind == Kind::Carried).collect();
            assert!(carried.iter().all(|query| query.fidelity == 2));
            let units: Vec<Vec<u32>> = carried.iter().map(|query| query.unit.clone()).collect();
            assert_eq!(units, wanted, "{method:?} in task {number}");
            let after = queries.iter().skip_while(|query| query.kind == Kind::Initial);
            assert!(after.take(wanted.len()).all(|query| query.kind == Kind::Carried));
            let paid: f32 = searched(&queries).map(|query| PROBLEM.fidelities[query.fidelity].cost).sum();
            assert_eq!(tuner.status().spent, paid);
            let best: Vec<u32> = tuner.recommendation().unwrap().unit().iter().map(|x| x.to_bits()).collect();
            wanted.retain(|known| *known != best);
            wanted.insert(0, best);
            wanted.truncate(tuner.settings().carried);
            tuner.next_task().unwrap();
        }
    }
}

#[test]
fn after_a_fresh_look_the_values_remembered_of_carried_points_join_the_model() {
    let settings = Settings {
        carried: 1,
        memory_after: 0.5,
        details: Details { remeasure: false, memory_deviation: 0.1, ..SETTINGS.details },
        ..SETTINGS
    };
    let queries = |settings: Settings| {
        let mut tuner = start(PROBLEM, settings, 21);
        task(&mut tuner, objective);
        tuner.next_task().unwrap();
        let remembered = tuner.status().remembered;
        let (queries, _) = task(&mut tuner, objective);
        assert_eq!(tuner.status().observations, queries.len(), "what is remembered is no observation");
        assert!(queries.iter().all(|query| query.kind != Kind::Carried), "nothing is measured again");
        (remembered, searched(&queries).cloned().collect::<Vec<_>>())
    };
    let (remembered, with) = queries(settings);
    let (none, without) =
        queries(Settings { details: Details { memory_deviation: 0.0, ..settings.details }, ..settings });
    assert_eq!((remembered, none), (1, 0));
    let same = with.iter().zip(&without).take_while(|(with, without)| with == without).count();
    let spent: f32 = with[..same].iter().map(|query| PROBLEM.fidelities[query.fidelity].cost).sum();
    assert!(same < with.len(), "a remembered value changes the search");
    let most_expensive = PROBLEM.fidelities[PROBLEM.truth()].cost;
    assert!(
        spent >= 0.5 * PROBLEM.budget - most_expensive,
        "but not before half the budget is spent: {spent}"
    );
}

/// Where there are fewer slots than the budget could pay, they are what a task has.
#[test]
fn where_slots_run_out_before_the_money_shares_of_a_task_are_shares_of_them() {
    let rich = Problem { budget: f32::MAX, ..PROBLEM };
    let settings = Settings { carried: 1, memory_after: 0.5, verify: 0.1, ..SETTINGS };
    let mut tuner = start_with(16, rich, settings, 21);
    task(&mut tuner, objective);
    tuner.next_task().unwrap();
    let (queries, stop) = task(&mut tuner, objective);
    assert_eq!((queries.len() + tuner.status().remembered, stop), (16, Stop::Capacity));
    let carried = queries.iter().position(|query| query.kind == Kind::Carried);
    assert!(carried.is_some_and(|at| (5..10).contains(&at)), "the carried point comes as {carried:?}");
    assert_eq!(queries.last().unwrap().fidelity, PROBLEM.truth(), "the last measures what is recommended");
}

/// How many carried points are measured again in each task, if the first few are worth less by so many deviations.
#[test]
fn an_unlike_task_is_recognised_by_carried_points_and_the_next_task_trusts_again() {
    const DEVIATION: f32 = 0.3;
    let scaling = Scaling::Fixed { mean: 0.5, deviation: DEVIATION };
    let settings = Settings {
        carried: 3,
        details: Details {
            memory_deviation: 1.0,
            scaling,
            recommend: Recommend::Anywhere,
            ..SETTINGS.details
        },
        ..SETTINGS
    };
    let counts = |tasks: &[&[f32]]| {
        let mut knowledge: Option<Vec<u8>> = None;
        let count = |less: &&[f32]| {
            let mut tuner = start(PROBLEM, settings, 21);
            if let Some(bytes) = &knowledge {
                tuner.load(bytes).unwrap();
            }
            let mut less = less.iter();
            let (queries, _) = task(&mut tuner, |query| {
                let by = if query.kind() == Kind::Carried { less.next().unwrap_or(&0.0) } else { &0.0 };
                objective(query) - by * DEVIATION
            });
            knowledge = Some(snapshot(&tuner));
            queries.iter().filter(|query| query.kind == Kind::Carried).count()
        };
        tasks.iter().map(count).collect::<Vec<usize>>()
    };
    const USUAL: &[f32] = &[];
    assert_eq!(counts(&[USUAL, USUAL, USUAL, USUAL, USUAL]), [0, 1, 2, 3, 3]);
    assert_eq!(counts(&[USUAL, USUAL, USUAL, USUAL, &[3.0, 3.0]])[4], 2, "two that are worth less");
    assert_eq!(counts(&[USUAL, USUAL, USUAL, USUAL, &[3.0]])[4], 3, "one that may be chance");
    let settled = counts(&[USUAL, USUAL, USUAL, USUAL, &[6.0], &[6.0], &[6.0]]);
    assert_eq!(settled[4], 1, "one that is worth far less");
    assert_eq!(settled[5], 3, "the newest is from the unlike task: the others are asked too, and hold");
    assert_eq!(settled[6], 1, "the newest is again from a task like the others");
    let again = counts(&[USUAL, USUAL, USUAL, USUAL, &[6.0], &[6.0, 6.0]]);
    assert_eq!(again[5], 2, "the newest is from the unlike task, and the next is worth far less as well");
}

/// With a fixed scale and no learning on the way, the design does not depend on what is observed.
const PLAIN: Settings = Settings {
    steps_per_round: 0,
    details: Details { scaling: Scaling::Fixed { mean: 0.5, deviation: 0.3 }, ..SETTINGS.details },
    ..SETTINGS
};

#[test]
fn two_phase_searches_first_and_then_follows_its_design() {
    let run = |c: f32, scale: f32| {
        let mut tuner = start(PROBLEM, PLAIN.with_method(Method::TwoPhase { c }), 21);
        searched(&task(&mut tuner, |query| scale * objective(query)).0).cloned().collect::<Vec<_>>()
    };
    let (whole, other) = (run(0.0, 1.0), run(0.0, -1.0));
    assert_eq!(whole, other, "with c = 0 everything is design");
    for (i, query) in whole.iter().enumerate() {
        assert!(!whole[..i].contains(query), "the design repeats {query:?}");
    }
    let (half, other) = (run(0.5, 1.0), run(0.5, -1.0));
    assert_eq!(half[3..], other[3..], "the last three are design");
    assert_eq!(half[3..], whole[..3], "in its greedy order");
    assert_ne!(half[..3], other[..3], "the first three are not");
    let (none, other) = (run(1.0, 1.0), run(1.0, -1.0));
    assert_eq!(none[..3], half[..3]);
    assert_ne!(none[3..], other[3..]);
}

/// Six slots behind the initial points: three for the search, three for the design.
#[test]
fn two_phase_divides_the_slots_if_they_are_scarcer_than_money() {
    let run = |c: f32| {
        let problem = Problem { budget: 1e6, ..PROBLEM };
        let mut tuner = start_with(10, problem, PLAIN.with_method(Method::TwoPhase { c }), 21);
        searched(&task(&mut tuner, objective).0).cloned().collect::<Vec<_>>()
    };
    let (half, whole) = (run(0.5), run(0.0));
    assert_eq!((half.len(), &half[3..]), (6, &whole[..3]));
}

#[test]
fn minimising_is_maximising_upside_down() {
    for method in METHODS {
        let settings = SETTINGS.with_method(method);
        let upside_down = Problem { goal: foretune_core::Goal::Minimise, ..PROBLEM };
        let (mut up, mut down) = (start(PROBLEM, settings, 21), start(upside_down, settings, 21));
        assert_eq!(task(&mut up, objective), task(&mut down, |query| -objective(query)), "{method:?}");
        let (up, down) = (up.recommendation().unwrap(), down.recommendation().unwrap());
        assert_eq!((up.point(), up.mean), (down.point(), -down.mean));
    }
}

#[test]
fn a_different_seed_is_a_different_run() {
    let events = |seed: u64| finish_task(&mut start(PROBLEM, SETTINGS, seed));
    assert_eq!(events(1), events(1));
    assert_ne!(events(1), events(2));
}
