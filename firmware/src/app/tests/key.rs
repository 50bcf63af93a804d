//! A device with a key: who holds it tunes as ever; who does not, changes nothing but counters of refused frames.

use std::vec::Vec;

use foretune_link::seal::{Key, Opener};
use foretune_link::{
    Begin, Blob, Decoder, MAX_FRAME, Outcome, Phase, Report, Request, Response, Ticket, encode, parse,
};
use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

use super::mock::{MockBoard, MockSystem, Outside, Sim};
use super::profile::{FLASH, Profile, Small};
use crate::app::App;
use crate::profile;

const KEY: Key = [0x5A; 32];
const PROFILE: profile::Profile = profile::Profile { key: Some(KEY), ..Small::PROFILE };
const BEGIN: Begin =
    Begin { task: 1, problem: Small::PROFILE.number, seed: 1, budget: 100.0, ..Begin::PLAIN };

fn start(flash: Sim) -> (App<MockBoard>, Outside) {
    let outside = Outside::default();
    let board = MockBoard { outside: outside.clone(), flash, fault: None };
    (App::new(board.parts(), PROFILE).unwrap(), outside)
}

/// Bodies of the answers to some frames, each sent after so many turns of the loop.
fn answers(app: &mut App<MockBoard>, outside: &Outside, frames: &[Vec<u8>], turns: usize) -> Vec<Vec<u8>> {
    let mut turn = 0;
    Small::run(app, &mut |_: &mut MockSystem| {
        if turn % turns == 0 {
            outside.to_device.borrow_mut().extend(frames.get(turn / turns).into_iter().flatten());
        }
        turn += 1;
        turn < frames.len() * turns
    });
    let mut decoder: Decoder = Decoder::new();
    let said: Vec<u8> = outside.to_station.borrow_mut().drain(..).collect();
    said.iter().filter_map(|byte| decoder.push(*byte).map(<[u8]>::to_vec)).collect()
}

fn plain(request: &Request) -> Vec<u8> {
    encode(1, request, &mut [0; MAX_FRAME]).map(<[u8]>::to_vec).unwrap_or_default()
}

/// Meets the device and says something sealed; the frames that went over the line.
fn meet(app: &mut App<MockBoard>, outside: &Outside, opener: &mut Opener, nonce: u8) {
    let answer = &answers(app, outside, &[plain(&Request::Hello { version: 2 })], 5)[0];
    let Ok((_, Response::Locked { challenge })) = parse::<Response>(answer) else { panic!("{answer:?}") };
    opener.meet(&challenge, [nonce; 8]);
}

fn sealed(opener: &mut Opener, request: &Request) -> Vec<u8> {
    opener.encode(1, request, &mut [0; MAX_FRAME]).unwrap().to_vec()
}

/// Begins a task with the key and answers a query; returns the flash and every frame of it.
fn genuine(flash: Sim, opener: &mut Opener) -> (Sim, Vec<Vec<u8>>) {
    let (mut app, outside) = start(flash);
    meet(&mut app, &outside, opener, 1);
    let report = |step| {
        let outcome = Outcome::Value(1.0);
        Request::Report(Report { ticket: Ticket { task: 1, step }, attempt: 0, outcome, cost: None })
    };
    let poll = Request::Poll { task: 1 };
    let requests = [Request::Begin(BEGIN), poll, report(0), poll, report(1)];
    let recorded: Vec<Vec<u8>> = requests.iter().map(|request| sealed(opener, request)).collect();
    let heard = answers(&mut app, &outside, &recorded, 400);
    assert_eq!(heard.len(), recorded.len());
    assert!(heard.iter().all(|answer| opener.open(answer).is_some()));
    assert_eq!(app.tuner.ticket(), Ticket { task: 1, step: 2 });
    (app.recorder.store.release(), recorded)
}

