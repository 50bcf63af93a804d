//! A peer who may say anything: lies about measurements, bends every number, uploads poisoned knowledge.
//!
//! At worst the recommendations are as bad as the lies. The device never panics, never keeps the line waiting, never
//! starves its watchdog, shows no byte but those of its knowledge, and writes nowhere but in its storage area: around
//! it lie sectors that nobody may touch.

use std::collections::VecDeque;
use std::vec::Vec;

use foretune_core::snapshot::Crc;
use foretune_link::{
    Begin, Blob, Decoder, Knowledge, Kpis, MAX_CHUNK, MAX_FRAME, Outcome, Phase, Refusal, Report, Request,
    Response, Ticket, crc32, encode,
};
use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

use super::mock::{MockBoard, MockSystem, Outside, Sim};
use super::profile::{FLASH, Guarded, Network, Profile, Small};
use crate::app::App;
use crate::reference::Answer;
use crate::storage::Layout;

/// Bytes on either side of the storage area that belong to somebody else.
const GUARD: usize = 4096;
/// Turns of the loop within which every request is answered.
const PROMPT: u32 = 50;

/// All that a peer can learn of a device, and what to send next.
struct Peer {
    random: XorShiftRng,
    ticket: Ticket,
    knowledge: Knowledge,
    problem: u32,
    /// Frames.
    planned: VecDeque<Vec<u8>>,
    answers: [u32; 6],
}

impl Peer {
    fn below(&mut self, end: u32) -> u32 {
        self.random.next_u32() % end
    }

    /// As expected, near that, at an edge, or anything.
    fn near(&mut self, expected: u32) -> u32 {
        match self.below(30) {
            0 => 0,
            1 => u32::MAX,
            2 => expected.wrapping_add(1),
            3 => expected.wrapping_sub(1),
            4 => self.random.next_u32(),
            _ => expected,
        }
    }

