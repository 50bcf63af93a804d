//! Knowledge in two alternating slots: the newest valid one wins.
//!
//! A slot is an area whose payload is the knowledge, byte for byte from [`PAYLOAD_OFFSET`] on, so a board with
//! memory-mapped flash can lend it as a slice. A new one is always written to the other slot, whose sectors are erased
//! one by one as the writing reaches them, the header's first.

use super::area::{self, Format, Found, Header, PAYLOAD_OFFSET};
use super::flash::{self, MAX_WORD};
use super::{Error, Region};
use core::ops::Range;
use embedded_storage::nor_flash::NorFlash;
use foretune_core::snapshot::Crc;

const FORMAT: Format = Format { magic: *b"FTSL", version: 1 };

/// What is known about the knowledge in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Slot {
    /// Grows by one with every commit; the first is 1.
    pub sequence: u32,
    /// Bytes of knowledge; may be 0.
    pub length: u32,
    /// Their CRC-32.
    pub crc: u32,
    /// Whatever the writer wanted to note beside it.
    pub tag: u32,
}

/// The two slots.
#[derive(Debug)]
pub struct Slots {
    regions: [Region; 2],
    /// The newest valid slot, and which region it is in.
    newest: Option<(usize, Slot)>,
    /// Highest sequence number that may have been used.
    last: u32,
    damaged: u32,
}

impl Slots {
    /// Finds the newest valid slot; reads its whole payload to be sure. `base` is the sequence number that a journal
    /// builds on: proof that this slot was found valid before.
    pub fn open<F: NorFlash>(flash: &mut F, regions: [Region; 2], base: Option<u32>) -> Self {
        flash::check_units::<F>();
        let headers = regions.map(|region| area::find(flash, region, FORMAT));
        let age = |i: usize| headers[i].map_or(0, |found| found.header.sequence);
        let last = age(0).max(age(1)).max(base.unwrap_or(0));
        let mut slots = Self { regions, newest: None, last, damaged: 0 };
        for which in if age(0) >= age(1) { [0, 1] } else { [1, 0] } {
            let Some(Found { header, certain }) = headers[which] else { continue };
            let Header { sequence, length, crc, tag, .. } = header;
            if !certain && base != Some(sequence) {
                continue;
            }
            if area::payload_is_sound(flash, regions[which], &header) {
                slots.newest = Some((which, Slot { sequence, length, crc, tag }));
                break;
            }
            slots.damaged += 1;
        }
        slots
    }

    /// The newest valid knowledge.
    pub fn newest(&self) -> Option<Slot> {
        self.newest.map(|(_, slot)| slot)
    }

    /// Complete slots that were passed over because their payload had changed.
    pub fn damaged(&self) -> u32 {
        self.damaged
    }

    /// Most bytes that both slots can hold.
    pub fn capacity(&self) -> u32 {
        let [a, b] = self.regions.map(|region| region.length - PAYLOAD_OFFSET);
        a.min(b)
    }

    /// Where the newest knowledge lies in the flash. Its start is aligned to 128 bytes.
    ///
    /// It stays in place until other knowledge has been committed and a writer is begun after that.
    pub fn payload_range(&self) -> Option<Range<u32>> {
        let (which, slot) = self.newest?;
        let start = self.regions[which].start + PAYLOAD_OFFSET;
        Some(start..start + slot.length)
    }

    /// Reads a part of the newest knowledge.
    pub fn read<F: NorFlash>(&self, flash: &mut F, offset: u32, out: &mut [u8]) -> Result<(), Error> {
        let range = self.payload_range().ok_or(Error::NotOpen)?;
        let end = (out.len() as u64) + u64::from(offset);
        if end > u64::from(range.end - range.start) {
            return Err(Error::TooLarge);
        }
        flash::read(flash, range.start + offset, out)
    }

    /// Begins to write new knowledge over the older slot.
    pub fn writer<F: NorFlash>(&self, flash: &mut F) -> Result<SlotWriter, Error> {
        let which = self.newest.map_or(0, |(which, _)| 1 - which);
        let mut writer = SlotWriter {
            which,
            region: self.regions[which],
            word: [0xFF; MAX_WORD],
            filled: 0,
            flushed: 0,
            erased: 0,
            crc: Crc::new(),
        };
        writer.erase_to(flash, PAYLOAD_OFFSET)?;
        Ok(writer)
    }

    /// Makes what was written the newest knowledge, in one instant.
    pub fn commit<F: NorFlash>(&mut self, flash: &mut F, written: Written, tag: u32) -> Result<Slot, Error> {
        let Written { which, region, length, crc } = written;
        let sequence = self.last.checked_add(1).ok_or(Error::Full)?;
        // From here on the slot may be valid, even if sealing it reports an error.
        self.last = sequence;
        area::seal(flash, region, FORMAT, Header { sequence, length, crc, tag, base: 0 })?;
        let slot = Slot { sequence, length, crc, tag };
        self.newest = Some((which, slot));
        Ok(slot)
    }
}

