//! Guards: other numbers of every measurement are kept while the objective is tuned, each at its own risk; a restored task goes on
//! bit for bit, and bad numbers change nothing.

use crate::support::{noise, snapshot, start_with};
use foretune_core::{
    Ask, Dimension, Error, Fidelity, Floor, Goal, Guard, Level, Optimizer, Problem, Query, Recommendation,
    Settings, Side, memory,
};

const NOISE: [f32; 2] = [0.01, 0.0025];
const IN_USE: [f32; 2] = [0.3, 0.4];
const EDGE: Guard<'static> =
    Guard { side: Side::AtLeast, floor: Floor { level: Level::Share(0.9), risk: 0.05 }, noise: &NOISE };
const POWER: Guard<'static> =
    Guard { side: Side::AtMost, floor: Floor { level: Level::Drop(2.0), risk: 0.05 }, noise: &[0.0; 2] };
const PROBLEM: Problem<'static> = Problem {
    dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 1, noise: 0.09 },
        Fidelity { cost: 4.0, samples: 4, noise: 0.0225 },
    ],
    budget: 90.0,
    deployed: Some(&IN_USE),
    floor: Some(Floor { level: Level::Share(0.9), risk: 0.05 }),
    guards: &[EDGE, POWER],
    ..Problem::PLAIN
};
type Toy = memory!(
    dimensions: 2, fidelities: 2, observations: 96, particles: 10, map: Ard, candidates: 256, guards: 2
);

/// Best at (0.8, 0.6), which the edge does not bear.
fn objective(x: &[f32]) -> f32 {
    10.0 - 20.0 * (x[0] - 0.8).powi(2) - 10.0 * (x[1] - 0.6).powi(2)
}

fn edge(x: &[f32]) -> f32 {
    2.0 - 2.2 * x[0] * x[0] + x[1]
}

fn power(x: &[f32]) -> f32 {
    10.0 * x[0] + 2.0 * x[1]
}

fn keeps(x: &[f32]) -> [bool; 2] {
    [edge(x) >= 0.9 * edge(&IN_USE), power(x) <= power(&IN_USE) + 2.0]
}

fn measure(query: &Query, seed: u32) -> (f32, [f32; 2]) {
    let (x, m) = (query.point(), query.fidelity());
    let y = objective(x) + PROBLEM.fidelities[m].noise.sqrt() * noise(query.round(), seed);
    (y, [edge(x) + NOISE[m].sqrt() * noise(query.round(), seed + 7), power(x)])
}

