//! What the journal holds: one entry per event of a task, as `postcard` writes it, filled up with zeros.

use foretune_core::{Dimension, Kind, Point, Query, Record};
use foretune_link::{Answer, DropReason, Event, Reason, Recommendation, Ticket};
use serde::{Deserialize, Serialize};

use crate::drive::coordinates;

/// Bytes of an entry.
pub const LENGTH: usize = 48;
/// Most dimensions of a point in the journal.
pub const DIMENSIONS: usize = 8;

/// An event of a task, with all that is needed to replay it. The order of variants and fields is the format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// A query was answered; what that cost, where it is not what the query said.
    Observed(Asked, f32, Option<f32>),
    /// A query was given up.
    GivenUp(Asked),
    /// A try of the open query failed.
    Failed {
        /// Its number.
        attempt: u8,
    },
    /// The station wants the recommendation.
    Stopped,
    /// The station dropped the task.
    Aborted,
    /// The device dropped the task.
    Dropped {
        /// Why.
        reason: DropReason,
    },
    /// The device restarted after a fault, with the entries before this one to replay.
    Restarted,
    /// The task ended.
    Finished {
        /// The recommended point.
        x: [f32; DIMENSIONS],
        /// Its mean.
        mean: f32,
        /// What the queries cost.
        spent: f32,
        /// How many there were.
        queries: u32,
        /// Why it ended.
        reason: Reason,
    },
}

/// A query, as the journal remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The point, in the unit cube.
    x: [f32; DIMENSIONS],
    fidelity: u8,
    /// How it came about: its place in [`KINDS`].
    kind: u8,
}

const KINDS: [Kind; 3] = [Kind::Initial, Kind::Carried, Kind::Search];

impl Asked {
    /// Of a query.
    pub fn new(query: &Query) -> Self {
        Asked { x: padded(query.unit()), fidelity: query.fidelity() as u8, kind: query.kind() as u8 }
    }
}

impl Entry {
    /// The end of a task.
    pub fn finished(unit: &[f32], mean: f32, spent: f32, queries: u32, reason: Reason) -> Self {
        Entry::Finished { x: padded(unit), mean, spent, queries, reason }
    }

    /// As bytes.
    #[inline(never)]
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let written = postcard::to_slice(self, &mut bytes);
        debug_assert!(written.is_ok(), "there is room for every entry");
        bytes
    }

    /// From bytes; `None` if they are no entry of this version.
    #[inline(never)]
    pub fn decode(bytes: &[u8; LENGTH]) -> Option<Self> {
        postcard::take_from_bytes(bytes).ok().map(|(entry, _)| entry)
    }

    /// The event that the dialogue takes up; an end and a restart are none.
    pub fn event(&self, ticket: Ticket) -> Option<Event> {
        let task = ticket.task;
        match *self {
            Entry::Observed(_, value, cost) => Some(Event::Observed { ticket, value, cost }),
            Entry::GivenUp(_) => Some(Event::GivenUp { ticket }),
            Entry::Failed { attempt } => Some(Event::Failed { ticket, attempt }),
            Entry::Stopped => Some(Event::Stopped { task }),
            Entry::Aborted => Some(Event::Aborted { task }),
            Entry::Dropped { reason } => Some(Event::Dropped { task, reason }),
            Entry::Finished { .. } | Entry::Restarted => None,
        }
    }

    /// The answer that the optimizer recalls, of a problem in so many dimensions.
    pub fn record(&self, dimensions: usize) -> Option<Record> {
        let (asked, y, cost) = match *self {
            Entry::Observed(asked, y, cost) => (asked, Some(y), cost),
            Entry::GivenUp(asked) => (asked, None, None),
            _ => return None,
        };
        let unit = Point::from_slice(asked.x.get(..dimensions)?).ok()?;
        let kind = *KINDS.get(usize::from(asked.kind))?;
        Some(Record { unit, fidelity: usize::from(asked.fidelity), kind, y, kpis: Default::default(), cost })
    }

    /// The answer that is given back to who asks for it.
    pub fn answer(&self) -> Option<Answer> {
        let (Asked { x, fidelity, .. }, value) = match *self {
            Entry::Observed(asked, y, _) => (asked, Some(y)),
            Entry::GivenUp(asked) => (asked, None),
            _ => return None,
        };
        Some(Answer { fidelity, value, unit: x.into_iter().collect() })
    }

    /// The recommendation that an end holds.
    pub fn recommendation(&self, task: u32, dimensions: &[Dimension]) -> Option<Recommendation> {
        let Entry::Finished { x, mean, spent, queries, reason } = *self else { return None };
        Some(Recommendation { task, reason, queries, spent, mean, point: coordinates(dimensions, &x) })
    }
}

/// A point with the rest filled by zeros.
fn padded(unit: &[f32]) -> [f32; DIMENSIONS] {
    let mut x = [0.0; DIMENSIONS];
    x.iter_mut().zip(unit).for_each(|(to, from)| *to = *from);
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_their_bytes() {
        let asked = Asked { x: [0.25; DIMENSIONS], fidelity: u8::MAX, kind: 1 };
        for entry in [
            Entry::Observed(asked, -1.5, None),
            Entry::Observed(asked, -1.5, Some(12.5)),
            Entry::GivenUp(asked),
            Entry::Failed { attempt: 2 },
            Entry::Stopped,
            Entry::Aborted,
            Entry::Dropped { reason: DropReason::Stored },
            Entry::Restarted,
            Entry::finished(&[0.5; DIMENSIONS], 4.5, 990.0, u32::MAX, Reason::Tolerance),
        ] {
            assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        }
        for (place, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(place, kind as usize);
            let asked = Asked { kind: kind as u8, ..asked };
            assert_eq!(Entry::GivenUp(asked).record(2).map(|record| record.kind), Some(kind));
        }
    }

    #[test]
    fn unknown_bytes_are_no_entry_and_no_answer() {
        assert_eq!(Entry::decode(&[0xff; LENGTH]), None);
        let asked = Asked { x: [0.0; DIMENSIONS], fidelity: 0, kind: 9 };
        assert_eq!(Entry::GivenUp(asked).record(2), None);
    }
}
