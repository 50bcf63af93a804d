//! Timing one search and the steps of learning before it, and what this machine can do at most.

use std::hint::black_box;
use std::time::{Duration, Instant};

use foretune_core::{Activity, Map, Optimizer, Progress, Settings};
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::Problem;
use host_sim::runner::{Benchmark, Noise, Seeds};
use host_sim::settings::{Preset, Setup};
use host_sim::shapes::{self, Room};

use crate::work::{self, Shape};

/// Steps of learning in a row, to time one.
const STEPS: u32 = 4;
/// Most observations that can be timed.
pub const MAX_OBSERVATIONS: usize = 255;
/// Most units per layer of the deep map.
pub const MAX_WIDTH: usize = shapes::WIDEST;

/// What is timed: a problem, and settings for MFT-MES.
#[derive(Clone, Debug)]
pub struct Subject {
    pub problem: Problem,
    pub settings: Settings,
}

/// The quickest of several runs, since whatever else a machine does only adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// One step of learning, of all particles: its time and its floating-point operations.
    pub step: (Duration, f64),
    /// One search for a query, without learning.
    pub ask: (Duration, f64),
    pub runs: u32,
}

impl Subject {
    pub fn new(problem: Problem, setup: &Setup) -> Result<Self, Error> {
        Ok(Subject { problem, settings: setup.for_method(Method::MftMes)? })
    }

    /// The paper's deep map on Hartmann-6, our lengthscales on power control.
    pub fn usual() -> Result<[Self; 2], Error> {
        let subject = |name: &str, preset| {
            let problem: Problem = name.parse().map_err(Error::Usage)?;
            Subject::new(problem, &Setup::new(preset, &problem.spec()))
        };
        Ok([subject("hartmann6", Preset::Paper)?, subject("rrm", Preset::Default)?])
    }

    /// The map in a word.
    pub fn map(&self) -> String {
        match self.settings.map {
            Map::Ard => "ard".into(),
            Map::Linear => "linear".into(),
            Map::Deep { width } => format!("deep {width}"),
        }
    }

