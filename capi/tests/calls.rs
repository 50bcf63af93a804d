//! The functions as C calls them: they do what the core does, bit for bit, and refuse what cannot be, changing nothing.

mod support;

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use foretune_c::foretune_error::*;
use foretune_c::foretune_progress::*;
use foretune_c::*;
use foretune_core::fleet::Header;
use foretune_core::snapshot::ProblemSums;
use foretune_core::{Ask, Dimension, Fleet, Problem, Reading, Settings, Watch, profile};
use support::{FIDELITIES, GRID, Tuner, guarded, kpis, objective, problem, settings, wide};

type Room = foretune_core::memory!(
    dimensions: 2, fidelities: 2, observations: 64, particles: 10, map: Linear, candidates: 80, fleet: true, guards: 2,
    categories: 4
);

#[test]
fn the_same_queries_as_from_rust_bit_for_bit_and_the_same_bytes() {
    let live = Settings { candidates: 80, ..Settings::LIVE };
    same_queries((&problem(), &settings()), (support::RUST, profile::COMPACT));
    same_queries((&guarded(), &settings()), (support::GUARDED, profile::COMPACT));
    same_queries((&guarded(), &support::live_settings()), (support::GUARDED, live));
}

fn same_queries(in_c: (&foretune_problem, &foretune_settings), in_rust: (Problem<'static>, Settings)) {
    let mut memory = Box::new(Room::new());
    let mut rust = memory.start(in_rust.0, in_rust.1, 7).unwrap();
    let mut c = Tuner::start(in_c.0, in_c.1, 7).unwrap();
    for task in 0..2 {
        loop {
            let (progress, query) = c.ask();
            match rust.ask() {
                Ask::Query(expected) => {
                    assert_eq!(progress, FORETUNE_QUERY);
                    assert_eq!(query.point[..2].iter().map(|x| x.to_bits()).collect::<Vec<_>>(), {
                        wide(expected.point()).iter().map(|x| x.to_bits()).collect::<Vec<_>>()
                    });
                    assert_eq!((query.fidelity, query.round), (expected.fidelity() as u32, expected.round()));
                    let y = objective(&query.point, query.fidelity, task);
                    if query.round % 7 == 3 {
                        assert_eq!(c.fail(&query), FORETUNE_OK);
                        rust.fail(expected).unwrap();
                    } else {
                        let kpis = &kpis(&query.point)[..in_c.0.guard_count];
                        assert_eq!(c.tell_all(&query, y, kpis), FORETUNE_OK);
                        rust.tell_all(expected, y, kpis).unwrap();
                    }
                    let mut bytes = Vec::new();
                    rust.snapshot(|piece| bytes.extend_from_slice(piece)).unwrap();
                    assert_eq!(c.snapshot(), bytes, "a snapshot goes from one to the other");
                }
                Ask::Done(_) => break assert_eq!(progress, FORETUNE_DONE),
                other => panic!("{other:?}"),
            }
        }
        let (best, expected) = (c.recommendation().unwrap(), rust.recommendation().unwrap());
        assert_eq!((&best.point[..2], best.mean), (&*wide(expected.point()), expected.mean));
        assert_eq!(best.assured, u32::from(expected.assured));
        for guard in 0..in_c.0.guard_count {
            let (found, expected) = (c.guard(guard).unwrap(), rust.guard(guard).unwrap());
            assert_eq!((Some(found.bound), found.margin), (expected.bound, expected.margin));
            let counts = (found.broken, found.broken_time, found.ruled_out);
            assert_eq!(counts, (expected.broken, expected.broken_time, expected.ruled_out));
        }
        assert_eq!(c.guard(in_c.0.guard_count), Err(FORETUNE_KPIS));
        assert_eq!(c.status().stop, foretune_stop_reason::FORETUNE_STOP_BUDGET as u32);
        assert_eq!(c.call(foretune_next_task), FORETUNE_OK);
        rust.next_task().unwrap();
    }
}

#[test]
fn categories_do_what_they_do_from_rust() {
    const IN_RUST: Problem<'static> = Problem {
        dimensions: &[Dimension::Interval { low: -5.0, high: 10.0 }, Dimension::Category { count: 5 }],
        ..support::RUST
    };
    let category = foretune_dimension { kind: 4, levels: 5, ..support::INTERVAL };
    let (dimensions, nine) =
        ([support::INTERVAL, category], [category, foretune_dimension { levels: 9, ..category }]);
    let problem = foretune_problem { dimensions: dimensions.as_ptr(), ..problem() };
    same_queries((&problem, &settings()), (IN_RUST, profile::COMPACT));
    let (size, ..) = support::check(&problem, &settings());
    assert!(size <= bound(1 + 5, 2, 64, 10, 80), "{size}");
    let refused = foretune_problem { dimensions: nine.as_ptr(), ..problem };
    let (_, error, text) = support::check(&refused, &settings());
    assert!(error == FORETUNE_DIMENSION && text.contains("at most 8 values"), "{text}");
}

