//! Power that fails: at every operation of the flash, in every way; and twice.

use super::knowledge::with_fleet;
use super::profile::{Given, Known, Network, Profile, Sent, Small};
use super::{Bench, Measure, undisturbed};
use crate::board::Status;
use crate::storage::sim::Tear;
use foretune_link::{Coordinate, Outcome, Query};

/// Fails now and then, so that failed tries are torn, too.
fn measure(query: &Query) -> Outcome {
    match (query.ticket.step, query.attempt) {
        (4, 0 | 1) => Outcome::Failed,
        (6, _) => Outcome::Value(f32::NAN),
        _ => super::radio(query),
    }
}

const BUDGETS: &[f32] = &[60.0, 130.0];

/// Operations of the flash in the whole plan.
fn operations<P: Profile>(measure: Measure) -> u64 {
    undisturbed::<P>(BUDGETS, measure).flash().operations()
}

fn survives<P: Profile>(at: u64, tear: Tear, expected: &[crate::reference::Trace]) {
    let mut bench = Bench::<P>::new(BUDGETS, measure);
    bench.flash().cut_after(at, tear, at);
    bench.run();
    assert_eq!(bench.base.notes.traces, expected, "{tear:?} at operation {at}");
}

fn cut_at_every_operation<P: Profile>() {
    let bench = undisturbed::<P>(BUDGETS, measure);
    bench.check();
    let expected = &bench.base.notes.traces;
    for at in 0..operations::<P>(measure) {
        for tear in Tear::ALL {
            survives::<P>(at, tear, expected);
        }
    }
}

#[test]
fn a_cut_of_any_kind_at_any_operation_changes_nothing() {
    cut_at_every_operation::<Small>();
}

#[test]
fn nor_does_it_with_particles_in_flash() {
    cut_at_every_operation::<Network>();
}

#[test]
fn nor_does_it_with_a_problem_that_was_sent() {
    cut_at_every_operation::<Sent>();
}

#[test]
fn nor_does_it_under_conditions_that_are_told_with_the_answers() {
    reset_after_every_answer::<Known>(measure);
    reset_between_turns::<Known>(measure);
    let bench = undisturbed::<Known>(BUDGETS, measure);
    let conditions = bench.base.notes.traces[0].queries.iter().map(|query| query.point[2]);
    let conditions: std::vec::Vec<_> = conditions.collect();
    assert_eq!(conditions[0], Coordinate::Unit(0.5), "the middle of its range");
    assert_eq!(conditions[1], Coordinate::Unit(0.0), "as the first answer said");
}

#[test]
fn nor_does_it_under_conditions_that_are_given_before_the_answers() {
    cut_at_every_operation::<Given>();
    reset_between_turns::<Given>(measure);
    let bench = undisturbed::<Given>(BUDGETS, measure);
    let units = bench.base.notes.traces[0].queries.iter().map(|query| query.point[2]);
    let wanted = (0..).map(|step| Coordinate::Unit((step * 53 % 9) as f32 / 8.0));
    assert!(units.zip(wanted).all(|(unit, wanted)| unit == wanted));
}

#[test]
fn nor_does_it_with_a_fleet() {
    let bench = |cut: Option<(u64, Tear)>| {
        let mut bench = Bench::<Small>::new(BUDGETS, measure);
        let (flash, file) = with_fleet();
        bench.flash = Some(flash);
        if let Some((at, tear)) = cut {
            bench.flash().cut_after(at, tear, at);
        }
        bench.run();
        (bench, file)
    };
    let before = with_fleet().0.operations();
    let (mut whole, file) = bench(None);
    whole.check_from(file);
    for at in 0..whole.flash().operations() - before {
        let tear = Tear::ALL[at as usize % Tear::ALL.len()];
        assert_eq!(bench(Some((at, tear))).0.traces(), whole.traces(), "{tear:?} at operation {at}");
    }
}

#[test]
fn cuts_upon_cuts_change_nothing() {
    let mut undisturbed = undisturbed::<Small>(BUDGETS, measure);
    let all = undisturbed.flash().operations();
    let expected = &undisturbed.base.notes.traces;
    for seed in 0..20 {
        let mut bench = Bench::<Small>::new(BUDGETS, measure);
        let mut random = seed * 7919 + 1;
        while !bench.base.notes.finished {
            random = (random * 48_271) % 2_147_483_647;
            let tear = Tear::ALL[random as usize % Tear::ALL.len()];
            bench.flash().cut_after(random % all, tear, random);
            bench.run_until(|_| false);
        }
        assert_eq!(bench.base.notes.traces, *expected, "seed {seed}");
    }
}

