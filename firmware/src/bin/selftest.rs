//! Exercises a board's parts one by one, commanded over its serial line.
//!
//! Printable bytes are echoed. Other bytes are commands, see [`command`]; `cargo xtask test` plays the other side.
#![no_std]
#![no_main]

use embedded_io::{Read, ReadReady, Write};
use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};
use foretune_core as _; // linked in to prove that it needs no allocator
use foretune_firmware::board::{Board, Mapped, Parts, Status, System};
use foretune_firmware::boards::this;
use foretune_firmware::log::{info, warn};
use heapless::String;

/// What the bytes below a space mean.
mod command {
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
    /// Overflow the stack in the middle of a log line.
    pub const OVERFLOW_IN_LOG: u8 = 0x07;
    /// Append records to the flash for ever.
    pub const RECORD: u8 = 0x06;
    /// Restart.
    pub const RESTART: u8 = 0x0E;
    /// Stop with success.
    pub const EXIT: u8 = 0x0F;
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut parts = this::take().split();
    info!("selftest on {}", name(&parts));
    if let Some(fault) = parts.system.last_fault() {
        warn!("restarted after {}", fault);
    }
    check_flash(&mut parts.flash);
    parts.system.show(Status::Idle);
    loop {
        parts.system.feed();
        match parts.line.read_ready().unwrap_or(false) {
            true => serve(&mut parts),
            false => parts.system.idle(),
        }
    }
}

fn name<B: Board>(_: &Parts<B>) -> &'static str {
    B::NAME
}

fn serve<B: Board>(parts: &mut Parts<B>) {
    let mut bytes = [0; 64];
    let count = parts.line.read(&mut bytes).unwrap_or(0);
    for byte in &bytes[..count] {
        match *byte {
            command::REPORT => report(parts),
            command::PANIC => panic!("on command"),
            command::OVERFLOW => info!("recursed to {}", recurse(1)),
            command::OVERFLOW_IN_LOG => info!("never ends: {}", Bottomless),
            command::FAULT => cortex_m::asm::bkpt(),
            command::HANG => hang(&parts.system),
            command::RECORD => record(parts),
            command::RESTART => parts.system.restart(),
            command::EXIT => this::exit(true),
            _ => parts.line.write_all(&[*byte]).unwrap_or_else(|_| warn!("echo lost")),
        }
    }
}

/// Answers with what the board knows of itself.
fn report<B: Board>(parts: &mut Parts<B>) {
    use core::fmt::Write as _;
    let stack = parts.system.stack();
    let cause = parts.system.last_fault().map(|fault| fault.cause);
    let (records, torn) = count_records(&mut parts.flash);
    let before = parts.system.ticks();
    let per_second = parts.system.ticks_per_second();
    cortex_m::asm::delay(1_000_000);
    let took = parts.system.ticks() - before;
    let mut line = String::<192>::new();
    let written = writeln!(
        line,
        "board={} stack={}/{} fault={cause:?} records={records} torn={torn} ticks={took} per_second={per_second}",
        B::NAME,
        stack.used,
        stack.size
    );
    if written.is_err() || parts.line.write_all(line.as_bytes()).is_err() {
        warn!("report lost");
    }
    info!("stack: {} of {} bytes used", stack.used, stack.size);
}

/// Writes, reads, maps and erases the first sector.
fn check_flash<F: NorFlash + Mapped>(flash: &mut F) {
    let word = [0xA5; 64];
    let sector = F::ERASE_SIZE as u32;
    let mut back = [0; 64];
    flash.erase(0, sector).expect("erase");
    flash.write(64, &word).expect("write");
    flash.read(64, &mut back).expect("read");
    assert!(back == word && flash.mapped()[64..128] == word, "flash does not keep what was written");
    flash.erase(0, sector).expect("erase again");
    flash.read(64, &mut back).expect("read erased");
    assert!(back == [0xFF; 64], "flash is not blank after an erase");
    info!("flash: {} bytes, checked", flash.capacity());
}

/// Size of a record: a multiple of every board's word.
const RECORD: usize = 32;

/// Appends numbered records after the first sector until power fails.
fn record<B: Board>(parts: &mut Parts<B>) {
    let (from, to) = (B::Flash::ERASE_SIZE as u32, parts.flash.capacity() as u32);
    parts.flash.erase(from, to).expect("erase for records");
    for (number, at) in (from..to).step_by(RECORD).enumerate() {
        let mut record = [0x5A; RECORD];
        record[..4].copy_from_slice(&(number as u32).to_le_bytes());
        parts.flash.write(at, &record).expect("write a record");
        parts.system.feed();
    }
    info!("flash full of records");
}

/// How many records stand in order, and whether the one after them is torn.
fn count_records<F: NorFlash>(flash: &mut F) -> (u32, bool) {
    let mut record = [0; RECORD];
    for (number, at) in (F::ERASE_SIZE as u32..flash.capacity() as u32).step_by(RECORD).enumerate() {
        match flash.read(at, &mut record) {
            Err(_) => return (number as u32, true),
            Ok(()) if record[..4] != (number as u32).to_le_bytes() || record[RECORD - 1] != 0x5A => {
                return (number as u32, false);
            }
            Ok(()) => {}
        }
    }
    (((flash.capacity() - F::ERASE_SIZE) / RECORD) as u32, false)
}

fn hang<S: System>(system: &S) -> ! {
    info!("hanging at tick {}", system.ticks());
    loop {
        core::hint::spin_loop();
    }
}

/// Recurses until the stack is used up.
#[expect(unconditional_recursion)]
fn recurse(depth: u32) -> u32 {
    let frame = core::hint::black_box([depth; 64]);
    recurse(depth + 1).wrapping_add(frame[depth as usize % 64])
}

/// Overflows the stack when it is logged.
struct Bottomless;

impl defmt::Format for Bottomless {
    fn format(&self, f: defmt::Formatter) {
        defmt::write!(f, "{}", recurse(1));
    }
}
