//! Tuning a system in service: what may be tried, and when it pays no more. The rules, each a function.
//!
//! **The floor.** A query is allowed where `μ − κ' σ ≥ floor`, `μ` and `σ` of the particles' mixture at the truth. The
//! margin `κ` is controlled by what happens (online conformal prediction; Zhang, Park, Simeone, *Bayesian Optimization
//! with Formal Safety Guarantees via Online Conformal Prediction*): after each trial `κ ← κ + η w (1[below] − risk)`, held
//! in a range and carried on from task to task, no larger than the first one was. The weight `w` is the trial's cost in 1.1 % of
//! the budget, from ¼ to 2: what users feel is the time below, so that a short risky trial is cheap and a long one expensive. A trial counts as below when,
//! after its answer, the posterior mean of the truth at its point is below the floor: an answer alone falls below by noise,
//! too. So what is controlled is the share of time that the model finds below afterwards; where the model stays wrong about
//! a point that it measured, the true share differs. Where the range's lower end holds, it is less than the risk allows.
//! At the start of a task little is known, so `κ' = κ + ½/√t` after `t` trials.
//! Where the target fidelity was not asked for a fifth of the budget, the most promising point since then is measured with it:
//! cheap fidelities that are wrong about what is above the floor are found out.
//!
//! **Guards** are floors on other numbers that every measurement gives, each with a margin and a risk of its own: a query must
//! be allowed by all of them. Their bounds may be as narrow as the noise, so that a trial counts by the chance that it broke one.
//! Where nothing is allowed, the point is asked that is expected to break the bounds least. A measurement at a bound seems to break it by
//! 0.4 standard deviations of the noise, on average. Among points that are expected to break theirs by no more, the hope for the worst
//! bound decides; among those that keep all bounds at one standard deviation less, the hope for the objective. The point must be likely
//! to keep all that the point in use keeps. Where that keeps all and there is a tolerance, it must be worth it, too. Else the task ends.
//! What guards allow may lie so far from the optimum that nothing there tells of it: without conditions such points rank by mean plus
//! one standard deviation. A floor that the point in use does not reach is looked for as a guard's bound is.
//!
//! **Beyond the edge.** A point would pay if, 0.75 standard deviations above its mean, it is better than the best allowed mean
//! by more than the tolerance's share of it; without a tolerance, by more than 1 %. Where no allowed point would, or something was
//! observed at each of them, the safest of those that are not allowed but would pay is asked: on a steep slope what is allowed
//! reaches only a step ahead, and one measurement moves its edge. It must be likely to keep the guards. With guards but without a
//! tolerance that is done only where all that is allowed is worse than the point in use, which is not allowed itself since a guard broke
//! there. With a tolerance the task ends when nothing is left that would pay.
//! What is asked because all that is allowed is known must be hoped to be better than the best of it; else the task ends, too.
//!
//! **The recommendation** keeps floor and guards with the probability that their risks ask for, the floor at least as surely as
//! the point in use does, if that keeps it; or it is the point in use.

use crate::math::{self, LARGEST_VALUE};

/// Step of the margin's control, in standard deviations.
const ETA: f32 = 0.5;
/// The margin before anything was tried, a floor's and a guard's.
pub(crate) const FIRST_MARGIN: f32 = 1.5;
pub(crate) const FIRST_GUARD_MARGIN: f32 = 2.0;
/// The margin is never larger.
const LARGEST_MARGIN: f32 = 4.0;
/// What is added to the margin after the first trial of a task.
const AT_FIRST: f32 = 0.5;
/// By how much the least margin falls with the risk, a floor's and a guard's. Where a bound is as narrow as the noise, the model finds
/// less broken afterwards than there is, and a margin that follows it would fall from task to task.
pub(crate) const FLOOR_FALLS: f32 = 50.0;
pub(crate) const GUARD_FALLS: f32 = 10.0;
/// The share of the budget that a trial of weight 1 takes.
const ORDINARY: f32 = 0.011;

/// What a point is hoped to be worth, in standard deviations above its mean.
pub(crate) const HOPED: f32 = 0.75;
/// The tolerance of a problem without one, by which its tasks do not end.
pub(crate) const UNSTATED_TOLERANCE: f32 = 0.01;

/// By how many standard deviations a trial's mean must be above a guard's bound, where nothing is allowed.
pub(crate) const LIKELY: f32 = 0.2;
/// By how much a measurement at a bound seems to break it, on average, in deviations of the noise.
pub(crate) const SEEMS: f32 = 0.4;
/// A trial whose KPI is known to less than so many of them tells nothing.
pub(crate) const TELLS: f32 = 0.5;

