//! `cargo xtask emulate` and `cargo xtask flash`: a program on an emulated or a real board, its log in the terminal.

use std::process::Command;
use std::time::Duration;

use crate::board::{Reach, find as find_board};
use crate::error::Error;
use crate::qemu::Device;
use crate::shell::{find, run, target_dir};
use crate::tools::Tools;

/// A day: an emulated board runs until it ends or is interrupted.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// `cargo xtask emulate <board> <program>`: its serial line on a local port, its flash kept from run to run.
pub fn emulate(board: &str, program: &str) -> Result<(), Error> {
    let tools = Tools::default();
    let board = find_board(board)?;
    let elf = board.build(&tools, program)?;
    let folder = target_dir().join("boards").join(board.name);
    let mut device = Device::new(&tools, board, &elf, &folder)?;
    device.show_log = true;
    let running = device.start()?;
    println!("{} runs; its serial line is at 127.0.0.1:{}", board.name, running.port);
    println!("its flash is {}; delete that for a new device", device.flash().display());
    match running.wait(DAY)?.0 {
        0 => Ok(()),
        code => Err(Error::failed(format!("the program ended with exit code {code}"))),
    }
}

/// `cargo xtask flash <program> --board NAME`: builds for a real board, flashes it and shows its log.
pub fn flash(program: &str, board: &str) -> Result<(), Error> {
    let board = find_board(board)?;
    let Reach::Probed(chip) = board.reach else {
        return Err(Error::failed(format!("{} is emulated: cargo xtask emulate {0} {program}", board.name)));
    };
    // Looked for first: the build takes minutes.
    let probe = find("probe-rs")
        .ok_or_else(|| Error::missing("probe-rs is missing: cargo install probe-rs-tools --locked"))?;
    let elf = board.build(&Tools::default(), program)?;
    run(Command::new(probe).args(["run", "--chip", chip]).arg(elf))
}
