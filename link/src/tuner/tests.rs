use super::*;
use crate::frame::crc32;
use crate::message::{Coordinate, DropReason, Point, Reason};
use std::boxed::Box;
use std::vec::Vec;

/// Remembers what it was told; refuses when told to.
#[derive(Default)]
struct Notebook {
    events: Vec<Event>,
    refusal: Option<Refusal>,
    knowledge: Vec<u8>,
    sequence: u32,
    incoming: Vec<u8>,
    described: Vec<u8>,
}

impl Application for Notebook {
    fn apply(&mut self, event: &Event) -> Result<(), Refusal> {
        self.refusal.map_or(Ok(()), Err)?;
        if let Event::Begun(begin) = event
            && begin.problem != 5
            && begin.problem != crc32(&self.described)
        {
            return Err(Refusal::WrongProblem { ours: 5 });
        }
        self.events.push(*event);
        Ok(())
    }
    fn open_problem(&mut self, total: u32) -> Result<(), Refusal> {
        self.described.clear();
        if total > 100 { Err(Refusal::TooLarge { limit: 100 }) } else { Ok(()) }
    }
    fn write_problem(&mut self, data: &[u8]) -> Result<(), Refusal> {
        self.described.extend_from_slice(data);
        Ok(())
    }
    fn health(&self) -> Health {
        Health { stack_free: 1000, restarts: 2, fault: 77, below: 3 }
    }
    fn knowledge(&self) -> Knowledge {
        let total = self.knowledge.len() as u32;
        Knowledge { sequence: self.sequence, total, crc: crc32(&self.knowledge) }
    }
    fn read_knowledge(&mut self, offset: u32, data: &mut [u8]) -> Result<(), Refusal> {
        data.copy_from_slice(&self.knowledge[offset as usize..][..data.len()]);
        Ok(())
    }
    fn open_knowledge(&mut self, total: u32) -> Result<(), Refusal> {
        self.incoming.clear();
        if total > 1000 { Err(Refusal::TooLarge { limit: 1000 }) } else { Ok(()) }
    }
    fn write_knowledge(&mut self, data: &[u8]) -> Result<(), Refusal> {
        self.incoming.extend_from_slice(data);
        Ok(())
    }
    fn commit_knowledge(&mut self, crc: u32) -> Result<(), Refusal> {
        if crc32(&self.incoming) != crc {
            return Err(Refusal::Checksum);
        }
        self.knowledge = core::mem::take(&mut self.incoming);
        self.sequence += 1;
        Ok(())
    }
    fn forget_knowledge(&mut self) -> Result<(), Refusal> {
        self.knowledge.clear();
        self.sequence += 1;
        Ok(())
    }
}

const IDENTITY: Identity<'static> =
    Identity { firmware: "test", profile: "toy", problem: 5, dimensions: 1, fidelities: 2, tries: 3 };
const BEGIN: Begin = Begin { task: 1, problem: 5, seed: 9, budget: 10.0, ..Begin::PLAIN };

fn proposal(level: u16) -> Proposal {
    let point = Point::from_slice(&[Coordinate::Level(level)]).unwrap();
    Proposal { fidelity: 1, samples: 20, cost: 2.0, point }
}

fn recommendation(task: u32) -> Recommendation {
    let point = proposal(4).point;
    Recommendation { task, reason: Reason::Budget, queries: 1, spent: 2.0, mean: 0.5, point }
}

/// A tuner with its notebook.
struct Bench {
    tuner: Tuner,
    app: Notebook,
}

impl Bench {
    fn new() -> Self {
        Self { tuner: Tuner::new(IDENTITY), app: Notebook::default() }
    }

    /// Task 1 begun and its first query open.
    fn waiting() -> Self {
        let mut bench = Self::new();
        assert_eq!(bench.say(Request::Begin(BEGIN)), Response::Begun { task: 1 });
        bench.tuner.ask(proposal(3));
        bench
    }

    fn say(&mut self, request: Request) -> Response<'static> {
        let scratch = Box::leak(Box::new([0; MAX_CHUNK]));
        self.tuner.answer(&request, &mut self.app, scratch)
    }

    fn report(&mut self, task: u32, step: u32, attempt: u8, outcome: Outcome) -> Response<'static> {
        self.say(Request::Report(Report { ticket: Ticket { task, step }, attempt, outcome, cost: None }))
    }
}

