//! Several measurements at once: what to ask for while others are under way, and answers in any order.
//!
//! For one search, queries that wait are taken as answered by the model's mean; as long as nothing is known, as failed. They are
//! charged and take slots. With a floor or guards, what is found must be allowed without such answers, too, so that nothing is
//! tried because of what is yet to be measured. (Lower bounds in place of means rule out so much that eight at once lose 6 % of a
//! radio-like optimum, not half a percent, and keep to its floor no better.)
//!
//! Nothing is learnt from them, and afterwards the state is what it was: a function of the answers in the order in which they were
//! told, so that a replay needs no more than these.

use super::conditions::run;
use super::decide::Next;
use super::query::{Ask, Query, Reasons, Stop};
use super::search::{Objective, Search};
use super::state::State;
use super::{Optimizer, Phase};
use crate::data::{Kind, Kpis, Record};
use crate::error::{Error, SnapshotError};
use crate::math;

impl Optimizer<'_> {
    /// The next query while others, whatever their records say of answers, are being measured, and why it is asked. What cannot be a
    /// query of this problem is not looked at.
    /// [`Ask::Waiting`] where one of theirs must come first; an end is meant for good only if there are none. A query that
    /// [`ask`](Self::ask) handed out is taken back.
    pub fn ask_beside(&mut self, pending: &[Record]) -> (Ask, Option<Reasons>) {
        if !self.reach_decision() {
            let ended = Ask::Done(self.state.task.stop.unwrap_or(Stop::Requested));
            return (if self.needs_knowledge() { Ask::NeedsKnowledge } else { ended }, None);
        }
        let slots = self.state.memory.data.len();
        let (found, best) = self.state.aside(|state| {
            let found = state.look_beside(pending);
            state.memory.data.truncate(slots);
            state.restandardise();
            let best = state.task.trials.best;
            match &found.0 {
                Ask::Query(query) if !pending.is_empty() && !state.allows(query) => {
                    ((Ask::Waiting, None), best)
                }
                _ => (found, best),
            }
        });
        self.state.task.trials.best = best;
        found
    }

    /// Takes an answer to any query of this task, with its KPIs and cost in the record: one of several that were measured at once,
    /// or what was measured unasked. It was measured under these conditions, or under those of the record if there are none.
    ///
    /// # Errors
    /// As [`answer_at`](Self::answer_at); [`Error::Snapshot`] for what cannot be an answer in this problem, and
    /// [`Error::OutOfTurn`] once the task has ended. The state is unchanged then.
    pub fn observe(&mut self, mut record: Record, conditions: &[f32]) -> Result<(), Error> {
        record.y.map_or(Ok(()), |y| self.check_value(y))?;
        super::check_cost(record.cost)?;
        record.kpis = if record.y.is_some() { self.state.kpis(&record.kpis)? } else { Kpis::new() };
        if !conditions.is_empty() {
            let units = self.state.condition_units(conditions)?;
            self.state.problem.put_conditions(&units, &mut record.unit);
        }
        self.check_record(&record)?;
        if record.kind == Kind::Past {
            return Err(SnapshotError::Contents.into());
        }
        if !self.reach_decision() {
            return Err(Error::OutOfTurn);
        }
        self.state.memory.data.push(&record)?;
        self.state.problem.put_conditions(&record.unit, &mut self.state.conditions);
        let next = self.state.observed();
        self.enter(next);
        Ok(())
    }

    /// Finishes what the last answer began, and leaves what was begun without one; whether the task goes on.
    fn reach_decision(&mut self) -> bool {
        self.withdraw();
        while self.state.task.stop.is_none() && !self.is_done() && !self.needs_knowledge() {
            match &self.phase {
                Phase::Deciding if self.state.decides_now() => return true,
                Phase::Searching(search) if search.objective != Objective::Trial => {
                    self.enter(Next::Decide);
                }
                _ => _ = self.advance(),
            }
        }
        false
    }
}

