//! The device's side alone: which requests it takes, and what it answers to the others.

use foretune_link::frame::crc32;
use foretune_link::tuner::{Event, Tuner};
use foretune_link::{
    Answer, Begin, Blob, Decoder, DropReason, Knowledge, Kpis, MAX_CHUNK, MAX_FRAME, Outcome, Phase, Reading,
    Recommendation, Refusal, Report, ReportCounters, Request, Response, Retry, Status, Ticket, VERSION,
};

use crate::toy::{IDENTITY, LIMIT, Memory, PROBLEM, TRIES, propose, recommend, restored, think};

const BEGIN: Begin = Begin { task: 1, problem: PROBLEM, seed: 9, budget: 10.0, ..Begin::PLAIN };
const FIRST: Ticket = Ticket { task: 1, step: 0 };
const SETTLED: Response<'static> = Response::Settled { ticket: FIRST };

/// A tuner with its memory.
struct Bench {
    tuner: Tuner,
    app: Memory,
}

impl Bench {
    fn new() -> Self {
        Self { tuner: Tuner::new(IDENTITY), app: Memory::default() }
    }

    /// Task 1 begun and its first query open.
    fn waiting() -> Self {
        let mut bench = Self::new();
        assert_eq!(bench.say(Request::Begin(BEGIN)), Response::Begun { task: 1 });
        bench.ask();
        bench
    }

    fn ask(&mut self) {
        self.app.open = Some(propose(&BEGIN, &[], &self.app.events));
        self.tuner.ask();
    }

    fn say(&mut self, request: Request) -> Response<'static> {
        let scratch = Box::leak(Box::new([0; MAX_CHUNK]));
        self.tuner.answer(&request, &mut self.app, scratch)
    }

    /// Says these one after the other, each of which is answered so.
    fn talk(&mut self, said: &[(Request, Response)]) {
        for (i, (request, response)) in said.iter().enumerate() {
            assert_eq!(self.say(*request), *response, "{i}: {request:?}");
        }
    }

    fn report(&mut self, step: u32, attempt: u8, outcome: Outcome) -> Response<'static> {
        self.say(report(1, step, attempt, outcome))
    }

    fn counters(&mut self) -> ReportCounters {
        let Response::Status(status) = self.say(Request::Status) else { panic!("no status") };
        status.reports
    }

    fn end(&self) -> Recommendation {
        recommend(&BEGIN, &[], &self.app.events)
    }
}

fn report(task: u32, step: u32, attempt: u8, outcome: Outcome) -> Request<'static> {
    Request::Report(Report { ticket: Ticket { task, step }, attempt, outcome, cost: None })
}

fn refused(refusal: Refusal) -> Response<'static> {
    Response::Refused(refusal)
}

#[test]
fn a_report_counts_once_and_is_answered_as_often_as_it_comes() {
    let mut bench = Bench::waiting();
    for value in [0.5, 0.5, 0.5, 0.7] {
        assert_eq!(bench.report(0, 0, Outcome::Value(value)), SETTLED);
    }
    assert_eq!(bench.app.begin, Some(BEGIN));
    assert_eq!(
        bench.app.events,
        [Event::Observed { ticket: FIRST, value: 0.5, kpis: Kpis::NONE, cost: None }]
    );
    assert_eq!(bench.counters(), ReportCounters { counted: 1, repeated: 3, ..Default::default() });
}

#[test]
fn reports_of_other_tasks_and_coming_steps_are_refused_and_early_ones_not_counted() {
    let mut bench = Bench::waiting();
    let value = Outcome::Value(1.0);
    bench.talk(&[
        (report(0, 0, 0, value), refused(Refusal::WrongTask { current: 1 })),
        (report(2, 0, 0, value), refused(Refusal::WrongTask { current: 1 })),
        (report(1, 1, 0, value), refused(Refusal::WrongStep { expected: 0 })),
    ]);
    let mut thinking = Bench::new();
    thinking.say(Request::Begin(BEGIN));
    assert!(matches!(thinking.report(0, 0, value), Response::Working { .. }));
    assert!(bench.app.events.is_empty() && thinking.app.events.is_empty());
}

