//! From the tuner to the station.

use core::fmt;

use super::Ticket;
use crate::seal::Challenge;
use crate::{MAX_DIMENSIONS, MAX_GUARDS, MAX_LIMITS};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// What the tuner is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    /// No task; the last one, if any, was aborted or dropped.
    Idle,
    /// Computing: the next query, the recommendation, or the state after a restart.
    Thinking,
    /// A query is open.
    Waiting,
    /// The task is over and its recommendation stands.
    Finished,
    /// Out of order; `Health::fault` says why.
    Fault,
    /// As finished, and readings of the recommendation are watched for a change.
    Watching,
}

/// What the tuner knows from earlier tasks: an opaque snapshot of the optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Knowledge {
    /// Grows by one with every change; 0 on a new device.
    pub sequence: u32,
    /// Length in bytes; 0 is the factory's knowledge.
    pub total: u32,
    /// CRC-32 of the bytes.
    pub crc: u32,
}

/// What a tuner is, as long as its firmware stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Identity<'a> {
    /// Name and version of the firmware, at most [`crate::MAX_TEXT`] bytes.
    pub firmware: &'a str,
    /// Name of the profile (`compact`, `deep`), at most [`crate::MAX_TEXT`] bytes.
    pub profile: &'a str,
    /// Number of the problem that it was built for, see [`crate::problem`].
    pub problem: u32,
    /// Most dimensions of a problem.
    pub dimensions: u8,
    /// Most fidelities of a problem.
    pub fidelities: u8,
    /// Tries after which a query is given up.
    pub tries: u8,
}

/// Answer to `Hello`: all that a station needs to begin or to take up where another left off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Greeting<'a> {
    /// The tuner's [`crate::VERSION`].
    pub version: u16,
    /// What it is.
    #[serde(borrow)]
    pub identity: Identity<'a>,
    /// What it is doing.
    pub phase: Phase,
    /// Number of the current or last task; 0 before the first.
    pub task: u32,
    /// Step of the open query, or of the next one.
    pub step: u32,
    /// What it knows.
    pub knowledge: Knowledge,
}

/// One coordinate of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Coordinate {
    /// Index into the levels of a discrete dimension, from 0.
    Level(u16),
    /// Place in a continuous dimension, 0 at its lower end, 1 at its upper end; exact bits.
    Unit(f32),
}

/// One coordinate per dimension.
pub type Point = Vec<Coordinate, MAX_DIMENSIONS>;

/// What a device has kept of a query and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Answer {
    /// Fidelity, from 0.
    pub fidelity: u8,
    /// What was measured; none if the query was given up.
    pub value: Option<f32>,
    /// The point in the unit cube, then the KPIs that were measured, one for each of the problem's guards; what lies behind has
    /// no meaning.
    pub numbers: Vec<f32, { MAX_DIMENSIONS + MAX_GUARDS }>,
}

/// Please measure this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Query {
    /// Its number.
    pub ticket: Ticket,
    /// Which try this is, from 0; the report repeats it.
    pub attempt: u8,
    /// Fidelity, from 0; the last one is the truth.
    pub fidelity: u8,
    /// Channel samples to average.
    pub samples: u32,
    /// What the budget is charged.
    pub cost: f32,
    /// What to set.
    pub point: Point,
}

/// How far the tuner's thinking is, in steps of its own choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Progress {
    /// Steps done.
    pub done: u32,
    /// Steps in all, 0 if not known.
    pub total: u32,
}

/// Why a query is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Retry {
    /// The value was not a finite number, or one that no measurement gives.
    Impossible,
    /// The station reported that the measurement failed.
    Failed,
}

/// Why a task is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reason {
    /// What is left of the budget pays for no further query.
    Budget,
    /// The tuner has no room for further observations.
    Capacity,
    /// Nothing is left to ask in this space.
    Exhausted,
    /// The station asked to stop.
    Stopped,
    /// Going on is not expected to improve the recommendation by more than the problem's tolerance.
    Tolerance,
}