#[test]
fn conditions_do_what_they_do_from_rust() {
    let dimensions = [support::INTERVAL, foretune_dimension { kind: 3, ..support::INTERVAL }];
    let problem = foretune_problem { dimensions: dimensions.as_ptr(), ..guarded() };
    let in_rust =
        [Dimension::Interval { low: -5.0, high: 10.0 }, Dimension::Condition { low: -5.0, high: 10.0 }];
    let mut memory = Box::new(Room::new());
    let in_rust = Problem { dimensions: &in_rust, ..support::GUARDED };
    let mut rust = memory.start(in_rust, profile::COMPACT, 7).unwrap();
    let mut c = Tuner::start(&problem, &settings(), 7).unwrap();
    let before = c.snapshot();
    // SAFETY: pointers are null or good.
    let nowhere = unsafe { foretune_ask_at(c.pointer, &9.0, 1, null_mut(), null_mut()) };
    assert_eq!((nowhere, c.snapshot()), (FORETUNE_NULL, before));
    for round in 0.. {
        let load = -5.0 + (4 * round % 15) as f32;
        let other = [f64::from(load) + 0.5, 0.0];
        let (mut progress, mut query) = (FORETUNE_WORKING, support::no_query());
        // SAFETY: pointers are good, here and below.
        let asked = unsafe { foretune_ask_at(c.pointer, &f64::from(load), 1, &mut progress, &mut query) };
        assert_eq!(asked, FORETUNE_OK);
        let Ask::Query(expected) = rust.ask_at(&[load]).unwrap() else { break };
        assert_eq!((progress, &query.point[..2]), (FORETUNE_QUERY, &*wide(expected.point())));
        assert_eq!(query.point[1], f64::from(load));
        // SAFETY: as above.
        let refused = unsafe { foretune_set_conditions(c.pointer, other.as_ptr(), 1) };
        assert_eq!(refused, FORETUNE_CONDITIONS, "another waits for its answer");
        // SAFETY: pointers are good or null.
        let answers = unsafe { [foretune_withdraw(c.pointer), foretune_withdraw(null_mut())] };
        assert_eq!(answers, [FORETUNE_OK, FORETUNE_NULL]);
        let withdrawn = query;
        // SAFETY: as above.
        let again = unsafe {
            [
                foretune_set_conditions(c.pointer, other.as_ptr(), 1),
                foretune_tell(c.pointer, &withdrawn, 1.0),
                foretune_ask_at(c.pointer, &f64::from(load), 1, &mut progress, &mut query),
            ]
        };
        assert_eq!(again, [FORETUNE_OK, FORETUNE_UNKNOWN_QUERY, FORETUNE_OK], "under others, and back");
        assert_eq!(query.point, withdrawn.point);
        let (y, kpis) = (objective(&query.point, query.fidelity, 0), kpis(&query.point));
        // SAFETY: as above.
        let answered = |count: usize| unsafe {
            let (value, cost) = (&y as *const f32, null());
            foretune_answer_at(c.pointer, &query, value, kpis.as_ptr(), 2, cost, other.as_ptr(), count)
        };
        assert_eq!((answered(2), answered(1)), (FORETUNE_CONDITIONS, FORETUNE_OK));
        rust.answer_at(expected, Some(y), &kpis, None, &[load + 0.5]).unwrap();
    }
    let mut bytes = Vec::new();
    rust.snapshot(|piece| bytes.extend_from_slice(piece)).unwrap();
    assert_eq!(c.snapshot(), bytes);
    // SAFETY: all of it is numbers.
    let mut best = unsafe { std::mem::zeroed() };
    for load in [-4.0, 3.0, 9.0] {
        // SAFETY: pointers are good.
        assert_eq!(unsafe { foretune_recommendation_at(c.pointer, &load, 1, &mut best) }, FORETUNE_OK);
        let expected = rust.recommendation_at(&[load as f32]).unwrap();
        assert_eq!((&best.point[..2], best.mean), (&*wide(expected.point()), expected.mean));
    }
    // SAFETY: pointers are good.
    let tell = unsafe { foretune_tell_at(c.pointer, &support::no_query(), 1.0, &3.0, 1) };
    assert_eq!(tell, FORETUNE_UNKNOWN_QUERY);
}

