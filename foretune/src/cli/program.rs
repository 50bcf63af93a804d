//! What programs have in common: a command line that is read, and failures that are told in one line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::{CommandFactory, FromArgMatches};
use host_sim::error::Error;
use host_sim::words::say;

pub type Dispatch<A> = fn(A, &mut dyn Write) -> Result<(), Error>;

/// Runs a program with the words of its command line, the first of which is its name; what it ends with.
pub fn run<A: CommandFactory + FromArgMatches + 'static>(words: Vec<OsString>, dispatch: Dispatch<A>) -> u8 {
    // A panic is told like any other error.
    let thread = thread::Builder::new().spawn(move || work(words, dispatch));
    let result = match thread.map(thread::JoinHandle::join) {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Error::Defect),
        Err(error) => Err(Error::Output(error)),
    };
    match result {
        Ok(()) => 0,
        // Whoever reads our output has seen enough: `foretune … | head`.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => failed::<A>(&error),
    }
}

/// Tells why a program ends, and with what.
pub fn failed<A: CommandFactory>(error: &Error) -> u8 {
    say(&format!("{}: {error}", A::command().get_name()));
    error.exit_code()
}

fn work<A: CommandFactory + FromArgMatches>(
    words: Vec<OsString>,
    dispatch: Dispatch<A>,
) -> Result<(), Error> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if let Some(arguments) = parse(words)? {
        dispatch(arguments, &mut out)?;
    }
    Ok(out.flush()?)
}

/// The definition of a command line, where `--budget -5` is a bad budget and not an unknown option `-5`.
pub fn command<A: CommandFactory>() -> clap::Command {
    let negative = |argument: clap::Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    A::command().mut_subcommands(|command| command.mut_args(negative))
}

/// Whether a program would take this command line, whose first word is its own name; else what is wrong with it.
pub fn check<'a, A: CommandFactory + FromArgMatches>(
    words: impl IntoIterator<Item = &'a str>,
) -> Result<(), String> {
    match command::<A>().try_get_matches_from(words).and_then(|found| A::from_arg_matches(&found)) {
        Err(error) if error.use_stderr() => Err(one_line(&error.to_string())),
        _ => Ok(()),
    }
}

/// Reads the command line; `None` when it asked for help or the version, which has been printed.
fn parse<A: CommandFactory + FromArgMatches>(words: Vec<OsString>) -> Result<Option<A>, Error> {
    match command::<A>().try_get_matches_from(words).and_then(|found| A::from_arg_matches(&found)) {
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

static STOP: AtomicBool = AtomicBool::new(false);
static LISTENING: OnceLock<bool> = OnceLock::new();

/// A flag that is set when the user wants the program to stop; what becomes of the work is said then. A second Ctrl-C ends
/// it at once, which loses nothing that is kept.
pub fn stop_flag(kept: &'static str) -> &'static AtomicBool {
    let requested = move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        say(&format!("stopping; {kept}"));
    };
    // Without a handler, Ctrl-C ends the program at once: as safe, only less polite.
    LISTENING.get_or_init(|| ctrlc::set_handler(requested).is_ok());
    &STOP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_one_line() {
        assert_eq!(one_line("error: a b\n  c\n\nUsage: x"), "a b c (see --help)");
    }
}
