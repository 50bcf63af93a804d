//! Runs `firmware/examples/minimal.rs`: the core in a program without board support.

use crate::board::find;
use crate::error::Error;
use crate::qemu;
use crate::step::Verdict;
use crate::tools::Tools;

/// The step: it finds what it should in both of its tasks.
pub fn check(tools: &Tools) -> Verdict {
    let board = find("mps2-an386")?;
    let elf = board.build_example(tools, "minimal", "firmware")?;
    let said = qemu::output(tools, board, &elf, 60, &[])?;
    println!("{said}");
    match said.lines().filter(|line| line.contains("found")).count() {
        2 => Ok(String::new()),
        found => Err(Error::failed(format!("{found} of 2 tasks came to an end"))),
    }
}
