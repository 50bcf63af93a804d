//! The course of a task: particles, initial points, carried points, searches, the end.

use core::ops::RangeInclusive;

use super::learn::Learn;
use super::query::{Progress, Query, Stop};
use super::state::{Phase, State};
use super::{Kind, MAX_FAILURES, Optimizer};
use crate::data::{LARGEST_DEVIATION, LARGEST_VALUE, Scale, Scaling};
use crate::math;
use crate::random::{Purpose, Random};
use crate::search;

/// Draws of an initial point before one that was observed already is taken.
const DRAWS: usize = 16;
/// Deviations below its remembered value from which on a carried point speaks against what is remembered; twice as many,
/// of one point or together, settle it.
const REFUTED: f32 = 2.0;

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
    /// Sets up the task `self.state.task`; the particles in the memory are the last task's.
    pub(super) fn begin(&mut self) {
        self.memory.data.clear();
        let later = self.learns_from_centres();
        if later && Self::OWN_CENTRES {
            let v = self.settings.particles;
            self.memory.rows[..v].copy_from_slice(&self.memory.particles[..v]);
        }
        self.memory.rows[Self::MOMENTS..].as_flattened_mut().fill(0.0);
        let State { seed, task, carried, stranger, .. } = self.state;
        self.state = State::new(seed, task, carried, self.settings.scaling);
        self.state.stranger = stranger;
        self.remember();
        self.state.phase = if later { Phase::Next } else { Phase::Prepare { v: 0 } };
    }

    /// Puts the values remembered of carried points into the data's first slots.
    fn remember(&mut self) {
        let level = self.problem.fidelities.len();
        let wanted = self.state.carried.min(self.settings.remembers());
        let memory = &mut *self.memory;
        for (x, y) in memory.carried[..wanted].iter().zip(memory.remembered) {
            let kept = memory.data.push(x, level, Kind::Carried, y);
            self.state.remembered += usize::from(kept.is_ok());
        }
        // The first search may come before the first answer.
        if self.state.remembered > 0 {
            self.renew_scale();
        }
    }

    /// Whether carried points and values play a part: the task has had its fresh look, and did not turn out to be foreign.
    pub(super) fn looks_back(&self) -> bool {
        // Asked in every slice: no counting where there is nothing to wait for. Failures do not count: a replay knows of
        // them before their time.
        let looked = self.settings.fresh == 0.0
            || self.total(&self.answered()) >= self.settings.fresh * self.problem.budget;
        looked && !self.is_foreign()
    }

    /// Whether carried points, measured again, are all worth far less than is remembered. Then the task is not like the
    /// earlier ones, and it is better off without what they left. The newest may settle it alone, but not if it comes
    /// from a task that was itself foreign: the others may yet hold.
    fn is_foreign(&self) -> bool {
        let State { remembered, stranger, .. } = self.state;
        if remembered == 0 {
            return false;
        }
        let data = &self.memory.data;
        let (known, told) = data.z().split_at(remembered);
        let doubt = self.settings.doubt;
        let limit = REFUTED * math::sqrt(doubt * doubt + self.noise()[self.problem.truth()]);
        let (mut refuted, mut short) = (0, 0.0);
        for (i, z) in told.iter().enumerate().map(|(i, z)| (remembered + i, z)) {
            if data.kind(i) == Kind::Carried
                && let Some(j) = (0..remembered).find(|&j| data.x()[j] == data.x()[i])
            {
                let by = known[j] - z;
                if by <= limit {
                    return false;
                }
                refuted += 1;
                short += by;
            }
        }
        refuted == remembered || short >= 2.0 * limit && (refuted > 1 || !stranger)
    }

    /// Draws particle `v` from the prior.
    pub(super) fn prepare(&mut self, v: usize) {
        let mut random = Random::new(self.state.seed, self.state.task, 0, Purpose::Prior, v as u32);
        self.settings.prior.sample(&self.model, &mut random, &mut self.memory.particles[v]);
        let next = v + 1;
        self.state.phase =
            if next < self.settings.particles { Phase::Prepare { v: next } } else { Phase::Next };
    }

    /// Decides what comes next: replay, the end, an initial point, a carried point, or a search.
    pub(super) fn next(&mut self) -> Progress<D> {
        self.state.begun = true;
        if self.state.stopping && self.state.hidden == 0 {
            self.finish(Stop::Requested);
        } else if let Some(points) = self.design_wanted() {
            self.start_design(points);
        } else if self.state.hidden > 0 {
            self.state.hidden -= 1;
            self.memory.data.reveal();
            self.observed();
        } else if self.failures().count() == MAX_FAILURES {
            self.finish(Stop::Failures);
        } else if self.memory.data.room() == 0 {
            self.finish(Stop::Capacity);
        } else if !self.initial_done() {
            let query = self.initial_query();
            return self.hand_out(query);
        } else if !self.fidelities().any(|m| self.purse().can_pay(m)) {
            self.finish(Stop::Budget);
        } else if let Some(query) = self.carried_query() {
            return self.hand_out(query);
        } else {
            return self.start_query();
        }
        Progress::Working
    }

    pub(super) fn hand_out(&mut self, query: Query<D>) -> Progress<D> {
        self.state.asked = Some(query.record(None));
        self.state.phase = Phase::Asked;
        Progress::Query(query)
    }

    pub(super) fn query(&self, x: [f32; D], fidelity: usize, kind: Kind) -> Query<D> {
        let setting = self.setting(&x);
        let dimensions = self.problem.dimensions.len();
        Query { task: self.state.task, round: self.round(), x, setting, dimensions, fidelity, kind }
    }

    pub(super) fn setting(&self, x: &[f32; D]) -> [f32; D] {
        let mut setting = [0.0; D];
        for ((value, dimension), unit) in setting.iter_mut().zip(self.problem.dimensions).zip(x) {
            *value = dimension.value(*unit);
        }
        setting
    }

    /// A uniform point at a uniform fidelity, if possible one that was not observed yet.
    fn initial_query(&self) -> Query<D> {
        let mut random = self.random(Purpose::Start, 0);
        let (mut x, mut fidelity) = ([0.0; D], 0);
        for _ in 0..DRAWS {
            search::uniform(self.problem.dimensions, &mut random, &mut x);
            fidelity = random.below(self.problem.fidelities.len());
            if self.memory.data.count(&x, fidelity) == 0 && !self.has_failed(&x, fidelity) {
                break;
            }
        }
        self.query(x, fidelity, Kind::Initial)
    }

    /// The next carried point that has not been asked in this task, at the truth's fidelity, if it can be paid.
    fn carried_query(&mut self) -> Option<Query<D>> {
        let truth = self.problem.truth();
        if !self.settings.retry || !self.looks_back() || !self.purse().can_pay(truth) {
            return None;
        }
        while self.state.next_carried < self.state.carried.min(self.settings.carried) {
            let x = self.memory.carried[self.state.next_carried];
            self.state.next_carried += 1;
            if self.memory.data.count(&x, truth) == 0 && !self.has_failed(&x, truth) {
                return Some(self.query(x, truth, Kind::Carried));
            }
        }
        None
    }

    /// Observations that [`tell`](Self::tell) takes now; others are [`Error::Outlier`](crate::Error::Outlier).
    pub fn plausible(&self) -> RangeInclusive<f32> {
        let Scale { mean, deviation } = self.state.scale;
        let judged = match self.settings.scaling {
            Scaling::Fixed { .. } => true,
            Scaling::Initial => self.state.settled && self.initial_done(),
            Scaling::Running => false,
        };
        let reach = if judged { (LARGEST_DEVIATION * deviation).min(LARGEST_VALUE) } else { LARGEST_VALUE };
        (mean - reach).max(-LARGEST_VALUE)..=(mean + reach).min(LARGEST_VALUE)
    }

    /// After an observation has been added: scale, then learn.
    pub(super) fn observed(&mut self) {
        self.state.asked = None;
        self.renew_scale();
        // Failures at the present position come after this observation, also when it is replayed.
        let done = self.initial_count(self.memory.data.len() - 1) >= self.settings.initial;
        let steps = if done { self.settings.steps_per_round } else { 0 };
        self.state.phase = if steps > 0 { Phase::Learn(Learn::new(steps)) } else { Phase::Next };
    }

    /// The scale is that of the task's own answers. As long as these are alike, or there are none, it is that of the
    /// remembered values as well: a scale that knows nothing of their size would not tell anything about them either.
    fn renew_scale(&mut self) {
        let data = &mut self.memory.data;
        let last_is_initial = data.kind(data.len() - 1) == Kind::Initial;
        let renew = match self.settings.scaling {
            Scaling::Fixed { .. } => false,
            Scaling::Initial => last_is_initial || !self.state.settled,
            Scaling::Running => true,
        };
        if renew {
            let least = self.problem.fidelities.iter().fold(f32::INFINITY, |least, f| least.min(f.noise));
            let noise = math::sqrt(least);
            let told = &data.y()[self.state.remembered..];
            let own = Scale::of(told, noise);
            self.state.settled = own.deviation > Scale::least(told, noise);
            self.state.scale = if self.state.settled { own } else { Scale::of(data.y(), noise) };
        }
        data.rescale(self.state.scale, self.problem.goal.sign());
    }

    /// Ends the task: learning, if particles go on, then the recommendation.
    pub(super) fn finish(&mut self, stop: Stop) {
        self.state.stop = Some(stop);
        if self.memory.data.len() == self.state.remembered {
            self.state.phase = Phase::Done;
        } else if self.settings.carries_particles() && self.settings.steps_per_task > 0 {
            self.state.phase = Phase::Learn(Learn::new(self.settings.steps_per_task));
        } else {
            self.start_recommendation();
        }
    }

    /// The recommendation becomes the newest carried point.
    pub(super) fn carry_best(&mut self) {
        let Some(best) = self.state.recommendation else { return };
        if self.settings.carried == 0 {
            return;
        }
        self.state.stranger = self.is_foreign();
        let known = self.memory.carried[..self.state.carried].iter().position(|x| *x == best.x);
        let last = known.unwrap_or_else(|| {
            self.state.carried = (self.state.carried + 1).min(self.settings.carried);
            self.state.carried - 1
        });
        self.memory.carried[..=last].rotate_right(1);
        self.memory.carried[0] = best.x;
        self.memory.remembered[..=last].rotate_right(1);
        self.memory.remembered[0] = best.mean;
    }

    pub(super) fn initial_done(&self) -> bool {
        self.initial_count(self.memory.data.len()) >= self.settings.initial
    }

    /// Initial points answered, for better or worse; failures up to a position.
    fn initial_count(&self, position: usize) -> usize {
        let data = &self.memory.data;
        let told = (self.state.remembered..data.len()).filter(|&i| data.kind(i) == Kind::Initial).count();
        let failed = self.failures().filter(|f| f.record.kind == Kind::Initial && f.position <= position);
        told + failed.count()
    }
}
