//! `cargo xtask size`: what programs take on boards, and whether that is within their budgets.

use std::fmt::Write;

use crate::board::{BOARDS, Board, Variant};
use crate::c;
use crate::error::{Error, Verdict, ensure};
use crate::hil::KEYS;
use crate::map::Elf;
use crate::shell::root;
use crate::tools::Tools;

/// What a program may take, on any board.
pub struct Budget {
    pub program: &'static str,
    /// Flash for code, constants and initial values, in KB.
    pub flash: u64,
    /// Memory in all, variables and stack, in KB.
    pub ram: u64,
    /// The part of it that the stack may use, in KB.
    pub stack: u64,
}

/// All budgets. A new program is a line here.
pub const BUDGETS: [Budget; 3] = [
    Budget { program: "compact", flash: 144, ram: 96, stack: 18 },
    Budget { program: "deep", flash: 192, ram: 1024, stack: 64 },
    Budget { program: "selftest", flash: 32, ram: 16, stack: 4 },
];

/// What a program may take.
pub fn budget(program: &str) -> Result<&'static Budget, Error> {
    let found = BUDGETS.iter().find(|budget| budget.program == program);
    found.ok_or_else(|| Error::failed(format!("no budget for `{program}` in xtask/src/size.rs")))
}

/// Where the table is kept for readers.
const TABLE: &str = "firmware/sizes.md";

/// `cargo xtask size`: prints the table of a board, or that of all boards, which `write` keeps in `firmware/sizes.md`.
pub fn size(board: Option<&str>, write: bool) -> Result<(), Error> {
    let wanted = |one: &&Board| board.is_none_or(|name| name == one.name);
    let sizes = measure_all(&Tools::default(), BOARDS.iter().filter(wanted))?;
    let mut table = table_of(&sizes);
    if board.is_none() {
        table += &languages(c::flash(&Tools::default())?);
    }
    println!("\n{table}");
    if write {
        std::fs::write(root().join(TABLE), format!("{HEADING}{table}"))?;
    }
    sizes.iter().try_for_each(Size::check)
}

/// The step: every program of every board within its budget.
pub fn check_all(tools: &Tools) -> Verdict {
    let sizes = measure_all(tools, BOARDS.iter())?;
    println!("\n{}", table_of(&sizes));
    sizes.iter().try_for_each(Size::check)?;
    Ok(String::new())
}

fn measure_all(tools: &Tools, boards: impl Iterator<Item = &'static Board>) -> Result<Vec<Size>, Error> {
    let mut sizes = Vec::new();
    for board in boards {
        for program in board.programs {
            // What talks to a station can have a key.
            let keys = if *program == "selftest" { &[false][..] } else { &[false, true] };
            for key in keys {
                sizes.push(measure(tools, board, budget(program)?, *key)?);
            }
        }
    }
    Ok(sizes)
}

const HEADING: &str = "\
# What the programs take

Bytes, as `cargo xtask size --write` found them. *Flash* is everything that is loaded: vectors, code, constants and the
initial values of variables; *with a key* it is built with one for the serial line (`FORETUNE_KEY`). *Memory* is
variables and the stack that the budget grants, which is less than what the board leaves for it.

";

/// What a program takes on a board.
struct Size {
    board: &'static str,
    budget: &'static Budget,
    key: bool,
    flash: u64,
    data: u64,
    bss: u64,
    uninit: u64,
    stack: u64,
}

fn measure(tools: &Tools, board: &'static Board, budget: &'static Budget, key: bool) -> Result<Size, Error> {
    let variant = Variant { key: key.then(|| KEYS[0].to_owned()), ..Variant::default() };
    let elf = Elf::read(&board.build_with(tools, budget.program, &variant)?)?;
    let section = |name| elf.section(name).map_or(0, |section| section.span.end - section.span.start);
    let stack = elf.between("_stack_end", "_stack_start")?;
    Ok(Size {
        board: board.name,
        budget,
        key,
        flash: elf.flash(),
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
        let Budget { program, flash, ram, stack } = self.budget;
        let key = if self.key { " with a key" } else { "" };
        for (what, bytes, granted, fits) in [
            ("flash", self.flash, flash, self.flash <= flash * 1024),
            ("memory", self.ram(), ram, self.ram() <= ram * 1024),
            ("room for a stack", self.stack, stack, self.stack >= stack * 1024),
        ] {
            let board = self.board;
            ensure!(
                fits,
                "{program}{key} on {board}: {what} of {bytes} bytes, but the budget is {granted} KB"
            );
        }
        Ok(())
    }
}

/// The core alone, in a bare program.
fn languages([c, rust]: [u64; 2]) -> String {
    format!(
        "\nThe core in a program of its own, `minimal`, on `mps2-an386`, built as the compact profile is: {rust} bytes of flash \
         in Rust (`firmware/examples/minimal.rs`), {c} in C (`capi/examples/minimal.c`).\n"
    )
}

fn table_of(sizes: &[Size]) -> String {
    let mut table = String::from(
        "| program | board | flash | with a key | memory |\n\
         |---|---|---:|---:|---:|\n",
    );
    for size in sizes.iter().filter(|size| !size.key) {
        let (program, board, flash, memory) = (size.budget.program, size.board, size.flash, size.ram());
        let same = |other: &&Size| other.key && other.board == board && other.budget.program == program;
        let keyed = sizes.iter().find(same).map_or_else(String::new, |keyed| keyed.flash.to_string());
        writeln!(table, "| {program} | {board} | {flash} | {keyed} | {memory} |")
            .expect("writing to a string");
    }
    let budget = |budget: &Budget| {
        let Budget { program, flash, ram, stack } = budget;
        format!("{program} {flash}, {ram}, {stack}")
    };
    let budgets: Vec<String> = BUDGETS.iter().map(budget).collect();
    table + &format!("\nBudgets, KB of flash, memory and, of that, stack: {}.\n", budgets.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { program: "program", flash: 96, ram: 64, stack: 8 };

    fn size() -> Size {
        Size {
            board: "board",
            budget: &BUDGET,
            key: false,
            flash: 96 << 10,
            data: 0,
            bss: 56 << 10,
            uninit: 0,
            stack: 8 << 10,
        }
    }

    #[test]
    fn a_budget_may_be_used_up_to_the_last_byte_and_no_further() {
        size().check().unwrap();
        let error = |size: Size| size.check().unwrap_err().why().to_owned();
        assert!(error(Size { flash: (96 << 10) + 1, ..size() }).contains("flash"));
        assert!(error(Size { key: true, data: 1, ..size() }).contains("with a key on board: memory"));
        assert!(error(Size { stack: (8 << 10) - 1, ..size() }).contains("stack"));
    }

    #[test]
    fn every_program_of_every_board_has_a_budget() {
        assert!(BOARDS.iter().flat_map(|board| board.programs).all(|program| budget(program).is_ok()));
    }
}