#[test]
fn a_report_counts_once_and_is_answered_as_often_as_it_comes() {
    let mut bench = Bench::waiting();
    let ticket = Ticket { task: 1, step: 0 };
    for _ in 0..3 {
        assert_eq!(bench.report(1, 0, 0, Outcome::Value(0.5)), Response::Settled { ticket });
    }
    assert_eq!(bench.report(1, 0, 0, Outcome::Value(0.7)), Response::Settled { ticket });
    assert_eq!(bench.app.events, [Event::Begun(BEGIN), Event::Observed { ticket, value: 0.5, cost: None }]);
    assert_eq!(bench.tuner.reports, ReportCounters { counted: 1, repeated: 3, ..Default::default() });
}

#[test]
fn reports_of_other_tasks_and_coming_steps_are_refused() {
    let mut bench = Bench::waiting();
    let refused = |refusal| Response::Refused(refusal);
    assert_eq!(bench.report(0, 0, 0, Outcome::Value(1.0)), refused(Refusal::WrongTask { current: 1 }));
    assert_eq!(bench.report(2, 0, 0, Outcome::Value(1.0)), refused(Refusal::WrongTask { current: 1 }));
    assert_eq!(bench.report(1, 1, 0, Outcome::Value(1.0)), refused(Refusal::WrongStep { expected: 0 }));
    assert_eq!(bench.app.events.len(), 1);
}

#[test]
fn a_report_before_the_query_is_asked_is_not_counted() {
    let mut bench = Bench::new();
    bench.say(Request::Begin(BEGIN));
    assert!(matches!(bench.report(1, 0, 0, Outcome::Value(1.0)), Response::Working { .. }));
    assert_eq!(bench.app.events.len(), 1);
}

#[test]
fn what_is_not_finite_is_asked_again_and_given_up_after_the_stated_tries() {
    let mut bench = Bench::waiting();
    let ticket = Ticket { task: 1, step: 0 };
    let again = |attempt, reason| Response::Again { ticket, attempt, reason };
    assert_eq!(bench.report(1, 0, 0, Outcome::Value(f32::NAN)), again(1, Retry::NotFinite));
    assert_eq!(
        bench.report(1, 0, 0, Outcome::Value(f32::NAN)),
        again(1, Retry::NotFinite),
        "a repeat is no try"
    );
    assert_eq!(bench.report(1, 0, 1, Outcome::Failed), again(2, Retry::Failed));
    assert_eq!(bench.report(1, 0, 2, Outcome::Value(f32::INFINITY)), Response::Settled { ticket });
    assert_eq!(bench.app.events.last(), Some(&Event::GivenUp { ticket }));
    assert_eq!(bench.tuner.ticket(), Ticket { task: 1, step: 1 });
    assert_eq!(bench.tuner.reports, ReportCounters { failed: 3, repeated: 1, given_up: 1, counted: 0 });
}

#[test]
fn a_value_of_an_earlier_try_is_as_good_as_one_of_the_last() {
    let mut bench = Bench::waiting();
    bench.report(1, 0, 0, Outcome::Failed);
    let ticket = Ticket { task: 1, step: 0 };
    assert_eq!(bench.report(1, 0, 0, Outcome::Value(2.0)), Response::Settled { ticket });
}

#[test]
fn begin_may_be_repeated_but_not_changed() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.say(Request::Begin(BEGIN)), Response::Begun { task: 1 });
    let other = Begin { budget: 11.0, ..BEGIN };
    assert_eq!(bench.say(Request::Begin(other)), Response::Refused(Refusal::Busy { task: 1 }));
    bench.tuner.finish(recommendation(1));
    assert_eq!(bench.say(Request::Begin(BEGIN)), Response::Begun { task: 1 });
    assert_eq!(bench.say(Request::Poll { task: 1 }), Response::Finished(recommendation(1)), "still finished");
    assert_eq!(bench.app.events.len(), 1);
}

