//! What passes between the optimizer and whoever measures: queries, refusals, progress, recommendation, status.

use core::fmt;

use heapless::Vec;

use super::trust::FleetStatus;
use crate::data::{Kind, Kpis, Point, Record};
use crate::error::Error;
use crate::gp::Fallbacks;
use crate::live::MAX_GUARDS;

/// What to measure next. Answer it once: [`Optimizer::tell`](super::Optimizer::tell) takes it by value.
#[must_use = "a query wants an answer: `tell` or `fail`"]
#[derive(Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Query {
    pub(super) task: u32,
    pub(super) round: u32,
    pub(super) unit: Point,
    pub(super) point: Point,
    pub(super) fidelity: usize,
    pub(super) kind: Kind,
}

impl Query {
    /// Values of the parameters, in natural units.
    pub fn point(&self) -> &[f32] {
        &self.point
    }

    /// Values of the parameters in the unit cube.
    pub fn unit(&self) -> &[f32] {
        &self.unit
    }

    /// Index of the fidelity to measure with.
    pub fn fidelity(&self) -> usize {
        self.fidelity
    }

    /// Number of the task, from 1.
    pub fn task(&self) -> u32 {
        self.task
    }

    /// Number of the query within the task, from 0.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// How the query came about.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The query with its answer, or with none if the measurement failed, and its cost, if not the fidelity's.
    pub(super) fn record(&self, y: Option<f32>, kpis: Kpis, cost: Option<f32>) -> Record {
        Record { unit: self.unit.clone(), fidelity: self.fidelity, kind: self.kind, y, kpis, cost }
    }
}

/// An answer that was refused, with the query, which still wants one.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Refused {
    /// The query.
    pub query: Query,
    /// Why.
    pub error: Error,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl core::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        refused.error
    }
}

/// Why a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Stop {
    /// No fidelity that the method uses can be paid any more.
    Budget,
    /// All slots for observations are used.
    Capacity,
    /// Everything worth asking has been asked.
    Exhausted,
    /// Going on is not expected to improve the recommendation by more than the problem's tolerance.
    Tolerance,
    /// [`Optimizer::stop`](super::Optimizer::stop) was called.
    Requested,
}

/// What a slice of work came to.
#[derive(Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Progress {
    /// There is more to do.
    Working,
    /// A query to answer.
    Query(Query),
    /// A query was handed out and wants its answer: [`Optimizer::outstanding`](super::Optimizer::outstanding) has it.
    Waiting,
    /// The last task's particles are kept outside of the memory: use
    /// [`Optimizer::advance_with`](super::Optimizer::advance_with).
    NeedsKnowledge,
    /// The task has ended.
    Done(Stop),
}

/// What [`Optimizer::ask`](super::Optimizer::ask) came to.
#[derive(Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Ask {
    /// A query to answer.
    Query(Query),
    /// A query was handed out and wants its answer: [`Optimizer::outstanding`](super::Optimizer::outstanding) has it.
    Waiting,
    /// The last task's particles are kept outside of the memory: use
    /// [`Optimizer::advance_with`](super::Optimizer::advance_with).
    NeedsKnowledge,
    /// The task has ended.
    Done(Stop),
}

impl Ask {
    /// The query, if there is one.
    pub fn query(self) -> Option<Query> {
        match self {
            Ask::Query(query) => Some(query),
            _ => None,
        }
    }
}

/// The point to use when a task has ended: highest posterior mean at the target fidelity, over all particles.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Recommendation {
    pub(super) unit: Point,
    pub(super) point: Point,
    /// Posterior mean, in units of the observations.
    pub mean: f32,
    /// Posterior standard deviation, in units of the observations; finite.
    pub deviation: f32,
    /// Whether floor and guards are kept there with the probability that their risks ask for. If not, this is the point in use.
    pub assured: bool,
}

impl Recommendation {
    /// Values of the parameters, in natural units.
    pub fn point(&self) -> &[f32] {
        &self.point
    }

    /// Values of the parameters in the unit cube.
    pub fn unit(&self) -> &[f32] {
        &self.unit
    }
}