#[test]
fn a_fleet_does_what_it_does_from_rust_and_a_wrong_one_is_refused() {
    let header = Header {
        dimensions: 2,
        fidelities: 2,
        centres: 1,
        modes: 1,
        sets: 1,
        points: 0,
        problem: ProblemSums::of(&support::RUST),
        learnt_from: [3, 3, 30],
        mean: 0.5,
        deviation: 0.5,
        spread: 0.1,
        margin: 1.0,
    };
    let numbers = [-1.0, -1.0, -2.0, -4.0, 2.0, 0.0, 0.0, 2.0, 1.0, 1.2, 1.0, 0.3, -0.5, 0.1];
    let mut bytes = Vec::new();
    header.write(numbers.into_iter(), |piece| bytes.extend_from_slice(piece));
    let mut memory = Box::new(Room::new());
    let mut rust = memory.start(support::RUST, profile::COMPACT, 7).unwrap();
    rust.set_fleet(Some(Fleet::read(&bytes).unwrap())).unwrap();
    let mut c = Tuner::start(&problem(), &settings(), 7).unwrap();
    let mut damaged = bytes.clone();
    damaged[70] ^= 1;
    assert_eq!(c.set_fleet(&damaged), FORETUNE_CHECKSUM);
    assert_eq!(c.set_fleet(&bytes[..40]), FORETUNE_TRUNCATED);
    assert_eq!(c.set_fleet(&bytes), FORETUNE_OK);
    assert_eq!(c.status().fleet, foretune_fleet::FORETUNE_FLEET_WEIGHED as u32);
    while let Ask::Query(expected) = rust.ask() {
        let (_, query) = c.ask();
        assert_eq!(
            (&query.point[..2], query.fidelity as usize),
            (&*wide(expected.point()), expected.fidelity())
        );
        let y = objective(&query.point, query.fidelity, 0);
        assert_eq!(c.tell(&query, y), FORETUNE_OK);
        rust.tell(expected, y).unwrap();
    }
    let (status, known) = (c.status(), rust.status().fleet.unwrap());
    let fleet = if known.refuted { 3 } else { 1 + u32::from(known.supported) };
    assert_eq!((status.fleet, status.fleet_evidence), (fleet, known.evidence));
    assert_eq!(c.set_fleet(&bytes), FORETUNE_OUT_OF_TURN);
}

#[test]
fn a_snapshot_restored_in_another_memory_goes_on_bit_for_bit() {
    let (mut one, mut other) = (Tuner::started(1), Tuner::started(2));
    for _ in 0..8 {
        let (_, query) = one.ask();
        one.tell(&query, objective(&query.point, query.fidelity, 0));
    }
    assert_eq!(other.restore(&one.snapshot()), FORETUNE_OK);
    for _ in 0..5 {
        let (query, copy) = (one.ask().1, other.ask().1);
        assert_eq!(query, copy);
        // Both memories are used side by side.
        let y = objective(&query.point, query.fidelity, 0);
        assert_eq!((one.tell(&query, y), other.tell(&query, y)), (FORETUNE_OK, FORETUNE_OK));
    }
}

#[test]
fn knowledge_starts_the_next_task_elsewhere() {
    let (mut one, mut other) = (Tuner::started(1), Tuner::started(9));
    one.finish_task(0);
    let knowledge = one.knowledge().unwrap();
    assert_eq!(other.load(&knowledge), FORETUNE_OK);
    assert_eq!(other.status().task, 2);
    let mut damaged = knowledge.clone();
    damaged[100] ^= 1;
    assert_eq!(other.load(&damaged), FORETUNE_CHECKSUM);
    assert_eq!(other.load(&knowledge[..50]), FORETUNE_TRUNCATED);
    assert_eq!(other.load(&[]), FORETUNE_TRUNCATED);
    assert_eq!(other.load(b"something else, and long enough"), FORETUNE_FOREIGN);
    let minimised = foretune_problem { goal: foretune_goal::FORETUNE_MINIMISE as u32, ..problem() };
    let mut third = Tuner::start(&minimised, &settings(), 1).unwrap();
    assert_eq!(third.load(&knowledge), FORETUNE_OTHER_PROBLEM);
    // SAFETY: pointers are good.
    let taken =
        unsafe { foretune_load_from_another_problem(third.pointer, knowledge.as_ptr(), knowledge.len()) };
    assert_eq!(taken, FORETUNE_OK);
}

#[test]
fn whatever_is_told_can_be_restored_and_what_was_learnt_of_it_loaded() {
    for (seed, largest) in [(1, 1e30), (2, 3e29), (3, 1e-40)] {
        let (mut one, mut other) = (Tuner::started(seed), Tuner::started(seed));
        while let (FORETUNE_QUERY, query) = one.ask() {
            let small = [0.0, 1e-45][query.round as usize % 2];
            let value = if query.unit[0] > 0.5 { largest } else { small };
            let cost = [None, Some(1e-40), Some(0.0), None][query.round as usize / 4 % 4];
            assert_eq!(one.answer(&query, Some(value), cost), FORETUNE_OK);
            assert_eq!(other.restore(&one.snapshot()), FORETUNE_OK);
        }
        assert!(one.recommendation().unwrap().mean.abs() <= 1e30);
        assert_eq!(other.load(&one.knowledge().unwrap()), FORETUNE_OK);
    }
}

#[test]
fn where_every_measurement_fails_nothing_is_recommended_or_expected() {
    let point = [1.0, 0.5];
    let in_use = foretune_problem { deployed: point.as_ptr(), ..problem() };
    let mut tuner = Tuner::start(&in_use, &settings(), 1).unwrap();
    while let (FORETUNE_QUERY, query) = tuner.ask() {
        assert_eq!(tuner.fail(&query), FORETUNE_OK);
        assert!(tuner.status().expected.is_nan());
    }
    assert_eq!(tuner.recommendation(), Err(FORETUNE_NOTHING_OBSERVED));
    assert!(tuner.status().spent <= in_use.budget);
}

