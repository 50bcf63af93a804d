//! Where randomness comes from: one root seed, and for every experiment its own four.
//!
//! None depends on the method, so that all methods of an experiment meet the same tasks, the same initial points and,
//! query by query, the same noise: differences between methods are differences within pairs.

use crate::problems::random::{Purpose, Random};

/// The seeds of one experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Of the sequence of tasks.
    pub tasks: u64,
    /// Of the optimizer.
    pub optimizer: u64,
    /// Of the observation noise.
    pub noise: u64,
    /// Of random search and the lattice.
    pub baseline: u64,
}

impl Seeds {
    /// The seeds of an experiment, counted from 1.
    pub fn new(root: u64, experiment: u32) -> Self {
        let mut random = Random::new(root, Purpose::Experiment, experiment as usize);
        let [tasks, optimizer, noise, baseline] = std::array::from_fn(|_| random.bits());
        Self { tasks, optimizer, noise, baseline }
    }
}

/// The observation noise of one task: one draw per query, in their order.
pub struct Noise(Random);

impl Noise {
    /// The noise of a task, counted from 1.
    pub fn new(seed: u64, task: u32) -> Self {
        Self(Random::new(seed, Purpose::Noise, task as usize))
    }

    /// The next query's noise, of the given variance.
    pub fn draw(&mut self, variance: f64) -> f64 {
        variance.sqrt() * self.0.normal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards results that people have stored.
    #[test]
    fn seeds_and_noise_stay_what_they_were() {
        let seeds = Seeds::new(1, 1);
        let mut noise = Noise::new(seeds.noise, 1);
        assert_eq!(seeds.tasks, 3_352_151_618_773_015_216);
        assert_eq!(seeds.optimizer, 8_553_262_432_999_347_601);
        assert_eq!(noise.draw(1.0).to_bits(), 13_826_492_980_682_104_681);
        assert_eq!(noise.draw(0.25).to_bits(), 4_592_198_577_885_850_818);
        assert_ne!(seeds, Seeds::new(1, 2));
        assert_ne!(seeds, Seeds::new(2, 1));
    }
}
