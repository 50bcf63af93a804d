//! What passes between the optimizer and whoever measures: queries, refusals, progress, recommendation, status.

use core::fmt;

use super::Fallbacks;
use crate::data::{Kind, Record};
use crate::error::Error;

/// What to measure next. Answer it once: [`Optimizer::tell`](super::Optimizer::tell) takes it by value.
#[must_use = "a query wants an answer: `tell` or `fail`"]
#[derive(Debug, PartialEq)]
pub struct Query<const D: usize> {
    pub(super) task: u32,
    pub(super) round: u32,
    pub(super) x: [f32; D],
    pub(super) setting: [f32; D],
    pub(super) dimensions: usize,
    pub(super) fidelity: usize,
    pub(super) kind: Kind,
}

impl<const D: usize> Query<D> {
    /// Values of the parameters, in natural units.
    pub fn setting(&self) -> &[f32] {
        &self.setting[..self.dimensions]
    }

    /// Values of the parameters in the unit cube.
    pub fn unit(&self) -> &[f32] {
        &self.x[..self.dimensions]
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

    /// The query with its answer, or with none if the measurement failed.
    pub(super) fn record(&self, y: Option<f32>) -> Record<D> {
        Record { x: self.x, fidelity: self.fidelity, kind: self.kind, y }
    }
}

/// An answer that was refused, with the query, which still wants one.
#[derive(Debug)]
pub struct Refused<const D: usize> {
    /// The query.
    pub query: Query<D>,
    /// Why.
    pub error: Error,
}

impl<const D: usize> fmt::Display for Refused<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<const D: usize> core::error::Error for Refused<D> {}

/// Why a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Stop {
    /// No fidelity that the method uses can be paid any more.
    Budget,
    /// All slots for observations are used.
    Capacity,
    /// Everything worth asking has been asked.
    Exhausted,
    /// [`MAX_FAILURES`](super::MAX_FAILURES) measurements failed.
    Failures,
    /// [`Optimizer::stop`](super::Optimizer::stop) was called.
    Requested,
}

/// What a slice of work came to.
#[derive(Debug, PartialEq)]
pub enum Progress<const D: usize> {
    /// There is more to do.
    Working,
    /// A query to answer.
    Query(Query<D>),
    /// A query was handed out and wants its answer.
    Waiting,
    /// The task has ended.
    Done(Stop),
}

/// The setting to use when a task has ended: highest posterior mean at the truth's fidelity, over all particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recommendation<const D: usize> {
    pub(super) x: [f32; D],
    pub(super) setting: [f32; D],
    pub(super) dimensions: usize,
    /// Posterior mean, in units of the observations.
    pub mean: f32,
    /// Posterior deviation, in units of the observations; finite.
    pub deviation: f32,
}

impl<const D: usize> Recommendation<D> {
    /// Values of the parameters, in natural units.
    pub fn setting(&self) -> &[f32] {
        &self.setting[..self.dimensions]
    }

    /// Values of the parameters in the unit cube.
    pub fn unit(&self) -> &[f32] {
        &self.x[..self.dimensions]
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
pub struct Status {
    /// Number of the task, from 1.
    pub task: u32,
    /// Observations so far.
    pub observations: usize,
    /// Observations still to be replayed after a restore.
    pub to_replay: usize,
    /// Spent of the budget.
    pub spent: f32,
    /// What it is doing.
    pub activity: Activity,
    /// How often numerics had to help themselves, in this task.
    pub fallbacks: Fallbacks,
}
