//! The serial line of the MPS2 boards: a CMSDK UART, whose own buffer is one byte each way.

use core::cell::RefCell;
use core::convert::Infallible;

use cortex_m::asm::wfi;
use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;
use cortex_m_rt::exception;
use critical_section::Mutex;
use embedded_io::{ErrorType, Read, ReadReady, Write};
use heapless::Deque;

use super::Register;
use super::machine::{CLOCK, UART, UART_RECEIVED};
use crate::board::SERIAL_BUFFER;

const BAUD_RATE: u32 = 115_200;

const DATA: Register = Register(UART);
const STATE: Register = Register(UART + 0x4);
const CONTROL: Register = Register(UART + 0x8);
const INTERRUPTS: Register = Register(UART + 0xC);
const DIVIDER: Register = Register(UART + 0x10);

const TRANSMITTER_FULL: u32 = 1;
const RECEIVER_FULL: u32 = 1 << 1;
const TRANSMIT: u32 = 1;
const RECEIVE: u32 = 1 << 1;
const RECEIVE_INTERRUPT: u32 = 1 << 3;
const RECEIVED: u32 = 1 << 1;

static RECEIVED_BYTES: Mutex<RefCell<Deque<u8, SERIAL_BUFFER>>> = Mutex::new(RefCell::new(Deque::new()));

#[derive(Clone, Copy)]
struct ReceiverInterrupt;

// SAFETY: the UART's receive interrupt has this number on the machine.
unsafe impl InterruptNumber for ReceiverInterrupt {
    fn number(self) -> u16 {
        UART_RECEIVED
    }
}

/// UART 0.
pub struct Serial(());

impl Serial {
    pub(super) fn open() -> Self {
        DIVIDER.write(CLOCK / BAUD_RATE);
        CONTROL.write(TRANSMIT | RECEIVE | RECEIVE_INTERRUPT);
        // SAFETY: the handler exists and shares its data under a critical section only.
        unsafe { NVIC::unmask(ReceiverInterrupt) };
        Serial(())
    }
}

/// All device interrupts arrive here; the receiver's is the only one unmasked.
#[exception]
unsafe fn DefaultHandler(_: i16) {
    INTERRUPTS.write(RECEIVED);
    if STATE.read() & RECEIVER_FULL != 0 {
        let byte = DATA.read() as u8;
        // A full buffer loses the byte, as a UART would.
        critical_section::with(|token| RECEIVED_BYTES.borrow_ref_mut(token).push_back(byte).ok());
    }
}

impl ErrorType for Serial {
    type Error = Infallible;
}

impl ReadReady for Serial {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(critical_section::with(|token| !RECEIVED_BYTES.borrow_ref(token).is_empty()))
    }
}

impl Read for Serial {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        while !bytes.is_empty() && !self.read_ready()? {
            wfi();
        }
        critical_section::with(|token| {
            let mut received = RECEIVED_BYTES.borrow_ref_mut(token);
            let count = bytes.len().min(received.len());
            bytes
                .iter_mut()
                .zip(core::iter::from_fn(|| received.pop_front()))
                .for_each(|(to, from)| *to = from);
            Ok(count)
        })
    }
}

impl Write for Serial {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let Some(first) = bytes.first() else { return Ok(0) };
        while STATE.read() & TRANSMITTER_FULL != 0 {}
        DATA.write(u32::from(*first));
        Ok(1)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        while STATE.read() & TRANSMITTER_FULL != 0 {}
        Ok(())
    }
}
