//! Whatever comes over the line, to the tuner and to the station.
//!
//! The tuner must let only sound events through, in order, answer every request with one frame that the station can
//! read, and stay within the knowledge that it was given. The station must take any answer.

use arbitrary::{Result, Unstructured};
use foretune_core::{Dimension, Fidelity, Floor, Guard, Level, Limit, Problem, Side};
use foretune_firmware::room::{self, Room};
use foretune_link::problem::{Bytes, Numbers, Parts};
use foretune_link::{
    Answer, Application, Begin, Blob, Coordinate, Decoder, Download, Event, Health, Identity, Knowledge,
    Kpis, MAX_FRAME, Outcome, Pace, Phase, Point, Proposal, Reading, Reason, Recommendation, Refusal, Report,
    Request, Response, Station, Ticket, Tuner, Upload, crc32, encode,
};

use crate::case::number;

/// Most bytes of knowledge.
const LIMIT: u32 = 700;
const TRIES: u8 = 3;
pub(crate) const PROBLEM: u32 = 0xF0CC;
pub(crate) const IDENTITY: Identity<'static> = Identity {
    firmware: "fuzz",
    profile: "compact",
    problem: PROBLEM,
    dimensions: 2,
    fidelities: 4,
    tries: TRIES,
};

/// Seeds: dialogues, and frames.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut frame = [0; MAX_FRAME];
    let requests = [
        Request::Hello { version: 2 },
        Request::Begin(Begin { task: 1, problem: PROBLEM, seed: 1, budget: 10.0, ..Begin::PLAIN }),
        Request::Poll { task: 1 },
        Request::Status,
        Request::Offer { what: Blob::Knowledge, replaces: 0, total: 3, crc: crc32(b"abc") },
        Request::Write { crc: crc32(b"abc"), offset: 0, data: b"abc" },
        Request::Commit { crc: crc32(b"abc") },
        Request::Offer { what: Blob::Problem, replaces: 0, total: 3, crc: crc32(b"abc") },
    ];
    let frames = requests.iter().map(|request| encode(1, request, &mut frame).expect("it fits").to_vec());
    frames.chain(crate::optimizer::seeds()).chain([problem_seed()]).collect()
}

/// The bytes of a problem with everything that one can have.
fn problem_seed() -> Vec<u8> {
    let described = Problem {
        dimensions: &[Dimension::Levels(&[0.0, 1.0]), Dimension::Grid { low: 0.0, high: 1.0, levels: 9 }],
        fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.1 }],
        deployed: Some(&[0.0, 0.5]),
        floor: Some(Floor { level: Level::Share(0.9), risk: 0.1 }),
        limits: &[Limit { coefficients: &[1.0, 1.0], at_most: 1.0 }],
        guards: &[Guard {
            side: Side::AtMost,
            floor: Floor { level: Level::Drop(2.0), risk: 0.1 },
            noise: &[0.1],
        }],
        ..Problem::PLAIN
    };
    Bytes::of(&described).expect("it fits").as_slice().to_vec()
}

/// Runs an input.
pub fn run(bytes: &[u8]) {
    let mut device = Device::new();
    bytes.iter().for_each(|&byte| device.hear(byte));
    device.check();
    let _ = talk_to_tuner(&mut Unstructured::new(bytes));
    let _ = talk_to_station(&mut Unstructured::new(bytes));
    read_problem(bytes);
}

/// Bytes that are a problem are the only ones of it; a problem that fits is one that the core takes.
fn read_problem(bytes: &[u8]) {
    let mut numbers = Numbers::new();
    let Ok(parts) = Parts::read(bytes, &mut numbers) else { return };
    let problem = parts.problem(1.0);
    let again = Bytes::of(&problem).expect("it was read").as_slice().to_vec();
    let floor = problem.floor.is_some();
    // Without a floor its level and risk may be anything.
    assert!(again[..8] == bytes[..8] && again[16..] == bytes[16..] && (!floor || again == bytes));
    if room::check(&problem, Room { dimensions: 16, features: 128, fidelities: 8, guards: 4 }).is_ok() {
        assert!(problem.checked().is_ok());
    }
}

fn talk_to_tuner(u: &mut Unstructured<'_>) -> Result<()> {
    let mut device = Device::new();
    while !u.is_empty() {
        let data: Vec<u8> = u.arbitrary::<[u8; 4]>()?.repeat(u.int_in_range(0..=70)?);
        let request = request(u, &device, &data)?;
        let mut out = [0; MAX_FRAME];
        let Ok(frame) = encode(u.arbitrary()?, &request, &mut out) else { continue };
        let mut frame = frame.to_vec();
        if u.ratio(1, 8)? {
            let at = u.choose_index(frame.len())?;
            frame[at] ^= u.arbitrary::<u8>()?;
        }
        frame.iter().for_each(|&byte| device.hear(byte));
        match u.int_in_range(0..=7)? {
            0 => device.restart(),
            1..=5 => device.think(),
            _ => {}
        }
        device.check();
    }
    Ok(())
}