#[test]
fn null_and_misaligned_pointers_and_memory_that_is_too_small_are_refused() {
    let (problem, settings, mut tuner) = (problem(), settings(), null_mut());
    let mut words = vec![0u64; FORETUNE_COMPACT_SIZE / 8];
    let memory = words.as_mut_ptr().cast::<u8>();
    let mut start = |memory: *mut u8, size, problem: *const _, settings: *const _| {
        // SAFETY: pointers are null or good.
        unsafe { foretune_start(memory.cast(), size, problem, settings, 1, &mut tuner) }
    };
    let size = FORETUNE_COMPACT_SIZE;
    assert_eq!(start(null_mut(), size, &problem, &settings), FORETUNE_NULL);
    assert_eq!(start(memory, size, null(), &settings), FORETUNE_NULL);
    assert_eq!(start(memory, size, &problem, null()), FORETUNE_NULL);
    assert_eq!(start(memory.wrapping_add(4), size - 8, &problem, &settings), FORETUNE_MISALIGNED);
    assert_eq!(start(memory, 0, &problem, &settings), FORETUNE_TOO_SMALL);
    let needed = support::check(&problem, &settings).0;
    assert_eq!(start(memory, needed - 1, &problem, &settings), FORETUNE_TOO_SMALL);
    let shifted = (&raw const settings).cast::<u8>().wrapping_add(1).cast();
    assert_eq!(start(memory, size, &problem, shifted), FORETUNE_MISALIGNED);
    assert!(words.iter().all(|word| *word == 0), "a refusal writes nothing");
    assert_eq!(start(words.as_mut_ptr().cast(), needed, &problem, &settings), FORETUNE_OK);
    // SAFETY: pointers are null or good.
    unsafe {
        let (mut progress, mut query) = (FORETUNE_WORKING, support::no_query());
        assert_eq!(foretune_ask(null_mut(), &mut progress, &mut query), FORETUNE_NULL);
        assert_eq!(foretune_ask(tuner, null_mut(), &mut query), FORETUNE_NULL);
        assert_eq!(foretune_ask(tuner, &mut progress, null_mut()), FORETUNE_NULL);
        assert_eq!(foretune_tell(tuner, null(), 1.0), FORETUNE_NULL);
        assert_eq!(foretune_status(tuner, null_mut()), FORETUNE_NULL);
        assert_eq!(foretune_deploy(tuner, null()), FORETUNE_NULL);
        assert_eq!(foretune_load(tuner, null(), 5), FORETUNE_NULL);
        assert_eq!(foretune_snapshot(tuner, null_mut(), 0, null_mut()), FORETUNE_NULL);
        assert_eq!(foretune_default_settings(null_mut()), FORETUNE_NULL);
        let mut status = support::no_status();
        assert_eq!(foretune_status(tuner, &mut status), FORETUNE_OK);
        assert_eq!((status.observations, status.to_replay), (0, 0));
    }
}

#[test]
fn memory_without_a_tuner_and_a_tuner_that_was_moved_are_refused() {
    let mut zeros = vec![0u64; 1024];
    // SAFETY: initialised, and as large as a tuner.
    assert_eq!(unsafe { foretune_stop(zeros.as_mut_ptr().cast()) }, FORETUNE_NOT_STARTED);
    let tuner = Tuner::started(1);
    let mut copy = tuner.memory.clone();
    // SAFETY: as above.
    assert_eq!(unsafe { foretune_stop(copy.as_mut_ptr().cast()) }, FORETUNE_NOT_STARTED);
}

#[test]
fn calls_out_of_turn_and_bad_answers_change_nothing() {
    let mut tuner = Tuner::started(3);
    assert_eq!(tuner.recommendation(), Err(FORETUNE_OUT_OF_TURN));
    assert_eq!(tuner.knowledge(), Err(FORETUNE_OUT_OF_TURN));
    assert_eq!(tuner.call(foretune_next_task), FORETUNE_OUT_OF_TURN);
    let (_, query) = tuner.ask();
    let before = tuner.snapshot();
    assert_eq!(tuner.ask(), (FORETUNE_WAITING, query), "it is had again");
    for (answer, expected) in [(f32::NAN, FORETUNE_NOT_FINITE), (f32::INFINITY, FORETUNE_NOT_FINITE)] {
        assert_eq!(tuner.tell(&query, answer), expected);
    }
    for other in [
        foretune_query { round: query.round + 1, ..query },
        foretune_query { task: 2, ..query },
        foretune_query { fidelity: 77, ..query },
        foretune_query { point: [f64::NAN; FORETUNE_MAX_DIMENSIONS], ..query },
    ] {
        assert_eq!(tuner.tell(&other, 1.0), FORETUNE_UNKNOWN_QUERY);
        assert_eq!(tuner.fail(&other), FORETUNE_UNKNOWN_QUERY);
    }
    assert_eq!(tuner.answer(&query, Some(1.0), Some(-1.0)), FORETUNE_COST);
    assert_eq!(tuner.answer(&query, Some(1.0), Some(f32::NAN)), FORETUNE_COST);
    assert_eq!(tuner.snapshot(), before);
    assert_eq!(tuner.answer(&query, Some(1.0), Some(0.5)), FORETUNE_OK);
    assert_eq!(tuner.call(foretune_stop), FORETUNE_OK);
    assert_eq!(tuner.ask().0, FORETUNE_DONE);
    assert_eq!(tuner.status().stop, foretune_stop_reason::FORETUNE_STOP_REQUESTED as u32);
    let mut empty = Tuner::started(3);
    empty.call(foretune_stop);
    assert_eq!(empty.ask().0, FORETUNE_DONE);
    assert_eq!(empty.recommendation(), Err(FORETUNE_NOTHING_OBSERVED));
}

