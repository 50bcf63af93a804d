//! What the station and the tuner say to each other.
//!
//! Order of variants and fields is the wire format: append only, and raise [`crate::VERSION`] on any other change.
//! `Hello` and `Greeting` up to its `version` keep their bytes for ever, so that two versions can tell each other apart.

use serde::{Deserialize, Serialize};

mod request;
mod response;

pub use request::{Begin, Blob, Kpis, Outcome, Reading, Report, Request};
pub use response::{
    Answer, Coordinate, DropReason, Greeting, Health, Identity, Knowledge, LineCounters, Misfit, Part, Phase,
    Point, Progress, Query, Reason, Recommendation, Refusal, ReportCounters, Response, Retry, Status,
};

/// Number of a query, unique in a device's life: task numbers never come again, steps count within the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ticket {
    /// Number of the task, from 1.
    pub task: u32,
    /// Number of the query within the task, from 0.
    pub step: u32,
}