/// What the tuner recommends at the end of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Recommendation {
    /// The task.
    pub task: u32,
    /// Why it is over.
    pub reason: Reason,
    /// Queries that were asked, given-up ones included.
    pub queries: u32,
    /// What they cost.
    pub spent: f32,
    /// The value to expect at the target fidelity.
    pub mean: f32,
    /// What to set.
    pub point: Point,
    /// Whether floor and guards are kept there with the probability that their risks ask for. If not, this is the point in use.
    pub assured: bool,
}

/// Frames received since the start of whoever counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LineCounters {
    /// Whole frames with a right CRC.
    pub good: u32,
    /// Frames dropped for their COBS code, length or CRC.
    pub broken: u32,
    /// Frames dropped because they were longer than the buffer.
    pub oversize: u32,
    /// Frames with a right CRC dropped because they were no message of this direction and version.
    pub unknown: u32,
}

/// Reports received since the tuner's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ReportCounters {
    /// Observations taken.
    pub counted: u32,
    /// Reports of something already settled, answered again.
    pub repeated: u32,
    /// Tries that failed, or gave no finite value.
    pub failed: u32,
    /// Queries given up.
    pub given_up: u32,
}

/// What only the application knows about its well-being.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Health {
    /// Least free stack ever seen, bytes.
    pub stack_free: u32,
    /// Restarts by watchdog, fault or panic since power came.
    pub restarts: u32,
    /// Code of the last fault; 0 for none. The firmware's documentation lists them.
    pub fault: u16,
    /// Trials of the current or last task that fell below the floor.
    pub below: u32,
}

/// Answer to `Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Status {
    /// What the tuner is doing.
    pub phase: Phase,
    /// Number of the current or last task.
    pub task: u32,
    /// Step of the open query, or of the next one.
    pub step: u32,
    /// How far its thinking is.
    pub progress: Progress,
    /// What came over the line.
    pub line: LineCounters,
    /// What became of the reports.
    pub reports: ReportCounters,
    /// How the application is.
    pub health: Health,
}

/// Why the tuner dropped a task by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum DropReason {
    /// The task ended without a single observation: there is nothing to recommend and nothing to learn from.
    NothingObserved,
    /// The device failed and restarted again and again at the same place of the task.
    Restarts,
    /// What is stored is damaged or of another firmware, so the task cannot be continued.
    Stored,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingObserved => "nothing was observed in it",
            Self::Restarts => "it failed and restarted there again and again",
            Self::Stored => "what is stored of it is damaged or of another firmware",
        })
    }
}

/// The part of a problem that a device cannot take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Part {
    /// The bytes are no problem in a format that it knows.
    Bytes,
    /// There are more dimensions than it has room for.
    Dimensions,
    /// A dimension makes no sense: its ends, or its levels.
    Dimension,
    /// There are more fidelities than it has room for.
    Fidelities,
    /// A fidelity makes no sense: its cost, or its noise.
    Fidelity,
    /// The point in use is missing, out of the ranges, or breaks a limit.
    PointInUse,
    /// The floor or its risk is out of range.
    Floor,
    /// The tolerance is out of range.
    Tolerance,
    /// There are too many limits, or one is not finite.
    Limits,
    /// There are more guards than it has room for, or one has an impossible bound, risk or noise.
    Guards,
}