#[test]
fn what_is_not_finite_is_asked_again_and_given_up_after_the_stated_tries() {
    let mut bench = Bench::waiting();
    let again = |attempt, reason| Response::Again { ticket: FIRST, attempt, reason };
    bench.talk(&[
        (report(1, 0, 0, Outcome::Value(f32::NAN)), again(1, Retry::Impossible)),
        // A repeat is no try.
        (report(1, 0, 0, Outcome::Value(f32::NAN)), again(1, Retry::Impossible)),
        (report(1, 0, 1, Outcome::Failed), again(2, Retry::Failed)),
        (report(1, 0, 2, Outcome::Value(f32::INFINITY)), SETTLED),
    ]);
    assert_eq!(bench.app.events.last(), Some(&Event::GivenUp { ticket: FIRST, cost: None }));
    assert_eq!(bench.tuner.ticket(), Ticket { task: 1, step: 1 });
    assert_eq!(bench.counters(), ReportCounters { failed: 3, repeated: 1, given_up: 1, counted: 0 });
}

#[test]
fn answers_of_the_task_can_be_read_back_after_a_restart_too_and_no_others() {
    let mut bench = Bench::waiting();
    let recall = |task, step| Request::Recall { ticket: Ticket { task, step } };
    assert_eq!(bench.say(recall(1, 0)), refused(Refusal::WrongStep { expected: 0 }));
    bench.report(0, 0, Outcome::Values(2.0, Kpis::new(&[0.75])));
    bench.ask();
    for attempt in 0..3 {
        bench.report(1, attempt, Outcome::Failed);
    }
    for _ in 0..2 {
        for (step, value, numbers) in [(0, Some(2.0), &[0.25, 0.5, 0.75][..]), (1, None, &[0.25, 0.5])] {
            let answer = Answer { fidelity: 1, value, numbers: numbers.iter().copied().collect() };
            assert_eq!(
                bench.say(recall(1, step)),
                Response::Recalled { ticket: Ticket { task: 1, step }, answer }
            );
        }
        assert_eq!(bench.say(recall(1, 2)), refused(Refusal::WrongStep { expected: 2 }));
        assert_eq!(bench.say(recall(2, 0)), refused(Refusal::WrongTask { current: 1 }));
        bench.tuner = restored(&bench.app);
    }
}

#[test]
fn a_value_of_an_earlier_try_is_as_good_as_one_of_the_last() {
    let mut bench = Bench::waiting();
    bench.report(0, 0, Outcome::Failed);
    assert_eq!(bench.report(0, 0, Outcome::Value(2.0)), SETTLED);
}

#[test]
fn kpis_are_passed_on_and_one_that_is_no_number_is_asked_again() {
    let mut bench = Bench::waiting();
    let values = |kpis: &[f32]| Outcome::Values(0.5, Kpis::new(kpis));
    let again = |attempt| Response::Again { ticket: FIRST, attempt, reason: Retry::Impossible };
    bench.talk(&[
        (report(1, 0, 0, values(&[1.0, f32::NAN])), again(1)),
        (report(1, 0, 1, values(&[f32::INFINITY])), again(2)),
        (report(1, 0, 2, values(&[1.0, -2.0])), SETTLED),
    ]);
    let observed = Event::Observed { ticket: FIRST, value: 0.5, kpis: Kpis::new(&[1.0, -2.0]), cost: None };
    assert_eq!(bench.app.events.last(), Some(&observed));
}

#[test]
fn an_actual_cost_is_passed_on_with_any_outcome_and_an_impossible_one_is_none() {
    for (given, passed) in [(12.5, Some(12.5)), (f32::NAN, None), (-1.0, None), (f32::INFINITY, None)] {
        for (outcome, last) in [(Outcome::Value(0.5), 0), (Outcome::Failed, TRIES - 1)] {
            let mut bench = Bench::waiting();
            for attempt in 0..=last {
                let report = Report { ticket: FIRST, attempt, outcome, cost: Some(given) };
                bench.say(Request::Report(report));
            }
            let settled = match outcome {
                Outcome::Failed => Event::GivenUp { ticket: FIRST, cost: passed },
                _ => Event::Observed { ticket: FIRST, value: 0.5, kpis: Kpis::NONE, cost: passed },
            };
            assert_eq!(bench.app.events.last(), Some(&settled));
        }
    }
}

#[test]
fn begin_may_be_repeated_but_not_changed() {
    let mut bench = Bench::waiting();
    let (begin, begun) = (Request::Begin(BEGIN), Response::Begun { task: 1 });
    let other = Request::Begin(Begin { budget: 11.0, ..BEGIN });
    bench.talk(&[(begin, begun.clone()), (other, refused(Refusal::Busy { task: 1 }))]);
    let end = bench.end();
    bench.tuner.finish(end.clone());
    bench.talk(&[(begin, begun), (Request::Poll { task: 1 }, Response::Finished(end))]);
    assert!(bench.app.events.is_empty());
}