fn start(problem: Problem<'static>, seed: u64) -> Optimizer<'static> {
    start_with(96, problem, Settings::DEFAULT, seed)
}

/// Runs a task; the points tried, and the recommendation.
fn run(problem: Problem<'static>, seed: u32) -> (Vec<Vec<f32>>, Recommendation) {
    let mut tuner = start(problem, u64::from(seed));
    let mut tried = Vec::new();
    while let Ask::Query(query) = tuner.ask() {
        tried.push(query.point().to_vec());
        let (y, kpis) = measure(&query, seed);
        tuner.tell_all(query, y, &kpis[..problem.guards.len()]).unwrap();
    }
    (tried, tuner.recommendation().unwrap())
}

#[test]
fn guards_are_kept_while_the_objective_is_tuned() {
    let (mut trials, mut broken) = (0, [0; 2]);
    for seed in 0..4 {
        let (tried, best) = run(PROBLEM, seed);
        trials += tried.len();
        for point in &tried {
            broken.iter_mut().zip(keeps(point)).for_each(|(broken, keeps)| *broken += usize::from(!keeps));
        }
        // The best that keeps to all is 7.85, the point in use is worth 4.6, and the best of all 10.
        assert!(best.assured && objective(best.point()) > 7.6, "{best:?}");
        assert!(edge(best.point()) > 0.98 * 0.9 * edge(&IN_USE) && keeps(best.point())[1], "{best:?}");
    }
    assert!(broken.iter().all(|broken| 16 * broken <= trials), "{broken:?} of {trials}");
    let unguarded = run(Problem { guards: &[], ..PROBLEM }, 0);
    assert!(objective(unguarded.1.point()) > 9.5 && unguarded.1.assured);
    assert!(4 * unguarded.0.iter().filter(|x| !keeps(x)[0]).count() > unguarded.0.len());
}

#[test]
fn a_kpi_far_from_its_bound_costs_next_to_nothing() {
    let far: &[Guard<'_>] = &[Guard { floor: Floor { level: Level::Value(-2.0), risk: 0.05 }, ..EDGE }];
    let regret =
        |guards| (0..4).map(move |seed| 10.0 - objective(run(Problem { guards, ..PROBLEM }, seed).1.point()));
    let (with, without): (f32, f32) = (regret(far).sum(), regret(&[]).sum());
    assert!(with / 4.0 < without / 4.0 + 0.05, "{with} {without}");
}

/// What is safest there is measuring what is in use again, from which nothing would be learnt.
#[test]
fn a_bound_within_the_noise_of_what_the_point_in_use_gives_is_left_behind() {
    // What the point in use gives is 0.5 and 0.1 deviations of the noise on the good side, then as many on the bad.
    for level in [1.95, 1.99, 2.01, 2.05] {
        let floor = Floor { level: Level::Value(level), risk: 0.1 };
        let guards = Vec::leak(vec![Guard { floor, noise: &[0.01], ..EDGE }]);
        let problem = Problem {
            budget: 40.0,
            fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
            floor: None,
            guards,
            deployed: Some(&[0.2, 0.5]),
            ..PROBLEM
        };
        let edge = |x: &[f32]| 2.0 - 0.6 * (x[0] - 0.2) + (x[1] - 0.5);
        for seed in 0..4 {
            let mut tuner = start_with(64, problem, Settings::LIVE, u64::from(seed));
            while let Ask::Query(query) = tuner.ask() {
                let (x, round) = (query.point(), query.round());
                let y = 10.0 - 20.0 * (x[0] - 0.7).powi(2) - 4.0 * (x[1] - 0.6).powi(2);
                let told = (y + 0.1 * noise(round, seed), edge(x) + 0.1 * noise(round, seed + 7));
                tuner.tell_all(query, told.0, &[told.1]).unwrap();
            }
            let best = tuner.recommendation().unwrap();
            assert!(best.assured && best.mean > 8.0, "{level} {seed}: {best:?}");
            assert!(edge(best.point()) > level - 0.05, "{level} {seed}: {best:?}");
        }
    }
}

/// Along one level of a grid everything is soon known well enough; what would pay lies on another, which the guard's margin does not
/// allow yet. A tolerance neither ends the task there nor has it ask for what is known.
#[test]
fn with_a_tolerance_a_task_goes_on_to_where_it_would_pay() {
    let problem = Problem {
        dimensions: &[
            Dimension::Interval { low: 0.0, high: 1.0 },
            Dimension::Grid { low: 1.0, high: 20.0, levels: 20 },
        ],
        fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.25 }],
        budget: 60.0,
        tolerance: 0.01,
        goal: Goal::Minimise,
        deployed: Some(&[0.5, 4.0]),
        floor: Some(Floor { level: Level::Share(0.8), risk: 0.05 }),
        guards: &[Guard {
            side: Side::AtMost,
            floor: Floor { level: Level::Value(15.0), risk: 0.05 },
            noise: &[0.25],
        }],
        ..Problem::PLAIN
    };
    let cost = |x: &[f32]| 20.0 + 60.0 * (x[0] - 0.8).powi(2) + 0.08 * (x[1] - 14.0).powi(2);
    let ends = (0..16).map(|seed| {
        let mut tuner = start_with(64, problem, Settings::LIVE, u64::from(seed));
        while let Ask::Query(query) = tuner.ask() {
            let (x, round) = (query.point(), query.round());
            let peak = 11.0 + 8.0 * (x[0] - 0.5) + 0.1 * (x[1] - 4.0);
            let told = (cost(x) + 0.5 * noise(round, seed), peak + 0.5 * noise(round, seed + 7));
            tuner.tell_all(query, told.0, &[told.1]).unwrap();
        }
        (cost(tuner.recommendation().unwrap().point()), tuner.status().observations)
    });
    let ends: Vec<_> = ends.collect();
    assert!(ends.iter().all(|(cost, asked)| *cost < 22.0 && *asked < 50), "{ends:?}");
}

