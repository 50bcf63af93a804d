//! The running task's events, appended one by one.
//!
//! An area's payload is the *preamble*, whatever the task was begun with; records of one size follow it, each in its own
//! words: `payload, CRC-32 over (sequence number, task, index, payload)`. The first place without a sound record ends
//! the journal. So a torn record is as if it had never been, and if one in the middle rots, those that
//! build on it are dropped with it and the task goes on from there.
//!
//! After a restart it is not known whether the last record is really sound and the place behind it really blank.
//! Therefore the first record after a restart (or after a failed write) goes to the other area, freshly
//! erased, to which the earlier ones are copied first. A new task also begins in the other area, so that the last
//! task's number and end remain known until then.

use super::area::{self, Format, Found, Header, PAYLOAD_OFFSET};
use super::flash::{self, MAX_WORD};
use super::{Error, Region};
use embedded_storage::nor_flash::NorFlash;
use foretune_core::snapshot::Crc;
use foretune_link::crc32;

/// Most bytes of a preamble: how the task began, and a problem that came with it.
pub const MAX_PREAMBLE: usize = MAX_WORD + foretune_link::MAX_PROBLEM;

/// Most bytes of a record.
pub const MAX_RECORD: usize = 2 * MAX_WORD - CRC_BYTES;

const CRC_BYTES: usize = 4;

/// Bytes of a preamble that are written at a time.
const PIECE: usize = 2 * MAX_WORD;

/// What is known about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Task {
    /// Its number.
    pub number: u32,
    /// Sequence number of the slot it builds on; 0 for none.
    pub base: u32,
    /// Records there are.
    pub records: u32,
}

/// The journal of the current or last task, with records of `RECORD` bytes.
#[derive(Debug)]
pub struct Journal<const RECORD: usize> {
    regions: [Region; 2],
    active: Option<Active>,
}

/// The area in use.
#[derive(Clone, Copy, Debug)]
struct Active {
    which: usize,
    header: Header,
    /// Records there are.
    count: u32,
    /// Whether they are certainly sound and the place behind them certainly blank.
    certain: bool,
}

impl<const RECORD: usize> Journal<RECORD> {
    const FORMAT: Format = Format { magic: *b"FTJN", version: 4 | (RECORD as u32) << 16 };

    /// Finds the newest task and counts its records.
    pub fn open<F: NorFlash>(flash: &mut F, regions: [Region; 2]) -> Self {
        const { assert!(RECORD > 0 && RECORD <= MAX_RECORD) }
        flash::check_units::<F>();
        let found =
            regions.map(|region| area::find(flash, region, Self::FORMAT).filter(|found| found.certain));
        let age = |i: usize| found[i].map_or(0, |found| found.header.sequence);
        let mut journal = Self { regions, active: None };
        for which in if age(0) >= age(1) { [0, 1] } else { [1, 0] } {
            let Some(Found { header, .. }) = found[which] else { continue };
            if area::payload_is_sound(flash, regions[which], &header) {
                let active = Active { which, header, count: 0, certain: false };
                let count = (0..).take_while(|&index| journal.look(flash, &active, index).is_some()).count();
                journal.active = Some(Active { count: count as u32, ..active });
                break;
            }
        }
        journal
    }

    /// The current or last task.
    pub fn task(&self) -> Option<Task> {
        self.active.map(|Active { header, count, .. }| Task {
            number: header.tag,
            base: header.base,
            records: count,
        })
    }

    /// Records that fit beside a preamble of this length.
    pub fn capacity<F: NorFlash>(&self, preamble: usize) -> u32 {
        let [a, b] = self.regions.map(|region| places::<F, RECORD>(region, preamble as u32));
        a.min(b)
    }

    /// Begins a task. Until this returns, the last task is the current one; from then on, this.
    pub fn begin<F: NorFlash>(
        &mut self,
        flash: &mut F,
        number: u32,
        base: u32,
        preamble: &[u8],
    ) -> Result<(), Error> {
        let which = self.other();
        let header = Header {
            sequence: self
                .active
                .map_or(0, |active| active.header.sequence)
                .checked_add(1)
                .ok_or(Error::Full)?,
            length: preamble.len() as u32,
            crc: crc32(preamble),
            tag: number,
            base,
        };
        self.prepare(flash, which, preamble)?;
        self.activate(flash, Active { which, header, count: 0, certain: true })
    }

