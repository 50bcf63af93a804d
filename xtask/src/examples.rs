//! Runs the programs in `firmware/examples`: the core without board support, and beside other tasks of an executor.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use crate::board::find;
use crate::error::{Error, Verdict, ensure};
use crate::qemu::{self, Device};
use crate::tools::Tools;

/// The step `minimal`: the core in a bare program finds what it should in both of its tasks.
pub fn minimal(tools: &Tools) -> Verdict {
    let board = find(BOARDS[0])?;
    let said = qemu::output(&tools.qemu()?, board, &board.build_example(tools, "minimal", &[])?, 60, &[])?;
    println!("{said}");
    let found = said.lines().filter(|line| line.contains("found")).count();
    ensure!(found == 2, "{found} of 2 tasks came to an end");
    Ok(String::new())
}

/// The emulated board, and a real one that it is built for.
const BOARDS: [&str; 2] = ["mps2-an386", "nucleo-f446re"];
/// How long the device may work without an echo: as long as a whole task in one go takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Fewest times that the LED must have been switched, and lines echoed, while the tuner worked.
const FEWEST: u32 = 10;

/// The step `tasks`: everybody goes on, and what the tuner learns is what it learns in one go.
pub fn tasks(tools: &Tools) -> Verdict {
    let build = |name| find(name)?.build_example(tools, "tasks", &["tasks"]);
    build(BOARDS[1])?;
    let (elf, folder) = (build(BOARDS[0])?, tempfile::tempdir()?);
    let mut device = Device::new(tools, find(BOARDS[0])?, &elf, folder.path())?;
    // So that the watchdog's patience does not depend on how busy this machine is.
    device.count_instructions = true;
    let running = device.start()?;
    let mut line = running.connect()?;
    line.set_read_timeout(Some(PATIENCE))?;
    let mut answers = BufReader::new(line.try_clone()?).lines();
    let mut echoed = 0;
    let report = loop {
        writeln!(line, "{echoed}")?;
        match answers.next().ok_or_else(|| Error::failed("the line was closed"))?? {
            answer if answer == echoed.to_string() => echoed += 1,
            report => break report,
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    running.kill()?;
    judge(&report, echoed)?;
    Ok(format!("{report}, {echoed} lines echoed meanwhile; built for {}", BOARDS[1]))
}

fn judge(report: &str, echoed: u32) -> Result<(), Error> {
    let value = |name: &str| {
        let word = report.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        word.ok_or_else(|| Error::failed(format!("no `{name}` in `{report}`")))
    };
    let switched: u32 = value("switched")?.parse().map_err(|_| Error::failed(format!("`{report}`?")))?;
    let same = value("learnt")? == value("in_one_go")?;
    ensure!(same, "slices and one go teach another thing: {report}");
    ensure!(switched.min(echoed) >= FEWEST, "the others had to wait: {report}, {echoed} lines echoed");
    Ok(())
}
