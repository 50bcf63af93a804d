//! A world that changes in the middle of a task.
//!
//! **Suspicion.** After each trial every particle says by how many deviations its answer lay from what was foreseen: the last of
//! `L⁻¹z`. Their mean is added to one sum and subtracted from another (CUSUM, [`Drift`](super::drift::Drift)); the objective and
//! every KPI have their own. Where a sum is too large, or two answers in a row are outliers, the next query is the point in use, at
//! the target fidelity: it is safe, and what it gave is known.
//!
//! **Judgement.** If it gives what it gave, the model was wrong, and it takes more to suspect again. If not, the world has changed
//! since the sum began to grow. What is older counts less from then on: it is moved by as much as the point in use has moved (by
//! the same share, where floor or bound are shares), and gets as much more noise as the new answers were off all the same. Floor
//! and bounds are those of the point in use now, and margins are at least the first ones.
//!
//! **Between tasks.** Where a task begins with answers of the one before ([`kept`](crate::Settings::kept)), the first answer is that
//! of the point in use, and the model says what it foresaw. If that is not what came, the world has changed since: what was kept is
//! moved in the same way. Where only later answers show it, and the point in use gives what it gave first, what was kept is to blame,
//! and gets more noise.
//!
//! All of it follows from the answers, so that a replay finds the same.

use super::query::Query;
use super::state::State;
use crate::data::Kind;
use crate::live::{FIRST_GUARD_MARGIN, FIRST_MARGIN, Floor, Level};
use crate::math;

/// The point in use has changed if two measurements of it differ by more than so many deviations of the noise, and by more than
/// this share of what a floor allows.
const DIFFERENT: f32 = 4.0;
const WORTH_IT: f32 = 0.25;

