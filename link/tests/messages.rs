//! Every message survives the line; nothing that is no message gets through or does harm.

use foretune_link::problem::{Misfit, Part};
use foretune_link::{
    Begin, Coordinate, Decoder, DropReason, Greeting, Health, Identity, Knowledge, LineCounters, MAX_CHUNK,
    MAX_DIMENSIONS, MAX_FRAME, Outcome, Phase, Point, Progress, Query, Reason, Recommendation, Refusal,
    Report, ReportCounters, Request, Response, Retry, Status, Ticket, encode, parse,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn ticket() -> impl Strategy<Value = Ticket> {
    any::<(u32, u32)>().prop_map(|(task, step)| Ticket { task, step })
}

/// Any bits but those of a NaN, which would not equal itself.
fn number() -> impl Strategy<Value = f32> {
    any::<u32>().prop_map(f32::from_bits).prop_filter("comparable", |value| !value.is_nan())
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![number().prop_map(Outcome::Value), Just(Outcome::Failed)]
}

fn begin() -> impl Strategy<Value = Begin> {
    (any::<(u32, u32, u64, bool, bool)>(), number()).prop_map(
        |((task, problem, seed, deploy, adopt), budget)| Begin { task, problem, seed, budget, deploy, adopt },
    )
}

fn data() -> impl Strategy<Value = &'static [u8]> {
    vec(prop_oneof![any::<u8>(), Just(0)], 0..=MAX_CHUNK).prop_map(|bytes| &*bytes.leak())
}

fn request() -> impl Strategy<Value = Request<'static>> {
    prop_oneof![
        any::<u16>().prop_map(|version| Request::Hello { version }),
        begin().prop_map(Request::Begin),
        any::<u32>().prop_map(|task| Request::Poll { task }),
        (ticket(), any::<u8>(), outcome(), prop::option::of(number())).prop_map(
            |(ticket, attempt, outcome, cost)| Request::Report(Report { ticket, attempt, outcome, cost })
        ),
        any::<u32>().prop_map(|task| Request::Stop { task }),
        any::<u32>().prop_map(|task| Request::Abort { task }),
        Just(Request::Status),
        any::<(u32, u32, u32)>().prop_map(|(knowledge, total, crc)| Request::Offer { knowledge, total, crc }),
        (any::<(u32, u32)>(), data()).prop_map(|((crc, offset), data)| Request::Write { crc, offset, data }),
        any::<u32>().prop_map(|crc| Request::Commit { crc }),
        any::<(u32, u32)>().prop_map(|(knowledge, offset)| Request::Read { knowledge, offset }),
        any::<u32>().prop_map(|knowledge| Request::Forget { knowledge }),
        any::<(u32, u32)>().prop_map(|(total, crc)| Request::Describe { total, crc }),
    ]
}

fn point() -> impl Strategy<Value = Point> {
    let one = prop_oneof![any::<u16>().prop_map(Coordinate::Level), number().prop_map(Coordinate::Unit)];
    vec(one, 0..=MAX_DIMENSIONS).prop_map(|all| Point::from_slice(&all).unwrap())
}

fn phase() -> impl Strategy<Value = Phase> {
    prop::sample::select(vec![Phase::Idle, Phase::Thinking, Phase::Waiting, Phase::Finished, Phase::Fault])
}

fn knowledge() -> impl Strategy<Value = Knowledge> {
    any::<(u32, u32, u32)>().prop_map(|(sequence, total, crc)| Knowledge { sequence, total, crc })
}

fn greeting() -> impl Strategy<Value = Greeting<'static>> {
    let text = || "[ -~]{0,32}".prop_map(|text| &*text.leak());
    let shape = any::<(u32, u8, u8, u8)>();
    let identity =
        (text(), text(), shape).prop_map(|(firmware, profile, (problem, dimensions, fidelities, tries))| {
            Identity { firmware, profile, problem, dimensions, fidelities, tries }
        });
    (any::<(u16, u32, u32)>(), identity, phase(), knowledge()).prop_map(
        |((version, task, step), identity, phase, knowledge)| Greeting {
            version,
            identity,
            phase,
            task,
            step,
            knowledge,
        },
    )
}

fn query() -> impl Strategy<Value = Query> {
    (ticket(), any::<(u8, u8, u32)>(), number(), point()).prop_map(
        |(ticket, (attempt, fidelity, samples), cost, point)| Query {
            ticket,
            attempt,
            fidelity,
            samples,
            cost,
            point,
        },
    )
}

fn recommendation() -> impl Strategy<Value = Recommendation> {
    let reason =
        vec![Reason::Budget, Reason::Capacity, Reason::Exhausted, Reason::Stopped, Reason::Tolerance];
    (any::<(u32, u32)>(), prop::sample::select(reason), number(), number(), point()).prop_map(
        |((task, queries), reason, spent, mean, point)| Recommendation {
            task,
            reason,
            queries,
            spent,
            mean,
            point,
        },
    )
}

