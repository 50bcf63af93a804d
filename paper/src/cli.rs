//! The command line of the paper's program; failures are told as `foretune` tells them.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use foretune::cli::{program, report};
use host_sim::error::Error;

use crate::page::MAKER;
use crate::{bench, day, evaluate, inspect, merge, reproduce, tables, theory, trace};

const EXAMPLES: &str = "\
Examples:
  foretune-paper reproduce fig5 --experiments 20   a figure of the paper, made anew
  foretune-paper report runs/paper                 one page with the figures, and the paper's claims judged
  foretune-paper tables                            the tables of the documents, from results/
  foretune-paper day --towns 2 --days 2            a network over days: load, events, watched and re-tuned
  foretune-paper theory                            the regret bound, as far as it can be checked
  foretune-paper bench                             how fast the optimizer is here

Exit codes: 0 done; 1 something could not be read, written or computed; 2 the request makes no sense, or names a file that
is not there; 130 interrupted, with everything finished so far kept (go on with --resume).";

/// Makes the paper's figures anew, judges its claims, and checks the optimizer bit by bit.
#[derive(Debug, Parser)]
#[command(name = "foretune-paper", version, after_help = EXAMPLES, disable_help_subcommand = true, max_term_width = 120)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Reproduce(reproduce::ReproduceArguments),
    Merge(merge::MergeArguments),
    Report(report::ReportArguments),
    Theory(theory::TheoryArguments),
    Trace(trace::TraceArguments),
    Inspect(inspect::InspectArguments),
    Bench(bench::BenchArguments),
    Day(day::DayArguments),
    Evaluate(evaluate::EvaluateArguments),
    Tables(tables::TablesArguments),
}

pub fn main() -> ExitCode {
    ExitCode::from(program::run(std::env::args_os().collect(), dispatch))
}

fn dispatch(arguments: Arguments, out: &mut dyn Write) -> Result<(), Error> {
    match arguments.command {
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments, out),
        Command::Merge(arguments) => merge::run(&arguments, out),
        Command::Report(arguments) => report::run(&arguments, MAKER, out),
        Command::Theory(arguments) => theory::run(&arguments, out),
        Command::Trace(arguments) => trace::run(&arguments, out),
        Command::Inspect(arguments) => inspect::run(&arguments, out),
        Command::Bench(arguments) => bench::run(&arguments, out),
        Command::Day(arguments) => day::run(&arguments, out),
        Command::Evaluate(arguments) => evaluate::run(&arguments, out),
        Command::Tables(arguments) => tables::run(&arguments, out),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        super::program::command::<super::Arguments>().debug_assert();
    }
}