/// Takes new knowledge in pieces of any length. Dropping it leaves the newest slot as it is.
#[derive(Clone)]
pub struct SlotWriter {
    which: usize,
    region: Region,
    word: [u8; MAX_WORD],
    /// Bytes waiting in `word`.
    filled: usize,
    /// Payload bytes in the flash, whole words.
    flushed: u32,
    /// How far the region is erased.
    erased: u32,
    crc: Crc,
}

impl SlotWriter {
    /// Bytes taken so far.
    pub fn length(&self) -> u32 {
        self.flushed + self.filled as u32
    }

    /// Bytes that still fit.
    pub fn room(&self) -> u32 {
        self.region.length - PAYLOAD_OFFSET - self.length()
    }

    /// CRC-32 of the bytes taken so far.
    pub fn crc(&self) -> u32 {
        self.crc.value()
    }

    /// Takes the next bytes. After an error the writer is of no further use.
    pub fn write<F: NorFlash>(&mut self, flash: &mut F, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() > self.room() as usize {
            return Err(Error::TooLarge);
        }
        self.crc.update(bytes);
        let mut bytes = bytes;
        while !bytes.is_empty() {
            bytes = match self.filled {
                0 if bytes.len() >= F::WRITE_SIZE => self.write_words(flash, bytes)?,
                _ => self.fill_word(flash, bytes)?,
            };
        }
        Ok(())
    }

    /// Writes what is left and checks that everything reads back.
    pub fn finish<F: NorFlash>(mut self, flash: &mut F) -> Result<Written, Error> {
        let (length, crc) = (self.length(), self.crc());
        if self.filled > 0 {
            let mut word = [0xFF; MAX_WORD];
            word[..self.filled].copy_from_slice(&self.word[..self.filled]);
            self.put(flash, &word[..F::WRITE_SIZE])?;
        }
        let written = Written { which: self.which, region: self.region, length, crc };
        let range = written.payload_range();
        if area::checksum(flash, range.start, length)? != crc {
            return Err(Error::Damaged);
        }
        Ok(written)
    }

    /// Writes as many whole words as there are; returns the rest.
    fn write_words<'a, F: NorFlash>(&mut self, flash: &mut F, bytes: &'a [u8]) -> Result<&'a [u8], Error> {
        let (words, rest) = bytes.split_at(bytes.len() - bytes.len() % F::WRITE_SIZE);
        self.put(flash, words)?;
        Ok(rest)
    }

    /// Fills up the waiting word; returns what is left.
    fn fill_word<'a, F: NorFlash>(&mut self, flash: &mut F, bytes: &'a [u8]) -> Result<&'a [u8], Error> {
        let (now, rest) = bytes.split_at(bytes.len().min(F::WRITE_SIZE - self.filled));
        self.word[self.filled..][..now.len()].copy_from_slice(now);
        self.filled += now.len();
        if self.filled == F::WRITE_SIZE {
            let word = self.word;
            self.filled = 0;
            self.put(flash, &word[..F::WRITE_SIZE])?;
        }
        Ok(rest)
    }

    fn put<F: NorFlash>(&mut self, flash: &mut F, words: &[u8]) -> Result<(), Error> {
        let at = PAYLOAD_OFFSET + self.flushed;
        self.erase_to(flash, at + words.len() as u32)?;
        flash::write(flash, self.region.start + at, words)?;
        self.flushed += words.len() as u32;
        Ok(())
    }

    fn erase_to<F: NorFlash>(&mut self, flash: &mut F, end: u32) -> Result<(), Error> {
        if end > self.erased {
            let length = (end - self.erased).next_multiple_of(F::ERASE_SIZE as u32);
            flash::erase(flash, Region { start: self.region.start + self.erased, length })?;
            self.erased += length;
        }
        Ok(())
    }
}

/// New knowledge that is in the flash but not committed: to be looked at, then committed or dropped.
#[derive(Clone, Debug)]
pub struct Written {
    which: usize,
    region: Region,
    length: u32,
    crc: u32,
}

impl Written {
    /// Its CRC-32.
    pub fn crc(&self) -> u32 {
        self.crc
    }

