//! A board made of nothing: a line in memory, a simulated flash, a clock that counts calls.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use std::vec::Vec;

use embedded_io::{ErrorType, Read, ReadReady, Write};

use crate::board::{Board, Fault, Parts, SERIAL_BUFFER, Stack, Status, System};
use crate::storage::sim::SimFlash;

/// Words as large as the real board's, smaller sectors.
pub type Sim = SimFlash<32, 1024>;
/// The board for most tests.
pub type MockBoard = SimBoard<32, 1024>;

/// What the outside sees of a device: the ends of its line, and its LEDs.
#[derive(Clone, Default)]
pub struct Outside {
    pub to_device: Rc<RefCell<VecDeque<u8>>>,
    pub to_station: Rc<RefCell<VecDeque<u8>>>,
    pub shown: Rc<RefCell<Vec<Status>>>,
}

/// With words and sectors of so many bytes.
pub struct SimBoard<const WRITE: usize, const ERASE: usize> {
    pub outside: Outside,
    pub flash: SimFlash<WRITE, ERASE>,
    pub fault: Option<Fault>,
}

impl<const WRITE: usize, const ERASE: usize> Board for SimBoard<WRITE, ERASE> {
    const NAME: &'static str = "mock";
    type Serial = MockSerial;
    type Flash = SimFlash<WRITE, ERASE>;
    type System = MockSystem;
}

impl<const WRITE: usize, const ERASE: usize> SimBoard<WRITE, ERASE> {
    pub fn parts(self) -> Parts<Self> {
        Parts {
            serial: MockSerial { outside: self.outside.clone(), dead: self.flash.switch() },
            flash: self.flash,
            system: MockSystem { fault: self.fault, outside: self.outside, ticks: Cell::new(0), hunger: 0 },
        }
    }
}

/// Loses what does not fit its buffer, and everything when power is gone.
pub struct MockSerial {
    outside: Outside,
    dead: Rc<Cell<bool>>,
}

impl ErrorType for MockSerial {
    type Error = Infallible;
}

impl ReadReady for MockSerial {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(!self.dead.get() && !self.outside.to_device.borrow().is_empty())
    }
}

impl Read for MockSerial {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        let mut queue = self.outside.to_device.borrow_mut();
        queue.truncate(SERIAL_BUFFER);
        let count = bytes.len().min(queue.len());
        bytes.iter_mut().zip(queue.drain(..count)).for_each(|(to, from)| *to = from);
        Ok(count)
    }
}

impl Write for MockSerial {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        if !self.dead.get() {
            self.outside.to_station.borrow_mut().extend(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

pub struct MockSystem {
    fault: Option<Fault>,
    outside: Outside,
    ticks: Cell<u64>,
    /// Looks at the clock since the watchdog was fed.
    pub hunger: u32,
}

impl System for MockSystem {
    fn show(&mut self, status: Status) {
        let mut shown = self.outside.shown.borrow_mut();
        if shown.last() != Some(&status) {
            shown.push(status);
        }
    }

    fn feed(&mut self) {
        self.hunger = 0;
    }

    fn ticks(&self) -> u64 {
        self.ticks.set(self.ticks.get() + 1);
        self.ticks.get()
    }

    fn ticks_per_second(&self) -> u32 {
        1000
    }

    fn idle(&mut self) {}

    fn stack(&self) -> Stack {
        Stack { size: 4096, used: 1000 }
    }

    fn last_fault(&self) -> Option<Fault> {
        self.fault
    }
}