/// Anything: plain requests, bytes with the marks of sealed ones, recorded frames, whole and damaged.
fn anything(random: &mut XorShiftRng, recorded: &[Vec<u8>]) -> Vec<u8> {
    let number = random.next_u32();
    let data: [u8; 64] = core::array::from_fn(|_| random.next_u32() as u8);
    let task = number % 3;
    match random.next_u32() % 12 {
        0 => plain(&Request::Hello { version: number as u16 }),
        1 => plain(&Request::Begin(Begin { task: task + 1, ..BEGIN })),
        2 => plain(&Request::Poll { task }),
        3 => plain(&Request::Stop { task }),
        4 => plain(&Request::Abort { task: 1 }),
        5 => plain(&Request::Status),
        6 => plain(&Request::Forget { knowledge: 0 }),
        7 => plain(&Request::Read { knowledge: 0, offset: 0 }),
        8 => plain(&Request::Offer {
            what: Blob::Problem,
            replaces: 0,
            total: 64,
            crc: foretune_link::crc32(&data),
        }),
        9 => plain(&Request::Write { crc: foretune_link::crc32(&data), offset: 0, data: &data }),
        10 => recorded[number as usize % recorded.len()].clone(),
        _ => {
            let mut frame = recorded[number as usize % recorded.len()].clone();
            let at = 2 + random.next_u32() as usize % (frame.len() - 3);
            frame[at] = (data[0] % 255) + 1;
            frame
        }
    }
}

#[test]
fn without_the_key_150_000_requests_change_nothing() {
    let mut opener = Opener::new(KEY);
    let (mut flash, recorded) = genuine(Sim::new(FLASH), &mut opener);
    flash.power_up();
    let (mut app, outside) = start(flash);
    let before = app.recorder.store.flash_ref().bytes().to_vec();
    let operations = app.recorder.store.flash_ref().operations();
    let mut random = XorShiftRng::seed_from_u64(5);
    let (mut left, mut heard) = (150_000u32, 0u32);
    let mut decoder: Decoder = Decoder::new();
    Small::run(&mut app, &mut |system: &mut MockSystem| {
        system.hunger = 0;
        for byte in outside.to_station.borrow_mut().drain(..) {
            let Some(body) = decoder.push(byte) else { continue };
            let locked = matches!(parse::<Response>(body), Ok((0, Response::Locked { .. })));
            assert!(locked, "a peer without the key learns only that there is one: {body:?}");
            heard += 1;
        }
        left = left.saturating_sub(1);
        outside.to_device.borrow_mut().extend(anything(&mut random, &recorded));
        left > 0
    });
    let sim = &app.recorder.store.flash_ref();
    assert!(heard > 100_000, "{heard}");
    assert_eq!((sim.operations(), sim.bytes() == before), (operations, true), "the flash is as it was");
    assert_eq!(app.tuner.ticket(), Ticket { task: 1, step: 2 });
    assert!(matches!(app.tuner.phase(), Phase::Thinking | Phase::Waiting));
    // Who holds the key goes on.
    meet(&mut app, &outside, &mut opener, 2);
    let frame = sealed(&mut opener, &Request::Poll { task: 1 });
    assert!(opener.open(&answers(&mut app, &outside, &[frame], 5)[0]).is_some());
}

#[test]
fn a_restart_changes_the_challenge_whatever_is_stored() {
    let mut flash = Sim::new(FLASH);
    let mut seen: Vec<[u8; 16]> = Vec::new();
    for _ in 0..5 {
        let (mut app, outside) = start(flash);
        let answer = &answers(&mut app, &outside, &[plain(&Request::Status)], 5)[0];
        let Ok((_, Response::Locked { challenge })) = parse::<Response>(answer) else { panic!("{answer:?}") };
        assert!(!seen.contains(&challenge));
        seen.push(challenge);
        assert_eq!((app.tuner.phase(), app.tuner.ticket().task), (Phase::Idle, 0), "no task comes of it");
        flash = app.recorder.store.release();
        flash.power_up();
    }
}