/// The largest value that is taken, beside the smallest.
fn extreme(query: &Query) -> Outcome {
    let small = [0.0, 1e-45][query.ticket.step as usize % 2];
    let large = query.ticket.step > 0 && super::unit(&query.point[0], 114.0) > 0.5;
    Outcome::Value(if large { 1e30 } else { small })
}

fn reset_after_every_answer<P: Profile>(measure: Measure) {
    let mut bench = Bench::<P>::new(BUDGETS, measure);
    while !bench.base.notes.finished {
        let asked = bench.base.asked();
        bench.run_until(|base| base.asked() > asked);
    }
    bench.check();
    assert!(bench.base.notes.refused.is_empty(), "{:?}", bench.base.notes.refused);
}

#[test]
fn extreme_values_are_read_back_too() {
    reset_after_every_answer::<Small>(extreme);
    // A scale that is given takes a million times its deviation.
    reset_after_every_answer::<Network>(|query| match extreme(query) {
        Outcome::Value(1e30) => Outcome::Value(1e7),
        small => small,
    });
}

fn reset_between_turns<P: Profile>(measure: Measure) {
    let expected = undisturbed::<P>(BUDGETS, measure).base.notes.traces;
    for turns in [1, 7, 50, 333, 1000] {
        let mut bench = Bench::<P>::new(BUDGETS, measure);
        for _ in 0..12 {
            let end = bench.base.now + turns;
            bench.run_until(|base| base.now >= end);
            if bench.base.notes.finished {
                break;
            }
        }
        bench.run();
        assert_eq!(bench.traces(), expected, "every {turns} turns");
    }
}

#[test]
fn a_reset_between_any_two_turns_changes_nothing() {
    reset_between_turns::<Small>(measure);
    reset_between_turns::<Sent>(super::radio);
}

/// The end of a task is written, then what was learnt. A cut in the former may look done at the next start and not at
/// the one after.
#[test]
fn an_end_that_read_well_once_is_not_lost_at_the_next_cut() {
    let budgets = &[60.0];
    let mut undisturbed = undisturbed::<Small>(budgets, measure);
    let all = undisturbed.flash().operations();
    let expected = &undisturbed.base.notes.traces;
    for at in 0..all {
        for later in 0..60 {
            let mut bench = Bench::<Small>::new(budgets, measure);
            bench.flash().cut_after(at, Tear::Weak, at);
            bench.run_until(|_| false);
            bench.flash().cut_after(later, Tear::After, later);
            bench.run();
            assert_eq!(bench.base.notes.traces, *expected, "weak at {at}, cut again after {later}");
        }
    }
}

/// The station begins one task. What its recommendation gives then falls, and the next begins by itself, as expected.
fn watched<P: Profile>(cut: Option<(u64, Tear)>) -> Bench<P> {
    let mut bench = Bench::<P>::new(&[60.0, 60.0], measure);
    bench.base.notes.watches = true;
    if let Some((at, tear)) = cut {
        bench.flash().cut_after(at, tear, at);
    }
    bench.run();
    bench.check();
    assert!(bench.base.notes.refused.is_empty(), "{:?}", bench.base.notes.refused);
    bench
}

#[test]
fn a_change_begins_the_next_task_whatever_cut_comes_between() {
    let mut sent = watched::<Sent>(None);
    assert_eq!(sent.base.notes.changes, 1);
    assert!((60..70).contains(&sent.base.notes.readings), "{}", sent.base.notes.readings);
    assert!(sent.outside.shown.borrow().contains(&Status::Watching));
    for at in 0..sent.flash().operations() {
        let tear = Tear::ALL[at as usize % Tear::ALL.len()];
        assert_eq!(watched::<Sent>(Some((at, tear))).traces(), sent.traces(), "{tear:?} at operation {at}");
    }
}

/// The baseline is not kept: a device that restarts while it watches learns it anew, and still finds the change.
#[test]
fn a_restart_while_it_watches_begins_the_baseline_anew() {
    let mut bench = Bench::<Small>::new(&[60.0, 60.0], measure);
    bench.base.notes.watches = true;
    bench.run_until(|base| base.notes.readings == 40);
    bench.run();
    bench.check();
    assert_eq!(bench.base.notes.changes, 1);
    assert!((100..112).contains(&bench.base.notes.readings), "{}", bench.base.notes.readings);
}
