//! What is wrong with a file to inspect, in one line.

use std::fmt;
use std::io;

/// Why a file could not be inspected.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read.
    Read {
        /// Its name.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// It is not JSON.
    Syntax {
        /// What the parser says, with line and column.
        problem: String,
        /// The last field that was begun, if any.
        field: Option<String>,
    },
    /// A field is missing, or is not what it should be.
    Field {
        /// The field as one would write it in JavaScript: `params.W[0][3]`.
        path: String,
        /// The rest of the sentence.
        problem: String,
    },
    /// The numbers are in order one by one, but 32-bit floats cannot compute with them.
    Overflow {
        /// Which result is not a number.
        result: String,
    },
}

impl Error {
    pub(super) fn field(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Field { path: path.into(), problem: problem.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { file, error } => write!(f, "cannot read {file}: {error}"),
            Self::Syntax { problem, field: Some(field) } => {
                write!(f, "not JSON in field `{}`: {problem}", one_line(field))
            }
            Self::Syntax { problem, field: None } => write!(f, "not JSON: {problem}"),
            Self::Field { path, problem } => write!(f, "field `{path}` {}", one_line(problem)),
            Self::Overflow { result } => {
                write!(
                    f,
                    "`{result}` does not come out finite: the numbers are too extreme for 32-bit floats"
                )
            }
        }
    }
}

/// What a file says may be repeated, but not its line ends and other control characters.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use crate::inspect::inspect;

    #[test]
    fn what_a_file_says_is_repeated_in_one_line() {
        for text in ["{\"a\nb\": [", "{\"kernel\": \"a\\nb\"}"] {
            let said = inspect(text).unwrap_err().to_string();
            assert!(said.contains("a b") && !said.contains('\n'), "{said}");
        }
    }
}
