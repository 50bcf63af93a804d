//! A line with a key, and somebody on it who has none: records, forges, splices, repeats, holds back.
//!
//! The device must act on exactly those frames that a plain model allows: made by the station for this session, newer than the
//! last one. Everything else is answered with a challenge and changes nothing. The station must take each answer once.

use arbitrary::{Result, Unstructured};
use foretune_link::seal::{Challenge, Key, Lock, Opener};
use foretune_link::{Begin, Decoder, MAX_FRAME, Request, Response, Tuner, crc32, encode, parse};

use crate::link::{App, IDENTITY, PROBLEM};

const KEY: Key = [7; 32];
const OTHER_KEY: Key = [8; 32];
/// First byte of a sealed answer.
const SEALED: u8 = b'{';

/// Seeds: dialogues, and a sealed frame of another life of the device.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut opener = Opener::new(KEY);
    opener.meet(&Lock::new(KEY, u32::MAX).challenge(), [1; 8]);
    let frame = opener.encode(1, &Request::Status, &mut [0; MAX_FRAME]).expect("it fits").to_vec();
    crate::optimizer::seeds().into_iter().chain([frame.clone(), bodies(&frame).concat()]).collect()
}

/// Runs an input.
pub fn run(bytes: &[u8]) {
    let mut device = Device::new();
    for byte in bytes {
        let mut out = [0; MAX_FRAME];
        let answer = device.tuner.serve(&mut device.decoder, *byte, &mut device.app, &mut out);
        assert!(answer.is_none_or(|frame| bodies(frame).iter().all(|body| body[0] != SEALED)), "forged");
    }
    assert!(device.app.events.is_empty());
    assert_eq!(Lock::new(KEY, 1).open(bytes), None);
    let _ = play(&mut Unstructured::new(bytes));
}

/// The bodies of all sound frames in some bytes.
fn bodies(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut decoder: Decoder = Decoder::new();
    bytes.iter().filter_map(|byte| decoder.push(*byte).map(<[u8]>::to_vec)).collect()
}

/// A body as a frame: whoever has no key can still count.
fn frame(body: &[u8]) -> Vec<u8> {
    let summed = [body, &crc32(body).to_le_bytes()].concat();
    let mut coded = vec![0; cobs::max_encoding_length(summed.len())];
    let length = cobs::encode(&summed, &mut coded);
    [&[0], &coded[..length], &[0]].concat()
}

/// Which challenge: restarts, and sessions since then.
type Number = (u32, u32);

/// A body that one of the two sides made.
#[derive(Clone)]
struct Genuine {
    body: Vec<u8>,
    /// The station's session, and its challenge.
    session: usize,
    challenge: Number,
    counter: u32,
}

/// A device with a key, and the model of what it takes.
struct Device {
    tuner: Tuner,
    decoder: Decoder,
    app: App,
    next: Number,
    /// The session and its last frame.
    last: Option<(usize, u32)>,
}

impl Device {
    fn new() -> Self {
        let mut device = Device {
            tuner: Tuner::new(IDENTITY),
            decoder: Decoder::new(),
            app: App::default(),
            next: (0, 0),
            last: None,
        };
        device.restart();
        device
    }

    fn restart(&mut self) {
        (self.next, self.last) = ((self.next.0 + 1, 0), None);
        self.tuner = Tuner::new(IDENTITY);
        self.tuner.lock(Lock::new(KEY, self.next.0));
        self.app.events.iter().for_each(|event| self.tuner.replay(event));
        self.decoder = Decoder::new();
    }

    /// Whether it may act on a frame of the station.
    fn takes(&self, sent: &Genuine) -> bool {
        match self.last {
            Some((session, counter)) if session == sent.session => sent.counter > counter,
            _ => sent.challenge == self.next,
        }
    }

    fn took(&mut self, sent: &Genuine) {
        if self.last.is_none_or(|(session, _)| session != sent.session) {
            self.next.1 += 1;
        }
        self.last = Some((sent.session, sent.counter));
    }

    /// Sends a body; what it answers.
    fn hear(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut answers = Vec::new();
        for byte in frame(body) {
            let mut out = [0; MAX_FRAME];
            if let Some(answer) = self.tuner.serve(&mut self.decoder, byte, &mut self.app, &mut out) {
                answers.extend(bodies(answer));
            }
        }
        assert!(answers.len() <= 1, "one frame, at most one answer");
        answers.pop()
    }

    /// Its challenge.
    fn challenge(&mut self) -> Challenge {
        let mut out = [0; MAX_FRAME];
        let hello = encode(1, &Request::Hello { version: 2 }, &mut out).expect("it fits");
        let answer = self.hear(&bodies(hello).concat()).expect("an answer to who has no key");
        match parse(&answer) {
            Ok((_, Response::Locked { challenge })) => challenge,
            _ => panic!("who has no key is told {answer:?}"),
        }
    }
}

