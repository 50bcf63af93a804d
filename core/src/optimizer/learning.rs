//! Learning `θ` from the current task's data, slice by slice: Eq. (38), (39).

use super::state::{State, Task};
use crate::kernel::PairSums;
use crate::linalg::{LANES, column, column_mut};
use crate::prior::{self, Centres, Kde};
use crate::random::{Purpose, Random};
use crate::svgd::{self, Step};

/// Parameters moved in one slice.
const CHUNK: usize = 512;

/// Some steps of learning, and where they stand.
#[derive(Debug)]
pub(super) struct Learning {
    /// Steps to go, this one included.
    left: u32,
    stage: Stage,
    /// Of the kernel between particles.
    h: f32,
    /// Of the particle whose gradient is being taken.
    sums: PairSums,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Factor of particle `v`, from observation `first`.
    Factor { v: usize, first: usize },
    /// Gradient of particle `v`, from observation `first`.
    Gradient { v: usize, first: usize },
    /// Distances between particles, from parameter `first`.
    Distances { first: usize },
    /// Move, from parameter `first`.
    Move { first: usize },
}

impl Learning {
    pub fn new(steps: u32) -> Self {
        Learning { left: steps, stage: Stage::Factor { v: 0, first: 0 }, h: 1.0, sums: PairSums::default() }
    }

    /// One slice; whether all steps are taken. The last task's particles are bytes, unless they are in the memory.
    pub fn advance(&mut self, state: &mut State<'_>, centres: &[u8]) -> bool {
        let parameters = state.model.parameters();
        self.stage = match self.stage {
            Stage::Factor { v, first } => self.factor(state, v, first),
            Stage::Gradient { v, first } => self.gradient(state, v, first, centres),
            Stage::Distances { first } => {
                let end = (first + CHUNK).min(parameters);
                self.distances(state, first, end);
                if end < parameters { Stage::Distances { first: end } } else { Stage::Move { first: 0 } }
            }
            Stage::Move { first } => {
                let end = (first + CHUNK).min(parameters);
                self.shift(state, first, end);
                if end < parameters {
                    Stage::Move { first: end }
                } else {
                    self.left -= 1;
                    Stage::Factor { v: 0, first: 0 }
                }
            }
        };
        self.left == 0
    }

    /// One block of the factor; a particle whose factor fails has no say in this step.
    fn factor(&mut self, state: &mut State<'_>, v: usize, first: usize) -> Stage {
        let view = state.view();
        let State { memory, task, model, .. } = state;
        let data = memory.data.observations(view.from, view.fleet);
        let fallbacks = &mut task.fallbacks;
        let particles = memory.particles.as_view();
        let particle = view.particle(model, column(&particles, v), fallbacks);
        let gp = &mut memory.gp;
        if gp.factor(&particle, &data, first, fallbacks).is_err() {
            return leave_particle(state, v);
        }
        if first + LANES < data.fidelity.len() {
            return Stage::Factor { v, first: first + LANES };
        }
        if !gp.condition(&data).is_finite() {
            return leave_particle(state, v);
        }
        gp.solve(data.fidelity.len());
        column_mut(&mut memory.gradients, v).fill(0.0);
        self.sums = PairSums::default();
        Stage::Gradient { v, first: 0 }
    }

