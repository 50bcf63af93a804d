//! Problems that the station sends: tuned as the core would, refused by name, bound to their knowledge.

use std::vec::Vec;

use foretune_core::{Dimension, Floor, Guard, Level, Problem};
use foretune_link::problem::number;
use foretune_link::{Begin, Blob, Kpis, Misfit, Outcome, Part, Query, Refusal, Request, Response, Upload};

use super::base::bytes_of;
use super::knowledge::{Talk, with};
use super::mock::Sim;
use super::profile::{FLASH, Profile, Sent, Small};
use super::{Bench, Measure, radio, undisturbed};
use crate::board::Status;

#[test]
fn a_problem_that_is_sent_is_tuned_as_the_core_would() {
    let bench = undisturbed::<Sent>(&[200.0, 150.0], radio);
    bench.check();
    let first = &bench.base.notes.traces[0].queries[0];
    assert_eq!(usize::from(first.fidelity), 1, "the point in use comes first, at the truth");
    assert!(bench.base.notes.refused.is_empty(), "{:?}", bench.base.notes.refused);
}

/// Describes a problem and begins a task with it.
fn begin(device: &mut Talk<Small>, problem: &Problem, begin: Begin) -> Response<'static> {
    let bytes = bytes_of(problem);
    device.session(|ask| {
        let mut upload = Upload::problem(&bytes);
        while let Some(request) = upload.request() {
            if let Err(refusal) = with(&ask(&request), |response| upload.receive(&response)) {
                return Response::Refused(refusal);
            }
        }
        let begin = Request::Begin(Begin { problem: number(problem), ..begin });
        with(&ask(&begin), |response| match response {
            Response::Begun { task } => Response::Begun { task },
            Response::Refused(refusal) => Response::Refused(refusal),
            other => panic!("{other:?}"),
        })
    })
}

const FIRST: Begin = Begin { task: 1, seed: 1, budget: 100.0, ..Begin::PLAIN };

#[test]
fn what_does_not_fit_is_refused_by_name_and_the_built_in_problem_still_begins() {
    let sent = Sent::problem();
    let grid = sent.dimensions[0];
    let misfit = |part, at| Refusal::BadProblem(Misfit { part, at });
    let floor = Some(Floor { level: Level::Share(2.0), risk: 0.1 });
    let wide = [grid, Dimension::Category { count: 3 }, grid, grid];
    let hopeless = Guard { noise: &[f32::NAN; 2], ..sent.guards[0] };
    let mut device = Talk::<Small>::to(Sim::new(FLASH));
    for (problem, refusal) in [
        (
            Problem { dimensions: &[grid; 5], deployed: None, floor: None, limits: &[], guards: &[], ..sent },
            misfit(Part::Dimensions, 4),
        ),
        (Problem { dimensions: &wide, ..sent }, misfit(Part::Dimensions, 4)),
        (Problem { fidelities: &[sent.fidelities[0]; 5], guards: &[], ..sent }, misfit(Part::Fidelities, 4)),
        (Problem { guards: &[sent.guards[0]; 3], ..sent }, misfit(Part::Guards, 2)),
        (Problem { guards: &[hopeless], ..sent }, misfit(Part::Guards, 2)),
        (Problem { floor, ..sent }, misfit(Part::Floor, 0)),
        (Problem { deployed: Some(&[900.0, 0.5, -40.0, 0.5]), ..sent }, misfit(Part::PointInUse, 0)),
    ] {
        assert_eq!(begin(&mut device, &problem, FIRST), Response::Refused(refusal));
    }
    device.session(|ask| {
        let offer = Request::Offer { what: Blob::Problem, replaces: 0, total: 1025, crc: 1 };
        let refused = Response::Refused(Refusal::TooLarge { limit: 1024 });
        with(&ask(&offer), |response| assert_eq!(response, refused));
        let request = Request::Begin(Begin { problem: Small::PROFILE.number, ..FIRST });
        with(&ask(&request), |response| assert_eq!(response, Response::Begun { task: 1 }));
    });
}

#[test]
fn knowledge_of_another_problem_is_refused_unless_it_is_taken_on_purpose() {
    let mut bench = undisturbed::<Small>(&[60.0], radio);
    let mut device = Talk::<Small>::to(bench.flash.take().unwrap());
    let bytes = device.download();
    // The same shape with other ranges, so that the particles fit.
    let other = Problem { fidelities: Small::PROFILE.problem.fidelities, guards: &[], ..Sent::problem() };
    let second = Begin { task: 2, ..FIRST };
    let refused = begin(&mut device, &other, second);
    assert_eq!(refused, Response::Refused(Refusal::BadKnowledge { code: 9 }), "other parameters");
    let begun = begin(&mut device, &other, Begin { adopt: true, ..second });
    assert_eq!(begun, Response::Begun { task: 2 });
    assert_eq!(device.download(), bytes, "it is there until the task has ended");
    // It goes on after a restart.
    assert!(matches!(device.greeting(), (foretune_link::Phase::Thinking, 2, _)));
}

/// Step 2 with as many KPIs.
fn miscounting<const KPIS: usize>(query: &Query) -> Outcome {
    let wrong = Outcome::Values(20.0, Kpis::new(&[1.0; KPIS]));
    if query.ticket.step == 2 { wrong } else { radio(query) }
}

#[test]
fn a_report_without_a_kpi_for_every_guard_is_refused_and_changes_nothing() {
    for measure in [miscounting::<0> as Measure, miscounting::<1>, miscounting::<3>] {
        let mut bench = Bench::<Sent>::new(&[200.0], measure);
        bench.run_until(|base| base.notes.refused.len() > 3);
        let refused = &bench.base.notes.refused;
        assert!(refused.iter().all(|refusal| *refusal == Refusal::WrongKpis { wanted: 2 }), "{refused:?}");
        assert_eq!(bench.base.asked(), 3);
        bench.base.notes.measure = radio;
        bench.base.restart();
        bench.run();
        bench.check();
    }
}

/// A point that cannot be measured counts as one below the floor.
fn pit(query: &Query) -> Outcome {
    if query.ticket.step == 2 { Outcome::Failed } else { Outcome::Value(20.0) }
}

#[test]
fn a_trial_below_the_floor_is_counted_and_shown() {
    let mut bench = Bench::<Sent>::new(&[150.0], pit);
    bench.run_asking_status(50);
    bench.check();
    let below: Vec<u32> = bench.base.notes.status.iter().map(|status| status.health.below).collect();
    assert!(*below.last().unwrap() >= 1 && below.is_sorted(), "{below:?}");
    let shown = bench.outside.shown.borrow();
    assert!(shown.contains(&Status::Below) && shown.contains(&Status::Waiting), "{shown:?}");
}