/// The station, and the model of what it takes.
struct Station {
    opener: Opener,
    session: usize,
    challenge: Number,
    counter: u32,
    heard: u32,
}

fn play(u: &mut Unstructured<'_>) -> Result<()> {
    let mut device = Device::new();
    let mut station =
        Station { opener: Opener::new(KEY), session: 0, challenge: (0, 0), counter: 0, heard: 0 };
    let (mut sent, mut answered): (Vec<Genuine>, Vec<Genuine>) = (Vec::new(), Vec::new());
    station.meet(&mut device);
    while !u.is_empty() {
        match u.int_in_range(0..=9)? {
            0 => device.restart(),
            1 => station.meet(&mut device),
            2 | 3 => sent.push(station.say(u)?),
            4 => stranger(u, &mut device)?,
            5..=7 if !sent.is_empty() => {
                let body = recorded(u, &sent)?;
                let genuine =
                    sent.iter().find(|one| one.body == body).filter(|one| device.takes(one)).cloned();
                answered.extend(deliver(&mut device, &body, genuine));
            }
            _ if !answered.is_empty() => {
                let body = recorded(u, &answered)?;
                let genuine = answered.iter().find(|one| one.body == body);
                station.hear(&body, genuine);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Gives a body to the device; its answer, if the body is genuine.
fn deliver(device: &mut Device, body: &[u8], genuine: Option<Genuine>) -> Option<Genuine> {
    let before = device.app.events.len();
    let answer = device.hear(body);
    let sealed = answer.as_ref().is_some_and(|answer| answer.first() == Some(&SEALED));
    assert_eq!(sealed, genuine.is_some(), "a frame was taken that was not to be, or the other way round");
    let Some(sent) = genuine else {
        assert_eq!(device.app.events.len(), before, "a frame that was refused did something");
        return None;
    };
    device.took(&sent);
    answer.map(|body| Genuine { body, ..sent })
}

impl Station {
    fn meet(&mut self, device: &mut Device) {
        (self.session, self.challenge, self.counter, self.heard) = (self.session + 1, device.next, 0, 0);
        self.opener.meet(&device.challenge(), (self.session as u64).to_le_bytes());
    }

    fn say(&mut self, u: &mut Unstructured<'_>) -> Result<Genuine> {
        let data = [u.arbitrary::<u8>()?; 256];
        let request = match u.int_in_range(0..=4)? {
            0 => Request::Begin(Begin { task: 1, problem: PROBLEM, seed: 1, budget: 10.0, ..Begin::PLAIN }),
            1 => Request::Abort { task: 1 },
            2 => Request::Write { crc: 1, offset: 0, data: &data[..u.int_in_range(0..=256)?] },
            3 => Request::Hello { version: 2 },
            _ => Request::Status,
        };
        self.counter += 1;
        let mut out = [0; MAX_FRAME];
        let frame = self.opener.encode(u.arbitrary()?, &request, &mut out).expect("there is a session");
        let body = bodies(frame).concat();
        Ok(Genuine { body, session: self.session, challenge: self.challenge, counter: self.counter })
    }

    /// Takes an answer of this session, once, and none older than the last.
    fn hear(&mut self, body: &[u8], genuine: Option<&Genuine>) {
        let new = genuine.filter(|one| one.session == self.session && one.counter > self.heard);
        let range = self.opener.open(body);
        assert_eq!(range.is_some(), new.is_some(), "an answer was taken that was not to be, or not taken");
        if let (Some(range), Some(one)) = (range, new) {
            assert!(parse::<Response<'_>>(&body[range]).is_ok(), "an answer that cannot be read");
            self.heard = one.counter;
        }
    }
}

/// One of some bodies, as it was or not.
fn recorded(u: &mut Unstructured<'_>, all: &[Genuine]) -> Result<Vec<u8>> {
    let mut body = u.choose(all)?.body.clone();
    match u.int_in_range(0..=7)? {
        0 => {
            let at = u.choose_index(body.len())?;
            body[at] ^= u.arbitrary::<u8>()?;
        }
        1 => body.truncate(u.choose_index(body.len())?),
        2 => body.extend(u.arbitrary::<[u8; 2]>()?),
        3 => {
            let other = &u.choose(all)?.body;
            let at = u.choose_index(body.len().min(other.len()))?;
            body = [&body[..at], &other[at..]].concat();
        }
        _ => {}
    }
    Ok(body)
}

/// Somebody with another key takes up the device's challenge.
fn stranger(u: &mut Unstructured<'_>, device: &mut Device) -> Result<()> {
    let mut opener = Opener::new(OTHER_KEY);
    opener.meet(&device.challenge(), u.arbitrary()?);
    let mut out = [0; MAX_FRAME];
    let frame = opener.encode(1, &Request::Status, &mut out).expect("there is a session");
    deliver(device, &bodies(frame).concat(), None);
    Ok(())
}
