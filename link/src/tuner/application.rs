//! What the dialogue wants from the program around it, and what it tells it.

use crate::message::{
    Answer, Begin, Blob, DropReason, Health, Knowledge, Kpis, Point, Query, Reading, Refusal, Ticket,
};

/// Something that happens to a task and must not be forgotten.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Event {
    /// The task begins.
    Begun(Begin),
    /// The open query is answered.
    Observed {
        /// The query.
        ticket: Ticket,
        /// Its value, finite.
        value: f32,
        /// The KPIs that were measured with it, finite.
        kpis: Kpis,
        /// What it cost, where that is not what the query said; finite, 0 or more.
        cost: Option<f32>,
    },
    /// A try of the open query failed; another is wanted.
    Failed {
        /// The query.
        ticket: Ticket,
        /// The try that failed.
        attempt: u8,
    },
    /// The last try of the open query failed: go on without it.
    GivenUp {
        /// The query.
        ticket: Ticket,
        /// What the last try cost, where that is not what the query said; finite, 0 or more.
        cost: Option<f32>,
    },
    /// The station wants the recommendation now.
    Stopped {
        /// The task.
        task: u32,
    },
    /// The station drops the task.
    Aborted {
        /// The task.
        task: u32,
    },
    /// The device drops the task by itself.
    Dropped {
        /// The task.
        task: u32,
        /// Why.
        reason: DropReason,
    },
}

/// What the dialogue needs from the program around it. An error leaves everything as it was.
pub trait Application {
    /// Makes the event durable, then passes it to the optimizer. Must be quick: thinking comes later. A task whose problem
    /// is neither the built-in one nor the one received last is refused, and so is an answer that does not have a KPI for each
    /// of the problem's guards.
    fn apply(&mut self, event: &Event) -> Result<(), Refusal>;

    /// The query that is open, if one is.
    fn proposal(&self) -> Option<Proposal>;

    /// Whether a measurement can give these numbers, all finite. Where none can, it is asked for again.
    fn is_plausible(&self, _value: f32, _kpis: &[f32]) -> bool {
        true
    }

    /// How the application is.
    fn health(&self) -> Health;

    /// What the device knows.
    fn knowledge(&self) -> Knowledge;

    /// Copies stored knowledge; the range lies within it.
    fn read_knowledge(&mut self, offset: u32, data: &mut [u8]) -> Result<(), Refusal>;

    /// What came of the query at this step of the current or last task; it was answered or given up.
    fn recall(&mut self, step: u32) -> Result<Answer, Refusal>;

    /// Asks under these conditions from now on, or until an answer says otherwise: makes that durable, and takes an open query back;
    /// once the task has ended, finds what is best under them, and [finishes](crate::Tuner::finish) again.
    /// Whether anything changed; nothing does while no task is taken up yet. After [`Refusal::Storage`] the tuner is out of order.
    fn under(&mut self, conditions: &[f32]) -> Result<bool, Refusal>;

    /// Takes a reading of the setting in use; number 0 begins the watch anew. It need not be durable. What has changed stays so
    /// until then, and until the next task.
    fn watch(&mut self, reading: &Reading) -> Result<foretune_core::Reading, Refusal>;

    /// Replaces the device's knowledge by none.
    fn forget_knowledge(&mut self) -> Result<(), Refusal>;

    /// Gets ready to receive so many bytes, dropping an unfinished transfer and the problem received last.
    fn open(&mut self, what: Blob, total: u32) -> Result<(), Refusal>;

    /// Takes the next bytes; they come in order and never exceed the total.
    fn write(&mut self, what: Blob, data: &[u8]) -> Result<(), Refusal>;

    /// Checks CRC and content of what was received and takes it over.
    fn commit(&mut self, what: Blob, crc: u32) -> Result<(), Refusal>;
}

/// A query as the optimizer proposes it; the tuner gives it its ticket.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Fidelity, from 0.
    pub fidelity: u8,
    /// Channel samples to average.
    pub samples: u32,
    /// What the budget is charged.
    pub cost: f32,
    /// What to set.
    pub point: Point,
}

impl Proposal {
    /// With its ticket and the number of the try.
    pub fn asked(self, ticket: Ticket, attempt: u8) -> Query {
        let Proposal { fidelity, samples, cost, point } = self;
        Query { ticket, attempt, fidelity, samples, cost, point }
    }
}
