//! Reading, writing and erasing NOR flash in the units it wants.

use super::{Error, Region};
use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};

/// Largest write word that is supported, bytes.
pub(super) const MAX_WORD: usize = 64;

/// Fails to compile for a flash whose units are beyond what this module assumes.
pub(super) const fn check_units<F: NorFlash>() {
    const {
        assert!(F::WRITE_SIZE > 0 && MAX_WORD.is_multiple_of(F::WRITE_SIZE), "write word too large or odd");
        assert!(F::READ_SIZE == 1, "cannot be read byte by byte");
        assert!(F::ERASE_SIZE.is_multiple_of(MAX_WORD), "sector too small or odd");
    }
}

/// The next multiple of the write word.
pub(super) const fn round_up<F: NorFlash>(length: usize) -> usize {
    length.next_multiple_of(F::WRITE_SIZE)
}

/// Reads any range; an error if any word of it cannot be read.
pub(super) fn read<F: ReadNorFlash>(flash: &mut F, offset: u32, out: &mut [u8]) -> Result<(), Error> {
    flash.read(offset, out).map_err(|_| Error::Flash)
}

/// Writes whole words to where nothing was written since the erase.
pub(super) fn write<F: NorFlash>(flash: &mut F, offset: u32, bytes: &[u8]) -> Result<(), Error> {
    flash.write(offset, bytes).map_err(|_| Error::Flash)
}

/// Writes the words that hold `bytes` (at most [`MAX_WORD`] times two), the last one filled up, and reads them back.
pub(super) fn write_checked<F: NorFlash>(flash: &mut F, offset: u32, bytes: &[u8]) -> Result<(), Error> {
    let mut padded = [0xFF; 2 * MAX_WORD];
    let mut back = [0; 2 * MAX_WORD];
    let length = round_up::<F>(bytes.len());
    let padded = padded.get_mut(..length).ok_or(Error::TooLarge)?;
    let back = back.get_mut(..length).ok_or(Error::TooLarge)?;
    padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    write(flash, offset, padded)?;
    read(flash, offset, back)?;
    if padded == back { Ok(()) } else { Err(Error::Damaged) }
}

/// Erases a range of whole sectors, one by one from the front.
pub(super) fn erase<F: NorFlash>(flash: &mut F, range: Region) -> Result<(), Error> {
    let mut at = range.start;
    while at < range.end() {
        let next = at + F::ERASE_SIZE as u32;
        flash.erase(at, next).map_err(|_| Error::Flash)?;
        at = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::sim::SimFlash;

    #[test]
    fn a_faulting_word_makes_the_read_fail() {
        let mut flash = SimFlash::<16, 64>::new(64);
        flash.damage(20);
        assert_eq!(read(&mut flash, 0, &mut [0; 16]), Ok(()));
        assert_eq!(read(&mut flash, 10, &mut [0; 16]), Err(Error::Flash));
    }

    #[test]
    fn what_does_not_read_back_is_reported() {
        let mut flash = SimFlash::<16, 64>::new(64);
        flash.stick(3);
        assert_eq!(write_checked(&mut flash, 0, &[0; 16]), Err(Error::Damaged));
        assert_eq!(write_checked(&mut flash, 16, &[0; 16]), Ok(()));
    }
}