#[test]
fn begin_wants_the_next_number_the_right_problem_and_a_budget() {
    let mut bench = Bench::new();
    let mut wrong = vec![
        (Begin { task: 2, ..BEGIN }, Refusal::WrongTask { current: 0 }),
        (Begin { problem: 6, ..BEGIN }, Refusal::WrongProblem { ours: PROBLEM }),
    ];
    wrong.extend(
        [0.0, -1.0, f32::NAN, f32::INFINITY].map(|budget| (Begin { budget, ..BEGIN }, Refusal::BadBudget)),
    );
    for (begin, refusal) in wrong {
        assert_eq!(bench.say(Request::Begin(begin)), refused(refusal));
    }
    assert_eq!(bench.app.begin, None);
}

#[test]
fn an_event_that_cannot_be_stored_has_not_happened() {
    let mut bench = Bench::waiting();
    bench.app.refusal = Some(Refusal::Storage);
    for request in
        [report(1, 0, 0, Outcome::Value(1.0)), Request::Stop { task: 1 }, Request::Abort { task: 1 }]
    {
        assert_eq!(bench.say(request), refused(Refusal::Storage));
    }
    bench.app.refusal = None;
    assert!(matches!(bench.say(Request::Poll { task: 1 }), Response::Query(_)));
    assert_eq!(bench.report(0, 0, Outcome::Value(1.0)), SETTLED);
}

#[test]
fn stop_is_noted_once_and_ends_the_asking() {
    let mut bench = Bench::waiting();
    bench.report(0, 0, Outcome::Value(1.0));
    for _ in 0..2 {
        assert!(matches!(bench.say(Request::Stop { task: 1 }), Response::Working { .. }));
    }
    assert_eq!(bench.app.events[1..], [Event::Stopped { task: 1 }]);
    bench.ask();
    assert!(matches!(bench.say(Request::Poll { task: 1 }), Response::Working { .. }));
    let end = bench.end();
    bench.tuner.finish(end.clone());
    assert_eq!(bench.say(Request::Stop { task: 1 }), Response::Finished(end));
}

#[test]
fn an_aborted_task_is_gone_and_its_number_with_it() {
    let mut bench = Bench::waiting();
    let (abort, aborted) = (Request::Abort { task: 1 }, Response::Aborted { task: 1 });
    let gone = refused(Refusal::WrongTask { current: 1 });
    bench.talk(&[
        (abort, aborted.clone()),
        (abort, aborted),
        (Request::Begin(BEGIN), gone.clone()),
        (Request::Poll { task: 1 }, gone.clone()),
        (report(1, 0, 0, Outcome::Value(1.0)), gone),
    ]);
    assert_eq!(bench.app.events, [Event::Aborted { task: 1 }]);
    assert_eq!(bench.say(Request::Begin(Begin { task: 2, ..BEGIN })), Response::Begun { task: 2 });
}

#[test]
fn a_dropped_task_is_refused_with_the_reason_until_the_next_begins() {
    let mut bench = Bench::waiting();
    bench.tuner.drop_task(DropReason::Restarts);
    let dropped = refused(Refusal::Dropped { task: 1, reason: DropReason::Restarts });
    bench.talk(&[
        (Request::Poll { task: 1 }, dropped.clone()),
        (report(1, 0, 0, Outcome::Value(1.0)), dropped.clone()),
        (Request::Stop { task: 1 }, dropped.clone()),
        // A repeat of what began it.
        (Request::Begin(BEGIN), dropped),
        (Request::Abort { task: 1 }, Response::Aborted { task: 1 }),
        (Request::Poll { task: 3 }, refused(Refusal::WrongTask { current: 1 })),
        (Request::Begin(Begin { task: 2, ..BEGIN }), Response::Begun { task: 2 }),
        (Request::Poll { task: 1 }, refused(Refusal::WrongTask { current: 2 })),
    ]);
    assert_eq!(bench.tuner.dropped(), None);
}

