//! The data flash of the STM32F446: sectors 1 to 4, through the HAL.
//!
//! The chip has four sectors of 16 KB, one of 64 KB and three of 128 KB. The app wants four that it can erase one by one,
//! so the code stays away from the small ones: vectors in sector 0, code from sector 5 on. Here sectors 1 to 4 look
//! like four of 16 KB each. Of the fourth, which has 64 KB, the first 16 KB are used; erasing it erases all 64.
//!
//! There is no ECC: a torn word reads as something, and the checksums of the storage tell. While a sector is erased (up
//! to half a second, a second for the large one) the processor waits, since its code lies in the same bank.

use embassy_stm32::Peri;
use embassy_stm32::flash::{Blocking, Error, Flash as HalFlash, WRITE_SIZE};
use embassy_stm32::peripherals::FLASH;
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use crate::board::Mapped;

/// Where the data flash starts: sector 1. The layout says the same, and `cargo xtask map` compares.
const START: u32 = 0x0800_4000;
/// Its offset in the chip's flash, as the HAL counts.
const OFFSET: u32 = START - 0x0800_0000;
/// What looks like a sector.
const SECTOR: usize = 16 << 10;
/// Bytes in all.
const SIZE: usize = 4 * SECTOR;
/// Sector 4 as the chip has it.
const LARGE_SECTOR: u32 = 64 << 10;

/// Four sectors of the chip's flash.
pub struct Flash(HalFlash<'static, Blocking>);

impl Flash {
    pub(super) fn new(peripheral: Peri<'static, FLASH>) -> Self {
        Flash(HalFlash::new_blocking(peripheral))
    }
}

fn check(offset: u32, length: usize) -> Result<(), Error> {
    match offset as usize > SIZE || length > SIZE - offset as usize {
        true => Err(Error::Size),
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
    const WRITE_SIZE: usize = WRITE_SIZE;
    const ERASE_SIZE: usize = SECTOR;

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        check(offset, bytes.len())?;
        self.0.blocking_write(OFFSET + offset, bytes)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        if from > to || !from.is_multiple_of(SECTOR as u32) || !to.is_multiple_of(SECTOR as u32) {
            return Err(Error::Unaligned);
        }
        check(to, 0)?;
        let end = if to as usize == SIZE { SIZE as u32 - SECTOR as u32 + LARGE_SECTOR } else { to };
        if from == to { Ok(()) } else { self.0.blocking_erase(OFFSET + from, OFFSET + end) }
    }
}

impl Mapped for Flash {
    fn mapped(&self) -> &[u8] {
        // SAFETY: these sectors are readable memory of this size; they change only through `&mut self`.
        unsafe { core::slice::from_raw_parts(START as *const u8, SIZE) }
    }
}
