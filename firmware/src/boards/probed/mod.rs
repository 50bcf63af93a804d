//! What the real boards share, those that a debug probe flashes and watches: where the log goes, the serial line's speed
//! and buffers, how a program ends, and the [data flash](flash).

pub mod flash;

use defmt_rtt as _;
use static_cell::ConstStaticCell;

use crate::board::SERIAL_BUFFER;

/// Speed of the serial line.
#[cfg(not(feature = "nrf52840-dk"))]
pub const BAUD_RATE: u32 = 115_200;

/// Half of the serial line's memory.
pub type Buffer = &'static mut [u8; SERIAL_BUFFER];

static TO_SEND: ConstStaticCell<[u8; SERIAL_BUFFER]> = ConstStaticCell::new([0; SERIAL_BUFFER]);
static RECEIVED: ConstStaticCell<[u8; SERIAL_BUFFER]> = ConstStaticCell::new([0; SERIAL_BUFFER]);

/// Memory for what is to be sent, and for what is received.
///
/// # Panics
/// When called a second time.
pub fn serial_buffers() -> (Buffer, Buffer) {
    (TO_SEND.take(), RECEIVED.take())
}

/// Stops: there is nowhere to exit to. A debugger halts here; without one the watchdog starts the board again.
pub fn exit(ok: bool) -> ! {
    defmt::info!("stopped, {}", if ok { "all well" } else { "something failed" });
    loop {
        cortex_m::asm::bkpt();
    }
}