#[test]
fn begin_wants_the_next_number_the_right_problem_and_a_budget() {
    let mut bench = Bench::new();
    let mut begin = |change: Begin| bench.say(Request::Begin(change));
    assert_eq!(begin(Begin { task: 2, ..BEGIN }), Response::Refused(Refusal::WrongTask { current: 0 }));
    assert_eq!(begin(Begin { problem: 6, ..BEGIN }), Response::Refused(Refusal::WrongProblem { ours: 5 }));
    for budget in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(begin(Begin { budget, ..BEGIN }), Response::Refused(Refusal::BadBudget));
    }
    assert!(bench.app.events.is_empty());
}

#[test]
fn an_event_that_cannot_be_stored_has_not_happened() {
    let mut bench = Bench::waiting();
    bench.app.refusal = Some(Refusal::Storage);
    assert_eq!(bench.report(1, 0, 0, Outcome::Value(1.0)), Response::Refused(Refusal::Storage));
    assert_eq!(bench.say(Request::Stop { task: 1 }), Response::Refused(Refusal::Storage));
    assert_eq!(bench.say(Request::Abort { task: 1 }), Response::Refused(Refusal::Storage));
    bench.app.refusal = None;
    assert!(matches!(bench.say(Request::Poll { task: 1 }), Response::Query(_)));
    assert_eq!(
        bench.report(1, 0, 0, Outcome::Value(1.0)),
        Response::Settled { ticket: Ticket { task: 1, step: 0 } }
    );
}

#[test]
fn stop_is_noted_once_and_ends_the_asking() {
    let mut bench = Bench::waiting();
    for _ in 0..2 {
        assert!(matches!(bench.say(Request::Stop { task: 1 }), Response::Working { .. }));
    }
    assert_eq!(bench.app.events, [Event::Begun(BEGIN), Event::Stopped { task: 1 }]);
    bench.tuner.ask(proposal(1));
    assert!(matches!(bench.say(Request::Poll { task: 1 }), Response::Working { .. }));
    bench.tuner.finish(recommendation(1));
    assert_eq!(bench.say(Request::Stop { task: 1 }), Response::Finished(recommendation(1)));
}

#[test]
fn an_aborted_task_is_gone_and_its_number_with_it() {
    let mut bench = Bench::waiting();
    for _ in 0..2 {
        assert_eq!(bench.say(Request::Abort { task: 1 }), Response::Aborted { task: 1 });
    }
    assert_eq!(bench.app.events.len(), 2);
    let gone = Response::Refused(Refusal::WrongTask { current: 1 });
    assert_eq!(bench.say(Request::Begin(BEGIN)), gone);
    assert_eq!(bench.say(Request::Poll { task: 1 }), gone);
    assert_eq!(bench.report(1, 0, 0, Outcome::Value(1.0)), gone);
    assert_eq!(bench.say(Request::Begin(Begin { task: 2, ..BEGIN })), Response::Begun { task: 2 });
}

#[test]
fn a_dropped_task_is_refused_with_the_reason_until_the_next_begins() {
    let mut bench = Bench::waiting();
    bench.tuner.drop_task(DropReason::Restarts);
    let dropped = Response::Refused(Refusal::Dropped { task: 1, reason: DropReason::Restarts });
    assert_eq!(bench.say(Request::Poll { task: 1 }), dropped);
    assert_eq!(bench.report(1, 0, 0, Outcome::Value(1.0)), dropped);
    assert_eq!(bench.say(Request::Stop { task: 1 }), dropped);
    assert_eq!(bench.say(Request::Begin(BEGIN)), dropped, "a repeat of what began it");
    assert_eq!(bench.say(Request::Abort { task: 1 }), Response::Aborted { task: 1 });
    let wrong = Response::Refused(Refusal::WrongTask { current: 1 });
    assert_eq!(bench.say(Request::Poll { task: 3 }), wrong);
    assert_eq!(bench.say(Request::Begin(Begin { task: 2, ..BEGIN })), Response::Begun { task: 2 });
    assert_eq!(bench.tuner.dropped(), None);
    assert_eq!(bench.say(Request::Poll { task: 1 }), Response::Refused(Refusal::WrongTask { current: 2 }));
}

