//! Opponents without our model: search without one, stay at the point in use, climb from it, or have [one of their
//! own](super::safe_opt).
//!
//! *Random search* and the *lattice* take a task's initial points from the optimizer, so that all methods start from the
//! same data, and recommend the point with the highest observation at their fidelity. *Never tuned* leaves the point in
//! use where it is; *kept* tunes the first task and then leaves its recommendation. Both measure once per task, at the
//! target fidelity, so that there is something to tell. *Hill climbing* is how an engineer does it: one parameter at a
//! time, at the cheapest fidelity, one step up and, if that is worse, one step down; on as long as it gets better; half
//! the step when no parameter helped; the first step again when half a step would be less than a level, or too small to
//! matter. With guards a step must keep them, too, as measured, against what was measured of the point in use. *Relay autotuning*
//! stays at the point that a rule makes of a [relay experiment](crate::problems::Relay).

use foretune_core::{Dimension, Error, Guard, Kind, Problem, SnapshotError};

use super::safe_opt::{Modelled, Rule};
use super::tuner::{Advice, Next, Proposal, Tuner};
use crate::method::Method;
use crate::problems::random::{Purpose, Random};

/// First step of hill climbing, in the unit cube.
const FIRST_STEP: f32 = 0.1;
/// Least step of hill climbing.
const LEAST_STEP: f32 = 0.002;

enum Way {
    Search {
        random: Box<Random>,
        /// The best observation so far: at the fidelity of the charged queries or not, its value, its point.
        best: Option<(bool, f32, Vec<f32>)>,
    },
    Stay {
        told: f32,
    },
    Climb(Climb),
    Modelled(Box<Modelled>),
}

impl Way {
    fn new(method: Method, deployed: &[f32], seed: u64, task: usize) -> Self {
        match method {
            Method::HillClimbing => Self::Climb(Climb::new(deployed.to_vec())),
            _ if method.models() => {
                let rule = if method == Method::SafeOpt { Rule::SafeOpt } else { Rule::ConstrainedEi };
                Self::Modelled(Box::new(Modelled::new(rule, deployed.to_vec(), seed, task)))
            }
            _ if method.from_deployed() => Self::Stay { told: 0.0 },
            _ => Self::Search { random: Box::new(Random::new(seed, Purpose::Baseline, task)), best: None },
        }
    }
}

/// A method over a sequence of tasks, on top of an optimizer that gives the initial points, or tunes the first task.
pub(super) struct Opponent<'a> {
    inner: &'a mut dyn Tuner,
    problem: Problem<'a>,
    method: Method,
    seed: u64,
    /// So many of the first queries of a task are the optimizer's, at most.
    initial: u32,
    /// How many of these there were.
    begun: u32,
    /// Whether they are charged.
    charges: bool,
    /// The point in use; empty for those who do not begin there.
    deployed: Vec<f32>,
    way: Way,
    asked: Option<Proposal>,
    /// The KPIs of the task's first measurement.
    in_use: Vec<f32>,
    task: usize,
    round: u32,
    /// What the initial points cost.
    spent: f32,
    done: bool,
}

impl<'a> Opponent<'a> {
    /// `deployed` is empty for those who do not begin at the point in use, and have `initial` points instead.
    pub fn new(
        inner: &'a mut dyn Tuner,
        problem: Problem<'a>,
        method: Method,
        (initial, charges, deployed): (usize, bool, Vec<f32>),
        seed: u64,
    ) -> Self {
        // With a floor, the point in use is all that a task starts from.
        let initial = if problem.floor.is_some() || !problem.guards.is_empty() { 1 } else { initial as u32 };
        Self {
            inner,
            problem,
            method,
            seed,
            initial: if deployed.is_empty() { initial } else { 0 },
            begun: 0,
            charges,
            way: Way::new(method, &deployed, seed, 1),
            deployed,
            asked: None,
            in_use: Vec::new(),
            task: 1,
            round: 0,
            spent: 0.0,
            done: false,
        }
    }

