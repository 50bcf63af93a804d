//! The data flash of the STM32H7A3: its second bank, through the HAL, with care for torn words.
//!
//! The chip corrects one wrong bit in a word of 16 bytes and notices two. A word that lost power while it was written
//! is such a word: reading it raises a bus fault. `read` therefore ignores bus faults, looks at the chip's
//! error flag afterwards, and returns an error instead. The HAL writes 32 bytes at a time, two words.

use core::arch::asm;

use cortex_m::peripheral::SCB;
use embassy_stm32::flash::{Blocking, Error, Flash as HalFlash, WRITE_SIZE};
use embassy_stm32::pac;
use embassy_stm32::peripherals::FLASH;
use embassy_stm32::{Peri, pac::flash::Bank};

use super::probed::flash::{DataFlash, Driver};

type Hal = HalFlash<'static, Blocking>;
/// The second bank of the chip's flash.
pub type Flash = DataFlash<Hal>;

pub(super) fn open(peripheral: Peri<'static, FLASH>) -> Flash {
    DataFlash(HalFlash::new_blocking(peripheral))
}

fn bank() -> Bank {
    pac::FLASH.bank(1)
}

/// Clears all error flags. (The HAL reads them, but this chip has a register of its own for clearing them.)
fn clear_errors() {
    bank().ccr().write(|clear| {
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

impl Driver for Hal {
    type Error = Error;
    const BASE: u32 = 0x0800_0000;
    const WORD: usize = WRITE_SIZE;
    const SECTOR: usize = 8192;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        clear_errors();
        without_bus_faults(|| self.blocking_read(offset, bytes))?;
        match bank().sr().read().dbeccerr() {
            true => Err(Error::Prog),
            false => Ok(()),
        }
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        clear_errors();
        self.blocking_write(offset, bytes)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        clear_errors();
        self.blocking_erase(from, to)
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