#[test]
fn replayed_events_restore_the_dialogue() {
    let mut bench = Bench::waiting();
    bench.report(1, 0, 0, Outcome::Value(1.0));
    bench.tuner.ask(proposal(2));
    bench.report(1, 1, 0, Outcome::Failed);
    let before = bench.say(Request::Poll { task: 1 });
    bench.tuner = Tuner::new(IDENTITY);
    for event in bench.app.events.clone() {
        bench.tuner.replay(&event);
    }
    assert!(matches!(bench.say(Request::Poll { task: 1 }), Response::Working { .. }));
    bench.tuner.ask(proposal(2));
    assert_eq!(bench.say(Request::Poll { task: 1 }), before);
}

#[test]
fn knowledge_is_taken_in_order_and_only_whole() {
    let mut bench = Bench::new();
    let crc = crc32(b"abcdef");
    let write = |offset, data| Request::Write { crc, offset, data };
    let ready = |offset| Response::Ready { offset };
    assert_eq!(bench.say(write(0, b"abc")), Response::Refused(Refusal::NoTransfer));
    let offer = Request::Offer { knowledge: 0, total: 6, crc };
    assert_eq!(bench.say(offer), ready(0));
    assert_eq!(bench.say(write(3, b"def")), ready(0), "too early");
    assert_eq!(bench.say(write(0, b"abc")), ready(3));
    assert_eq!(bench.say(write(0, b"abc")), ready(3), "repeated");
    assert_eq!(bench.say(offer), ready(3), "repeated");
    assert_eq!(bench.say(Request::Commit { crc }), ready(3), "too early");
    assert_eq!(bench.say(write(3, b"defg")), Response::Refused(Refusal::TooLarge { limit: 6 }));
    assert_eq!(bench.say(write(3, b"def")), ready(6));
    let stored = Response::Stored(Knowledge { sequence: 1, total: 6, crc });
    assert_eq!(bench.say(Request::Commit { crc }), stored);
    assert_eq!(bench.say(Request::Commit { crc }), stored, "repeated");
    assert_eq!(bench.say(offer), Response::Refused(Refusal::WrongKnowledge { current: 1 }), "late");
    assert_eq!(
        bench.say(Request::Read { knowledge: 1, offset: 2 }),
        Response::Chunk { offset: 2, data: b"cdef" }
    );
    assert_eq!(
        bench.say(Request::Read { knowledge: 1, offset: 99 }),
        Response::Chunk { offset: 99, data: b"" }
    );
}

#[test]
fn knowledge_is_forgotten_once() {
    let mut bench = Bench::new();
    (bench.app.knowledge, bench.app.sequence) = (b"abc".to_vec(), 4);
    for _ in 0..2 {
        let stored = Response::Stored(Knowledge { sequence: 5, total: 0, crc: 0 });
        assert_eq!(bench.say(Request::Forget { knowledge: 4 }), stored);
    }
    (bench.app.knowledge, bench.app.sequence) = (b"new".to_vec(), 6);
    let late = Response::Refused(Refusal::WrongKnowledge { current: 6 });
    assert_eq!(bench.say(Request::Forget { knowledge: 4 }), late);
}

#[test]
fn knowledge_does_not_change_under_a_task_but_may_be_read() {
    let mut bench = Bench::waiting();
    let busy = Response::Refused(Refusal::Busy { task: 1 });
    assert_eq!(bench.say(Request::Offer { knowledge: 0, total: 6, crc: 1 }), busy);
    assert_eq!(bench.say(Request::Forget { knowledge: 0 }), busy);
    assert_eq!(
        bench.say(Request::Read { knowledge: 0, offset: 0 }),
        Response::Chunk { offset: 0, data: b"" }
    );
}

#[test]
fn a_fault_is_shown_and_refuses_work() {
    let mut bench = Bench::waiting();
    bench.tuner.fail();
    assert_eq!(bench.say(Request::Poll { task: 1 }), Response::Refused(Refusal::Fault { code: 77 }));
    assert!(matches!(bench.say(Request::Status), Response::Status(Status { phase: Phase::Fault, .. })));
    assert!(matches!(bench.say(Request::Hello { version: 1 }), Response::Greeting(_)));
}

