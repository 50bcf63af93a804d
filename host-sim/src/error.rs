//! Why a command failed, in one line, and the exit code that goes with it.

use std::fmt;
use std::io;

use crate::results;

/// A failure of a command.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input makes no sense: an argument, a settings file, a file to inspect. Exit code 2.
    Usage(String),
    /// Results could not be read, written or combined. Exit code 1.
    Results(results::Error),
    /// The optimizer refused what it was given. Exit code 1.
    Optimizer(foretune_core::Error),
    /// The answer could not be written. Exit code 1.
    Output(io::Error),
    /// A device, or the command that measures, does not answer, refuses, or does something else than it should. Exit
    /// code 1.
    Device(String),
    /// A part of the program broke down. Exit code 1.
    Defect,
    /// Interrupted from outside; what was finished is on the disk. Exit code 130.
    Interrupted,
}

impl Error {
    /// A usage error.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// So many measurements in a row failed that no more are tried.
    pub fn failing(count: usize, last: &str) -> Self {
        let why = if last.is_empty() { String::new() } else { format!(", the last: {last}") };
        Self::Device(format!(
            "{count} measurements in a row failed{why}; put the command right, or raise `failures` in the problem's file"
        ))
    }

    /// What the program exits with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Results(_) | Self::Optimizer(_) | Self::Output(_) | Self::Device(_) | Self::Defect => 1,
            Self::Interrupted => 130,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Device(text) => f.write_str(text),
            Self::Results(error) => error.fmt(f),
            Self::Optimizer(error) => write!(f, "the optimizer refused: {error}"),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
            Self::Defect => f.write_str("a part of the program broke down: this is a defect of the program"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

impl From<results::Error> for Error {
    fn from(error: results::Error) -> Self {
        Self::Results(error)
    }
}

impl From<foretune_core::Error> for Error {
    fn from(error: foretune_core::Error) -> Self {
        Self::Optimizer(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
