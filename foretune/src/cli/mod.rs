//! The command line: what can be asked, and how failures are told.
//!
//! Exit codes: 0 done; 1 something could not be read, written or computed; 2 the request makes no sense, or names a file that is
//! not there; 130 interrupted (what was finished is kept). Every failure is one line on the error output.

pub mod arguments;
mod demo;
mod fleet;
pub mod program;
pub mod report;
pub mod run;
mod serve;
mod show;
mod tune;

use std::ffi::OsString;
use std::io::Write;

use clap::{Parser, Subcommand};
use foretune_report::PLAIN;
use foretune_report::table::Table;
use host_sim::error::Error;

use crate::hil;
use arguments::shell_word;
pub(crate) use tune::KeepArguments;

pub use arguments::{ExecutionArguments, ServiceArguments, SettingArguments, SizeArguments, shown};
pub use program::stop_flag;

const EXAMPLES: &str = "\
Examples:
  foretune                                   one minute of tuning a simulated cellular system
  foretune tune p.toml --command './measure {x}'   what your own command measures, described in p.toml
  foretune show p.state                      what was measured there so far, and what is recommended
  foretune run rrm --tasks 5                 five tasks of power control with MFT-MES, results in runs/rrm
  foretune hil --port /dev/ttyACM0           base station and radio environment to a board
  foretune report runs                       one page with everything in runs/

Exit codes: 0 done; 1 something could not be read, written or computed; 2 the request makes no sense, or names a file that
is not there; 130 interrupted, with everything finished so far kept (go on with --resume).

The paper's figures and bounds, and what checks the optimizer bit by bit, have a program of their own: foretune-paper.";

/// Tunes what is expensive to measure, one task after the other, and carries on what it learnt.
///
/// The host simulator runs the very optimizer that runs on the device (multi-fidelity Bayesian optimization with
/// transferable max-value entropy search) against the benchmarks of the paper.
#[derive(Debug, Parser)]
#[command(name = "foretune", version, after_help = EXAMPLES, disable_help_subcommand = true, max_term_width = 120)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::DemoArguments),
    Tune(tune::TuneArguments),
    Serve(serve::ServeArguments),
    Show(show::ShowArguments),
    Explain(show::ExplainArguments),
    Run(run::RunArguments),
    Fleet(fleet::FleetArguments),
    Report(report::ReportArguments),
    Hil(hil::HilArguments),
}

/// Commands of the paper's program.
const MOVED: [&str; 6] = ["reproduce", "merge", "trace", "inspect", "theory", "bench"];

/// Runs the program with the words of a command line, the first of which is its name; what it ends with.
pub fn run(words: Vec<OsString>) -> u8 {
    match words.get(1).and_then(|word| word.to_str()).filter(|word| MOVED.contains(word)) {
        Some(command) => program::failed::<Arguments>(&Error::usage(moved(command, &words[1..]))),
        None => program::run(words, dispatch),
    }
}

fn moved(command: &str, words: &[OsString]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_word(&word.to_string_lossy())).collect();
    let words = words.join(" ");
    format!(
        "`{command}` is in the paper's program: foretune-paper {words}, or cargo run --release -p foretune-paper -- {words}"
    )
}

fn dispatch(arguments: Arguments, out: &mut dyn Write) -> Result<(), Error> {
    match arguments.command {
        Some(Command::Tune(arguments)) => tune::run(&arguments, out),
        Some(Command::Serve(arguments)) => serve::run(&arguments, out),
        Some(Command::Show(arguments)) => show::run(&arguments, out),
        Some(Command::Explain(arguments)) => show::explain(&arguments, out),
        Some(Command::Run(arguments)) => run::run(&arguments, out),
        Some(Command::Fleet(arguments)) => fleet::run(&arguments, out),
        Some(Command::Demo(arguments)) => demo::run(&arguments, out),
        Some(Command::Report(arguments)) => report::run(&arguments, PLAIN, out),
        Some(Command::Hil(arguments)) => hil::hil(&arguments, out),
        None => demo::run(&demo::DemoArguments::default(), out),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        super::program::command::<super::Arguments>().debug_assert();
    }
}
