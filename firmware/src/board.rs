//! What the application needs of a board; one file per board provides it.
//!
//! The app never sees a register, a pin or a clock number. It gets the [`Parts`] of a [`Board`] and works with the
//! traits of the embedded field: `embedded-io` for the serial line, `embedded-storage` for the flash, and [`System`]
//! below for the little that has no common trait: status LEDs, watchdog, clock, stack.

use embedded_io::{Read, ReadReady, Write};
use embedded_storage::nor_flash::NorFlash;

/// A board: its name, and what its parts are.
pub trait Board: Sized {
    /// Its name, as in the log and in `cargo xtask`.
    const NAME: &'static str;

    /// The serial line to the base station. Received bytes wait in a buffer of at least [`SERIAL_BUFFER`] that an
    /// interrupt fills, so that nothing is lost during a slice of work; bytes that do not fit are dropped.
    ///
    /// Ask `read_ready` before `read`: without a byte it may block or return zero. `write` queues and blocks only while
    /// the queue is full, that is for as long as the line takes to carry what is before. An error (noise, overrun)
    /// concerns the bytes of that call only.
    type Serial: Read + ReadReady + Write;

    /// The flash sectors set aside for the app's data; address 0 is the first of them.
    type Flash: NorFlash + Mapped;

    /// Everything else.
    type System: System;
}

/// A board's parts.
pub struct Parts<B: Board> {
    /// The serial line to the base station.
    pub serial: B::Serial,
    /// The flash sectors set aside for the app's data.
    pub flash: B::Flash,
    /// Status LEDs, watchdog, clock, stack.
    pub system: B::System,
}

/// Bytes that a board's line can hold back while the app works.
pub const SERIAL_BUFFER: usize = 1024;

/// Flash that the processor can read like memory.
pub trait Mapped {
    /// All of it, aligned to at least 16 bytes.
    ///
    /// A word that lost power while it was written may fault when it is touched this way: look only at what
    /// [`read`](embedded_storage::nor_flash::ReadNorFlash::read) has returned without an error.
    fn mapped(&self) -> &[u8];
}

/// Status LEDs, watchdog, clock, stack.
pub trait System {
    /// Shows what the device is doing.
    fn show(&mut self, status: Status);

    /// Tells the watchdog that all is well. Without it the board restarts after some seconds (its file says how many).
    fn feed(&mut self);

    /// Time since the start, in units of 1 / [`ticks_per_second`](System::ticks_per_second) s. Never runs backwards.
    fn ticks(&self) -> u64;

    /// How many ticks a second has.
    fn ticks_per_second(&self) -> u32;

    /// Sleeps until an interrupt or about 10 ms, whichever comes first. Does not feed the watchdog.
    fn idle(&mut self);

    /// The stack: how large, and how much of it was ever in use.
    fn stack(&self) -> Stack;

    /// Why the board restarted, unless it was switched on or reset from outside.
    fn last_fault(&self) -> Option<Fault>;
}

/// What the device is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Status {
    /// No task.
    Idle,
    /// No task, and the last one was dropped: see the log, or ask for it over the line.
    Dropped,
    /// Working out the next query, or learning.
    Thinking,
    /// The station is measuring.
    Waiting,
    /// The station is measuring, and the last trial fell below the floor.
    Below,
    /// No task; the last one's recommendation is in use and watched.
    Watching,
    /// Something is wrong: see the log.
    Fault,
}

/// Size and high-water mark of the stack, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stack {
    /// All of it.
    pub size: u32,
    /// The most that was in use since the start.
    pub used: u32,
}

/// What went wrong before this start, kept in memory that survives a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fault {
    /// Its kind.
    pub cause: Cause,
    /// Address of the instruction at fault; zero where it is not known.
    pub pc: u32,
    /// Fault status of the processor (CFSR); zero where there is none.
    pub status: u32,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Cause {
    /// A panic; its message is in the log.
    Panic,
    /// The stack ran into its guard.
    StackOverflow,
    /// Any other fault of the processor.
    HardFault,
    /// The app did not feed the watchdog in time.
    Watchdog,
}
