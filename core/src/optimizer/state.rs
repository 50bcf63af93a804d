//! What an optimizer knows of the current task, but for the big arrays.

use super::MAX_FAILURES;
use super::design::Design;
use super::learn::Learn;
use super::query::{Recommendation, Stop};
use super::sweep::Sweep;
use crate::data::{Record, Scale, Scaling};
use crate::gp::Fallbacks;
use crate::kernel::PairSums;

/// What the next slice of work is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    Prepare { v: usize },
    Next,
    Design(Design),
    Learn(Learn),
    Sweep(Sweep),
    Asked,
    Done,
}

/// A query whose measurement failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure<const D: usize> {
    pub record: Record<D>,
    /// Observations there were at the time.
    pub position: usize,
}

pub(super) struct State<const D: usize> {
    pub seed: u64,
    pub task: u32,
    pub phase: Phase,
    /// Whether more has been done than drawing particles.
    pub begun: bool,
    /// The query handed out, without its answer.
    pub asked: Option<Record<D>>,
    /// Why the task has ended, once it has; then follow the last learning and the recommendation.
    pub stop: Option<Stop>,
    /// The user wants the task to end.
    pub stopping: bool,
    pub scale: Scale,
    /// Whether the scale shows more than noise, so that what lies far away can be judged by it.
    pub settled: bool,
    /// Restored observations that are still to be replayed.
    pub hidden: usize,
    pub failures: [Option<Failure<D>>; MAX_FAILURES],
    pub carried: usize,
    /// Whether the newest carried point comes from a task that was foreign to those before it.
    pub stranger: bool,
    pub next_carried: usize,
    /// Values remembered of earlier tasks: the first slots of the data.
    pub remembered: usize,
    /// Points of the batch design, once it is made.
    pub designed: Option<usize>,
    pub next_design: usize,
    /// Learning steps of this task so far.
    pub steps: u32,
    /// Of the particle whose gradient is being taken.
    pub sums: PairSums,
    pub recommendation: Option<Recommendation<D>>,
    pub fallbacks: Fallbacks,
}

impl<const D: usize> State<D> {
    /// At the start of a task, with `carried` points from earlier ones.
    pub fn new(seed: u64, task: u32, carried: usize, scaling: Scaling) -> Self {
        State {
            seed,
            task,
            phase: Phase::Next,
            begun: false,
            asked: None,
            stop: None,
            stopping: false,
            scale: match scaling {
                Scaling::Fixed { mean, deviation } => Scale { mean, deviation },
                Scaling::Initial | Scaling::Running => Scale::IDENTITY,
            },
            settled: matches!(scaling, Scaling::Fixed { .. }),
            hidden: 0,
            failures: [None; MAX_FAILURES],
            carried,
            stranger: false,
            next_carried: 0,
            remembered: 0,
            designed: None,
            next_design: 0,
            steps: 0,
            sums: PairSums::default(),
            recommendation: None,
            fallbacks: Fallbacks::default(),
        }
    }
}
