//! One direction of a bad line: frames are lost, altered, repeated and delayed.

use std::collections::BTreeMap;

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

/// What happens by chance, the same for the same seed.
pub struct Chance(XorShiftRng);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(XorShiftRng::seed_from_u64(seed))
    }

    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    pub fn below(&mut self, end: u32) -> u32 {
        self.word() % end
    }

    pub fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }
}

/// How often what happened.
#[derive(Debug, Default)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    pub fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    pub fn merge(&mut self, other: &Counts) {
        other.0.iter().for_each(|(what, count)| *self.0.entry(what).or_default() += count);
    }
}

/// One direction of the line.
#[derive(Default)]
pub struct Wire {
    under_way: Vec<(u32, Vec<u8>)>,
    pub counts: Counts,
}

impl Wire {
    /// Sends a frame; one in `clean` is spared nothing.
    pub fn send(&mut self, now: u32, frame: &[u8], clean: u32, chance: &mut Chance) {
        self.counts.add("frames");
        let mut bytes = frame.to_vec();
        let mut at = now + 1;
        if chance.one_in(clean) {
            match chance.below(5) {
                0 => return self.counts.add("lost"),
                1 => {
                    self.counts.add("repeated");
                    self.under_way.push((now + 1 + chance.below(300), bytes.clone()));
                }
                2 => {
                    self.counts.add("reordered");
                    at += chance.below(200);
                }
                _ => {
                    self.counts.add("altered");
                    alter(&mut bytes, chance);
                }
            }
        }
        self.under_way.push((at, bytes));
    }

    /// The bytes that arrive now.
    pub fn arriving(&mut self, now: u32) -> Vec<u8> {
        let (arrived, later) = self.under_way.drain(..).partition::<Vec<_>, _>(|(at, _)| *at <= now);
        self.under_way = later;
        arrived.into_iter().flat_map(|(_, bytes)| bytes).collect()
    }
}

fn alter(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(bytes.len() as u32) as usize;
    match chance.below(5) {
        0 => bytes[at] ^= 1 << chance.below(8),
        1 => bytes[at] = chance.below(256) as u8,
        2 => {
            bytes.remove(at);
        }
        3 => bytes.truncate(at),
        _ => (0..chance.below(20)).for_each(|_| bytes.insert(at, chance.below(256) as u8)),
    }
}
