//! Timing one search and the steps of learning before it, for a given problem, number of observations and seed.

use std::time::{Duration, Instant};

use foretune_core::{Activity, Error, Optimizer, Problem, Progress, Settings};

use host_sim::shapes::{self, Room};
use host_sim::work::{self, Shape};

/// What is timed.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The problem.
    pub problem: Problem<'a>,
    /// The settings; the observations are told as initial points.
    pub settings: Settings,
    /// Number of observations.
    pub observations: usize,
    /// Seed of the optimizer.
    pub seed: u64,
}

/// Steps of learning in a row, to time one.
const STEPS: u32 = 4;
/// Most observations that can be timed.
pub const MAX_OBSERVATIONS: usize = 255;
/// Most units per layer of the deep map.
pub const MAX_WIDTH: usize = shapes::WIDEST;

/// What was measured: the quickest of several runs, since whatever else a machine does only adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// One step of learning, of all particles.
    pub step: Duration,
    /// One search for a query, without learning.
    pub ask: Duration,
    /// Floating-point operations of a step.
    pub step_work: f64,
    /// Floating-point operations of a search.
    pub ask_work: f64,
    /// How often it was run.
    pub runs: u32,
}

/// Answers a query: point in the unit cube, fidelity.
pub type Answer<'a> = &'a mut dyn FnMut(&[f32], usize) -> f32;

impl Case<'_> {
    /// Times it until the patience is used up, three times at least.
    ///
    /// # Errors
    /// What the optimizer has against the settings or an answer.
    pub fn time(&self, patience: Duration, answer: Answer<'_>) -> Result<Timing, Error> {
        let slots = shapes::CAPACITIES.into_iter().find(|slots| *slots > self.observations);
        let mut room = Room::new(slots.unwrap_or(shapes::CAPACITIES[3]));
        let mut settings = self.settings;
        settings.initial = self.observations;
        settings.steps_per_round = STEPS;
        settings.carried = 0;
        let (d, m) = (self.problem.dimensions.len(), self.problem.fidelities.len());
        let shape = Shape { dimensions: d, fidelities: m, observations: self.observations };
        let mut timing = Timing {
            step: Duration::MAX,
            ask: Duration::MAX,
            step_work: work::step(&settings, shape),
            ask_work: work::search(&settings, shape),
            runs: 0,
        };
        let mut optimizer = room.start(self.problem, settings, self.seed)?;
        observe(&mut optimizer, self.observations, answer)?;
        let slices = slices_of_learning(&mut optimizer);
        let start = Instant::now();
        while timing.runs < 3 || start.elapsed() < patience {
            let mut optimizer = room.start(self.problem, settings, self.seed)?;
            observe(&mut optimizer, self.observations, answer)?;
            timing.step = timing.step.min(timed(|| learn(&mut optimizer, slices)) / STEPS);
            timing.ask = timing.ask.min(timed(|| while matches!(optimizer.advance(), Progress::Working) {}));
            timing.runs += 1;
        }
        Ok(timing)
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Answers the initial queries, up to where learning begins.
fn observe(optimizer: &mut Optimizer<'_>, observations: usize, answer: Answer<'_>) -> Result<(), Error> {
    while optimizer.status().observations < observations {
        if let Progress::Query(query) = optimizer.advance() {
            let y = answer(query.unit(), query.fidelity());
            optimizer.tell(query, y)?;
        }
    }
    Ok(())
}

/// How many slices the learning takes: looking at the status between them would be measured, too.
fn slices_of_learning(optimizer: &mut Optimizer<'_>) -> usize {
    let mut slices = 0;
    while optimizer.status().activity == Activity::Learning {
        optimizer.advance();
        slices += 1;
    }
    slices
}

fn learn(optimizer: &mut Optimizer<'_>, slices: usize) {
    for _ in 0..slices {
        optimizer.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_core::{Dimension, Fidelity, Goal, Map};

    const PROBLEM: Problem<'_> = Problem {
        dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
        fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }; 2],
        budget: 10.0,
        goal: Goal::Maximise,
        ..Problem::PLAIN
    };

    #[test]
    fn both_maps_are_timed_and_counted() {
        for map in [Map::Ard, Map::Deep { width: 8 }] {
            let mut settings = Settings::DEFAULT;
            (settings.map, settings.particles) = (map, 2);
            settings.candidates = 16;
            let case = Case { problem: PROBLEM, settings, observations: 9, seed: 1 };
            let timing = case.time(Duration::ZERO, &mut |x, _| x[0] - x[1]).unwrap();
            assert!(timing.runs == 3 && timing.step > Duration::ZERO && timing.ask > Duration::ZERO);
            assert!(timing.step_work > 0.0 && timing.ask_work > timing.step_work);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let case = Case { problem: PROBLEM, settings: Settings::DEFAULT, observations: 256, seed: 1 };
        assert!(case.time(Duration::ZERO, &mut |_, _| 0.0).is_err());
    }
}
