use super::*;
use crate::message::{Blob, Coordinate, Point, Reason, Retry};

const PACE: Pace = Pace { timeout: 100, interval: 20 };
const BEGIN: Begin = Begin { task: 1, problem: 5, seed: 9, budget: 10.0, ..Begin::PLAIN };

fn query(step: u32, attempt: u8) -> Query {
    let point = Point::from_slice(&[Coordinate::Level(step as u16)]).unwrap();
    Query { ticket: Ticket { task: 1, step }, attempt, fidelity: 0, samples: 10, cost: 1.0, point }
}

/// Expects a request to be sent now and answers it.
fn exchange<'a>(
    station: &mut Station,
    now: u32,
    request: Request,
    response: Response<'a>,
) -> StationEvent<'a> {
    let (tag, sent) = station.transmit(now).expect("a request");
    assert_eq!(sent, request);
    station.receive(now, tag, &response)
}

fn report(step: u32, attempt: u8, outcome: Outcome) -> Request<'static> {
    Request::Report(Report { ticket: Ticket { task: 1, step }, attempt, outcome, cost: None })
}

/// A station that has measured step 0 as 0.5 and is about to report it.
fn reporting() -> Station<'static> {
    let mut station = Station::new(PACE, 0);
    station.begin(BEGIN);
    let event = exchange(&mut station, 0, Request::Begin(BEGIN), Response::Begun { task: 1 });
    assert_eq!(event, StationEvent::Begun { task: 1 });
    let event = exchange(&mut station, 0, Request::Poll { task: 1 }, Response::Query(query(0, 0)));
    assert_eq!(event, StationEvent::Measure(query(0, 0)));
    assert_eq!(station.transmit(0), None, "quiet while it measures");
    station.report(Outcome::Value(0.5), None);
    station
}

#[test]
fn goes_from_begin_to_recommendation() {
    let mut station = reporting();
    let ticket = Ticket { task: 1, step: 0 };
    let event = exchange(&mut station, 0, report(0, 0, Outcome::Value(0.5)), Response::Settled { ticket });
    assert_eq!(event, StationEvent::Settled { ticket });
    let point = query(0, 0).point;
    let (reason, assured) = (Reason::Budget, true);
    let end = Recommendation { task: 1, reason, queries: 1, spent: 1.0, mean: 0.5, point, assured };
    let event = exchange(&mut station, 0, Request::Poll { task: 1 }, Response::Finished(end.clone()));
    assert_eq!(event, StationEvent::Finished(end));
    assert!(station.is_at_rest());
}

#[test]
fn repeats_a_request_until_it_is_answered() {
    let mut station = Station::new(PACE, 7);
    station.greet();
    let first = station.transmit(0);
    assert_eq!(first, Some((8, Request::Hello { version: VERSION })));
    assert_eq!(station.transmit(99), None);
    assert_eq!(station.transmit(100), first);
    assert_eq!(station.repeats(), 1);
    let stale = Response::Begun { task: 1 };
    assert_eq!(station.receive(101, 7, &stale), StationEvent::Nothing);
    assert_eq!(station.transmit(200), first);
}

#[test]
fn waits_between_polls_while_the_tuner_thinks() {
    let mut station = Station::new(PACE, 0);
    station.resume(1);
    let working =
        Response::Working { ticket: Ticket { task: 1, step: 3 }, progress: Progress { done: 1, total: 2 } };
    let event = exchange(&mut station, 5, Request::Poll { task: 1 }, working);
    assert!(matches!(event, StationEvent::Working { .. }));
    assert_eq!(station.transmit(24), None);
    assert!(station.transmit(25).is_some());
}

#[test]
fn a_query_asked_again_after_a_reset_is_answered_from_memory() {
    let mut station = reporting();
    let ticket = Ticket { task: 1, step: 0 };
    let working = Response::Working { ticket, progress: Progress::default() };
    exchange(&mut station, 0, report(0, 0, Outcome::Value(0.5)), working);
    let event = exchange(&mut station, 20, Request::Poll { task: 1 }, Response::Query(query(0, 0)));
    assert_eq!(event, StationEvent::Nothing);
    assert_eq!(station.transmit(20).unwrap().1, report(0, 0, Outcome::Value(0.5)));
}

#[test]
fn another_try_is_measured_again() {
    let mut station = reporting();
    let ticket = Ticket { task: 1, step: 0 };
    let again = Response::Again { ticket, attempt: 1, reason: Retry::Failed };
    let event = exchange(&mut station, 0, report(0, 0, Outcome::Value(0.5)), again);
    assert_eq!(event, StationEvent::Measure(query(0, 1)));
    station.report(Outcome::Failed, None);
    assert_eq!(station.transmit(0).unwrap().1, report(0, 1, Outcome::Failed));
}

#[test]
fn polls_when_the_tuner_wants_an_earlier_step() {
    let mut station = reporting();
    let refused = Response::Refused(Refusal::WrongStep { expected: 3 });
    exchange(&mut station, 0, report(0, 0, Outcome::Value(0.5)), refused);
    assert_eq!(station.transmit(0).unwrap().1, Request::Poll { task: 1 });
}

