//! The data flash of the nRF52840: the last pages, through the HAL.
//!
//! Pages of 4 KB, words of 4 bytes, no ECC: a torn word reads as something, and the checksums of the storage tell. While a
//! page is erased (85 ms) the processor waits, since there is only one bank.

use embassy_nrf::Peri;
use embassy_nrf::nvmc::{Error, Nvmc};
use embassy_nrf::peripherals::NVMC;
use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};

use super::probed::flash::{DataFlash, Driver};

/// The last pages of the chip's flash.
pub type Flash = DataFlash<Nvmc<'static>>;

pub(super) fn open(peripheral: Peri<'static, NVMC>) -> Flash {
    DataFlash(Nvmc::new(peripheral))
}

impl Driver for Nvmc<'static> {
    type Error = Error;
    const BASE: u32 = 0;
    const WORD: usize = <Self as NorFlash>::WRITE_SIZE;
    const SECTOR: usize = <Self as NorFlash>::ERASE_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        // Behind the chip's last byte, the HAL refuses to read even nothing.
        if bytes.is_empty() { Ok(()) } else { ReadNorFlash::read(self, offset, bytes) }
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        NorFlash::write(self, offset, bytes)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        NorFlash::erase(self, from, to)
    }
}
