//! A simulated NOR flash with all the vices of a real one, for tests.
//!
//! Bits only clear, words are written once between erases (a second time panics: that is a bug in the code under test),
//! and the power can be cut in the middle of any operation, leaving it torn in one of several ways.

extern crate std;

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;
use std::cell::Cell;
use std::rc::Rc;
use std::vec::Vec;

/// What the operation during which the power fails leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// Nothing happened yet.
    Before,
    /// The first few bytes are done.
    Prefix,
    /// A random subset of the bits is done.
    Bits,
    /// What was under way faults when read; without ECC it reads as something.
    Fault,
    /// It looks as before, but the cells are no longer clean: a further write would be unreliable.
    Unseen,
    /// It looks done after the next start, and faults when read from the second start on; without ECC it then reads as
    /// something else.
    Weak,
    /// It was just completed.
    After,
}

impl Tear {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Before, Self::Prefix, Self::Bits, Self::Fault, Self::Unseen, Self::Weak, Self::After];
}

/// Why the simulated flash refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimError {
    /// The power is off.
    Off,
    /// The word cannot be read.
    Fault,
    /// Misaligned or out of bounds.
    Argument(NorFlashErrorKind),
}

impl NorFlashError for SimError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Argument(kind) => *kind,
            Self::Off | Self::Fault => NorFlashErrorKind::Other,
        }
    }
}

/// State of a word beside its bits.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Written since the last complete erase, or not completely erased.
    used: bool,
    /// Faults when read.
    faulty: bool,
    /// Starts until it faults when read; 0 for a sound one.
    weak: u8,
}

/// A flash with its write and erase units in bytes.
#[derive(Clone, Debug)]
pub struct SimFlash<const WRITE: usize, const ERASE: usize> {
    bytes: Vec<u8>,
    words: Vec<Word>,
    stuck: Vec<usize>,
    erases: Vec<u32>,
    operations: u64,
    fuse: Option<(u64, Tear)>,
    off: Rc<Cell<bool>>,
    ecc: bool,
    random: XorShiftRng,
}