#[test]
fn an_answer_without_a_number_for_every_guard_changes_nothing() {
    let mut tuner = Tuner::start(&guarded(), &settings(), 3).unwrap();
    assert!(tuner.guard(0).unwrap().bound.is_nan());
    let past = |kpis: &[f32]| {
        // SAFETY: pointers are good.
        unsafe {
            let point = support::IN_USE.as_ptr();
            foretune_add_past_all(tuner.pointer, point, 1, 0.4, kpis.as_ptr(), kpis.len())
        }
    };
    assert_eq!((past(&[3.0]), past(&[3.0, f32::NAN])), (FORETUNE_KPIS, FORETUNE_NOT_FINITE));
    assert_eq!(past(&[3.0, -1.4]), FORETUNE_OK);
    let (_, query) = tuner.ask();
    let before = tuner.snapshot();
    for (kpis, error) in [
        (&[][..], FORETUNE_KPIS),
        (&[1.0], FORETUNE_KPIS),
        (&[1.0; 3], FORETUNE_KPIS),
        (&[1.0, f32::NAN], FORETUNE_NOT_FINITE),
        (&[2e30, 1.0], FORETUNE_NOT_FINITE),
    ] {
        assert_eq!(tuner.tell_all(&query, 1.0, kpis), error, "{kpis:?}");
    }
    assert_eq!(tuner.tell(&query, 1.0), FORETUNE_KPIS);
    // SAFETY: pointers are null or good.
    let without = unsafe { foretune_tell_all(tuner.pointer, &query, 1.0, null(), 2) };
    assert_eq!((without, tuner.snapshot()), (FORETUNE_NULL, before));
    assert_eq!(tuner.tell_all(&query, 1.0, &[3.0, -1.4]), FORETUNE_OK);
    let mut plain = Tuner::started(3);
    let (_, query) = plain.ask();
    assert_eq!(plain.tell_all(&query, 1.0, &[1.0]), FORETUNE_KPIS);
}

#[test]
fn what_is_wrong_is_said_in_words_and_a_running_tuner_survives_a_start_that_fails() {
    let with = |change: fn(&mut foretune_problem, &mut foretune_settings)| {
        let (mut problem, mut settings) = (problem(), settings());
        change(&mut problem, &mut settings);
        (problem, settings)
    };
    // The guards stay, as what a problem points to must.
    let with_guard = |change: fn(&mut foretune_guard)| {
        // SAFETY: the pointer is good.
        let mut guard = unsafe { *guarded().guards };
        change(&mut guard);
        (foretune_problem { guards: Box::leak(Box::new(guard)), guard_count: 1, ..guarded() }, settings())
    };
    let mut tuner = Tuner::started(5);
    let (_, query) = tuner.ask();
    for ((problem, settings), error, words) in [
        (with(|_, s| s.particles = 40), FORETUNE_SETTING, "setting `particles` must be 1 to 16"),
        (with(|_, s| s.preset = 9), FORETUNE_SETTING, "setting `preset` must be a foretune_preset"),
        (with(|_, s| s.carry_particles = 2), FORETUNE_SETTING, "setting `carry_particles` must be 0 or 1"),
        (with(|_, s| s.beta = f32::NAN), FORETUNE_SETTING, "setting `beta` must be 0 to 1e6"),
        (with(|_, s| s.candidates = u32::MAX), FORETUNE_OK, "all is well"),
        (with(|_, s| s.observations = 3), FORETUNE_CAPACITY, "observations: 15 needed"),
        (with(|_, s| s.observations = 70_000), FORETUNE_CAPACITY, "room for 65535"),
        (with(|p, _| p.dimension_count = 17), FORETUNE_DIMENSION, "16 at most"),
        (with(|p, _| p.dimension_count = 0), FORETUNE_DIMENSION, "one at least"),
        (with(|p, _| p.dimensions = null()), FORETUNE_NULL, "a pointer is null"),
        (with(|p, _| p.fidelity_count = usize::MAX), FORETUNE_FIDELITY, "8 at most"),
        (with(|p, _| p.limit_count = 9), FORETUNE_LIVE, "8 `limits` at most"),
        (with(|p, _| p.guard_count = 5), FORETUNE_LIVE, "4 `guards` at most"),
        (with(|p, _| p.guard_count = 1), FORETUNE_NULL, "a pointer is null"),
        (with_guard(|g| g.side = 2), FORETUNE_LIVE, "`side` of `guards` must be a foretune_side"),
        (with_guard(|g| g.floor = 0), FORETUNE_LIVE, "`floor` of `guards` must be a foretune_floor"),
        (with_guard(|g| g.floor = 4), FORETUNE_LIVE, "`floor` of `guards` must be a foretune_floor"),
        (with_guard(|g| g.level = f32::NAN), FORETUNE_LIVE, "each of `guards` needs a bound"),
        (with_guard(|g| g.risk = 0.0), FORETUNE_LIVE, "each of `guards` needs a bound"),
        (with_guard(|g| g.noise = [f32::NAN; 2].as_ptr()), FORETUNE_LIVE, "each of `guards` needs a bound"),
        (with_guard(|g| g.noise = null()), FORETUNE_NULL, "a pointer is null"),
        (with(|p, _| p.budget = f32::NAN), FORETUNE_BUDGET, "budget"),
        (with(|p, _| p.goal = 2), FORETUNE_LIVE, "foretune_goal"),
        (with(|p, _| p.floor = 4), FORETUNE_LIVE, "foretune_floor"),
        (with(|p, _| p.floor = 1), FORETUNE_LIVE, "risk"),
        (with(|p, _| p.dimensions = GRID.as_ptr()), FORETUNE_DIMENSION, "foretune_dimension_kind"),
    ] {
        let (size, found, text) = support::check(&problem, &settings);
        assert_eq!(found, error, "{text}");
        assert!(text.contains(words), "{text}, not {words}");
        assert_eq!(size == 0, error != FORETUNE_OK);
        // SAFETY: pointers are null or good.
        let started = unsafe {
            let memory = tuner.memory.as_mut_ptr().cast();
            foretune_start(memory, FORETUNE_COMPACT_SIZE, &problem, &settings, 5, &mut tuner.pointer)
        };
        assert_eq!(started, if error == FORETUNE_OK { FORETUNE_TOO_SMALL } else { error });
    }
    assert_eq!(tuner.ask(), (FORETUNE_WAITING, query));
    assert_eq!(tuner.tell(&query, 0.5), FORETUNE_OK);
}