#[test]
fn texts_are_cut_at_whole_characters() {
    assert_eq!(cut("short"), "short");
    let long = "0123456789012345678901234567890ä";
    assert_eq!(cut(long), "0123456789012345678901234567890");
}

#[test]
fn a_problem_is_received_in_pieces_and_a_task_begins_with_it() {
    let mut bench = Bench::new();
    let crc = crc32(b"problem");
    let begin = Begin { problem: crc, ..BEGIN };
    assert_eq!(bench.say(Request::Begin(begin)), Response::Refused(Refusal::WrongProblem { ours: 5 }));
    let describe = Request::Describe { total: 7, crc };
    assert_eq!(bench.say(describe), Response::Ready { offset: 0 });
    let write = |offset, data| Request::Write { crc, offset, data };
    assert_eq!(bench.say(write(0, b"prob")), Response::Ready { offset: 4 });
    assert_eq!(bench.say(write(0, b"prob")), Response::Ready { offset: 4 }, "repeated");
    assert_eq!(bench.say(describe), Response::Ready { offset: 4 }, "repeated");
    assert_eq!(bench.say(Request::Commit { crc }), Response::Refused(Refusal::NoTransfer), "no knowledge");
    assert_eq!(bench.say(write(4, b"lemma")), Response::Refused(Refusal::TooLarge { limit: 7 }));
    assert_eq!(bench.say(write(4, b"lem")), Response::Ready { offset: 7 });
    assert_eq!(bench.say(Request::Begin(begin)), Response::Begun { task: 1 });
    assert_eq!(bench.app.events, [Event::Begun(begin)]);
    assert_eq!(bench.say(describe), Response::Refused(Refusal::Busy { task: 1 }));
}

#[test]
fn a_problem_that_came_out_wrong_is_received_anew() {
    let mut bench = Bench::new();
    let crc = crc32(b"problem");
    bench.say(Request::Describe { total: 7, crc });
    bench.say(Request::Write { crc, offset: 0, data: b"pr0blem" });
    let begin = Request::Begin(Begin { problem: crc, ..BEGIN });
    assert_eq!(bench.say(begin), Response::Refused(Refusal::WrongProblem { ours: 5 }));
    assert_eq!(bench.say(Request::Describe { total: 7, crc }), Response::Ready { offset: 0 });
    assert_eq!(
        bench.say(Request::Describe { total: 101, crc }),
        Response::Refused(Refusal::TooLarge { limit: 100 })
    );
}

#[test]
fn an_actual_cost_is_passed_on_and_an_impossible_one_is_asked_again() {
    let mut bench = Bench::waiting();
    let ticket = Ticket { task: 1, step: 0 };
    let report = |attempt, cost| {
        Request::Report(Report { ticket, attempt, outcome: Outcome::Value(0.5), cost: Some(cost) })
    };
    for (attempt, cost) in [(0, f32::NAN), (1, -1.0)] {
        let again = Response::Again { ticket, attempt: attempt + 1, reason: Retry::NotFinite };
        assert_eq!(bench.say(report(attempt, cost)), again);
    }
    assert_eq!(bench.say(report(2, 12.5)), Response::Settled { ticket });
    assert_eq!(bench.app.events.last(), Some(&Event::Observed { ticket, value: 0.5, cost: Some(12.5) }));
}

/// What a station of version 1 says first, byte for byte, and how it reads the answer.
#[test]
fn a_station_of_version_1_reads_the_version_and_stops() {
    let hello = [0x00, 0x03, 0x3e, 0x01, 0x06, 0x01, 0x2f, 0x0a, 0x75, 0x47, 0x00];
    let (mut decoder, mut bench, mut out) = (Decoder::<64>::new(), Bench::new(), [0; crate::MAX_FRAME]);
    let answers: Vec<Vec<u8>> = hello
        .iter()
        .filter_map(|byte| {
            bench.tuner.serve(&mut decoder, *byte, &mut bench.app, &mut out).map(<[u8]>::to_vec)
        })
        .collect();
    let mut decoder = Decoder::<64>::new();
    let body = answers[0].iter().find_map(|byte| decoder.push(*byte).map(<[u8]>::to_vec)).unwrap();
    assert_eq!(body[..4], [b'<', 1, 0, 2], "mark, tag, greeting, version");
}
