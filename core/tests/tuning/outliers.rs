//! One absurd answer: an outlier, measured again, and believed only if it comes back.

use crate::support::{MAPS, METHODS, PROBLEM, SETTINGS, objective, snapshot, start, start_with};
use foretune_core::{
    Ask, Dimension, Fidelity, Floor, Goal, Kind, Level, Method, Optimizer, Problem, Query, Settings, Stop,
};
use proptest::prelude::*;

/// 46 answers near 0; the best point is worth 0.
const HILL: Problem<'static> = Problem {
    dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
    fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 1e-4 }],
    budget: 46.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};

fn hill(point: &[f32]) -> f32 {
    -3.0 * ((point[0] - 0.3) * (point[0] - 0.3) + (point[1] - 0.6) * (point[1] - 0.6))
}

fn confirming(confirm: f32, settings: Settings) -> Settings {
    Settings { confirm, ..settings }
}

/// The task's end with `answer` in place of the hill where it says something: how much worse than the best the
/// recommendation truly is, and how many answers are outliers.
fn loss(problem: Problem<'_>, confirm: f32, answer: impl Fn(&Query) -> Option<f32>) -> (f32, usize) {
    let mut tuner = start_with(48, problem, confirming(confirm, Settings::DEFAULT), 3);
    tuner.run_task(|query| Some(answer(query).unwrap_or_else(|| hill(query.point())))).unwrap();
    (-hill(tuner.recommendation().unwrap().point()), tuner.status().outliers)
}

#[test]
fn one_absurd_answer_does_no_harm_wherever_it_comes() {
    let undisturbed = loss(HILL, 30.0, |_| None);
    assert!(undisturbed.0 < 0.01 && undisturbed.1 == 0, "{undisturbed:?}");
    let mut worst: f32 = 0.0;
    for round in [0, 3, 9, 10, 25, 40, 44] {
        for absurd in [999.0, -999.0] {
            let answer = |query: &Query| (query.round() == round).then_some(absurd);
            let (believed, _) = loss(HILL, 0.0, answer);
            let (checked, count) = loss(HILL, 30.0, answer);
            assert!(checked < 0.01 && count == 1, "{absurd} in round {round}: {checked}");
            worst = worst.max(believed);
        }
    }
    assert!(worst > 0.3, "unchecked {worst} at worst");
}

#[test]
fn an_absurd_answer_that_cannot_be_measured_again_counts_as_a_failure() {
    let last = |query: &Query| (query.round() == 45).then_some(999.0);
    let (loss, count) = loss(HILL, 30.0, last);
    assert!(loss < 0.1 && count == 1, "{loss}");
}

#[test]
fn an_answer_that_comes_back_is_believed() {
    // A needle that only one region shows: where the tenth query goes while all answers are plain.
    let mut plain = Vec::new();
    let mut tuner = start_with(48, HILL, confirming(30.0, Settings::DEFAULT), 3);
    tuner
        .run_task(|query| {
            plain.push(query.point().to_vec());
            Some(hill(query.point()))
        })
        .unwrap();
    let needle = &plain[9];
    let peak = |query: &Query| {
        let near = query.point().iter().zip(needle).all(|(x, at)| (x - at).abs() < 0.05);
        near.then_some(500.0)
    };
    let mut tuner = start_with(48, HILL, confirming(30.0, Settings::DEFAULT), 3);
    let (mut asked, mut hits) = (Vec::new(), Vec::new());
    tuner
        .run_task(|query| {
            asked.push(query.point().to_vec());
            hits.extend(peak(query).map(|_| query.round() as usize));
            Some(peak(query).unwrap_or_else(|| hill(query.point())))
        })
        .unwrap();
    let first = *hits.iter().find(|&&round| round >= 7).expect("some query hits it");
    assert_eq!(asked[first], asked[first + 1], "measured again at once");
    assert_eq!(tuner.status().outliers, 0);
    let best = tuner.recommendation().unwrap();
    assert!(best.mean > 250.0, "{best:?}");
}

#[test]
fn the_second_measurement_is_charged_and_takes_a_slot() {
    let mut tuner = start_with(48, HILL, confirming(30.0, Settings::DEFAULT), 3);
    for round in 0..9 {
        let query = tuner.ask().query().unwrap();
        let y = if round == 8 { 999.0 } else { hill(query.point()) };
        tuner.tell(query, y).unwrap();
    }
    let before = tuner.status();
    assert_eq!((before.outliers, before.spent), (1, 9.0));
    let again = tuner.ask().query().unwrap();
    assert_eq!(again.kind(), Kind::Search);
    tuner.tell(again, -0.5).unwrap();
    let after = tuner.status();
    assert_eq!((after.outliers, after.spent, after.room), (1, 10.0, before.room - 1));
    let next = tuner.ask().query().unwrap();
    assert_eq!(next.kind(), Kind::Initial, "the random start goes on");
}