    /// Where it lies in the flash.
    pub fn payload_range(&self) -> Range<u32> {
        let start = self.region.start + PAYLOAD_OFFSET;
        start..start + self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::sim::{SimFlash, Tear};
    use std::vec::Vec;

    type Flash = SimFlash<16, 1024>;
    const REGIONS: [Region; 2] = [Region { start: 0, length: 4096 }, Region { start: 4096, length: 4096 }];

    fn bytes(length: usize, seed: u8) -> Vec<u8> {
        (0..length).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
    }

    fn store(flash: &mut Flash, slots: &mut Slots, payload: &[u8], piece: usize) -> Slot {
        let mut writer = slots.writer(flash).unwrap();
        payload.chunks(piece).for_each(|chunk| writer.write(flash, chunk).unwrap());
        let written = writer.finish(flash).unwrap();
        slots.commit(flash, written, 9).unwrap()
    }

    fn content(flash: &mut Flash, slots: &Slots) -> Vec<u8> {
        let mut out = std::vec![0; slots.newest().unwrap().length as usize];
        slots.read(flash, 0, &mut out).unwrap();
        out
    }

    #[test]
    fn a_new_flash_holds_nothing() {
        let mut flash = Flash::new(8192);
        let slots = Slots::open(&mut flash, REGIONS, None);
        assert_eq!(slots.newest(), None);
        assert_eq!(slots.read(&mut flash, 0, &mut [0]), Err(Error::NotOpen));
    }

    #[test]
    fn pieces_of_any_length_give_the_same_bytes() {
        for (length, piece) in [(0, 1), (1, 1), (16, 16), (700, 1), (700, 7), (700, 33), (3968, 1000)] {
            let mut flash = Flash::new(8192);
            let mut slots = Slots::open(&mut flash, REGIONS, None);
            let payload = bytes(length, 5);
            let slot = store(&mut flash, &mut slots, &payload, piece);
            let again = Slots::open(&mut flash, REGIONS, None);
            assert_eq!(again.newest(), Some(slot));
            assert_eq!(content(&mut flash, &again), payload, "{length} bytes in pieces of {piece}");
        }
    }

    #[test]
    fn slots_alternate_and_the_newest_wins() {
        let mut flash = Flash::new(8192);
        let mut slots = Slots::open(&mut flash, REGIONS, None);
        for round in 1..=5 {
            let payload = bytes(600, round);
            let slot = store(&mut flash, &mut slots, &payload, 100);
            assert_eq!((slot.sequence, slot.tag), (u32::from(round), 9));
            assert_eq!(slots.payload_range().unwrap().start, if round % 2 == 1 { 128 } else { 4096 + 128 });
            let again = Slots::open(&mut flash, REGIONS, None);
            assert_eq!(content(&mut flash, &again), payload);
        }
        assert_eq!(flash.erases()[..5], [3, 0, 0, 0, 2], "only sectors in use, each in every second round");
    }

    #[test]
    fn what_was_not_committed_does_not_count() {
        let mut flash = Flash::new(8192);
        let mut slots = Slots::open(&mut flash, REGIONS, None);
        store(&mut flash, &mut slots, b"old", 3);
        let mut writer = slots.writer(&mut flash).unwrap();
        writer.write(&mut flash, b"new").unwrap();
        let written = writer.finish(&mut flash).unwrap();
        let range = written.payload_range();
        assert_eq!(flash.bytes()[range.start as usize..range.end as usize], *b"new", "it can be looked at");
        assert_eq!(content(&mut flash, &slots), b"old");
        let again = Slots::open(&mut flash, REGIONS, None);
        assert_eq!(content(&mut flash, &again), b"old");
    }

    #[test]
    fn an_uncertain_slot_counts_only_if_a_journal_builds_on_it() {
        let mut flash = Flash::new(8192);
        let slots = Slots::open(&mut flash, REGIONS, None);
        let written = slots.writer(&mut flash).unwrap().finish(&mut flash).unwrap();
        flash.cut_after(2, Tear::Unseen, 1);
        Slots::open(&mut flash, REGIONS, None).commit(&mut flash, written, 0).unwrap_err();
        flash.power_up();
        assert_eq!(Slots::open(&mut flash, REGIONS, None).newest(), None);
        assert_eq!(Slots::open(&mut flash, REGIONS, Some(1)).newest().map(|slot| slot.sequence), Some(1));
    }

    #[test]
    fn more_than_fits_is_refused() {
        let mut flash = Flash::new(8192);
        let slots = Slots::open(&mut flash, REGIONS, None);
        let mut writer = slots.writer(&mut flash).unwrap();
        assert_eq!(writer.room(), slots.capacity());
        assert_eq!(writer.write(&mut flash, &bytes(3969, 0)), Err(Error::TooLarge));
        assert_eq!(writer.write(&mut flash, &bytes(3968, 0)), Ok(()));
        assert_eq!(writer.write(&mut flash, &[1]), Err(Error::TooLarge));
        assert!(writer.finish(&mut flash).is_ok());
    }

    #[test]
    fn reading_beyond_the_end_is_refused() {
        let mut flash = Flash::new(8192);
        let mut slots = Slots::open(&mut flash, REGIONS, None);
        store(&mut flash, &mut slots, b"abc", 3);
        assert_eq!(slots.read(&mut flash, 1, &mut [0; 3]), Err(Error::TooLarge));
        assert_eq!(slots.read(&mut flash, u32::MAX, &mut [0; 3]), Err(Error::TooLarge));
    }

    #[test]
    fn a_damaged_slot_gives_way_to_the_older_one_and_its_number_is_not_used_again() {
        let mut flash = Flash::new(8192);
        let mut slots = Slots::open(&mut flash, REGIONS, None);
        store(&mut flash, &mut slots, b"old", 3);
        store(&mut flash, &mut slots, b"new", 3);
        flash.flip(8 * (4096 + 128));
        let mut slots = Slots::open(&mut flash, REGIONS, None);
        assert_eq!((content(&mut flash, &slots), slots.damaged()), (b"old".to_vec(), 1));
        assert_eq!(store(&mut flash, &mut slots, b"newer", 3).sequence, 3);
    }
}