#[test]
fn replayed_events_restore_the_dialogue() {
    let mut bench = Bench::waiting();
    bench.report(0, 0, Outcome::Value(1.0));
    bench.ask();
    bench.report(1, 0, Outcome::Failed);
    let before = bench.say(Request::Poll { task: 1 });
    assert!(matches!(before, Response::Query(_)));
    bench.tuner = restored(&bench.app);
    assert!(matches!(bench.say(Request::Poll { task: 1 }), Response::Working { .. }));
    bench.tuner.ask();
    assert_eq!(bench.say(Request::Poll { task: 1 }), before);
}

#[test]
fn knowledge_is_taken_in_order_and_only_whole() {
    let mut bench = Bench::new();
    let crc = crc32(b"abcdef");
    let write = |offset, data| Request::Write { crc, offset, data };
    let ready = |offset| Response::Ready { offset };
    let offer = Request::Offer { what: Blob::Knowledge, replaces: 0, total: 6, crc };
    let (commit, stored) =
        (Request::Commit { crc }, Response::Stored(Knowledge { sequence: 1, total: 6, crc }));
    bench.talk(&[
        (write(0, b"abc"), refused(Refusal::NoTransfer)),
        (offer, ready(0)),
        // Too early.
        (write(3, b"def"), ready(0)),
        (write(0, b"abc"), ready(3)),
        // Repeated.
        (write(0, b"abc"), ready(3)),
        (offer, ready(3)),
        // Too early.
        (commit, ready(3)),
        (write(3, b"defg"), refused(Refusal::TooLarge { limit: 6 })),
        (write(3, b"def"), ready(6)),
        (commit, stored.clone()),
        // Repeated, and late.
        (commit, stored),
        (offer, refused(Refusal::WrongKnowledge { current: 1 })),
        (Request::Read { knowledge: 1, offset: 2 }, Response::Chunk { offset: 2, data: b"cdef" }),
        (Request::Read { knowledge: 1, offset: 99 }, Response::Chunk { offset: 99, data: b"" }),
    ]);
}

#[test]
fn knowledge_with_a_wrong_checksum_is_not_taken_over() {
    let mut bench = Bench::new();
    let crc = crc32(b"promised");
    bench.talk(&[
        (Request::Offer { what: Blob::Knowledge, replaces: 0, total: 8, crc }, Response::Ready { offset: 0 }),
        (Request::Write { crc, offset: 0, data: b"supplied" }, Response::Ready { offset: 8 }),
        (Request::Commit { crc }, refused(Refusal::Checksum)),
    ]);
    assert!(bench.app.knowledge.is_empty() && bench.app.sequence == 0);
}

#[test]
fn knowledge_is_forgotten_once() {
    let mut bench = Bench::new();
    (bench.app.knowledge, bench.app.sequence) = (b"abc".to_vec(), 4);
    let forget = Request::Forget { knowledge: 4 };
    let stored = Response::Stored(Knowledge { sequence: 5, total: 0, crc: 0 });
    bench.talk(&[(forget, stored.clone()), (forget, stored)]);
    (bench.app.knowledge, bench.app.sequence) = (b"new".to_vec(), 6);
    assert_eq!(bench.say(forget), refused(Refusal::WrongKnowledge { current: 6 }));
}

#[test]
fn nothing_travels_to_a_device_under_a_task_but_knowledge_may_be_read() {
    let mut bench = Bench::waiting();
    let busy = refused(Refusal::Busy { task: 1 });
    let offer = |what| Request::Offer { what, replaces: 0, total: 6, crc: 1 };
    bench.talk(&[
        (offer(Blob::Knowledge), busy.clone()),
        (offer(Blob::Problem), busy.clone()),
        (Request::Forget { knowledge: 0 }, busy),
        (Request::Read { knowledge: 0, offset: 0 }, Response::Chunk { offset: 0, data: b"" }),
    ]);
}

#[test]
fn a_fault_is_shown_and_refuses_work() {
    let mut bench = Bench::waiting();
    bench.tuner.fail();
    assert_eq!(bench.say(Request::Poll { task: 1 }), refused(Refusal::Fault { code: 77 }));
    assert!(matches!(bench.say(Request::Status), Response::Status(Status { phase: Phase::Fault, .. })));
    assert!(matches!(bench.say(Request::Hello { version: 1 }), Response::Greeting(_)));
}