    /// Reads what the task was begun with, or as much of it as the buffer holds; returns the part that was read.
    pub fn preamble<'b, F: NorFlash>(&self, flash: &mut F, out: &'b mut [u8]) -> Result<&'b [u8], Error> {
        let active = self.active.ok_or(Error::NotOpen)?;
        let length = out.len().min(active.header.length as usize);
        let out = out.get_mut(..length).ok_or(Error::TooLarge)?;
        flash::read(flash, self.regions[active.which].start + PAYLOAD_OFFSET, out)?;
        Ok(out)
    }

    /// Appends a record: when this returns, it is there for good. After an error, try again.
    pub fn append<F: NorFlash>(&mut self, flash: &mut F, record: &[u8; RECORD]) -> Result<(), Error> {
        let active = self.active.ok_or(Error::NotOpen)?;
        if active.count >= self.capacity::<F>(active.header.length as usize) {
            return Err(Error::Full);
        }
        self.confirm(flash)?;
        let Some(mut active) = self.active else { return Err(Error::NotOpen) };
        let done = self.write_record(flash, &active, active.count, record);
        active.count += u32::from(done.is_ok());
        active.certain = done.is_ok();
        self.active = Some(active);
        done
    }

    /// Makes certain that the records there are now stay, copying them if a restart left them in doubt. What was seen
    /// must not decay after something else was built on it.
    pub fn confirm<F: NorFlash>(&mut self, flash: &mut F) -> Result<(), Error> {
        match self.active {
            Some(Active { certain: false, .. }) => self.copy(flash),
            _ => Ok(()),
        }
    }

    /// A number that is larger after every call, over all restarts: the journal moves to its other area.
    pub fn renew<F: NorFlash>(&mut self, flash: &mut F, base: u32) -> Result<u32, Error> {
        match self.active {
            Some(_) => self.copy(flash)?,
            None => self.begin(flash, 0, base, &[])?,
        }
        self.active.map(|active| active.header.sequence).ok_or(Error::NotOpen)
    }

    /// The record with this index, from 0; none at the end.
    pub fn record<F: NorFlash>(&self, flash: &mut F, index: u32) -> Option<[u8; RECORD]> {
        let active = self.active.filter(|active| index < active.count)?;
        self.look(flash, &active, index)
    }

    fn other(&self) -> usize {
        self.active.map_or(0, |active| 1 - active.which)
    }

    /// Copies preamble and records to the other area and goes on there.
    fn copy<F: NorFlash>(&mut self, flash: &mut F) -> Result<(), Error> {
        let from = self.active.ok_or(Error::NotOpen)?;
        let header =
            Header { sequence: from.header.sequence.checked_add(1).ok_or(Error::Full)?, ..from.header };
        let to = Active { which: self.other(), header, certain: true, ..from };
        flash::erase(flash, self.regions[to.which])?;
        self.copy_preamble(flash, from.which, to.which, from.header.length)?;
        for index in 0..from.count {
            let record = self.look(flash, &from, index).ok_or(Error::Damaged)?;
            self.write_record(flash, &to, index, &record)?;
        }
        self.activate(flash, to)
    }

    /// Copies a preamble to an erased area, piece by piece.
    fn copy_preamble<F: NorFlash>(
        &self,
        flash: &mut F,
        from: usize,
        to: usize,
        length: u32,
    ) -> Result<(), Error> {
        let [from, to] = [from, to].map(|which| self.regions[which].start + PAYLOAD_OFFSET);
        let mut piece = [0; PIECE];
        let mut at = 0;
        while at < length {
            let count = (length - at).min(PIECE as u32);
            let piece = &mut piece[..count as usize];
            flash::read(flash, from + at, piece)?;
            flash::write_checked(flash, to + at, piece)?;
            at += count;
        }
        Ok(())
    }

    /// Erases an area and writes the preamble.
    fn prepare<F: NorFlash>(&self, flash: &mut F, which: usize, preamble: &[u8]) -> Result<(), Error> {
        if preamble.len() > MAX_PREAMBLE
            || places::<F, RECORD>(self.regions[which], preamble.len() as u32) == 0
        {
            return Err(Error::TooLarge);
        }
        flash::erase(flash, self.regions[which])?;
        let mut at = self.regions[which].start + PAYLOAD_OFFSET;
        for piece in preamble.chunks(PIECE) {
            flash::write_checked(flash, at, piece)?;
            at += PIECE as u32;
        }
        Ok(())
    }

    fn activate<F: NorFlash>(&mut self, flash: &mut F, active: Active) -> Result<(), Error> {
        area::seal(flash, self.regions[active.which], Self::FORMAT, active.header)?;
        self.active = Some(active);
        Ok(())
    }

    /// The sound record at this place, if there is one.
    fn look<F: NorFlash>(&self, flash: &mut F, active: &Active, index: u32) -> Option<[u8; RECORD]> {
        if index >= places::<F, RECORD>(self.regions[active.which], active.header.length) {
            return None;
        }
        let mut payload = [0; RECORD];
        let mut crc = [0; CRC_BYTES];
        let start = self.place::<F>(active, index);
        flash::read(flash, start, &mut payload).ok()?;
        flash::read(flash, start + RECORD as u32, &mut crc).ok()?;
        (u32::from_le_bytes(crc) == record_crc(&active.header, index, &payload)).then_some(payload)
    }

    fn write_record<F: NorFlash>(
        &self,
        flash: &mut F,
        active: &Active,
        index: u32,
        record: &[u8; RECORD],
    ) -> Result<(), Error> {
        let mut bytes = [0; MAX_RECORD + CRC_BYTES];
        bytes[..RECORD].copy_from_slice(record);
        bytes[RECORD..RECORD + CRC_BYTES]
            .copy_from_slice(&record_crc(&active.header, index, record).to_le_bytes());
        flash::write_checked(flash, self.place::<F>(active, index), &bytes[..RECORD + CRC_BYTES])
    }

    /// Where in the flash a record has its place.
    fn place<F: NorFlash>(&self, active: &Active, index: u32) -> u32 {
        self.regions[active.which].start + records_start(active.header.length) + index * stride::<F, RECORD>()
    }
}

/// Where records begin in an area.
fn records_start(preamble: u32) -> u32 {
    PAYLOAD_OFFSET + preamble.next_multiple_of(MAX_WORD as u32)
}

/// Bytes from one record to the next.
fn stride<F: NorFlash, const RECORD: usize>() -> u32 {
    flash::round_up::<F>(RECORD + CRC_BYTES) as u32
}

/// Records that have a place in the region.
fn places<F: NorFlash, const RECORD: usize>(region: Region, preamble: u32) -> u32 {
    region.length.saturating_sub(records_start(preamble)) / stride::<F, RECORD>()
}

fn record_crc(header: &Header, index: u32, payload: &[u8]) -> u32 {
    let mut crc = Crc::new();
    for number in [header.sequence, header.tag, index] {
        crc.update(&number.to_le_bytes());
    }
    crc.update(payload);
    crc.value()
}

#[cfg(test)]
mod tests;