/// What the optimizer is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Activity {
    /// Draws or restores particles.
    Preparing,
    /// Replays what was observed before a restart.
    Replaying,
    /// Moves particles.
    Learning,
    /// Looks for the next query.
    Searching,
    /// Waits for an answer.
    Waiting,
    /// The task has ended.
    Done,
}

impl Activity {
    /// Whether slices of work are wanted.
    pub fn is_busy(self) -> bool {
        !matches!(self, Activity::Waiting | Activity::Done)
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Status {
    /// Number of the task, from 1.
    pub task: u32,
    /// Measurements so far, failed ones included.
    pub observations: usize,
    /// Of these, how many failed.
    pub failures: usize,
    /// And how many are outliers: too far from all others, and not confirmed by a second answer.
    pub outliers: usize,
    /// Values remembered of earlier tasks, which take slots, too.
    pub remembered: usize,
    /// Past measurements that were handed in, which take slots, too.
    pub past: usize,
    /// Slots for more.
    pub room: usize,
    /// Observations still to be replayed after a restore.
    pub to_replay: usize,
    /// Spent of the budget.
    pub spent: f32,
    /// What it is doing.
    pub activity: Activity,
    /// What the model expects of the best point that the last search looked at, in units of the observations.
    pub best: Option<f32>,
    /// How often numerics had to help themselves, in this task.
    pub fallbacks: Fallbacks,
    /// What became of those who were served meanwhile, if there is a point in use.
    pub live: Option<LiveStatus>,
    /// How much the fleet's word counts, if there is a fleet.
    pub fleet: Option<FleetStatus>,
}

/// What became of those who were served while a task went on, as the model sees it after each trial. In units of the
/// observations.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct LiveStatus {
    /// The margin below the mean that a query must have to the floor, in standard deviations.
    pub margin: f32,
    /// Trials that fell below the floor, failed ones included.
    pub below: u32,
    /// Their share of the time, which is held at the risk; time is what trials cost.
    pub below_time: f32,
    /// The worst trial.
    pub worst: Option<f32>,
    /// The mean over all trials, by cost.
    pub meanwhile: Option<f32>,
    /// What the query that waits for its answer was expected to give, if it was searched for.
    pub expected: Option<f32>,
    /// How often the world changed in the middle of the task, or before it since answers were kept.
    pub changes: u32,
}

/// Why a query was asked, as the model saw it then: what there is to say of a setting that went on the air.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Reasons {
    /// The objective, and the floor.
    pub objective: Belief,
    /// The guards' KPIs, and their bounds.
    pub guards: Vec<Belief, MAX_GUARDS>,
    /// What the answer was worth beside its price, if it was asked for what it tells.
    pub score: Option<Score>,
    /// Candidates that the search looked at.
    pub looked_at: u32,
    /// How often the world had changed, as the status counts it.
    pub changes: u32,
}

/// What was expected of one number at the point of a query, at the target fidelity, in its own units.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Belief {
    /// Posterior mean.
    pub mean: f32,
    /// Posterior standard deviation; finite.
    pub deviation: f32,
    /// What must be kept to, if there is something.
    pub bound: Option<f32>,
    /// Standard deviations that had to lie between mean and bound.
    pub margin: f32,
    /// Candidates that the bound ruled out.
    pub ruled_out: u32,
}

/// What an answer was worth: the sum of both kinds of information, divided by the price.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Score {
    /// Information about the best value there is, in nats.
    pub optimum: f32,
    /// Information about which particle is right, in nats, as it counts.
    pub particles: f32,
    /// What it costs, slots included.
    pub price: f32,
}

/// How a guard is kept in a task, as the model sees it after each trial.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct GuardStatus {
    /// The margin that a query must have to the bound, in standard deviations.
    pub margin: f32,
    /// The bound, in units of the KPI; nothing before the point in use is measured.
    pub bound: Option<f32>,
    /// Trials that broke it, failed ones included.
    pub broken: u32,
    /// What these cost.
    pub broken_time: f32,
    /// Candidates that it ruled out in the last search.
    pub ruled_out: u32,
}