    fn begin(&mut self, task: usize) {
        self.task = task;
        self.way = Way::new(self.method, &self.deployed, self.seed, task);
        self.in_use.clear();
        (self.asked, self.round, self.begun, self.spent, self.done) = (None, 0, 0, 0.0, false);
    }

    /// Whether the next query may be one of the optimizer's initial points.
    fn begins(&self) -> bool {
        self.begun == self.round && self.round < self.initial
    }

    /// Whether the optimizer is at work.
    fn optimizes(&self) -> bool {
        self.method == Method::Kept && self.task == 1
    }

    /// Who wants many trials asks cheap ones, the others exact ones.
    fn fidelity(&self) -> usize {
        let cheapest = matches!(self.method, Method::RandomCheapest | Method::HillClimbing);
        if cheapest { 0 } else { self.problem.truth() }
    }

    /// The next point, if it can be paid.
    fn propose(&mut self) -> Option<Proposal> {
        let (problem, fidelity, round) = (self.problem, self.fidelity(), self.round);
        let charged = round - self.begun;
        let spent = self.spent + problem.fidelities[fidelity].cost * (charged + 1) as f32;
        if spent > problem.budget {
            return None;
        }
        // Those that begin at the point in use ask for it first.
        let in_use = if round == 0 { Kind::Carried } else { Kind::Search };
        let (unit, kind) = match &mut self.way {
            Way::Search { random, .. } => {
                let mut uniform = |_: &Dimension<'_>| random.uniform(0.0, 1.0);
                let point: Vec<f64> = match self.method {
                    Method::Lattice => {
                        lattice(charged, &shift(self.seed, self.task, problem.dimensions.len()))
                    }
                    _ => problem.dimensions.iter().map(&mut uniform).collect(),
                };
                (point.iter().zip(problem.dimensions).map(|(x, d)| snapped(*x, d)).collect(), Kind::Search)
            }
            Way::Stay { .. } if round > 0 => return None,
            Way::Stay { .. } => (self.deployed.clone(), in_use),
            Way::Climb(climb) => (climb.next(problem.dimensions)?, in_use),
            Way::Modelled(task) => (task.next(&problem), in_use),
        };
        Some(Proposal { unit, fidelity, kind, round })
    }
}

