//! The data flash of the Pico 2: a part of its external flash (W25Q32, 4 MB), through the HAL.
//!
//! Sectors of 4 KB; programmed by pages of up to 256 bytes, within which power may fail anywhere. The app writes 64
//! bytes at a time, four to a page; the HAL fills the rest of the page with ones, which leave it as it is. There is no
//! ECC: what is torn reads as something, and the checksums of the storage tell. While the flash is erased or
//! written, no code can be read from it: the HAL waits in memory with interrupts off, some 50 ms for a sector.

use embassy_rp::Peri;
use embassy_rp::flash::{Blocking, ERASE_SIZE, Error, Flash as HalFlash};
use embassy_rp::peripherals::FLASH;
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use crate::board::Mapped;

/// All of the external flash, in bytes.
const CHIP: usize = 4 << 20;
/// Where the processor sees the data flash. The layout says the same, and `cargo xtask map` compares.
const START: u32 = 0x1010_0000;
/// Its offset in the external flash, as the HAL counts.
const OFFSET: u32 = START - 0x1000_0000;
/// Its size in bytes.
const SIZE: usize = 128 << 10;

/// A part of the external flash.
pub struct Flash(HalFlash<'static, FLASH, Blocking, CHIP>);

impl Flash {
    pub(super) fn new(peripheral: Peri<'static, FLASH>) -> Self {
        Flash(HalFlash::new_blocking(peripheral))
    }
}

fn check(offset: u32, length: usize) -> Result<(), Error> {
    match offset as usize > SIZE || length > SIZE - offset as usize {
        true => Err(Error::OutOfBounds),
        false => Ok(()),
    }
}

impl ErrorType for Flash {
    type Error = Error;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        check(offset, bytes.len())?;
        self.0.blocking_read(OFFSET + offset, bytes)
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 64;
    const ERASE_SIZE: usize = ERASE_SIZE;

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        check(offset, bytes.len())?;
        match (offset as usize).is_multiple_of(Self::WRITE_SIZE)
            && bytes.len().is_multiple_of(Self::WRITE_SIZE)
        {
            true => self.0.blocking_write(OFFSET + offset, bytes),
            false => Err(Error::Unaligned),
        }
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        check(to, 0)?;
        self.0.blocking_erase(OFFSET + from, OFFSET + to)
    }
}

impl Mapped for Flash {
    fn mapped(&self) -> &[u8] {
        // SAFETY: the flash is readable as memory there; it changes only through `&mut self`.
        unsafe { core::slice::from_raw_parts(START as *const u8, SIZE) }
    }
}
