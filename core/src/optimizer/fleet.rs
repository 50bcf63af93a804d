//! A fleet's prior in a task: what it changes, when its word counts, and how it steps aside.
//!
//! After every answer the evidence of the task's answers is taken twice, with the prior and without it (fresh particles, the
//! scale of the task's own answers), each averaged over particles drawn from its prior. Where they speak against it by 6 nats, it
//! is dropped for good, and the task goes on as one without. Until they speak for it by 2 nats, a trial in a system with a floor
//! must be allowed with it and without. The more answers there are, the less it takes; after 16 it is one or the other.

use super::state::State;
use super::trust::{FleetStatus, Trust};
use super::{Optimizer, Phase};
use crate::error::{Error, SnapshotError};
use crate::features::shears_at;
use crate::fleet::{Fleet, Theta};
use crate::linalg::{LANES, Matrix, column};
use crate::live::{FIRST_MARGIN, margin_at};
use crate::math;
use crate::prior::{LogNormal, MAX_PARTICLES, Prior, bounded};
use crate::random::{Purpose, Random};
use crate::scale::Scale;

/// Evidence, in nats, by which the first answers must speak against a fleet's prior to drop it.
const REFUTED: f32 = 6.0;
/// Evidence by which they must speak for it before it alone decides what is tried, and, however many they are, before a point that was
/// never measured is recommended.
const SUPPORTED: f32 = 2.0;
/// With every answer it takes so much less to drop it, and to let it decide what is tried, until both take the same.
const EASIER: f32 = 0.25;
/// The evidence at which they do.
const MEETING: f32 = -2.0;
/// A site's first particles lie around the fleet's parameters with this deviation.
const DRAWN: f32 = 0.25;
/// How well the fleet's parameters are believed to suit a site: deviation of their logarithms.
const BELIEVED: f32 = 0.6;

impl<'a> Optimizer<'a> {
    /// Starts from what other sites have in common, in this task and those that follow; before the task's first slice of
    /// work, and before a snapshot is [loaded](Self::load). A fleet that an earlier task refuted gets another chance.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] later than that; [`Error::Capacity`] if the memory has no room for it; [`Error::Fleet`] if it is of another problem, or if the settings have
    /// the deep map, or a method that asks in batches.
    pub fn set_fleet(&mut self, fleet: Option<Fleet<'a>>) -> Result<(), Error> {
        let state = &mut self.state;
        let drawn = if let Phase::Preparing { v } = self.phase { v > 0 } else { state.draws() };
        if state.task.begun || drawn || state.memory.data.hidden() > 0 {
            return Err(Error::OutOfTurn);
        }
        let (needed, available) = (state.memory.data.rows(), state.memory.data.describable());
        if fleet.is_some() && available < needed {
            return Err(Error::Capacity { what: "observations with a fleet", needed, available });
        }
        if let Some(fleet) = &fleet {
            fleet.fits(&state.problem).map_err(Error::Fleet)?;
            if state.settings.map.is_deep() || state.settings.details.method.asks_in_batches() {
                return Err(Error::Fleet(SnapshotError::Model));
            }
        }
        if state.task.number == 1 {
            state.start.margin = fleet.as_ref().map_or(FIRST_MARGIN, |fleet| fleet.header().margin);
            state.memory.carried.values.clear();
        }
        state.trust = Trust { fleet, ..Trust::NONE };
        self.begin(self.state.task.number);
        Ok(())
    }
}

