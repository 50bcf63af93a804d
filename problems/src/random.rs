//! Seeded random numbers that are the same bits on every platform.
//!
//! ChaCha8 keyed by (seed, purpose, task), so that every draw of a task is a function of these three and no
//! task depends on how many numbers another one took. Transcendental functions are those of `libm`, not the
//! platform's.

use core::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a stream of random numbers is for; part of its key, so never renumber.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Hartmann-6: the factors Δ of a task.
    HartmannFactors = 1,
    /// RRM: where the users stand at the first task, and the state of their links.
    Deployment = 2,
    /// RRM: where they go from one task to the next.
    Movement = 3,
    /// RRM: the bank of fading samples.
    Fading = 4,
    /// RRM: the deployment of a task unlike the others.
    ForeignDeployment = 5,
    /// Gas: where the sensors stand.
    Sensors = 6,
    /// RRM: starting points of the best-response search.
    Starts = 7,
    Experiment = 8,
    Noise = 9,
    /// Studies: the points of random search and of the lattice.
    Baseline = 10,
    /// Theory: a function drawn from a Gaussian process.
    TheoryFunction = 11,
    /// Theory: samples of the posterior.
    TheoryPaths = 12,
    TheoryNoise = 13,
    /// Classic functions: shift and weights of a task.
    Classic = 14,
    /// Studies: a random point in use.
    InUse = 15,
    /// Fleets: starts of a fit, and the order of its tasks.
    Fleet = 16,
    /// Studies: how far an experiment's tasks are moved.
    Moved = 17,
    /// Problems with one fidelity: what makes a task differ.
    One = 18,
    /// Studies: the noise of guarded KPIs.
    KpiNoise = 19,
    /// PID loops: the plant of an experiment, and of a task.
    Pid = 20,
    /// Radio over days: who is there, and what happens.
    Day = 21,
    /// Tests that need random queries.
    Queries = 100,
}

pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream of one purpose in one task.
    pub fn new(seed: u64, purpose: Purpose, task: usize) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        key[16..24].copy_from_slice(&(task as u64).to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Uniform in [0, 1), 53 bits.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [low, high).
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in 0..bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    /// Uniform in the disc of this radius around the origin.
    pub fn in_disc(&mut self, radius: f64) -> [f64; 2] {
        let (distance, angle) = (radius * self.unit().sqrt(), TAU * self.unit());
        let (sine, cosine) = libm::sincos(angle);
        [distance * cosine, distance * sine]
    }

    /// Circularly symmetric complex normal of mean square 1, as (real, imaginary): Box and Muller.
    pub fn complex_normal(&mut self) -> (f64, f64) {
        let radius = (-libm::log(1.0 - self.unit())).sqrt();
        let (sine, cosine) = libm::sincos(TAU * self.unit());
        (radius * cosine, radius * sine)
    }

    /// Normal of mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        core::f64::consts::SQRT_2 * self.complex_normal().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_in_seed_purpose_and_task_and_repeat_themselves() {
        let first = |seed, purpose, task| Random::new(seed, purpose, task).0.next_u64();
        let reference = first(1, Purpose::Fading, 0);
        assert_eq!(reference, first(1, Purpose::Fading, 0));
        assert_ne!(reference, first(2, Purpose::Fading, 0));
        assert_ne!(reference, first(1, Purpose::Movement, 0));
        assert_ne!(reference, first(1, Purpose::Fading, 1));
    }

    /// Guards results that people have stored: a new version of a dependency must not change the draws. The
    /// numbers are those of another ChaCha8, written in Python from its description.
    #[test]
    fn the_bits_of_a_stream_stay_what_they_were() {
        let mut random = Random::new(7, Purpose::Queries, 3);
        let draws = [random.unit(), random.normal(), random.in_disc(10.0)[0]];
        let expected = [0.216_208_895_669_695_03, -0.278_137_759_801_426_4, -8.771_328_809_110_424];
        assert_eq!(draws.map(f64::to_bits), expected.map(f64::to_bits));
    }
}
