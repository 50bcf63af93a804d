//! What the bytes below a space mean to the program `selftest`. Its driver, `xtask/src/selftest.rs`, takes them from here.

/// Report as one line of `key=value`.
pub const REPORT: u8 = 0x01;
/// Panic.
pub const PANIC: u8 = 0x02;
/// Overflow the stack.
pub const OVERFLOW: u8 = 0x03;
/// Fault: a breakpoint with no debugger to take it.
pub const FAULT: u8 = 0x04;
/// Stop feeding the watchdog.
pub const HANG: u8 = 0x05;
/// Fill the scratch sector of the flash with records.
pub const RECORD: u8 = 0x06;
/// Overflow the stack in the middle of a log line.
pub const OVERFLOW_IN_LOG: u8 = 0x07;
/// Restart.
pub const RESTART: u8 = 0x0E;
/// Stop with success.
pub const EXIT: u8 = 0x0F;
