//! A world that changes in the middle of a task.
//!
//! **Suspicion.** After each trial every particle says by how many deviations its answer lay from what was foreseen: the last of
//! `L⁻¹z`. Their mean is added to one sum and subtracted from another (CUSUM; [`Drift`]), the objective's and every KPI's. Where a
//! sum has grown too large, the next query is the point in use, at the target fidelity: a setting that is known to be safe, and
//! known.
//!
//! **Judgement.** If it gives what it gave, the model was wrong, and it takes more to suspect again. If not, the world has changed
//! since the sum began to grow. What is older counts less from then on: it is moved by as much as the point in use has moved (by
//! the same share, where floor or bound are shares), and gets as much more noise as the new answers were off all the same. Floor and bounds are those of the point in use now, and margins are at least those of a beginner.
//!
//! All of it follows from the answers, so that a replay finds the same.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::query::Query;
use super::state::State;
use crate::data::Kind;
use crate::live::{FIRST_MARGIN, Floor, Level};
use crate::math;

/// Deviations per answer that a model may be wrong by without suspicion, and the most that one answer counts.
const ALLOWED: f32 = 0.75;
const MOST: f32 = 6.0;
/// A sum above this is suspicious; a suspicion that was wrong makes it so many times larger.
const SUSPICIOUS: f32 = 5.0;
const HARDER: f32 = 1.5;
/// The point in use has changed if two measurements of it differ by more than so many deviations of the noise, and by more than
/// this share of what a floor allows.
const DIFFERENT: f32 = 4.0;
const WORTH_IT: f32 = 0.25;
/// What is older is taken to be wrong by at least this share of what the point in use has moved, and by so many times more after
/// every suspicion that is not another change.
const WRONG: f32 = 0.25;
const BLURRIER: f32 = 3.0;

/// How far answers of one number lay from what was foreseen, and what that came to.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Drift {
    /// Of the last answer, summed over particles: in deviations of what was foreseen, and in those of the scale.
    surprise: [f32; 2],
    /// Above what was foreseen, and below.
    sides: [Side; 2],
    /// Deviation of the noise that answers from before the last change have on top, in the number's units.
    pub blur: f32,
}

/// A sum that grows as long as answers are surprising on one side.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
struct Side {
    sum: f32,
    /// The slot of the last answer that outweighed all before it; the answers since then, the sum of their errors and of the squares, in deviations of
    /// the scale.
    since: u32,
    count: u32,
    errors: f32,
    squares: f32,
}

impl Drift {
    pub const NONE: Drift = {
        let side = Side { sum: 0.0, since: 0, count: 0, errors: 0.0, squares: 0.0 };
        Drift { surprise: [0.0; 2], sides: [side; 2], blur: 0.0 }
    };

    /// Before particles look at an answer.
    pub fn look(&mut self) {
        self.surprise = [0.0; 2];
    }

    /// How one more particle sees it.
    pub fn add(&mut self, surprise: [f32; 2]) {
        self.surprise.iter_mut().zip(surprise).for_each(|(sum, one)| *sum += one);
    }

    /// So many particles have looked at the answer in slot `i`.
    fn note(&mut self, particles: usize, i: usize) {
        let [by, error] = self.surprise.map(|sum| sum / particles as f32);
        for (side, by) in self.sides.iter_mut().zip([by, -by]) {
            let more = math::clamp(by, -MOST, MOST) - ALLOWED;
            let sum = (side.sum + more).max(0.0);
            // Rather late than early: an old answer that counts as a new one does more harm than the reverse.
            if more > side.sum {
                *side = Side { since: i as u32, ..Side::default() };
            }
            *side = Side {
                sum,
                since: side.since,
                count: side.count + 1,
                errors: side.errors + error,
                squares: side.squares + error * error,
            };
        }
    }

    /// Since when, if there is reason for suspicion.
    fn suspects(&self, limit: f32) -> Option<u32> {
        let [above, below] = &self.sides;
        let side = if above.sum > below.sum { above } else { below };
        (side.sum > limit).then_some(side.since)
    }

    /// What the answers of the larger sum were off by, root mean square, once those before are moved by `moved`; in deviations of
    /// the scale.
    fn unexplained(&self, moved: f32) -> f32 {
        let [above, below] = &self.sides;
        let Side { count, errors, squares, .. } = if above.sum > below.sum { above } else { below };
        let square = (squares - 2.0 * moved * errors) / (*count).max(1) as f32 + moved * moved;
        math::sqrt(square.max(0.0))
    }

    /// Begins anew after a change by `moved`, in units in which the scale has this deviation.
    fn changed(&mut self, moved: f32, deviation: f32) {
        let blur = self.unexplained(moved / deviation) * libm::fabsf(deviation);
        *self = Drift { blur: blur.max(WRONG * libm::fabsf(moved)), ..Drift::NONE };
    }

    /// Begins anew after a suspicion that was wrong.
    fn refuted(&mut self) {
        *self = Drift { blur: BLURRIER * self.blur, ..Drift::NONE };
    }
}

/// Changes of the world in a task.
#[derive(Clone, Copy)]
pub(super) struct Changes {
    pub count: u32,
    /// The objective's.
    pub drift: Drift,
    limit: f32,
    /// Since which slot the world may be another, if there is reason for suspicion.
    suspected: Option<u32>,
}

