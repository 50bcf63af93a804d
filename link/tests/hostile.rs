//! A peer who says anything at all can lie about measurements, and do nothing worse.

mod support;

use foretune_link::tuner::{Event, Tuner};
use foretune_link::{Begin, MAX_CHUNK, Outcome, Phase, Report, Request, Response, Ticket, frame::crc32};
use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;
use support::{LIMIT, Memory, PROBLEM, restored, think};

/// Numbers at the edges, near what the device expects, or anything.
fn number(random: &mut XorShiftRng, near: u32) -> u32 {
    match random.next_u32() % 8 {
        0 => 0,
        1 => u32::MAX,
        2 => near.wrapping_sub(1),
        3 => near.wrapping_add(1),
        4 => random.next_u32(),
        _ => near,
    }
}

/// Any request, more often than not one that almost fits.
fn anything<'a>(random: &mut XorShiftRng, tuner: &Tuner, memory: &Memory, data: &'a [u8]) -> Request<'a> {
    let Ticket { task, step } = tuner.ticket();
    let length = random.next_u32() as usize % (data.len() + 1);
    let value = f32::from_bits(random.next_u32());
    let mut n = |near| number(random, near);
    match n(0) % 14 {
        0 => Request::Hello { version: n(1) as u16 },
        1 => Request::Begin(Begin {
            task: n(task + 1),
            problem: n(PROBLEM),
            seed: 0,
            budget: value,
            ..Begin::PLAIN
        }),
        2 => Request::Poll { task: n(task) },
        3..6 => {
            let outcome = if n(0) == 0 { Outcome::Failed } else { Outcome::Value(value) };
            let ticket = Ticket { task: n(task), step: n(step) };
            Request::Report(Report { ticket, attempt: n(0) as u8, outcome, cost: None })
        }
        6 => Request::Stop { task: n(task) },
        7 => Request::Abort { task: n(task) },
        8 => Request::Offer { knowledge: n(memory.sequence), total: n(64), crc: n(1) },
        9 => Request::Write { crc: n(1), offset: n(0), data: &data[..length] },
        10 => Request::Commit { crc: n(1) },
        11 | 12 => Request::Describe { total: n(64), crc: n(1) },
        _ if n(0) == 0 => Request::Forget { knowledge: n(memory.sequence) },
        _ => Request::Read { knowledge: n(memory.sequence), offset: n(memory.knowledge.len() as u32) },
    }
}

fn counts(event: &Event) -> bool {
    !matches!(event, Event::Observed { value, .. } if !value.is_finite())
}

#[test]
fn a_hostile_peer_breaks_nothing() {
    let mut random = XorShiftRng::seed_from_u64(3);
    let mut memory = Memory::default();
    let mut tuner = restored(&memory);
    let mut seen = [0u32; 4];
    for round in 0..200_000u32 {
        let data: [u8; MAX_CHUNK] = core::array::from_fn(|_| random.next_u32() as u8);
        let request = anything(&mut random, &tuner, &memory, &data);
        let mut scratch = [0; MAX_CHUNK];
        match tuner.answer(&request, &mut memory, &mut scratch) {
            Response::Refused(_) => seen[0] += 1,
            Response::Begun { .. } => seen[1] += 1,
            Response::Settled { .. } => seen[2] += 1,
            Response::Stored(_) => seen[3] += 1,
            Response::Chunk { data, .. } => {
                assert!(data.is_empty() || memory.knowledge.windows(data.len()).any(|w| w == data))
            }
            _ => {}
        }
        if round % 3 == 0 {
            think(&mut tuner, &mut memory);
        }
        assert!(memory.knowledge.len() <= LIMIT as usize);
        assert!(memory.events.iter().all(counts), "only finite values count");
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
    assert_ne!(tuner.phase(), Phase::Fault);
    assert_eq!(tuner.ticket(), restored(&memory).ticket(), "what it remembers is what it would find again");
}

#[test]
fn knowledge_with_a_wrong_checksum_is_not_taken_over() {
    let mut memory = Memory::default();
    let mut tuner = restored(&memory);
    let mut scratch = [0; MAX_CHUNK];
    let crc = crc32(b"promised");
    tuner.answer(&Request::Offer { knowledge: 0, total: 8, crc }, &mut memory, &mut scratch);
    tuner.answer(&Request::Write { crc, offset: 0, data: b"supplied" }, &mut memory, &mut scratch);
    let answer = tuner.answer(&Request::Commit { crc }, &mut memory, &mut scratch);
    assert_eq!(answer, Response::Refused(foretune_link::Refusal::Checksum));
    assert!(memory.knowledge.is_empty() && memory.sequence == 0);
}
