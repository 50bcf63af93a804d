//! What the station can ask for, and what becomes of measurements that are none.

use std::vec::Vec;

use foretune_link::{Coordinate, DropReason, Outcome, Phase, Query, Reason, Recommendation, Refusal};

use super::profile::{Given, Network, Small, by_itself};
use super::{Bench, radio, undisturbed};
use crate::app::RESTARTS_HERE;
use crate::app::recorder::{FAULT_KNOWLEDGE, FAULT_RESTARTS};
use crate::board::{Cause, Fault, Status};

#[test]
fn three_tasks_are_those_of_the_core_alone() {
    let bench = undisturbed::<Small>(&[150.0, 160.0, 200.0], radio);
    bench.check();
    let ends: Vec<_> =
        bench.base.notes.traces.iter().filter_map(|trace| trace.recommendation.clone()).collect();
    assert!(ends.len() == 3 && ends.iter().all(|end| by_itself(end.reason)), "{ends:?}");
    assert!(ends.iter().all(|end| end.queries > 5), "{ends:?}");
    assert_ne!(bench.base.notes.traces[1].queries, bench.base.notes.traces[2].queries);
}

#[test]
fn particles_in_flash_do_as_well_as_particles_in_memory() {
    undisturbed::<Network>(&[150.0, 160.0, 160.0], radio).check();
}

#[test]
fn the_leds_show_what_the_device_does() {
    let bench = undisturbed::<Small>(&[60.0], radio);
    let shown = bench.outside.shown.borrow();
    assert_eq!(shown[..4], [Status::Idle, Status::Thinking, Status::Waiting, Status::Thinking]);
    assert_eq!(shown.last(), Some(&Status::Idle));
}

/// Fails once at every third step; never comes to anything at every seventh.
fn moody(query: &Query) -> Outcome {
    match (query.ticket.step, query.attempt) {
        (step, 0) if step % 3 == 1 => Outcome::Failed,
        (step, 0 | 1) if step % 5 == 2 => Outcome::Value(f32::NAN),
        (step, attempt) if step % 7 == 3 => match attempt {
            0 => Outcome::Value(f32::INFINITY),
            1 => Outcome::Failed,
            _ => Outcome::Value(f32::NEG_INFINITY),
        },
        _ => radio(query),
    }
}

#[test]
fn failed_tries_are_asked_again_and_given_up_in_the_end() {
    let mut bench = Bench::<Small>::new(&[150.0, 200.0], moody);
    let mut last = 0;
    bench.run_until(|base| {
        if base.asked() > last {
            last = base.asked();
            base.station.ask_status();
        }
        false
    });
    bench.check();
    let reports = bench.base.notes.status.last().unwrap().reports;
    assert!(reports.given_up >= 2 && reports.failed > 3 * reports.given_up, "{reports:?}");
    assert_eq!(reports.repeated, 0);
    let asked = bench.base.asked() as u32;
    assert!(reports.counted + reports.given_up >= asked - 1, "{reports:?} of {asked}");
}

fn hopeless(_: &Query) -> Outcome {
    Outcome::Failed
}

#[test]
fn a_task_without_a_single_value_is_dropped_with_the_reason_and_the_next_can_begin() {
    let bench = undisturbed::<Small>(&[150.0, 100.0], hopeless);
    bench.check();
    assert!(bench.base.notes.traces.iter().all(|trace| trace.recommendation.is_none()));
    let dropped = |task| Refusal::Dropped { task, reason: DropReason::NothingObserved };
    assert_eq!(bench.base.notes.refused, [dropped(1), dropped(2)]);
    assert_eq!(bench.outside.shown.borrow().last(), Some(&Status::Dropped));
}

fn failing_from_the_fifth(query: &Query) -> Outcome {
    if query.ticket.step < 5 { radio(query) } else { Outcome::Failed }
}

#[test]
fn a_task_that_goes_on_failing_ends_in_its_slots_with_what_was_observed() {
    let bench = undisturbed::<Small>(&[2000.0], failing_from_the_fifth);
    bench.check();
    let end = bench.base.notes.traces[0].recommendation.clone().unwrap();
    assert_eq!((end.reason, end.queries), (Reason::Capacity, 24));
}

