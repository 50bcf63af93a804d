//! Drives `firmware/src/bin/selftest.rs` on an emulated board: serial line, clock, flash, faults, power failures; and that all
//! of it leaves alone what is stored.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::board::{Board, emulated};
use crate::error::{Error, Verdict, ensure};
use crate::map::Elf;
use crate::qemu::{CUT, Device, Running, instructions_per_tick};
use crate::shell::in_pairs;
use crate::tools::Tools;

#[path = "../../firmware/selftest_commands.rs"]
mod command;

/// The emulated flash, as `firmware/src/ecc_flash.rs` keeps it.
const SECTOR: usize = 8192;
const WORD: usize = 16;
const WRITTEN: u8 = 0x3F;

/// Runs everything on every emulated board.
pub fn selftest(tools: &Tools) -> Verdict {
    let mut rigs = Vec::new();
    for board in emulated() {
        let folder = tempfile::tempdir()?;
        let device = Device::new(tools, board, &board.build(tools, "selftest")?, folder.path())?;
        rigs.push((board, device, folder));
    }
    let remarks = in_pairs(rigs, |(board, device, _folder)| {
        println!("self-test on {}", board.name);
        let stored = store_something(&device)?;
        let stack = line_and_clock(&device, board)?;
        faults(&device)?;
        exact_power_cuts(&device)?;
        random_power_cuts(&device)?;
        check_stored(&device, &stored)?;
        Ok(format!("{}: stack {stack}", board.name))
    })?;
    Ok(remarks.join("; "))
}

/// Fills the flash with anything, as if a tuner had stored it: data, then one mark per word. Returns the data.
fn store_something(device: &Device) -> Result<Vec<u8>, Error> {
    let span = Elf::read(&device.elf)?.between("_storage_start", "_storage_end")?;
    let size = (span.end - span.start) as usize;
    let data: Vec<u8> = (0..size as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 16) as u8).collect();
    let marks = vec![WRITTEN; size / WORD];
    std::fs::write(device.flash(), [&data[..], &marks].concat())?;
    Ok(data)
}

/// What was stored is as it was, but for the last two sectors, which no program uses.
fn check_stored(device: &Device, stored: &[u8]) -> Result<(), Error> {
    let now = std::fs::read(device.flash())?;
    let kept = stored.len() - 2 * SECTOR;
    ensure!(now[..kept] == stored[..kept], "the self-test changed what was stored");
    let marks = &now[stored.len()..][..kept / WORD];
    ensure!(marks.iter().all(|mark| *mark == WRITTEN), "the self-test touched what was stored");
    ensure!(now[kept..stored.len()] != stored[kept..], "the flash was not tried");
    Ok(())
}

/// Echo, instruction count, stack mark, log, exit.
fn line_and_clock(device: &Device, board: &Board) -> Result<String, Error> {
    let counting = Device { count_instructions: true, ..device.clone() };
    let mut session = Session::open(&counting)?;
    session.echo(4096)?;
    let report = session.report()?;
    expect("board", report.get("board"), board.name)?;
    expect("fault", report.get("fault"), "None")?;
    // The program waits for a million rounds of two instructions.
    let instructions = number(&report, "ticks")? * instructions_per_tick(board);
    let right = (2_000_000..2_002_000).contains(&instructions);
    ensure!(right, "2 000 000 instructions counted as {instructions}");
    session.send(command::EXIT)?;
    let (code, log) = session.running.wait(Duration::from_secs(30))?;
    ensure!(code == 0, "exit code {code}");
    let named = format!("selftest on {}", board.name);
    ensure!(log.iter().any(|line| line.contains(&named)), "log: {log:?}");
    Ok(report["stack"].clone())
}

/// Every way to fail is noticed, logged, survived and remembered.
fn faults(device: &Device) -> Result<(), Error> {
    let mut session = Session::open(device)?;
    session.send(command::RESTART)?;
    expect("fault after a plain restart", session.report()?.get("fault"), "None")?;
    let ways = [
        (command::PANIC, "Panic"),
        (command::OVERFLOW, "StackOverflow"),
        (command::OVERFLOW_IN_LOG, "StackOverflow"),
        (command::FAULT, "HardFault"),
        (command::HANG, "Watchdog"),
    ];
    for (way, name) in ways {
        session.send(way)?;
        expect("fault", session.report()?.get("fault"), &format!("Some({name})"))?;
    }
    let log = session.running.kill()?;
    let traces = ["panicked at", "on command", "cause: StackOverflow", "cause: HardFault", "cause: Watchdog"];
    for trace in traces {
        ensure!(log.iter().any(|line| line.contains(trace)), "no `{trace}` in the log: {log:?}");
    }
    Ok(())
}

