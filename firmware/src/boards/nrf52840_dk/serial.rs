//! The serial line of the nRF52840-DK: the HAL's buffered UART, which waits in futures, made to wait in loops.

use embassy_futures::block_on;
use embassy_nrf::buffered_uarte::{BufferedUarte, Error};
use embedded_io::{ErrorType, Read, ReadReady, Write};

/// UARTE0.
pub struct Serial(pub(super) BufferedUarte<'static>);

impl ErrorType for Serial {
    type Error = Error;
}

impl ReadReady for Serial {
    fn read_ready(&mut self) -> Result<bool, Error> {
        self.0.read_ready()
    }
}

impl Read for Serial {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Error> {
        block_on(self.0.read(bytes))
    }
}

impl Write for Serial {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        block_on(self.0.write(bytes))
    }

    fn flush(&mut self) -> Result<(), Error> {
        block_on(self.0.flush())
    }
}
