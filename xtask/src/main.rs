//! Commands of the project: tests, emulated boards, sizes. `cargo xtask help` lists them.

mod audit;
mod board;
mod c;
mod count;
mod dist;
mod disturbed;
mod error;
mod hil;
mod map;
mod panics;
mod proxy;
mod python;
mod qemu;
mod selftest;
mod shell;
mod size;
mod soak;
mod stations;
mod test;
mod toolchain;
mod tools;

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use board::probed;
use error::Error;

/// Commands of the project: tests, emulated and real boards, sizes, soak tests.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 120)]
#[command(arg_required_else_help = true, after_help = lists())]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// All commands. A new one is a variant here, a line in [`run`] and a module beside this file.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run every test, or the named steps; installs what is missing, and fails in CI if a step cannot run.
    #[command(after_help = steps())]
    Test {
        /// Steps to run, instead of all.
        #[arg(value_name = "STEP", value_parser = names(test::STEPS.iter().map(|step| step.name)), hide_possible_values = true)]
        steps: Vec<String>,
    },
    /// Run the tuner on an emulated board with `foretune hil` as its base station; compare bit for bit with this host.
    Hil(hil::Plan),
    /// Run the long tests: property tests on fresh seeds, storage, line and life on this host, disturbed boards.
    Soak(soak::SoakArguments),
    /// Run libFuzzer on every fuzz target, or on those named; needs a nightly compiler.
    Fuzz(audit::FuzzArguments),
    /// Run what needs more tools: licences and sources, versions since the last tag, Miri, sanitizers; half an hour and a nightly compiler.
    Audit {
        /// Checks to run, instead of all but `advisories`, which needs a network, and `mutants`, which takes hours.
        #[arg(value_name = "CHECK", value_parser = names(audit::names()))]
        checks: Vec<String>,
        /// Test one in so many mutants of the core.
        #[arg(long, value_name = "N", default_value_t = 12)]
        shards: u32,
    },
    /// Run a program of the firmware in the emulator: its log here, its serial line on a local port.
    Emulate {
        /// The board.
        #[arg(value_parser = boards())]
        board: String,
        /// The program: compact, deep or selftest.
        program: String,
    },
    /// List the boards: what they are, what they can run, and what has run on silicon.
    Boards,
    /// Build for a real board, flash it with probe-rs and show its log.
    Flash {
        /// The program: compact, deep, or selftest to try a new board.
        program: String,
        /// The board.
        #[arg(long, value_parser = names(probed().map(|board| board.name)))]
        board: String,
    },
    /// Print what the programs take on the boards, against their budgets.
    Size {
        /// Only those of this board.
        #[arg(long, value_parser = boards(), conflicts_with = "write")]
        board: Option<String>,
        /// Keep the table in firmware/sizes.md.
        #[arg(long)]
        write: bool,
    },
    /// Count instructions on the emulated Cortex-M7, against the table in firmware/instructions.md.
    Count {
        /// Renew the table.
        #[arg(long)]
        write: bool,
    },
    /// Build the library for C: header, static library and licences in target/c/TARGET.
    C {
        /// What to build for.
        #[arg(long, value_parser = names(c::TARGETS))]
        target: String,
    },
    /// Make a release in target/dist: program, library for C and Arduino, wheel, firmware, checksums.
    Dist,
    /// List every place in the released firmware that could panic.
    Panics {
        /// Keep their numbers in firmware/panics.md.
        #[arg(long)]
        write: bool,
    },
    /// Print a program's memory map, checked against the chip's.
    Map {
        /// The board.
        #[arg(value_parser = boards())]
        board: String,
        /// The program: compact, deep or selftest.
        program: String,
    },
}

fn names(names: impl IntoIterator<Item = &'static str>) -> PossibleValuesParser {
    PossibleValuesParser::new(names)
}

fn boards() -> PossibleValuesParser {
    names(board::names())
}

fn lists() -> String {
    format!("Boards: {}\n\n{}", board::names().collect::<Vec<_>>().join(", "), steps())
}

fn steps() -> String {
    format!("Steps of `test`:\n{}", test::list())
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.why());
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Test { steps } => test::test(&steps),
        Command::Hil(plan) => hil::hil(&plan),
        Command::Soak(arguments) => soak::soak(&arguments),
        Command::Fuzz(arguments) => audit::fuzz(&arguments),
        Command::Audit { checks, shards } => audit::audit(&checks, shards),
        Command::Emulate { board, program } => board::emulate(&board, &program),
        Command::Boards => {
            board::list();
            Ok(())
        }
        Command::Flash { program, board } => board::flash(&program, &board),
        Command::Size { board, write } => size::size(board.as_deref(), write),
        Command::Count { write } => count::count(write),
        Command::C { target } => {
            let known = c::TARGETS.into_iter().find(|known| *known == target);
            known.map_or_else(|| Err(Error::failed(format!("no target `{target}`"))), c::release)
        }
        Command::Dist => dist::dist(),
        Command::Panics { write } => panics::panics(write),
        Command::Map { board, program } => map::map(&board, &program),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_its_help_and_refuses_what_it_does_not_know() {
        for command in Arguments::command().get_subcommands() {
            let parse = |word: &str| Arguments::try_parse_from(["xtask", command.get_name(), word]);
            assert!(!parse("--help").unwrap_err().use_stderr(), "{}", command.get_name());
            let error = parse("--wirte").unwrap_err();
            assert!(error.use_stderr() && error.to_string().contains("--wirte"), "{error}");
        }
        assert!(!Arguments::try_parse_from(["xtask", "--help"]).unwrap_err().use_stderr());
    }

    /// What stands between backquotes or alone on a line, in the pages that name these commands.
    #[test]
    fn every_command_on_a_page_is_one_that_is_there() {
        let pages = [
            "README.md",
            "CONTRIBUTING.md",
            "docs/guide/c.md",
            "docs/reliability.md",
            "docs/speed.md",
            "firmware/README.md",
        ];
        let mut checked = 0;
        for page in pages {
            let text = std::fs::read_to_string(shell::root().join(page)).unwrap();
            for rest in text.split("cargo xtask ").skip(1) {
                let command = rest.split(['`', '#', '\n', ';', ')', ':']).next().unwrap_or_default();
                if command.contains('…') {
                    continue;
                }
                let words = ["xtask"].into_iter().chain(command.split_whitespace());
                let refused = Arguments::try_parse_from(words).err().filter(clap::Error::use_stderr);
                assert!(refused.is_none(), "{page}: cargo xtask {command}: {refused:?}");
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked}");
    }
}
