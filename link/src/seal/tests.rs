use super::*;
use crate::message::Request;
use crate::{Decoder, MAX_FRAME, parse};
use std::vec::Vec;

const KEY: Key = [7; 32];
const HELLO: Request<'static> = Request::Hello { version: 2 };

fn body(frame: &[u8]) -> Vec<u8> {
    let mut decoder: Decoder = Decoder::new();
    frame.iter().find_map(|byte| decoder.push(*byte).map(<[u8]>::to_vec)).unwrap()
}

/// A station and a lock that have met.
fn pair(nonce: u8) -> (Lock, Opener) {
    let (lock, mut opener) = (Lock::new(KEY, 3), Opener::new(KEY));
    opener.meet(&lock.challenge(), [nonce; 8]);
    (lock, opener)
}

fn sealed(opener: &mut Opener) -> Vec<u8> {
    body(opener.encode(5, &HELLO, &mut [0; MAX_FRAME]).unwrap())
}

#[test]
fn the_code_is_the_one_of_the_standard() {
    // RFC 4231, test case 2, its key filled up with zeros as HMAC does.
    let mut key = [0; 32];
    key[..4].copy_from_slice(b"Jefe");
    let mac = digest(&key, &[b"what do ya want ", b"for nothing?"]);
    assert_eq!(mac[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
}

#[test]
fn a_sealed_request_is_opened_once() {
    let (mut lock, mut opener) = pair(1);
    let first = sealed(&mut opener);
    let range = lock.open(&first).unwrap();
    assert_eq!(parse::<Request>(&first[range]), Ok((5, HELLO)));
    assert_eq!(lock.open(&first), None, "played again");
    let (second, third) = (sealed(&mut opener), sealed(&mut opener));
    assert!(lock.open(&third).is_some(), "the second was lost");
    assert_eq!(lock.open(&second), None, "too late");
}

#[test]
fn every_flipped_bit_another_key_and_an_echo_are_refused() {
    let (mut lock, mut opener) = pair(1);
    let genuine = sealed(&mut opener);
    for bit in 0..8 * genuine.len() {
        let mut forged = genuine.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(lock.open(&forged), None, "bit {bit}");
    }
    for length in 0..genuine.len() {
        assert_eq!(lock.open(&genuine[..length]), None);
    }
    let mut stranger = Opener::new([8; 32]);
    stranger.meet(&lock.challenge(), [1; 8]);
    assert_eq!(lock.open(&sealed(&mut stranger)), None);
    assert_eq!(opener.clone().open(&genuine), None, "an echo");
    assert!(lock.open(&genuine).is_some(), "nothing has changed");
}

#[test]
fn what_was_recorded_in_one_session_or_life_is_refused_in_every_other() {
    let (mut lock, mut opener) = pair(1);
    let recorded = [sealed(&mut opener), sealed(&mut opener)];
    assert!(recorded.iter().all(|body| lock.open(body).is_some()));
    opener.meet(&lock.challenge(), [2; 8]);
    assert!(lock.open(&sealed(&mut opener)).is_some(), "the next session");
    assert!(recorded.iter().all(|body| lock.open(body).is_none()));
    let mut later = Lock::new(KEY, 4);
    assert!(recorded.iter().all(|body| later.open(body).is_none()), "after a restart");
    assert_ne!(later.challenge(), lock.challenge());
}

#[test]
fn an_answer_is_taken_once_and_only_to_what_was_sent() {
    let (mut lock, mut opener) = pair(1);
    let answer = |lock: &Lock| {
        let mut bytes = [0; 64];
        let length = lock.seal(&mut bytes, 3).unwrap();
        bytes[..length].to_vec()
    };
    lock.open(&sealed(&mut opener)).unwrap();
    let first = answer(&lock);
    assert_eq!(opener.open(&first), Some(BEFORE..BEFORE + 3));
    assert_eq!(opener.open(&first), None, "played again");
    lock.open(&sealed(&mut opener)).unwrap();
    assert!(opener.open(&answer(&lock)).is_some());
}
