//! The search space: intervals, ordered levels, categories and conditions, each mapped to the unit interval and back.
//!
//! The optimizer thinks in the unit cube `[0,1]^D`; a user thinks in dBm. A level survives the round trip exactly:
//! its unit coordinate is always computed by the same function of its index, and read back as the nearest level.

use crate::error::Error;
use crate::live::{Floor, Guard, Limit, MAX_GUARDS, Predicate};

/// Most dimensions of a problem.
pub const MAX_DIMENSIONS: usize = 16;
/// Most values of a category.
pub const MAX_VALUES: usize = 8;
/// How often a point is moved half-way to one that keeps to the limits, before that one is taken itself.
const HALVINGS: usize = 8;

/// One parameter to tune, or a condition, with its range in natural units. Its functions are for those that a problem may have:
/// they may panic for one without values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Dimension<'a> {
    /// Any value between two ends.
    Interval {
        /// Lower end.
        low: f32,
        /// Upper end, above `low`.
        high: f32,
    },
    /// Evenly spaced levels, ends included; farther apart than the rounding of an `f32` of their size.
    Grid {
        /// First level.
        low: f32,
        /// Last level, above `low`.
        high: f32,
        /// Number of levels, at least 2.
        levels: u16,
    },
    /// A list of strictly ascending levels, at least 2; distances between them count, and must not be lost in the
    /// rounding of the whole range.
    Levels(&'a [f32]),
    /// Values without an order, such as algorithms or antennas, by their index from 0: any two are as far apart as any others.
    Category {
        /// Number of values, 2 to 8.
        count: u8,
    },
    /// What is not chosen but known, such as a load, a temperature or the hour: any value between two ends. It is given with
    /// every [ask](crate::Optimizer::ask_at), and the model sees it as it sees a parameter.
    Condition {
        /// Lower end.
        low: f32,
        /// Upper end, above `low`.
        high: f32,
    },
}