#[test]
fn a_narrow_range_far_from_zero_loses_nothing() {
    let channels = foretune_dimension { kind: 1, low: 2.4e9, high: 2.48e9, levels: 8001, values: null() };
    let hertz = foretune_dimension { kind: 0, low: 2.4e9, high: 2.4e9 + 100.0, levels: 0, values: null() };
    let (dimensions, deployed, coefficients) = ([channels, hertz], [2.437_01e9, 2.4e9 + 50.25], [1.0, -1.0]);
    let limit = foretune_limit { coefficients: coefficients.as_ptr(), at_most: 6e7 };
    let problem = foretune_problem {
        dimensions: dimensions.as_ptr(),
        deployed: deployed.as_ptr(),
        limits: &limit,
        limit_count: 1,
        ..problem()
    };
    let mut tuner = Tuner::start(&problem, &settings(), 3).unwrap();
    let best = [2.451_23e9, 2.4e9 + 17.0];
    let value = |point: &[f64]| {
        let gaps = [(point[0] - best[0]) / 8e7, (point[1] - best[1]) / 100.0];
        -gaps.map(|gap| gap * gap).iter().sum::<f64>() as f32
    };
    let (_, first) = tuner.ask();
    assert_eq!(first.point[..2], deployed, "the point in use");
    while let (FORETUNE_QUERY | FORETUNE_WAITING, query) = tuner.ask() {
        let [channel, hertz] = [query.point[0], query.point[1]];
        assert_eq!((channel - 2.4e9) % 1e4, 0.0, "a level: {channel}");
        assert!((2.4e9..=2.46e9 + 100.0).contains(&channel) && channel - hertz <= 6e7, "{channel} {hertz}");
        assert!((2.4e9..=2.4e9 + 100.0).contains(&hertz), "{hertz}");
        assert_eq!(tuner.tell(&query, value(&query.point)), FORETUNE_OK);
    }
    let found = tuner.recommendation().unwrap().point;
    assert!(value(&found) > value(&deployed) / 2.0, "{found:?}");
    // SAFETY: pointers are good.
    unsafe {
        foretune_next_task(tuner.pointer);
        assert_eq!(foretune_add_past(tuner.pointer, best.as_ptr(), 1, 0.0), FORETUNE_OK);
        assert_eq!(foretune_deploy(tuner.pointer, [2.39e9, 2.4e9].as_ptr()), FORETUNE_LIVE, "outside");
        assert_eq!(foretune_deploy(tuner.pointer, best.as_ptr()), FORETUNE_OK);
    }
    assert_eq!(tuner.ask().1.point[..2], best);
}