/// What of a problem does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Misfit {
    /// The part.
    pub part: Part,
    /// Of a dimension or fidelity its index; of their number and that of guards the most that fit; else 0.
    pub at: u16,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match self.part {
            Part::Bytes => f.write_str("its bytes are of no format that the device knows"),
            Part::Dimensions => {
                write!(f, "there is room for {at} dimensions, and each value of a category may take one")
            }
            Part::Dimension => write!(f, "dimension {at} (from 0) has impossible ends, levels or values"),
            Part::Fidelities => write!(f, "there is room for {at} fidelities"),
            Part::Fidelity => write!(f, "fidelity {at} (from 0) has an impossible cost or noise"),
            Part::PointInUse => f.write_str("the point in use is missing, out of range or beyond a limit"),
            Part::Floor => f.write_str("the floor or its risk is out of range"),
            Part::Tolerance => f.write_str("the tolerance is out of range"),
            Part::Limits => write!(f, "there may be {MAX_LIMITS} limits, of finite numbers"),
            Part::Guards => {
                write!(f, "there is room for {at} guards, their bounds, risks and noise in range")
            }
        }
    }
}

/// Why a request was refused; the tuner's state is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// Not the current task, nor the one that could begin now.
    WrongTask {
        /// The current or last task.
        current: u32,
    },
    /// Neither the problem that this tuner was built for nor the one sent last: describe it.
    WrongProblem {
        /// Number of the one it was built for.
        ours: u32,
    },
    /// Budget not positive and finite, or too small for a single query.
    BadBudget,
    /// The step is still to come: the tuner may have lost one observation to a power failure.
    WrongStep {
        /// The step it wants.
        expected: u32,
    },
    /// Not while a task runs.
    Busy {
        /// The running task.
        task: u32,
    },
    /// Nothing has been observed, so there is nothing to recommend.
    NothingObserved,
    /// No such transfer is open: offer again.
    NoTransfer,
    /// Bytes beyond what was offered, or more than the device can hold.
    TooLarge {
        /// The limit in bytes.
        limit: u32,
    },
    /// What was written does not have the CRC of the offer.
    Checksum,
    /// The bytes are no knowledge for this tuner.
    BadKnowledge {
        /// Reason, by the optimizer's own numbering.
        code: u8,
    },
    /// Another state of knowledge is current.
    WrongKnowledge {
        /// Sequence number of the current one.
        current: u32,
    },
    /// The device's flash failed.
    Storage,
    /// Out of order; see the status.
    Fault {
        /// Code of the fault.
        code: u16,
    },
    /// The tuner has dropped this task by itself; another can begin, and what was known before still is.
    Dropped {
        /// The task.
        task: u32,
        /// Why.
        reason: DropReason,
    },
    /// A part of the problem does not fit this tuner, or makes no sense.
    BadProblem(Misfit),
    /// A report does not have one KPI for every guard of the problem.
    WrongKpis {
        /// How many it should have.
        wanted: u8,
    },
    /// A reading is no finite number, or its deviation or run length is out of range.
    BadReading,
    /// Conditions do not have a value for each of the problem's, within its range.
    BadConditions {
        /// How many there are.
        wanted: u8,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongTask { current } => write!(f, "it is at task {current}, not at the one named"),
            Self::WrongProblem { ours } => {
                write!(f, "it was built for another problem ({ours:08x}), and was sent none like it")
            }
            Self::BadBudget => f.write_str("the budget does not pay for a single query"),
            Self::WrongStep { expected } => write!(f, "it wants the answer to query {expected} first"),
            Self::Busy { task } => write!(f, "not while task {task} runs"),
            Self::NothingObserved => {
                f.write_str("nothing has been observed, so there is nothing to recommend")
            }
            Self::NoTransfer => f.write_str("no transfer is open: offer it again"),
            Self::TooLarge { limit } => write!(f, "more bytes than were offered or fit ({limit})"),
            Self::Checksum => f.write_str("the bytes do not have the checksum that was offered"),
            Self::BadKnowledge { code } => write!(f, "the bytes are no knowledge for it (reason {code})"),
            Self::WrongKnowledge { current } => {
                write!(f, "it has other knowledge meanwhile (number {current})")
            }
            Self::Storage => f.write_str("its flash failed"),
            Self::Fault { code } => write!(f, "it is out of order (fault {code})"),
            Self::Dropped { task, reason } => write!(f, "it has dropped task {task}: {reason}"),
            Self::BadProblem(misfit) => write!(f, "the problem does not fit: {misfit}"),
            Self::WrongKpis { wanted } => {
                write!(f, "a report needs {wanted} KPIs, one for each of the problem's guards")
            }
            Self::BadReading => f.write_str("the reading, its deviation or the run length is out of range"),
            Self::BadConditions { wanted } => {
                write!(f, "the problem has {wanted} conditions, and each wants a value within its range")
            }
        }
    }
}