impl<const WRITE: usize, const ERASE: usize> SimFlash<WRITE, ERASE> {
    /// A blank flash of so many bytes.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity.is_multiple_of(ERASE) && ERASE.is_multiple_of(WRITE));
        Self {
            bytes: std::vec![0xFF; capacity],
            words: std::vec![Word::default(); capacity / WRITE],
            stuck: Vec::new(),
            erases: std::vec![0; capacity / ERASE],
            operations: 0,
            fuse: None,
            off: Rc::default(),
            ecc: true,
            random: XorShiftRng::seed_from_u64(1),
        }
    }

    /// The same without error correction: what is torn or decays does not fault when read, but reads as something.
    pub fn without_ecc(self) -> Self {
        Self { ecc: false, ..self }
    }

    /// A flash of which nothing is known but its bytes: no word may be written before an erase.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut flash = Self::new(bytes.len());
        flash.bytes.copy_from_slice(bytes);
        flash.words.fill(Word { used: true, ..Word::default() });
        flash
    }

    /// Words written and sectors erased so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Erases of each sector so far.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// All bytes, as they are in the cells.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Cuts the power during the operation after `count` more ones; `seed` decides what exactly is torn.
    pub fn cut_after(&mut self, count: u64, tear: Tear, seed: u64) {
        self.fuse = Some((self.operations + count, tear));
        self.random = XorShiftRng::seed_from_u64(seed);
    }

    /// Whether the power was cut.
    pub fn is_off(&self) -> bool {
        self.off.get()
    }

    /// What says so to others: true when the power was cut.
    pub fn switch(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.off)
    }

    /// Switches the power on again, with no further cut planned.
    pub fn power_up(&mut self) {
        self.off.set(false);
        self.fuse = None;
        for index in 0..self.words.len() {
            let decays = self.words[index].weak == 1;
            self.words[index].weak = self.words[index].weak.saturating_sub(1);
            match self.ecc {
                true => self.words[index].faulty |= decays,
                false if decays => self.scramble(index),
                false => {}
            }
        }
    }

    /// Some of a word's bits read differently from now on.
    fn scramble(&mut self, word: usize) {
        let mut noise = std::vec![0; WRITE];
        self.random.fill_bytes(&mut noise);
        self.bytes[word * WRITE..][..WRITE].iter_mut().zip(noise).for_each(|(byte, noise)| *byte ^= noise);
    }

    /// Flips a bit: bit rot that no ECC notices.
    pub fn flip(&mut self, bit: usize) {
        self.bytes[bit / 8] ^= 1 << (bit % 8);
    }

    /// Makes the word at this byte fault when read.
    pub fn damage(&mut self, offset: usize) {
        self.words[offset / WRITE].faulty = true;
    }

    /// Makes this byte keep its bits whatever is written.
    pub fn stick(&mut self, offset: usize) {
        self.stuck.push(offset);
    }

    /// Counts an operation; tells how it is torn if the power fails in it.
    fn operate(&mut self) -> Result<Option<Tear>, SimError> {
        if self.is_off() {
            return Err(SimError::Off);
        }
        let tear = self.fuse.filter(|(at, _)| *at == self.operations).map(|(_, tear)| tear);
        self.operations += 1;
        self.off.set(tear.is_some());
        Ok(tear)
    }

    fn write_word(&mut self, word: usize, bytes: &[u8]) -> Result<(), SimError> {
        let tear = self.operate()?;
        assert!(!self.words[word].used, "word {word} is written twice");
        self.words[word].used = tear != Some(Tear::Before);
        let done = self.bits_done(WRITE, tear);
        for (i, (new, done)) in bytes.iter().zip(done).enumerate() {
            let at = word * WRITE + i;
            if !self.stuck.contains(&at) {
                self.bytes[at] &= new | !done;
            }
        }
        self.mark(word, tear);
        tear.map_or(Ok(()), |_| Err(SimError::Off))
    }

    fn erase_sector(&mut self, sector: usize) -> Result<(), SimError> {
        let tear = self.operate()?;
        self.erases[sector] += 1;
        let done = self.bits_done(ERASE, tear);
        self.bytes[sector * ERASE..][..ERASE].iter_mut().zip(done).for_each(|(byte, done)| *byte |= done);
        for word in sector * (ERASE / WRITE)..(sector + 1) * (ERASE / WRITE) {
            match tear {
                None | Some(Tear::After) => self.words[word] = Word::default(),
                Some(Tear::Before) => {}
                Some(_) => {
                    self.words[word].used = true;
                    self.mark(word, tear);
                }
            }
        }
        tear.map_or(Ok(()), |_| Err(SimError::Off))
    }

    /// Which bits of an operation on so many bytes take effect.
    fn bits_done(&mut self, length: usize, tear: Option<Tear>) -> Vec<u8> {
        let mut done = std::vec![0; length];
        match tear {
            None | Some(Tear::After | Tear::Weak) => done.fill(0xFF),
            Some(Tear::Before | Tear::Unseen) => {}
            Some(Tear::Prefix) => {
                let count = self.random.next_u32() as usize % (length + 1);
                done[..count].fill(0xFF);
            }
            Some(Tear::Bits | Tear::Fault) => self.random.fill_bytes(&mut done),
        }
        done
    }

    fn mark(&mut self, word: usize, tear: Option<Tear>) {
        self.words[word].faulty |= self.ecc && tear == Some(Tear::Fault);
        if tear == Some(Tear::Weak) {
            self.words[word].weak = 2;
        }
    }
}

impl<const WRITE: usize, const ERASE: usize> crate::board::Mapped for SimFlash<WRITE, ERASE> {
    fn mapped(&self) -> &[u8] {
        self.bytes()
    }
}

impl<const WRITE: usize, const ERASE: usize> ErrorType for SimFlash<WRITE, ERASE> {
    type Error = SimError;
}