impl Dimension<'_> {
    /// Whether it is given, not chosen.
    pub const fn is_condition(&self) -> bool {
        matches!(self, Dimension::Condition { .. })
    }

    /// Whether its values have no order.
    pub const fn is_category(&self) -> bool {
        matches!(self, Dimension::Category { .. })
    }

    /// How many features the kernel sees of it: one, but one for each of more than two values of a category.
    pub const fn features(&self) -> u8 {
        match *self {
            Dimension::Category { count } if count > 2 => count,
            _ => 1,
        }
    }

    /// What is wrong with it, if anything is.
    pub(crate) const fn fault(&self) -> Option<&'static str> {
        let levels = match *self {
            Dimension::Interval { .. } | Dimension::Condition { .. } => 2,
            Dimension::Grid { levels, .. } => levels as usize,
            Dimension::Levels(values) => values.len(),
            Dimension::Category { count } => count as usize,
        };
        if self.is_category() && levels > MAX_VALUES {
            return Some("at most 8 values");
        }
        if levels < 2 {
            return Some("at least 2 levels");
        }
        if levels > u16::MAX as usize {
            return Some("at most 65535 levels");
        }
        let (low, high) = self.ends();
        if !(low.is_finite() && high.is_finite() && (high - low).is_finite()) {
            return Some("ends and their distance must be finite");
        }
        if low >= high {
            return Some("its lower end must be below its upper end");
        }
        if !self.has_distinct_levels() {
            return Some("levels must ascend, farther apart than rounding");
        }
        None
    }

    const fn has_distinct_levels(&self) -> bool {
        match *self {
            Dimension::Interval { .. } | Dimension::Condition { .. } | Dimension::Category { .. } => true,
            Dimension::Grid { low, high, levels } => {
                let rounding = f32::EPSILON * low.abs().max(high.abs());
                (high - low) / (levels - 1) as f32 >= 2.0 * rounding
            }
            Dimension::Levels(values) => {
                let mut ascending = true;
                let mut i = 1;
                while i < values.len() {
                    ascending = ascending && self.unit_of_level(i - 1) < self.unit_of_level(i);
                    i += 1;
                }
                ascending
            }
        }
    }

    /// Number of levels, or `None` for an interval and a condition.
    pub const fn levels(&self) -> Option<usize> {
        match *self {
            Dimension::Interval { .. } | Dimension::Condition { .. } => None,
            Dimension::Grid { levels, .. } => Some(levels as usize),
            Dimension::Levels(values) => Some(values.len()),
            Dimension::Category { count } => Some(count as usize),
        }
    }

    const fn ends(&self) -> (f32, f32) {
        match *self {
            Dimension::Interval { low, high }
            | Dimension::Grid { low, high, .. }
            | Dimension::Condition { low, high } => (low, high),
            Dimension::Levels(values) => (values[0], values[values.len() - 1]),
            Dimension::Category { count } => (0.0, count as f32 - 1.0),
        }
    }

    /// Unit coordinate of level `index`; where there are none, of nothing, so 0.
    pub const fn unit_of_level(&self, index: usize) -> f32 {
        match *self {
            Dimension::Interval { .. } | Dimension::Condition { .. } => 0.0,
            Dimension::Grid { levels, .. } => index as f32 / (levels - 1) as f32,
            Dimension::Category { count } => index as f32 / (count - 1) as f32,
            Dimension::Levels(values) => {
                let (low, high) = self.ends();
                let last = values.len() - 1;
                (values[if index < last { index } else { last }] - low) / (high - low)
            }
        }
    }

    /// Index of the level nearest to a unit coordinate, or `None` where there are none.
    pub fn level_of_unit(&self, unit: f32) -> Option<usize> {
        let nearest = |levels: u16| Some((unit.clamp(0.0, 1.0) * (levels - 1) as f32 + 0.5) as usize);
        match *self {
            Dimension::Interval { .. } | Dimension::Condition { .. } => None,
            Dimension::Grid { levels, .. } => nearest(levels),
            Dimension::Category { count } => nearest(count.into()),
            Dimension::Levels(values) => {
                (0..values.len()).min_by(|&a, &b| self.distance(a, unit).total_cmp(&self.distance(b, unit)))
            }
        }
    }

    fn distance(&self, level: usize, unit: f32) -> f32 {
        (self.unit_of_level(level) - unit).abs()
    }

    /// The nearest admissible unit coordinate: clamped, and on a level if there are levels.
    pub fn snap(&self, unit: f32) -> f32 {
        match self.level_of_unit(unit) {
            Some(level) => self.unit_of_level(level),
            None => unit.clamp(0.0, 1.0),
        }
    }

    /// As [`snap`](Self::snap), but of uniform numbers each value of a category takes the same share.
    #[inline(never)]
    pub(crate) fn spread(&self, uniform: f32) -> f32 {
        match *self {
            Dimension::Category { count } => {
                self.unit_of_level(((uniform * f32::from(count)) as usize).min(count as usize - 1))
            }
            _ => self.snap(uniform),
        }
    }

    /// The natural value at a unit coordinate.
    pub fn value(&self, unit: f32) -> f32 {
        let (low, high) = self.ends();
        match (*self, self.level_of_unit(unit)) {
            (Dimension::Levels(values), Some(level)) => values[level],
            (Dimension::Category { .. }, Some(level)) => level as f32,
            (Dimension::Grid { levels, .. }, Some(level)) if level + 1 == levels as usize => high,
            (Dimension::Grid { .. }, Some(level)) => low + (high - low) * self.unit_of_level(level),
            _ => crate::math::clamp(low + (high - low) * unit.clamp(0.0, 1.0), low, high),
        }
    }

    /// The unit coordinate of a natural value, or `None` if it is not finite or outside the range.
    pub fn unit(&self, value: f32) -> Option<f32> {
        let (low, high) = self.ends();
        (low..=high).contains(&value).then(|| self.snap((value - low) / (high - low)))
    }
}

