//! What the journal holds: one entry per event of a task, as `postcard` writes it, filled up with zeros.

use foretune_core::{Kind, Point, Problem, Query, Record};
use foretune_link::{Answer, DropReason, Event, Kpis, Reason, Recommendation, Ticket};
use serde::{Deserialize, Serialize};

use crate::drive::coordinates;

/// Bytes of an entry.
pub const LENGTH: usize = 48;
/// Most numbers of an answer in the journal beside its value: the dimensions of a point, and the KPIs.
pub const NUMBERS: usize = 8;

/// An event of a task, with all that is needed to replay it. The order of variants and fields is the format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// A query was answered, or, without a value, given up; what that cost, where it is not what the query said.
    Answered(Asked, Option<f32>, Option<f32>),
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
        x: [f32; NUMBERS],
        /// Its mean.
        mean: f32,
        /// What the queries cost.
        spent: f32,
        /// How many there were.
        queries: u32,
        /// Why it ended.
        reason: Reason,
        /// Whether floor and guards are kept there.
        assured: bool,
    },
    /// The next query is asked under these conditions, unless an answer under others comes first.
    Under(Kpis),
}

/// A query, as the journal remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The point, in the unit cube, then the KPIs of its answer.
    numbers: [f32; NUMBERS],
    fidelity: u8,
    /// How it came about: its place in [`KINDS`].
    kind: u8,
}

const KINDS: [Kind; 3] = [Kind::Initial, Kind::Carried, Kind::Search];

impl Asked {
    /// Of a query, the point where it was measured, and the KPIs.
    pub fn new(query: &Query, unit: &[f32], kpis: &[f32]) -> Self {
        let numbers = padded(unit.iter().chain(kpis));
        Asked { numbers, fidelity: query.fidelity() as u8, kind: query.kind() as u8 }
    }

    /// The point and the KPIs of a problem's guards, if the journal has room for them.
    fn split(&self, problem: &Problem<'_>) -> Option<(&[f32], &[f32])> {
        let (unit, rest) = self.numbers.split_at_checked(problem.dimensions.len())?;
        Some((unit, rest.get(..problem.guards.len())?))
    }
}

