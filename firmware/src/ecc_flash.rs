//! A model of NOR flash with error-correcting words, for emulated boards and for tests.
//!
//! It behaves like the flash of the STM32H7A3 behind its driver: sectors of 8 KB, written in units of 32 bytes, which
//! are two words of 16 bytes that carry a checksum each. A word is written once after an erase, never twice. A word
//! that lost power on the way is *torn*: reading it is an error (the chip would fault), erasing its sector mends it.
//!
//! The content lives in memory; every change goes at once to a [`Medium`] (a file, or nothing), in pieces between
//! which power may fail: *torn* mark, data, *good* mark for a word; *torn* marks, data in four pieces, *erased* marks
//! for a sector. What the medium holds after any prefix of these pieces is what the next start finds.

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};

use crate::board::Mapped;

/// Bytes that are written together.
pub const UNIT: usize = 32;
/// Bytes that share a checksum: a cut may fall between the words of a unit.
pub const WORD: usize = 16;
/// Bytes in a sector, the unit of erasing.
pub const SECTOR: usize = 8192;

/// How a word is, as one byte in the map that follows the data.
pub mod mark {
    /// Erased, ready to be written.
    pub const ERASED: u8 = 0xFF;
    /// Power failed while it was written or erased.
    pub const TORN: u8 = 0x7F;
    /// Written.
    pub const GOOD: u8 = 0x3F;
}

/// Where changes go; a call is a piece that either happens or does not.
pub trait Medium {
    /// Keeps `bytes` at `offset` of the image: the data first, then one mark per word.
    fn keep(&mut self, offset: usize, bytes: &[u8]);
}

/// A medium that forgets, for tests that do not lose power.
impl Medium for () {
    fn keep(&mut self, _: usize, _: &[u8]) {}
}

/// What the flash refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FlashError {
    /// An address or a length is not a multiple of the unit.
    NotAligned,
    /// Beyond the end.
    OutOfBounds,
    /// A word lost power while it was written.
    Torn,
    /// A word was written a second time without an erase.
    WrittenTwice,
}

impl NorFlashError for FlashError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            FlashError::NotAligned => NorFlashErrorKind::NotAligned,
            FlashError::OutOfBounds => NorFlashErrorKind::OutOfBounds,
            FlashError::Torn | FlashError::WrittenTwice => NorFlashErrorKind::Other,
        }
    }
}

/// The model: data, one mark per word, and the medium that keeps both.
pub struct EccFlash<'a, M> {
    data: &'a mut [u8],
    marks: &'a mut [u8],
    medium: M,
}

impl<'a, M: Medium> EccFlash<'a, M> {
    /// Takes over an image: `data` in whole sectors and a mark per word.
    ///
    /// # Panics
    /// When the sizes do not fit each other: an image is laid out by whoever wrote the board's file.
    pub fn new(data: &'a mut [u8], marks: &'a mut [u8], medium: M) -> Self {
        assert!(data.len().is_multiple_of(SECTOR) && marks.len() == data.len() / WORD);
        EccFlash { data, marks, medium }
    }

    fn check(&self, from: u32, to: u32, unit: usize) -> Result<(usize, usize), FlashError> {
        let (from, to) = (from as usize, to as usize);
        match () {
            _ if from > to || to > self.data.len() => Err(FlashError::OutOfBounds),
            _ if !from.is_multiple_of(unit) || !to.is_multiple_of(unit) => Err(FlashError::NotAligned),
            _ => Ok((from, to)),
        }
    }

    fn end(offset: u32, length: usize) -> Result<u32, FlashError> {
        let length = u32::try_from(length).map_err(|_| FlashError::OutOfBounds)?;
        offset.checked_add(length).ok_or(FlashError::OutOfBounds)
    }

    fn set_marks(&mut self, from: usize, to: usize, mark: u8) {
        let words = from / WORD..to / WORD;
        self.marks[words.clone()].fill(mark);
        self.medium.keep(self.data.len() + words.start, &self.marks[words]);
    }

    fn write_word(&mut self, at: usize, word: &[u8]) -> Result<(), FlashError> {
        if self.marks[at / WORD] != mark::ERASED {
            return Err(FlashError::WrittenTwice);
        }
        self.set_marks(at, at + WORD, mark::TORN);
        self.data[at..at + WORD].copy_from_slice(word);
        self.medium.keep(at, word);
        self.set_marks(at, at + WORD, mark::GOOD);
        Ok(())
    }

    fn erase_sector(&mut self, at: usize) {
        self.set_marks(at, at + SECTOR, mark::TORN);
        for piece in (at..at + SECTOR).step_by(SECTOR / 4) {
            let bytes = &mut self.data[piece..piece + SECTOR / 4];
            bytes.fill(0xFF);
            self.medium.keep(piece, bytes);
        }
        self.set_marks(at, at + SECTOR, mark::ERASED);
    }
}

impl<M> ErrorType for EccFlash<'_, M> {
    type Error = FlashError;
}

impl<M: Medium> ReadNorFlash for EccFlash<'_, M> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FlashError> {
        let (from, to) = self.check(offset, Self::end(offset, bytes.len())?, 1)?;
        if self.marks[from / WORD..to.div_ceil(WORD)].contains(&mark::TORN) {
            return Err(FlashError::Torn);
        }
        bytes.copy_from_slice(&self.data[from..to]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.data.len()
    }
}