/// A number at an edge, near what is expected, or as expected.
fn near(u: &mut Unstructured<'_>, expected: u32) -> Result<u32> {
    Ok(match u.int_in_range(0..=9)? {
        0 => 0,
        1 => u32::MAX,
        2 => expected.wrapping_add(1),
        3 => expected.wrapping_sub(1),
        4 => u.arbitrary()?,
        _ => expected,
    })
}

fn request<'a>(u: &mut Unstructured<'_>, device: &Device, data: &'a [u8]) -> Result<Request<'a>> {
    let Ticket { task, step } = device.tuner.ticket();
    let App { sequence, ref knowledge, ref incoming, .. } = device.app;
    let crc = crc32(data);
    Ok(match u.int_in_range(0..=16)? {
        0 => Request::Hello { version: u.arbitrary()? },
        1 | 2 => Request::Begin(Begin {
            task: near(u, task.wrapping_add(1))?,
            problem: near(u, PROBLEM)?,
            seed: u.arbitrary()?,
            budget: number(u, &[1.0, 100.0])?,
            ..Begin::PLAIN
        }),
        3 => Request::Poll { task: near(u, task)? },
        4..=6 => {
            let ticket = Ticket { task: near(u, task)?, step: near(u, step)? };
            let outcome = match u.int_in_range(0..=2)? {
                0 => Outcome::Failed,
                1 => Outcome::Value(number(u, &[1.0])?),
                _ => Outcome::Values(number(u, &[1.0])?, kpis(u)?),
            };
            Request::Report(Report { ticket, attempt: u.int_in_range(0..=3)?, outcome, cost: None })
        }
        7 => Request::Stop { task: near(u, task)? },
        8 => Request::Abort { task: near(u, task)? },
        9 | 14 => Request::Offer {
            what: *u.choose(&[Blob::Knowledge, Blob::Problem])?,
            replaces: near(u, sequence)?,
            total: near(u, data.len() as u32)?,
            crc,
        },
        10 => Request::Write { crc, offset: near(u, incoming.len() as u32)?, data },
        11 => Request::Commit { crc },
        12 => Request::Read { knowledge: near(u, sequence)?, offset: near(u, knowledge.len() as u32)? },
        16 => Request::Under { task: near(u, task)?, conditions: kpis(u)? },
        15 => Request::Recall { ticket: Ticket { task: near(u, task)?, step: near(u, step)? } },
        _ if u.arbitrary()? => Request::Forget { knowledge: near(u, sequence)? },
        _ => Request::Status,
    })
}

fn kpis(u: &mut Unstructured<'_>) -> Result<Kpis> {
    let kpis = [number(u, &[1.0])?, number(u, &[-2.0])?];
    Ok(Kpis::new(&kpis[..u.int_in_range(0..=2)?]))
}

/// A tuner with what it needs, as plain as can be.
struct Device {
    app: App,
    tuner: Tuner,
    decoder: Decoder,
}

/// Keeps everything that reaches it.
#[derive(Default)]
pub(crate) struct App {
    pub events: Vec<Event>,
    knowledge: Vec<u8>,
    sequence: u32,
    incoming: Vec<u8>,
    /// The transfer that is open: what, and its length.
    transfer: Option<(Blob, u32)>,
    /// The problem that was received last, and the numbers of all that ever were.
    problem: Vec<u8>,
    described: Vec<u32>,
}

impl Device {
    fn new() -> Self {
        Device { app: App::default(), tuner: Tuner::new(IDENTITY), decoder: Decoder::new() }
    }

    fn hear(&mut self, byte: u8) {
        let before = self.app.events.len();
        let mut out = [0; MAX_FRAME];
        let answer = self.tuner.serve(&mut self.decoder, byte, &mut self.app, &mut out);
        assert!(self.app.events.len() <= before + 1, "one request, at most one event");
        let Some(frame) = answer else {
            return assert_eq!(self.app.events.len(), before, "nothing happens without an answer");
        };
        let mut decoder = Decoder::<304>::new();
        let read = frame.iter().filter(|&&byte| decoder.receive::<Response>(byte).is_some()).count();
        assert_eq!(read, 1, "an answer that cannot be read");
    }