fn status() -> impl Strategy<Value = Status> {
    (phase(), any::<[u32; 12]>(), any::<[u32; 2]>(), any::<u16>()).prop_map(
        |(phase, n, [stack_free, restarts], fault)| Status {
            phase,
            task: n[0],
            step: n[1],
            progress: Progress { done: n[2], total: n[3] },
            line: LineCounters { good: n[4], broken: n[5], oversize: n[6], unknown: n[7] },
            reports: ReportCounters { counted: n[8], repeated: n[9], failed: n[10], given_up: n[11] },
            health: Health { stack_free, restarts, fault, below: n[0] },
        },
    )
}

fn refusal() -> impl Strategy<Value = Refusal> {
    any::<(u32, u8, u16)>().prop_flat_map(|(n, code, fault)| {
        prop::sample::select(vec![
            Refusal::WrongTask { current: n },
            Refusal::WrongProblem { ours: n },
            Refusal::BadBudget,
            Refusal::WrongStep { expected: n },
            Refusal::Busy { task: n },
            Refusal::NothingObserved,
            Refusal::NoTransfer,
            Refusal::TooLarge { limit: n },
            Refusal::Checksum,
            Refusal::BadKnowledge { code },
            Refusal::WrongKnowledge { current: n },
            Refusal::Storage,
            Refusal::Fault { code: fault },
            Refusal::Dropped { task: n, reason: DropReason::NothingObserved },
            Refusal::Dropped { task: n, reason: DropReason::Restarts },
            Refusal::Dropped { task: n, reason: DropReason::Stored },
            Refusal::BadProblem(Misfit { part: Part::Limits, at: fault }),
            Refusal::BadProblem(Misfit { part: Part::Bytes, at: 0 }),
        ])
    })
}

fn response() -> impl Strategy<Value = Response<'static>> {
    let retry = prop::sample::select(vec![Retry::NotFinite, Retry::Failed]);
    let progress = any::<(u32, u32)>().prop_map(|(done, total)| Progress { done, total });
    prop_oneof![
        greeting().prop_map(Response::Greeting),
        any::<u32>().prop_map(|task| Response::Begun { task }),
        query().prop_map(Response::Query),
        (ticket(), progress).prop_map(|(ticket, progress)| Response::Working { ticket, progress }),
        ticket().prop_map(|ticket| Response::Settled { ticket }),
        (ticket(), any::<u8>(), retry).prop_map(|(ticket, attempt, reason)| Response::Again {
            ticket,
            attempt,
            reason
        }),
        recommendation().prop_map(Response::Finished),
        any::<u32>().prop_map(|task| Response::Aborted { task }),
        status().prop_map(Response::Status),
        any::<u32>().prop_map(|offset| Response::Ready { offset }),
        knowledge().prop_map(Response::Stored),
        (any::<u32>(), data()).prop_map(|(offset, data)| Response::Chunk { offset, data }),
        refusal().prop_map(Response::Refused),
        any::<[u8; 16]>().prop_map(|challenge| Response::Locked { challenge }),
    ]
}

/// The body that a decoder finds in a frame.
fn body(frame: &[u8]) -> Vec<u8> {
    let mut decoder = Decoder::<304>::new();
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    for &byte in frame {
        bodies.extend(decoder.push(byte).map(<[u8]>::to_vec));
    }
    assert_eq!(bodies.len(), 1);
    bodies.remove(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_request_survives(tag: u32, request in request()) {
        let mut out = [0; MAX_FRAME];
        let body = body(encode(tag, &request, &mut out).unwrap());
        prop_assert_eq!(parse::<Request>(&body), Ok((tag, request)));
        prop_assert!(parse::<Response>(&body).is_err());
    }

    #[test]
    fn every_response_survives(tag: u32, response in response()) {
        let mut out = [0; MAX_FRAME];
        let body = body(encode(tag, &response, &mut out).unwrap());
        prop_assert_eq!(parse::<Response>(&body), Ok((tag, response)));
        prop_assert!(parse::<Request>(&body).is_err());
    }

    #[test]
    fn a_frame_has_no_zero_inside(tag: u32, request in request()) {
        let mut out = [0; MAX_FRAME];
        let frame = encode(tag, &request, &mut out).unwrap();
        let (first, last) = (frame[0], frame[frame.len() - 1]);
        prop_assert_eq!((first, last), (0, 0));
        prop_assert!(!frame[1..frame.len() - 1].contains(&0));
    }

    #[test]
    fn any_bytes_are_endured_and_the_next_frame_is_heard(noise in vec(any::<u8>(), 0..2000)) {
        let mut decoder = Decoder::<304>::new();
        for &byte in &noise {
            let _ = decoder.receive::<Request>(byte);
        }
        let mut out = [0; MAX_FRAME];
        let frame = encode(1, &Request::Status, &mut out).unwrap();
        let heard = frame.iter().filter(|&&byte| decoder.receive::<Request>(byte) == Some((1, Request::Status))).count();
        prop_assert_eq!(heard, 1);
    }

    #[test]
    fn any_body_is_a_message_or_an_error(bytes in vec(any::<u8>(), 0..300)) {
        let mut request = bytes.clone();
        request.insert(0, b'>');
        let mut response = bytes;
        response.insert(0, b'<');
        let _ = parse::<Request>(&request);
        let _ = parse::<Response>(&response);
    }
}
