//! Drives `firmware/src/bin/selftest.rs` on an emulated board: serial line, clock, flash, faults, power failures; and that all
//! of it leaves alone what is stored. And on emulated chips of real boards (`xtask/drivers.py`), with the HALs' own drivers.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::board::{Board, Variant, emulated, find};
use crate::error::{Error, Verdict, ensure};
use crate::map::Elf;
use crate::qemu::{CUT, Device, Log, Running, instructions_per_tick};
use crate::shell::{Killed, in_pairs, root, run};
use crate::tools::Tools;
use crate::{hil, python};

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
    session.line.echo(4096)?;
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
    let traces = [
        "panicked at firmware/src/bin/selftest.rs:",
        "cause: StackOverflow",
        "cause: HardFault",
        "cause: Watchdog",
    ];
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
    line: Line,
}

impl Session {
    fn open(device: &Device) -> Result<Self, Error> {
        let running = device.start()?;
        let line = Line::new(running.connect()?, Duration::from_millis(500));
        Ok(Session { running, line })
    }

    fn send(&mut self, byte: u8) -> Result<(), Error> {
        self.line.send(byte)
    }

    fn report(&mut self) -> Result<HashMap<String, String>, Error> {
        let log = || format!("no report from the device; its log: {:?}", self.running.log());
        self.line.report().map_err(|_| Error::failed(log()))
    }
}

/// A device's serial line.
struct Line {
    stream: BufReader<TcpStream>,
    /// How long an answer may take.
    patience: Duration,
    /// Questions so far.
    asked: u32,
}

impl Line {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Line { stream: BufReader::new(stream), patience, asked: 0 }
    }

    fn send(&mut self, byte: u8) -> Result<(), Error> {
        Ok(self.stream.get_mut().write_all(&[byte])?)
    }

    /// Asks until an answer comes: a device that is restarting loses what it was sent. A number behind the question is
    /// echoed behind its answer, so that no late answer to an earlier question is taken for this one.
    fn report(&mut self) -> Result<HashMap<String, String>, Error> {
        self.stream.get_ref().set_read_timeout(Some(self.patience))?;
        let mut line = Vec::new();
        let mut report = None;
        for _ in 0..60 {
            self.asked += 1;
            let number = format!("{}\n", self.asked);
            self.send(command::REPORT)?;
            self.stream.get_mut().write_all(number.as_bytes())?;
            while self.stream.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                let line = std::mem::take(&mut line);
                if line.starts_with(b"board=") {
                    report = Some(parse(&String::from_utf8_lossy(&line)));
                } else if line == number.as_bytes() && report.is_some() {
                    return Ok(report.unwrap_or_default());
                }
            }
        }
        Err(Error::failed("no report from the device"))
    }

    /// Sends bytes in blocks that the device's buffer can hold, and wants them back.
    fn echo(&mut self, bytes: usize) -> Result<(), Error> {
        self.stream.get_ref().set_read_timeout(Some(Duration::from_secs(30)))?;
        let text: Vec<u8> = (b' '..=b'~').cycle().take(bytes).collect();
        for block in text.chunks(512) {
            self.stream.get_mut().write_all(block)?;
            let mut back = vec![0; block.len()];
            self.stream.read_exact(&mut back)?;
            ensure!(back == block, "the echo differs from what was sent");
        }
        Ok(())
    }
}

/// What emulates chips of real boards.
const EMULATOR: &str = "labwired==0.25.0";
/// These boards, and how many records their self-test writes and finds again. The second tries its flash only when that is
/// blank, since its programs need all sectors.
const CHIPS: [(&str, u64); 2] = [("nrf52840-dk", 64), ("nucleo-f446re", 0)];

/// The step `drivers`: what the HALs' own drivers do on emulated chips. It passes where the emulator cannot be had.
pub fn drivers(tools: &Tools) -> Verdict {
    match python::with_package(EMULATOR) {
        Ok(python) => on_chips(tools, &python, 10),
        Err(error) => Ok(format!("could not run: {}", error.why())),
    }
}

/// The soak test: a hundred power failures; and a task that is tuned meanwhile, bit for bit as this host would.
pub fn soak() -> Result<(), Error> {
    let (tools, python) = (Tools::default(), python::with_package(EMULATOR)?);
    println!("{}", on_chips(&tools, &python, 100)?);
    let board = find(CHIPS[0].0)?;
    // The emulator lacks a comparison of floats.
    let elf = board.build_with(&tools, "compact", &Variant { soft_float: true, ..Variant::default() })?;
    let (station, rig) = (hil::station()?, Rig::new(&tools, &python, board, elf)?);
    let chip = rig.start(100)?;
    let mut station = Command::new(station);
    station.args([
        "hil",
        "--connect",
        &format!("tcp:127.0.0.1:{}", chip.port),
        "--tasks",
        "1",
        "--budget",
        "10",
    ]);
    run(&mut station)?;
    println!("a task on {} with {} power failures", board.name, chip.failures());
    Ok(())
}