impl Entry {
    /// The end of a task.
    pub fn finished(best: &foretune_core::Recommendation, spent: f32, queries: u32, reason: Reason) -> Self {
        let (x, mean, assured) = (padded(best.unit()), best.mean, best.assured);
        Entry::Finished { x, mean, spent, queries, reason, assured }
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

    /// The event that the dialogue takes up, of a task of this problem; an end and a restart are none.
    pub fn event(&self, ticket: Ticket, problem: &Problem<'_>) -> Option<Event> {
        let task = ticket.task;
        match *self {
            Entry::Answered(_, None, cost) => Some(Event::GivenUp { ticket, cost }),
            Entry::Answered(asked, Some(value), cost) => {
                let kpis = asked.split(problem).map_or(Kpis::NONE, |(_, kpis)| Kpis::new(kpis));
                Some(Event::Observed { ticket, value, kpis, cost })
            }
            Entry::Failed { attempt } => Some(Event::Failed { ticket, attempt }),
            Entry::Stopped => Some(Event::Stopped { task }),
            Entry::Aborted => Some(Event::Aborted { task }),
            Entry::Dropped { reason } => Some(Event::Dropped { task, reason }),
            Entry::Finished { .. } | Entry::Restarted | Entry::Under(_) => None,
        }
    }

    /// The answer that the optimizer recalls, of a task of this problem.
    pub fn record(&self, problem: &Problem<'_>) -> Option<Record> {
        let Entry::Answered(asked, y, cost) = *self else { return None };
        let (unit, kpis) = asked.split(problem)?;
        let (unit, kind) = (Point::from_slice(unit).ok()?, *KINDS.get(usize::from(asked.kind))?);
        let kpis = kpis.iter().copied().filter(|_| y.is_some()).collect();
        Some(Record { unit, fidelity: usize::from(asked.fidelity), kind, y, kpis, cost })
    }

    /// The answer that is given back to who asks for it.
    pub fn answer(&self) -> Option<Answer> {
        let Entry::Answered(Asked { numbers, fidelity, .. }, value, _) = *self else { return None };
        Some(Answer { fidelity, value, numbers: numbers.into_iter().collect() })
    }

    /// The recommendation that an end holds.
    pub fn recommendation(&self, task: u32, problem: &Problem<'_>) -> Option<Recommendation> {
        let Entry::Finished { x, mean, spent, queries, reason, assured } = *self else { return None };
        let point = coordinates(problem.dimensions, &x);
        Some(Recommendation { task, reason, queries, spent, mean, point, assured })
    }
}

/// Numbers with the rest filled by zeros.
fn padded<'a>(numbers: impl IntoIterator<Item = &'a f32>) -> [f32; NUMBERS] {
    let mut padded = [0.0; NUMBERS];
    padded.iter_mut().zip(numbers).for_each(|(to, from)| *to = *from);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_core::{Dimension, Floor, Guard, Level, Side};

    const FLOOR: Floor = Floor { level: Level::Value(0.0), risk: 0.1 };
    const PROBLEM: Problem<'static> = Problem {
        dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
        guards: &[Guard { side: Side::AtLeast, floor: FLOOR, noise: &[] }; 2],
        ..Problem::PLAIN
    };

    #[test]
    fn an_answer_has_its_kpis_behind_its_point_and_one_that_was_given_up_has_none() {
        let asked = Asked { numbers: padded(&[0.25, 0.5, 7.0, -8.0]), fidelity: 0, kind: 0 };
        let observed = Entry::Answered(asked, Some(1.0), None);
        let record = observed.record(&PROBLEM).unwrap();
        assert_eq!((&record.unit[..], &record.kpis[..]), (&[0.25, 0.5][..], &[7.0, -8.0][..]));
        let ticket = Ticket { task: 1, step: 0 };
        let kpis = Kpis::new(&record.kpis);
        let event = Event::Observed { ticket, value: 1.0, kpis, cost: None };
        assert_eq!(observed.event(ticket, &PROBLEM), Some(event));
        assert!(Entry::Answered(asked, None, None).record(&PROBLEM).unwrap().kpis.is_empty());
        let wide = Problem { dimensions: &[PROBLEM.dimensions[0]; NUMBERS - 1], ..PROBLEM };
        assert_eq!(observed.record(&wide), None, "more than there is room for");
    }

    #[test]
    fn entries_survive_their_bytes() {
        let asked = Asked { numbers: [0.25; NUMBERS], fidelity: u8::MAX, kind: 1 };
        let (x, mean, spent, queries) = ([0.5; NUMBERS], 4.5, 990.0, u32::MAX);
        for entry in [
            Entry::Answered(asked, Some(-1.5), None),
            Entry::Answered(asked, Some(-1.5), Some(12.5)),
            Entry::Answered(asked, None, Some(0.25)),
            Entry::Failed { attempt: 2 },
            Entry::Stopped,
            Entry::Aborted,
            Entry::Dropped { reason: DropReason::Stored },
            Entry::Restarted,
            Entry::Under(Kpis::new(&[0.5, -1e30, 3.0, 4.0])),
            Entry::Finished { x, mean, spent, queries, reason: Reason::Tolerance, assured: true },
        ] {
            assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        }
        for (place, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(place, kind as usize);
            let asked = Asked { kind: kind as u8, ..asked };
            assert_eq!(
                Entry::Answered(asked, None, None).record(&PROBLEM).map(|record| record.kind),
                Some(kind)
            );
        }
    }

    #[test]
    fn unknown_bytes_are_no_entry_and_no_answer() {
        assert_eq!(Entry::decode(&[0xff; LENGTH]), None);
        let asked = Asked { numbers: [0.0; NUMBERS], fidelity: 0, kind: 9 };
        assert_eq!(Entry::Answered(asked, None, None).record(&PROBLEM), None);
    }
}
