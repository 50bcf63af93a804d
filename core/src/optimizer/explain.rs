//! Why a query was asked.

use super::Optimizer;
use super::query::{Belief, Reasons, Score};
use super::search::{Search, information_noise};
use super::state::State;
use super::trials::{Bound, Trials};
use crate::live::margin_at;
use crate::math;

impl Optimizer<'_> {
    /// Why the query that waits for its answer was asked; `None` if none waits, and before anything was observed.
    ///
    /// All particles look at its point once more: about as much work as a slice for each. Nothing else changes, so that the
    /// queries that follow are the same whether it was called or not.
    pub fn explain(&mut self) -> Option<Reasons> {
        let query = self.outstanding().filter(|_| self.state.has_told())?;
        let (state, m) = (&mut self.state, query.fidelity());
        let truth = state.problem.truth();
        let Trials { floor: Bound { margin, at, ruled_out, .. }, beta, looked_at, .. } = state.task.trials;
        let (used, sums) = Search::of_point(query.unit(), state);
        let belief = &sums[truth].mixture;
        let objective = (used > 0).then(|| Belief {
            mean: state.in_units(belief.mean),
            deviation: (state.task.scale.deviation * math::sqrt(belief.variance(used))).min(f32::MAX),
            bound: at.is_finite().then(|| state.in_units(at)),
            margin: margin_at(margin, state.round()),
            ruled_out,
        })?;
        let guards = (0..state.problem.guards.len()).filter_map(|g| state.explain_guard(g)).collect();
        let score = beta.map(|beta| {
            let (limited, noise) = (state.settings.details.limited, information_noise(state)[m]);
            let [optimum, particles] = sums[m].parts(beta, limited, noise, used);
            Score { optimum, particles, price: state.prices().price(m) }
        });
        Some(Reasons { objective, guards, score, looked_at, changes: state.task.changes.count })
    }
}

impl State<'_> {
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