#[test]
fn points_lie_within_their_ranges_and_knowledge_of_other_ranges_is_refused() {
    let of = |kind, low, high, levels| foretune_dimension { kind, low, high, levels, values: null() };
    for (ours, other) in [
        (of(0, 0.0, 0.3, 0), of(0, 0.0, 0.7, 0)),
        (of(0, 2.4e9, 2.405e9, 0), of(0, 5e9, 5.005e9, 0)),
        (of(1, 2.4e9, 2.48e9, 8001), of(1, 5.1e9, 5.18e9, 8001)),
        (of(3, 1000.0, 1001.0, 0), of(3, 7000.0, 7001.0, 0)),
    ] {
        let [(mut tuner, first), (mut second, _)] = [ours, other].map(|dimension| {
            let (dimensions, deployed) = ([support::INTERVAL, dimension], [0.0, dimension.high]);
            let pointers = (dimensions.as_ptr(), deployed.as_ptr());
            let problem = foretune_problem { dimensions: pointers.0, deployed: pointers.1, ..problem() };
            let mut tuner = Tuner::start(&problem, &settings(), 7).unwrap();
            let first = tuner.ask().1;
            (tuner, first)
        });
        assert!(ours.kind == 3 || first.point[1] == ours.high, "the point in use: {first:?}");
        while let (FORETUNE_QUERY | FORETUNE_WAITING, query) = tuner.ask() {
            assert!((ours.low..=ours.high).contains(&query.point[1]), "{query:?}");
            assert_eq!(tuner.tell(&query, query.unit[1]), FORETUNE_OK);
        }
        assert_eq!(second.load(&tuner.knowledge().unwrap()), FORETUNE_OTHER_PROBLEM);
    }
}

#[test]
fn a_system_in_service_is_tuned_within_its_limits() {
    let (deployed, coefficients) = ([-2.0, 0.3], [1.0, 0.0]);
    let limit = foretune_limit { coefficients: coefficients.as_ptr(), at_most: 1.0 };
    let problem = foretune_problem {
        deployed: deployed.as_ptr(),
        floor: foretune_floor::FORETUNE_FLOOR_DROP as u32,
        floor_level: 0.3,
        risk: 0.1,
        tolerance: 0.001,
        limits: &limit,
        limit_count: 1,
        ..problem()
    };
    let mut settings = settings();
    // SAFETY: the pointer is good.
    unsafe { foretune_live_settings(&mut settings) };
    settings.candidates = 80;
    let mut tuner = Tuner::start(&problem, &settings, 4).unwrap();
    // SAFETY: pointers are good.
    unsafe {
        assert_eq!(foretune_add_past(tuner.pointer, [-2.5, 0.5].as_ptr(), 1, 0.4), FORETUNE_OK);
        assert_eq!(foretune_add_past(tuner.pointer, [99.0, 0.5].as_ptr(), 1, 0.4), FORETUNE_LIVE);
        assert_eq!(foretune_deploy(tuner.pointer, [2.0, 0.3].as_ptr()), FORETUNE_LIVE);
        assert_eq!(foretune_deploy(tuner.pointer, [-2.2, 0.3].as_ptr()), FORETUNE_OK);
    }
    let (_, first) = tuner.ask();
    assert!((first.point[0] + 2.2).abs() < 1e-5, "{first:?}");
    loop {
        let (progress, query) = tuner.ask();
        if progress == FORETUNE_DONE {
            break;
        }
        assert!(query.point[0] <= 1.0);
        tuner.tell(&query, objective(&query.point, query.fidelity, 0));
    }
    let status = tuner.status();
    assert_eq!((status.live, status.past), (1, 1));
    assert!(status.meanwhile.is_finite() && status.worst.is_finite() && status.margin.is_finite());
    assert!(tuner.recommendation().unwrap().point[0] <= 1.0);
    assert_eq!(Tuner::started(1).status().live, 0);
}

#[test]
fn sizes_are_enough_over_a_grid() {
    for d in [1usize, 2, 4, 9, 16] {
        for (m, g) in [(1usize, 1), (1, 4), (4, 0), (4, 2), (7, 0)] {
            for n in [15u32, 16, 17, 64, 200] {
                for (v, q) in [(1u32, 16u32), (10, 80), (16, 300)] {
                    let dimensions = vec![support::INTERVAL; d];
                    let fidelities = vec![FIDELITIES[0]; m];
                    let (deployed, noise) = (vec![0.0; d], vec![0.1; m]);
                    let guard =
                        foretune_guard { side: 0, floor: 1, level: 0.0, risk: 0.1, noise: noise.as_ptr() };
                    let guards = [guard; 4];
                    let problem = foretune_problem {
                        dimensions: dimensions.as_ptr(),
                        dimension_count: d,
                        fidelities: fidelities.as_ptr(),
                        fidelity_count: m,
                        deployed: deployed.as_ptr(),
                        guards: guards.as_ptr(),
                        guard_count: g,
                        ..problem()
                    };
                    let settings = foretune_settings {
                        observations: n,
                        particles: v,
                        candidates: q,
                        ..support::live_settings()
                    };
                    let (size, error, text) = support::check(&problem, &settings);
                    assert_eq!(error, FORETUNE_OK, "{text}");
                    let (n, v, q) = (n as usize, v as usize, q as usize);
                    let more = if g > 0 { guards_bound(g, n, q) } else { 0 };
                    let bound = bound(d, m, n, v, q) + more;
                    let spare = if foretune_core::PAPER { 1000 } else { 1000 + n * (4 * d + 1) };
                    assert!(size <= bound && bound < size + spare, "{size} of {bound}");
                }
            }
        }
    }
    assert!(bound(4, 4, 64, 10, 80) <= FORETUNE_COMPACT_SIZE);
}

