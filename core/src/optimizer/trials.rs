//! What a task in service starts from, and what its trials come to.

use super::drift::Drift;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::data::{Kpis, Point};
use crate::error::Error;
use crate::live::{
    FIRST_GUARD_MARGIN, FIRST_MARGIN, HOPED, LIKELY, SEEMS, TELLS, controlled, least_margin, margin_at,
};
use crate::math;
use crate::scale::Scale;
use crate::settings::Method;
use crate::space::{Dimension, Problem};

/// `√(2π)`.
const SQRT_TAU: f32 = 2.506_628_3;

/// What a task starts from, and the next one after it.
#[derive(Clone)]
pub(super) struct Start {
    /// The point in use, in the unit cube.
    pub deployed: Option<Point>,
    /// The margin below the mean, in standard deviations, and that of every guard.
    pub margin: f32,
    pub margins: Kpis,
}

impl Start {
    /// Of the first task.
    #[inline(never)]
    pub fn new(problem: &Problem<'_>, method: Method) -> Result<Start, Error> {
        if problem.is_guarded() && method.asks_in_batches() {
            return Err(Error::Live(
                "a floor or a guard needs a method that learns from every trial: no batch design",
            ));
        }
        if problem.conditions() > 0 && method.asks_in_batches() {
            return Err(Error::Condition("conditions need a method that asks one by one: no batch design"));
        }
        let deployed = problem.deployed.map(|point| deployable(problem, point)).transpose()?;
        let margins = problem.guards.iter().map(|_| FIRST_GUARD_MARGIN).collect();
        Ok(Start { deployed, margin: FIRST_MARGIN, margins })
    }
}

/// A point in natural units in the unit cube, if it lies within the ranges; conditions are looked at, or 0.
pub(super) fn unit_of(problem: &Problem<'_>, point: &[f32], conditions: bool) -> Option<Point> {
    let unit = |(dimension, value): (&Dimension<'_>, &f32)| match dimension.is_condition() {
        true if !conditions => Some(0.0),
        _ => dimension.unit(*value),
    };
    let values = problem.dimensions.iter().zip(point).map(unit);
    values.collect::<Option<Point>>().filter(|_| point.len() == problem.dimensions.len())
}

/// A point in natural units in the unit cube, if it may be used; whatever it says of conditions.
pub(super) fn deployable(problem: &Problem<'_>, point: &[f32]) -> Result<Point, Error> {
    let outside = Error::Live("the point in use must lie within the ranges");
    let unit = unit_of(problem, point, false).ok_or(outside)?;
    if problem.admits(&unit) {
        Ok(unit)
    } else {
        Err(Error::Live("the point in use must keep to the limits"))
    }
}

/// One bound in a task, the floor's or a guard's: where it lies, and how it is kept.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Bound {
    /// The margin now.
    pub margin: f32,
    /// Standardised; below all where there is none. Beside it what the point in use gives.
    pub at: f32,
    pub in_use: f32,
    /// Trials that broke it, and what they cost.
    pub broken: u32,
    pub time: f32,
    /// Candidates that it ruled out in the last search.
    pub ruled_out: u32,
}

impl Bound {
    /// Nothing to keep to.
    pub const NONE: Bound = Bound {
        margin: FIRST_MARGIN,
        at: f32::NEG_INFINITY,
        in_use: 0.0,
        broken: 0,
        time: 0.0,
        ruled_out: 0,
    };

    /// The mean less the margin that holds after so many trials.
    pub fn lower(&self, mean: f32, variance: f32, trials: u32) -> f32 {
        mean - margin_at(self.margin, trials) * math::sqrt(variance)
    }

    /// Whether the point in use is likely to keep the bound, by this deviation of noise.
    pub fn is_kept_in_use(&self, noise: f32) -> bool {
        self.in_use >= self.at + LIKELY * noise
    }

