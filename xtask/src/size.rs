//! `cargo xtask size`: what programs take on boards, and whether that is within their budgets.

use std::fmt::Write;

use crate::board::find;
use crate::elf::Elf;
use crate::error::Error;
use crate::shell::root;
use crate::step::Verdict;
use crate::tools::Tools;

/// What a program may take on a board.
pub struct Budget {
    /// The board.
    pub board: &'static str,
    /// The program.
    pub program: &'static str,
    /// Flash for code, constants and initial values, in KB.
    pub flash: u64,
    /// Memory in all, variables and stack, in KB.
    pub ram: u64,
    /// The part of it that the stack may use, in KB.
    pub stack: u64,
}

/// All budgets. A new program is a line here.
pub const BUDGETS: &[Budget] = &[
    Budget { board: "mps2-an386", program: "compact", flash: 96, ram: 64, stack: 16 },
    Budget { board: "nucleo-h7a3zi", program: "compact", flash: 96, ram: 64, stack: 16 },
    Budget { board: "mps2-an500", program: "deep", flash: 192, ram: 1024, stack: 64 },
    Budget { board: "nucleo-h7a3zi", program: "deep", flash: 192, ram: 1024, stack: 64 },
    Budget { board: "mps2-an386", program: "selftest", flash: 32, ram: 16, stack: 4 },
    Budget { board: "nucleo-h7a3zi", program: "selftest", flash: 32, ram: 16, stack: 4 },
];

/// Bytes of stack that a program may use on a board.
pub fn stack_budget(board: &str, program: &str) -> Option<u64> {
    let budget = BUDGETS.iter().find(|budget| (budget.board, budget.program) == (board, program))?;
    Some(budget.stack * 1024)
}

/// Where the table is kept for readers.
const TABLE: &str = "firmware/sizes.md";

/// `cargo xtask size [--write]`: prints the table, and with `--write` keeps it in `firmware/sizes.md`.
pub fn size(write: bool) -> Result<(), Error> {
    let tools = Tools::default();
    let sizes = BUDGETS.iter().map(|budget| measure(&tools, budget)).collect::<Result<Vec<_>, _>>()?;
    let table = table_of(&sizes);
    println!("\n{table}");
    if write {
        std::fs::write(root().join(TABLE), format!("{HEADING}{table}"))?;
    }
    sizes.iter().try_for_each(Size::check)
}

/// The step: every program within its budget.
pub fn check_all(tools: &Tools) -> Verdict {
    let sizes = BUDGETS.iter().map(|budget| measure(tools, budget)).collect::<Result<Vec<_>, _>>()?;
    println!("\n{}", table_of(&sizes));
    sizes.iter().try_for_each(Size::check)?;
    Ok(String::new())
}

const HEADING: &str = "\
# What the programs take

Bytes, as `cargo xtask size --write` found them. *Flash* is everything that is loaded: vectors, code, constants and the
initial values of variables. *Stack* is what the board leaves for it; the budget counts what the program may use of it.

";

/// What a program takes on a board.
struct Size {
    budget: &'static Budget,
    flash: u64,
    data: u64,
    bss: u64,
    uninit: u64,
    stack: u64,
}

fn measure(tools: &Tools, budget: &'static Budget) -> Result<Size, Error> {
    let elf = Elf::read(&find(budget.board)?.build(tools, budget.program)?)?;
    let section = |name| elf.section(name).map_or(0, |section| section.span.end - section.span.start);
    let stack = elf.between("_stack_end", "_stack_start")?;
    Ok(Size {
        budget,
        flash: elf.loads.iter().map(|load| load.end - load.start).sum(),
        data: section(".data"),
        bss: section(".bss"),
        uninit: section(".uninit"),
        stack: stack.end - stack.start,
    })
}

impl Size {
    /// Variables and the stack that the budget grants.
    fn ram(&self) -> u64 {
        self.data + self.bss + self.uninit + self.budget.stack * 1024
    }

    fn check(&self) -> Result<(), Error> {
        let Budget { board, program, flash, ram, stack } = self.budget;
        let over = |what: &str, taken: u64, granted: u64| {
            Error::failed(format!(
                "{program} on {board}: {what} of {taken} bytes, but the budget is {granted}"
            ))
        };
        match () {
            _ if self.flash > flash * 1024 => Err(over("flash", self.flash, flash * 1024)),
            _ if self.ram() > ram * 1024 => Err(over("memory", self.ram(), ram * 1024)),
            _ if self.stack < stack * 1024 => Err(over("room for a stack", self.stack, stack * 1024)),
            _ => Ok(()),
        }
    }
}

fn table_of(sizes: &[Size]) -> String {
    let mut table = String::from(
        "| program | board | flash | budget | .data | .bss | .uninit | stack granted | memory | budget | stack there |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for size in sizes {
        let Budget { board, program, flash, ram, stack } = size.budget;
        let (flash, ram, stack) = (flash * 1024, ram * 1024, stack * 1024);
        let Size { data, bss, uninit, .. } = size;
        writeln!(
            table,
            "| {program} | {board} | {} | {flash} | {data} | {bss} | {uninit} | {stack} | {} | {ram} | {} |",
            size.flash,
            size.ram(),
            size.stack
        )
        .expect("writing to a string");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { board: "board", program: "program", flash: 96, ram: 64, stack: 8 };

    fn size() -> Size {
        Size { budget: &BUDGET, flash: 96 << 10, data: 0, bss: 56 << 10, uninit: 0, stack: 8 << 10 }
    }

    #[test]
    fn a_budget_may_be_used_up_to_the_last_byte() {
        size().check().unwrap();
    }

    #[test]
    fn one_byte_more_is_too_much() {
        let error = |size: Size| size.check().unwrap_err().why().to_owned();
        assert!(error(Size { flash: (96 << 10) + 1, ..size() }).contains("flash"));
        assert!(error(Size { data: 1, ..size() }).contains("memory"));
        assert!(error(Size { stack: (8 << 10) - 1, ..size() }).contains("stack"));
    }

    #[test]
    fn budgets_name_boards_that_exist() {
        assert!(BUDGETS.iter().all(|budget| find(budget.board).is_ok()));
    }
}
