//! Problems that the station sends: tuned as the core would, refused by name, bound to their knowledge.

use std::format;
use std::vec::Vec;

use foretune_core::{Floor, Guard, Level, Problem};
use foretune_link::problem::number;
use foretune_link::{
    Begin, Blob, Kpis, Misfit, Outcome, Part, Query, Refusal, Report, Request, Response, Ticket, Upload,
};

use super::base::bytes_of;
use super::knowledge::{Talk, with};
use super::mock::Sim;
use super::profile::{FLASH, Guarded, Profile, Sent, Small};
use super::{Bench, radio, undisturbed};
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
    let hopeless = Guard { noise: &[f32::NAN; 2], ..sent.guards[0] };
    let mut device = Talk::<Small>::to(Sim::new(FLASH));
    for (problem, refusal) in [
        (
            Problem { dimensions: &[grid; 5], deployed: None, floor: None, limits: &[], guards: &[], ..sent },
            misfit(Part::Dimensions, 4),
        ),
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

#[test]
fn a_report_without_a_kpi_for_every_guard_is_refused_and_nothing_is_stored() {
    let mut device = Talk::<Guarded>::to(Sim::new(FLASH));
    device.session(|ask| {
        let mut say = |request: &Request| with(&ask(request), |response| format!("{response:?}"));
        say(&Request::Begin(Begin { problem: Guarded::PROFILE.number, ..FIRST }));
        while !say(&Request::Poll { task: 1 }).starts_with("Query") {}
        let mut report = |outcome| {
            let ticket = Ticket { task: 1, step: 0 };
            say(&Request::Report(Report { ticket, attempt: 0, outcome, cost: None }))
        };
        let values = |kpis: &[f32]| Outcome::Values(1.0, Kpis::new(kpis));
        for outcome in [Outcome::Value(1.0), values(&[1.0]), values(&[1.0; 3])] {
            assert_eq!(report(outcome), "Refused(WrongKpis { wanted: 2 })");
        }
        assert!(report(values(&[1.0, f32::NAN])).starts_with("Again"), "one more try");
        assert!(report(values(&[1.0, -2.0])).starts_with("Settled"));
    });
    device.session(|ask| {
        let recall = Request::Recall { ticket: Ticket { task: 1, step: 0 } };
        with(&ask(&recall), |response| {
            let Response::Recalled { answer, .. } = response else { panic!("{response:?}") };
            assert_eq!((answer.value, &answer.numbers[4..6]), (Some(1.0), &[1.0, -2.0][..]));
        });
    });
}

/// A point that cannot be measured counts as one below the floor.
fn pit(query: &Query) -> Outcome {
    if query.ticket.step == 2 { Outcome::Failed } else { Outcome::Value(20.0) }
}

#[test]
fn a_trial_below_the_floor_is_counted_and_shown() {
    let mut bench = Bench::<Sent>::new(&[150.0], pit);
    bench.run_until(|base| {
        if base.now % 50 == 0 {
            base.station.ask_status();
        }
        false
    });
    bench.check();
    let below: Vec<u32> = bench.base.notes.status.iter().map(|status| status.health.below).collect();
    assert!(*below.last().unwrap() >= 1 && below.is_sorted(), "{below:?}");
    let shown = bench.outside.shown.borrow();
    assert!(shown.contains(&Status::Below) && shown.contains(&Status::Waiting), "{shown:?}");
}