/// What a trial must be worth, with v what the point in use gives.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Level {
    /// This value; within ±10³⁰.
    Value(f32),
    /// So much less than v when maximising, more when minimising; above 0, 10³⁰ at most.
    Drop(f32),
    /// This share of v, from 0 to below 1: `v − (1−s)|v|` when maximising, `v + (1−s)|v|` when minimising.
    Share(f32),
}

impl Level {
    /// The value itself, if the point in use gives `v`. `sign` is 1 when maximising, −1 when minimising.
    pub fn at(self, v: f32, sign: f32) -> f32 {
        match self {
            Level::Value(value) => value,
            Level::Drop(drop) => v - sign * drop,
            Level::Share(share) => v - sign * (1.0 - share) * libm::fabsf(v),
        }
    }
}

/// What trials should keep above, and for how long they may not.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Floor {
    /// What a trial must be worth.
    pub level: Level,
    /// Share of the time that trials may be below, 0.001 to 0.5; time is what they cost.
    pub risk: f32,
}

impl Floor {
    pub(crate) const fn is_valid(&self) -> bool {
        let level = match self.level {
            Level::Value(value) => value.abs() <= LARGEST_VALUE,
            Level::Drop(drop) => drop > 0.0 && drop <= LARGEST_VALUE,
            Level::Share(share) => share >= 0.0 && share < 1.0,
        };
        level && self.risk >= 0.001 && self.risk <= 0.5
    }

    /// Feeds all of it to a checksum.
    pub(crate) fn fingerprint(&self, mix: &mut dyn FnMut(u32)) {
        let (kind, level) = match self.level {
            Level::Value(value) => (1, value),
            Level::Drop(drop) => (2, drop),
            Level::Share(share) => (3, share),
        };
        mix(kind);
        mix(level.to_bits());
        mix(self.risk.to_bits());
    }
}

/// What a trial counts: its share of the time, in that of an ordinary one.
pub(crate) fn weight(cost: f32, budget: f32) -> f32 {
    math::clamp(cost / (ORDINARY * budget), 0.25, 2.0)
}

/// No margin is below this: the more risk is taken, the less that is. It falls more slowly for guards.
pub(crate) fn least_margin(risk: f32, falls: f32) -> f32 {
    math::clamp(1.5 - falls * risk, -1.0, 1.0)
}

/// The margin after a trial of this weight that was below with this chance.
pub(crate) fn controlled(margin: f32, least: f32, risk: f32, chance: f32, weight: f32) -> f32 {
    math::clamp(margin + ETA * weight * (chance - risk), least, LARGEST_MARGIN)
}

/// Most guards that a problem may have.
pub const MAX_GUARDS: usize = 4;

/// On which side of its bound a KPI is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Side {
    /// It must not fall below: larger is better.
    AtLeast,
    /// It must not rise above: smaller is better.
    AtMost,
}

impl Side {
    /// 1 where larger is better, −1 where smaller is.
    pub const fn sign(self) -> f32 {
        match self {
            Side::AtLeast => 1.0,
            Side::AtMost => -1.0,
        }
    }
}

/// A KPI that is measured with the objective and has a bound to keep while the objective is tuned.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Guard<'a> {
    /// On which side of the bound it is kept.
    pub side: Side,
    /// The bound, and how often trials may break it. What [`Level`] says of maximising holds for [`Side::AtLeast`], what it
    /// says of minimising for [`Side::AtMost`].
    pub floor: Floor,
    /// Variance of its noise at each fidelity of the problem, in squared units; at least 0.
    pub noise: &'a [f32],
}

impl Guard<'_> {
    pub(crate) const fn is_valid(&self, fidelities: usize) -> bool {
        let mut valid = self.floor.is_valid() && self.noise.len() == fidelities;
        let mut i = 0;
        while i < self.noise.len() {
            valid = valid && self.noise[i] >= 0.0 && self.noise[i].is_finite();
            i += 1;
        }
        valid
    }
}

/// The margin that holds after so many trials of a task.
pub(crate) fn margin_at(margin: f32, trials: u32) -> f32 {
    margin + AT_FIRST / math::sqrt(trials.max(1) as f32)
}

/// A linear inequality over the parameters in natural units: `Σ coefficientᵢ xᵢ ≤ at_most`. It holds for every query and
/// every recommendation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Limit<'a> {
    /// One per parameter.
    pub coefficients: &'a [f32],
    /// What the sum may be at most.
    pub at_most: f32,
}

