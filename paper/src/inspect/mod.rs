//! `foretune-paper inspect`: what the core computes for given parameters, data and candidates, as JSON.
//!
//! Meant for checking the core against another Gaussian-process library: everything here runs through
//! [`foretune_core`], in `f32`, with `y` as given (no standardisation) and no offsets. Numbers are printed as the
//! shortest text that reads back to the same `f32`.
//!
//! # Input
//! One JSON object; other fields are ignored.
//!
//! | field | what |
//! |---|---|
//! | `kernel` | `"deep"` or `"ard"` |
//! | `d`, `M` | dimensions (1 to 16) and fidelities (1 to 8; the last one is the truth) |
//! | `params` | deep: `W` (three layers, each outputs × inputs, up to 512 units, sizes may differ), `b`; ARD: `lengthscales`, `signal_variance`; both: `gamma` (at least 0), `noise` (variance: one number, or one per fidelity) |
//! | `x`, `m`, `y` | observations (0 to 1024): rows of `d` numbers, fidelities from 1, values |
//! | `xc` | candidates, any number of rows |
//!
//! The kernel is `s exp(−‖ψ(x) − ψ(x')‖²) exp(−γ (m − m')²)`: Eq. (12), (15), (16). ARD: `ψ_j(x) = x_j / (√2 ℓ_j)`. Deep:
//! `ψ` is the third of three layers `a ← tanh(W a + b)`, and `s = 1`.
//!
//! # Output
//! `mean`, `var` and `cov` (with the truth at the same point) as `[candidate][fidelity]`, without observation noise;
//! `lml`, the log marginal likelihood; `grad`, its gradient in the natural parameters, shaped like `params` (without
//! `noise`); `warnings`, a list of where the core did otherwise than the file says, empty as a rule (noise below
//! [`NOISE_FLOOR`](foretune_core::internals::gp::NOISE_FLOOR) of the signal variance is raised to it).
//!
//! # Particles
//! In place of `params`: `particles` (a list of such, up to 256), `fstar` (`[particle][sample]`, values of the optimum),
//! `costs` (per fidelity), `beta`, `form` (`"paper"` or `"correlated"`). The output above then is a list per particle, and
//! there are `information` (about the optimum, mean over particles), `transfer` (about `θ`) and `score` (both per cost,
//! Eq. (37)) as `[candidate][fidelity]`.
//!
//! How exact the core is, against `f64`, lies beside its tests; it was measured up to 128 observations.

mod case;
mod compute;
mod parameters;
mod report;

use std::io;
use std::path::Path;
use std::{fmt, fs};

pub use parameters::Gradient;
pub use report::{Answer, Report};

use case::Case;

/// What is wrong with a file to inspect, in one line.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// The text is not what a file should be.
    fn file(problem: impl fmt::Display) -> Self {
        Self(one_line(&problem.to_string()))
    }

    /// A field is missing, or is not what it should be.
    fn field(path: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self(one_line(&format!("field `{path}` {problem}")))
    }

    /// The numbers are in order one by one, but 32-bit floats cannot compute with them.
    fn overflow(result: impl fmt::Display) -> Self {
        Self(format!("`{result}` does not come out finite: the numbers are too extreme for 32-bit floats"))
    }
}

/// What a file says may be repeated, but not its line ends and other control characters.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// The text of a file; `-` is the standard input.
///
/// # Errors
/// If it cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> Result<String, Error> {
    let (text, file) = match path.to_str() {
        Some("-") => (io::read_to_string(io::stdin().lock()), "the standard input".to_string()),
        _ => (fs::read_to_string(path), path.display().to_string()),
    };
    text.map_err(|error| Error(format!("cannot read {file}: {error}")))
}

/// What the core computes for the text of a file.
///
/// # Errors
/// One that names the field that is wrong, or the result that is not finite.
pub fn inspect(text: &str) -> Result<Report, Error> {
    let case = Case::read(text)?;
    let mut warnings = Vec::new();
    if case.ambiguous {
        warnings.push("params: ignored, there are particles".to_string());
    }
    let beliefs = case
        .particles
        .iter()
        .map(|parameters| compute::belief(&case, parameters, &mut warnings))
        .collect::<Result<Vec<_>, _>>()?;
    let scores =
        case.scoring.as_ref().map(|scoring| compute::scores(&case, scoring, &beliefs)).transpose()?;
    Ok(Report::new(case.fidelities, beliefs, scores, warnings))
}

#[cfg(test)]
mod tests;
