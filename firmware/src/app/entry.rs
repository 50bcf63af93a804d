//! What the journal holds: one fixed-size entry per event of a task.
//!
//! | bytes | content (little-endian) |
//! |---|---|
//! | 0 | kind: 1 observed, 2 given up, 3 failed try, 4 stopped, 5 aborted, 6 finished, 7 dropped, 8 restarted |
//! | 1 | fidelity; of a failed try its number; of an end or a drop its reason |
//! | 2 | how the query came about: 0 initial, 1 carried, 2 search |
//! | 3 | 1 if an observation's actual cost is known |
//! | 4 | value, or mean of the recommendation |
//! | 8 | point, 8 numbers |
//! | 40 | spent, queries (of an end); the actual cost, if it is known (of an observation) |

use foretune_core::{Dimension, Kind, Point, Record};
use foretune_link::{DropReason, Event, Reason, Recommendation, Ticket};

use crate::drive::coordinates;

/// Bytes of an entry.
pub const LENGTH: usize = 48;
/// Most dimensions of a point in the journal.
pub const DIMENSIONS: usize = 8;

/// An event of a task, with all that is needed to replay it.
#[derive(Clone, Copy, Debug, PartialEq)]
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The point, in the unit cube.
    pub x: [f32; DIMENSIONS],
    /// The fidelity.
    pub fidelity: u8,
    /// How it came about.
    pub kind: Kind,
}

const REASONS: [Reason; 5] =
    [Reason::Budget, Reason::Capacity, Reason::Exhausted, Reason::Stopped, Reason::Tolerance];
const DROP_REASONS: [DropReason; 3] = [DropReason::NothingObserved, DropReason::Restarts, DropReason::Stored];
const KINDS: [Kind; 3] = [Kind::Initial, Kind::Carried, Kind::Search];

impl Entry {
    /// The end of a task.
    pub fn finished(unit: &[f32], mean: f32, spent: f32, queries: u32, reason: Reason) -> Self {
        Entry::Finished { x: padded(unit), mean, spent, queries, reason }
    }

    /// As bytes.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let (head, value, x, tail) = match *self {
            Entry::Observed(asked, y, cost) => {
                bytes[3] = u8::from(cost.is_some());
                ([1, asked.fidelity, asked.kind as u8], y, asked.x, (cost.unwrap_or(0.0), 0))
            }
            Entry::GivenUp(asked) => ([2, asked.fidelity, asked.kind as u8], 0.0, asked.x, (0.0, 0)),
            Entry::Failed { attempt } => ([3, attempt, 0], 0.0, [0.0; DIMENSIONS], (0.0, 0)),
            Entry::Stopped => ([4, 0, 0], 0.0, [0.0; DIMENSIONS], (0.0, 0)),
            Entry::Aborted => ([5, 0, 0], 0.0, [0.0; DIMENSIONS], (0.0, 0)),
            Entry::Finished { x, mean, spent, queries, reason } => {
                ([6, number_of(reason, &REASONS), 0], mean, x, (spent, queries))
            }
            Entry::Dropped { reason } => {
                ([7, number_of(reason, &DROP_REASONS), 0], 0.0, [0.0; DIMENSIONS], (0.0, 0))
            }
            Entry::Restarted => ([8, 0, 0], 0.0, [0.0; DIMENSIONS], (0.0, 0)),
        };
        bytes[..3].copy_from_slice(&head);
        bytes[4..8].copy_from_slice(&f32::to_le_bytes(value));
        for (bytes, x) in bytes[8..40].chunks_exact_mut(4).zip(x) {
            bytes.copy_from_slice(&x.to_le_bytes());
        }
        bytes[40..44].copy_from_slice(&f32::to_le_bytes(tail.0));
        bytes[44..].copy_from_slice(&u32::to_le_bytes(tail.1));
        bytes
    }

    /// From bytes; `None` if they are no entry of this version.
    pub fn decode(bytes: &[u8; LENGTH]) -> Option<Self> {
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let float = |at: usize| f32::from_le_bytes(word(at));
        let x = core::array::from_fn(|i| float(8 + 4 * i));
        let asked = || Some(Asked { x, fidelity: bytes[1], kind: *KINDS.get(usize::from(bytes[2]))? });
        Some(match bytes[0] {
            1 => Entry::Observed(asked()?, float(4), (bytes[3] == 1).then(|| float(40))),
            2 => Entry::GivenUp(asked()?),
            3 => Entry::Failed { attempt: bytes[1] },
            4 => Entry::Stopped,
            5 => Entry::Aborted,
            6 => Entry::Finished {
                x,
                mean: float(4),
                spent: float(40),
                queries: u32::from_le_bytes(word(44)),
                reason: *REASONS.get(usize::from(bytes[1]))?,
            },
            7 => Entry::Dropped { reason: *DROP_REASONS.get(usize::from(bytes[1]))? },
            8 => Entry::Restarted,
            _ => return None,
        })
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
        Some(Record { unit, fidelity: usize::from(asked.fidelity), kind: asked.kind, y, cost })
    }

    /// The recommendation that an end holds.
    pub fn recommendation(&self, task: u32, dimensions: &[Dimension]) -> Option<Recommendation> {
        let Entry::Finished { x, mean, spent, queries, reason } = *self else { return None };
        Some(Recommendation { task, reason, queries, spent, mean, point: coordinates(dimensions, &x) })
    }
}

fn number_of<T: PartialEq>(reason: T, known: &[T]) -> u8 {
    known.iter().position(|one| *one == reason).unwrap_or(0) as u8
}

/// A point with the rest filled by zeros.
pub fn padded(unit: &[f32]) -> [f32; DIMENSIONS] {
    let mut x = [0.0; DIMENSIONS];
    x.iter_mut().zip(unit).for_each(|(to, from)| *to = *from);
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_their_bytes() {
        let asked = Asked { x: [0.25; DIMENSIONS], fidelity: 3, kind: Kind::Carried };
        for entry in [
            Entry::Observed(asked, -1.5, None),
            Entry::Observed(asked, -1.5, Some(12.5)),
            Entry::GivenUp(asked),
            Entry::Failed { attempt: 2 },
            Entry::Stopped,
            Entry::Aborted,
            Entry::Dropped { reason: DropReason::NothingObserved },
            Entry::Dropped { reason: DropReason::Restarts },
            Entry::Dropped { reason: DropReason::Stored },
            Entry::Restarted,
            Entry::finished(&[0.5, 1.0], 4.5, 990.0, 41, Reason::Tolerance),
        ] {
            assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        }
    }

    #[test]
    fn unknown_bytes_are_no_entry() {
        assert_eq!(Entry::decode(&[0; LENGTH]), None);
        assert_eq!(Entry::decode(&[0xff; LENGTH]), None);
        let mut bytes =
            Entry::Observed(Asked { x: [0.0; 8], fidelity: 0, kind: Kind::Search }, 1.0, None).encode();
        bytes[2] = 9;
        assert_eq!(Entry::decode(&bytes), None);
    }
}