impl Limit<'_> {
    pub(crate) const fn is_valid(&self, dimensions: usize) -> bool {
        let mut finite = self.at_most.is_finite() && self.coefficients.len() == dimensions;
        let mut i = 0;
        while i < self.coefficients.len() {
            finite = finite && self.coefficients[i].is_finite();
            i += 1;
        }
        finite
    }

    /// Whether a point, in natural units, keeps to it, but for rounding.
    pub(crate) fn admits(&self, point: &[f32]) -> bool {
        let (mut sum, mut rounding) = (-self.at_most, 0.0);
        for (a, x) in self.coefficients.iter().zip(point) {
            sum += a * x;
            rounding += f32::EPSILON * libm::fabsf(a * x);
        }
        sum <= rounding
    }
}

/// Whether a point, in natural units, may be used: what no linear inequality can say.
#[derive(Clone, Copy, Debug)]
pub struct Predicate(pub fn(&[f32]) -> bool);

impl PartialEq for Predicate {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::fn_addr_eq(self.0, other.0)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Predicate {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Predicate");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Random};

    #[test]
    fn a_level_lies_on_the_worse_side_whatever_the_signs() {
        assert_eq!(Level::Share(0.75).at(40.0, 1.0), 30.0);
        assert_eq!(Level::Share(0.75).at(-40.0, 1.0), -50.0);
        assert_eq!(Level::Share(0.75).at(40.0, -1.0), 50.0);
        assert_eq!(Level::Drop(2.0).at(40.0, 1.0), 38.0);
        assert_eq!(Level::Drop(2.0).at(40.0, -1.0), 42.0);
        assert_eq!(Level::Value(3.0).at(40.0, 1.0), 3.0);
    }

    /// Trials that fall below with a chance that the margin decides, the short ones oftener, and another chance after the
    /// world has changed.
    #[test]
    fn the_time_below_comes_out_at_the_risk_whatever_the_model_is_worth() {
        let mut random = Random::new(1, 1, 1, Purpose::Coin, 0);
        for risk in [0.05, 0.1, 0.2] {
            let (mut margin, mut below, mut time, mut count) = (FIRST_MARGIN, [0.0; 2], [0.0; 2], 0);
            for trial in 0..20_000 {
                let (half, short) = (trial / 10_000, random.uniform() < 0.8);
                let cost = if short { 5.0 } else { 20.0 };
                // A model that is overconfident, and later three times so.
                let falls = random.normal() * [1.3, 2.0][half] > margin + if short { 0.0 } else { 1.0 };
                count += u32::from(falls);
                below[half] += if falls { cost } else { 0.0 };
                time[half] += cost;
                margin = controlled(
                    margin,
                    least_margin(risk, FLOOR_FALLS),
                    risk,
                    f32::from(falls),
                    weight(cost, 1000.0),
                );
            }
            for half in 0..2 {
                assert!((below[half] / time[half] - risk).abs() < 0.01, "{risk}: {below:?} of {time:?}");
            }
            assert!(count as f32 > 1.2 * 20_000.0 * risk, "{risk}: by count there are more, {count}");
        }
    }

    #[test]
    fn a_trial_counts_by_its_time_between_a_quarter_and_two() {
        for (cost, counts) in [(0.0, 0.25), (1.0, 0.25), (11.0, 1.0), (16.5, 1.5), (100.0, 2.0)] {
            assert!((weight(cost, 1000.0) - counts).abs() < 1e-6, "{cost}");
            let moved =
                |below: bool| controlled(1.0, -1.0, 0.1, f32::from(below), weight(cost, 1000.0)) - 1.0;
            assert!((moved(true) - ETA * 0.9 * counts).abs() < 1e-6, "{cost}");
            assert!((moved(false) + ETA * 0.1 * counts).abs() < 1e-6, "{cost}");
        }
    }

    #[test]
    fn the_margin_stays_in_its_range() {
        let (mut low, mut high) = (1.0, 1.0);
        for _ in 0..1000 {
            let after = |margin, chance| controlled(margin, least_margin(0.1, FLOOR_FALLS), 0.1, chance, 1.0);
            (low, high) = (after(low, 0.0), after(high, 1.0));
        }
        assert_eq!((low, high), (-1.0, LARGEST_MARGIN));
        assert!(margin_at(1.0, 1) > margin_at(1.0, 2) && margin_at(1.0, u32::MAX) > 1.0 - 1e-6);
    }

    #[test]
    fn limits_are_inclusive() {
        let limit = Limit { coefficients: &[1.0, -2.0], at_most: 0.0 };
        assert!(limit.is_valid(2) && !limit.is_valid(3));
        assert!(limit.admits(&[2.0, 1.0]) && !limit.admits(&[2.1, 1.0]));
        assert!(!limit.admits(&[f32::NAN, 1.0]));
    }
}