/// Number of choices of a space without intervals, if it is at most `limit`.
#[inline(never)]
pub(crate) const fn size(dimensions: &[Dimension<'_>], limit: usize) -> Option<usize> {
    let (mut size, mut index) = (1usize, 0);
    while index < dimensions.len() {
        let levels = match dimensions[index].levels() {
            Some(levels) => levels,
            None if dimensions[index].is_condition() => 1,
            None => return None,
        };
        size = size.saturating_mul(levels);
        if size > limit {
            return None;
        }
        index += 1;
    }
    Some(size)
}

/// Choice `index` of a space without intervals, the first dimension running fastest; conditions are 0.
pub(crate) fn enumerate(dimensions: &[Dimension<'_>], mut index: usize, x: &mut [f32]) {
    for (x, dimension) in x.iter_mut().zip(dimensions) {
        let levels = dimension.levels().unwrap_or(1);
        *x = dimension.unit_of_level(index % levels);
        index /= levels;
    }
}

/// How long to measure: one fidelity of the objective. The last one of a problem is the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fidelity {
    /// Cost of one measurement, in units of the budget; 10⁻¹² to 10¹².
    pub cost: f32,
    /// How many samples the measurement averages: for whoever measures, the optimizer does not look at it.
    pub samples: u32,
    /// Variance of the observation noise, in squared units of the observation; at least 0.
    pub noise: f32,
}

impl Fidelity {
    /// What is wrong with it, if anything is; `before` is the cost of the one before it.
    const fn fault(&self, before: f32) -> Option<&'static str> {
        if !(self.cost >= 1e-12 && self.cost <= 1e12) {
            Some("its cost must be 1e-12 to 1e12")
        } else if !(self.noise >= 0.0 && self.noise.is_finite()) {
            Some("its noise must be finite, 0 or more")
        } else if self.cost < before {
            Some("it must cost no less than the one before it")
        } else {
            None
        }
    }
}

/// Whether larger or smaller observations are better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Goal {
    /// Larger is better.
    #[default]
    Maximise,
    /// Smaller is better.
    Minimise,
}

impl Goal {
    pub(crate) fn sign(self) -> f32 {
        match self {
            Goal::Maximise => 1.0,
            Goal::Minimise => -1.0,
        }
    }
}

/// What is tuned: Eq. (3)-(5), (9). The same for all tasks of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Problem<'a> {
    /// The parameters to tune, and the conditions that are known.
    pub dimensions: &'a [Dimension<'a>],
    /// The fidelities, costs ascending, Eq. (4); the last is the truth, Eq. (5).
    pub fidelities: &'a [Fidelity],
    /// What a task may spend, `Λ` of Eq. (9).
    pub budget: f32,
    /// Whether to maximise or to minimise.
    pub goal: Goal,
    /// The point in use when the first task starts, in natural units. It is then the first query, at the target fidelity,
    /// and every query is charged, initial ones too. Later tasks start from the last recommendation, or from what
    /// [`Optimizer::deploy`](crate::Optimizer::deploy) says. Its values for conditions are not looked at.
    pub deployed: Option<&'a [f32]>,
    /// What trials should keep above; needs a point in use. There are no random initial points then.
    pub floor: Option<Floor>,
    /// What other numbers of every measurement must keep; needs a point in use, and there are no random initial points. Then
    /// every answer carries these numbers, in this order: [`Optimizer::tell_all`](crate::Optimizer::tell_all). At most 4.
    pub guards: &'a [Guard<'a>],
    /// A task ends when going on is not expected to improve the recommendation by more than this share of its value; 0,
    /// to use the whole budget, to 1.
    pub tolerance: f32,
    /// What holds for every query and every recommendation; needs a point in use that keeps to them. Coefficients of
    /// conditions and categories are 0.
    pub limits: &'a [Limit<'a>],
    /// The same as a function; it is in no checksum, so that a restored task must be given the same one. It sees conditions
    /// at their lower ends.
    pub predicate: Option<Predicate>,
}

impl Problem<'static> {
    /// Nothing but what every problem must say for itself: for `..Problem::PLAIN`.
    pub const PLAIN: Problem<'static> = Problem {
        dimensions: &[],
        fidelities: &[],
        budget: 0.0,
        goal: Goal::Maximise,
        deployed: None,
        floor: None,
        guards: &[],
        tolerance: 0.0,
        limits: &[],
        predicate: None,
    };
}

