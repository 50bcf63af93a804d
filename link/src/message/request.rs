//! From the station to the tuner.

use core::fmt;
use core::ops::Deref;

use super::Ticket;
use crate::MAX_GUARDS;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// What a task is begun with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Begin {
    /// Number of the task: one more than the `task` of the greeting.
    pub task: u32,
    /// Number of the problem, see [`crate::problem`]: that of the greeting, or of one that the station has sent.
    pub problem: u32,
    /// Seed of the task's randomness: same knowledge, seed and reports give the same queries, bit for bit.
    pub seed: u64,
    /// What the task's queries may cost in all, in the unit of their `cost`; positive and finite.
    pub budget: f32,
    /// Whether the problem's point in use is in use now. If not, the first task begins there, and every other at the last
    /// recommendation.
    pub deploy: bool,
    /// Whether to take over, on purpose, knowledge that was learnt on another problem.
    pub adopt: bool,
}

impl Begin {
    /// Nothing but what every task must say for itself: for `..Begin::PLAIN`.
    pub const PLAIN: Begin = Begin { task: 0, problem: 0, seed: 0, budget: 0.0, deploy: false, adopt: false };
}

/// The KPIs of an answer, in the order of the problem's guards; behind them, where the problem has conditions and it is known under
/// which it was measured, a value for each.
#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[serde(from = "Vec<f32, MAX_GUARDS>", into = "Vec<f32, MAX_GUARDS>")]
pub struct Kpis {
    /// Zeros behind.
    values: [f32; MAX_GUARDS],
    count: u8,
}

impl Kpis {
    /// Of a problem without guards.
    pub const NONE: Kpis = Kpis { values: [0.0; MAX_GUARDS], count: 0 };

    /// As many as there may be; what is beyond is left out.
    pub fn new(kpis: &[f32]) -> Kpis {
        let mut values = [0.0; MAX_GUARDS];
        values.iter_mut().zip(kpis).for_each(|(to, from)| *to = *from);
        Kpis { values, count: kpis.len().min(MAX_GUARDS) as u8 }
    }
}

impl Deref for Kpis {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        self.values.get(..usize::from(self.count)).unwrap_or_default()
    }
}

impl fmt::Debug for Kpis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl From<Vec<f32, MAX_GUARDS>> for Kpis {
    fn from(kpis: Vec<f32, MAX_GUARDS>) -> Self {
        Kpis::new(&kpis)
    }
}

impl From<Kpis> for Vec<f32, MAX_GUARDS> {
    fn from(kpis: Kpis) -> Self {
        kpis.iter().copied().collect()
    }
}

/// Result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// The measured value.
    Value(f32),
    /// The measurement could not be made.
    Failed,
    /// The measured value of a problem with guards, and a KPI for each.
    Values(f32, Kpis),
}

impl Outcome {
    /// What was measured, if anything was.
    pub fn numbers(&self) -> Option<(f32, Kpis)> {
        match *self {
            Outcome::Value(value) => Some((value, Kpis::NONE)),
            Outcome::Values(value, kpis) => Some((value, kpis)),
            Outcome::Failed => None,
        }
    }

    /// The same, if all of it is finite.
    pub fn finite(&self) -> Option<(f32, Kpis)> {
        self.numbers().filter(|(value, kpis)| value.is_finite() && kpis.iter().all(|kpi| kpi.is_finite()))
    }
}

/// A measurement's outcome and the query it answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Report {
    /// The query.
    pub ticket: Ticket,
    /// Which try of the query this was, as the query said.
    pub attempt: u8,
    /// What came out.
    pub outcome: Outcome,
    /// What it cost, whatever came out, where that is not what the query said; ignored unless finite, 0 or more.
    pub cost: Option<f32>,
}

/// A reading of the setting in use, which is the recommendation of a task that is finished.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reading {
    /// The task.
    pub task: u32,
    /// Number of the reading, from 0, with which the watch begins anew.
    pub number: u32,
    /// Readings in which there may be one false alarm on average, 10 to 10⁹; that of number 0 counts.
    pub run_length: f32,
    /// Its standard deviation relative to the other readings'; 1 if all are measured alike.
    pub deviation: f32,
    /// What was measured.
    pub value: f32,
    /// A KPI for each of the problem's guards.
    pub kpis: Kpis,
}

/// What travels in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Blob {
    /// What a tuner has learnt: an opaque snapshot of the optimizer.
    Knowledge,
    /// What to tune, see [`crate::problem`]; its CRC-32 is its number.
    Problem,
}

/// From the station to the tuner. All are idempotent: a repeated request is answered again and acts once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Request<'a> {
    /// Who are you? Answer: `Greeting`.
    Hello {
        /// The station's [`crate::VERSION`].
        version: u16,
    },
    /// Begin a task. Answer: `Begun`.
    Begin(Begin),
    /// What next? Answer: `Query`, `Working` or `Finished`.
    Poll {
        /// The current task.
        task: u32,
    },
    /// A measurement. Answer: `Settled` or `Again`; `Working` when the tuner has not asked for it (yet).
    Report(Report),
    /// End the task early and recommend. Answer: as for `Poll`.
    Stop {
        /// The current task.
        task: u32,
    },
    /// Drop the task and what it taught. Answer: `Aborted`.
    Abort {
        /// The current task.
        task: u32,
    },
    /// How are you? Answer: `Status`, at any time.
    Status,
    /// Here comes something in pieces. Answer: `Ready`.
    Offer {
        /// What it is.
        what: Blob,
        /// Sequence number of the knowledge that it would replace; 0 for anything else.
        replaces: u32,
        /// Its length in bytes.
        total: u32,
        /// CRC-32 of all its bytes; names the transfer in what follows.
        crc: u32,
    },
    /// A piece of what was offered. Answer: `Ready` with the offset wanted next.
    Write {
        /// CRC-32 of the offer.
        crc: u32,
        /// Where the piece begins.
        offset: u32,
        /// 1 to [`crate::MAX_CHUNK`] bytes.
        data: &'a [u8],
    },
    /// Take over what was written; a problem needs none, it is taken over when a task begins with it. Answer: `Stored`.
    Commit {
        /// CRC-32 of the offer.
        crc: u32,
    },
    /// Show a piece of your knowledge. Answer: `Chunk`.
    Read {
        /// Sequence number of the knowledge, as in the greeting.
        knowledge: u32,
        /// Where the piece begins.
        offset: u32,
    },
    /// Go back to the factory's knowledge. Answer: `Stored` with a length of zero.
    Forget {
        /// Sequence number of the knowledge to forget.
        knowledge: u32,
    },
    /// What came of this query of the current task, or of the last one if that has ended? Answer: `Recalled`.
    Recall {
        /// The query.
        ticket: Ticket,
    },
    /// What the setting in use gives now. Answer: `Steady`, or `Changed` once the next task has begun.
    Watch(Reading),
    /// The conditions that hold now. A query that was asked under others is taken back, and the next has its ticket. Answer: as
    /// for `Poll`.
    Under {
        /// The current task.
        task: u32,
        /// A value for each of the problem's conditions, in natural units and in their order.
        conditions: Kpis,
    },
}
