//! Knowledge and journal together: what the application opens at its start.

use super::area::PAYLOAD_OFFSET;
use super::journal::{Journal, Task};
use super::slots::{Slot, SlotWriter, Slots, Written};
use super::{Error, Region};
use core::ops::Range;
use embedded_storage::nor_flash::NorFlash;

/// Where in the flash everything lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The two areas for knowledge.
    pub slots: [Region; 2],
    /// The two areas for the journal.
    pub journals: [Region; 2],
}

impl Layout {
    /// Two slots and two journals one behind the other.
    pub const fn consecutive(start: u32, slot: u32, journal: u32) -> Self {
        let first = start + 2 * slot;
        Self {
            slots: [Region { start, length: slot }, Region { start: start + slot, length: slot }],
            journals: [
                Region { start: first, length: journal },
                Region { start: first + journal, length: journal },
            ],
        }
    }

    /// The same areas in the same order, each grown to whole sectors of a flash.
    pub const fn in_sectors_of<F: NorFlash>(self) -> Self {
        let sector = F::ERASE_SIZE as u32;
        let [slot, journal] = [self.slots[0].length, self.journals[0].length];
        let [slot, journal] = [slot.next_multiple_of(sector), journal.next_multiple_of(sector)];
        Self::consecutive(self.slots[0].start, slot, journal)
    }

    /// First byte behind all areas.
    pub const fn end(&self) -> u32 {
        self.journals[1].end()
    }

    /// The layout, if all areas are whole sectors of the flash, apart from each other, and large enough for a head.
    pub fn checked<F: NorFlash>(self, flash: &F) -> Result<Self, Error> {
        let [a, b] = self.slots;
        let [c, d] = self.journals;
        let all = [a, b, c, d];
        let sector = F::ERASE_SIZE as u32;
        let fits = all.iter().all(|region| {
            region.start.is_multiple_of(sector)
                && region.length.is_multiple_of(sector)
                && region.length > PAYLOAD_OFFSET
                && region.start.checked_add(region.length).is_some_and(|end| end as usize <= flash.capacity())
        });
        let apart = |i: usize, j: usize| all[i].end() <= all[j].start || all[j].end() <= all[i].start;
        let disjoint = (0..4).all(|i| (0..i).all(|j| apart(i, j)));
        if fits && disjoint { Ok(self) } else { Err(Error::Layout) }
    }
}

/// New knowledge on its way into a slot.
enum Incoming {
    None,
    Writing(SlotWriter),
    Written(Written),
}

/// All that is stored, in a flash of type `F`, with journal records of `RECORD` bytes.
pub struct Store<F, const RECORD: usize> {
    flash: F,
    slots: Slots,
    journal: Journal<RECORD>,
    incoming: Incoming,
}

impl<F: NorFlash, const RECORD: usize> Store<F, RECORD> {
    /// Finds what there is. Damage is passed over; only a wrong layout is an error.
    pub fn open(mut flash: F, layout: Layout) -> Result<Self, Error> {
        let layout = layout.checked(&flash)?;
        let journal = Journal::open(&mut flash, layout.journals);
        let slots = Slots::open(&mut flash, layout.slots, journal.task().map(|task| task.base));
        Ok(Self { flash, slots, journal, incoming: Incoming::None })
    }

    /// The flash, for whoever needs its base address.
    pub fn flash(&mut self) -> &mut F {
        &mut self.flash
    }

    /// The flash, to look at.
    pub fn flash_ref(&self) -> &F {
        &self.flash
    }

    /// Gives the flash back.
    pub fn release(self) -> F {
        self.flash
    }

    /// The knowledge slots.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The journal.
    pub fn journal(&self) -> &Journal<RECORD> {
        &self.journal
    }

    /// The newest knowledge; none on a new device.
    pub fn knowledge(&self) -> Option<Slot> {
        self.slots.newest()
    }

    /// Where the newest knowledge lies in the flash; see [`Slots::payload_range`].
    pub fn knowledge_range(&self) -> Option<Range<u32>> {
        self.slots.payload_range()
    }

    /// Reads a part of the newest knowledge.
    pub fn read_knowledge(&mut self, offset: u32, out: &mut [u8]) -> Result<(), Error> {
        self.slots.read(&mut self.flash, offset, out)
    }

    /// Begins to write new knowledge, dropping what was begun and not committed.
    pub fn open_knowledge(&mut self) -> Result<(), Error> {
        self.incoming = Incoming::None;
        self.incoming = Incoming::Writing(self.slots.writer(&mut self.flash)?);
        Ok(())
    }

    /// Takes the next bytes of new knowledge. After an error, begin again.
    pub fn write_knowledge(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Incoming::Writing(writer) = &mut self.incoming else { return Err(Error::NotOpen) };
        let done = writer.write(&mut self.flash, bytes);
        if done.is_err() {
            self.incoming = Incoming::None;
        }
        done
    }

    /// Ends the writing; the new knowledge can then be looked at before it is committed. Returns where it lies and its
    /// CRC-32.
    pub fn finish_knowledge(&mut self) -> Result<(Range<u32>, u32), Error> {
        let Incoming::Writing(writer) = core::mem::replace(&mut self.incoming, Incoming::None) else {
            return Err(Error::NotOpen);
        };
        let written = writer.finish(&mut self.flash)?;
        let about = (written.payload_range(), written.crc());
        self.incoming = Incoming::Written(written);
        Ok(about)
    }

    /// Makes the finished knowledge the newest, which also ends the running task.
    pub fn commit_knowledge(&mut self, tag: u32) -> Result<Slot, Error> {
        let Incoming::Written(written) = core::mem::replace(&mut self.incoming, Incoming::None) else {
            return Err(Error::NotOpen);
        };
        self.journal.confirm(&mut self.flash)?;
        self.slots.commit(&mut self.flash, written, tag)
    }