    /// By how many standard deviations the mean is above the bound.
    pub fn above(&self, mean: f32, variance: f32) -> f32 {
        (mean - self.at) / math::sqrt(variance)
    }

    /// By how much it is expected to be below; and, where that is no more than noise of this deviation seems, what is hoped above the
    /// bound, and what is sure, if a trial would tell something.
    #[inline(never)]
    pub fn nearness(&self, mean: f32, variance: f32, noise: f32) -> [f32; 3] {
        let deviation = math::sqrt(variance).max(f32::MIN_POSITIVE);
        let by = (self.at - mean) / deviation;
        let broken = match by {
            _ if by < -12.0 => 0.0,
            _ if by > 12.0 => self.at - mean,
            _ => deviation * (math::exp(-0.5 * by * by) / SQRT_TAU + by * math::exp(math::ln_normal_cdf(by))),
        };
        let above = if broken <= SEEMS * noise { mean - self.at } else { f32::NEG_INFINITY };
        let sure = if deviation >= TELLS * noise { above - deviation } else { f32::NEG_INFINITY };
        [broken, above + HOPED * deviation, sure]
    }

    /// Counts a trial by the chance that it broke the bound, as the model sees it afterwards, and controls the margin by its weight.
    pub fn judge(&mut self, (risk, falls): (f32, f32), chance: f32, (cost, weight): (f32, f32)) {
        let broken = chance > 0.5;
        self.broken += u32::from(broken);
        self.time += if broken { cost } else { 0.0 };
        self.margin = controlled(self.margin, least_margin(risk, falls), risk, chance, weight);
    }
}

/// A guard in a task.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Watched {
    pub bound: Bound,
    /// Of its KPI's scale.
    pub mean: f32,
    /// 0 until the point in use is measured.
    pub deviation: f32,
    /// Particles that took part in the search so far, and the sum of their misfits.
    pub used: u32,
    pub misfit: f32,
    /// How far its answers lay from what was foreseen.
    pub drift: Drift,
}

impl Watched {
    pub fn new(margin: f32) -> Watched {
        let bound = Bound { margin, ..Bound::NONE };
        Watched { bound, mean: 0.0, deviation: 0.0, used: 0, misfit: 0.0, drift: Drift::NONE }
    }

    pub fn scale(&self) -> Scale {
        Scale { mean: self.mean, deviation: self.deviation, warp: 0.0 }
    }
}

/// The task's trials as the model sees them afterwards.
#[derive(Clone, Copy)]
pub(super) struct Trials {
    /// The floor.
    pub floor: Bound,
    /// Whether the bounds, this and the guards', are those under the conditions at hand.
    pub bounds_here: bool,
    /// The worst mean, in units of the observations, as are the next but `time`; each as it was seen when it came.
    pub worst: f32,
    /// The mean of all, weighted by cost.
    pub meanwhile: f32,
    /// The sum of the costs.
    pub time: f32,
    /// The mean of the query that waits, if it was searched for.
    pub expected: Option<f32>,
    /// The best mean that the last search saw, and how many candidates it looked at.
    pub best: Option<f32>,
    pub looked_at: u32,
    /// With what `β` the query that waits was scored, if it was asked for what it tells.
    pub beta: Option<f32>,
}

impl Trials {
    /// None yet.
    pub const NONE: Trials = Trials {
        floor: Bound::NONE,
        bounds_here: false,
        worst: f32::INFINITY,
        meanwhile: 0.0,
        time: 0.0,
        expected: None,
        best: None,
        looked_at: 0,
        beta: None,
    };

    /// Counts a trial of this cost and this mean, of which the more by `sign` is the better.
    pub fn note(&mut self, cost: f32, value: f32, sign: f32) {
        if self.worst.is_infinite() || sign * value < sign * self.worst {
            self.worst = value;
        }
        self.time += cost;
        if cost > 0.0 {
            self.meanwhile += (value - self.meanwhile) * (cost / self.time);
        }
    }
}