impl Tuner for Opponent<'_> {
    fn next(&mut self, go_on: &dyn Fn() -> bool) -> Next {
        if self.optimizes() {
            return self.inner.next(go_on);
        }
        if !go_on() {
            return Next::Interrupted;
        }
        if self.done {
            return Next::or_budget(None);
        }
        self.asked = match self.begins().then(|| self.inner.next(go_on)) {
            // With a floor, it is the point in use.
            Some(Next::Query(proposal)) if proposal.kind != Kind::Search => Some(proposal),
            Some(Next::Interrupted) => return Next::Interrupted,
            _ => self.propose(),
        };
        self.done = self.asked.is_none();
        Next::or_budget(self.asked.clone())
    }

    fn answer(&mut self, y: Option<f32>, kpis: &[f32]) -> Result<(), Error> {
        if self.optimizes() {
            return self.inner.answer(y, kpis);
        }
        let asked = self.asked.clone().ok_or(Error::OutOfTurn)?;
        if self.begins() && asked.kind != Kind::Search {
            self.inner.answer(y, kpis)?;
            self.begun += 1;
            self.spent += if self.charges { self.problem.fidelities[asked.fidelity].cost } else { 0.0 };
        }
        self.asked = None;
        self.round += 1;
        let comparable = asked.fidelity == self.fidelity();
        if self.in_use.is_empty() && y.is_some() {
            self.in_use = kpis.to_vec();
        }
        let kept = kept(self.problem.guards, &self.in_use, kpis);
        match (&mut self.way, y) {
            (Way::Search { best, .. }, Some(y)) => {
                let better = |best: &(bool, f32, Vec<f32>)| (comparable, y) > (best.0, best.1);
                if best.as_ref().is_none_or(better) {
                    *best = Some((comparable, y, asked.unit));
                }
            }
            (Way::Stay { told }, Some(y)) => *told = y,
            // Whatever the point in use keeps, it is where the way begins.
            (Way::Climb(climb), Some(y)) if kept || climb.best.is_none() => climb.tell(y),
            (Way::Climb(climb), _) => climb.fail(),
            (Way::Modelled(task), y) => task.tell(&self.problem, y, kpis),
            (_, None) => {}
        }
        Ok(())
    }

    fn advice(&self) -> Option<Advice> {
        if self.optimizes() {
            return self.inner.advice();
        }
        let deviation = libm::sqrtf(self.problem.fidelities[self.fidelity()].noise);
        let (unit, mean) = match &self.way {
            Way::Search { best, .. } => best.as_ref().map(|(_, y, unit)| (unit.clone(), *y))?,
            Way::Stay { told } => (self.deployed.clone(), *told),
            Way::Climb(climb) => (climb.x.clone(), climb.best?),
            Way::Modelled(task) => task.best(&self.problem)?,
        };
        (self.done && self.round > 0).then_some(Advice { unit, mean, deviation, assured: true })
    }

    fn next_task(&mut self) -> Result<(), Error> {
        if self.method.from_deployed() {
            self.deployed = self.advice().ok_or(Error::OutOfTurn)?.unit;
        } else if self.done {
            self.inner.finish();
            self.inner.next_task()?;
        } else {
            return Err(Error::OutOfTurn);
        }
        self.begin(self.task + 1);
        Ok(())
    }

    fn finish(&mut self) {
        if self.optimizes() {
            self.inner.finish();
        }
        self.done = true;
    }

    fn knowledge(&self) -> Result<Vec<u8>, Error> {
        let point = match self.method.from_deployed() {
            true => self.advice().ok_or(Error::OutOfTurn)?.unit,
            false if self.done => Vec::new(),
            false => return Err(Error::OutOfTurn),
        };
        let task = (self.task as u64).to_le_bytes();
        Ok(task.into_iter().chain(point.iter().flat_map(|x| x.to_le_bytes())).collect())
    }

    fn load(&mut self, knowledge: &[u8]) -> Result<(), Error> {
        let foreign = Error::Snapshot(SnapshotError::Foreign);
        let (task, point) = knowledge.split_first_chunk().ok_or(foreign)?;
        let (task, (point, rest)) = (u64::from_le_bytes(*task) as usize, point.as_chunks());
        if point.len() != self.deployed.len() || !rest.is_empty() {
            return Err(foreign);
        }
        if self.method.from_deployed() {
            self.deployed = point.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            self.begin(task + 1);
        }
        while self.task <= task {
            self.done = true;
            self.next_task()?;
        }
        Ok(())
    }

    fn relay_rule(&self) -> Option<[f64; 3]> {
        self.method.relay_rule()
    }

    fn adopt(&mut self, unit: Vec<f32>) {
        self.deployed = unit;
    }

    fn deployed(&self) -> Option<Vec<f32>> {
        match self.deployed.is_empty() || self.optimizes() {
            true => self.inner.deployed(),
            false => Some(self.deployed.clone()),
        }
    }
}

/// Whether KPIs are within their bounds, which are those of the point in use.
fn kept(guards: &[Guard<'_>], in_use: &[f32], kpis: &[f32]) -> bool {
    guards.iter().zip(in_use.iter().zip(kpis)).all(|(guard, (v, kpi))| {
        let sign = guard.side.sign();
        sign * kpi >= sign * guard.floor.level.at(*v, sign)
    })
}

/// The level or value that a coordinate in [0, 1) stands for; every level equally often.
fn snapped(x: f64, dimension: &Dimension<'_>) -> f32 {
    match dimension.levels() {
        Some(levels) => dimension.unit_of_level((x * levels as f64) as usize),
        None => dimension.snap(x as f32),
    }
}

/// Where a task's lattice begins.
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
    }

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
