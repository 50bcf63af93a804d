//! Why a command failed, in one line, and the exit code that goes with it.

use std::path::Path;
use std::{fmt, io};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input makes no sense: an argument, a settings file, a file to inspect. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// A file or folder could not be read, written or used. Exit code 1.
    #[error("{0}")]
    File(String),
    /// The optimizer refused what it was given. Exit code 1.
    #[error("the optimizer refused: {0}")]
    Optimizer(#[from] foretune_core::Error),
    /// The answer could not be written. Exit code 1.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// A device, or the command that measures, does not answer, refuses, or does something else than it should. Exit
    /// code 1.
    #[error("{0}")]
    Device(String),
    /// A part of the program broke down. Exit code 1.
    #[error("a part of the program broke down: this is a defect of the program")]
    Defect,
    /// Interrupted from outside; what was finished is on the disk. Exit code 130.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// Names what was attempted, as in "cannot read", and the path; made for `map_err`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File(format!("cannot {action} {}: {error}", path.display()))
    }

    /// A file's text is cut off, altered or not what its place demands; lines count from 1.
    pub fn damaged(path: &Path, line: usize, problem: impl fmt::Display) -> Self {
        Self::File(format!("{}, line {line}: {problem}", path.display()))
    }

    /// A file or folder is readable, but not usable in the way that was asked: why, and the way out if there is one.
    pub fn refused(path: &Path, problem: impl fmt::Display) -> Self {
        Self::File(format!("{}: {problem}", path.display()))
    }

    /// So many measurements in a row failed that no more are tried.
    pub fn failing(count: usize, last: &str) -> Self {
        let why = if last.is_empty() { String::new() } else { format!(", the last: {last}") };
        Self::Device(format!(
            "{count} measurements in a row failed{why}; put the command right, or raise `failures` in the problem's file"
        ))
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::File(_) | Self::Optimizer(_) | Self::Output(_) | Self::Device(_) | Self::Defect => 1,
            Self::Interrupted => 130,
        }
    }
}
