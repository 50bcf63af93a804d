//! A station that is not ours: `examples/station.py`, written from `docs/protocol.md` alone.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::board::find;
use crate::error::{Error, Verdict};
use crate::hil::{Plan, station};
use crate::qemu::Device;
use crate::shell::{Killed, read, root, run, target_dir};
use crate::test::firmware_and_fuzz;
use crate::tools::Tools;

/// The step: on an emulated board and on this host it comes to the end that `foretune hil` comes to.
pub fn check(tools: &Tools) -> Verdict {
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
    if on_board != ours || on_host != ours {
        return Err(Error::failed(format!(
            "three ends of one task:\n  emulated board: {on_board}\n  this host: {on_host}\n  ours: {ours}"
        )));
    }
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
