//! Runs `firmware/examples/minimal.rs`: the core in a program without board support.

use crate::board::find;
use crate::error::ensure;
use crate::qemu;
use crate::step::Verdict;
use crate::tools::Tools;

/// The step: it finds what it should in both of its tasks.
pub fn check(tools: &Tools) -> Verdict {
    let board = find("mps2-an386")?;
    let said = qemu::output(&tools.qemu()?, board, &board.build_example(tools, "minimal", &[])?, 60, &[])?;
    println!("{said}");
    let found = said.lines().filter(|line| line.contains("found")).count();
    ensure!(found == 2, "{found} of 2 tasks came to an end");
    Ok(String::new())
}
