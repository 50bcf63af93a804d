//! Inputs without a coverage-guided fuzzer: seeds, spliced and spoilt at random, the same every time.

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

/// Longest input.
const LONGEST: usize = 4096;

/// Bytes and words at the edges of what programs expect.
const EDGES: [&[u8]; 12] = [
    &[0x00],
    &[0x7F],
    &[0x80],
    &[0xFF],
    &[0, 0, 0, 0],
    &[0xFF, 0xFF, 0xFF, 0xFF],
    &[0xFF, 0xFF, 0xFF, 0x7F],
    &[0, 0, 0xC0, 0x7F],
    &[0, 0, 0x80, 0x7F],
    &[0, 0, 0x80, 0xFF],
    &[0xCA, 0xF2, 0x49, 0x71],
    &[1, 0, 0, 0],
];

/// An endless source of inputs.
#[derive(Debug)]
pub struct Inputs {
    seeds: Vec<Vec<u8>>,
    random: XorShiftRng,
}

impl Inputs {
    /// From some seeds; with none, all inputs are noise.
    pub fn new(mut seeds: Vec<Vec<u8>>, seed: u64) -> Self {
        seeds.push(Vec::new());
        Inputs { seeds, random: XorShiftRng::seed_from_u64(seed) }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.next_u32() as usize % end.max(1)
    }

    fn seed(&mut self) -> Vec<u8> {
        let which = self.below(self.seeds.len());
        self.seeds[which].clone()
    }

    /// The next input: noise, a seed, or a seed after some mishaps.
    pub fn next_input(&mut self) -> Vec<u8> {
        if self.below(8) == 0 {
            let length = self.below(600);
            return self.noise(length);
        }
        let mut bytes = self.seed();
        if bytes.is_empty() {
            let length = self.below(2000);
            bytes = self.noise(length);
        }
        for _ in 0..self.below(6) {
            self.spoil(&mut bytes);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn noise(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.random.fill_bytes(&mut bytes);
        bytes
    }

    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let end = (at + self.below(16)).min(bytes.len());
        match self.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let edge = EDGES[self.below(EDGES.len())];
                bytes.splice(at..(at + edge.len()).min(bytes.len()), edge.iter().copied());
            }
            5 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let other = self.seed();
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_the_same_every_time_and_differ_from_each_other() {
        let seeds = vec![b"one seed".to_vec(), b"another".to_vec()];
        let (mut a, mut b) = (Inputs::new(seeds.clone(), 1), Inputs::new(seeds, 1));
        let inputs: Vec<_> = (0..500).map(|_| a.next_input()).collect();
        assert!(inputs.iter().all(|input| *input == b.next_input() && input.len() <= LONGEST));
        let distinct: std::collections::HashSet<_> = inputs.iter().collect();
        assert!(distinct.len() > 400, "{}", distinct.len());
    }
}
