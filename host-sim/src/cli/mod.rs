//! The command line: what can be asked, and how failures are told.
//!
//! Exit codes: 0 done; 1 something could not be read, written or computed; 2 the request makes no sense; 130
//! interrupted (what was finished is kept). Every failure is one line on the error output.

mod arguments;
mod bench;
mod demo;
mod inspect;
mod interrupt;
mod merge;
mod report;
mod reproduce;
mod run;
mod serve;
mod theory;
mod trace;
mod tune;

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::error::Error;
use crate::hil;
use crate::shapes::STACK;
use crate::words::say;

pub(crate) use crate::table::Table;
pub(crate) use arguments::{ExecutionArguments, ServiceArguments, SettingArguments, SizeArguments, shown};
pub(crate) use interrupt::stop_flag;

const EXAMPLES: &str = "\
Examples:
  foretune                                   one minute of tuning a simulated cellular system
  foretune tune p.toml --command './measure {x}'   what your own command measures, described in p.toml
  foretune run rrm --tasks 5                 five tasks of power control with MFT-MES, results in runs/rrm
  foretune reproduce fig5 --experiments 20   a figure of the paper, made anew
  foretune hil --port /dev/ttyACM0           base station and radio environment to a board
  foretune report results                    one page with everything in results/

Exit codes: 0 done; 1 something could not be read, written or computed; 2 the request makes no sense;
130 interrupted, with everything finished so far kept (go on with --resume).";

/// Tunes what is expensive to measure, one task after the other, and carries on what it learnt.
///
/// The host simulator runs the very optimizer that runs on the device (multi-fidelity Bayesian optimization with
/// transferable max-value entropy search) against the benchmarks of the paper.
#[derive(Debug, Parser)]
#[command(name = "foretune", version, after_help = EXAMPLES, disable_help_subcommand = true, max_term_width = 120)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::DemoArguments),
    Tune(tune::TuneArguments),
    Serve(serve::ServeArguments),
    Run(run::RunArguments),
    Reproduce(reproduce::ReproduceArguments),
    Merge(merge::MergeArguments),
    Report(report::ReportArguments),
    Trace(trace::TraceArguments),
    Hil(hil::HilArguments),
    Inspect(inspect::InspectArguments),
    Theory(theory::TheoryArguments),
    Bench(bench::BenchArguments),
}

/// Runs the program.
pub fn main() -> ExitCode {
    // On a stack that has room for an optimizer's memory.
    let thread = thread::Builder::new().stack_size(STACK).spawn(work);
    let result = match thread.map(thread::JoinHandle::join) {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Error::Defect),
        Err(error) => Err(Error::Output(error)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output has seen enough: `foretune … | head`.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("foretune: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

fn work() -> Result<(), Error> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if let Some(arguments) = parse()? {
        dispatch(arguments, &mut out)?;
    }
    Ok(out.flush()?)
}

/// The definition of the command line, where `--budget -5` is a bad budget and not an unknown option `-5`.
fn command() -> clap::Command {
    let negative = |argument: clap::Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    Arguments::command().mut_subcommands(|command| command.mut_args(negative))
}

/// Whether the program would take this command line, whose first word is its own name; else what is wrong with it.
///
/// # Errors
/// What the program would say.
pub fn check<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    match command().try_get_matches_from(words).and_then(|found| Arguments::from_arg_matches(&found)) {
        Err(error) if error.use_stderr() => Err(one_line(&error.to_string())),
        _ => Ok(()),
    }
}

/// Reads the command line; `None` when it asked for help or the version, which has been printed.
fn parse() -> Result<Option<Arguments>, Error> {
    let parsed = command().try_get_matches().and_then(|found| Arguments::from_arg_matches(&found));
    match parsed {
        Ok(arguments) => Ok(Some(arguments)),
        Err(error) if !error.use_stderr() => {
            error.print()?;
            Ok(None)
        }
        Err(error) => Err(Error::usage(one_line(&error.to_string()))),
    }
}

/// The first paragraph of a message in one line, without its prefix.
fn one_line(message: &str) -> String {
    let paragraph: Vec<&str> = message.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let text = paragraph.join(" ");
    format!("{} (see --help)", text.strip_prefix("error: ").unwrap_or(&text))
}

fn dispatch(arguments: Arguments, out: &mut dyn Write) -> Result<(), Error> {
    match arguments.command {
        Some(Command::Tune(arguments)) => tune::run(&arguments, out),
        Some(Command::Serve(arguments)) => serve::run(&arguments, out),
        Some(Command::Run(arguments)) => run::run(&arguments, out),
        Some(Command::Reproduce(arguments)) => reproduce::reproduce(&arguments, out),
        Some(Command::Demo(arguments)) => demo::run(&arguments, out),
        Some(Command::Merge(arguments)) => merge::run(&arguments, out),
        Some(Command::Report(arguments)) => report::run(&arguments, out),
        Some(Command::Trace(arguments)) => trace::run(&arguments, out),
        Some(Command::Hil(arguments)) => hil::hil(&arguments, out),
        Some(Command::Inspect(arguments)) => inspect::run(&arguments, out),
        Some(Command::Theory(arguments)) => theory::run(&arguments, out),
        Some(Command::Bench(arguments)) => bench::run(&arguments, out),
        None => demo::run(&demo::DemoArguments::default(), out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn messages_become_one_line() {
        assert_eq!(one_line("error: a b\n  c\n\nUsage: x"), "a b c (see --help)");
    }
}
