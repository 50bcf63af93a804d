//! Other stations than `foretune hil` on an emulated board: one with a key, those without it, and one that is not ours.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::board::find;
use crate::error::{Error, Verdict, ensure};
use crate::hil::{KEYS, Plan, key_file, measured, station};
use crate::proxy::Proxy;
use crate::qemu::{Device, Running};
use crate::shell::{Killed, read, root, run, target_dir};
use crate::test::firmware_and_fuzz;
use crate::tools::Tools;

/// First byte of an answer that is sealed, and of one that is not.
const SEALED: u8 = b'{';
const OPEN: u8 = b'<';
/// How long the line may be silent before nothing more is expected.
const SILENCE: Duration = Duration::from_secs(2);

/// The step `key`: who holds the key tunes, who does not is refused, and so is a recording of who did.
pub fn key(tools: &Tools) -> Verdict {
    let plan = Plan { key: true, count: true, ..Plan::new("mps2-an386", "compact", 2, 60) };
    let (board, folder) = (find(&plan.board)?, tempfile::tempdir()?);
    let mut device = Device::new(tools, board, &plan.build(tools)?, folder.path())?;
    (device.show_log, device.count_instructions) = (true, plan.count);
    let rig = Rig { device, station: station()?, plan };

    let running = rig.device.start()?;
    let proxy = Proxy::open(0, 1)?;
    proxy.lead_to(running.port);
    run(&mut rig.station(proxy.port, KEYS[0])?)?;
    let recorded = proxy.recorded();
    let before = rig.flash()?;
    let served = rig.station(running.port, KEYS[1])?.args(["--patience", "3"]).status()?.success();
    ensure!(!served, "a station with another key was served");
    let refused = replay(&running, &recorded)?;
    ensure!(rig.flash()? == before, "another key or a recording changed what the device stores");
    let log = running.kill()?;
    let restarted = rig.device.start()?;
    let again = replay(&restarted, &recorded)?;
    run(&mut rig.station(restarted.port, KEYS[0])?)?;
    restarted.kill()?;
    let remark = measured(board, &rig.plan, &log)?;
    Ok(format!("{remark}; of a recording {refused} frames refused, {again} after a restart"))
}

struct Rig {
    device: Device,
    station: PathBuf,
    plan: Plan,
}

impl Rig {
    fn station(&self, port: u16, key: &str) -> Result<Command, Error> {
        let mut command = Command::new(&self.station);
        command.args(self.plan.arguments(port)?).arg("--key").arg(key_file(&self.device.folder, key)?);
        Ok(command)
    }

    fn flash(&self) -> Result<Vec<u8>, Error> {
        Ok(std::fs::read(self.device.flash())?)
    }
}

/// Plays a recording to the device; how many frames it refused. One that it takes is an error.
fn replay(device: &Running, recorded: &[u8]) -> Result<usize, Error> {
    let mut line = device.connect()?;
    line.set_read_timeout(Some(SILENCE))?;
    let mut answers = Vec::new();
    for frame in recorded.split_inclusive(|byte| *byte == 0).filter(|frame| frame.len() > 1) {
        line.write_all(&[0])?;
        line.write_all(frame)?;
        hear(&mut line, &mut answers)?;
    }
    let marks = marks(&answers);
    match (marks.contains(&SEALED), marks.iter().filter(|mark| **mark == OPEN).count()) {
        (true, _) => Err(Error::failed("a recording was answered as if it were new")),
        (false, 0) => Err(Error::failed("a recording was not answered at all")),
        (false, refused) => Ok(refused),
    }
}

/// Reads up to the end of an answer, or until the line is silent.
fn hear(line: &mut impl Read, answers: &mut Vec<u8>) -> Result<(), Error> {
    let mut byte = [0];
    let start = answers.len();
    // The zeros before and after an answer.
    while answers[start..].iter().filter(|byte| **byte == 0).count() < 2 {
        match line.read(&mut byte) {
            Ok(1) => answers.extend(byte),
            _ => break,
        }
    }
    Ok(())
}

/// The first byte of the body of every frame: COBS puts one byte before it.
fn marks(bytes: &[u8]) -> Vec<u8> {
    bytes.split(|byte| *byte == 0).filter_map(|frame| frame.get(1).copied()).collect()
}

/// The step `station`, for `examples/station.py`, which is written from `docs/protocol.md` alone: on an emulated board and on this host it comes to the end that `foretune hil` comes to.
pub fn foreign(tools: &Tools) -> Verdict {
    let plan = Plan { sent: true, ..Plan::new("mps2-an386", "compact", 1, 40) };
    let folder = tempfile::tempdir()?;
    let device = Device::new(tools, find(&plan.board)?, &plan.build(tools)?, folder.path())?;
    let running = device.start()?;
    let on_board = end(&mut python(running.port))?;
    running.kill()?;
    let host = Host::start()?;
    let on_host = end(&mut python(host.port))?;
    let host = Host::start()?;
    let ours = end(Command::new(station()?).args(plan.arguments(host.port)?))?;
    ensure!(
        on_board == ours && on_host == ours,
        "three ends of one task:\n  emulated board: {on_board}\n  this host: {on_host}\n  ours: {ours}"
    );
    Ok(ours)
}

fn python(port: u16) -> Command {
    let mut command = Command::new("python3");
    command.arg(root().join("examples/station.py"));
    command.args(["--connect", &format!("tcp:127.0.0.1:{port}"), "--budget", "40"]);
    command
}

/// The line that tells how the task ended.
fn end(command: &mut Command) -> Result<String, Error> {
    let said = read(command).ok_or_else(|| Error::failed(format!("{command:?} failed")))?;
    let line = said.lines().find(|line| line.starts_with("task 1 ended"));
    line.map(str::to_owned).ok_or_else(|| Error::failed(format!("no task ended:\n{said}")))
}

/// The application on this host, until the end of this value.
struct Host {
    _child: Killed,
    port: u16,
}

impl Host {
    fn start() -> Result<Self, Error> {
        run(firmware_and_fuzz("build").args(["--example", "host"]))?;
        let mut command = Command::new(target_dir().join("debug/examples/host"));
        let mut child = Killed(command.arg("0").stdout(Stdio::piped()).spawn()?);
        let mut line = String::new();
        let told = child.0.stdout.take().map(|said| BufReader::new(said).read_line(&mut line));
        told.transpose()?;
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.ok_or_else(|| Error::failed("the application on this host tells no port"))?;
        Ok(Host { _child: child, port })
    }
}
