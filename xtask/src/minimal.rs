//! Runs `firmware/examples/minimal.rs`: the core in a program without board support.

use std::process::Command;

use crate::shell::{read, run};
use crate::step::{Trouble, Verdict};
use crate::tools::Tools;

const BOARD: &str = "mps2-an386";

/// The step: it finds what it should in both of its tasks.
pub fn check(tools: &Tools) -> Verdict {
    let toolchain = tools.board_toolchain()?;
    let mut cargo = toolchain.cargo("build");
    cargo.args(["--package", "foretune-firmware", "--profile", "firmware", "--features", BOARD]);
    run(cargo.args(["--example", "minimal"]))?;
    let elf = toolchain.output().join("firmware/examples/minimal");
    // It ends by itself within a second; one that does not is ended.
    let mut emulator = Command::new("timeout");
    emulator.arg("60").arg(tools.qemu()?).args(["-machine", BOARD, "-display", "none", "-monitor", "none"]);
    emulator.args(["-serial", "none", "-semihosting-config", "enable=on,target=native", "-kernel"]).arg(elf);
    let said = read(&mut emulator).ok_or_else(|| Trouble::failed("it did not end with success"))?;
    println!("{said}");
    match said.lines().filter(|line| line.contains("found")).count() {
        2 => Ok(String::new()),
        found => Err(Trouble::failed(format!("{found} of 2 tasks came to an end"))),
    }
}