/// Pieces of a change to the flash: see `firmware/src/ecc_flash.rs`.
mod pieces {
    pub const ERASE: u32 = 6;
    pub const WORD: u32 = 3;
    /// The check at the start: two erases and four words.
    pub const START: u32 = 2 * ERASE + 4 * WORD;
    /// A record is four words.
    pub const RECORD: u32 = 4 * WORD;
}

/// A cut at each piece of the fourth record leaves three records and, in the middle of a word, a torn one.
fn exact_power_cuts(device: &Device) -> Result<(), Error> {
    for piece in 0..=pieces::RECORD {
        let at = pieces::START + pieces::ERASE + 3 * pieces::RECORD + piece;
        let cutting = Device { cut: Some(at), ..device.clone() };
        let mut session = Session::open(&cutting)?;
        session.send(command::RECORD)?;
        let (code, _) = session.running.wait(Duration::from_secs(60))?;
        ensure!(code == CUT, "exit code {code} instead of a power cut at piece {at}");
        let report = Session::open(device)?.report()?;
        let (records, torn) = match piece {
            pieces::RECORD => (4, "false"),
            // Between two words: part of a record, none of it torn.
            piece if piece % pieces::WORD == 0 => (3, "false"),
            _ => (3, "true"),
        };
        let found = number(&report, "records")?;
        ensure!(found == records, "records after a cut at piece {piece}: {report:?}");
        expect(&format!("torn after a cut at piece {piece}"), report.get("torn"), torn)?;
    }
    Ok(())
}

/// A kill at any moment leaves whole records and at most one torn behind them; a restart finds the same.
fn random_power_cuts(device: &Device) -> Result<(), Error> {
    for milliseconds in [3, 10, 25, 60] {
        let mut session = Session::open(device)?;
        session.report()?;
        session.send(command::RECORD)?;
        std::thread::sleep(Duration::from_millis(milliseconds));
        session.running.kill()?;
        let mut session = Session::open(device)?;
        let first = session.report()?;
        session.send(command::RESTART)?;
        let second = session.report()?;
        let same = ["records", "torn"].iter().all(|key| first.get(*key) == second.get(*key));
        ensure!(same, "{first:?} became {second:?} without being touched");
    }
    Ok(())
}

/// A running device and the connection to it.
struct Session {
    running: Running,
    line: BufReader<TcpStream>,
    /// Questions so far.
    asked: u32,
}

impl Session {
    fn open(device: &Device) -> Result<Self, Error> {
        let running = device.start()?;
        let line = BufReader::new(running.connect()?);
        Ok(Session { running, line, asked: 0 })
    }

    fn send(&mut self, byte: u8) -> Result<(), Error> {
        Ok(self.line.get_mut().write_all(&[byte])?)
    }

    /// Asks until an answer comes: a device that is restarting loses what it was sent. A number behind the question is
    /// echoed behind its answer, so that no late answer to an earlier question is taken for this one.
    fn report(&mut self) -> Result<HashMap<String, String>, Error> {
        self.line.get_ref().set_read_timeout(Some(Duration::from_millis(500)))?;
        let mut line = Vec::new();
        let mut report = None;
        for _ in 0..60 {
            self.asked += 1;
            let number = format!("{}\n", self.asked);
            self.send(command::REPORT)?;
            self.line.get_mut().write_all(number.as_bytes())?;
            while self.line.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                let line = std::mem::take(&mut line);
                if line.starts_with(b"board=") {
                    report = Some(parse(&String::from_utf8_lossy(&line)));
                } else if line == number.as_bytes() && report.is_some() {
                    return Ok(report.unwrap_or_default());
                }
            }
        }
        Err(Error::failed(format!("no report from the device; its log: {:?}", self.running.log())))
    }

    /// Sends bytes in blocks that the device's buffer can hold, and wants them back.
    fn echo(&mut self, bytes: usize) -> Result<(), Error> {
        self.line.get_ref().set_read_timeout(Some(Duration::from_secs(30)))?;
        let text: Vec<u8> = (b' '..=b'~').cycle().take(bytes).collect();
        for block in text.chunks(512) {
            self.line.get_mut().write_all(block)?;
            let mut back = vec![0; block.len()];
            self.line.read_exact(&mut back)?;
            ensure!(back == block, "the echo differs from what was sent");
        }
        Ok(())
    }
}

/// Splits `key=value key=value`.
fn parse(line: &str) -> HashMap<String, String> {
    let pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn number(report: &HashMap<String, String>, key: &str) -> Result<u64, Error> {
    let value = report.get(key).and_then(|value| value.parse().ok());
    value.ok_or_else(|| Error::failed(format!("no number `{key}` in {report:?}")))
}

fn expect(what: &str, found: Option<&String>, wanted: &str) -> Result<(), Error> {
    ensure!(found.is_some_and(|found| found == wanted), "{what}: {found:?} instead of {wanted}");
    Ok(())
}
