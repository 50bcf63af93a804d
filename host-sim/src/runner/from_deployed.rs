//! Methods that begin every task at the point in use, without our optimizer: stay there, climb, or
//! [SafeOpt](super::safe_opt).
//!
//! *Never tuned* leaves the point in use where it is; *kept* tunes the first task and then leaves its recommendation.
//! Both measure once per task, at the truth's fidelity, so that there is something to tell. *Hill climbing* is how an
//! engineer does it: one parameter at a time, at the cheapest fidelity, one step up and, if that is worse, one step
//! down; on as long as it gets better; half the step when no parameter helped; the first step again when half a step
//! would be less than a level, or too small to matter.

use foretune_core::{Dimension, Error, Fallbacks, Kind, Problem, SnapshotError};

use super::safe_opt::SafeOpt;
use super::tuner::{Advice, Next, Proposal, Tuner};
use crate::method::Method;

/// First step of hill climbing, in the unit cube.
const FIRST_STEP: f32 = 0.1;
/// Least step of hill climbing.
const LEAST_STEP: f32 = 0.002;

/// How a task is gone about.
enum Way {
    Stay,
    Climb(Climb),
    SafeOpt(Box<SafeOpt>),
}

impl Way {
    fn new(method: Method, deployed: &[f32], seed: u64, task: u64) -> Self {
        match method {
            Method::HillClimbing => Self::Climb(Climb::new(deployed.to_vec())),
            Method::SafeOpt => Self::SafeOpt(Box::new(SafeOpt::new(deployed.to_vec(), seed, task))),
            _ => Self::Stay,
        }
    }
}

/// Someone at work on a sequence of tasks without an optimizer; with one in the first task, if its result is kept.
pub(super) struct FromDeployed<'a> {
    inner: Option<&'a mut dyn Tuner>,
    problem: Problem<'a>,
    method: Method,
    seed: u64,
    /// The point in use.
    deployed: Vec<f32>,
    way: Way,
    asked: Option<Proposal>,
    /// The last answer, for who does not climb.
    told: f32,
    task: u64,
    round: u32,
    done: bool,
}

impl<'a> FromDeployed<'a> {
    pub fn new(
        inner: &'a mut dyn Tuner,
        problem: Problem<'a>,
        method: Method,
        deployed: Vec<f32>,
        seed: u64,
    ) -> Self {
        Self {
            inner: (method == Method::Kept).then_some(inner),
            problem,
            way: Way::new(method, &deployed, seed, 1),
            method,
            seed,
            deployed,
            asked: None,
            told: 0.0,
            task: 1,
            round: 0,
            done: false,
        }
    }

    /// The optimizer, while it is at work.
    fn optimizer(&mut self) -> Option<&mut (dyn Tuner + 'a)> {
        if self.task == 1 { self.inner.as_deref_mut() } else { None }
    }

    fn begin(&mut self, deployed: Vec<f32>) {
        self.task += 1;
        self.way = Way::new(self.method, &deployed, self.seed, self.task);
        self.deployed = deployed;
        (self.asked, self.round, self.done) = (None, 0, false);
    }

    /// Who climbs wants many trials, the others exact ones.
    fn fidelity(&self) -> usize {
        if matches!(self.way, Way::Climb(_)) { 0 } else { self.problem.truth() }
    }

    fn propose(&mut self) -> Option<Proposal> {
        let problem = self.problem;
        let fidelity = self.fidelity();
        let spent = problem.fidelities[fidelity].cost * (self.round + 1) as f32;
        if spent > problem.budget || (matches!(self.way, Way::Stay) && self.round > 0) {
            return None;
        }
        let unit = match &mut self.way {
            Way::Stay => self.deployed.clone(),
            Way::Climb(climb) => climb.next(problem.dimensions)?,
            Way::SafeOpt(task) => task.next(&problem),
        };
        Some(Proposal { unit, fidelity, kind: Kind::Carried, round: self.round })
    }
}

