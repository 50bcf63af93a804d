//! Which answers the next task begins with, slice by slice: those that tell most.
//!
//! One particle's `K̃ = K + σ²I` of all answers. The answer that tells most is the one with the largest variance, given those chosen
//! already, over its noise: `log` of that is its information about the function. `K̃` is then conditioned on it. The oldest counts
//! half, since the world drifts. Failed measurements, outliers, and answers of a world that has changed since are not chosen.
//!
//! Cost: the factor of one particle in blocks of 8 answers, then `t²` multiply-adds for each answer that is kept.

use super::state::State;
use crate::linalg::{LANES, column};

/// The choice, and where it stands.
#[derive(Debug)]
pub(super) struct Keeping {
    /// The first slot that may be chosen.
    from: usize,
    /// The particle, the first that can be factored, and the next block of it.
    v: usize,
    first: usize,
    /// Answers still to be chosen.
    left: usize,
}

impl Keeping {
    pub fn new(state: &State<'_>) -> Keeping {
        let from = state.task.remembered.max(state.memory.data.begins());
        Keeping { from, v: 0, first: 0, left: state.settings.kept }
    }

    /// One slice: a block of the factor, or a choice. Whether all are made.
    pub fn advance(&mut self, state: &mut State<'_>) -> bool {
        let view = state.view().with_older(&state.memory.data, self.from, 0.0);
        let State { memory, task, model, .. } = state;
        let particles = memory.particles.as_view();
        let particle = view.particle(model, column(&particles, self.v), &mut Default::default());
        let data = memory.data.observations(self.from, view.fleet);
        let t = data.fidelity.len();
        if self.first < t {
            if memory.gp.factor(&particle, &data, self.first, &mut task.fallbacks).is_err() {
                task.fallbacks.particles = task.fallbacks.particles.saturating_add(1);
                (self.v, self.first) = (self.v + 1, 0);
                return self.v == state.settings.particles;
            }
            self.first += LANES;
            if self.first >= t {
                memory.gp.explain_nothing(&particle, &data);
            }
            return false;
        }
        let (mut chosen, mut most) = (None, 0.0);
        for (i, &m) in data.fidelity.iter().enumerate() {
            let tells = (t + i) as f32 * memory.gp.variance_of(i) / particle.noise[usize::from(m)];
            let slot = self.from + i;
            if tells >= most && memory.data.is_believed(slot) && !memory.data.is_kept(slot) {
                (chosen, most) = (Some(i), tells);
            }
        }
        if let Some(i) = chosen {
            memory.gp.explain(i, t);
            memory.data.keep(self.from + i, true);
            self.left -= 1;
        }
        chosen.is_none() || self.left == 0
    }
}
