//! Every message survives the line; nothing that is no message gets through or does harm. And the example session of
//! `docs/protocol.md`, byte for byte: what the toy tuner and a scripted station say to each other.
//!
//! It stands on the page, so that a change of the wire format shows in a review;
//! `UPDATE_SESSION=1 cargo test -p foretune-link --test dialogue session` writes it anew.

use core::fmt::{Debug, Write};

use foretune_core::{Dimension, Fidelity, Floor, Guard, Level, Limit, Problem, Side};
use foretune_link::frame::{Directed, crc32};
use foretune_link::problem::Bytes;
use foretune_link::tuner::Tuner;
use foretune_link::{
    Begin, Blob, Decoder, Kpis, MAX_FRAME, Outcome, Reading, Report, Request, Response, Ticket, VERSION,
    encode, parse,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::toy::{Memory, PROBLEM, restored, think};

/// Messages with any of these numbers, as bytes say them: small numbers and short lists more often than not.
fn message<M: Debug + Deserialize<'static>>(numbers: core::ops::Range<u8>) -> impl Strategy<Value = M> {
    let byte = prop_oneof![4 => 0u8..3, 1 => 0x20u8..0x7f, 1 => any::<u8>()];
    (numbers, vec(byte, 0..320)).prop_filter_map("a message", |(number, mut bytes)| {
        bytes.insert(0, number);
        postcard::take_from_bytes(bytes.leak()).ok().map(|(message, _)| message)
    })
}

/// The frame of a message, unless it is longer than any that is sent.
fn frame<M: Directed + Serialize>(tag: u32, message: &M) -> Option<Vec<u8>> {
    encode(tag, message, &mut [0; MAX_FRAME]).ok().map(<[u8]>::to_vec)
}