fn on_chips(tools: &Tools, python: &Path, failures: u32) -> Verdict {
    let mut rigs = Vec::new();
    for (name, records) in CHIPS {
        let board = find(name)?;
        rigs.push((Rig::new(tools, python, board, board.build(tools, "selftest")?)?, records));
    }
    let remarks = in_pairs(rigs, |(rig, records)| {
        line_clock_flash(&rig, records)?;
        power_failures(&rig, records, failures)?;
        Ok(rig.board.name)
    })?;
    Ok(format!("{}: line, clock, flash, {failures} power failures", remarks.join(", ")))
}

fn line_clock_flash(rig: &Rig, records: u64) -> Result<(), Error> {
    let chip = rig.start(0)?;
    let mut line = chip.line()?;
    expect("board", line.report()?.get("board"), rig.board.name)?;
    chip.has_logged("flash tried in the sector at")?;
    line.echo(1024)?;
    let ticks = number(&line.report()?, "ticks")?;
    // The emulator takes a cycle for an instruction.
    ensure!((2_000_000..2_002_000).contains(&ticks), "2 000 000 cycles counted as {ticks}");
    line.send(command::RECORD)?;
    line.report()?;
    chip.has_logged("sector full of records")?;
    line.send(command::RESTART)?;
    let kept = line.report()?;
    expect("fault", kept.get("fault"), "None")?;
    expect("records", kept.get("records"), &records.to_string())
}

/// Power fails while records are written; whenever it comes back, nothing is wrong with the flash, or the device would say that
/// it panicked.
fn power_failures(rig: &Rig, records: u64, failures: u32) -> Result<(), Error> {
    let chip = rig.start(failures)?;
    let mut line = chip.line()?;
    while chip.failures() < failures {
        line.send(command::RECORD)?;
        expect("fault", line.report()?.get("fault"), "None")?;
    }
    // It is on when it answers.
    line.report()?;
    line.send(command::RECORD)?;
    expect("records", line.report()?.get("records"), &records.to_string())
}

/// A program for an emulated chip.
struct Rig {
    python: PathBuf,
    /// The decoder of its log.
    decoder: PathBuf,
    board: &'static Board,
    elf: PathBuf,
}

impl Rig {
    fn new(tools: &Tools, python: &Path, board: &'static Board, elf: PathBuf) -> Result<Self, Error> {
        Ok(Rig { python: python.to_path_buf(), decoder: tools.defmt_print()?, board, elf })
    }

    /// Switches it on; power will fail so often.
    fn start(&self, failures: u32) -> Result<Chip, Error> {
        let mut command = Command::new(&self.python);
        command.arg(root().join("xtask/drivers.py")).arg(self.board.name).arg(&self.elf);
        command.arg(failures.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Killed(command.spawn()?);
        let frames = process.0.stdout.take().expect("a pipe");
        let mut said = BufReader::new(process.0.stderr.take().expect("a pipe")).lines();
        let log = Log::decode(&self.decoder, &self.elf, frames, false)?;
        let port = said.next().and_then(|line| line.ok()?.parse().ok());
        let port = port.ok_or_else(|| Error::failed(format!("the emulator of {} ended", self.board.name)))?;
        let failures = Arc::<AtomicU32>::default();
        let counted = Arc::clone(&failures);
        std::thread::spawn(move || {
            for line in said.map_while(Result::ok) {
                println!("{line}");
                counted.fetch_add(u32::from(line.starts_with("power failure")), Relaxed);
            }
        });
        Ok(Chip { _process: process, port, failures, log })
    }
}

/// An emulated chip that is on.
struct Chip {
    _process: Killed,
    /// Where its serial line listens.
    port: u16,
    failures: Arc<AtomicU32>,
    log: Log,
}

impl Chip {
    fn has_logged(&self, words: &str) -> Result<(), Error> {
        let log = self.log.lines();
        ensure!(log.iter().any(|line| line.contains(words)), "no `{words}` in the log: {log:?}");
        Ok(())
    }

    /// An emulated second takes ten or fifty.
    fn line(&self) -> Result<Line, Error> {
        Ok(Line::new(TcpStream::connect(("127.0.0.1", self.port))?, Duration::from_secs(4)))
    }

    /// How often power has failed.
    fn failures(&self) -> u32 {
        self.failures.load(Relaxed)
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