/// Far from the optimum nothing that is allowed tells of it. Even there no budget is spent on what is known.
#[test]
fn what_grows_manifold_up_to_a_bound_is_climbed_in_a_task() {
    let guards: &[Guard<'_>] = &[Guard { floor: Floor { level: Level::Value(0.4), risk: 0.05 }, ..EDGE }];
    let problem = Problem { floor: None, guards, deployed: Some(&[0.1, 0.1]), ..PROBLEM };
    // 0.7 in use, 121 where the edge bears no more.
    let steep = |x: &[f32]| 0.3 * (6.0 - 4.0 * ((x[0] - 1.0).powi(2) + (x[1] - 0.8).powi(2))).exp();
    let recommended = |seed: u32| {
        let mut tuner = start_with(96, problem, Settings::LIVE, u64::from(seed));
        while let Ask::Query(query) = tuner.ask() {
            let y = steep(query.point()) + 0.1 * noise(query.round(), seed);
            let edge = measure(&query, seed).1[0];
            tuner.tell_all(query, y, &[edge]).unwrap();
        }
        steep(tuner.recommendation().unwrap().point())
    };
    let reached: Vec<f32> = (0..8).map(recommended).collect();
    // Seven do; two did while rounding decided.
    assert!(reached.iter().filter(|value| **value > 117.0).count() >= 6, "{reached:?}");
}

/// A point that was measured cheaply and broke a guard is not measured long as well, however good its objective. (A cliff,
/// which no model sees coming.)
#[test]
fn what_broke_a_guard_is_not_asked_at_the_target_fidelity() {
    const FIDELITIES: [Fidelity; 2] =
        [PROBLEM.fidelities[0], Fidelity { cost: 20.0, ..PROBLEM.fidelities[1] }];
    const CLIFF: &[Guard<'_>] = &[Guard { noise: &[0.0; 2], ..EDGE }];
    let kpi = |x: &[f32]| 2.0 - f32::from(x[0] > 0.55);
    for seed in 0..6 {
        let mut broken = Vec::new();
        let problem = Problem { guards: CLIFF, fidelities: &FIDELITIES, ..PROBLEM };
        let mut tuner = start(problem, u64::from(seed));
        while let Ask::Query(query) = tuner.ask() {
            let x = query.point().to_vec();
            assert!(query.fidelity() == 0 || !broken.contains(&x), "{query:?} broke the guard before");
            let y = measure(&query, seed).0;
            tuner.tell_all(query, y, &[kpi(&x)]).unwrap();
            if kpi(&x) < 1.8 {
                broken.push(x);
            }
        }
        assert!(!broken.is_empty(), "nothing fell off the cliff");
    }
}

/// For every searched query, what was expected of it keeps floor and guards with their margins; and asking changes nothing.
#[test]
fn every_query_can_be_explained() {
    let (tried, best) = run(PROBLEM, 2);
    let mut tuner = start(PROBLEM, 2);
    assert_eq!(tuner.explain(), None);
    let (mut explained, mut miss) = (0, 0.0);
    while let Ask::Query(query) = tuner.ask() {
        let (x, reasons) = (query.point().to_vec(), tuner.explain());
        assert_eq!((&x, reasons.is_some()), (&tried[query.round() as usize], query.round() > 0));
        if let Some(reasons) = reasons.filter(|reasons| reasons.score.is_some()) {
            let [edge_of, power_of] = reasons.guards[..] else { panic!("{reasons:?}") };
            let score = reasons.score.unwrap();
            assert!(score.optimum >= 0.0 && score.particles >= 0.0 && score.price >= 1.0, "{score:?}");
            let bounds = [reasons.objective.bound, edge_of.bound, power_of.bound].map(Option::unwrap);
            let at = [0.9 * objective(&IN_USE), 0.9 * edge(&IN_USE), power(&IN_USE) + 2.0];
            assert!(bounds.iter().zip(at).all(|(bound, at)| (bound / at - 1.0).abs() < 0.1), "{bounds:?}");
            for (sign, belief) in [(1.0, reasons.objective), (1.0, edge_of), (-1.0, power_of)] {
                let spare = sign * (belief.mean - belief.bound.unwrap());
                assert!(spare > belief.margin * belief.deviation - 1e-3, "{belief:?}");
                assert!(belief.ruled_out < reasons.looked_at);
            }
            miss += (reasons.objective.mean - objective(&x)).abs() / reasons.objective.deviation.max(0.1);
            explained += 1;
        }
        let (y, kpis) = measure(&query, 2);
        tuner.tell_all(query, y, &kpis).unwrap();
    }
    assert!(explained > 10 && miss / (explained as f32) < 2.0, "{miss} in {explained}");
    assert_eq!(tuner.recommendation(), Some(best));
    assert_eq!(tuner.explain(), None);
}

/// Where the setting in use breaks a guard, so that nothing is allowed, queries go to where it is kept; a tolerance does not end
/// the task before, also where all that keeps the guard is worth less than what is in use; there it is enough to keep
/// the guard within a standard deviation of the noise.
#[test]
fn a_setting_in_use_that_breaks_a_guard_is_left() {
    const AT_2_3: Guard<'_> = Guard { floor: Floor { level: Level::Value(2.3), risk: 0.05 }, ..EDGE };
    const AT_2_8: Guard<'_> = Guard { floor: Floor { level: Level::Value(2.8), risk: 0.05 }, ..EDGE };
    // The bound, and by how much it may be missed.
    const BETTER: (f32, f32, &[Guard<'_>]) = (2.3, 0.0, &[AT_2_3]);
    const WORSE: (f32, f32, &[Guard<'_>]) = (2.8, 0.05, &[AT_2_8]);
    assert!(edge(&IN_USE) < 2.21);
    let cases = [
        (0.0, BETTER),
        (0.0, BETTER),
        (0.02, BETTER),
        (0.02, BETTER),
        (0.0, WORSE),
        (0.02, WORSE),
        (0.02, WORSE),
    ];
    for (seed, (tolerance, (bound, missed, guards))) in (0..).zip(cases) {
        let (tried, best) = run(Problem { guards, floor: None, tolerance, ..PROBLEM }, seed);
        let late = &tried[tried.len() / 2..];
        let kept = late.iter().filter(|x| edge(x) >= bound - missed).count();
        assert!(tried.len() > 2 && 3 * kept > 2 * late.len(), "{kept} of {}, {bound}", late.len());
        assert!(best.assured && edge(best.point()) > bound - 0.02, "{best:?}");
    }
}

/// Where the setting in use is the best that keeps a guard, every step away breaks it, and the bound is as narrow as the noise, so
/// that nothing is allowed: the task ends, where without an end nine tenths of its budget would be spent on breaking it.
#[test]
fn around_a_setting_that_cannot_be_bettered_a_task_ends() {
    const GUARD: Guard<'static> =
        Guard { floor: Floor { level: Level::Drop(0.1), risk: 0.05 }, noise: &[0.01; 2], ..EDGE };
    const STEPS: Problem<'static> = Problem {
        dimensions: &[Dimension::Grid { low: 0.0, high: 1.0, levels: 11 }; 2],
        guards: &[GUARD],
        ..PROBLEM
    };
    let kpi = |x: &[f32]| 2.0 - 1.5 * ((x[0] - IN_USE[0]).abs() + (x[1] - IN_USE[1]).abs());
    for tolerance in [0.0, 0.01] {
        let (mut time, mut broken) = (0.0, 0.0);
        for seed in 0..8 {
            let mut tuner = start(Problem { tolerance, ..STEPS }, seed.into());
            while let Ask::Query(query) = tuner.ask() {
                let (x, cost) = (query.point(), STEPS.fidelities[query.fidelity()].cost);
                (time, broken) = (time + cost, broken + if kpi(x) < 1.9 { cost } else { 0.0 });
                let seen = kpi(x) + 0.1 * noise(query.round(), seed + 7);
                let y = measure(&query, seed).0;
                tuner.tell_all(query, y, &[seen]).unwrap();
            }
        }
        let budget = 8.0 * STEPS.budget;
        assert!(time < 0.6 * budget && broken < 0.4 * budget, "{broken} of {time}, tolerance {tolerance}");
    }
}

/// Where no setting keeps a guard, or its side was got wrong, the point in use is recommended, and it is said so.
#[test]
fn what_cannot_be_kept_ends_with_the_point_in_use() {
    let floor = Floor { level: Level::Value(100.0), risk: 0.05 };
    for guard in [Guard { floor, ..EDGE }, Guard { floor, noise: &[1e30; 2], ..EDGE }] {
        let guards: &'static [Guard<'static>] = Box::leak(Box::new([guard]));
        let (_, best) = run(Problem { guards, budget: 40.0, ..PROBLEM }, 1);
        assert_eq!((best.point(), best.assured), (&IN_USE[..], false));
    }
}

#[test]
fn constant_and_huge_kpis_do_no_harm() {
    for kpi in [0.0, 1.0, 1e30, -1e30, 1e-40] {
        let mut tuner = start(Problem { budget: 40.0, ..PROBLEM }, 3);
        while let Ask::Query(query) = tuner.ask() {
            let value = if query.round() % 5 == 4 { -kpi } else { kpi };
            let y = objective(query.point());
            tuner.tell_all(query, y, &[kpi, value]).unwrap();
        }
        let (best, guard) = (tuner.recommendation().unwrap(), tuner.guard(0).unwrap());
        assert!(best.mean.is_finite() && guard.margin.is_finite(), "{kpi}: {best:?} {guard:?}");
        let bytes = snapshot(&tuner);
        tuner.load(&bytes).unwrap();
    }
}

#[test]
fn an_answer_without_all_its_numbers_changes_nothing() {
    let mut tuner = start(PROBLEM, 1);
    let mut query = tuner.ask().query().unwrap();
    let wanted = |given| Error::Kpis { wanted: 2, given };
    for (kpis, error) in [
        (&[][..], wanted(0)),
        (&[1.0], wanted(1)),
        (&[1.0; 3], wanted(3)),
        (&[1.0, f32::NAN], Error::NotFinite),
        (&[f32::INFINITY, 1.0], Error::NotFinite),
        (&[2e30, 1.0], Error::NotFinite),
    ] {
        let refused = tuner.tell_all(query, 1.0, kpis).unwrap_err();
        assert_eq!(refused.error, error);
        query = refused.query;
    }
    assert_eq!(tuner.tell(query, 1.0).unwrap_err().error, wanted(0));
    assert_eq!(tuner.status().observations, 0);
    let query = tuner.outstanding().unwrap();
    tuner.fail(query).unwrap();
    assert_eq!(tuner.status().failures, 1);
    let mut memory = Box::new(Toy::new());
    let more = Problem { guards: &[EDGE; 3], ..PROBLEM };
    let refused = memory.start(more, Settings::DEFAULT, 1).map(drop);
    assert_eq!(refused, Err(Error::Capacity { what: "guards", needed: 3, available: 2 }));
    let wrong = Problem { guards: &[Guard { noise: &[0.0], ..EDGE }], ..PROBLEM };
    assert!(matches!(memory.start(wrong, Settings::DEFAULT, 1).map(drop), Err(Error::Live(_))));
}

/// Over two tasks, the second from the first's margins and point in use.
#[test]
fn a_restored_task_goes_on_bit_for_bit() {
    let problem = Problem { budget: 32.0, ..PROBLEM };
    let step = |tuner: &mut Optimizer<'_>, asked: &mut Vec<Vec<f32>>| match tuner.ask() {
        Ask::Query(query) => {
            asked.push(query.point().to_vec());
            let (y, kpis) = measure(&query, 5);
            match query.round() {
                6 => tuner.fail(query).unwrap(),
                _ => tuner.tell_all(query, y, &kpis).unwrap(),
            }
        }
        _ => tuner.next_task().unwrap(),
    };
    let mut tuner = start(problem, 5);
    let (mut asked, mut saved) = (Vec::new(), Vec::new());
    while tuner.task() < 3 {
        saved.push((snapshot(&tuner), asked.len()));
        step(&mut tuner, &mut asked);
    }
    for (bytes, done) in saved.iter().step_by(7) {
        let (mut tuner, mut again) = (start(problem, 5), asked[..*done].to_vec());
        tuner.load(bytes).unwrap();
        assert_eq!(snapshot(&tuner), *bytes);
        while tuner.task() < 3 {
            step(&mut tuner, &mut again);
        }
        assert_eq!(again, asked);
    }
    let guards: &[Guard<'_>] = &[EDGE];
    let mut other = start(Problem { guards, ..problem }, 5);
    assert!(other.load(&saved[3].0).is_err(), "another number of guards");
}
