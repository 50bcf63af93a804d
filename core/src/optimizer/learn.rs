//! Learning `θ` from the current task's data, slice by slice: Eq. (38), (39).

use super::state::Phase;
use super::{Memory, Optimizer};
use crate::kernel::PairSums;
use crate::linalg::LANES;
use crate::prior::{self, Centres, Kde};
use crate::settings::Settings;
use crate::svgd;

/// Parameters moved in one slice.
const CHUNK: usize = 512;

/// Where the learning stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learn {
    /// Steps to go, this one included.
    left: u32,
    stage: Stage,
    /// Of the kernel between particles.
    h: f32,
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

impl Learn {
    pub fn new(steps: u32) -> Self {
        Learn { left: steps, stage: Stage::Factor { v: 0, first: 0 }, h: 1.0 }
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
    pub(super) fn learn_slice(&mut self, mut learn: Learn, centres: &[u8]) {
        let parameters = self.model.parameters();
        learn.stage = match learn.stage {
            Stage::Factor { v, first } => self.factor_slice(v, first),
            Stage::Gradient { v, first } => self.gradient_slice(v, first, centres),
            Stage::Distances { first } => {
                let (v, end) = (self.settings.particles, (first + CHUNK).min(parameters));
                if first == 0 {
                    self.memory.pairs[..v].iter_mut().for_each(|row| row.fill(0.0));
                }
                let theta = self.memory.particles.as_flattened();
                let far = svgd::far(self.settings.bandwidth);
                svgd::add_distances(theta, P, v, first..end, far, &mut self.memory.pairs);
                if end < parameters {
                    Stage::Distances { first: end }
                } else {
                    learn.h = svgd::bandwidth(self.settings.bandwidth, &self.memory.pairs, v);
                    svgd::kernel(&mut self.memory.pairs, learn.h, v);
                    Stage::Move { first: 0 }
                }
            }
            Stage::Move { first } => {
                let end = (first + CHUNK).min(parameters);
                self.move_slice(first, end, learn.h);
                if end < parameters {
                    Stage::Move { first: end }
                } else {
                    learn.left -= 1;
                    Stage::Factor { v: 0, first: 0 }
                }
            }
        };
        if learn.left > 0 {
            self.state.phase = Phase::Learn(learn);
        } else if self.state.stop.is_some() {
            self.start_recommendation();
        } else {
            self.state.phase = Phase::Next;
        }
    }

    /// One block of the factor; a particle whose factor fails has no say in this step.
    fn factor_slice(&mut self, v: usize, first: usize) -> Stage {
        let lens = self.lens();
        let memory = &mut *self.memory;
        let data = lens.observations(&memory.data);
        let fallbacks = &mut self.state.fallbacks;
        let theta = &memory.particles[v][..self.model.parameters()];
        let particle = lens.particle(&self.model, theta, fallbacks);
        let mut gp = memory.gp.workspace();
        if gp.factor(&particle, &data, first, fallbacks).is_err() {
            return self.leave_particle(v);
        }
        if first + LANES < data.fidelity.len() {
            return Stage::Factor { v, first: first + LANES };
        }
        if !gp.condition(&data).is_finite() {
            return self.leave_particle(v);
        }
        gp.solve(data.fidelity.len());
        memory.gradients[v].fill(0.0);
        self.state.sums = PairSums::default();
        Stage::Gradient { v, first: 0 }
    }

    /// One block of the gradient; after the last, the prior's.
    fn gradient_slice(&mut self, v: usize, first: usize, centres: &[u8]) -> Stage {
        let lens = self.lens();
        let parameters = self.model.parameters();
        let later = self.learns_from_centres();
        let Memory { data, gp, particles, gradients, rows, .. } = &mut *self.memory;
        let data = lens.observations(data);
        let theta = &particles[v][..parameters];
        let mut unused = Default::default();
        let particle = lens.particle(&self.model, theta, &mut unused);
        let gradient = &mut gradients[v][..parameters];
        gp.workspace().gradient(&particle, &data, first, gradient, &mut self.state.sums);
        if first + LANES < data.fidelity.len() {
            return Stage::Gradient { v, first: first + LANES };
        }
        self.model.finish_gradient(&particle.hyper, &self.state.sums, gradient);
        let kde = kde(&self.settings, later, rows.as_flattened(), centres, Self::OWN_CENTRES.then_some(P));
        prior::add_gradient(&self.settings.prior, &self.model, kde.as_ref(), theta, gradient);
        // The largest magnitude as bits, which sort as the numbers do: a loop without exits is vectorised.
        let largest = gradient.iter().fold(0, |largest, slope| (slope.to_bits() & 0x7fff_ffff).max(largest));
        if largest >= f32::INFINITY.to_bits() {
            return self.leave_particle(v);
        }
        self.next_particle(v)
    }

    fn leave_particle(&mut self, v: usize) -> Stage {
        let count = &mut self.state.fallbacks.particles;
        *count = count.saturating_add(1);
        self.memory.gradients[v].fill(0.0);
        self.next_particle(v)
    }

    fn next_particle(&self, v: usize) -> Stage {
        if v + 1 < self.settings.particles {
            Stage::Factor { v: v + 1, first: 0 }
        } else {
            Stage::Distances { first: 0 }
        }
    }

    fn move_slice(&mut self, first: usize, end: usize, h: f32) {
        let v = self.settings.particles;
        let memory = &mut *self.memory;
        let (theta, gradient) = (memory.particles.as_flattened_mut(), memory.gradients.as_flattened_mut());
        svgd::drift(theta, gradient, P, v, first..end, &memory.pairs, h);
        let moments = memory.rows[Self::MOMENTS..].as_flattened_mut();
        if first == 0 {
            self.state.steps += 1;
        }
        let count = self.state.steps;
        svgd::apply(self.settings.step, theta, gradient, moments, P, v, first..end, count);
    }
}

/// The density estimate that is a later task's prior; its centres are rows in memory with a stride, or bytes.
fn kde<'c>(
    settings: &Settings,
    later: bool,
    rows: &'c [f32],
    bytes: &'c [u8],
    stride: Option<usize>,
) -> Option<Kde<'c>> {
    let centres = match stride {
        Some(stride) => Centres::Floats { rows, stride },
        None => Centres::Bytes(bytes),
    };
    let Settings { particles: count, kde_bandwidth: bandwidth, kde_mix: mix, .. } = *settings;
    later.then_some(Kde { centres, count, bandwidth, mix })
}
