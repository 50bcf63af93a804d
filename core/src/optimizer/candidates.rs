//! The points under consideration, and which of them are the best.

use core::ops::Range;

use heapless::Vec;

use crate::acquisition::{Mixture, ScoreSums};
use crate::block::{self, Cut};
use crate::data::Point;
use crate::gp::Posterior;
use crate::linalg::{Matrix, MatrixMut, column_mut};
use crate::max_value;
use crate::space::Problem;

/// Candidates that are refined, and observations that are looked around.
pub(super) const TOP: usize = 4;

/// Points under consideration, and what is thought of them.
pub(super) struct Candidates<'a> {
    pub points: MatrixMut<'a>,
    /// Beliefs of one particle: those of a candidate follow each other.
    pub beliefs: &'a mut [Posterior],
    /// Sums over particles, likewise.
    pub sums: &'a mut [ScoreSums],
    /// What a particle believes of the truth.
    pub truth: &'a mut [max_value::Candidate],
    /// What the guards' KPIs are believed to be, those of a candidate behind each other.
    pub kpis: &'a mut [Mixture],
    pub fidelities: usize,
    pub len: usize,
    /// The best considered so far, best first.
    pub best: Vec<Choice, TOP>,
    /// Of what is not allowed but worth going on for, the safest; and what it is hoped to be.
    pub beyond: Option<(Choice, f32)>,
}

/// A candidate with its best fidelity.
#[derive(Clone)]
pub(super) struct Choice {
    /// Whether the floor allows it; what is not allowed ranks behind what is.
    pub allowed: bool,
    pub score: f32,
    pub x: Point,
    pub fidelity: usize,
    pub mean: f32,
    pub variance: f32,
}

impl Choice {
    /// Whether it ranks before another.
    pub fn beats(&self, other: &Choice) -> bool {
        if self.allowed == other.allowed { self.score > other.score } else { self.allowed }
    }
}

impl<'a> Candidates<'a> {
    /// Words that `q` candidates in `d` dimensions with `m` fidelities and `g` guards take.
    pub const fn words(d: usize, m: usize, g: usize, q: usize) -> usize {
        let each = block::sum(&[
            d,
            block::words::<max_value::Candidate>(1),
            m * block::words::<Posterior>(1),
            m * block::words::<ScoreSums>(1),
            g * block::words::<Mixture>(1),
        ]);
        q.saturating_mul(each)
    }

    /// None yet, in the next so many words of a block.
    pub fn cut(cut: &mut Cut<'a>, d: usize, m: usize, g: usize, q: usize) -> Self {
        let beliefs = q.saturating_mul(m);
        let (points, beliefs, sums) = (cut.matrix(d, q), cut.slice(beliefs), cut.slice(beliefs));
        let (truth, kpis) = (cut.slice(q), cut.slice(q.saturating_mul(g)));
        Candidates {
            points,
            beliefs,
            sums,
            truth,
            kpis,
            fidelities: m,
            len: 0,
            best: Vec::new(),
            beyond: None,
        }
    }

    /// Candidates `first..end`.
    #[cfg(feature = "paper")]
    pub fn points(&self, first: usize, end: usize) -> Matrix<'_> {
        self.points.columns(first, end - first)
    }

    /// Some candidates, and their beliefs to write.
    pub fn points_and_beliefs(
        &mut self,
        points: Range<usize>,
        beliefs: Range<usize>,
    ) -> (Matrix<'_>, &mut [Posterior]) {
        (self.points.columns(points.start, points.len()), &mut self.beliefs[beliefs])
    }

    pub fn point(&self, index: usize) -> &[f32] {
        self.points.column(index).data.into_slice()
    }

    /// Where the beliefs and sums of candidate `index` begin.
    pub fn at(&self, index: usize) -> usize {
        index * self.fidelities
    }

    /// Adds a candidate that `write` puts down, if there is room.
    pub fn push(&mut self, write: impl FnOnce(&mut [f32])) {
        if self.len < self.truth.len() {
            write(column_mut(&mut self.points, self.len));
            self.len += 1;
        }
    }

    /// Moves all candidates to where the problem's limits hold, and puts them under these conditions.
    pub fn settle(&mut self, problem: &Problem<'_>, deployed: Option<&[f32]>, conditions: &[f32]) {
        let conditional = problem.conditions() > 0;
        for index in 0..self.len {
            let x = column_mut(&mut self.points, index);
            problem.keep_to_limits(deployed, x);
            if conditional {
                problem.put_conditions(conditions, x);
            }
        }
    }

    pub fn clear_sums(&mut self) {
        let end = self.at(self.len);
        self.sums[..end].fill(ScoreSums::ZERO);
        self.kpis.fill(Mixture::NONE);
    }

    pub fn forget_best(&mut self) {
        self.best.clear();
        self.beyond = None;
    }

    /// Keeps the best of those that are not allowed, with what it is hoped to be; of equals the earlier.
    pub fn consider_beyond(&mut self, choice: &Choice, hope: f32) {
        let is_better = self.beyond.as_ref().is_none_or(|(known, _)| choice.score > known.score);
        if choice.score.is_finite() && is_better {
            self.beyond = Some((choice.clone(), hope));
        }
    }

    /// Keeps the best few, best first; of equal scores the earlier. A point is kept once.
    pub fn consider(&mut self, choice: Choice) {
        if !choice.score.is_finite() || self.best.iter().any(|known| known.x == choice.x) {
            return;
        }
        let rank = self.best.iter().position(|known| choice.beats(known)).unwrap_or(self.best.len());
        if rank < TOP {
            if self.best.is_full() {
                self.best.pop();
            }
            let _ = self.best.push(choice);
            last_to_front(&mut self.best[rank..]);
        }
    }
}

/// Moves the last one to the front and all others one place back.
// By swaps: the library's way of moving memory takes 1.5 KB of flash, and there is little to move.
pub(super) fn last_to_front<T>(items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i - 1, i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn keeps_the_best_few_each_once_and_the_first_of_equals() {
        let mut words = [0; Candidates::words(1, 1, 0, 1)];
        let mut candidates = Candidates::cut(&mut Cut::new(&mut words), 1, 1, 0, 1);
        let scores =
            [(0.1, 2.0), (0.2, 5.0), (0.3, 2.0), (0.2, 9.0), (0.4, f32::NAN), (0.5, 1.0), (0.6, 3.0)];
        for (x, score) in scores {
            let x = Point::from_slice(&[x]).unwrap();
            candidates.consider(Choice { allowed: true, score, x, fidelity: 0, mean: 0.0, variance: 0.0 });
        }
        let best: std::vec::Vec<(f32, f32)> =
            candidates.best.iter().map(|choice| (choice.x[0], choice.score)).collect();
        assert_eq!(best, [(0.2, 5.0), (0.6, 3.0), (0.1, 2.0), (0.3, 2.0)]);
    }
}
