//! What comes next in a task: replay, its end, an outlier's point again, an initial point, a carried point, or a
//! search.

use super::guards::kept;
use super::query::{Query, Stop};
use super::search::{Objective, Search};
use super::state::State;
use crate::data::{Kind, Point};
use crate::math;
use crate::random::{Purpose, Random};
use crate::scale::Scaling;
use crate::search::uniform;
use crate::settings::Method;

/// Draws of an initial point before one that was observed already is taken.
const DRAWS: usize = 16;

/// The share of the budget after which, where a floor is kept, the target fidelity is asked again.
const UNASKED: f32 = 0.2;

/// What follows a slice that finished something.
pub(super) enum Next {
    Decide,
    Hand(Query),
    #[cfg(feature = "paper")]
    Design(usize),
    /// Whether the fleet's prior holds, then so many steps.
    Check(u32),
    Learn(u32),
    Judge,
    Search(Objective),
    Finish(Stop),
    Keep,
    End,
}

impl State<'_> {
    /// Decides once nothing else is under way.
    pub fn decide(&mut self) -> Next {
        self.task.begun = true;
        (self.task.trials.expected, self.task.trials.beta) = (None, None);
        let to_replay = self.memory.data.hidden();
        if self.task.stopping && to_replay == 0 {
            return Next::Finish(Stop::Requested);
        }
        #[cfg(feature = "paper")]
        if let Some(points) = self.design_wanted() {
            return Next::Design(points);
        }
        if to_replay > 0 {
            self.memory.data.reveal();
            self.task.past += usize::from(self.memory.data.kind(self.memory.data.len() - 1) == Kind::Past);
            self.observed()
        } else if self.memory.data.room() == 0 {
            Next::Finish(Stop::Capacity)
        } else if let Some(query) = self.deployed_query() {
            if self.can_start() { Next::Hand(query) } else { Next::Finish(Stop::Budget) }
        } else if let Some(query) = self.outlier_query() {
            Next::Hand(query)
        } else if let Some(query) = self.suspicious_query() {
            Next::Hand(query)
        } else if !self.initial_done() && self.can_start() {
            Next::Hand(self.uniform_query(Kind::Initial))
        } else if !self.fidelities().any(|m| self.prices().can_pay(m)) {
            Next::Finish(Stop::Budget)
        } else if let Some(query) =
            self.carried_query().or_else(|| self.target_query()).or_else(|| self.flat_query())
        {
            Next::Hand(query)
        } else {
            self.next_search()
        }
    }

    /// What the method looks for next.
    fn next_search(&mut self) -> Next {
        #[cfg(feature = "paper")]
        if self.only_at_target() {
            return self.next_of_the_paper();
        }
        let settings = &self.settings;
        Next::Search(match settings.details.method {
            _ if self.prices().verifies() || self.is_target_due() => Objective::Verify,
            Method::MftMes => Objective::Combined { beta: settings.beta },
            _ => Objective::Combined { beta: 0.0 },
        })
    }

    /// What follows a search for the next query.
    pub fn found(&mut self, search: &Search) -> Next {
        let best = match search.leads_beyond(self) {
            Some(beyond) => beyond,
            None if search.pays_no_more(self) => return Next::Finish(Stop::Tolerance),
            None => match self.memory.candidates.best.first() {
                Some(best) => best.clone(),
                None => return Next::Finish(Stop::Exhausted),
            },
        };
        self.task.trials.expected = Some(self.in_units(best.mean));
        self.task.trials.best = search.best_mean().map(|z| self.in_units(z));
        self.task.trials.beta = search.beta();
        Next::Hand(self.query(best.x, best.fidelity, Kind::Search))
    }

    /// A uniform point, if possible one that was not asked yet, at a uniform fidelity; where it is charged, at one that can be
    /// paid, the cheaper the more often.
    #[inline(never)]
    fn uniform_query(&self, kind: Kind) -> Query {
        let dimensions = self.problem.dimensions;
        let mut random = self.random(Purpose::Start, 0);
        let (mut x, mut fidelity): (Point, _) = (dimensions.iter().map(|_| 0.0).collect(), 0);
        for _ in 0..DRAWS {
            uniform(dimensions, &mut random, &mut x);
            self.problem.keep_to_limits(self.start.deployed.as_deref(), &mut x);
            self.problem.put_conditions(&self.conditions, &mut x);
            fidelity = self.initial_fidelity(&mut random);
            if self.memory.data.count(&x, fidelity) == 0 {
                break;
            }
        }
        self.query(x, fidelity, kind)
    }

    /// As long as all answers are the same, with a tolerance for half of the budget, a point as the initial ones, unless there are no
    /// more: a model of such answers looks for the best at corners alone.
    fn flat_query(&self) -> Option<Query> {
        let patient = self.problem.tolerance == 0.0 || !self.is_past(0.5);
        let wanted = patient && self.charges_start() && self.is_flat();
        let query = wanted.then(|| self.uniform_query(Kind::Search))?;
        (self.memory.data.count(&query.unit, query.fidelity) == 0).then_some(query)
    }

    fn initial_fidelity(&self, random: &mut Random) -> usize {
        let (all, prices) = (self.problem.fidelities, self.prices());
        if !self.charges_start() {
            return random.below(all.len());
        }
        let share = |m: usize| if prices.can_pay(m) { 1.0 / all[m].cost } else { 0.0 };
        let mut left = random.uniform() * (0..all.len()).map(share).sum::<f32>();
        let drawn = (0..all.len()).find(|&m| {
            left -= share(m);
            left < 0.0 && prices.can_pay(m)
        });
        drawn.or_else(|| (0..all.len()).find(|&m| prices.can_pay(m))).unwrap_or(0)
    }

    /// The point and fidelity of an outlier once more, if that can be paid. Not where a floor is to be kept and the
    /// answer was bad: should it be true, users would pay for it twice.
    fn outlier_query(&self) -> Option<Query> {
        let (data, prices, sign) = (&self.memory.data, self.prices(), self.problem.goal.sign());
        let worth = |&i: &usize| {
            let (x, fidelity) = (data.point(i), usize::from(data.fidelity()[i]));
            let bad = data.record(i).y.is_none_or(|y| sign * self.task.scale.apply(y) < 0.0);
            let harmful = self.problem.is_guarded() && bad || !self.problem.admits(x);
            data.tried(x, fidelity).count() == 1 && prices.can_pay(fidelity) && !harmful
        };
        let i = (self.task.remembered..data.len()).filter(|&i| data.is_outlier(i)).find(worth)?;
        let x = self.here(data.point(i).iter().copied().collect());
        Some(self.query(x, usize::from(data.fidelity()[i]), Kind::Search))
    }

    /// The next carried point that has not been asked in this task, at the target fidelity, if it can be paid.
    fn carried_query(&mut self) -> Option<Query> {
        let (truth, settings) = (self.problem.truth(), &self.settings);
        if self.problem.is_guarded()
            || !settings.details.remeasure
            || !self.uses_memory()
            || !self.prices().can_pay(truth)
        {
            return None;
        }
        while self.task.next_carried < self.carried().min(settings.carried) {
            let x = self.here(self.carried_point(self.task.next_carried));
            self.task.next_carried += 1;
            if self.memory.data.tried(&x, truth).next().is_none() && self.problem.admits(&x) {
                return Some(self.query(x, truth, Kind::Carried));
            }
        }
        None
    }

    /// Whether that is so and there are conditions: then what was found under others is no guide, and a search finds the point.
    fn is_target_due(&self) -> bool {
        self.problem.conditions() > 0 && self.since_target().is_some()
    }

    /// Where a floor is kept and the target fidelity was not asked for a share of the budget: the most promising point since
    /// then, at that fidelity. Cheap fidelities may be wrong about what is above the floor.
    fn target_query(&self) -> Option<Query> {
        let first = self.since_target().filter(|_| self.problem.conditions() == 0)?;
        let (data, truth) = (&self.memory.data, self.problem.truth());
        let keeps = |i: usize| kept(self.problem.guards, self.memory.guards, data.kpis(i));
        let admits = |i: usize| data.is_believed(i) && self.problem.admits(data.point(i)) && keeps(i);
        let good = (first..data.len()).filter(|&i| admits(i));
        let best = good.max_by(|&a, &b| data.z()[a].total_cmp(&data.z()[b]))?;
        let x = data.point(best).iter().copied().collect();
        Some(self.query(x, truth, Kind::Search))
    }

    /// The first observation since the target fidelity was asked, if that is to be asked again.
    fn since_target(&self) -> Option<usize> {
        let (data, truth) = (&self.memory.data, self.problem.truth());
        let (fidelity, own) = (data.fidelity(), self.task.remembered + self.task.past);
        let first =
            (own..data.len()).rev().find(|&i| usize::from(fidelity[i]) == truth).map_or(own, |i| i + 1);
        let cost = |i: usize| data.cost(i).unwrap_or(self.problem.fidelities[usize::from(fidelity[i])].cost);
        let since = (first..data.len()).fold(0.0, |sum, i| sum + cost(i));
        if !self.problem.is_guarded()
            || !self.prices().can_pay(truth)
            || since < UNASKED * self.problem.budget
        {
            return None;
        }
        Some(first)
    }

    /// After an observation has been added: judge, scale, then learn. Before an outlier is measured again there is
    /// nothing to learn from it.
    pub fn observed(&mut self) -> Next {
        self.task.asked = None;
        self.task.trials.bounds_here = false;
        let largest = self.problem.fidelities.iter().fold(0.0f32, |largest, f| largest.max(f.noise));
        let (own, confirm) = (self.task.remembered, self.settings.confirm);
        if self.is_check() {
            self.settle_suspicion();
        } else if self.memory.data.judge(own, confirm, math::sqrt(largest)) {
            self.task.settled = matches!(self.settings.details.scaling, Scaling::Fixed { .. });
        }
        self.rescale();
        self.scale_guards();
        let learns =
            self.has_scale() && self.initial_done() && self.outlier_query().is_none() && !self.is_flat();
        let steps = if learns { self.settings.steps_per_round } else { 0 };
        if self.checks_fleet() { Next::Check(steps) } else { Next::Learn(steps) }
    }
}
