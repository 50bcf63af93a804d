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

use super::probed::flash::{DataFlash, Driver};

/// Where sector 4 starts, as the HAL counts.
const LARGE_SECTOR: u32 = 64 << 10;
/// What it has beyond 16 KB.
const REST_OF_LARGE_SECTOR: u32 = 48 << 10;

type Hal = HalFlash<'static, Blocking>;
/// Four sectors of the chip's flash.
pub type Flash = DataFlash<Hal>;

pub(super) fn open(peripheral: Peri<'static, FLASH>) -> Flash {
    DataFlash(HalFlash::new_blocking(peripheral))
}

impl Driver for Hal {
    type Error = Error;
    const BASE: u32 = 0x0800_0000;
    const WORD: usize = WRITE_SIZE;
    const SECTOR: usize = 16 << 10;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        self.blocking_read(offset, bytes)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        self.blocking_write(offset, bytes)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        let rest = if to > LARGE_SECTOR { REST_OF_LARGE_SECTOR } else { 0 };
        if from == to { Ok(()) } else { self.blocking_erase(from, to + rest) }
    }
}
