//! The data flash of the nRF52840: the last pages, through the HAL.
//!
//! Pages of 4 KB, words of 4 bytes, no ECC: a torn word reads as something, and the checksums of the storage tell. While a
//! page is erased (85 ms) the processor waits, since there is only one bank.

use embassy_nrf::Peri;
use embassy_nrf::nvmc::{Error, Nvmc};
use embassy_nrf::peripherals::NVMC;
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use crate::board::Mapped;

/// Where the data flash starts. The layout says the same, and `cargo xtask map` compares.
const START: u32 = 0x000F_0000;
/// Its size in bytes.
const SIZE: usize = 64 << 10;

/// The last pages of the chip's flash.
pub struct Flash(Nvmc<'static>);

impl Flash {
    pub(super) fn new(peripheral: Peri<'static, NVMC>) -> Self {
        Flash(Nvmc::new(peripheral))
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
    const READ_SIZE: usize = Nvmc::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        check(offset, bytes.len())?;
        if bytes.is_empty() { Ok(()) } else { self.0.read(START + offset, bytes) }
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = Nvmc::WRITE_SIZE;
    const ERASE_SIZE: usize = Nvmc::ERASE_SIZE;

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        check(offset, bytes.len())?;
        self.0.write(START + offset, bytes)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        check(to, 0)?;
        self.0.erase(START + from, START + to)
    }
}

impl Mapped for Flash {
    fn mapped(&self) -> &[u8] {
        // SAFETY: these pages are readable memory of this size; they change only through `&mut self`.
        unsafe { core::slice::from_raw_parts(START as *const u8, SIZE) }
    }
}
