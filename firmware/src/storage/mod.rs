//! What survives a power failure: knowledge in two slots, the running task in a journal.
//!
//! Works on any `embedded-storage` NOR flash and keeps to the strictest rules of the field:
//! - **No word is written twice** between two erases, not even to mark it. A word whose writing may have been cut
//!   short counts as written, even if it reads blank.
//! - **A torn word may fault when read.** The flash must then return an error (on a chip that raises a bus
//!   fault instead, the board's driver has to catch it). Here an error means "damaged", and never stops the start.
//! - **What was cut short may read well once and decay later.** So nothing is ever written behind it: after a restart
//!   the journal goes on in its other area, freshly erased, and a slot counts only when the word behind its header
//!   has been touched, which shows that the header was complete.
//! - **An area is erased just before it is used**, whatever it looks like: an interrupted erase can look blank.
//!
//! | | where | written | erases of each sector |
//! |---|---|---|---|
//! | [`Slots`] | two areas, in turn | at the end of a task | half a time per task |
//! | [`Journal`] | two areas, in turn | at every event of a task | half a time per task, and per restart within a task |
//!
//! So 10 000 cycles last for 20 000 tasks, if a task suffers no restart, and 10 000 if each suffers one.
//!
//! The journal is bound to the sequence number of the slot its task began with. As soon as the task's slot is
//! committed the task is over, in the same instant; there is nothing to clean up and no moment in between.

mod area;
mod flash;
mod journal;
mod slots;
mod store;

#[cfg(any(test, feature = "sim"))]
pub mod sim;

#[cfg(test)]
mod soak;

pub use area::PAYLOAD_OFFSET;
pub use journal::{Journal, MAX_PREAMBLE, MAX_RECORD, Task};
pub use slots::{Slot, SlotWriter, Slots, Written};
pub use store::{Layout, Store};

/// Why the storage could not do what was asked; what was stored before still stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The flash reported an error.
    Flash,
    /// What was written does not read back.
    Damaged,
    /// An area is not aligned to sectors, too small, outside the flash, or overlaps another.
    Layout,
    /// More bytes than the area holds.
    TooLarge,
    /// The journal is full.
    Full,
    /// Nothing is open: no task has begun, no slot is being written, or there is no knowledge.
    NotOpen,
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Flash => "the flash reported an error",
            Self::Damaged => "what was written does not read back",
            Self::Layout => "the storage areas are misaligned, too small, out of bounds or overlap",
            Self::TooLarge => "more bytes than the area holds",
            Self::Full => "the journal is full",
            Self::NotOpen => "nothing is open",
        })
    }
}

impl core::error::Error for Error {}

/// A part of the flash, whole sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte, counted from the start of the flash.
    pub start: u32,
    /// Length in bytes.
    pub length: u32,
}

impl Region {
    /// First byte after the region.
    pub const fn end(&self) -> u32 {
        self.start.saturating_add(self.length)
    }
}
