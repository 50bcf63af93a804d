//! Baselines without a model: uniform points, and a low-discrepancy sequence, at the truth's fidelity or the cheapest.
//!
//! Their initial points are the optimizer's own, so that all methods start a task from the same data. They recommend
//! the point with the highest observation at their fidelity.

use foretune_core::{Dimension, Error, Fallbacks, Kind, Problem, Stop};

use super::tuner::{Advice, Next, Proposal, Tuner};
use crate::method::Method;
use crate::problems::random::{Purpose, Random};

/// A baseline on top of an optimizer that gives the initial points.
pub(super) struct Baseline<'a> {
    inner: &'a mut dyn Tuner,
    problem: Problem<'a>,
    method: Method,
    seed: u64,
    initial: u32,
    task: usize,
    random: Random,
    /// Queries of its own so far.
    charged: u32,
    /// What the initial points cost.
    spent: f32,
    asked: Option<Proposal>,
    /// The best observation so far: at the fidelity of the charged queries or not, its value, its point.
    best: Option<(bool, f32, Vec<f32>)>,
    round: u32,
    done: bool,
}

impl<'a> Baseline<'a> {
    pub fn new(
        inner: &'a mut dyn Tuner,
        problem: Problem<'a>,
        method: Method,
        initial: usize,
        seed: u64,
    ) -> Self {
        let random = Random::new(seed, Purpose::Baseline, 1);
        Self {
            inner,
            problem,
            method,
            seed,
            // With a floor, the point in use is all that a task starts from.
            initial: if problem.floor.is_some() { 1 } else { initial as u32 },
            task: 1,
            random,
            charged: 0,
            spent: 0.0,
            asked: None,
            best: None,
            round: 0,
            done: false,
        }
    }

    fn begin(&mut self, task: usize) {
        self.task = task;
        self.random = Random::new(self.seed, Purpose::Baseline, task);
        (self.charged, self.round, self.spent) = (0, 0, 0.0);
        (self.asked, self.best, self.done) = (None, None, false);
    }

    /// The fidelity of all charged queries.
    fn fidelity(&self) -> usize {
        if self.method == Method::RandomCheapest { 0 } else { self.problem.truth() }
    }

    /// The next point, if it can be paid.
    fn propose(&mut self) -> Option<Proposal> {
        let problem = self.problem;
        let fidelity = self.fidelity();
        let spent = self.spent + problem.fidelities[fidelity].cost * (self.charged + 1) as f32;
        if spent > problem.budget {
            return None;
        }
        let count = problem.dimensions.len();
        let unit = match self.method {
            Method::Lattice => lattice(self.charged, &shift(self.seed, self.task, count)),
            _ => (0..count).map(|_| self.random.uniform(0.0, 1.0)).collect(),
        };
        let snap = |(x, d): (&f64, &Dimension<'_>)| snapped(*x, d);
        let unit = unit.iter().zip(problem.dimensions).map(snap).collect();
        self.charged += 1;
        Some(Proposal { unit, fidelity, kind: Kind::Search, round: self.round })
    }
}

/// The level or value that a coordinate in [0, 1) stands for; every level equally often.
fn snapped(x: f64, dimension: &Dimension<'_>) -> f32 {
    match dimension.levels() {
        Some(levels) => dimension.unit_of_level((x * levels as f64) as usize),
        None => dimension.snap(x as f32),
    }
}

fn shift(seed: u64, task: usize, count: usize) -> Vec<f64> {
    let mut random = Random::new(seed, Purpose::Baseline, task);
    (0..count).map(|_| random.uniform(0.0, 1.0)).collect()
}

/// Point `index` of the additive recurrence with the generalised golden ratio, shifted.
fn lattice(index: u32, shift: &[f64]) -> Vec<f64> {
    // The positive root of x^(d+1) = x + 1, by fixed-point iteration.
    let d = shift.len() as f64;
    let ratio = (0..64).fold(2.0, |x: f64, _| libm::pow(1.0 + x, 1.0 / (d + 1.0)));
    let coordinate = |(j, shift): (usize, &f64)| {
        let x = shift + f64::from(index) * libm::pow(ratio, -(j as f64 + 1.0));
        x - libm::floor(x)
    };
    shift.iter().enumerate().map(coordinate).collect()
}

impl Tuner for Baseline<'_> {
    fn next(&mut self, go_on: &dyn Fn() -> bool) -> Next {
        if !go_on() {
            return Next::Interrupted;
        }
        if self.done {
            return Next::Done(Stop::Budget);
        }
        let proposal = if self.round < self.initial {
            match self.inner.next(go_on) {
                Next::Query(proposal) => Some(proposal),
                other => return other,
            }
        } else {
            self.propose()
        };
        self.done = proposal.is_none();
        self.asked = proposal;
        Next::or_budget(self.asked.clone())
    }