impl<'a> State<'a> {
    /// The fleet's prior, if it counts.
    pub fn fleet(&self) -> Option<Fleet<'a>> {
        let Trust { fleet, before, now, aside, .. } = &self.trust;
        (*fleet).filter(|_| !before && !now && !aside)
    }

    pub fn fleet_status(&self) -> Option<FleetStatus> {
        let Trust { fleet, before, now, evidence, .. } = self.trust;
        let (supported, refuted) = (self.supports_fleet(), before || now);
        fleet.map(|_| FleetStatus { evidence, supported, refuted })
    }

    /// Checksum of the fleet's prior; `None` without one.
    pub fn fleet_checksum(&self) -> Option<u32> {
        self.trust.fleet.map(|fleet| fleet.checksum())
    }

    /// At the start of a site's first task: the fleet's typical points take the place of carried ones.
    pub fn carry_typical(&mut self) {
        let Some(fleet) = self.fleet() else { return };
        let (points, values) = (&mut self.memory.carried.points, &mut self.memory.carried.values);
        values.clear();
        for i in 0..fleet.header().points.min(self.settings.carried) {
            let x = points.column_mut(i).data.into_slice_mut();
            let mut numbers = fleet.typical(i);
            let dimensions = self.problem.dimensions.iter();
            for ((x, number), dimension) in x.iter_mut().zip(&mut numbers).zip(dimensions) {
                *x = dimension.snap(number);
            }
            let _ = values.push(numbers.next().unwrap_or(0.0));
        }
    }

    /// The prior of `θ`, and `θ` relative to its centre.
    pub fn prior_and_relative(&self, theta: &[f32]) -> (Prior, Theta) {
        let prior = self.settings.details.prior;
        let mut relative = [0.0; _];
        let Some(fleet) = self.fleet() else { return (prior, relative) };
        let each = relative.iter_mut().zip(theta).zip(fleet.centre(&self.model));
        each.for_each(|((relative, theta), centre)| *relative = theta - centre);
        let believed = |prior: LogNormal| LogNormal { deviation: BELIEVED, ..prior };
        let Prior { weights, length, signal, gamma } = prior;
        let (length, signal, gamma) = (believed(length), believed(signal), believed(gamma));
        (Prior { weights, length, signal, gamma }, relative)
    }

    /// Particle `v` as it is drawn at the start of a task that carries none: around the fleet's parameters, if it counts.
    pub fn drawn_theta(&self, v: usize) -> Theta {
        let mut random = Random::new(self.task.seed, self.task.number, 0, Purpose::Prior, v as u32);
        let Some(fleet) = self.fleet() else {
            let mut theta = [0.0; _];
            self.settings.details.prior.sample(&self.model, &mut random, &mut theta);
            return theta;
        };
        let mut theta = fleet.centre(&self.model);
        // Without a shear, as sites are fitted.
        let fitted = theta.iter_mut().take(shears_at(self.model.dimensions));
        fitted.for_each(|theta| *theta = bounded(*theta + DRAWN * random.normal()));
        theta
    }

    /// The scale that the task would have without a fleet.
    #[inline(never)]
    fn plain_scale(&self) -> Scale {
        let sign = self.problem.goal.sign();
        match (self.problem.floor, self.first_told()) {
            (Some(floor), Some(v)) => {
                let noise = math::sqrt(self.problem.fidelities[self.problem.truth()].noise);
                Scale::around(v, floor.level.at(v, sign), noise, sign)
            }
            _ => self.task.scale,
        }
    }

    /// Does some work as if there were no fleet.
    pub fn without_fleet<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let scale = self.task.scale;
        self.put_aside(true, self.plain_scale());
        let result = work(self);
        self.put_aside(false, scale);
        result
    }

    #[inline(never)]
    fn put_aside(&mut self, aside: bool, scale: Scale) {
        (self.trust.aside, self.task.scale) = (aside, scale);
        self.restandardise();
    }

    /// Whether a trial must be allowed without the fleet's prior, too.
    pub fn doubts(&self) -> bool {
        self.problem.floor.is_some() && self.fleet().is_some() && !self.supports_fleet()
    }

    /// Whether the answers speak for the fleet's prior; the more of them there are, the less they must.
    fn supports_fleet(&self) -> bool {
        self.trust.evidence >= (SUPPORTED - EASIER * self.round() as f32).max(MEETING)
    }

    /// Whether the answers speak for the fleet's prior, however many they are: then the model knows enough to recommend a point that
    /// was never measured.
    pub fn relies_on_fleet(&self) -> bool {
        self.fleet().is_some() && self.trust.evidence >= SUPPORTED
    }

    /// Lower bound of what a point is worth by the model without a fleet, whose scale that model has, and whether it is
    /// above the floor.
    pub fn plain_bound(&self, mean: f32, variance: f32) -> (f32, bool) {
        let (plain, scale, sign) = (self.plain_scale(), self.task.scale, self.problem.goal.sign());
        let margin = margin_at(self.task.trials.floor.margin.max(FIRST_MARGIN), self.round());
        let value = plain.undo(sign * mean) - sign * margin * math::sqrt(variance) * plain.deviation;
        let bound = sign * scale.apply(value);
        (bound, bound >= self.task.trials.floor.at)
    }

    /// Whether there is something to weigh the fleet's prior by.
    pub fn checks_fleet(&self) -> bool {
        self.fleet().is_some() && self.initial_done() && self.memory.data.len() >= self.task.remembered + 2
    }

    /// Goes on without the fleet's prior: scale, particles and typical points of a task without one.
    fn drop_fleet(&mut self) {
        self.trust.now = true;
        (self.task.settled, self.task.steps) = (false, 0);
        self.memory.moments.fill(0.0);
        if self.task.number == 1 {
            self.memory.carried.values.clear();
        }
        for v in 0..self.settings.particles {
            self.draw_particle(v);
        }
        let floor = &mut self.task.trials.floor;
        floor.margin = floor.margin.max(FIRST_MARGIN);
        self.rescale();
    }
}