#[test]
fn a_problem_is_received_in_pieces_and_a_task_begins_with_it() {
    let mut bench = Bench::new();
    let crc = crc32(b"problem");
    let begin = Begin { problem: crc, ..BEGIN };
    let offer = |total| Request::Offer { what: Blob::Problem, replaces: 0, total, crc };
    let write = |offset, data| Request::Write { crc, offset, data };
    let ready = |offset| Response::Ready { offset };
    let unknown = refused(Refusal::WrongProblem { ours: PROBLEM });
    bench.talk(&[
        (Request::Begin(begin), unknown.clone()),
        (offer(LIMIT + 1), refused(Refusal::TooLarge { limit: LIMIT })),
        (offer(7), ready(0)),
        (write(0, b"pr0blem"), ready(7)),
        // It came out wrong and is received anew.
        (Request::Begin(begin), unknown),
        (offer(7), ready(0)),
        (write(0, b"prob"), ready(4)),
        // Repeated.
        (write(0, b"prob"), ready(4)),
        (offer(7), ready(4)),
        // It is no knowledge.
        (Request::Commit { crc }, refused(Refusal::NoTransfer)),
        (write(4, b"lemma"), refused(Refusal::TooLarge { limit: 7 })),
        (write(4, b"lem"), ready(7)),
        (Request::Begin(begin), Response::Begun { task: 1 }),
    ]);
    assert_eq!(bench.app.begin, Some(begin));
}

/// What a station of version 1 says first, byte for byte, and how it reads the answer.
#[test]
fn a_station_of_version_1_reads_the_version_and_stops() {
    let hello = [0x00, 0x03, 0x3e, 0x01, 0x06, 0x01, 0x2f, 0x0a, 0x75, 0x47, 0x00];
    let (mut decoder, mut bench, mut out) = (Decoder::<64>::new(), Bench::new(), [0; MAX_FRAME]);
    let mut answer = Vec::new();
    for byte in hello {
        answer.extend(bench.tuner.serve(&mut decoder, byte, &mut bench.app, &mut out).unwrap_or_default());
    }
    let mut decoder = Decoder::<64>::new();
    let body = answer.iter().find_map(|byte| decoder.push(*byte).map(<[u8]>::to_vec)).unwrap();
    assert_eq!(body[..4], [b'<', 1, 0, VERSION as u8], "mark, tag, greeting, version");
}

/// Readings of the recommendation: each counts once, a restart begins anew, and what has changed begins the next task.
#[test]
fn a_finished_task_is_watched_and_a_change_begins_the_next() {
    let watch = |number, value| {
        let (run_length, deviation, kpis) = (10_000.0, 1.0, Kpis::NONE);
        Request::Watch(Reading { task: 1, number, run_length, deviation, value, kpis })
    };
    let steady = |next| Response::Steady { next };
    let mut bench = Bench::waiting();
    assert_eq!(bench.say(watch(0, 1.0)), refused(Refusal::Busy { task: 1 }));
    bench.report(0, 0, Outcome::Value(1.0));
    bench.say(Request::Stop { task: 1 });
    think(&mut bench.tuner, &mut bench.app);
    assert_eq!(bench.tuner.phase(), Phase::Finished);
    bench.talk(&[
        (watch(2, 1.0), refused(Refusal::WrongStep { expected: 0 })),
        (watch(0, f32::NAN), refused(Refusal::BadReading)),
        (watch(0, 1.0), steady(1)),
        (watch(0, 1.0), steady(1)),
        (watch(1, 1.0), steady(2)),
        (watch(3, 1.0), refused(Refusal::WrongStep { expected: 2 })),
        (Request::Poll { task: 1 }, Response::Finished(bench.end())),
    ]);
    assert_eq!(bench.tuner.phase(), Phase::Watching);
    bench.tuner = restored(&bench.app);
    bench.talk(&[(watch(2, -1.0), refused(Refusal::WrongStep { expected: 0 })), (watch(0, 1.0), steady(1))]);
    // Without flash the task does not begin, and the repeat begins it.
    bench.app.refusal = Some(Refusal::Storage);
    assert_eq!(bench.say(watch(1, -1.0)), refused(Refusal::Storage));
    bench.app.refusal = None;
    for _ in 0..2 {
        assert_eq!(bench.say(watch(1, -1.0)), Response::Changed { task: 2 });
        assert_eq!(bench.app.begin, Some(Begin { task: 2, seed: BEGIN.seed + 1, ..BEGIN }));
        bench.tuner = restored(&bench.app);
        assert_eq!(bench.tuner.phase(), Phase::Thinking);
    }
}
