//! Parameters without an order: every value is tried, none is a neighbour of another, and a restored task goes on bit for bit.

use crate::support::{Draws, SETTINGS, assert_goes_on_elsewhere, finish_task, snapshot, start_with};
use foretune_core::{
    Ask, Capacities, Dimension, Error, Fidelity, Floor, Level, Limit, Map, Problem, Settings, memory,
};
use proptest::prelude::*;

const X: Dimension<'static> = Dimension::Interval { low: 0.0, high: 1.0 };
const SIX: Dimension<'static> = Dimension::Category { count: 6 };
/// The same as if they had an order.
const LEVELS: Dimension<'static> = Dimension::Grid { low: 0.0, high: 5.0, levels: 6 };
const NOISE: f32 = 0.1;
const PROBLEM: Problem<'static> = Problem {
    dimensions: &[SIX, X, X],
    fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: NOISE * NOISE }],
    budget: 40.0,
    ..Problem::PLAIN
};

/// What a value of the category is worth, in an order that says nothing, and a hill in the others; 1 at its best.
fn value(worth: &[f32; 6], x: &[f32]) -> f32 {
    let hill = (x[1] - 0.3).powi(2) + (x[2] - 0.7).powi(2);
    worth[x[0] as usize] - 2.0 * hill
}

/// By how much the recommendation falls short of the best, on average over seeds with another order each.
fn loss(problem: Problem<'static>, settings: Settings, seeds: u64) -> f32 {
    let of = |seed: u64| {
        let mut draws = Draws(seed + 1000);
        let mut worth = [1.0, 0.8, 0.6, 0.4, 0.2, 0.0];
        (1..6).for_each(|i| worth.swap(i, (draws.uniform() * (i + 1) as f32) as usize));
        let mut tuner = start_with(64, problem, settings, seed);
        while let Ask::Query(query) = tuner.ask() {
            let y = value(&worth, query.point()) + NOISE * draws.normal();
            tuner.tell(query, y).unwrap();
        }
        1.0 - value(&worth, tuner.recommendation().unwrap().point())
    };
    (0..seeds).map(of).sum::<f32>() / seeds as f32
}

#[test]
fn where_the_order_misleads_a_category_loses_less_than_levels() {
    let category = loss(PROBLEM, Settings::DEFAULT, 24);
    let levels = loss(Problem { dimensions: &[LEVELS, X, X], ..PROBLEM }, Settings::DEFAULT, 24);
    println!("mean loss: {category} as a category, {levels} as levels");
    assert!(category <= levels && category < 0.1, "{category} as a category, {levels} as levels");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_query_is_a_value_and_every_value_is_asked(count in 2u8..=8, other in 2u8..=8, seed: u64) {
        let dimensions = [X, Dimension::Category { count }, Dimension::Category { count: other }];
        let problem = Problem { dimensions: &dimensions, budget: 60.0, ..PROBLEM };
        let mut tuner = start_with(64, problem, Settings { initial: 8, ..SETTINGS }, seed);
        let mut asked = [[false; 8]; 2];
        while let Ask::Query(query) = tuner.ask() {
            for (asked, (x, count)) in asked.iter_mut().zip(query.point()[1..].iter().zip([count, other])) {
                prop_assert!(x.fract() == 0.0 && (0.0..f32::from(count)).contains(x), "{x} of {count}");
                asked[*x as usize] = true;
            }
            tuner.tell(query, 1.0).unwrap();
        }
        prop_assert!(asked[0][..usize::from(count)].iter().all(|asked| *asked), "{asked:?}");
        prop_assert!(asked[1][..usize::from(other)].iter().all(|asked| *asked), "{asked:?}");
    }
}

#[test]
fn a_task_restored_at_any_round_goes_on_bit_for_bit() {
    let mut tuner = start_with(64, PROBLEM, SETTINGS, 5);
    finish_task(&mut tuner);
    tuner.next_task().unwrap();
    let begun = snapshot(&tuner);
    assert_goes_on_elsewhere(&mut tuner, || start_with(64, PROBLEM, SETTINGS, 1));
    let mut levels = start_with(64, Problem { dimensions: &[LEVELS, X, X], ..PROBLEM }, SETTINGS, 5);
    assert!(levels.load(&begun).is_err(), "what was learnt of a category says nothing of levels");
}

#[test]
fn what_cannot_be_is_refused() {
    type Exact = memory!(problem: PROBLEM, settings: SETTINGS, observations: 24);
    assert!(Exact::new().start(PROBLEM, SETTINGS, 1).is_ok());
    type Narrow = memory!(
        dimensions: 3, fidelities: 1, observations: 24, particles: 4, map: Ard, candidates: 32
    );
    let refused =
        |problem: Problem<'static>| Box::leak(Box::new(Narrow::new())).start(problem, SETTINGS, 1).err();
    assert_eq!(refused(PROBLEM), Some(Error::Capacity { what: "features", needed: 8, available: 3 }));
    let switch = Problem { dimensions: &[Dimension::Category { count: 2 }, X, X], ..PROBLEM };
    assert_eq!(refused(switch), None, "two values take no more room than a level");
    let deep = Settings { map: Map::Deep { width: 4 }, ..SETTINGS };
    let wrong = Capacities::checked(&PROBLEM, &deep, 24).unwrap_err();
    assert!(matches!(wrong, Error::Setting { name: "map", .. }), "{wrong}");
    let limits = [Limit { coefficients: &[1.0, 0.0, 0.0], at_most: 9.0 }];
    let limited = Problem { deployed: Some(&[0.0; 3]), limits: &limits, ..PROBLEM };
    assert!(matches!(limited.checked(), Err(Error::Live(_))), "a limit has no coefficient for a category");
}

/// Nothing is known of a value that was never measured, so that a floor keeps away from it; one measurement from before is enough.
#[test]
fn under_a_floor_the_values_are_tried_that_something_is_known_of() {
    const WORTH: [f32; 6] = [10.0, 10.2, 9.9, 10.5, 10.0, 10.0];
    let floor = Some(Floor { level: Level::Share(0.9), risk: 0.05 });
    let problem = Problem { deployed: Some(&[0.0, 0.5, 0.5]), floor, ..PROBLEM };
    for (known, best) in [(0..0, 0.0), (0..6, 3.0)] {
        let (mut tuner, mut draws) = (start_with(64, problem, Settings::LIVE, 1), Draws(1));
        for x in known.map(|value| [value as f32, 0.5, 0.5]) {
            tuner.add_past(&x, 0, value(&WORTH, &x)).unwrap();
        }
        while let Ask::Query(query) = tuner.ask() {
            let y = value(&WORTH, query.point()) + NOISE * draws.normal();
            tuner.tell(query, y).unwrap();
        }
        assert_eq!(tuner.recommendation().unwrap().point()[0], best);
    }
}
