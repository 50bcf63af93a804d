//! What can go wrong with results on disk, each told in one line.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A failure to read, write or combine results.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused: no such file, no permission, no space left.
    Io {
        /// What was attempted, as in "cannot … the file".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file's text is cut off, altered or not what its place demands.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// A file or folder is readable, but not usable in the way that was asked.
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// Why, and where there is one, the way out.
        problem: String,
    },
}

impl Error {
    /// Names the attempted action and the path of an input/output error; made for `map_err`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// A damaged line of a file.
    pub fn damaged(path: &Path, line: usize, problem: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), line, problem: problem.into() }
    }

    /// A refusal that concerns the whole file or folder.
    pub fn refused(path: &Path, problem: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), problem: problem.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, path, source } => write!(f, "cannot {action} {}: {source}", path.display()),
            Self::Damaged { path, line, problem } => write!(f, "{}, line {line}: {problem}", path.display()),
            Self::Refused { path, problem } => write!(f, "{}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