    fn restart(&mut self) {
        (self.app.incoming, self.app.transfer) = (Vec::new(), None);
        self.tuner = Tuner::new(IDENTITY);
        self.app.events.iter().for_each(|event| self.tuner.replay(event));
        self.decoder = Decoder::new();
    }

    fn think(&mut self) {
        let task = self.tuner.ticket().task;
        if self.tuner.phase() == Phase::Thinking && self.tuner.stopping() {
            let (reason, point) = (Reason::Stopped, point());
            self.tuner.finish(Recommendation {
                task,
                reason,
                queries: 1,
                spent: 1.0,
                mean: 0.0,
                point,
                assured: true,
            });
        } else {
            self.tuner.ask();
        }
    }

    /// The events are those of tasks one after the other, each step settled once, with finite values.
    fn check(&self) {
        let (mut task, mut step, mut attempt, mut running) = (0, 0, 0, false);
        for event in &self.app.events {
            match *event {
                Event::Begun(begin) => {
                    assert_eq!(begin.task, task + 1);
                    assert!(begin.problem == PROBLEM || self.app.described.contains(&begin.problem));
                    assert!(begin.budget.is_finite() && begin.budget > 0.0);
                    (task, step, attempt, running) = (begin.task, 0, 0, true);
                }
                Event::Observed { ticket, value, kpis, cost } => {
                    assert!(kpis.iter().all(|kpi| kpi.is_finite()));
                    assert!(cost.is_none_or(|cost| (0.0..=1e30).contains(&cost)));
                    assert!(running && value.is_finite() && ticket == Ticket { task, step });
                    (step, attempt) = (step + 1, 0);
                }
                Event::Failed { ticket, attempt: tried } => {
                    assert!(running && tried == attempt && ticket == Ticket { task, step });
                    attempt += 1;
                }
                Event::GivenUp { ticket, cost } => {
                    assert!(cost.is_none_or(|cost| (0.0..=1e30).contains(&cost)));
                    assert!(running && attempt + 1 == TRIES && ticket == Ticket { task, step });
                    (step, attempt) = (step + 1, 0);
                }
                Event::Stopped { task: stopped } => assert!(running && stopped == task),
                Event::Aborted { task: aborted } => {
                    assert!(running && aborted == task);
                    running = false;
                }
                Event::Dropped { .. } => unreachable!("this device drops nothing by itself"),
            }
        }
        assert_eq!(self.tuner.ticket().task, task);
        assert!(self.app.knowledge.len() as u32 <= LIMIT);
    }
}

impl Application for App {
    fn apply(&mut self, event: &Event) -> std::result::Result<(), Refusal> {
        if let Event::Begun(begin) = event
            && begin.problem != PROBLEM
            && (begin.problem != crc32(&self.problem) || self.problem.is_empty())
        {
            return Err(Refusal::WrongProblem { ours: PROBLEM });
        }
        self.events.push(*event);
        Ok(())
    }

    fn proposal(&self) -> Option<Proposal> {
        Some(Proposal { fidelity: 1, samples: 10, cost: 10.0, point: point() })
    }

    fn under(&mut self, conditions: &[f32]) -> std::result::Result<bool, Refusal> {
        if conditions.is_empty() {
            Err(Refusal::BadConditions { wanted: 1 })
        } else {
            Ok(conditions.len() == 1)
        }
    }

    fn health(&self) -> Health {
        Health::default()
    }

    fn knowledge(&self) -> Knowledge {
        let total = self.knowledge.len() as u32;
        Knowledge { sequence: self.sequence, total, crc: crc32(&self.knowledge) }
    }

    fn read_knowledge(&mut self, offset: u32, data: &mut [u8]) -> std::result::Result<(), Refusal> {
        // Panics when asked for anything beyond.
        data.copy_from_slice(&self.knowledge[offset as usize..offset as usize + data.len()]);
        Ok(())
    }

    fn recall(&mut self, step: u32) -> std::result::Result<Answer, Refusal> {
        let begun = self.events.iter().rposition(|event| matches!(event, Event::Begun(_)));
        let task = &self.events[begun.expect("a task was begun")..];
        let settled = |event: &&Event| matches!(event, Event::Observed { .. } | Event::GivenUp { .. });
        assert!((step as usize) < task.iter().filter(settled).count(), "asked for more than there was");
        Ok(Answer { fidelity: 0, value: None, numbers: [0.5].into_iter().collect() })
    }

    fn watch(&mut self, reading: &Reading) -> std::result::Result<foretune_core::Reading, Refusal> {
        let changed = reading.value < 0.0;
        Ok(if changed { foretune_core::Reading::Changed } else { foretune_core::Reading::Steady })
    }