impl<const WRITE: usize, const ERASE: usize> ReadNorFlash for SimFlash<WRITE, ERASE> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), SimError> {
        if self.is_off() {
            return Err(SimError::Off);
        }
        embedded_storage::nor_flash::check_read(self, offset, bytes.len()).map_err(SimError::Argument)?;
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        if !bytes.is_empty() && self.words[start / WRITE..=(end - 1) / WRITE].iter().any(|word| word.faulty) {
            return Err(SimError::Fault);
        }
        bytes.copy_from_slice(&self.bytes[start..end]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl<const WRITE: usize, const ERASE: usize> NorFlash for SimFlash<WRITE, ERASE> {
    const WRITE_SIZE: usize = WRITE;
    const ERASE_SIZE: usize = ERASE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), SimError> {
        embedded_storage::nor_flash::check_erase(self, from, to).map_err(SimError::Argument)?;
        (from as usize / ERASE..to as usize / ERASE).try_for_each(|sector| self.erase_sector(sector))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SimError> {
        embedded_storage::nor_flash::check_write(self, offset, bytes.len()).map_err(SimError::Argument)?;
        let first = offset as usize / WRITE;
        bytes.chunks(WRITE).enumerate().try_for_each(|(i, word)| self.write_word(first + i, word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Flash = SimFlash<16, 64>;

    #[test]
    fn keeps_what_is_written_and_forgets_what_is_erased() {
        let mut flash = Flash::new(128);
        flash.write(16, &[7; 32]).unwrap();
        let mut out = [0; 16];
        flash.read(40, &mut out[..8]).unwrap();
        assert_eq!(out[..8], [7; 8]);
        flash.erase(0, 64).unwrap();
        flash.read(16, &mut out).unwrap();
        assert_eq!((out, flash.erases(), flash.operations()), ([0xFF; 16], &[1, 0][..], 3));
    }

    #[test]
    #[should_panic(expected = "written twice")]
    fn a_second_write_is_a_bug() {
        let mut flash = Flash::new(64);
        flash.write(0, &[0xFF; 16]).unwrap();
        let _ = flash.write(0, &[0; 16]);
    }

    #[test]
    fn a_cut_stops_everything_until_the_power_is_back() {
        let mut flash = Flash::new(64);
        flash.cut_after(1, Tear::Before, 1);
        assert_eq!(flash.write(0, &[1; 48]), Err(SimError::Off));
        assert_eq!(flash.read(0, &mut [0]), Err(SimError::Off));
        flash.power_up();
        assert_eq!((flash.bytes()[15], flash.bytes()[16]), (1, 0xFF));
        flash.write(16, &[1; 32]).unwrap();
    }

    #[test]
    fn a_weak_word_reads_well_and_faults_from_the_second_start_on() {
        let mut flash = Flash::new(64);
        flash.cut_after(0, Tear::Weak, 1);
        flash.write(0, &[1; 16]).unwrap_err();
        flash.power_up();
        assert_eq!(flash.read(0, &mut [0; 16]), Ok(()));
        flash.power_up();
        assert_eq!(flash.read(0, &mut [0; 16]), Err(SimError::Fault));
        flash.erase(0, 64).unwrap();
        assert_eq!(flash.read(0, &mut [0; 16]), Ok(()));
    }

    #[test]
    fn without_ecc_a_weak_word_reads_as_something_else_from_the_second_start_on() {
        let mut flash = Flash::new(64).without_ecc();
        flash.cut_after(0, Tear::Weak, 1);
        flash.write(0, &[1; 16]).unwrap_err();
        let mut out = [0; 16];
        flash.power_up();
        assert_eq!((flash.read(0, &mut out), out), (Ok(()), [1; 16]));
        flash.power_up();
        assert_eq!(flash.read(0, &mut out), Ok(()));
        assert_ne!(out, [1; 16]);
        let decayed = out;
        flash.power_up();
        assert_eq!((flash.read(0, &mut out), out), (Ok(()), decayed), "and stays so");
    }

    #[test]
    fn an_interrupted_erase_must_be_done_again() {
        for tear in [Tear::Prefix, Tear::Bits, Tear::Fault, Tear::Unseen, Tear::Weak] {
            let mut flash = Flash::new(64);
            flash.write(0, &[0; 64]).unwrap();
            flash.cut_after(0, tear, 3);
            flash.erase(0, 64).unwrap_err();
            assert!(flash.words.iter().all(|word| word.used), "{tear:?}");
        }
    }
}