    fn lie(&mut self) -> f32 {
        match self.below(8) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => 1e30,
            3 => -1e30,
            4 => f32::from_bits(self.random.next_u32()),
            5 => 0.0,
            _ => self.below(1000) as f32 / 10.0,
        }
    }

    fn report(&mut self) -> Report {
        let ticket = Ticket { task: self.near(self.ticket.task), step: self.near(self.ticket.step) };
        let outcome = match self.below(12) {
            0 | 1 => Outcome::Failed,
            2..=6 => Outcome::Value(self.lie()),
            kind => {
                let kpis = [self.lie(), self.lie(), self.lie()];
                Outcome::Values(self.lie(), Kpis::new(&kpis[..if kind == 7 { 3 } else { 2 }]))
            }
        };
        Report { ticket, attempt: self.below(4) as u8, outcome, cost: None }
    }

    /// The frame of the next request.
    fn say(&mut self, poison: &[u8]) -> Vec<u8> {
        if let Some(frame) = self.planned.pop_front() {
            return frame;
        }
        let (task, crc) = (self.ticket.task, self.random.next_u32());
        let sequence = self.knowledge.sequence;
        frame_of(&match self.below(25) {
            0 => Request::Hello { version: self.near(1) as u16 },
            1 => Request::Status,
            2 | 3 => {
                let (task, problem) = (self.near(task + 1), self.near(self.problem));
                let budget = if self.below(2) == 0 { self.lie() } else { 100.0 };
                Request::Begin(Begin { task, problem, seed: u64::from(crc), budget, ..Begin::PLAIN })
            }
            4..=9 => Request::Poll { task: self.near(task) },
            10..=17 => Request::Report(self.report()),
            18 if self.below(4) == 0 => Request::Stop { task: self.near(task) },
            19 if self.below(4) == 0 => Request::Abort { task: self.near(task) },
            20 => {
                let conditions = [self.lie(), 50.0];
                let some = self.below(2) as usize;
                Request::Under { task: self.near(task), conditions: Kpis::new(&conditions[some..]) }
            }
            22 if self.below(8) == 0 => Request::Forget { knowledge: self.near(sequence) },
            22 => {
                let what = if self.below(2) == 0 { Blob::Knowledge } else { Blob::Problem };
                Request::Offer { what, replaces: self.near(sequence), total: self.near(400), crc }
            }
            23 => {
                let step = self.ticket.step.wrapping_sub(1);
                Request::Recall { ticket: Ticket { task: self.near(task), step: self.near(step) } }
            }
            _ => {
                self.plan_upload(poison);
                Request::Status
            }
        })
    }

    /// Some piece of knowledge, or beyond.
    fn read(&mut self) -> Vec<u8> {
        let Knowledge { sequence, total, .. } = self.knowledge;
        let offset = if self.below(2) == 0 { self.near(total) } else { self.below(total + 300) };
        frame_of(&Request::Read { knowledge: self.near(sequence), offset })
    }

    /// Knowledge with a right checksum and wrong contents: some words replaced.
    fn plan_upload(&mut self, sound: &[u8]) {
        let mut bytes = sound.to_vec();
        for _ in 0..self.below(4) {
            let at = (self.below(bytes.len() as u32 / 4 - 1) * 4) as usize;
            let word = if self.below(2) == 0 { 29.9f32.to_bits() } else { self.random.next_u32() };
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let end = bytes.len() - 4;
        let mut crc = Crc::new();
        crc.update(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.value().to_le_bytes());
        let crc = crc32(&bytes);
        let (what, replaces, total) = (Blob::Knowledge, self.knowledge.sequence, bytes.len() as u32);
        self.planned.push_back(frame_of(&Request::Offer { what, replaces, total, crc }));
        for (i, data) in bytes.chunks(MAX_CHUNK).enumerate() {
            let offset = (i * MAX_CHUNK) as u32;
            self.planned.push_back(frame_of(&Request::Write { offset, crc, data }));
        }
        self.planned.push_back(frame_of(&Request::Commit { crc }));
    }

    fn hear(&mut self, response: &Response, before: &[u8]) {
        match response {
            Response::Greeting(greeting) => {
                self.ticket = Ticket { task: greeting.task, step: greeting.step };
                (self.knowledge, self.problem) = (greeting.knowledge, greeting.identity.problem);
            }
            Response::Status(status) => self.ticket = Ticket { task: status.task, step: status.step },
            Response::Query(query) => self.ticket = query.ticket,
            Response::Settled { ticket } if *ticket == self.ticket => {
                self.ticket.step += 1;
                self.answers[0] += 1;
            }
            Response::Begun { task } => {
                self.ticket = Ticket { task: *task, step: 0 };
                self.answers[1] += 1;
            }
            Response::Stored(knowledge) => {
                self.knowledge = *knowledge;
                self.answers[2] += 1;
            }
            Response::Finished(_) => self.answers[3] += 1,
            Response::Recalled { answer, .. } => {
                assert!(answer.numbers.iter().take(4).all(|x| (0.0..=1.0).contains(x)), "{answer:?}");
                self.answers[5] += 1;
            }
            Response::Chunk { offset, data } if !data.is_empty() => {
                let start = *offset as usize;
                assert_eq!(before.get(start..start + data.len()), Some(*data), "nothing but knowledge");
                self.answers[4] += 1;
            }
            _ => {}
        }
    }
}

/// A flash with the storage area in its middle and a pattern around it.
fn guarded() -> Sim {
    let mut bytes = std::vec![0xFF; FLASH + 2 * GUARD];
    bytes[..GUARD].fill(0x5A);
    bytes[GUARD + FLASH..].fill(0xA5);
    Sim::from_bytes(&bytes)
}

fn check_guards(flash: &Sim) {
    let (before, after) = (&flash.bytes()[..GUARD], &flash.bytes()[GUARD + FLASH..]);
    assert!(before.iter().all(|&byte| byte == 0x5A) && after.iter().all(|&byte| byte == 0xA5));
    let sectors = GUARD / 1024;
    let erases = flash.erases();
    assert!(erases[..sectors].iter().chain(&erases[erases.len() - sectors..]).all(|&count| count == 0));
}