    fn open(&mut self, what: Blob, total: u32) -> std::result::Result<(), Refusal> {
        if total > LIMIT {
            return Err(Refusal::TooLarge { limit: LIMIT });
        }
        (self.incoming, self.transfer) = (Vec::new(), Some((what, total)));
        Ok(())
    }

    fn write(&mut self, what: Blob, data: &[u8]) -> std::result::Result<(), Refusal> {
        self.incoming.extend_from_slice(data);
        let (offered, total) = self.transfer.expect("nothing is written before it is offered");
        assert!(what == offered && self.incoming.len() <= total as usize, "other or more than was offered");
        if what == Blob::Problem {
            self.problem.clone_from(&self.incoming);
            self.described.push(crc32(&self.problem));
        }
        Ok(())
    }

    fn commit(&mut self, what: Blob, crc: u32) -> std::result::Result<(), Refusal> {
        let transfer = self.transfer.take();
        let whole = Some((Blob::Knowledge, self.incoming.len() as u32));
        assert!(what == Blob::Knowledge && transfer == whole, "committed before all was there");
        if crc32(&self.incoming) != crc {
            return Err(Refusal::Checksum);
        }
        self.knowledge = std::mem::take(&mut self.incoming);
        self.sequence += 1;
        Ok(())
    }

    fn forget_knowledge(&mut self) -> std::result::Result<(), Refusal> {
        (self.knowledge, self.transfer) = (Vec::new(), None);
        self.sequence += 1;
        Ok(())
    }
}

fn talk_to_station(u: &mut Unstructured<'_>) -> Result<()> {
    let mut station = Station::new(Pace { timeout: 40, interval: 5 }, u.arbitrary()?);
    let mut buffer = [0; 64];
    let offered = Knowledge { sequence: 1, total: near(u, 64)?, crc: u.arbitrary()? };
    let mut download = Download::new(offered, &mut buffer);
    assert_eq!(download.is_err(), offered.total > 64);
    let mut upload = Upload::knowledge(b"knowledge", &offered);
    let (mut decoder, mut now) = (Decoder::<304>::new(), 0u32);
    while !u.is_empty() {
        now = now.wrapping_add(u.int_in_range(0..=60)?);
        let (tag, open) = match station.transmit(now) {
            Some((tag, request)) => (tag, Some(request)),
            None => (u.arbitrary()?, None),
        };
        let (mut bytes, mut frame) = ([0; 64], [0; MAX_FRAME]);
        let Some(response) = response(u, &mut bytes)? else { continue };
        let Ok(frame) = encode(near(u, tag)?, &response, &mut frame) else { continue };
        for &byte in frame {
            let Some((tag, response)) = decoder.receive::<Response>(byte) else { continue };
            let _ = station.receive(now, tag, &response);
            let _ = download.as_mut().map(|download| download.receive(&response));
            let _ = upload.receive(&response);
        }
        // What the station wants to say next can be said.
        assert!(open.is_none_or(|request| encode(tag, &request, &mut [0; MAX_FRAME]).is_ok()));
        match u.int_in_range(0..=7)? {
            0 => station.greet(),
            1 if u.arbitrary()? => {
                station.begin_with(Begin { task: 1, problem: 7, ..Begin::PLAIN }, b"problem")
            }
            1 => station.begin(Begin { task: 1, problem: PROBLEM, seed: 1, budget: 10.0, ..Begin::PLAIN }),
            2 => station.resume(u.arbitrary()?),
            3 => station.report(Outcome::Values(number(u, &[1.0])?, kpis(u)?), u.arbitrary()?),
            4 => station.stop(),
            5 => station.abort(),
            _ => station.ask_status(),
        }
    }
    if let Ok(Ok(bytes)) = download.map(Download::finish) {
        assert_eq!(crc32(bytes), offered.crc, "knowledge with a wrong checksum");
    }
    Ok(())
}

/// Any response, as bytes say it: small numbers and short lists more often than not. None if they say nothing.
fn response<'a>(u: &mut Unstructured<'_>, bytes: &'a mut [u8; 64]) -> Result<Option<Response<'a>>> {
    for byte in &mut *bytes {
        *byte = if u.ratio(3, 4)? { u.int_in_range(0..=2)? } else { u.arbitrary()? };
    }
    bytes[0] = u.int_in_range(0..=14)?;
    Ok(postcard::take_from_bytes(bytes).ok().map(|(response, _)| response))
}

fn point() -> Point {
    Point::from_slice(&[Coordinate::Level(3), Coordinate::Unit(0.5)]).expect("two fit")
}