    /// The task that runs: begun, and no newer knowledge committed since.
    pub fn running(&self) -> Option<Task> {
        self.journal.task().filter(|task| task.base == self.sequence())
    }

    /// The running or last task, as long as its journal lasts: until the next one begins.
    pub fn last_task(&self) -> Option<Task> {
        self.journal.task()
    }

    /// Begins a task on top of the newest knowledge, with whatever must be known about it.
    pub fn begin_task(&mut self, number: u32, preamble: &[u8]) -> Result<(), Error> {
        let base = self.sequence();
        self.journal.begin(&mut self.flash, number, base, preamble)
    }

    /// A number that is larger after every call, over all restarts. Costs an erase.
    pub fn renew(&mut self) -> Result<u32, Error> {
        let base = self.sequence();
        self.journal.renew(&mut self.flash, base)
    }

    /// Reads what the last task was begun with.
    pub fn preamble<'b>(&mut self, out: &'b mut [u8]) -> Result<&'b [u8], Error> {
        self.journal.preamble(&mut self.flash, out)
    }

    /// Appends a record to the last task's journal: when this returns, it is there for good.
    pub fn append(&mut self, record: &[u8; RECORD]) -> Result<(), Error> {
        self.journal.append(&mut self.flash, record)
    }

    /// The last task's record with this index, from 0; none at the end.
    pub fn record(&mut self, index: u32) -> Option<[u8; RECORD]> {
        self.journal.record(&mut self.flash, index)
    }

    fn sequence(&self) -> u32 {
        self.slots.newest().map_or(0, |slot| slot.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::sim::{SimFlash, Tear};

    type Flash = SimFlash<16, 1024>;
    const LAYOUT: Layout = Layout::consecutive(1024, 2048, 1024);

    fn store() -> Store<Flash, 8> {
        Store::open(Flash::new(8192), LAYOUT).unwrap()
    }

    #[test]
    fn a_task_runs_until_its_knowledge_is_committed() {
        let mut store = store();
        assert_eq!(store.running(), None);
        store.begin_task(1, b"how").unwrap();
        store.append(b"record 0").unwrap();
        let task = Task { number: 1, base: 0, records: 1 };
        assert_eq!(store.running(), Some(task));
        store.open_knowledge().unwrap();
        store.write_knowledge(b"learnt").unwrap();
        let (range, crc) = store.finish_knowledge().unwrap();
        assert_eq!(store.running(), Some(task));
        let slot = store.commit_knowledge(0).unwrap();
        assert_eq!((slot.crc, Some(range)), (crc, store.knowledge_range()));
        assert_eq!((store.running(), store.last_task()), (None, Some(task)));
        let again = Store::<_, 8>::open(store.release(), LAYOUT).unwrap();
        assert_eq!((again.running(), again.last_task()), (None, Some(task)));
    }

    #[test]
    fn knowledge_can_be_dropped_after_a_look() {
        let mut store = store();
        store.open_knowledge().unwrap();
        store.write_knowledge(b"doubtful").unwrap();
        assert_eq!(store.commit_knowledge(0), Err(Error::NotOpen), "not finished");
        store.open_knowledge().unwrap();
        store.write_knowledge(b"doubtful").unwrap();
        store.finish_knowledge().unwrap();
        assert_eq!(store.knowledge(), None);
    }

    #[test]
    fn layouts_that_cannot_work_are_refused() {
        let flash = Flash::new(8192);
        let good = LAYOUT;
        assert_eq!(good.checked(&flash), Ok(good));
        let slot = |start, length| Layout { slots: [Region { start, length }, good.slots[1]], ..good };
        for bad in [slot(1000, 2048), slot(1024, 2000), slot(1024, 0), slot(1024, 3072), slot(7168, 2048)] {
            assert_eq!(bad.checked(&flash), Err(Error::Layout), "{bad:?}");
        }
        assert_eq!(slot(u32::MAX - 1023, 1024).checked(&flash), Err(Error::Layout));
    }

    #[test]
    fn a_record_that_read_well_once_is_certain_when_knowledge_is_built_on_it() {
        let mut store = store();
        store.begin_task(1, b"how").unwrap();
        store.flash().cut_after(0, Tear::Weak, 1);
        store.append(b"the end.").unwrap_err();
        let restart = |store: Store<Flash, 8>| {
            let mut flash = store.release();
            flash.power_up();
            Store::<_, 8>::open(flash, LAYOUT).unwrap()
        };
        let mut store = restart(store);
        assert_eq!(store.record(0), Some(*b"the end."), "it reads well at first");
        store.open_knowledge().unwrap();
        store.finish_knowledge().unwrap();
        store.commit_knowledge(1).unwrap();
        let mut store = restart(restart(store));
        assert_eq!((store.record(0), store.running()), (Some(*b"the end."), None));
    }

    #[test]
    fn a_lost_slot_leaves_no_task_and_no_number_twice() {
        let mut store = store();
        store.open_knowledge().unwrap();
        store.finish_knowledge().unwrap();
        store.commit_knowledge(0).unwrap();
        store.begin_task(1, b"").unwrap();
        let mut flash = store.release();
        flash.damage(1024);
        flash.damage(1024 + 64);
        let mut store = Store::<_, 8>::open(flash, LAYOUT).unwrap();
        assert_eq!((store.knowledge(), store.running()), (None, None));
        store.open_knowledge().unwrap();
        store.finish_knowledge().unwrap();
        assert_eq!(store.commit_knowledge(0).unwrap().sequence, 2);
        assert_eq!(store.running(), None);
    }
}