    fn answer(&mut self, y: Option<f32>, cost: Option<f32>) -> Result<(), Error> {
        let asked = self.asked.clone().ok_or(Error::OutOfTurn)?;
        if self.round < self.initial {
            self.inner.answer(y, cost)?;
            // Where a system is in service, every trial is charged.
            let charged = self.problem.deployed.is_some();
            self.spent += if charged { self.problem.fidelities[asked.fidelity].cost } else { 0.0 };
        }
        self.asked = None;
        self.round += 1;
        let Some(y) = y else { return Ok(()) };
        let comparable = asked.fidelity == self.fidelity();
        let better = |best: &(bool, f32, Vec<f32>)| (comparable, y) > (best.0, best.1);
        if self.best.as_ref().is_none_or(better) {
            self.best = Some((comparable, y, asked.unit));
        }
        Ok(())
    }

    fn advice(&self) -> Option<Advice> {
        let (_, y, unit) = self.best.as_ref().filter(|_| self.done)?;
        let noise = self.problem.fidelities[self.fidelity()].noise;
        Some(Advice { unit: unit.clone(), mean: *y, deviation: libm::sqrtf(noise) })
    }

    fn next_task(&mut self) -> Result<(), Error> {
        if !self.done {
            return Err(Error::OutOfTurn);
        }
        self.inner.finish();
        self.inner.next_task()?;
        self.begin(self.task + 1);
        Ok(())
    }

    fn finish(&mut self) {
        self.done = true;
    }

    fn knowledge(&self) -> Result<Vec<u8>, Error> {
        if !self.done {
            return Err(Error::OutOfTurn);
        }
        Ok((self.task as u64).to_le_bytes().to_vec())
    }

    fn load(&mut self, knowledge: &[u8]) -> Result<(), Error> {
        let task = knowledge.try_into().map(u64::from_le_bytes);
        let task = task.map_err(|_| Error::Snapshot(foretune_core::SnapshotError::Foreign))?;
        while (self.task as u64) <= task {
            self.done = true;
            self.next_task()?;
        }
        Ok(())
    }

    fn fallbacks(&self) -> Fallbacks {
        Fallbacks::default()
    }

    fn deployed(&self) -> Option<Vec<f32>> {
        self.inner.deployed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lattice_covers_evenly() {
        // χ² of 64 points in 8 slices along each axis: 28 is expected of random points, with a deviation of 7.5.
        let points: Vec<Vec<f64>> = (0..64).map(|i| lattice(i, &[0.1, 0.7, 0.3, 0.9])).collect();
        let mut sum = 0.0;
        for axis in 0..4 {
            for slice in 0..8 {
                let count = points.iter().filter(|p| (p[axis] * 8.0) as usize == slice).count();
                sum += (count as f64 - 8.0).powi(2) / 8.0;
            }
        }
        assert!(sum < 12.0, "{sum}");
        assert_ne!(shift(1, 1, 4), shift(1, 2, 4));
    }
}
