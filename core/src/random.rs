//! Seeded randomness: a stream for every (seed, task, round, purpose), so that any round can be replayed.

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

use crate::math;

/// What a stream of random numbers is for; streams of different purposes do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Particles from the prior.
    Prior = 1,
    /// Initial points.
    Start = 2,
    /// Candidates of the search.
    Candidates = 3,
    /// Max-value samples.
    MaxValues = 4,
    /// The coin of the separation methods.
    #[cfg(any(feature = "paper", test))]
    Coin = 5,
    /// Points around the best ones; one stream per refinement.
    Refine = 6,
    /// Noise of learning steps; the step in place of the round, one stream per particle and slice.
    Diffusion = 7,
}

/// A stream of random numbers.
pub(crate) struct Random(XorShiftRng);

impl Random {
    /// The stream of `purpose` in a round of a task.
    pub fn new(seed: u64, task: u32, round: u32, purpose: Purpose, index: u32) -> Self {
        // Mixed first: without it, seed 4 in task 1 would be seed 2 in task 2.
        let mut state = mix(seed);
        for part in [task, round, purpose as u32, index] {
            state = mix(state ^ (u64::from(part) << 1 | 1));
        }
        let mut bytes = [0; 16];
        for half in bytes.chunks_mut(8) {
            state = mix(state);
            half.copy_from_slice(&state.to_le_bytes());
        }
        Random(XorShiftRng::from_seed(bytes))
    }

    /// Uniform in `[0, 1)`, a multiple of 2⁻²⁴.
    pub fn uniform(&mut self) -> f32 {
        (self.0.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }

    /// Uniform below `n > 0`.
    // One copy takes less flash.
    #[inline(never)]
    pub fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }

    /// 32 random bits.
    pub fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Standard normal, by Marsaglia's polar method (the second value of each pair is not kept).
    pub fn normal(&mut self) -> f32 {
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                return u * math::sqrt(-2.0 * math::ln(square) / square);
            }
        }
    }
}

/// The finaliser of SplitMix64.
// On a device its copies would take 0.2 KB.
#[inline(never)]
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |task, round, purpose| Random::new(7, task, round, purpose, 0).bits();
        assert_eq!(draw(1, 2, Purpose::Start), draw(1, 2, Purpose::Start));
        assert_ne!(draw(1, 2, Purpose::Start), draw(2, 1, Purpose::Start));
        assert_ne!(draw(1, 2, Purpose::Start), draw(1, 2, Purpose::Coin));
        let seeded = |seed, task| Random::new(seed, task, 0, Purpose::Start, 0).bits();
        assert_ne!(seeded(4, 1), seeded(2, 2), "neighbouring seeds and tasks must not meet");
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::new(1, 1, 1, Purpose::Prior, 0);
        let n = 40_000;
        let (mut uniform, mut mean, mut square, mut fourth) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        for _ in 0..n {
            uniform += f64::from(random.uniform());
            let normal = f64::from(random.normal());
            mean += normal;
            square += normal * normal;
            fourth += normal.powi(4);
        }
        let n = f64::from(n);
        assert!((uniform / n - 0.5).abs() < 0.01);
        assert!((mean / n).abs() < 0.02 && (square / n - 1.0).abs() < 0.03 && (fourth / n - 3.0).abs() < 0.2);
        assert!((0..100).all(|_| random.below(3) < 3));
    }
}
