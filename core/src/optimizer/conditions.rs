//! Conditions that are known: given with every ask, and told with every answer.
//!
//! Points are whole: a condition has its coordinate in every observation, candidate and carried point. What is chosen is a
//! choice under the conditions at hand, so that a search looks at no others; floor and guards are relative to what the point in
//! use gives under them, which the model says before the search, and the point in use is allowed under all.
//!
//! At hand are the conditions given last, by [`Optimizer::set_conditions`] or with an answer; before the first, the middle of
//! every range. They are part of a snapshot; an answer's are those of its [`Record`](crate::Record), so that a replay needs no
//! more.

use core::mem;

use super::query::{Ask, Query, Recommendation, Refused};
use super::search::{Objective, Search};
use super::state::State;
use super::{Next, Optimizer, Phase, recommended};
use crate::data::{Kind, Point};
use crate::error::Error;
use crate::live::MAX_GUARDS;

#[allow(clippy::result_large_err, reason = "a refused query goes back to whoever measures")]
impl Optimizer<'_> {
    /// The conditions at hand, in natural units and in the order of their dimensions.
    pub fn conditions(&self) -> Point {
        self.state.conditions_of(&self.state.conditions).collect()
    }

    /// Says under which conditions the next query is asked, in natural units and in the order of their dimensions. A search that
    /// goes on under others begins anew.
    ///
    /// # Errors
    /// [`Error::Condition`] unless there is a value for each, within its range, and no query asked under others waits for its
    /// answer; the state is unchanged then.
    pub fn set_conditions(&mut self, conditions: &[f32]) -> Result<(), Error> {
        let units = self.state.condition_units(conditions)?;
        if units != self.state.conditions && self.state.task.asked.is_some() {
            let what = "a query that was asked under other conditions waits for its answer: answer or withdraw it first";
            return Err(Error::Condition(what));
        }
        self.put_conditions(units);
        Ok(())
    }

    /// Whether they are others than before.
    fn put_conditions(&mut self, units: Point) -> bool {
        if units == self.state.conditions {
            return false;
        }
        self.withdraw();
        self.state.conditions = units;
        self.state.task.trials.bounds_here = false;
        if let Phase::Searching(search) = &self.phase {
            let next = match search.objective {
                Objective::Trial => return true,
                _ if self.state.task.stop.is_some() => Next::Search(Objective::Mean),
                _ => Next::Decide,
            };
            self.enter(next);
        }
        true
    }

    /// The same even if a query waits for its answer: one that was asked under others is taken back. Once the task has ended, what
    /// is recommended is found anew, slice by slice, and is then [`recommendation_at`](Self::recommendation_at) these. Whether
    /// anything changed.
    ///
    /// # Errors
    /// [`Error::Condition`] unless there is a value for each, within its range; the state is unchanged then.
    pub fn change_conditions(&mut self, conditions: &[f32]) -> Result<bool, Error> {
        let units = self.state.condition_units(conditions)?;
        let changed = self.put_conditions(units);
        if changed && self.recommendation().is_some() {
            self.enter(Next::Search(Objective::Mean));
        }
        Ok(changed)
    }

    /// The next query under these conditions, or why there is none: [`set_conditions`](Self::set_conditions), then
    /// [`ask`](Self::ask).
    ///
    /// # Errors
    /// As there.
    pub fn ask_at(&mut self, conditions: &[f32]) -> Result<Ask, Error> {
        self.set_conditions(conditions)?;
        Ok(self.ask())
    }

    /// Takes the query back that waits for its answer: the next one is asked anew, for instance under other conditions.
    pub fn withdraw(&mut self) {
        if let Some(asked) = self.state.task.asked.take() {
            if asked.kind == Kind::Carried {
                // It is still to be measured.
                self.state.task.next_carried = self.state.task.next_carried.saturating_sub(1);
            }
            self.enter(Next::Decide);
        }
    }

    /// Answers a query that was measured under these conditions, which may differ from those it was asked under.
    ///
    /// # Errors
    /// As [`tell`](Self::tell), and [`Error::Condition`].
    pub fn tell_at(&mut self, query: Query, y: f32, conditions: &[f32]) -> Result<(), Refused> {
        self.answer_at(query, Some(y), &[], None, conditions)
    }

    /// What would be recommended under other conditions: once the task has ended, or while a query waits for its answer. About as
    /// much work as the recommendation itself; nothing else changes.
    ///
    /// # Errors
    /// [`Error::Condition`] unless there is a value for each, within its range; [`Error::OutOfTurn`] at other times, and if
    /// nothing was observed.
    pub fn recommendation_at(&mut self, conditions: &[f32]) -> Result<Recommendation, Error> {
        let units = self.state.condition_units(conditions)?;
        if !matches!(self.phase, Phase::Waiting | Phase::Done) || !self.state.has_told() {
            return Err(Error::OutOfTurn);
        }
        let own = self.recommendation();
        if let Some(own) = own.filter(|own| self.state.problem.between_conditions(&own.unit, &units) == 0.0) {
            return Ok(own);
        }
        let conditions = mem::replace(&mut self.state.conditions, units);
        let found = self.state.aside(|state| {
            state.task.trials.bounds_here = false;
            if state.needs_bounds() {
                let means = run(Objective::InUse, state).trial_means(state);
                state.renew_bounds(means);
            }
            run(Objective::Mean, state);
            recommended(state)
        });
        self.state.conditions = conditions;
        found.ok_or(Error::OutOfTurn)
    }
}

/// A whole search.
pub(super) fn run(objective: Objective, state: &mut State<'_>) -> Search {
    let mut search = Search::new(objective, state);
    while !search.advance(state) {}
    search
}

impl State<'_> {
    /// Looks at something of which nothing is to stay but what it returns, and the candidates.
    pub(super) fn aside<R>(&mut self, look: impl FnOnce(&mut Self) -> R) -> R {
        let (fallbacks, trials, changes) = (self.task.fallbacks, self.task.trials, self.task.changes);
        let next_carried = self.task.next_carried;
        #[cfg(feature = "paper")]
        let design = self.task.design;
        let guards: [_; MAX_GUARDS] = core::array::from_fn(|g| self.memory.guards.get(g).copied());
        let found = look(self);
        (self.task.fallbacks, self.task.trials, self.task.changes) = (fallbacks, trials, changes);
        self.task.next_carried = next_carried;
        #[cfg(feature = "paper")]
        {
            self.task.design = design;
        }
        self.memory.guards.iter_mut().zip(guards.into_iter().flatten()).for_each(|(to, own)| *to = own);
        found
    }

    /// The conditions of a point of the unit cube, in natural units.
    fn conditions_of(&self, unit: &[f32]) -> impl Iterator<Item = f32> {
        let each = self.problem.dimensions.iter().zip(unit).filter(|(dimension, _)| dimension.is_condition());
        each.map(|(dimension, x)| dimension.value(*x))
    }

    /// Values of all conditions in the unit cube, at their places in a point.
    pub(super) fn condition_units(&self, values: &[f32]) -> Result<Point, Error> {
        if values.len() != self.problem.conditions() {
            return Err(Error::Condition("each condition needs one value"));
        }
        let outside = Error::Condition("a condition must be a number within its range");
        let mut values = values.iter();
        let unit = |dimension: &crate::space::Dimension<'_>| match dimension.is_condition() {
            true => values.next().and_then(|value| dimension.unit(*value)),
            false => Some(0.0),
        };
        self.problem.dimensions.iter().map(unit).collect::<Option<Point>>().ok_or(outside)
    }
}