impl<'a> Problem<'a> {
    /// The problem, if every part of it makes sense.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::Fidelity`] or [`Error::Budget`] naming the part.
    pub const fn checked(self) -> Result<Self, Error> {
        if self.dimensions.is_empty() {
            return Err(Error::Dimension { index: 0, what: "there must be one at least" });
        }
        if self.dimensions.len() > MAX_DIMENSIONS {
            return Err(Error::Dimension { index: MAX_DIMENSIONS, what: "there may be 16 at most" });
        }
        let mut index = 0;
        while index < self.dimensions.len() {
            if let Some(what) = self.dimensions[index].fault() {
                return Err(Error::Dimension { index, what });
            }
            index += 1;
        }
        if self.conditions() == self.dimensions.len() {
            return Err(Error::Dimension { index: 0, what: "one must be no condition" });
        }
        if self.fidelities.is_empty() {
            return Err(Error::Fidelity { index: 0, what: "there must be one at least" });
        }
        index = 0;
        while index < self.fidelities.len() {
            let before = if index == 0 { 0.0 } else { self.fidelities[index - 1].cost };
            if let Some(what) = self.fidelities[index].fault(before) {
                return Err(Error::Fidelity { index, what });
            }
            index += 1;
        }
        if !(self.budget >= 0.0 && self.budget.is_finite()) {
            return Err(Error::Budget);
        }
        match self.live_fault() {
            Some(what) => Err(Error::Live(what)),
            None => Ok(self),
        }
    }