impl State<'_> {
    /// After a trial was looked at by so many particles. Whether the world has changed before it, so that all looks different.
    ///
    /// There is no suspicion under conditions, which make the point in use give something else anyway, nor without floor and
    /// guards, where it is not worth a trial.
    pub fn note_surprise(&mut self, used: usize) -> bool {
        let (last, first) = (self.memory.data.len() - 1, self.round() == 1);
        let suspects = !first && self.problem.conditions() == 0 && self.problem.is_guarded();
        if !self.memory.data.is_believed(last) || used == 0 {
            if suspects && [last - 1, last].iter().all(|&i| self.memory.data.is_outlier(i)) {
                self.task.changes.suspected = Some(last as u32);
            }
            return false;
        }
        if self.blames_kept() && self.base() == Some(last) {
            return self.compare_with_kept(used, last);
        }
        if !suspects {
            return false;
        }
        let changes = &mut self.task.changes;
        changes.drift.note(used, last);
        changes.suspected = changes.drift.suspects(changes.limit);
        for watched in self.memory.guards.iter_mut().filter(|watched| watched.used > 0) {
            watched.drift.note(watched.used as usize, last);
            changes.suspected = changes.suspected.or(watched.drift.suspects(changes.limit));
        }
        false
    }

    /// Whether there are answers of earlier tasks, and nothing was found wrong with them yet.
    fn blames_kept(&self) -> bool {
        self.settings.kept > 0 && self.task.past > 0 && self.memory.data.base().is_none()
    }

    /// Whether the first answer, that of the point in use, says that the world has changed since answers were kept.
    fn compare_with_kept(&mut self, used: usize, last: usize) -> bool {
        let (data, deviation) = (&self.memory.data, self.problem.goal.sign() * self.task.scale.deviation);
        let variance = self.task.changes.drift.compare((used, last), deviation);
        let (y, moved) = (data.y(last), self.task.changes.drift.moved);
        let mut changed = differ([y - moved, y], self.level(), variance);
        for (guard, (g, watched)) in self.problem.guards.iter().zip(self.memory.guards.iter_mut().enumerate())
        {
            let (kpi, deviation) = (data.kpis(last)[g], guard.side.sign() * watched.deviation);
            let variance = watched.drift.compare((watched.used.max(1) as usize, last), deviation);
            changed |= differ([kpi - watched.drift.moved, kpi], guard.floor.level, variance);
        }
        if changed {
            self.memory.data.change_before(last);
            self.change(None, last);
        } else {
            self.task.changes.drift.moved = 0.0;
            self.memory.guards.iter_mut().for_each(|watched| watched.drift.moved = 0.0);
        }
        changed
    }

    /// The objective's floor; without one a tenth less.
    fn level(&self) -> Level {
        self.problem.floor.map_or(Level::Share(0.9), |Floor { level, .. }| level)
    }

    /// On suspicion: the point in use once more, if that can be paid.
    pub fn suspicious_query(&self) -> Option<Query> {
        let (deployed, truth) = (self.start.deployed.as_ref()?, self.problem.truth());
        let wanted =
            self.task.changes.suspected.is_some() && self.prices().can_pay(truth) && self.base().is_some();
        wanted.then(|| self.query(deployed.clone(), truth, Kind::Search))
    }

    /// The slot of what the point in use gave first in the world as it is now.
    pub fn base(&self) -> Option<usize> {
        let (data, own) = (&self.memory.data, self.task.remembered + self.task.past);
        let is_first =
            |&i: &usize| data.is_believed(i) && (!self.problem.is_guarded() || self.is_of_point_in_use(i));
        data.base().or_else(|| (own..data.len()).find(is_first))
    }

    /// Whether slot `i` is the point in use at the target fidelity.
    #[inline(never)]
    fn is_of_point_in_use(&self, i: usize) -> bool {
        let (data, deployed) = (&self.memory.data, self.start.deployed.as_deref());
        usize::from(data.fidelity()[i]) == self.problem.truth()
            && deployed.is_some_and(|deployed| self.problem.is_same_choice(deployed, data.point(i)))
    }

    /// Whether the last answer is that of the point in use on suspicion: it is believed, however far from the others.
    pub fn is_check(&self) -> bool {
        self.task.changes.suspected.is_some() && self.is_of_point_in_use(self.memory.data.len() - 1)
    }

    /// After that: whether the world has changed. If the measurement failed, it is made again.
    pub fn settle_suspicion(&mut self) {
        let (Some(since), Some(base)) = (self.task.changes.suspected, self.base()) else { return };
        let last = self.memory.data.len() - 1;
        if !self.memory.data.is_believed(last) {
            return;
        }
        self.task.changes.suspected = None;
        if self.has_changed(base, last) && self.memory.data.change(since as usize, base) {
            self.change(Some(base), last);
        } else if self.blames_kept() {
            self.memory.data.change_before(base);
            self.change(None, base);
        } else {
            self.task.changes.refuted();
            self.memory.guards.iter_mut().for_each(|watched| watched.drift.refuted());
        }
    }

    /// Whether two measurements of the point in use differ, in the objective or in a KPI.
    fn has_changed(&self, before: usize, now: usize) -> bool {
        let (data, truth) = (&self.memory.data, self.problem.truth());
        let noise = self.problem.fidelities[truth].noise;
        let mut changed = differ([before, now].map(|i| data.y(i)), self.level(), noise);
        for (g, guard) in self.problem.guards.iter().enumerate() {
            changed |= differ([before, now].map(|i| data.kpis(i)[g]), guard.floor.level, guard.noise[truth]);
        }
        changed
    }

    /// The world has changed; the slots are those of what the point in use gave before, if that was in this task, and gives now.
    fn change(&mut self, before: Option<usize>, now: usize) {
        let (data, deviation) = (&self.memory.data, self.problem.goal.sign() * self.task.scale.deviation);
        let drift = &mut self.task.changes.drift;
        drift.changed(before.map_or(drift.moved, |i| data.y(now) - data.y(i)), deviation);
        self.task.changes.count += 1;
        let margin = &mut self.task.trials.floor.margin;
        *margin = margin.max(FIRST_MARGIN);
        for (g, watched) in self.memory.guards.iter_mut().enumerate() {
            let (sign, now) = (self.problem.guards[g].side.sign(), data.kpis(now)[g]);
            let moved = before.map_or(watched.drift.moved, |i| now - data.kpis(i)[g]);
            watched.drift.changed(moved, sign * watched.deviation);
            watched.mean = now;
            watched.bound.margin = watched.bound.margin.max(FIRST_GUARD_MARGIN);
        }
        self.task.settled = false;
        self.rescale();
    }
}

/// Whether two measurements differ by more than noise of this variance explains, and by more than a floor of this level would
/// ignore.
#[inline(never)]
fn differ(values: [f32; 2], level: Level, noise: f32) -> bool {
    let (by, allowed) = (values[1] - values[0], values[0] - level.at(values[0], 1.0));
    let least = (DIFFERENT * math::sqrt(noise)).max(WORTH_IT * libm::fabsf(allowed));
    libm::fabsf(by) > least.max(1e-3 * libm::fabsf(values[0]))
}