fn sometimes_huge(query: &Query) -> Outcome {
    let tries = [0, 0, crate::app::TRIES, 1][query.ticket.step as usize % 4];
    if query.attempt < tries { Outcome::Value(-1e35) } else { radio(query) }
}

#[test]
fn a_value_beyond_belief_is_asked_again_and_given_up_in_the_end_and_survives_a_restart_as_such() {
    let mut bench = Bench::<Small>::new(&[150.0, 60.0], sometimes_huge);
    for asked in [3, 6, 9] {
        bench.run_until(|base| base.asked() == asked);
    }
    bench.run();
    bench.check();
}

#[test]
fn tells_its_status_while_it_thinks_and_thinks_on() {
    let mut bench = Bench::<Small>::new(&[150.0], radio);
    bench.run_asking_status(7);
    bench.check();
    let status = &bench.base.notes.status;
    for phase in [Phase::Thinking, Phase::Waiting] {
        assert!(status.iter().any(|status| status.phase == phase), "never {phase:?}");
    }
    let last = status.last().unwrap();
    assert_eq!((last.health.stack_free, last.health.fault), (3096, 0));
}

#[test]
fn stopping_early_gives_the_recommendation() {
    for (task, step) in [(1, 2), (1, 6), (2, 0), (2, 1), (2, 5)] {
        let mut bench = Bench::<Small>::new(&[150.0, 200.0], radio);
        bench.base.notes.stop_at = Some((task, step));
        if (task, step) == (2, 0) {
            // Nothing is observed yet: refused, and the device keeps waiting for its answer.
            bench.run_until(|base| !base.notes.refused.is_empty());
            assert_eq!(bench.base.notes.refused, [Refusal::NothingObserved]);
            bench.base.notes.stop_at = None;
            bench.run();
        } else {
            bench.run();
            let end = bench.base.notes.traces[task as usize - 1].recommendation.clone().unwrap();
            assert_eq!((end.reason, end.queries), (Reason::Stopped, step));
        }
        bench.check();
    }
}

#[test]
fn after_the_end_it_says_what_is_best_under_other_conditions() {
    let mut bench = Bench::<Given>::new(&[150.0, 150.0], radio);
    let own = {
        let mut alone = Bench::<Given>::new(&[150.0, 150.0], radio);
        alone.run();
        alone.base.notes.traces.clone()
    };
    let at = |recommendation: &Recommendation| recommendation.point[2];
    let Coordinate::Unit(last) = at(own[0].recommendation.as_ref().unwrap()) else { panic!("a condition") };
    bench.base.notes.elsewhere = Some(Vec::from([200.0 * last - 100.0, 75.0, 75.0, -50.0]));
    bench.run_until(|base| base.notes.told.len() == 5);
    let told = &bench.base.notes.told;
    let units: Vec<Coordinate> = told.iter().map(at).collect();
    assert_eq!(units, [last, 0.25, 0.875, 0.875, last].map(Coordinate::Unit));
    assert!(told[1].mean != told[2].mean && told[2] == told[3]);
    assert_eq!((&told[0], Some(&told[4])), (&told[4], own[0].recommendation.as_ref()), "and back");
    // What is learnt is what the task ended with, and the next goes on as it would have.
    bench.run();
    assert_eq!(bench.base.notes.traces, own);
}

#[test]
fn after_a_restart_it_says_what_the_task_ended_with() {
    let mut bench = Bench::<Given>::new(&[150.0], radio);
    bench.run_until(|base| base.notes.told.len() == 1);
    bench.base.notes.elsewhere = Some(Vec::from([-50.0]));
    bench.base.notes.finished = false;
    bench.base.station.resume(1);
    bench.run_until(|base| base.notes.told.len() == 3);
    let told = &bench.base.notes.told;
    assert!(told[0] == told[1] && told[1] == told[2], "{told:?}");
}