/// Runs the device with a conversation at the other end of its line, as long as that wants.
fn run<P: Profile>(app: &mut App<MockBoard>, mut turn: impl FnMut() -> bool) {
    let mut going = true;
    let mut first = true;
    P::run(app, &mut |system: &mut MockSystem| {
        system.hunger = if core::mem::take(&mut first) { 0 } else { system.hunger + 1 };
        assert!(!going || system.hunger < 4, "the watchdog starves");
        going = going && turn();
        going
    });
}

/// Sends a request and waits for its answer, which comes promptly.
fn ask<P: Profile>(app: &mut App<MockBoard>, outside: &Outside, frame: &[u8]) -> Vec<u8> {
    outside.to_device.borrow_mut().extend(frame);
    let mut turns = 0;
    run::<P>(app, || {
        turns += 1;
        assert!(turns < PROMPT, "no answer");
        outside.to_station.borrow().is_empty()
    });
    outside.to_station.borrow_mut().drain(..).collect()
}

/// So many requests in a row, with time to think between them.
fn converse<P: Profile>(
    app: &mut App<MockBoard>,
    outside: &Outside,
    peer: &mut Peer,
    poison: &[u8],
    count: u32,
) {
    let (mut left, mut pause, mut waited) = (count, 0, None);
    run::<P>(app, || {
        if let Some(turns) = waited.take() {
            assert!(turns < PROMPT, "no answer");
            let answer: Vec<u8> = outside.to_station.borrow_mut().drain(..).collect();
            match answer.is_empty() {
                true => waited = Some(turns + 1),
                false => listen(&answer, |response| peer.hear(response, &[])),
            }
        } else if pause > 0 {
            pause -= 1;
        } else if left == 0 {
            return false;
        } else {
            left -= 1;
            pause = if peer.below(3) == 0 { peer.below(400) } else { 0 };
            outside.to_device.borrow_mut().extend(peer.say(poison));
            waited = Some(0);
        }
        true
    });
}

fn listen(bytes: &[u8], mut hear: impl FnMut(&Response)) {
    let mut decoder: Decoder = Decoder::new();
    let mut heard = 0;
    for &byte in bytes {
        if let Some((_, response)) = decoder.receive::<Response>(byte) {
            heard += 1;
            hear(&response);
        }
    }
    assert_eq!(heard, 1, "one answer to one request");
}

fn frame_of(request: &Request) -> Vec<u8> {
    encode(1, request, &mut [0; MAX_FRAME]).map(<[u8]>::to_vec).unwrap_or_default()
}

/// What an honest task teaches.
fn honest<P: Profile>(profile: &crate::profile::Profile) -> Vec<u8> {
    let problem = profile.number;
    let begin = Begin { task: 1, problem, seed: 3, budget: 60.0, ..Begin::PLAIN };
    let mut value = 0.0;
    let outline = P::task(&begin, &[], &mut |_| {
        value += 1.0;
        Answer::Value(value, Kpis::new(&[value, -value][..profile.problem.guards.len()]), None)
    });
    outline.knowledge
}

fn withstand<P: Profile>(requests: u32, seed: u64) {
    let profile =
        crate::profile::Profile { layout: Layout::consecutive(GUARD as u32, 1024, 6 * 1024), ..P::PROFILE };
    let poison = honest::<P>(&profile);
    let mut peer = Peer {
        random: XorShiftRng::seed_from_u64(seed),
        ticket: Ticket { task: 0, step: 0 },
        knowledge: Knowledge::default(),
        problem: 0,
        planned: VecDeque::new(),
        answers: [0; 6],
    };
    let mut flash = Some(guarded());
    for _ in 0..requests / 250 {
        let outside = Outside::default();
        let board = MockBoard { outside: outside.clone(), flash: flash.take().unwrap(), fault: None };
        let mut app = App::new(board.parts(), profile).unwrap();
        listen(&ask::<P>(&mut app, &outside, &frame_of(&Request::Hello { version: 1 })), |response| {
            peer.hear(response, &[]);
        });
        for _ in 0..5 {
            converse::<P>(&mut app, &outside, &mut peer, &poison, 50);
            assert_ne!(app.tuner.phase(), Phase::Fault, "out of order");
            let before = app.recorder.stored().0.to_vec();
            let read = peer.read();
            listen(&ask::<P>(&mut app, &outside, &read), |response| peer.hear(response, &before));
        }
        let sim = app.recorder.store.release();
        check_guards(&sim);
        flash = Some(sim);
    }
    std::println!("settled, begun, stored, finished, chunks, recalled: {:?} of {requests}", peer.answers);
    assert!(peer.answers.iter().all(|&count| count > 0), "{:?}", peer.answers);
    serves_honestly::<P>(flash.unwrap(), profile, &mut peer);
}