/// The same in any memory that is large enough: a size that decided what is asked would do so on one machine and not on another.
#[test]
fn a_memory_has_room_for_repeats_or_is_too_small() {
    let grid = foretune_dimension { kind: 1, levels: 4, ..support::INTERVAL };
    let dimensions = [grid; 2];
    let problem = foretune_problem {
        dimensions: dimensions.as_ptr(),
        dimension_count: 2,
        fidelities: FIDELITIES.as_ptr(),
        fidelity_count: 1,
        ..problem()
    };
    let settings = foretune_settings { observations: 20, ..settings() };
    let (size, _, _) = support::check(&problem, &settings);
    assert!(size <= bound(2, 1, 20, 10, 80) + repeats_bound(2, 20), "{size}");
    assert_eq!(Tuner::start_in(size - 1, &problem, &settings, 1).err(), Some(FORETUNE_TOO_SMALL));
    for more in [0, 1000, 100_000] {
        let mut tuner = Tuner::start_in(size + more, &problem, &settings, 1).unwrap();
        assert_eq!(tuner.status().room, 60, "{more} bytes more");
    }
}

/// Two numbers, the second of which moves after 200 readings.
#[test]
fn a_watch_does_what_it_does_from_rust_and_damage_is_found() {
    let mut watches = [foretune_watch { bytes: [0; FORETUNE_WATCH_BYTES] }; 2];
    let mut rust = [Watch::new(20_000.0).unwrap(); 2];
    let mut changed = 9;
    let mut tell = |watches: &mut [foretune_watch], readings: &[f32], deviation| {
        // SAFETY: all of them are alive, and as many as is said.
        let error = unsafe {
            foretune_watch_tell(
                watches.as_mut_ptr(),
                watches.len(),
                readings.as_ptr(),
                deviation,
                &mut changed,
            )
        };
        (error, changed)
    };
    assert_eq!(tell(&mut watches, &[1.0, 2.0], 1.0), (FORETUNE_FOREIGN, 9));
    for watch in &mut watches {
        // SAFETY: it is alive.
        assert_eq!(unsafe { foretune_watch_start(watch, 20_000.0) }, FORETUNE_OK);
    }
    let found = (0..300u32).find(|i| {
        let readings = [(i * 37 % 101) as f32, (i * 61 % 103) as f32 + if *i < 200 { 0.0 } else { 99.0 }];
        let expected = Watch::tell_all(&mut rust, &readings, 1.0).unwrap() == Reading::Changed;
        assert_eq!(tell(&mut watches, &readings, 1.0), (FORETUNE_OK, u32::from(expected)));
        assert_eq!(watches.map(|watch| watch.bytes), rust.map(|watch| watch.save()));
        expected
    });
    assert!(found.is_some_and(|found| (200..210).contains(&found)), "{found:?}");
    let before = watches;
    assert_eq!(tell(&mut watches, &[1.0, f32::NAN], 1.0).0, FORETUNE_NOT_FINITE);
    assert_eq!(tell(&mut watches, &[1.0, 2.0], 0.0).0, FORETUNE_SETTING);
    assert_eq!(tell(&mut [before[0]; 6], &[1.0; 6], 1.0).0, FORETUNE_KPIS);
    assert_eq!(watches, before);
    let mut status =
        foretune_watch_status { readings: 0, centre: 0.0, deviation: 0.0, evidence: 0.0, change: 9 };
    let look = |watch: *const foretune_watch, status: *mut foretune_watch_status| {
        // SAFETY: null or alive.
        unsafe { foretune_watch_status(watch, status) }
    };
    assert_eq!(look(&watches[1], &mut status), FORETUNE_OK);
    assert_eq!((status.evidence, status.change), (1.0, foretune_change::FORETUNE_UP as u32));
    assert_eq!(status.centre, rust[1].status().baseline.unwrap().centre);
    watches[1].bytes[100] ^= 1;
    assert_eq!(look(&watches[1], &mut status), FORETUNE_CHECKSUM);
    assert_eq!(tell(&mut watches, &[1.0, 2.0], 1.0).0, FORETUNE_CHECKSUM);
    assert_eq!((look(null(), &mut status), look(&watches[0], null_mut())), (FORETUNE_NULL, FORETUNE_NULL));
    // SAFETY: it is alive.
    assert_eq!(unsafe { foretune_watch_start(&mut watches[1], 1.0) }, FORETUNE_SETTING);
}

#[test]
fn every_error_has_a_text() {
    // SAFETY: texts are constants that end with a zero.
    let text = |error: u32| unsafe { CStr::from_ptr(foretune_error_text(error)) }.to_str().unwrap();
    assert_eq!(text(FORETUNE_OUT_OF_TURN as u32), "the call does not fit what the tuner is doing now");
    assert_eq!(text(9999), "unknown error");
}
