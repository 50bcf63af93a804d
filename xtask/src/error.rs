//! Why a command or a step of the tests did not succeed.

/// It ran and found something wrong, or it could not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// It ran and found something wrong.
    Failed(String),
    /// It could not run: what is missing, and the one command that helps.
    Missing(String),
}

impl Error {
    pub fn failed(why: impl Into<String>) -> Self {
        Error::Failed(why.into())
    }

    pub fn missing(why: impl Into<String>) -> Self {
        Error::Missing(why.into())
    }

    pub fn why(&self) -> &str {
        match self {
            Error::Failed(why) | Error::Missing(why) => why,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Failed(error.to_string())
    }
}

/// A remark for the summary (often empty), or why a step did not pass.
pub type Verdict = Result<String, Error>;

/// Returns a failure with these words.
macro_rules! fail {
    ($($words:tt)*) => { return Err($crate::error::Error::failed(format!($($words)*))) };
}

/// Returns a failure with these words unless something holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)*) => {
        if !$holds {
            $crate::error::fail!($($words)*)
        }
    };
}

pub(crate) use {ensure, fail};
