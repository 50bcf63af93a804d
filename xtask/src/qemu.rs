//! Starting, talking to, killing and restarting an emulated board.
//!
//! A device is a [`Device`]: a program, a machine and a folder that holds its flash. [`Device::start`] switches it on;
//! what comes back is a [`Running`] board whose serial line is a TCP connection. [`Running::kill`] is a power failure at
//! any instant; [`Device::cut`] makes one exact: power fails at the N-th piece of a change to the flash.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::board::{Board, Reach};
use crate::error::Error;
use crate::shell::read;
use crate::tools::Tools;

/// The exit code of a device whose power failed where [`Device::cut`] said.
pub const CUT: i32 = 75;

/// Instructions per tick of a board's clock when instructions are counted: 1 ns each.
pub fn instructions_per_tick(board: &Board) -> u64 {
    match board.reach {
        Reach::Emulated { megahertz, .. } => 1000 / megahertz,
        Reach::Probed(_) => 1,
    }
}

/// A device: what runs, on what, with which flash.
#[derive(Debug, Clone)]
pub struct Device {
    pub qemu: PathBuf,
    /// The decoder of its log.
    pub decoder: PathBuf,
    /// The emulator's name for the board.
    pub machine: &'static str,
    pub elf: PathBuf,
    /// Where its flash lies.
    pub folder: PathBuf,
    /// Count instructions: virtual time is 1 ns per instruction and the clock's ticks measure work, not seconds.
    pub count_instructions: bool,
    /// Let power fail at this piece of a change to the flash, counted from the start.
    pub cut: Option<u32>,
    /// Print the log as it comes.
    pub show_log: bool,
}

impl Device {
    /// A device with the flash that lies in `folder` (an erased one when there is none yet).
    pub fn new(tools: &Tools, board: &Board, elf: &Path, folder: &Path) -> Result<Self, Error> {
        Ok(Device {
            qemu: tools.qemu()?,
            decoder: tools.defmt_print()?,
            machine: machine(board)?,
            elf: elf.to_path_buf(),
            folder: folder.to_path_buf(),
            count_instructions: false,
            cut: None,
            show_log: false,
        })
    }

    pub fn start(&self) -> Result<Running, Error> {
        let port = free_port()?;
        let mut process = self.command(port).spawn()?;
        let frames = process.stdout.take().expect("standard output is a pipe");
        let log = Log::decode(&self.decoder, &self.elf, frames, self.show_log)?;
        Ok(Running { process, port, log: Some(log) })
    }

    /// The file that holds the flash: the data, then one mark per 16 bytes.
    pub fn flash(&self) -> PathBuf {
        self.folder.join("flash.bin")
    }

    fn command(&self, port: u16) -> Command {
        let mut semihosting = "enable=on,target=native,arg=device".to_owned();
        if let Some(cut) = self.cut {
            semihosting += &format!(",arg=cut={cut}");
        }
        let line = format!("socket,id=line,host=127.0.0.1,port={port},server=on,wait=off,nodelay=on");
        let mut command = Command::new(&self.qemu);
        command
            .args(["-machine", self.machine, "-display", "none", "-monitor", "none", "-kernel"])
            .arg(&self.elf);
        command.args(["-semihosting-config", &semihosting, "-chardev", &line, "-serial", "chardev:line"]);
        if self.count_instructions {
            command.args(["-icount", "shift=0"]);
        }
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }
}

/// What a program without a serial line prints until it ends by itself; one that does not is ended after `seconds`.
/// `options` are the emulator's own.
pub fn output(
    qemu: &Path,
    board: &Board,
    elf: &Path,
    seconds: u32,
    options: &[&str],
) -> Result<String, Error> {
    let mut emulator = Command::new("timeout");
    emulator.arg(seconds.to_string()).arg(qemu).args(["-machine", machine(board)?]).args(options);
    emulator.args(["-display", "none", "-monitor", "none", "-serial", "none"]);
    emulator.args(["-semihosting-config", "enable=on,target=native", "-kernel"]).arg(elf);
    read(&mut emulator).ok_or_else(|| Error::failed(format!("{} did not end with success", elf.display())))
}

fn machine(board: &Board) -> Result<&'static str, Error> {
    board.machine().ok_or_else(|| Error::failed(format!("{} is not emulated", board.name)))
}

/// A port that nobody listens on at the moment.
fn free_port() -> Result<u16, Error> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// A board that is switched on; dropping it switches it off.
pub struct Running {
    process: Child,
    /// Where its serial line listens, on this machine. Clients may come and go, one at a time.
    pub port: u16,
    log: Option<Log>,
}

impl Running {
    /// Connects to the serial line. Reads give up after 30 s, so that a silent device is an error and not a wait.
    pub fn connect(&self) -> Result<TcpStream, Error> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(line) => {
                    line.set_nodelay(true)?;
                    line.set_read_timeout(Some(Duration::from_secs(30)))?;
                    return Ok(line);
                }
                Err(error) if Instant::now() > deadline => {
                    return Err(Error::failed(format!("serial line: {error}")));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Power failure: the device is gone between two instructions. Returns its log.
    pub fn kill(mut self) -> Result<Vec<String>, Error> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(self.finish_log())
    }

    /// Waits until the program ends by itself; its exit code and its log. One that does not end in time is killed.
    pub fn wait(mut self, limit: Duration) -> Result<(i32, Vec<String>), Error> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.process.try_wait()? {
                let code = status
                    .code()
                    .ok_or_else(|| Error::failed(format!("the emulator ended with {status}")))?;
                return Ok((code, self.finish_log()));
            }
            if Instant::now() > deadline {
                return Err(Error::failed(format!(
                    "the device was still running after {} s",
                    limit.as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    pub fn log(&self) -> Vec<String> {
        self.log.as_ref().map(Log::lines).unwrap_or_default()
    }

    fn finish_log(&mut self) -> Vec<String> {
        self.log.take().map(Log::finish).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        self.finish_log();
    }
}

/// The device's log: `defmt` frames from the emulator's standard output, made readable by `defmt-print`.
pub struct Log {
    decoder: Child,
    reader: JoinHandle<()>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Log {
    pub fn decode(decoder: &Path, elf: &Path, frames: ChildStdout, show: bool) -> Result<Self, Error> {
        let mut decoder = Command::new(decoder)
            .arg("-e")
            .arg(elf)
            .env("NO_COLOR", "1")
            .stdin(frames)
            .stdout(Stdio::piped())
            .spawn()?;
        let text = decoder.stdout.take().expect("standard output is a pipe");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(text).lines().map_while(Result::ok) {
                if show {
                    println!("device: {line}");
                }
                kept.lock().expect("no reader panics").push(line);
            }
        });
        Ok(Log { decoder, reader, lines })
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("no reader panics").clone()
    }

    /// The emulator is gone, so the decoder ends by itself.
    fn finish(mut self) -> Vec<String> {
        self.decoder.wait().ok();
        self.reader.join().ok();
        Arc::try_unwrap(self.lines)
            .map(|lines| lines.into_inner().expect("no reader panics"))
            .unwrap_or_default()
    }
}