    /// Times it with so many observations until the patience is used up, three times at least.
    pub fn time(&self, observations: usize, seed: u64, patience: Duration) -> Result<Timing, Error> {
        let (benchmark, seeds) = (Benchmark::new(self.problem), Seeds::new(seed, 1));
        let (spec, space) = (benchmark.spec(), benchmark.space());
        let task = benchmark.tasks(seeds.tasks)?.task(0);
        let mut noise = Noise::new(seeds.noise, 1);
        let mut answer = |unit: &[f32], fidelity: usize| {
            let exact = task.value(fidelity, &space.natural(unit));
            (exact + noise.draw(spec.fidelities[fidelity].noise_variance)) as f32
        };
        // The observations are told as initial points.
        let settings =
            Settings { initial: observations, steps_per_round: STEPS, carried: 0, ..self.settings };
        let (dimensions, fidelities) = (spec.dimensions.len(), spec.fidelities.len());
        let shape = Shape { dimensions, fidelities, observations };
        let mut timing = Timing {
            step: (Duration::MAX, work::step(&settings, shape)),
            ask: (Duration::MAX, work::search(&settings, shape)),
            runs: 0,
        };
        let parts = space.parts();
        let problem = space.problem(&parts, None);
        let slots = shapes::CAPACITIES.into_iter().find(|slots| *slots > observations);
        let mut room = Room::new(slots.unwrap_or(shapes::CAPACITIES[3]));
        let mut optimizer = room.start(problem, settings, seeds.optimizer)?;
        observe(&mut optimizer, observations, &mut answer)?;
        let slices = slices_of_learning(&mut optimizer);
        let start = Instant::now();
        while timing.runs < 3 || start.elapsed() < patience {
            let mut optimizer = room.start(problem, settings, seeds.optimizer)?;
            observe(&mut optimizer, observations, &mut answer)?;
            let learning = timed(|| (0..slices).for_each(|_| drop(optimizer.advance())));
            timing.step.0 = timing.step.0.min(learning / STEPS);
            let asking = timed(|| while matches!(optimizer.advance(), Progress::Working) {});
            timing.ask.0 = timing.ask.0.min(asking);
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
fn observe(
    optimizer: &mut Optimizer<'_>,
    observations: usize,
    answer: &mut dyn FnMut(&[f32], usize) -> f32,
) -> Result<(), Error> {
    while optimizer.status().observations < observations {
        if let Progress::Query(query) = optimizer.advance() {
            let y = answer(query.unit(), query.fidelity());
            optimizer.tell(query, y).map_err(foretune_core::Error::from)?;
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

// What this machine can do at most: a dense multiply-then-add over numbers that stay in the first-level cache. A tile of
// accumulators in registers is updated by one row of 8 numbers at a time. The compiler vectorises it to the width that it
// was told of, and never fuses the two operations: as in the core, whose results must not depend on the machine. The best
// of several tiles counts, and the best of many tries.

/// Rows of the right factor: 16 KB.
const ROWS: usize = 512;
type Lane = [f32; 8];

/// Floating-point operations per second at the peak; looks for it that long.
pub fn peak(patience: Duration) -> f64 {
    let factors = Factors { right: [[1e-3; 8]; ROWS], left: [[1e-3; 12]; ROWS] };
    let start = Instant::now();
    let mut best = 0.0f64;
    loop {
        for rate in [rate::<6>(&factors), rate::<8>(&factors), rate::<10>(&factors), rate::<12>(&factors)] {
            best = best.max(rate);
        }
        if start.elapsed() >= patience {
            return best;
        }
    }
}

struct Factors {
    right: [Lane; ROWS],
    left: [[f32; 12]; ROWS],
}

/// Operations per second in tiles of `HEIGHT` rows, over some tens of microseconds.
fn rate<const HEIGHT: usize>(factors: &Factors) -> f64 {
    const PASSES: usize = 20;
    let start = Instant::now();
    for _ in 0..PASSES {
        black_box(multiply_add::<HEIGHT>(black_box(factors)));
    }
    (2 * 8 * HEIGHT * ROWS * PASSES) as f64 / start.elapsed().as_secs_f64()
}

#[inline(never)]
fn multiply_add<const HEIGHT: usize>(factors: &Factors) -> [Lane; HEIGHT] {
    let mut sums = [[0.0; 8]; HEIGHT];
    for (left, right) in factors.left.iter().zip(&factors.right) {
        for (sum, left) in sums.iter_mut().zip(left) {
            for (sum, right) in sum.iter_mut().zip(right) {
                *sum += left * right;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(map: Map, candidates: usize) -> Subject {
        let settings = Settings { map, particles: 2, candidates, ..Settings::DEFAULT };
        Subject { problem: "branin".parse().unwrap(), settings }
    }

    #[test]
    fn both_maps_are_timed_and_counted_and_what_does_not_fit_is_refused() {
        for map in [Map::Ard, Map::Linear, Map::Deep { width: 8 }] {
            let Timing { step, ask, runs } = subject(map, 16).time(9, 1, Duration::ZERO).unwrap();
            assert!(runs == 3 && step.0 > Duration::ZERO && ask.0 > Duration::ZERO);
            assert!(step.1 > 0.0 && ask.1 > step.1);
        }
        assert!(subject(Map::Ard, 16).time(256, 1, Duration::ZERO).is_err());
    }

    #[test]
    fn the_loop_computes_what_it_is_said_to() {
        let factors = Factors { right: [[2.0; 8]; ROWS], left: [[0.5; 12]; ROWS] };
        assert_eq!(multiply_add::<6>(&factors), [[ROWS as f32; 8]; 6]);
    }

    #[test]
    fn the_peak_is_a_believable_number() {
        let peak = peak(Duration::ZERO);
        assert!((1e6..1e13).contains(&peak), "{peak}");
    }
}