    /// One block of the gradient; after the last, the prior's.
    fn gradient(&mut self, state: &mut State<'_>, v: usize, first: usize, centres: &[u8]) -> Stage {
        let (view, later) = (state.view(), state.learns_from_centres());
        let common =
            view.fleet.map(|_| state.prior_and_relative(column(&state.memory.particles.as_view(), v)));
        let State { memory, settings, model, .. } = state;
        let data = memory.data.observations(view.from, view.fleet);
        let particles = memory.particles.as_view();
        let theta = column(&particles, v);
        let particle = view.particle(model, theta, &mut Default::default());
        let gradient = column_mut(&mut memory.gradients, v);
        memory.gp.gradient(&particle, &data, first, gradient, &mut self.sums);
        if first + LANES < data.fidelity.len() {
            return Stage::Gradient { v, first: first + LANES };
        }
        model.finish_gradient(&particle.hyper, &self.sums, gradient);
        let kept = memory.centres.as_ref().map(|centres| Centres::Floats(centres.as_view()));
        let kde = Kde {
            centres: kept.unwrap_or(Centres::Bytes(centres)),
            count: settings.particles,
            bandwidth: settings.details.kde_bandwidth,
            mix: settings.details.kde_mix,
        };
        let (prior, relative) = match &common {
            Some((prior, relative)) => (prior, &relative[..theta.len()]),
            None => (&settings.details.prior, theta),
        };
        prior::add_gradient((prior, relative), model, later.then_some(&kde), theta, gradient);
        // The largest magnitude as bits, which sort as the numbers do: a loop without exits is vectorised.
        let largest = gradient.iter().fold(0, |largest, slope| (slope.to_bits() & 0x7fff_ffff).max(largest));
        if largest >= f32::INFINITY.to_bits() {
            return leave_particle(state, v);
        }
        next_particle(state, v)
    }

    /// Distances between particles in parameters `first..end`; after the last, the kernel.
    fn distances(&mut self, state: &mut State<'_>, first: usize, end: usize) {
        let (v, kind) = (state.settings.particles, state.settings.details.bandwidth);
        let pairs = &mut *state.memory.pairs;
        if first == 0 {
            pairs[..v].iter_mut().for_each(|row| row.fill(0.0));
        }
        let some = state.memory.particles.rows(first, end - first);
        svgd::add_distances(&some, svgd::far(kind), pairs);
        if end == state.model.parameters() {
            self.h = svgd::bandwidth(kind, pairs, v);
            svgd::kernel(pairs, self.h, v);
        }
    }

    fn shift(&self, state: &mut State<'_>, first: usize, end: usize) {
        let (memory, some) = (&mut state.memory, end - first);
        let mut particles = memory.particles.rows_mut(first, some);
        let mut gradients = memory.gradients.rows_mut(first, some);
        svgd::drift(&particles.as_view(), &mut gradients, memory.pairs, self.h);
        if first == 0 {
            state.task.steps += 1;
        }
        let (drifts, count) = (gradients.as_view(), state.task.steps);
        let mut moments = memory.moments.rows_mut(first, some);
        match state.settings.details.step {
            Step::Plain { rate } => svgd::plain(rate, &mut particles, &drifts),
            Step::Adam { rate } => svgd::adam(rate, &mut particles, &drifts, &mut moments, count),
            Step::Langevin { rate } => sample(state, rate, first, end),
        }
    }
}

/// A step with noise in parameters `first..end` of all particles, the gradients being `Ω`.
fn sample(state: &mut State<'_>, rate: f32, first: usize, end: usize) {
    let later = state.learns_from_centres();
    let (particles, gradients) = (&mut state.memory.particles, &mut state.memory.gradients);
    let Task { seed, number, steps, .. } = state.task;
    let (count, bandwidth) = (particles.ncols(), state.settings.details.kde_bandwidth);
    // A later task's prior is as narrow as the density estimate around its particles.
    let most = if later { bandwidth * bandwidth } else { f32::INFINITY };
    for v in 0..count {
        let index = ((v << 16) | (first / CHUNK)) as u32;
        let mut random = Random::new(seed, number, steps, Purpose::Diffusion, index);
        let (theta, drift) = (column_mut(particles, v), column_mut(gradients, v));
        state.settings.details.prior.runs(&state.model, |run, variance| {
            let run = run.start.clamp(first, end)..run.end.clamp(first, end);
            let rate = rate * variance.min(most);
            svgd::sample(&mut theta[run.clone()], &drift[run], rate, count, &mut random);
        });
    }
}

fn leave_particle(state: &mut State<'_>, v: usize) -> Stage {
    let count = &mut state.task.fallbacks.particles;
    *count = count.saturating_add(1);
    column_mut(&mut state.memory.gradients, v).fill(0.0);
    next_particle(state, v)
}

fn next_particle(state: &State<'_>, v: usize) -> Stage {
    if v + 1 < state.settings.particles {
        Stage::Factor { v: v + 1, first: 0 }
    } else {
        Stage::Distances { first: 0 }
    }
}
