//! Why a query was asked.

use super::query::{Belief, Reasons, Score};
use super::search::{Search, information_noise};
use super::state::State;
use super::trials::{Bound, Trials};
use super::{Optimizer, Phase};
use crate::live::margin_at;
use crate::math;

impl Optimizer<'_> {
    /// Why the query that waits for its answer was asked; `None` if none waits, and before anything was observed.
    ///
    /// All particles look at its point once more: about as much work as a slice for each. Nothing else changes, so that the
    /// queries that follow are the same whether it was called or not.
    pub fn explain(&mut self) -> Option<Reasons> {
        let query = self.outstanding()?;
        self.state.reasons(query.unit(), query.fidelity())
    }

    /// What is thought of any point of the unit cube at the target fidelity, while a query waits for its answer or once the task has
    /// ended; `None` at other times, and before anything was observed. It takes as long as [`explain`](Self::explain), and changes
    /// nothing else either.
    pub fn explain_at(&mut self, unit: &[f32]) -> Option<Reasons> {
        let looks = matches!(self.phase, Phase::Waiting | Phase::Done)
            && unit.len() == self.problem().dimensions.len();
        let truth = self.problem().truth();
        looks.then(|| self.state.reasons(unit, truth))?
    }
}

impl State<'_> {
    /// Why a point is asked at fidelity `m`, once something was observed.
    pub(super) fn reasons(&mut self, x: &[f32], m: usize) -> Option<Reasons> {
        if !self.has_told() {
            return None;
        }
        let truth = self.problem.truth();
        let Trials { floor: Bound { margin, at, ruled_out, .. }, beta, looked_at, .. } = self.task.trials;
        let (used, sums) = Search::of_point(x, self);
        let belief = &sums[truth].mixture;
        let objective = (used > 0).then(|| Belief {
            mean: self.in_units(belief.mean),
            deviation: (self.task.scale.deviation * math::sqrt(belief.variance(used))).min(f32::MAX),
            bound: at.is_finite().then(|| self.in_units(at)),
            margin: margin_at(margin, self.round()),
            ruled_out,
        })?;
        let guards = (0..self.problem.guards.len()).filter_map(|g| self.explain_guard(g)).collect();
        let score = beta.map(|beta| {
            let (limited, noise) = (self.settings.details.limited, information_noise(self)[m]);
            let [optimum, particles] = sums[m].parts(beta, limited, noise, used);
            Score { optimum, particles, price: self.prices().price(m) }
        });
        Some(Reasons { objective, guards, score, looked_at, changes: self.task.changes.count })
    }

    /// What is thought of the KPI of guard `g` at the only candidate.
    fn explain_guard(&self, g: usize) -> Option<Belief> {
        let (mean, variance) = self.guard_belief(g, 0)?;
        let (watched, sign) = (&self.memory.guards[g], self.problem.guards[g].side.sign());
        let status = self.guard_status(g)?;
        Some(Belief {
            mean: watched.scale().undo(sign * mean),
            deviation: (watched.deviation * math::sqrt(variance)).min(f32::MAX),
            bound: status.bound,
            margin: margin_at(status.margin, self.round()),
            ruled_out: status.ruled_out,
        })
    }
}