/// From the tuner to the station, one for each request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Response<'a> {
    /// To `Hello`.
    #[serde(borrow)]
    Greeting(Greeting<'a>),
    /// To `Begin`: the task runs.
    Begun {
        /// The task.
        task: u32,
    },
    /// Please measure.
    Query(Query),
    /// Thinking: poll again in a while.
    Working {
        /// The query in the making; after the last one, the step at which the task ended.
        ticket: Ticket,
        /// How far it is.
        progress: Progress,
    },
    /// Nothing more is wanted for this query: its value is counted, or it was given up.
    Settled {
        /// The query.
        ticket: Ticket,
    },
    /// Measure the open query once more.
    Again {
        /// The query.
        ticket: Ticket,
        /// The try that is wanted now.
        attempt: u8,
        /// Why.
        reason: Retry,
    },
    /// The task is over.
    Finished(Recommendation),
    /// The task is dropped.
    Aborted {
        /// The task.
        task: u32,
    },
    /// To `Status`.
    Status(Status),
    /// To `Offer` and `Write`.
    Ready {
        /// Offset wanted next; the length of the offer when all is there.
        offset: u32,
    },
    /// To `Commit` and `Forget`: what the tuner knows now.
    Stored(Knowledge),
    /// To `Read`.
    Chunk {
        /// Where it begins.
        offset: u32,
        /// At most [`crate::MAX_CHUNK`] bytes, none at or beyond the end.
        data: &'a [u8],
    },
    /// The request was refused.
    Refused(Refusal),
    /// To whatever is not sealed with the key, if there is one.
    Locked {
        /// Opens the next session, see [`crate::seal`].
        challenge: Challenge,
    },
    /// To `Recall`.
    Recalled {
        /// The query.
        ticket: Ticket,
        /// What the device has kept of it.
        answer: Answer,
    },
    /// To `Watch`: nothing speaks for a change, or not enough.
    Steady {
        /// Number of the next reading.
        next: u32,
    },
    /// To `Watch`: the setting in use no longer gives what it gave, and this task has begun: as the last one did, with a seed of
    /// one more.
    Changed {
        /// The task.
        task: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::{DropReason, Misfit, Part, Refusal};
    use std::string::ToString;

    #[test]
    fn refusals_read_as_the_end_of_a_sentence() {
        for (refusal, words) in [
            (Refusal::Busy { task: 3 }, "not while task 3 runs"),
            (
                Refusal::WrongProblem { ours: 0xab },
                "it was built for another problem (000000ab), and was sent none like it",
            ),
            (Refusal::Fault { code: 100 }, "it is out of order (fault 100)"),
            (
                Refusal::BadProblem(Misfit { part: Part::Dimensions, at: 4 }),
                "the problem does not fit: there is room for 4 dimensions, and each value of a category may take one",
            ),
            (
                Refusal::BadConditions { wanted: 2 },
                "the problem has 2 conditions, and each wants a value within its range",
            ),
            (Refusal::WrongKpis { wanted: 2 }, "a report needs 2 KPIs, one for each of the problem's guards"),
            (
                Refusal::BadProblem(Misfit { part: Part::Guards, at: 2 }),
                "the problem does not fit: there is room for 2 guards, their bounds, risks and noise in range",
            ),
            (
                Refusal::Dropped { task: 2, reason: DropReason::NothingObserved },
                "it has dropped task 2: nothing was observed in it",
            ),
        ] {
            assert_eq!(refusal.to_string(), words);
        }
    }
}