/// The body that a decoder finds in a frame.
fn body(frame: &[u8]) -> Vec<u8> {
    let mut decoder: Decoder = Decoder::new();
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    frame.iter().for_each(|byte| bodies.extend(decoder.push(*byte).map(<[u8]>::to_vec)));
    assert_eq!(bodies.len(), 1);
    bodies.remove(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_request_survives(tag: u32, request in message::<Request>(0..14)) {
        let Some(sent) = frame(tag, &request) else { return Ok(()) };
        let body = body(&sent);
        let (heard, again) = parse::<Request>(&body).unwrap();
        prop_assert_eq!((heard, frame(tag, &again)), (tag, Some(sent)));
        prop_assert!(parse::<Response>(&body).is_err());
    }

    #[test]
    fn every_response_survives(tag: u32, response in message::<Response>(0..17)) {
        let Some(sent) = frame(tag, &response) else { return Ok(()) };
        let body = body(&sent);
        let (heard, again) = parse::<Response>(&body).unwrap();
        prop_assert_eq!((heard, frame(tag, &again)), (tag, Some(sent)));
        prop_assert!(parse::<Request>(&body).is_err());
    }

    #[test]
    fn a_frame_has_no_zero_inside(tag: u32, request in message::<Request>(0..14)) {
        let Some(frame) = frame(tag, &request) else { return Ok(()) };
        let zeros = frame.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
        prop_assert_eq!(zeros.collect::<Vec<_>>(), [0, frame.len() - 1]);
    }

    #[test]
    fn any_bytes_are_endured_and_the_next_frame_is_heard(noise in vec(any::<u8>(), 0..2000)) {
        let mut decoder: Decoder = Decoder::new();
        let frame = frame(1, &Request::Status).unwrap();
        for byte in noise {
            let _ = decoder.receive::<Request>(byte);
        }
        let heard = frame.iter().filter_map(|byte| decoder.receive::<Request>(*byte).map(|(tag, _)| tag));
        prop_assert_eq!(heard.collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn any_body_is_a_message_or_an_error(bytes in vec(any::<u8>(), 0..300)) {
        let _ = parse::<Request>(&[b">", &bytes[..]].concat());
        let _ = parse::<Response>(&[b"<", &bytes[..]].concat());
    }
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/protocol.md");

struct Session {
    memory: Memory,
    tuner: Tuner,
    decoder: Decoder,
    tag: u32,
    text: String,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A message as it is called in the tables, its bytes in hexadecimal.
fn words(message: &dyn Debug, data: &[u8]) -> String {
    let words = format!("{message:?}").replace(&format!("{data:?}"), &hex(data));
    [(" { ", "{"), (" }", "}"), (", ", ","), (": ", ":")]
        .iter()
        .fold(words, |words, (long, short)| words.replace(long, short))
}

impl Session {
    fn new() -> Self {
        let memory = Memory::default();
        let tuner = restored(&memory);
        Self { memory, tuner, decoder: Decoder::new(), tag: 0, text: String::new() }
    }

    fn remark(&mut self, text: &str) {
        writeln!(self.text, "\n# {text}").unwrap();
    }

    /// One request and its answer.
    fn say(&mut self, request: Request) {
        self.tag += 1;
        let mut out = [0; MAX_FRAME];
        let frame = encode(self.tag, &request, &mut out).unwrap().to_vec();
        let data = if let Request::Write { data, .. } = request { data } else { b"" };
        writeln!(self.text, "> {}\n  {} {}", hex(&frame), self.tag, words(&request, data)).unwrap();
        self.send(&frame);
    }

    /// The last request once more, as after a timeout.
    fn repeat(&mut self, request: Request) {
        self.tag -= 1;
        self.say(request);
    }

    fn send(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let mut out = [0; MAX_FRAME];
            let answer =
                self.tuner.serve(&mut self.decoder, byte, &mut self.memory, &mut out).map(<[u8]>::to_vec);
            if let Some(answer) = answer {
                self.note(&answer);
            }
        }
    }

    fn note(&mut self, answer: &[u8]) {
        let mut decoder = Decoder::<304>::new();
        for &byte in answer {
            if let Some((tag, response)) = decoder.receive::<Response>(byte) {
                let data = if let Response::Chunk { data, .. } = response { data } else { b"" };
                writeln!(self.text, "< {}\n  {tag} {}", hex(answer), words(&response, data)).unwrap();
            }
        }
    }

    fn report(&mut self, step: u32, attempt: u8, outcome: Outcome) {
        self.say(report(step, attempt, outcome));
    }

    /// The next request, with a bit flipped on its way.
    fn mangle(&mut self, request: Request) {
        let mut out = [0; MAX_FRAME];
        let mut frame = encode(self.tag + 1, &request, &mut out).unwrap().to_vec();
        frame[4] ^= 0x10;
        writeln!(self.text, "> {}\n  broken", hex(&frame)).unwrap();
        self.send(&frame);
    }
}

/// One parameter on a grid, another in a list; two fidelities; in service, above seven eighths of what it gives, and
/// another number at most 3 above what it is there.
const DESCRIBED: Problem<'static> = Problem {
    dimensions: &[
        Dimension::Grid { low: -202.0, high: 24.0, levels: 114 },
        Dimension::Levels(&[0.0, 0.4, 0.5, 1.0]),
    ],
    fidelities: &[
        Fidelity { cost: 10.0, samples: 10, noise: 0.75 },
        Fidelity { cost: 100.0, samples: 100, noise: 0.75 },
    ],
    deployed: Some(&[-80.0, 0.5]),
    floor: Some(Floor { level: Level::Share(0.875), risk: 0.0625 }),
    limits: &[Limit { coefficients: &[1.0, 100.0], at_most: 24.0 }],
    guards: &[Guard {
        side: Side::AtMost,
        floor: Floor { level: Level::Drop(3.0), risk: 0.0625 },
        noise: &[0.5, 0.25],
    }],
    ..Problem::PLAIN
};

fn report(step: u32, attempt: u8, outcome: Outcome) -> Request<'static> {
    Request::Report(Report { ticket: Ticket { task: 1, step }, attempt, outcome, cost: None })
}

fn tuning(session: &mut Session) {
    session.remark("The station introduces itself; the tuner is new and idle.");
    session.say(Request::Hello { version: VERSION });
    session.remark("It begins the first task.");
    session.say(Request::Begin(Begin { task: 1, problem: PROBLEM, seed: 42, budget: 500.0, ..Begin::PLAIN }));
    session.remark("The tuner thinks for a while, then has a query.");
    session.say(Request::Poll { task: 1 });
    think(&mut session.tuner, &mut session.memory);
    session.say(Request::Poll { task: 1 });
    session.remark("A measurement that is not a number is asked again.");
    session.report(0, 0, Outcome::Value(f32::NAN));
    session.remark(
        "The second try gives a value. The answer is lost, so the report is repeated; it counts once.",
    );
    session.report(0, 1, Outcome::Value(0.625));
    session.repeat(report(0, 1, Outcome::Value(0.625)));
}

fn trouble(session: &mut Session) {
    session.remark("A frame with a flipped bit is dropped without an answer; the repeat gets through.");
    session.mangle(Request::Poll { task: 1 });
    think(&mut session.tuner, &mut session.memory);
    session.say(Request::Poll { task: 1 });
    session.remark("This query cannot be measured; after three tries the tuner gives it up.");
    (0..3).for_each(|attempt| session.report(1, attempt, Outcome::Failed));
    session.remark("A report of a task that is not the current one is refused.");
    session.say(Request::Report(Report {
        ticket: Ticket { task: 7, step: 0 },
        attempt: 0,
        outcome: Outcome::Value(1.0),
        cost: None,
    }));
    session.remark("How is the tuner?");
    session.say(Request::Status);
    session.remark("The station stops early and takes the recommendation.");
    session.say(Request::Stop { task: 1 });
    think(&mut session.tuner, &mut session.memory);
    session.say(Request::Poll { task: 1 });
}

fn knowledge(session: &mut Session) {
    session.remark("What the tuner has learnt is read, 256 bytes at a time; here the last piece.");
    session.say(Request::Read { knowledge: 1, offset: 512 });
    session.remark("Other knowledge is written.");
    let data = b"\x00a snapshot\x00";
    let crc = crc32(data);
    session.say(Request::Offer { what: Blob::Knowledge, replaces: 1, total: 12, crc });
    session.say(Request::Write { crc, offset: 0, data });
    session.say(Request::Commit { crc });
    session.remark("And forgotten.");
    session.say(Request::Forget { knowledge: 2 });
    session.remark(
        "The next task is for another problem, which the tuner does not know yet: it is described first.",
    );
    let bytes = Bytes::of(&DESCRIBED).unwrap();
    let (bytes, problem) = (bytes.as_slice(), bytes.number());
    let begin = Begin { task: 2, problem, seed: 42, budget: 500.0, deploy: true, ..Begin::PLAIN };
    session.say(Request::Begin(begin));
    let total = bytes.len() as u32;
    session.say(Request::Offer { what: Blob::Problem, replaces: 0, total, crc: problem });
    session.say(Request::Write { crc: problem, offset: 0, data: bytes });
    session.say(Request::Begin(begin));
    session.remark(
        "It has a guard, so that a report carries its KPI, too. What the device has kept can be had again; conditions it has none.",
    );
    think(&mut session.tuner, &mut session.memory);
    let ticket = Ticket { task: 2, step: 0 };
    let outcome = Outcome::Values(0.625, Kpis::new(&[12.5]));
    session.say(Request::Report(Report { ticket, attempt: 0, outcome, cost: None }));
    session.say(Request::Recall { ticket });
    session.say(Request::Under { task: 2, conditions: Kpis::new(&[70.0]) });
    session.remark("The recommendation is in use, and watched. What it gives has changed with the second reading: the next task begins by itself.");
    session.say(Request::Stop { task: 2 });
    think(&mut session.tuner, &mut session.memory);
    for (number, value) in [(0, 0.625), (1, -0.5)] {
        let kpis = Kpis::new(&[12.5]);
        let (run_length, deviation) = (10_000.0, 1.0);
        session.say(Request::Watch(Reading { task: 2, number, run_length, deviation, value, kpis }));
    }
    session.remark("And dropped.");
    session.say(Request::Abort { task: 3 });
    session.say(Request::Hello { version: VERSION });
}

fn session() -> String {
    let mut session = Session::new();
    tuning(&mut session);
    trouble(&mut session);
    knowledge(&mut session);
    session.text.trim_start().to_owned()
}

/// Where the session stands on the page.
const FENCES: [&str; 2] = ["```text\n", "```\n"];

#[test]
fn the_page_shows_this_session() {
    let (now, page) = (session(), std::fs::read_to_string(PAGE).unwrap());
    let (before, rest) = page.split_once(FENCES[0]).unwrap();
    let (shown, after) = rest.split_once(FENCES[1]).unwrap();
    if std::env::var_os("UPDATE_SESSION").is_some() {
        std::fs::write(PAGE, [before, FENCES[0], &now, FENCES[1], after].concat()).unwrap();
        return;
    }
    for (line, (now, shown)) in now.lines().zip(shown.lines()).enumerate() {
        assert_eq!(now, shown, "line {}", line + 1);
    }
    assert_eq!(now.lines().count(), shown.lines().count());
}

#[test]
fn every_message_is_in_the_session() {
    let session = session();
    let requests =
        "Hello Begin( Poll Report( Stop Abort Status Offer Write Commit Read Forget Recall{ Watch( Under{";
    let responses = "Greeting( Begun Query( Working Settled Again Finished( Aborted Status( Ready Stored( Chunk Refused( Recalled{ Steady{ Changed{";
    for name in requests.split(' ').chain(responses.split(' ')) {
        assert!(session.lines().any(|line| line.starts_with("  ") && line.contains(name)), "{name}");
    }
}