impl<M: Medium> NorFlash for EccFlash<'_, M> {
    const WRITE_SIZE: usize = UNIT;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), FlashError> {
        let (from, to) = self.check(from, to, SECTOR)?;
        (from..to).step_by(SECTOR).for_each(|at| self.erase_sector(at));
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FlashError> {
        let (from, _) = self.check(offset, Self::end(offset, bytes.len())?, UNIT)?;
        for (index, word) in bytes.chunks(WORD).enumerate() {
            self.write_word(from + index * WORD, word)?;
        }
        Ok(())
    }
}

impl<M> Mapped for EccFlash<'_, M> {
    fn mapped(&self) -> &[u8] {
        self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 2 * SECTOR;
    const IMAGE: usize = SIZE + SIZE / WORD;

    /// Keeps an image until power fails before the given piece.
    struct Supply {
        image: Vec<u8>,
        pieces_left: usize,
    }

    impl Medium for &mut Supply {
        fn keep(&mut self, offset: usize, bytes: &[u8]) {
            if self.pieces_left > 0 {
                self.pieces_left -= 1;
                self.image[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    fn with_flash<T>(
        image: &mut [u8],
        medium: impl Medium,
        act: impl FnOnce(EccFlash<'_, &mut dyn Medium>) -> T,
    ) -> T {
        let mut medium = medium;
        let (data, marks) = image.split_at_mut(SIZE);
        act(EccFlash::new(data, marks, &mut medium as &mut dyn Medium))
    }

    impl Medium for &mut dyn Medium {
        fn keep(&mut self, offset: usize, bytes: &[u8]) {
            (**self).keep(offset, bytes);
        }
    }

    #[test]
    fn what_is_written_is_read_and_mapped() {
        let mut image = vec![0xFF; IMAGE];
        with_flash(&mut image, (), |mut flash| {
            flash.write(32, &[7; 64]).unwrap();
            let mut back = [0; 66];
            flash.read(31, &mut back).unwrap();
            assert_eq!((back[0], back[1], back[64], back[65]), (0xFF, 7, 7, 0xFF));
            assert_eq!(flash.mapped()[32..96], [7; 64]);
        });
    }

    #[test]
    fn a_word_is_written_once_until_its_sector_is_erased() {
        let mut image = vec![0xFF; IMAGE];
        with_flash(&mut image, (), |mut flash| {
            flash.write(0, &[0xFF; UNIT]).unwrap();
            assert_eq!(flash.write(0, &[1; UNIT]), Err(FlashError::WrittenTwice));
            flash.erase(0, SECTOR as u32).unwrap();
            flash.write(0, &[1; UNIT]).unwrap();
        });
    }

    #[test]
    fn crooked_requests_are_refused_and_change_nothing() {
        let mut image = vec![0xFF; IMAGE];
        with_flash(&mut image, (), |mut flash| {
            assert_eq!(flash.write(16, &[1; UNIT]), Err(FlashError::NotAligned));
            assert_eq!(flash.write(0, &[1; 48]), Err(FlashError::NotAligned));
            assert_eq!(flash.write(SIZE as u32, &[1; UNIT]), Err(FlashError::OutOfBounds));
            assert_eq!(flash.write(u32::MAX - 31, &[1; UNIT]), Err(FlashError::OutOfBounds));
            assert_eq!(flash.erase(16, SECTOR as u32), Err(FlashError::NotAligned));
            assert_eq!(flash.erase(SECTOR as u32, 0), Err(FlashError::OutOfBounds));
            assert_eq!(flash.read(SIZE as u32 - 1, &mut [0; 2]), Err(FlashError::OutOfBounds));
        });
        assert_eq!(image, vec![0xFF; IMAGE]);
    }

    #[test]
    fn a_cut_at_any_piece_of_a_write_leaves_old_torn_or_new() {
        let (blank, torn, new) = (Ok(0xFF), Err(FlashError::Torn), Ok(9));
        let expected = [
            (blank, blank),
            (torn, blank),
            (torn, blank),
            (new, blank),
            (new, torn),
            (new, torn),
            (new, new),
        ];
        for (pieces, (first, second)) in expected.into_iter().enumerate() {
            let mut supply = Supply { image: vec![0xFF; IMAGE], pieces_left: pieces };
            let mut memory = vec![0xFF; IMAGE];
            with_flash(&mut memory, &mut supply, |mut flash| flash.write(0, &[9; UNIT]).unwrap());
            with_flash(&mut supply.image, (), |mut flash| {
                let mut byte = [0];
                assert_eq!(flash.read(15, &mut byte).map(|()| byte[0]), first, "after {pieces} pieces");
                assert_eq!(flash.read(16, &mut byte).map(|()| byte[0]), second, "after {pieces} pieces");
                assert_eq!(flash.read(32, &mut byte), Ok(()), "the neighbour is untouched");
            });
        }
    }

    #[test]
    fn a_cut_during_an_erase_is_mended_by_the_next_erase() {
        for pieces in 1..6 {
            let mut supply = Supply { image: vec![0xFF; IMAGE], pieces_left: pieces };
            let mut memory = vec![0xFF; IMAGE];
            with_flash(&mut memory, &mut supply, |mut flash| flash.erase(0, SECTOR as u32).unwrap());
            with_flash(&mut supply.image, (), |mut flash| {
                assert_eq!(flash.read(0, &mut [0]), Err(FlashError::Torn), "after {pieces} pieces");
                assert_eq!(flash.write(0, &[1; UNIT]), Err(FlashError::WrittenTwice));
                flash.erase(0, SECTOR as u32).unwrap();
                flash.write(0, &[1; UNIT]).unwrap();
            });
        }
    }
}