/// The parameters drawn without a fleet, or those of particle `v`.
pub(super) fn theta_of<'p>(plain: &'p Option<Theta>, particles: &'p Matrix<'_>, v: usize) -> &'p [f32] {
    plain.as_ref().map_or_else(|| column(particles, v), |theta| &theta[..particles.nrows()])
}

/// The evidence being taken, and where that stands.
#[derive(Debug)]
pub(super) struct Check {
    /// Learning steps that follow.
    pub steps: u32,
    without: bool,
    v: usize,
    first: usize,
    logs: [f32; MAX_PARTICLES],
    with: f32,
}

impl Check {
    pub fn new(steps: u32) -> Check {
        let logs = [f32::NEG_INFINITY; MAX_PARTICLES];
        Check { steps, without: false, v: 0, first: 0, logs, with: 0.0 }
    }

    /// One slice; whether the fleet's prior is weighed.
    pub fn advance(&mut self, state: &mut State<'_>) -> bool {
        let log = match self.without {
            true => state.without_fleet(|state| self.factor(state)),
            false => self.factor(state),
        };
        let Some(log) = log else {
            self.first += LANES;
            return false;
        };
        self.logs[self.v] = log;
        (self.v, self.first) = (self.v + 1, 0);
        if self.v < state.settings.particles {
            return false;
        }
        let evidence = self.evidence(state);
        if !self.without {
            (self.with, self.without, self.v) = (evidence, true, 0);
            return false;
        }
        state.trust.evidence = self.with - evidence;
        let least = (EASIER * state.round() as f32 - REFUTED).min(MEETING);
        // Also where neither is a number.
        if state.trust.evidence.max(least) == least {
            state.drop_fleet();
        }
        true
    }

    /// One block of the factor of particle `v`; after the last the log likelihood in units of the observations.
    fn factor(&self, state: &mut State<'_>) -> Option<f32> {
        let (own, deviation) = (state.task.remembered, state.task.scale.deviation);
        let blur = state.task.changes.drift.blur / deviation;
        let (view, theta) =
            (state.view().with_older(&state.memory.data, own, blur), state.drawn_theta(self.v));
        let State { memory, task, model, .. } = state;
        let data = memory.data.observations(own, view.fleet);
        let particle = view.particle(model, &theta[..model.parameters()], &mut task.fallbacks);
        if memory.gp.factor(&particle, &data, self.first, &mut task.fallbacks).is_err() {
            return Some(f32::NEG_INFINITY);
        }
        let count = data.fidelity.len();
        (self.first + LANES >= count).then(|| memory.gp.condition(&data) - count as f32 * math::ln(deviation))
    }

    /// Logarithm of the mean likelihood.
    fn evidence(&self, state: &State<'_>) -> f32 {
        let logs = &self.logs[..state.settings.particles];
        let largest = logs.iter().fold(f32::NEG_INFINITY, |largest, log| largest.max(*log));
        let sum = logs.iter().fold(0.0, |sum, log| sum + math::exp((log - largest).max(-80.0)));
        largest + math::ln(sum / logs.len() as f32)
    }
}