    /// What is wrong with point in use, floor, tolerance or limits, but for where the point lies.
    const fn live_fault(&self) -> Option<&'static str> {
        if !(self.tolerance >= 0.0 && self.tolerance <= 1.0) {
            return Some("`tolerance` must be 0 to 1");
        }
        if let Some(floor) = self.floor
            && !floor.is_valid()
        {
            return Some(
                "`floor` must be within ±1e30, a drop above 0, a share from 0 to below 1, its risk 0.001 to 0.5",
            );
        }
        if self.guards.len() > MAX_GUARDS {
            return Some("there may be 4 `guards` at most");
        }
        let mut index = 0;
        while index < self.guards.len() {
            if !self.guards[index].is_valid(self.fidelities.len()) {
                return Some("each of `guards` needs a bound as a floor's, and a noise per fidelity");
            }
            index += 1;
        }
        index = 0;
        while index < self.limits.len() {
            if !self.limits[index].is_valid(self.dimensions.len())
                || self.bounds_unordered(&self.limits[index])
            {
                return Some(
                    "each of `limits` needs a coefficient per dimension, 0 for a condition or category",
                );
            }
            index += 1;
        }
        if self.deployed.is_none() && (self.is_guarded() || self.is_limited()) {
            return Some("`floor`, `guards`, `limits`, `predicate` need a point in use");
        }
        None
    }

    /// Whether a limit speaks of a condition or category.
    const fn bounds_unordered(&self, limit: &Limit<'_>) -> bool {
        let (mut found, mut index) = (false, 0);
        while index < self.dimensions.len() {
            let dimension = &self.dimensions[index];
            let unordered = dimension.is_condition() || dimension.is_category();
            found = found || unordered && limit.coefficients[index] != 0.0;
            index += 1;
        }
        found
    }

    /// How many of the dimensions are conditions.
    // On a device, copies of this and of what follows would take a kilobyte.
    #[inline(never)]
    pub const fn conditions(&self) -> usize {
        let (mut count, mut index) = (0, 0);
        while index < self.dimensions.len() {
            count += self.dimensions[index].is_condition() as usize;
            index += 1;
        }
        count
    }

    /// How many features the kernel sees: as many as there are dimensions, and more where there are categories.
    pub const fn features(&self) -> usize {
        let (mut count, mut index) = (0, 0);
        while index < self.dimensions.len() {
            count += self.dimensions[index].features() as usize;
            index += 1;
        }
        count
    }

    /// Copies the coordinates of conditions from one point of the unit cube into another.
    #[inline(never)]
    pub(crate) fn put_conditions(&self, from: &[f32], x: &mut [f32]) {
        for ((x, from), dimension) in x.iter_mut().zip(from).zip(self.dimensions) {
            *x = if dimension.is_condition() { *from } else { *x };
        }
    }

    /// Whether two points of the unit cube are the same choice, whatever the conditions.
    pub(crate) fn is_same_choice(&self, a: &[f32], b: &[f32]) -> bool {
        self.dimensions
            .iter()
            .zip(a.iter().zip(b))
            .all(|(dimension, (a, b))| a == b || dimension.is_condition())
    }

    /// How far apart the conditions of two points of the unit cube are.
    #[inline(never)]
    pub(crate) fn between_conditions(&self, a: &[f32], b: &[f32]) -> f32 {
        let each =
            self.dimensions.iter().zip(a.iter().zip(b)).filter(|(dimension, _)| dimension.is_condition());
        each.fold(0.0, |sum, (_, (a, b))| sum + libm::fabsf(a - b))
    }

    /// Whether a trial must be worth something: there is a floor, or a guard.
    pub(crate) const fn is_guarded(&self) -> bool {
        self.floor.is_some() || !self.guards.is_empty()
    }

    /// Whether there is anything to keep to.
    pub(crate) const fn is_limited(&self) -> bool {
        !self.limits.is_empty() || self.predicate.is_some()
    }

    /// Whether a point of the unit cube keeps to all limits.
    pub(crate) fn admits(&self, unit: &[f32]) -> bool {
        if !self.is_limited() {
            return true;
        }
        let mut values = [0.0; MAX_DIMENSIONS];
        for ((value, dimension), x) in values.iter_mut().zip(self.dimensions).zip(unit) {
            *value = dimension.value(if dimension.is_condition() { 0.0 } else { *x });
        }
        let point = &values[..self.dimensions.len()];
        self.limits.iter().all(|limit| limit.admits(point))
            && self.predicate.is_none_or(|Predicate(admits)| admits(point))
    }

    /// Moves a point of the unit cube towards one that keeps to all limits, until it does, too.
    pub(crate) fn keep_to_limits(&self, towards: Option<&[f32]>, x: &mut [f32]) {
        let Some(towards) = towards.filter(|_| self.is_limited()) else { return };
        for _ in 0..HALVINGS {
            if self.admits(x) {
                return;
            }
            for ((x, to), dimension) in x.iter_mut().zip(towards).zip(self.dimensions) {
                *x = if dimension.is_category() { *to } else { dimension.snap(0.5 * (*x + *to)) };
            }
        }
        if !self.admits(x) {
            x.copy_from_slice(towards);
        }
    }

    /// Index of the target fidelity.
    pub fn truth(&self) -> usize {
        self.fidelities.len() - 1
    }

    /// Feeds everything that decides which queries are made to a checksum.
    pub(crate) fn fingerprint(&self, mix: &mut dyn FnMut(u32)) {
        self.fingerprint_without_budget(mix);
        mix(self.budget.to_bits());
        if self.tolerance > 0.0 {
            mix(self.tolerance.to_bits());
        }
        if let Some(floor) = &self.floor {
            floor.fingerprint(mix);
        }
        for guard in self.guards {
            mix(guard.side as u32);
            guard.floor.fingerprint(mix);
            guard.noise.iter().for_each(|noise| mix(noise.to_bits()));
        }
        for limit in self.limits {
            limit.coefficients.iter().for_each(|a| mix(a.to_bits()));
            mix(limit.at_most.to_bits());
        }
    }

    /// The same but for the budget, which may differ from task to task.
    pub(crate) fn fingerprint_without_budget(&self, mix: &mut dyn FnMut(u32)) {
        self.fingerprint_parameters(mix);
        self.fingerprint_fidelities(mix);
        mix(self.goal as u32);
    }

    /// The parameters: ranges and levels. A condition counts as what has one level, which no parameter has; behind a category
    /// stands what is no number of levels.
    #[inline(never)]
    pub(crate) fn fingerprint_parameters(&self, mix: &mut dyn FnMut(u32)) {
        for dimension in self.dimensions {
            let (low, high) = dimension.ends();
            mix(dimension.levels().unwrap_or(dimension.is_condition().into()) as u32);
            mix(low.to_bits());
            mix(high.to_bits());
            if let Dimension::Levels(values) = dimension {
                values.iter().for_each(|value| mix(value.to_bits()));
            }
            if dimension.is_category() {
                mix(u32::MAX);
            }
        }
    }

    /// The fidelities: number, costs, noise.
    #[inline(never)]
    pub(crate) fn fingerprint_fidelities(&self, mix: &mut dyn FnMut(u32)) {
        for fidelity in self.fidelities {
            mix(fidelity.cost.to_bits());
            mix(fidelity.noise.to_bits());
        }
    }
}

#[cfg(test)]
mod tests;
