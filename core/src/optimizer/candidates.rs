//! The points under consideration: how they are chosen, and which of them are the best.

use super::Optimizer;
use crate::acquisition::Tally;
use crate::gp::Posterior;
use crate::max_value::Reach;
use crate::random::Purpose;
use crate::search::{self, Lattice};

/// Candidates that are refined, and observations that are looked around.
pub(super) const TOP: usize = 4;

/// Points under consideration, and what is thought of them.
pub(super) struct Candidates<const D: usize, const M: usize, const Q: usize> {
    pub x: [[f32; D]; Q],
    pub belief: [[Posterior; M]; Q],
    pub tally: [[Tally; M]; Q],
    pub reach: [Reach; Q],
    pub len: usize,
    top: [Choice<D>; TOP],
    found: usize,
}

/// A candidate with its best fidelity.
#[derive(Clone, Copy)]
pub(super) struct Choice<const D: usize> {
    pub score: f32,
    pub x: [f32; D],
    pub fidelity: usize,
    pub mean: f32,
    pub variance: f32,
}

impl<const D: usize, const M: usize, const Q: usize> Candidates<D, M, Q> {
    pub const fn new() -> Self {
        const NOTHING: Posterior = Posterior { mean: 0.0, variance: 0.0, covariance: 0.0 };
        Candidates {
            x: [[0.0; D]; Q],
            belief: [[NOTHING; M]; Q],
            tally: [[Tally::ZERO; M]; Q],
            reach: [Reach { mean: 0.0, precision: 0.0 }; Q],
            len: 0,
            top: [Choice { score: 0.0, x: [0.0; D], fidelity: 0, mean: 0.0, variance: 0.0 }; TOP],
            found: 0,
        }
    }

    pub fn push(&mut self, x: [f32; D]) {
        if self.len < Q {
            self.x[self.len] = x;
            self.len += 1;
        }
    }

    pub fn clear_tallies(&mut self) {
        self.tally[..self.len].as_flattened_mut().fill(Tally::ZERO);
    }

    pub fn forget_best(&mut self) {
        self.found = 0;
    }

    /// The best considered so far, best first.
    pub fn best(&self) -> &[Choice<D>] {
        &self.top[..self.found]
    }

    /// Keeps the best few, best first; of equal scores the earlier. A point is kept once.
    pub fn consider(&mut self, choice: Choice<D>) {
        if !choice.score.is_finite() || self.best().iter().any(|known| known.x == choice.x) {
            return;
        }
        let rank = self.best().iter().position(|known| choice.score > known.score).unwrap_or(self.found);
        if rank < TOP {
            self.found = (self.found + 1).min(TOP);
            self.top[rank..self.found].rotate_right(1);
            self.top[rank] = choice;
        }
    }
}

impl<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> Optimizer<'_, D, M, N, V, F, P, A, Q>
{
    /// Fills the candidates: the whole space if it is small, else carried points, the best observed and points around
    /// them (a quarter of all), and a lattice. Returns whether it is the whole space.
    pub(super) fn fill_candidates(&mut self) -> bool {
        let mut random = self.random(Purpose::Candidates, 0);
        let count = self.settings.candidates;
        let lattice = Lattice::new(self.problem.dimensions, count, &mut random);
        self.memory.candidates.len = 0;
        if lattice.whole.is_none() {
            let carried = if self.looks_back() { self.state.carried } else { 0 };
            for i in 0..carried {
                self.memory.candidates.push(self.memory.carried[i]);
            }
            let best = self.best_observed();
            for &i in best.iter().flatten() {
                self.memory.candidates.push(self.memory.data.x()[i]);
            }
            let mut pick = 0;
            while self.memory.candidates.len < count / 4 && best[0].is_some() {
                if let Some(i) = best[pick % TOP] {
                    let (mut x, centre) = ([0.0; D], self.memory.data.x()[i]);
                    let radius = search::radius(pick / TOP % 3);
                    search::around(self.problem.dimensions, &centre, radius, &mut random, &mut x);
                    self.memory.candidates.push(x);
                }
                pick += 1;
            }
        }
        for index in 0..lattice.whole.unwrap_or(count).min(count - self.memory.candidates.len) {
            let mut x = [0.0; D];
            lattice.point(self.problem.dimensions, index, &mut x);
            self.memory.candidates.push(x);
        }
        lattice.whole.is_some()
    }

    /// All points that were observed in this task.
    pub(super) fn observed_candidates(&mut self) {
        let points = &self.memory.data.x()[self.state.remembered..];
        self.memory.candidates.len = points.len();
        self.memory.candidates.x[..points.len()].copy_from_slice(points);
    }

    /// New candidates around the best ones.
    pub(super) fn refine(&mut self, refinement: usize) {
        let mut random = self.random(Purpose::Refine, refinement as u32);
        let count = (self.settings.candidates / 4).max(TOP);
        let candidates = &mut self.memory.candidates;
        candidates.len = 0;
        for i in 0..count {
            let (mut x, centre) = ([0.0; D], candidates.top[i % candidates.found].x);
            search::around(self.problem.dimensions, &centre, search::radius(refinement), &mut random, &mut x);
            candidates.push(x);
        }
        candidates.clear_tallies();
    }

    /// The observations of this task with the largest values, best first.
    pub(super) fn best_observed(&self) -> [Option<usize>; TOP] {
        let z = self.memory.data.z();
        let mut best = [None; TOP];
        for i in self.state.remembered..z.len() {
            let better = |other: &Option<usize>| other.is_none_or(|other| z[i] > z[other]);
            if let Some(rank) = best.iter().position(better) {
                best[rank..].rotate_right(1);
                best[rank] = Some(i);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn keeps_the_best_few_each_once_and_the_first_of_equals() {
        let mut candidates = Candidates::<1, 1, 1>::new();
        let scores =
            [(0.1, 2.0), (0.2, 5.0), (0.3, 2.0), (0.2, 9.0), (0.4, f32::NAN), (0.5, 1.0), (0.6, 3.0)];
        for (x, score) in scores {
            candidates.consider(Choice { score, x: [x], fidelity: 0, mean: 0.0, variance: 0.0 });
        }
        let best: Vec<(f32, f32)> =
            candidates.best().iter().map(|choice| (choice.x[0], choice.score)).collect();
        assert_eq!(best, [(0.2, 5.0), (0.6, 3.0), (0.1, 2.0), (0.3, 2.0)]);
        candidates.forget_best();
        assert!(candidates.best().is_empty());
    }
}