#[test]
fn the_paper_believes_every_answer() {
    assert_eq!(Settings::PAPER.confirm, 0.0);
}

#[test]
fn where_a_floor_is_to_be_kept_a_terrible_answer_is_not_asked_for_twice() {
    let floor = Some(Floor { level: Level::Drop(1.0), risk: 0.05 });
    let live = Problem { deployed: Some(&[0.5, 0.5]), floor, ..HILL };
    for (absurd, again) in [(-999.0, false), (999.0, true)] {
        let mut tuner = start_with(48, live, confirming(30.0, Settings::LIVE), 3);
        let mut asked = Vec::new();
        tuner
            .run_task(|query| {
                asked.push(query.point().to_vec());
                Some(if query.round() == 15 { absurd } else { hill(query.point()) })
            })
            .unwrap();
        assert_eq!(asked[15] == asked[16], again, "{absurd}");
        assert_eq!(tuner.status().outliers, 1);
        let worth = hill(tuner.recommendation().unwrap().point());
        assert!(worth > -0.1, "{absurd}: {worth}");
    }
}

/// Everything that a task asks, and its recommendation, in bits; `absurd` in some round. Restored from a snapshot before
/// the queries of these rounds.
fn trace(settings: Settings, absurd: Option<(u32, f32)>, restored: &[u32]) -> Vec<u32> {
    let mut tuner = start(PROBLEM, settings, 11);
    let mut trace = Vec::new();
    loop {
        let query = match tuner.ask() {
            Ask::Query(query) => query,
            Ask::Done(stop) => return end(&tuner, stop, trace),
            other => panic!("{other:?}"),
        };
        let query = if restored.contains(&query.round()) {
            let bytes = snapshot(&tuner);
            tuner.load(&bytes).unwrap();
            let again = tuner.ask().query().unwrap();
            assert_eq!(again, query);
            again
        } else {
            query
        };
        trace.push(query.fidelity() as u32);
        trace.extend(query.unit().iter().map(|x| x.to_bits()));
        let y = absurd.filter(|(round, _)| *round == query.round()).map(|(_, absurd)| absurd);
        let y = y.unwrap_or_else(|| objective(&query));
        tuner.tell(query, y).unwrap();
    }
}

fn end(tuner: &Optimizer<'_>, stop: Stop, mut trace: Vec<u32>) -> Vec<u32> {
    trace.push(stop as u32);
    trace.push(tuner.status().outliers as u32);
    trace.extend(tuner.recommendation().unwrap().unit().iter().map(|x| x.to_bits()));
    trace.extend(tuner.particles().flatten().map(|x| x.to_bits()));
    trace
}

#[test]
fn without_an_absurd_answer_no_bit_differs() {
    for settings in crate::support::variants(SETTINGS) {
        assert_eq!(trace(confirming(30.0, settings), None, &[]), trace(settings, None, &[]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_replay_finds_the_same_outliers(
        round in 0u32..14,
        size in prop::sample::select(vec![50.0f32, 999.0, 1e6]),
        bad in any::<bool>(),
        method in prop::sample::select(METHODS.to_vec()),
        map in prop::sample::select(MAPS.to_vec()),
        restored in prop::collection::vec(0u32..20, 0..4),
    ) {
        let settings = Settings { map, ..SETTINGS };
        let settings = confirming(30.0, settings.with_method(method));
        let absurd = Some((round, if bad { -size } else { size }));
        let plain = trace(settings, absurd, &[]);
        prop_assert_eq!(trace(settings, absurd, &restored), plain.clone());
        let soon = [round, round + 1, round + 2];
        prop_assert_eq!(trace(settings, absurd, &soon), plain);
    }

    #[test]
    fn the_point_is_asked_again_at_once_and_never_a_third_time(
        round in 8u32..12,
        size in 60.0f32..1e6,
        bad in any::<bool>(),
        second in prop::sample::select(vec![-1e5f32, 0.0, 0.5, 1e5]),
    ) {
        let settings = confirming(30.0, SETTINGS).with_method(Method::MftMes);
        let mut tuner = start(PROBLEM, settings, u64::from(round));
        let mut asked: Vec<(usize, Vec<f32>)> = Vec::new();
        while let Ask::Query(query) = tuner.ask() {
            asked.push((query.fidelity(), query.unit().to_vec()));
            let y = match query.round() {
                now if now == round => if bad { -size } else { size },
                now if now == round + 1 => second,
                _ => objective(&query),
            };
            tuner.tell(query, y).unwrap();
        }
        let (first, again) = (round as usize, round as usize + 1);
        prop_assert_eq!(&asked[first], &asked[again]);
        prop_assert!(asked.get(again + 1).is_none_or(|next| *next != asked[again]) || second.abs() < 1.0);
        prop_assert!(tuner.status().outliers <= 2);
        prop_assert!(tuner.recommendation().unwrap().mean.is_finite());
    }
}