impl Changes {
    pub const NONE: Changes = Changes { count: 0, drift: Drift::NONE, limit: SUSPICIOUS, suspected: None };
}

impl State<'_> {
    /// After a trial was looked at by so many particles. Under other conditions the point in use gives something else anyway: there
    /// is no suspicion.
    pub fn note_surprise(&mut self, used: usize) {
        let (last, first) = (self.memory.data.len() - 1, self.round() == 1);
        if !self.memory.data.is_believed(last) || used == 0 || first || self.problem.conditions() > 0 {
            return;
        }
        let changes = &mut self.task.changes;
        changes.drift.note(used, last);
        changes.suspected = changes.drift.suspects(changes.limit);
        for watched in self.memory.guards.iter_mut().filter(|watched| watched.used > 0) {
            watched.drift.note(watched.used as usize, last);
            changes.suspected = changes.suspected.or(watched.drift.suspects(changes.limit));
        }
    }

    /// On suspicion: the point in use once more, if that can be paid.
    pub fn suspicious_query(&self) -> Option<Query> {
        let (deployed, truth) = (self.start.deployed.as_ref()?, self.problem.truth());
        let wanted = self.problem.is_guarded()
            && self.prices().can_pay(truth)
            && self.base().is_some()
            && self.task.changes.suspected.is_some();
        wanted.then(|| self.query(deployed.clone(), truth, Kind::Search))
    }

    /// The slot of what the point in use gave first in the world as it is now.
    pub fn base(&self) -> Option<usize> {
        let (data, own) = (&self.memory.data, self.task.remembered + self.task.past);
        data.base().or_else(|| (own..data.len()).find(|&i| data.is_believed(i)))
    }

    /// After an answer: if it is that of the point in use on suspicion, whether the world has changed.
    pub fn settle_suspicion(&mut self) {
        let (Some(since), Some(base)) = (self.task.changes.suspected, self.base()) else { return };
        let (data, last) = (&self.memory.data, self.memory.data.len() - 1);
        let is_asked = usize::from(data.fidelity()[last]) == self.problem.truth()
            && self.start.deployed.as_deref() == Some(data.point(last));
        if !is_asked {
            return;
        }
        self.task.changes.suspected = None;
        if self.has_changed(base, last) && self.memory.data.change(since as usize, base) {
            self.change(base, last);
        } else {
            self.task.changes.limit *= HARDER;
            self.task.changes.drift.refuted();
            self.memory.guards.iter_mut().for_each(|watched| watched.drift.refuted());
        }
    }

    /// Whether two measurements of the point in use differ, in the objective or in a KPI.
    fn has_changed(&self, before: usize, now: usize) -> bool {
        let (data, truth) = (&self.memory.data, self.problem.truth());
        let level = self.problem.floor.map_or(Level::Share(0.9), |Floor { level, .. }| level);
        let noise = self.problem.fidelities[truth].noise;
        let mut changed = differ([before, now].map(|i| data.y(i)), level, noise);
        for (g, guard) in self.problem.guards.iter().enumerate() {
            changed |= differ([before, now].map(|i| data.kpis(i)[g]), guard.floor.level, guard.noise[truth]);
        }
        changed && data.is_believed(now)
    }

    /// The world has changed; the slots are those of what the point in use gave before and gives now.
    fn change(&mut self, before: usize, now: usize) {
        let (data, sign, scale) = (&self.memory.data, self.problem.goal.sign(), self.task.scale);
        self.task.changes.count += 1;
        self.task.changes.drift.changed(data.y(now) - data.y(before), sign * scale.deviation);
        let margin = &mut self.task.trials.floor.margin;
        *margin = margin.max(FIRST_MARGIN);
        for (g, watched) in self.memory.guards.iter_mut().enumerate() {
            let (sign, [before, now]) =
                (self.problem.guards[g].side.sign(), [before, now].map(|i| data.kpis(i)[g]));
            watched.drift.changed(now - before, sign * watched.deviation);
            watched.mean = now;
            watched.bound.margin = watched.bound.margin.max(FIRST_MARGIN);
        }
        self.task.settled = false;
        self.rescale();
        self.task.trials.rescale(|z| sign * self.task.scale.apply(scale.undo(sign * z)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_errors_raise_no_suspicion_and_steady_ones_do_since_they_began() {
        let mut drift = Drift::NONE;
        let mut tell = |by: f32, i| {
            drift.look();
            drift.add([by, 0.5 * by]);
            drift.note(1, i);
            (drift.suspects(SUSPICIOUS), drift.unexplained(-1.0))
        };
        for i in 0..40 {
            assert_eq!(tell(if i % 2 == 0 { 1.5 } else { -1.5 }, i).0, None);
        }
        assert_eq!([40, 41].map(|i| tell(-2.5, i).0), [None; 2]);
        assert_eq!(tell(-2.5, 42), (Some(40), 0.25), "each was off by 0.25 more than the one");
        assert_eq!(tell(f32::MAX, 43).0, Some(43), "one that nothing explains");
        assert_eq!(tell(-6.0, 44).0, Some(44));
    }
}
