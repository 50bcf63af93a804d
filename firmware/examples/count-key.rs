//! Counts instructions of a key for the serial line: see `counting`. The number is the bytes of data in a frame.
#![no_std]
#![no_main]

mod counting;

use counting::{count, tell};
use foretune_link::seal::{Key, Lock, Opener};
use foretune_link::{Decoder, MAX_CHUNK, MAX_FRAME, Request, encode};
use heapless::Vec;

const KEY: Key = [7; 32];
/// The smallest frames, and the largest.
const LENGTHS: [usize; 2] = [0, MAX_CHUNK];

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    for length in LENGTHS {
        let request = Request::Write { crc: 9, offset: 0, data: &[0x5A; MAX_CHUNK][..length] };
        let mut frame = [0; MAX_FRAME];
        tell("frame", length, count(|| assert!(encode(1, &request, &mut frame).is_ok())));
        let (mut lock, mut opener) = (Lock::new(KEY, 1), Opener::new(KEY));
        opener.meet(&lock.challenge(), [1; 8]);
        for what in ["session", "open"] {
            let sealing = count(|| assert!(opener.encode(1, &request, &mut frame).is_ok()));
            let mut decoder: Decoder = Decoder::new();
            let body =
                frame.iter().find_map(|byte| decoder.push(*byte).map(Vec::<u8, MAX_FRAME>::from_slice));
            let body = body.expect("a whole frame").expect("that fits");
            tell(what, length, count(|| assert!(lock.open(&body).is_some())));
            if what == "open" {
                tell("seal", length, sealing);
            }
        }
    }
    counting::end()
}
