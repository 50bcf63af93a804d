//! An area's head: what it holds, said when it is complete.
//!
//! An area begins with two cells of 64 bytes, written one after the other when its payload is in place:
//!
//! | bytes | |
//! |---|---|
//! | 0..4 | magic: `FTSL` slot, `FTJN` journal |
//! | 4..8 | format version; a journal adds its record size in the upper half |
//! | 8..12 | sequence number |
//! | 12..16 | length of the payload |
//! | 16..20 | CRC-32 of the payload |
//! | 20..24 | slot: the caller's tag; journal: the task |
//! | 24..28 | slot: 0; journal: sequence number of the slot it builds on |
//! | 28..32 | CRC-32 of the bytes before: the commit word, written last |
//!
//! All little endian. The area is valid when one cell is sound and the second has been touched: that was not begun
//! before the first was complete, so the first is not a half-written word that reads well today and decays tomorrow. How
//! the second one came out does not matter; when it is sound, it also stands in for a first one that rots.

use super::flash::{self, MAX_WORD};
use super::{Error, Region};
use embedded_storage::nor_flash::NorFlash;
use foretune_core::snapshot::Crc;
use foretune_link::crc32;

/// Where the payload begins in an area: aligned for any word that flash or processor might want.
pub const PAYLOAD_OFFSET: u32 = 2 * CELL;

const CELL: u32 = MAX_WORD as u32;
const HEADER: usize = 32;

/// Which data an area holds, and in which format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub magic: [u8; 4],
    pub version: u32,
}

/// What a complete area says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub sequence: u32,
    pub length: u32,
    pub crc: u32,
    pub tag: u32,
    pub base: u32,
}

impl Header {
    fn to_bytes(self, format: Format) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let fields =
            [format.version, self.sequence, self.length, self.crc, self.tag, self.base].map(u32::to_le_bytes);
        bytes[..4].copy_from_slice(&format.magic);
        bytes[4..28].copy_from_slice(fields.as_flattened());
        let crc = crc32(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; HEADER], format: Format) -> Option<Self> {
        let word = |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        let sound = word(28) == crc32(&bytes[..28]);
        let known = bytes[..4] == format.magic && word(4) == format.version;
        (sound && known).then(|| Self {
            sequence: word(8),
            length: word(12),
            crc: word(16),
            tag: word(20),
            base: word(24),
        })
    }
}

/// What the cells of an area say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub header: Header,
    /// Whether it is certain that the header was completely written.
    pub certain: bool,
}

/// Reads the cells. One that cannot be read counts as touched.
pub(super) fn find<F: NorFlash>(flash: &mut F, region: Region, format: Format) -> Option<Found> {
    let mut first = [0; HEADER];
    let mut second = [0; HEADER];
    let first = flash::read(flash, region.start, &mut first).map(|()| first);
    let second = flash::read(flash, region.start + CELL, &mut second).map(|()| second);
    let certain = second != Ok([0xFF; HEADER]);
    let sound =
        |cell: Result<[u8; HEADER], Error>| cell.ok().and_then(|bytes| Header::from_bytes(&bytes, format));
    let header = sound(first).or_else(|| sound(second))?;
    Some(Found { header, certain })
}

/// Declares a freshly erased and filled area complete: the instant in which it becomes valid.
pub(super) fn seal<F: NorFlash>(
    flash: &mut F,
    region: Region,
    format: Format,
    header: Header,
) -> Result<(), Error> {
    let bytes = header.to_bytes(format);
    flash::write_checked(flash, region.start, &bytes)?;
    flash::write_checked(flash, region.start + CELL, &bytes)
}

/// Whether the payload fits the area and has the CRC that its header names.
pub(super) fn payload_is_sound<F: NorFlash>(flash: &mut F, region: Region, header: &Header) -> bool {
    header.length <= region.length.saturating_sub(PAYLOAD_OFFSET)
        && checksum(flash, region.start + PAYLOAD_OFFSET, header.length) == Ok(header.crc)
}

/// CRC-32 of a range of the flash.
pub(super) fn checksum<F: NorFlash>(flash: &mut F, start: u32, length: u32) -> Result<u32, Error> {
    let mut crc = Crc::new();
    let mut block = [0; 256];
    let mut at = 0;
    while at < length {
        let count = (length - at).min(block.len() as u32);
        let bytes = &mut block[..count as usize];
        flash::read(flash, start + at, bytes)?;
        crc.update(bytes);
        at += count;
    }
    Ok(crc.value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::sim::{SimFlash, Tear};

    type Flash = SimFlash<16, 1024>;
    const FORMAT: Format = Format { magic: *b"TEST", version: 1 };
    const HEAD: Header = Header { sequence: 3, length: 0, crc: 0, tag: 7, base: 2 };
    const REGION: Region = Region { start: 1024, length: 1024 };

    #[test]
    fn a_sealed_area_is_found_and_either_cell_is_enough() {
        for damaged in [1024, 1024 + 64] {
            let mut flash = Flash::new(2048);
            seal(&mut flash, REGION, FORMAT, HEAD).unwrap();
            assert_eq!(find(&mut flash, REGION, FORMAT), Some(Found { header: HEAD, certain: true }));
            flash.damage(damaged);
            assert_eq!(find(&mut flash, REGION, FORMAT), Some(Found { header: HEAD, certain: true }));
        }
    }

    #[test]
    fn a_header_is_certain_from_the_first_touch_of_its_copy() {
        let found = |after, tear| {
            let mut flash = Flash::new(2048);
            flash.cut_after(after, tear, 1);
            seal(&mut flash, REGION, FORMAT, HEAD).unwrap_err();
            flash.power_up();
            find(&mut flash, REGION, FORMAT).map(|found| found.certain)
        };
        assert_eq!(found(0, Tear::After), None, "half a header");
        assert_eq!(found(1, Tear::Bits), None);
        assert_eq!(found(1, Tear::Weak), Some(false));
        assert_eq!(found(2, Tear::Unseen), Some(false));
        assert_eq!(found(2, Tear::Fault), Some(true));
        assert_eq!(found(3, Tear::Bits), Some(true));
    }

    #[test]
    fn other_kinds_and_versions_are_not_mine() {
        let mut flash = Flash::new(2048);
        seal(&mut flash, REGION, FORMAT, HEAD).unwrap();
        for other in [Format { magic: *b"REST", ..FORMAT }, Format { version: 2, ..FORMAT }] {
            assert_eq!(find(&mut flash, REGION, other), None);
        }
    }

    #[test]
    fn a_length_beyond_the_area_is_not_sound() {
        let mut flash = Flash::new(2048);
        assert!(!payload_is_sound(&mut flash, REGION, &Header { length: u32::MAX, ..HEAD }));
    }
}
