//! What is kept of a system in service: the point in use, the floor, the trials. The rules are [`crate::live`]'s.

use super::Optimizer;
use super::query::{LiveStatus, Query};
use super::state::State;
use super::trials::{Bound, Start, Trials, deployable, unit_of};
use crate::data::{Kind, Record};
use crate::error::Error;
use crate::live::{FIRST_GUARD_MARGIN, FIRST_MARGIN, FLOOR_FALLS, Floor, Level, UNSTATED_TOLERANCE, weight};
use crate::math;
use crate::scale::Scale;

impl Optimizer<'_> {
    /// Says which point is in use, in natural units, if it is not the last recommendation; before the task's first slice of
    /// work.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] later than that, or if the problem has no point in use; [`Error::Live`] if the point does not
    /// lie in the problem's ranges or limits. The state is unchanged then.
    pub fn deploy(&mut self, point: &[f32]) -> Result<(), Error> {
        if self.state.task.begun || self.state.start.deployed.is_none() {
            return Err(Error::OutOfTurn);
        }
        self.state.start.deployed = Some(deployable(&self.state.problem, point)?);
        Ok(())
    }

    /// Hands in what was measured before the task, in natural units; before its first slice of work. It takes a slot and
    /// teaches the model like any observation, but is not charged and is no trial. [`Optimizer::snapshot`] keeps it.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] later than that; [`Error::NotFinite`]; [`Error::Capacity`] if no slot would be left for the
    /// task; [`Error::Live`] for a point or a fidelity that the problem does not have. The state is unchanged then.
    pub fn add_past(&mut self, point: &[f32], fidelity: usize, y: f32) -> Result<(), Error> {
        self.add_past_all(point, fidelity, y, &[])
    }

    /// The same with the KPIs of a problem's guards.
    ///
    /// # Errors
    /// The same, and [`Error::Kpis`] unless there is one for every guard.
    pub fn add_past_all(
        &mut self,
        point: &[f32],
        fidelity: usize,
        y: f32,
        kpis: &[f32],
    ) -> Result<(), Error> {
        let kpis = self.state.kpis(kpis)?;
        let (state, data) = (&self.state, &self.state.memory.data);
        if state.task.begun || !state.takes_past() {
            return Err(Error::OutOfTurn);
        }
        let unit = unit_of(&state.problem, point, true).filter(|_| fidelity < state.problem.fidelities.len());
        let unit =
            unit.ok_or(Error::Live("a past measurement must be of this problem's points and fidelities"))?;
        let (taken, capacity) = (data.len() + data.hidden(), data.capacity());
        let needed = taken + 2 + state.settings.initial;
        if needed > capacity {
            return Err(Error::Capacity { what: "observations", needed, available: capacity });
        }
        let record = Record { unit, fidelity, kind: Kind::Past, y: Some(y), kpis, cost: None };
        self.state.memory.data.push_hidden(&record)
    }

    /// The point in use at the start of the task, in the unit cube.
    pub fn deployed(&self) -> Option<&[f32]> {
        self.state.start.deployed.as_deref()
    }
}