#[test]
fn status_stop_and_abort_go_between() {
    let mut station = Station::new(PACE, 0);
    station.resume(4);
    station.ask_status();
    assert_eq!(station.transmit(0).unwrap().1, Request::Status);
    let mut station = Station::new(PACE, 0);
    station.resume(4);
    station.stop();
    let working = Response::Working { ticket: Ticket { task: 4, step: 0 }, progress: Progress::default() };
    exchange(&mut station, 0, Request::Stop { task: 4 }, working);
    station.abort();
    let event = exchange(&mut station, 0, Request::Abort { task: 4 }, Response::Aborted { task: 4 });
    assert_eq!(event, StationEvent::Aborted { task: 4 });
    assert!(station.is_at_rest());
}

#[test]
fn rests_when_refused() {
    let mut station = Station::new(PACE, 0);
    station.begin(BEGIN);
    let refusal = Refusal::WrongProblem { ours: 3 };
    let event = exchange(&mut station, 0, Request::Begin(BEGIN), Response::Refused(refusal));
    assert_eq!(event, StationEvent::Refused(refusal));
    assert!(station.is_at_rest());
}

#[test]
fn a_problem_that_the_tuner_does_not_know_is_described_and_the_task_begun_again() {
    let problem = [7; 300];
    let mut station = Station::new(Pace { timeout: 10, interval: 5 }, 0);
    let begin = Begin { problem: crate::crc32(&problem), ..BEGIN };
    station.begin_with(begin, &problem);
    let unknown = Response::Refused(Refusal::WrongProblem { ours: 5 });
    let mut ready = [0u32, 256, 300].map(|offset| Response::Ready { offset }).into_iter();
    let mut said = std::vec::Vec::new();
    for now in 0..12 {
        let (tag, request) = station.transmit(now).unwrap();
        said.push(request);
        let response = match (request, now) {
            // The tuner restarts in the middle.
            (Request::Write { .. }, 2) => Response::Refused(Refusal::NoTransfer),
            (Request::Begin(_), 0) => unknown.clone(),
            (Request::Begin(_), _) => Response::Begun { task: 1 },
            (Request::Offer { .. }, 1) => Response::Ready { offset: 0 },
            _ => ready.next().unwrap(),
        };
        if let StationEvent::Begun { task } = station.receive(now, tag, &response) {
            assert_eq!(task, 1);
            break;
        }
    }
    let crc = begin.problem;
    let write = |offset: u32, data| Request::Write { crc, offset, data };
    let describe = Request::Offer { what: Blob::Problem, replaces: 0, total: 300, crc };
    let begin = Request::Begin(begin);
    let (first, rest) = problem.split_at(256);
    assert_eq!(said, [begin, describe, write(0, first), describe, write(0, first), write(256, rest), begin]);
}

#[test]
fn a_tuner_that_never_knows_the_problem_is_given_up() {
    let problem = [7; 3];
    let mut station = Station::new(Pace { timeout: 10, interval: 5 }, 0);
    station.begin_with(BEGIN, &problem);
    let refused = (0..200).find_map(|now| {
        let (tag, request) = station.transmit(now).unwrap();
        let response = match request {
            Request::Begin(_) => Response::Refused(Refusal::WrongProblem { ours: 5 }),
            Request::Offer { .. } => Response::Ready { offset: 0 },
            _ => Response::Ready { offset: 3 },
        };
        match station.receive(now, tag, &response) {
            StationEvent::Refused(refusal) => Some(refusal),
            _ => None,
        }
    });
    assert_eq!(refused, Some(Refusal::WrongProblem { ours: 5 }));
    assert!(station.is_at_rest());
}

#[test]
fn readings_are_watched_until_the_next_task_begins() {
    let mut station = Station::new(PACE, 0);
    let (run_length, deviation, value, kpis) = (100.0, 1.0, 0.5, crate::Kpis::NONE);
    let reading = |number| Reading { task: 1, number, run_length, deviation, value, kpis };
    for (number, response, next) in [
        (0, Response::Steady { next: 1 }, 1),
        (1, Response::Steady { next: 2 }, 2),
        (2, Response::Refused(Refusal::WrongStep { expected: 0 }), 0),
    ] {
        station.watch(reading(number));
        let event = exchange(&mut station, 0, Request::Watch(reading(number)), response);
        assert_eq!((event, station.is_at_rest()), (StationEvent::Steady { next }, true));
    }
    station.watch(reading(0));
    let event = exchange(&mut station, 0, Request::Watch(reading(0)), Response::Changed { task: 2 });
    assert_eq!(event, StationEvent::Changed { task: 2 });
    assert_eq!(station.transmit(0).unwrap().1, Request::Poll { task: 2 });
}

#[test]
fn what_is_asked_under_other_conditions_takes_the_querys_place() {
    let mut station = Station::new(PACE, 0);
    station.resume(1);
    let poll = Request::Poll { task: 1 };
    exchange(&mut station, 0, poll, Response::Query(query(0, 0)));
    station.under(&[70.0]);
    let under = Request::Under { task: 1, conditions: Kpis::new(&[70.0]) };
    let (ticket, progress) = (Ticket { task: 1, step: 0 }, Progress { done: 0, total: 0 });
    let event = exchange(&mut station, 0, under, Response::Working { ticket, progress });
    assert_eq!(event, StationEvent::Working { ticket, progress });
    station.report(Outcome::Value(0.5), None);
    let other = Query { fidelity: 1, ..query(0, 0) };
    assert_eq!(
        exchange(&mut station, 20, poll, Response::Query(other.clone())),
        StationEvent::Measure(other),
        "what was measured of the first is of no use"
    );
}
