//! A task's history as records of twelve bytes: with a CRC, one word of ECC flash.
//!
//! The `Begun` event opens the journal ([`begin_to_bytes`]); all others, and the recommendation in the end, are its
//! records:
//!
//! | byte | event | part of a recommendation |
//! |---|---|---|
//! | 0 | kind, 1 to 5 | 6 |
//! | 1 | attempt | number of the part, from 0 |
//! | 2..4 | 0 | bytes of the recommendation |
//! | 4..8 | step | " |
//! | 8..12 | bits of the value | " |
//!
//! The task's number is the journal's affair. Numbers are little endian.

use crate::message::{Begin, Recommendation, Ticket};
use crate::tuner::Event;
use heapless::Vec;

/// Length of a record.
pub const RECORD: usize = 12;

/// Most bytes of a task's beginning.
pub const MAX_BEGIN: usize = 32;

/// Most bytes of a recommendation.
const MAX_RECOMMENDATION: usize = 128;

/// Bytes of a recommendation in one record.
const PART: usize = RECORD - 2;

const PART_KIND: u8 = 6;

/// Writes how a task began; returns the bytes used.
pub fn begin_to_bytes<'b>(begin: &Begin, out: &'b mut [u8; MAX_BEGIN]) -> &'b [u8] {
    postcard::to_slice(begin, out).map_or(&[], |bytes| &*bytes)
}

/// Reads how a task began.
pub fn begin_from_bytes(bytes: &[u8]) -> Option<Begin> {
    postcard::from_bytes(bytes).ok()
}

/// An event as a record; none for `Begun`.
pub fn from_event(event: &Event) -> Option<[u8; RECORD]> {
    let (kind, attempt, step, value) = match *event {
        Event::Begun(_) => return None,
        Event::Observed { ticket, value } => (1, 0, ticket.step, value.to_bits()),
        Event::Failed { ticket, attempt } => (2, attempt, ticket.step, 0),
        Event::GivenUp { ticket } => (3, 0, ticket.step, 0),
        Event::Stopped { .. } => (4, 0, 0, 0),
        Event::Aborted { .. } => (5, 0, 0, 0),
    };
    let mut record = [0; RECORD];
    (record[0], record[1]) = (kind, attempt);
    record[4..8].copy_from_slice(&u32::to_le_bytes(step));
    record[8..].copy_from_slice(&value.to_le_bytes());
    Some(record)
}

/// The event in a record of this task; none if it is a part of the recommendation, or unknown.
pub fn to_event(task: u32, record: &[u8; RECORD]) -> Option<Event> {
    let [kind, attempt, _, _, s0, s1, s2, s3, v0, v1, v2, v3] = *record;
    let ticket = Ticket { task, step: u32::from_le_bytes([s0, s1, s2, s3]) };
    match kind {
        1 => Some(Event::Observed { ticket, value: f32::from_le_bytes([v0, v1, v2, v3]) }),
        2 => Some(Event::Failed { ticket, attempt }),
        3 => Some(Event::GivenUp { ticket }),
        4 => Some(Event::Stopped { task }),
        5 => Some(Event::Aborted { task }),
        _ => None,
    }
}

/// Cuts a recommendation into records. After a restart in between, write them all again.
pub fn from_recommendation(recommendation: &Recommendation) -> impl Iterator<Item = [u8; RECORD]> + use<> {
    let mut bytes = [0; MAX_RECOMMENDATION];
    let length = postcard::to_slice(recommendation, &mut bytes).map_or(0, |used| used.len());
    (0..length.div_ceil(PART)).map(move |part| {
        let mut record = [0; RECORD];
        (record[0], record[1]) = (PART_KIND, part as u8);
        record[2..].iter_mut().zip(bytes.iter().skip(part * PART)).for_each(|(to, from)| *to = *from);
        record
    })
}

/// Puts a recommendation together again from the records of a journal.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    bytes: Vec<u8, MAX_RECOMMENDATION>,
}

impl Collector {
    /// Nothing collected.
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Takes any record; returns the recommendation with its last part.
    pub fn push(&mut self, record: &[u8; RECORD]) -> Option<Recommendation> {
        let [PART_KIND, part, bytes @ ..] = record else { return None };
        if *part == 0 {
            self.bytes.clear();
        }
        if usize::from(*part) * PART != self.bytes.len() {
            return None;
        }
        self.bytes.extend_from_slice(bytes).ok()?;
        postcard::take_from_bytes(&self.bytes).ok().map(|(recommendation, _)| recommendation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Coordinate, Reason, Settings};

    fn recommendation(dimensions: usize) -> Recommendation {
        let mut settings = Settings::new();
        (0..dimensions).for_each(|_| settings.push(Coordinate::Unit(0.3)).unwrap());
        let (queries, spent, mean) = (u32::MAX, 99.5, -1.25);
        Recommendation { task: u32::MAX, reason: Reason::Stopped, queries, spent, mean, settings }
    }

    #[test]
    fn events_survive() {
        let ticket = Ticket { task: 7, step: 70_000 };
        let events = [
            Event::Observed { ticket, value: -0.0 },
            Event::Failed { ticket, attempt: 200 },
            Event::GivenUp { ticket },
            Event::Stopped { task: 7 },
            Event::Aborted { task: 7 },
        ];
        for event in events {
            let record = from_event(&event).unwrap();
            assert_eq!(to_event(7, &record), Some(event));
            assert_eq!(Collector::new().push(&record), None);
        }
    }

    #[test]
    fn the_beginning_survives() {
        let begin = Begin { task: u32::MAX, problem: u32::MAX, seed: u64::MAX, budget: 500.0 };
        let mut out = [0; MAX_BEGIN];
        assert_eq!(begin_from_bytes(begin_to_bytes(&begin, &mut out)), Some(begin));
        assert_eq!(from_event(&Event::Begun(begin)), None);
    }

    #[test]
    fn a_recommendation_of_any_size_survives() {
        for dimensions in 0..=crate::MAX_DIMENSIONS {
            let whole = recommendation(dimensions);
            let mut collector = Collector::new();
            let found: std::vec::Vec<_> =
                from_recommendation(&whole).filter_map(|r| collector.push(&r)).collect();
            assert_eq!(found, [whole]);
        }
    }

    #[test]
    fn parts_of_an_interrupted_recommendation_are_forgotten() {
        let whole = recommendation(3);
        let mut collector = Collector::new();
        let cut = from_recommendation(&whole).take(2);
        let found =
            cut.chain(from_recommendation(&whole)).filter_map(|record| collector.push(&record)).last();
        assert_eq!(found, Some(whole));
    }

    #[test]
    fn foreign_records_are_nothing() {
        assert_eq!(to_event(1, &[9; RECORD]), None);
        assert_eq!(to_event(1, &[0xFF; RECORD]), None);
        assert_eq!(Collector::new().push(&[PART_KIND; RECORD]), None, "part 6 without those before it");
    }
}
