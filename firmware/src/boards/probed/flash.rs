//! The data flash of a real board: a part of the chip's flash, behind the driver of its HAL.
//!
//! Which part, the board's layout says: from `_storage_start` to `_storage_end`. What lies outside it, or is not aligned,
//! never reaches the driver.

use core::ops::Range;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

use crate::board::Mapped;

/// A chip's flash as its HAL drives it. Offsets are the HAL's own.
pub trait Driver {
    /// What the HAL says when it fails.
    type Error: NorFlashError;

    /// Where the processor sees the HAL's offset 0.
    const BASE: u32;
    /// Bytes that are written together.
    const WORD: usize;
    /// Bytes that are erased together.
    const SECTOR: usize;

    /// Reads any bytes; a torn word is an error.
    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes whole words.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Erases whole sectors.
    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error>;
}

/// The part of the flash that the layout sets aside; address 0 is its first byte.
pub struct DataFlash<D>(pub D);

unsafe extern "C" {
    /// The lowest address of the data flash, from the layout.
    static _storage_start: u8;
    /// One past its highest address.
    static _storage_end: u8;
}

/// Where the processor sees the data flash.
pub fn addresses() -> Range<u32> {
    (&raw const _storage_start) as u32..(&raw const _storage_end) as u32
}

/// The driver's offset of an address in the data flash.
fn offset<D: Driver>(address: u32) -> u32 {
    addresses().start - D::BASE + address
}

fn kind(error: impl NorFlashError) -> NorFlashErrorKind {
    error.kind()
}

impl<D> ErrorType for DataFlash<D> {
    type Error = NorFlashErrorKind;
}

impl<D: Driver> ReadNorFlash for DataFlash<D> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, address, bytes.len())?;
        self.0.read(offset::<D>(address), bytes).map_err(kind)
    }

    fn capacity(&self) -> usize {
        addresses().len()
    }
}

impl<D: Driver> NorFlash for DataFlash<D> {
    const WRITE_SIZE: usize = D::WORD;
    const ERASE_SIZE: usize = D::SECTOR;

    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, address, bytes.len())?;
        self.0.write(offset::<D>(address), bytes).map_err(kind)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.0.erase(offset::<D>(from), offset::<D>(to)).map_err(kind)
    }
}

impl<D> Mapped for DataFlash<D> {
    fn mapped(&self) -> &[u8] {
        let Range { start, end } = addresses();
        // SAFETY: the layout sets this part of the flash aside, which is readable memory; it changes only through `&mut self`.
        unsafe { core::slice::from_raw_parts(start as *const u8, (end - start) as usize) }
    }
}