impl Tuner for FromDeployed<'_> {
    fn next(&mut self, go_on: &dyn Fn() -> bool) -> Next {
        if let Some(optimizer) = self.optimizer() {
            return optimizer.next(go_on);
        }
        if !go_on() {
            return Next::Interrupted;
        }
        self.asked = if self.done { None } else { self.propose() };
        self.done = self.asked.is_none();
        Next::or_budget(self.asked.clone())
    }

    fn answer(&mut self, y: Option<f32>, cost: Option<f32>) -> Result<(), Error> {
        if let Some(optimizer) = self.optimizer() {
            return optimizer.answer(y, cost);
        }
        self.asked.take().ok_or(Error::OutOfTurn)?;
        self.round += 1;
        self.told = y.unwrap_or(self.told);
        match (&mut self.way, y) {
            (Way::Stay, _) => {}
            (Way::Climb(climb), Some(y)) => climb.tell(y),
            (Way::Climb(climb), None) => climb.fail(),
            (Way::SafeOpt(task), y) => task.tell(y),
        }
        Ok(())
    }

    fn advice(&self) -> Option<Advice> {
        if let Some(inner) = self.inner.as_ref().filter(|_| self.task == 1) {
            return inner.advice();
        }
        let problem = self.problem;
        let deviation = libm::sqrtf(problem.fidelities[self.fidelity()].noise);
        let (unit, mean) = match &self.way {
            Way::Stay => (self.deployed.clone(), self.told),
            Way::Climb(climb) => (climb.x.clone(), climb.best?),
            Way::SafeOpt(task) => task.best(&problem)?,
        };
        (self.done && self.round > 0).then_some(Advice { unit, mean, deviation })
    }

    fn next_task(&mut self) -> Result<(), Error> {
        let advice = self.advice().ok_or(Error::OutOfTurn)?;
        self.begin(advice.unit);
        Ok(())
    }

    fn finish(&mut self) {
        if let Some(optimizer) = self.optimizer() {
            optimizer.finish();
        }
        self.done = true;
    }

    fn knowledge(&self) -> Result<Vec<u8>, Error> {
        let advice = self.advice().ok_or(Error::OutOfTurn)?;
        let task = self.task.to_le_bytes();
        Ok(task.into_iter().chain(advice.unit.iter().flat_map(|x| x.to_le_bytes())).collect())
    }

    fn load(&mut self, knowledge: &[u8]) -> Result<(), Error> {
        let foreign = Error::Snapshot(SnapshotError::Foreign);
        let (task, point) = knowledge.split_first_chunk().ok_or(foreign)?;
        let (point, rest) = point.as_chunks();
        if point.len() != self.deployed.len() || !rest.is_empty() {
            return Err(foreign);
        }
        self.task = u64::from_le_bytes(*task);
        self.begin(point.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect());
        Ok(())
    }

    fn fallbacks(&self) -> Fallbacks {
        Fallbacks::default()
    }

    fn deployed(&self) -> Option<Vec<f32>> {
        match self.inner.as_ref().filter(|_| self.task == 1) {
            Some(inner) => inner.deployed(),
            None => Some(self.deployed.clone()),
        }
    }
}

/// One parameter after the other.
struct Climb {
    x: Vec<f32>,
    best: Option<f32>,
    step: f32,
    parameter: usize,
    up: bool,
    improved: bool,
    tried: Option<f32>,
}

impl Climb {
    fn new(x: Vec<f32>) -> Self {
        let (step, parameter) = (FIRST_STEP, 0);
        Self { x, best: None, step, parameter, up: true, improved: false, tried: None }
    }

    /// The next point to try; `None` if no parameter can move at all.
    fn next(&mut self, dimensions: &[Dimension]) -> Option<Vec<f32>> {
        if self.best.is_none() {
            return Some(self.x.clone());
        }
        let directions = 2 * dimensions.len();
        // Twice round: the second time with another step.
        for _ in 0..=2 * directions {
            let from = self.x[self.parameter];
            let to = moved(&dimensions[self.parameter], from, self.step, self.up);
            if to != from {
                let mut point = self.x.clone();
                point[self.parameter] = to;
                self.tried = Some(to);
                return Some(point);
            }
            self.turn();
        }
        None
    }