#[test]
fn an_aborted_task_teaches_nothing_and_its_number_does_not_come_again() {
    let mut bench = Bench::<Small>::new(&[100.0, 200.0, 100.0], radio);
    bench.base.notes.silent_at = Some((2, 4));
    bench.run_until(|base| base.notes.traces[1].queries.len() == 5);
    bench.base.station.abort();
    bench.run();
    let notes = &bench.base.notes;
    assert_eq!(notes.aborted, [2]);
    let mut expected = notes.expected::<Small>(Vec::new());
    // The third task starts from what the first one taught.
    let skipping = Bench::<Small>::new(&[100.0], radio).base.notes;
    assert_eq!(notes.traces[0], skipping.expected::<Small>(Vec::new())[0]);
    assert_eq!(notes.traces[0], expected.remove(0));
    assert_eq!(notes.traces[1].recommendation, None);
    assert_ne!(notes.traces[2], expected[1], "with the second task's knowledge it would have been this");
    assert!(notes.traces[2].recommendation.is_some());
}

#[test]
fn a_fault_before_the_start_is_told_and_the_task_goes_on() {
    let mut bench = Bench::<Small>::new(&[100.0], radio);
    bench.run_until(|base| base.asked() == 6);
    bench.fault = Some(Fault { cause: Cause::Watchdog, pc: 0, status: 0 });
    bench.base.station.ask_status();
    bench.run();
    bench.check();
    let health = bench.base.notes.status[0].health;
    assert_eq!((health.restarts, health.fault), (1, Cause::Watchdog as u16 + 1));
    assert_ne!(health.fault, FAULT_KNOWLEDGE);
}

const PANIC: Fault = Fault { cause: Cause::Panic, pc: 0, status: 0 };

/// Restarts the device in the middle of its replay of task 2, as a panic there would, until that task is dropped.
fn panic_in_every_replay(bench: &mut Bench<Small>, times: u32) {
    bench.run_until(|base| base.notes.traces[1].queries.len() == 6);
    for _ in 0..times {
        bench.fault = Some(PANIC);
        let end = bench.base.now + 3;
        bench.run_until(|base| base.now >= end);
    }
}

#[test]
fn a_task_that_fails_in_every_replay_is_dropped_and_its_knowledge_kept() {
    let mut bench = Bench::<Small>::new(&[100.0, 200.0, 100.0], radio);
    panic_in_every_replay(&mut bench, RESTARTS_HERE - 1);
    bench.fault = Some(PANIC);
    bench.run_asking_status(7);
    let notes = &bench.base.notes;
    let dropped = Refusal::Dropped { task: 2, reason: DropReason::Restarts };
    assert_eq!(notes.refused, [dropped], "the station is told why");
    assert_eq!(notes.status[0].health.fault, FAULT_RESTARTS);
    assert!(bench.outside.shown.borrow().contains(&Status::Dropped), "so is who looks at the LEDs");
    // As if task 2 had never been: the third starts from what the first one taught.
    assert_eq!(notes.traces[1].recommendation, None);
    let learnt = notes.expected_task::<Small>(0, &[]).knowledge;
    let third = notes.expected_task::<Small>(2, &learnt);
    assert_eq!(notes.traces[2], third.trace);
}

#[test]
fn fewer_faults_and_faults_at_other_places_do_not_drop_a_task() {
    let mut bench = Bench::<Small>::new(&[100.0, 200.0, 100.0], radio);
    panic_in_every_replay(&mut bench, RESTARTS_HERE - 1);
    for asked in 7..10 {
        bench.run_until(|base| base.notes.traces[1].queries.len() == asked);
        bench.fault = Some(PANIC);
    }
    bench.run();
    bench.check();
    assert_eq!(bench.base.notes.refused, []);
}

#[test]
fn power_failures_at_the_same_place_do_not_drop_a_task() {
    let mut bench = Bench::<Small>::new(&[100.0], radio);
    bench.run_until(|base| base.asked() == 6);
    for _ in 0..3 * RESTARTS_HERE {
        let end = bench.base.now + 3;
        bench.run_until(|base| base.now >= end);
    }
    bench.run();
    bench.check();
}
