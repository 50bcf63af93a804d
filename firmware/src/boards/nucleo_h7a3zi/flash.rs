//! The data flash of the STM32H7A3: its second bank, through the HAL, with care for torn words.
//!
//! The chip corrects one wrong bit in a word of 16 bytes and notices two. A word that lost power while it was written
//! is such a word: reading it raises a bus fault. [`Flash::read`] therefore reads with bus faults ignored, looks at the
//! chip's error flag afterwards, and returns an error instead. The HAL writes 32 bytes at a time, two words.

use core::arch::asm;

use cortex_m::peripheral::SCB;
use embassy_stm32::flash::{Blocking, Error, Flash as HalFlash, WRITE_SIZE};
use embassy_stm32::pac;
use embassy_stm32::peripherals::FLASH;
use embassy_stm32::{Peri, pac::flash::Bank};
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use crate::board::Mapped;

/// Where the data flash starts. The layout says the same, and `cargo xtask map` compares.
pub const START: u32 = 0x0810_0000;
/// Its size in bytes: the whole second bank.
const SIZE: usize = 1 << 20;
/// Its offset in the chip's flash, as the HAL counts.
const OFFSET: u32 = START - 0x0800_0000;
/// Bytes that are erased together.
const SECTOR: usize = 8192;

/// The second bank of the chip's flash.
pub struct Flash(HalFlash<'static, Blocking>);

impl Flash {
    pub(super) fn new(peripheral: Peri<'static, FLASH>) -> Self {
        Flash(HalFlash::new_blocking(peripheral))
    }

    fn bank() -> Bank {
        pac::FLASH.bank(1)
    }

    /// Clears all error flags. (The HAL reads them, but this chip has a register of its own for clearing them.)
    fn clear_errors() {
        Self::bank().ccr().write(|clear| {
            clear.set_clr_wrperr(true);
            clear.set_clr_pgserr(true);
            clear.set_clr_incerr(true);
            clear.set_clr_operr(true);
            clear.set_clr_rdperr(true);
            clear.set_clr_rdserr(true);
            clear.set_clr_sneccerr(true);
            clear.set_clr_dbeccerr(true);
        });
    }
}

impl ErrorType for Flash {
    type Error = Error;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        if offset as usize > SIZE || bytes.len() > SIZE - offset as usize {
            return Err(Error::Size);
        }
        Self::clear_errors();
        without_bus_faults(|| self.0.blocking_read(OFFSET + offset, bytes))?;
        match Self::bank().sr().read().dbeccerr() {
            true => Err(Error::Prog),
            false => Ok(()),
        }
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WRITE_SIZE;
    const ERASE_SIZE: usize = SECTOR;

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        if offset as usize > SIZE || bytes.len() > SIZE - offset as usize {
            return Err(Error::Size);
        }
        Self::clear_errors();
        self.0.blocking_write(OFFSET + offset, bytes)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        if from > to || to as usize > SIZE {
            return Err(Error::Size);
        }
        Self::clear_errors();
        self.0.blocking_erase(OFFSET + from, OFFSET + to)
    }
}

impl Mapped for Flash {
    fn mapped(&self) -> &[u8] {
        // SAFETY: the bank is readable memory of this size; it changes only through `&mut self`.
        unsafe { core::slice::from_raw_parts(START as *const u8, SIZE) }
    }
}

/// Runs `act` so that a bus fault in it is ignored: the value read is then arbitrary.
fn without_bus_faults<T>(act: impl FnOnce() -> T) -> T {
    const IGNORE_BUS_FAULTS: u32 = 1 << 8;
    // SAFETY: with this bit, and at the priority that FAULTMASK gives, data bus faults are ignored (Armv7-M, BFHFNMIGN).
    // Both are put back, and `act` is a read of flash that neither unwinds nor waits for an interrupt.
    unsafe {
        (*SCB::PTR).ccr.modify(|bits| bits | IGNORE_BUS_FAULTS);
        asm!("cpsid f", "dsb", "isb");
        let result = act();
        asm!("dsb", "cpsie f", "isb");
        (*SCB::PTR).ccr.modify(|bits| bits & !IGNORE_BUS_FAULTS);
        result
    }
}