/// Afterwards an honest station drops what runs, forgets the poison, and finds a device that tunes.
fn serves_honestly<P: Profile>(flash: Sim, profile: crate::profile::Profile, peer: &mut Peer) {
    let outside = Outside::default();
    let mut app =
        App::new(MockBoard { outside: outside.clone(), flash, fault: None }.parts(), profile).unwrap();
    let say = |app: &mut App<MockBoard>, request: &Request, hear: &mut dyn FnMut(&Response)| {
        listen(&ask::<P>(app, &outside, &frame_of(request)), hear);
    };
    say(&mut app, &Request::Hello { version: 1 }, &mut |response| peer.hear(response, &[]));
    say(&mut app, &Request::Abort { task: peer.ticket.task }, &mut |_| {});
    say(&mut app, &Request::Forget { knowledge: peer.knowledge.sequence }, &mut |response| {
        assert!(matches!(response, Response::Stored(Knowledge { total: 0, .. })), "{response:?}");
    });
    let task = peer.ticket.task + 1;
    let begin = Begin { task, problem: peer.problem, seed: 5, budget: 60.0, ..Begin::PLAIN };
    say(&mut app, &Request::Begin(begin), &mut |response| {
        assert_eq!(*response, Response::Begun { task });
    });
    let (mut turns, mut asked) = (0, None);
    run::<P>(&mut app, || {
        turns += 1;
        if turns % 100 == 0 {
            outside.to_device.borrow_mut().extend(frame_of(&Request::Poll { task }));
        }
        let answer: Vec<u8> = outside.to_station.borrow_mut().drain(..).collect();
        if !answer.is_empty() {
            listen(&answer, |response| {
                if let Response::Query(query) = response {
                    asked = Some(query.clone());
                }
            });
        }
        turns < 2000 && asked.is_none()
    });
    let expected = P::task(&begin, &[], &mut |_| Answer::Stop).trace.queries;
    assert_eq!(asked.as_ref(), expected.first(), "the first query of a device that was never lied to");
}

#[test]
fn a_hostile_peer_can_lie_and_do_nothing_worse() {
    withstand::<Small>(100_000, 11);
}

#[test]
fn nor_when_particles_are_read_from_flash() {
    withstand::<Network>(50_000, 12);
}

#[test]
fn nor_when_there_are_guards() {
    withstand::<Guarded>(50_000, 13);
}

#[test]
fn a_device_that_is_out_of_order_says_so_and_answers_on() {
    let outside = Outside::default();
    let mut flash = Sim::new(FLASH);
    (0..FLASH).step_by(32).for_each(|at| flash.stick(at));
    let mut app =
        App::new(MockBoard { outside: outside.clone(), flash, fault: None }.parts(), Small::PROFILE).unwrap();
    let problem = Small::PROFILE.number;
    let begin = Request::Begin(Begin { task: 1, problem, seed: 1, budget: 60.0, ..Begin::PLAIN });
    listen(&ask::<Small>(&mut app, &outside, &frame_of(&begin)), |response| {
        assert_eq!(*response, Response::Refused(Refusal::Storage));
    });
    listen(&ask::<Small>(&mut app, &outside, &frame_of(&Request::Status)), |response| {
        assert!(matches!(response, Response::Status(_)), "{response:?}");
    });
}
