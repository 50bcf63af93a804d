//! A model of NOR flash with error-correcting words, for emulated boards and for tests.
//!
//! It behaves like the flash of the STM32H7A3 behind its driver: sectors of 8 KB, written in units of 32 bytes, which
//! are two words of 16 bytes that carry a checksum each. A word is written once after an erase, never twice. A word
//! that lost power on the way is *torn*: reading it is an error (the chip would fault), erasing its sector fixes it.
//!
//! The content lives in memory; every change goes at once to a [`Medium`] (a file, or nothing), in pieces between
//! which power may fail: *torn* mark, data, *good* mark for a word; *torn* marks, data in four pieces, *erased* marks
//! for a sector. What the medium holds after any prefix of these pieces is what the next start finds.

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

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

    fn set_marks(&mut self, from: usize, to: usize, mark: u8) {
        let words = from / WORD..to / WORD;
        self.marks[words.clone()].fill(mark);
        self.medium.keep(self.data.len() + words.start, &self.marks[words]);
    }

    fn write_word(&mut self, at: usize, word: &[u8]) -> Result<(), NorFlashErrorKind> {
        if self.marks[at / WORD] != mark::ERASED {
            return Err(NorFlashErrorKind::Other);
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
    type Error = NorFlashErrorKind;
}

impl<M: Medium> ReadNorFlash for EccFlash<'_, M> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let (from, to) = (offset as usize, offset as usize + bytes.len());
        if self.marks[from / WORD..to.div_ceil(WORD)].contains(&mark::TORN) {
            return Err(NorFlashErrorKind::Other);
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

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        (from as usize..to as usize).step_by(SECTOR).for_each(|at| self.erase_sector(at));
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let places = (offset as usize..).step_by(WORD);
        places.zip(bytes.chunks(WORD)).try_for_each(|(at, word)| self.write_word(at, word))
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
    const TORN: Result<u8, NorFlashErrorKind> = Err(NorFlashErrorKind::Other);

    /// Keeps an image until power fails before the given piece.
    struct Supply {
        image: Vec<u8>,
        pieces_left: usize,
    }

    impl Medium for Supply {
        fn keep(&mut self, offset: usize, bytes: &[u8]) {
            if self.pieces_left > 0 {
                self.pieces_left -= 1;
                self.image[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    /// A flash with what an image holds, whose power fails after so many pieces.
    fn flash(image: &mut [u8], pieces_left: usize) -> EccFlash<'_, Supply> {
        let supply = Supply { image: image.to_vec(), pieces_left };
        let (data, marks) = image.split_at_mut(SIZE);
        EccFlash::new(data, marks, supply)
    }

    fn blank() -> Vec<u8> {
        vec![0xFF; SIZE + SIZE / WORD]
    }

    fn byte(
        flash: &mut impl ReadNorFlash<Error = NorFlashErrorKind>,
        at: u32,
    ) -> Result<u8, NorFlashErrorKind> {
        let mut byte = [0];
        flash.read(at, &mut byte).map(|()| byte[0])
    }

    #[test]
    fn a_word_is_written_once_until_its_sector_is_erased() {
        let mut image = blank();
        let mut flash = flash(&mut image, usize::MAX);
        flash.write(32, &[7; 64]).unwrap();
        assert_eq!([31, 32, 95, 96].map(|at| byte(&mut flash, at)), [Ok(0xFF), Ok(7), Ok(7), Ok(0xFF)]);
        assert_eq!(flash.mapped()[32..96], [7; 64]);
        assert!(flash.write(32, &[1; UNIT]).is_err(), "written twice");
        flash.erase(0, SECTOR as u32).unwrap();
        flash.write(32, &[1; UNIT]).unwrap();
    }

    #[test]
    fn a_cut_at_any_piece_of_a_write_leaves_old_torn_or_new() {
        let (old, new) = (Ok(0xFF), Ok(9));
        let expected =
            [(old, old), (TORN, old), (TORN, old), (new, old), (new, TORN), (new, TORN), (new, new)];
        for (pieces, (first, second)) in expected.into_iter().enumerate() {
            let mut image = blank();
            let mut cut = flash(&mut image, pieces);
            cut.write(0, &[9; UNIT]).unwrap();
            let mut image = cut.medium.image;
            let mut found = flash(&mut image, 0);
            let seen = [15, 16, 32].map(|at| byte(&mut found, at));
            assert_eq!(seen, [first, second, old], "after {pieces} pieces");
        }
    }

    #[test]
    fn a_cut_during_an_erase_is_fixed_by_the_next_erase() {
        for pieces in 1..6 {
            let mut image = blank();
            let mut cut = flash(&mut image, pieces);
            cut.erase(0, SECTOR as u32).unwrap();
            let mut image = cut.medium.image;
            let mut found = flash(&mut image, 0);
            assert_eq!(byte(&mut found, 0), TORN, "after {pieces} pieces");
            assert!(found.write(0, &[1; UNIT]).is_err());
            found.erase(0, SECTOR as u32).unwrap();
            found.write(0, &[1; UNIT]).unwrap();
        }
    }
}