impl State<'_> {
    /// Whether nothing is left to be done before the next query is decided upon.
    fn decides_now(&self) -> bool {
        #[cfg(feature = "paper")]
        if self.design_wanted().is_some() {
            return false;
        }
        self.memory.data.hidden() == 0
    }

    /// What is asked for if these are answered as is expected.
    fn look_beside(&mut self, pending: &[Record]) -> (Ask, Option<Reasons>) {
        if !pending.is_empty() && self.problem.is_guarded() && self.first_told().is_none() {
            return (Ask::Waiting, None);
        }
        if !pending.iter().all(|record| !self.has_query(record) || self.suppose(record)) {
            return (Ask::Done(Stop::Capacity), None);
        }
        let next = match self.decide() {
            Next::Search(objective) => {
                if self.needs_bounds() {
                    let means = run(Objective::InUse, self).trial_means(self);
                    self.renew_bounds(means);
                }
                let search = run(objective, self);
                self.found(&search)
            }
            next => next,
        };
        match next {
            Next::Hand(query) => {
                let why = self.reasons(query.unit(), query.fidelity());
                (Ask::Query(query), why)
            }
            Next::Finish(stop) => (Ask::Done(stop), None),
            _ => (Ask::Waiting, None),
        }
    }

    /// Whether floor and guards allow a query, whatever it was searched for.
    fn allows(&mut self, query: &Query) -> bool {
        if !self.problem.is_guarded() || self.start.deployed.as_deref() == Some(query.unit()) {
            return true;
        }
        let (used, sums) = Search::of_point(query.unit(), self);
        let truth = &sums[self.problem.truth()].mixture;
        used > 0 && self.lower_bound(0, truth.mean, truth.variance(used)).1
    }

    /// Takes a query as answered as is expected; whether there is a slot for it.
    fn suppose(&mut self, record: &Record) -> bool {
        let (y, kpis) = match self.has_told() {
            true => self.expected_answer(record),
            false => (None, Kpis::new()),
        };
        let supposed = Record { y, kpis, ..record.clone() };
        if self.memory.data.push(&supposed).is_err() {
            return false;
        }
        self.restandardise();
        if let Some(fleet) = self.fleet() {
            self.memory.data.describe(&fleet);
        }
        if self.start.deployed.as_deref() == Some(&record.unit[..]) {
            // It is being measured already.
            self.task.changes.suspected = None;
        }
        true
    }

    fn expected_answer(&mut self, record: &Record) -> (Option<f32>, Kpis) {
        let (used, sums) = Search::of_point(&record.unit, self);
        if used == 0 {
            return (None, Kpis::new());
        }
        let z = sums[record.fidelity].mixture.mean;
        let kpi = |g: usize| {
            let (watched, sign) = (&self.memory.guards[g], self.problem.guards[g].side.sign());
            let (mean, _) = self.guard_belief(g, 0)?;
            Some(math::clamp(watched.scale().undo(sign * mean), -math::LARGEST_VALUE, math::LARGEST_VALUE))
        };
        let kpis: Option<Kpis> = (0..self.problem.guards.len()).map(kpi).collect();
        match kpis {
            Some(kpis) => (Some(self.in_units(z)), kpis),
            None => (None, Kpis::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dimension, Fidelity, Floor, Level, Problem, Settings, memory};
    extern crate std;
    use std::{boxed::Box, vec::Vec};

    #[test]
    fn what_is_asked_beside_others_is_allowed_without_them() {
        let problem = Problem {
            dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
            fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
            budget: 60.0,
            deployed: Some(&[0.4, 0.4]),
            floor: Some(Floor { level: Level::Share(0.9), risk: 0.05 }),
            ..Problem::PLAIN
        };
        let mut memory = Box::new(<memory!(
            dimensions: 2, fidelities: 1, observations: 64, particles: 10, map: Ard, candidates: 64
        )>::new());
        let settings = Settings { candidates: 64, ..Settings::DEFAULT };
        let mut tuner = memory.start(problem, settings, 1).unwrap();
        let (mut pending, mut beside) = (Vec::new(), 0);
        loop {
            let query = match tuner.ask_beside(&pending).0 {
                Ask::Query(query) if pending.len() < 5 => query,
                Ask::Done(_) if pending.is_empty() => break,
                _ => {
                    tuner.observe(pending.remove(pending.len() / 2), &[]).unwrap();
                    continue;
                }
            };
            if !pending.is_empty() {
                let (used, sums) = Search::of_point(query.unit(), &mut tuner.state);
                let (mean, variance) = (sums[0].mixture.mean, sums[0].mixture.variance(used));
                let floor = &tuner.state.task.trials.floor;
                let allowed = floor.lower(mean, variance, tuner.state.round()) >= floor.at;
                assert!(allowed || query.unit() == [0.4, 0.4], "{query:?}");
                beside += 1;
            }
            let x = query.unit();
            let y = 10.0 - 9.0 * (x[0] - 0.6) * (x[0] - 0.6) - 5.0 * (x[1] - 0.5) * (x[1] - 0.5);
            pending.push(query.record(Some(y), Kpis::new(), None));
        }
        assert!(beside > 30, "{beside} of 60 were asked beside others");
    }
}
