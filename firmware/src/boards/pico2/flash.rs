//! The data flash of the Pico 2: a part of its external flash (W25Q32, 4 MB), through the HAL.
//!
//! Sectors of 4 KB; programmed by pages of up to 256 bytes, within which power may fail anywhere. The app writes 64
//! bytes at a time, four to a page; the HAL fills the rest of the page with ones, which leave it as it is. There is no
//! ECC: what is torn reads as something, and the checksums of the storage tell. While the flash is erased or
//! written, no code can be read from it: the HAL waits in memory with interrupts off, some 50 ms for a sector.

use embassy_rp::Peri;
use embassy_rp::flash::{Blocking, ERASE_SIZE, Error, Flash as HalFlash};
use embassy_rp::peripherals::FLASH;

use super::probed::flash::{DataFlash, Driver};

/// All of the external flash, in bytes.
const CHIP: usize = 4 << 20;

type Hal = HalFlash<'static, FLASH, Blocking, CHIP>;
/// A part of the external flash.
pub type Flash = DataFlash<Hal>;

pub(super) fn open(peripheral: Peri<'static, FLASH>) -> Flash {
    DataFlash(HalFlash::new_blocking(peripheral))
}

impl Driver for Hal {
    type Error = Error;
    const BASE: u32 = 0x1000_0000;
    const WORD: usize = 64;
    const SECTOR: usize = ERASE_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        self.blocking_read(offset, bytes)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        self.blocking_write(offset, bytes)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        self.blocking_erase(from, to)
    }
}