impl State<'_> {
    /// The point in use, at the target fidelity: the first query, where there is one. A floor is worth what this gives, so
    /// that it is asked again should the measurement fail.
    pub fn deployed_query(&self) -> Option<Query> {
        let wanted = self.round() == 0 || self.problem.is_guarded() && self.first_told().is_none();
        let deployed = self.start.deployed.as_ref().filter(|_| wanted)?;
        let deployed = self.here(deployed.clone());
        let known = (0..self.task.remembered).any(|i| self.memory.data.point(i) == &deployed[..]);
        let kind = if known { Kind::Carried } else { Kind::Initial };
        Some(self.query(deployed, self.problem.truth(), kind))
    }

    /// Whether nothing but past measurements is there to be replayed: they come first.
    pub fn takes_past(&self) -> bool {
        let data = &self.memory.data;
        data.hidden() == 0 || data.kind(data.len() + data.hidden() - 1) == Kind::Past
    }

    /// The first answer of the task that was not handed in, or that of the point in use since the world changed.
    pub fn first_told(&self) -> Option<f32> {
        self.base().map(|i| self.memory.data.y(i))
    }

    /// Whether an initial point can be paid; where they are free, always.
    pub fn can_start(&self) -> bool {
        let prices = self.prices();
        let any = (0..self.problem.fidelities.len()).any(|m| prices.can_pay(m));
        if self.start.deployed.is_some() {
            prices.can_pay(self.problem.truth())
        } else {
            any || !self.charges_start()
        }
    }

    /// What the next task starts from. No margin is larger than the first one was: after a task that broke its bounds nothing would
    /// be allowed in those that follow.
    pub fn next_start(&self) -> Start {
        let best = self.task.recommendation.as_ref().map(|best| &best.unit);
        let deployed = self.start.deployed.as_ref().map(|deployed| best.unwrap_or(deployed).clone());
        let guards = self.memory.guards.iter();
        let margins = guards.map(|watched| watched.bound.margin.min(FIRST_GUARD_MARGIN)).collect();
        Start { deployed, margin: self.task.trials.floor.margin.min(FIRST_MARGIN), margins }
    }

    /// Scales by what the point in use gave and by the floor below it, once, and renews what the model sees. Guards without a
    /// floor take a tenth less for one.
    pub fn rescale_around(&mut self, floor: Option<Floor>) {
        let level = floor.map_or(Level::Share(0.9), |floor| floor.level);
        let (sign, truth) = (self.problem.goal.sign(), self.problem.truth());
        if !self.task.settled
            && let Some(v) = self.first_told()
        {
            let noise = math::sqrt(self.problem.fidelities[truth].noise);
            self.task.scale = Scale::around(v, level.at(v, sign), noise, sign);
            self.task.settled = true;
        }
        self.restandardise();
    }

    /// Whether what is observed can be told by a scale: where a floor or guards are kept, once the point in use has an answer.
    pub fn has_scale(&self) -> bool {
        self.task.settled || !self.problem.is_guarded()
    }

    /// Whether trials are judged: there is a point in use.
    pub fn judges(&self) -> bool {
        self.start.deployed.is_some()
    }

    /// Whether there is a trial to judge: the last observation was not handed in.
    pub fn judges_last(&self) -> bool {
        self.judges() && self.round() > 0
    }

    /// What is looked at after a trial, or for the bounds `here`: the point in use, then the trial's, both under the trial's
    /// conditions or under those at hand.
    pub fn judged_candidates(&mut self, here: bool) {
        let (candidates, data) = (&mut self.memory.candidates, &self.memory.data);
        let trial = data.point(data.len() - 1);
        candidates.len = 0;
        self.task.changes.drift.look();
        for point in [self.start.deployed.as_deref().unwrap_or_default(), trial] {
            candidates.push(|x| x.copy_from_slice(point));
        }
        candidates.settle(&self.problem, None, if here { &self.conditions } else { trial });
    }

    /// Whether the bounds must be renewed before a search: floor and guards are relative to what the point in use gives under the
    /// conditions at hand.
    pub fn needs_bounds(&self) -> bool {
        self.problem.conditions() > 0 && self.problem.is_guarded() && !self.task.trials.bounds_here
    }

    /// Renews the bounds by what the point in use gives. Guards, whose bounds may be as narrow as the
    /// noise, by one standard deviation more: without that a bound that moves with the conditions is broken twice as often as
    /// its risk allows.
    pub fn renew_bounds(&mut self, means: Option<[f32; 2]>) {
        self.task.trials.bounds_here = true;
        if let Some(([v, _], floor)) = means.zip(self.problem.floor) {
            self.task.trials.floor.at = self.floor_at(&floor, v);
        }
        for g in 0..self.problem.guards.len() {
            if let Some((v, variance)) = self.guard_belief(g, 0) {
                let at = self.guard_at(g, v + math::sqrt(variance));
                self.memory.guards[g].bound.at = at;
            }
        }
    }

    /// Where a floor lies if the point in use gives `v`, both standardised.
    fn floor_at(&self, floor: &Floor, v: f32) -> f32 {
        let (scale, sign) = (self.task.scale, self.problem.goal.sign());
        sign * scale.apply(floor.level.at(scale.undo(sign * v), sign))
    }

    /// Whether candidate `c` is the point in use and there are conditions: then it is allowed under any, so that what it gives
    /// there can be learnt.
    pub fn is_in_use_here(&self, c: usize) -> bool {
        self.problem.conditions() > 0 && self.is_in_use(c)
    }

    pub fn is_in_use(&self, c: usize) -> bool {
        let x = self.memory.candidates.point(c);
        self.start.deployed.as_ref().is_some_and(|deployed| self.problem.is_same_choice(deployed, x))
    }

    /// Renews the floor, judges the last trial and controls the margin, by the means of the two points looked at.
    pub fn judge(&mut self, v: f32, mean: f32) {
        let last = self.memory.data.len() - 1;
        let trial = self.memory.data.point(last);
        let here = self.problem.between_conditions(trial, &self.conditions) == 0.0;
        let (data, sign, known) = (&self.memory.data, self.problem.goal.sign(), self.has_scale());
        let is_bad = || sign * self.task.scale.apply(data.y(last)) < self.task.trials.floor.at;
        let failed = data.failed(last) || data.is_outlier(last) && is_bad();
        let nominal = self.problem.fidelities[usize::from(self.memory.data.fidelity()[last])].cost;
        let cost = self.memory.data.cost(last).unwrap_or(nominal);
        let first = self.round() == 1;
        let floor_at = self.problem.floor.map(|floor| self.floor_at(&floor, v));
        let (value, guards) = (self.in_units(mean), self.problem.guards);
        let trials = &mut self.task.trials;
        // Under conditions the bounds of guards are stricter before a search than these.
        (trials.bounds_here, trials.floor.in_use) = (here && guards.is_empty(), v);
        if known {
            trials.note(cost, value, sign);
        }
        // The point in use is no trial of the tuner's.
        let weight = weight(cost, self.problem.budget);
        if let Some((floor, at)) = self.problem.floor.as_ref().zip(floor_at) {
            trials.floor.at = at;
            if !first {
                let below = failed || mean < trials.floor.at;
                trials.floor.judge((floor.risk, FLOOR_FALLS), f32::from(below), (cost, weight));
            }
        }
        self.judge_guards(failed, (cost, weight), first);
    }

    /// The mean of candidate `c` less the margin that holds now, and whether floor and guards allow it. With guards, or a floor
    /// that the point in use does not reach, where they do not: how much all of them are expected to be broken, turned negative.
    pub fn lower_bound(&self, c: usize, mean: f32, variance: f32) -> (f32, bool) {
        let floor = &self.task.trials.floor;
        let (bound, at) = match self.problem.floor {
            Some(_) => (floor.lower(mean, variance, self.round()), floor.at),
            None => (mean, mean),
        };
        let allowed = bound >= at && self.guards_allow(c) || self.is_in_use_here(c);
        let is_reached = floor.in_use >= at;
        match allowed || self.problem.guards.is_empty() && is_reached {
            true => (bound, allowed),
            false => (self.nearness(c, (mean, variance)), false),
        }
    }

    /// Whether a gain over the best mean pays.
    pub fn pays(&self, gain: f32, best: f32) -> bool {
        let (problem, scale, sign) = (&self.problem, self.task.scale, self.problem.goal.sign());
        let value = libm::fabsf(scale.undo(sign * best)) / scale.deviation;
        let least = if problem.tolerance > 0.0 { problem.tolerance } else { UNSTATED_TOLERANCE };
        gain > least * value
    }

    /// What the model expects of the best point that the last search looked at; nothing before anything was told.
    pub fn expected_best(&self) -> Option<f32> {
        self.task.trials.best.filter(|_| self.has_told())
    }

    pub fn live_status(&self) -> Option<LiveStatus> {
        let Trials {
            floor: Bound { margin, broken: below, time: time_below, .. },
            worst,
            meanwhile,
            time,
            expected,
            ..
        } = self.task.trials;
        self.judges().then(|| LiveStatus {
            margin,
            below,
            below_time: if time > 0.0 { time_below / time } else { 0.0 },
            worst: worst.is_finite().then_some(worst),
            meanwhile: (time > 0.0).then_some(meanwhile),
            expected: expected.filter(|_| self.has_told()),
            changes: self.task.changes.count,
        })
    }
}