    fn tell(&mut self, y: f32) {
        match (self.tried.take(), self.best) {
            (Some(to), Some(best)) if y > best => {
                self.x[self.parameter] = to;
                self.best = Some(y);
                self.improved = true;
            }
            (Some(_), _) => self.turn(),
            (None, _) => self.best = Some(y),
        }
    }

    /// A trial that failed is no better.
    fn fail(&mut self) {
        if self.tried.take().is_some() {
            self.turn();
        }
    }

    /// The other direction, then the next parameter, then the next step.
    fn turn(&mut self) {
        self.up = !self.up;
        if !self.up {
            return;
        }
        self.parameter = (self.parameter + 1) % self.x.len();
        if self.parameter == 0 {
            let half = if self.step / 2.0 < LEAST_STEP { FIRST_STEP } else { self.step / 2.0 };
            self.step = if self.improved { self.step } else { half };
            self.improved = false;
        }
    }
}

/// A step up or down, at least to the next level; where there is none, nowhere.
fn moved(dimension: &Dimension, from: f32, step: f32, up: bool) -> f32 {
    let to = dimension.snap(if up { from + step } else { from - step });
    match (dimension.level_of_unit(from), dimension.levels()) {
        (Some(level), Some(levels)) if to == from => {
            dimension.unit_of_level(if up { (level + 1).min(levels - 1) } else { level.saturating_sub(1) })
        }
        _ => to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn climb(f: impl Fn(&[f32]) -> f32, start: &[f32], dimensions: &[Dimension], trials: usize) -> Vec<f32> {
        let mut climb = Climb::new(start.to_vec());
        for _ in 0..trials {
            let x = climb.next(dimensions).unwrap();
            climb.tell(f(&x));
        }
        climb.x
    }

    #[test]
    fn a_hill_is_climbed_to_its_top() {
        let interval = Dimension::Interval { low: 0.0, high: 1.0 };
        let grid = Dimension::Grid { low: 0.0, high: 1.0, levels: 11 };
        let f = |x: &[f32]| -(x[0] - 0.73) * (x[0] - 0.73) - (x[1] - 0.2) * (x[1] - 0.2);
        let top = climb(f, &[0.1, 0.9], &[interval, grid], 80);
        assert!((top[0] - 0.73).abs() < 0.01 && top[1] == 0.2, "{top:?}");
    }

    #[test]
    fn every_trial_moves_one_parameter() {
        let levels = Dimension::Levels(&[0.0, 1.0]);
        let dimensions = [levels, Dimension::Interval { low: -1.0, high: 1.0 }];
        let mut climb = Climb::new(vec![0.0, 0.5]);
        for trial in 0..60 {
            let x = climb.next(&dimensions).unwrap();
            let changed = x.iter().zip(&climb.x).filter(|(a, b)| a != b).count();
            assert_eq!(changed, usize::from(trial > 0));
            climb.tell(if trial == 0 { 1.0 } else { 0.0 });
        }
        assert_eq!(climb.x, [0.0, 0.5]);
    }

    #[test]
    fn two_levels_are_enough_to_go_on() {
        let dimensions = [Dimension::Levels(&[0.0, 1.0])];
        let mut climb = Climb::new(vec![1.0]);
        climb.next(&dimensions);
        climb.tell(1.0);
        for _ in 0..50 {
            assert_eq!(climb.next(&dimensions), Some(vec![0.0]));
            climb.tell(0.0);
        }
    }

    #[test]
    fn a_failed_trial_is_no_better() {
        let dimensions = [Dimension::Interval { low: 0.0, high: 1.0 }];
        let mut climb = Climb::new(vec![0.5]);
        climb.next(&dimensions);
        climb.tell(1.0);
        assert!(climb.next(&dimensions).is_some_and(|x| x[0] > 0.5));
        climb.fail();
        assert!(climb.next(&dimensions).is_some_and(|x| x[0] < 0.5));
        assert_eq!((climb.x, climb.best), (vec![0.5], Some(1.0)));
    }
}
