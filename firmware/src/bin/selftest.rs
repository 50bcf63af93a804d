//! Exercises a board's parts one by one, commanded over its serial line. What the tuner has stored stays as it is: the
//! flash is tried in a sector that no program uses, and not at all where there is none ([`scratch`]).
//!
//! Printable bytes are echoed. Other bytes are commands, see [`command`]; `cargo xtask test` plays the other side.
#![no_std]
#![no_main]

use embedded_io::{Read, ReadReady, Write};
use foretune_core as _; // linked in to prove that it needs no allocator
use foretune_firmware::board::{Board, Parts, Status, System};
use foretune_firmware::boards::this;
use foretune_firmware::log::{info, warn};
use foretune_firmware::profile::{COMPACT, DEEP};
use foretune_firmware::scratch::{self, Scratch};
use heapless::String;

#[path = "../../selftest_commands.rs"]
mod command;

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut parts = this::take();
    info!("selftest on {}", name(&parts));
    if let Some(fault) = parts.system.last_fault() {
        warn!("restarted after {}", fault);
    }
    check_flash(&mut parts);
    parts.system.show(Status::Idle);
    loop {
        parts.system.feed();
        match parts.serial.read_ready().unwrap_or(false) {
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
    let count = parts.serial.read(&mut bytes).unwrap_or(0);
    for byte in &bytes[..count] {
        match *byte {
            command::REPORT => report(parts),
            command::PANIC => panic!("on command"),
            command::OVERFLOW => info!("recursed to {}", recurse(1)),
            command::OVERFLOW_IN_LOG => info!("never ends: {}", Bottomless),
            command::FAULT => cortex_m::asm::bkpt(),
            command::HANG => hang(&parts.system),
            command::RECORD => record(parts),
            command::RESTART => this::restart(),
            command::EXIT => this::exit(true),
            _ => parts.serial.write_all(&[*byte]).unwrap_or_else(|_| warn!("echo lost")),
        }
    }
}

/// Answers with what the board knows of itself.
fn report<B: Board>(parts: &mut Parts<B>) {
    use core::fmt::Write as _;
    let stack = parts.system.stack();
    let cause = parts.system.last_fault().map(|fault| fault.cause);
    let (records, torn) =
        sectors(parts).map_or((0, false), |scratch| scratch::count(&mut parts.flash, scratch.records));
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
    if written.is_err() || parts.serial.write_all(line.as_bytes()).is_err() {
        warn!("report lost");
    }
    info!("stack: {} of {} bytes used", stack.used, stack.size);
}

/// The sectors that may be written to.
fn sectors<B: Board>(parts: &mut Parts<B>) -> Option<Scratch> {
    scratch::find(&mut parts.flash, &[COMPACT.layout, DEEP.layout])
}

fn check_flash<B: Board>(parts: &mut Parts<B>) {
    let Some(Scratch { trial, .. }) = sectors(parts) else {
        return warn!(
            "flash not tried: every sector may hold what a tuner learnt; erase the chip first to try it"
        );
    };
    if let Err(wrong) = scratch::check(&mut parts.flash, trial) {
        warn!("the flash is wrong: {}", wrong);
        panic!("the flash does not work");
    }
    info!("flash tried in the sector at {}", trial.start);
}

/// Fills the scratch sector with numbered records, unless power fails.
fn record<B: Board>(parts: &mut Parts<B>) {
    let Some(Scratch { records, .. }) = sectors(parts) else { return warn!("no sector to write records to") };
    let Parts { flash, system, .. } = parts;
    match scratch::fill(flash, records, || system.feed()) {
        Ok(()) => info!("sector full of records"),
        Err(_) => panic!("the flash refuses"),
    }
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
