//! A bad line: bytes dropped, flipped, inserted, doubled and held back.

use std::collections::VecDeque;
use std::vec::Vec;

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

/// One direction of a line; a good one by default.
#[derive(Default)]
pub struct Noise {
    /// One byte in so many suffers; 0 for none.
    pub one_in: u32,
    random: Option<XorShiftRng>,
    hold_until: u32,
    pub waiting: VecDeque<u8>,
}

impl Noise {
    pub fn new(one_in: u32, seed: u64) -> Self {
        Noise { one_in, random: Some(XorShiftRng::seed_from_u64(seed)), ..Noise::default() }
    }

    /// What comes out at the far end now.
    pub fn carry(&mut self, now: u32, from: &mut VecDeque<u8>) -> Vec<u8> {
        let mut out = Vec::new();
        let Some(random) = self.random.as_mut().filter(|_| self.one_in > 0) else {
            out.extend(from.drain(..));
            return out;
        };
        while now >= self.hold_until
            && let Some(byte) = from.pop_front()
        {
            let luck = random.next_u32();
            if !luck.is_multiple_of(self.one_in) {
                out.push(byte);
                continue;
            }
            match random.next_u32() % 5 {
                0 => {}
                1 => out.push(byte ^ 1 << (luck >> 29)),
                2 => out.extend([luck as u8, byte]),
                3 => out.extend([byte, byte]),
                _ => {
                    out.push(byte);
                    self.hold_until = now + random.next_u32() % 300;
                }
            }
        }
        out
    }
}
