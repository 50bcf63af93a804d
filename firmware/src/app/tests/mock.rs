//! A board made of nothing: a line in memory, a simulated flash, a clock that counts calls.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use std::vec::Vec;

use embedded_io::{ErrorType, Read, ReadReady, Write};
use embedded_storage::nor_flash::{self, NorFlash, ReadNorFlash};

use crate::board::{Board, Fault, Mapped, Parts, SERIAL_BUFFER, Stack, Status, System};
use crate::storage::sim::{SimError, SimFlash};

/// Words as large as the real board's, smaller sectors.
pub type Sim = SimFlash<1, 32, 1024>;
/// The board for most tests.
pub type MockBoard = SimBoard<32, 1024>;

/// What the outside sees of a device: the ends of its line, and whether it has power.
#[derive(Clone, Default)]
pub struct Outside {
    pub to_device: Rc<RefCell<VecDeque<u8>>>,
    pub to_station: Rc<RefCell<VecDeque<u8>>>,
    pub dead: Rc<Cell<bool>>,
    pub shown: Rc<RefCell<Vec<Status>>>,
}

/// With words and sectors of so many bytes.
pub struct SimBoard<const WRITE: usize, const ERASE: usize> {
    pub outside: Outside,
    pub flash: SimFlash<1, WRITE, ERASE>,
    pub fault: Option<Fault>,
}

impl<const WRITE: usize, const ERASE: usize> Board for SimBoard<WRITE, ERASE> {
    const NAME: &'static str = "mock";
    type Serial = MockSerial;
    type Flash = MockFlash<WRITE, ERASE>;
    type System = MockSystem;
}

impl<const WRITE: usize, const ERASE: usize> SimBoard<WRITE, ERASE> {
    pub fn parts(self) -> Parts<Self> {
        Parts {
            serial: MockSerial(self.outside.clone()),
            flash: MockFlash { sim: self.flash, dead: self.outside.dead.clone() },
            system: MockSystem { fault: self.fault, outside: self.outside, ticks: Cell::new(0), hunger: 0 },
        }
    }
}

/// Loses what does not fit its buffer, and everything when power is gone.
pub struct MockSerial(Outside);

impl ErrorType for MockSerial {
    type Error = Infallible;
}

impl ReadReady for MockSerial {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(!self.0.dead.get() && !self.0.to_device.borrow().is_empty())
    }
}

impl Read for MockSerial {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        let mut queue = self.0.to_device.borrow_mut();
        queue.truncate(SERIAL_BUFFER);
        let count = bytes.len().min(queue.len());
        bytes.iter_mut().zip(queue.drain(..count)).for_each(|(to, from)| *to = from);
        Ok(count)
    }
}

impl Write for MockSerial {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        if !self.0.dead.get() {
            self.0.to_station.borrow_mut().extend(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The simulated flash; when its power fails, so does that of the whole device.
pub struct MockFlash<const WRITE: usize, const ERASE: usize> {
    pub sim: SimFlash<1, WRITE, ERASE>,
    dead: Rc<Cell<bool>>,
}

impl<const WRITE: usize, const ERASE: usize> MockFlash<WRITE, ERASE> {
    fn after<T>(&mut self, result: T) -> T {
        self.dead.set(self.sim.is_off());
        result
    }
}

impl<const WRITE: usize, const ERASE: usize> nor_flash::ErrorType for MockFlash<WRITE, ERASE> {
    type Error = SimError;
}

impl<const WRITE: usize, const ERASE: usize> ReadNorFlash for MockFlash<WRITE, ERASE> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), SimError> {
        self.sim.read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.sim.capacity()
    }
}

impl<const WRITE: usize, const ERASE: usize> NorFlash for MockFlash<WRITE, ERASE> {
    const WRITE_SIZE: usize = WRITE;
    const ERASE_SIZE: usize = ERASE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), SimError> {
        let result = self.sim.erase(from, to);
        self.after(result)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SimError> {
        let result = self.sim.write(offset, bytes);
        self.after(result)
    }
}

impl<const WRITE: usize, const ERASE: usize> Mapped for MockFlash<WRITE, ERASE> {
    fn mapped(&self) -> &[u8] {
        self.sim.bytes()
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
