//! `foretune-paper inspect`: what the core computes for given parameters, data and candidates, as JSON.
//!
//! Meant for checking the core against another Gaussian-process library: everything here runs through
//! [`foretune_core`], in `f32`, with `y` as given (no standardisation) and no offsets. Numbers are printed as the
//! shortest text that reads back to the same `f32`. How exact the core is, against `f64`, lies beside its tests; it was
//! measured up to 128 observations. The kernel is that of Eq. (12), (15), (16), scores are those of Eq. (37).

mod case;
mod compute;
mod parameters;

use std::io::{self, Write};
use std::path::PathBuf;
use std::{fmt, fs};

use clap::Args;
use foretune_core::internals::gp::Posterior;
use host_sim::error::Error;
use serde::Serialize;

use case::Case;
use compute::Belief;

/// Print, as JSON, what the core computes for given parameters, data and candidates.
///
/// For checking it against another Gaussian-process library: posterior, likelihood, gradient and scores, in 32-bit
/// floats, without any scaling of the observations.
#[derive(Debug, Args)]
#[command(after_help = FORMAT)]
pub(crate) struct InspectArguments {
    /// JSON file; - is the standard input.
    #[arg(value_name = "FILE.json")]
    file: PathBuf,
}

const FORMAT: &str = r#"Input, for example:
  {"kernel": "ard", "d": 1, "M": 2, "x": [[0.2], [0.7]], "m": [1, 2], "y": [0.3, -1], "xc": [[0.5]],
   "params": {"lengthscales": [0.3], "signal_variance": 1, "gamma": 0.1, "noise": 0.01}}

  kernel   "ard" or "deep": s exp(-|psi(x) - psi(x')|^2) exp(-gamma (m - m')^2)
  d, M     dimensions (1 to 512), fidelities (1 to 8; the last is the truth)
  params   ard: lengthscales, signal_variance; psi_j = x_j / (sqrt(2) l_j)
           deep: W (three layers, outputs x inputs, up to 512 units), b; psi = three times tanh(W a + b), s = 1
           both: gamma (0 or more), noise (variance; a number, or a list with one per fidelity)
  x, m, y  up to 1024 observations: points, fidelities from 1, values
  xc       candidates, any number
  Other fields are ignored.

Output: mean, var and cov (with the truth at the same point) as [candidate][fidelity]; lml; grad, the gradient of the
log marginal likelihood, shaped like params without noise; warnings, where the core did otherwise than the file says.

With particles (a list of params) in place of params, fstar ([particle][sample]), costs, beta and form ("paper" or
"correlated"), mean to grad are lists with one per particle, and there are information, transfer and score as
[candidate][fidelity]. beta is half of the paper's.

The deep network's layers may have different sizes. Noise below 0.0003 of the signal variance is raised to that."#;

pub(crate) fn run(arguments: &InspectArguments, out: &mut dyn Write) -> Result<(), Error> {
    let (text, name) = match arguments.file.to_str() {
        Some("-") => (io::read_to_string(io::stdin().lock()), "the standard input".into()),
        _ => (fs::read_to_string(&arguments.file), arguments.file.display().to_string()),
    };
    let text = text.map_err(|error| Error::usage(format!("cannot read {name}: {error}")))?;
    let report = inspect(&text).map_err(|error| Error::usage(format!("{name}: {error}")))?;
    Ok(report.write(out)?)
}

/// What is wrong with a file, in one line: it may be repeated, but not its line ends and other control characters.
fn wrong(problem: &str) -> Error {
    Error::usage(problem.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>())
}

/// A field is missing, or is not what it should be.
fn field(path: impl fmt::Display, problem: impl fmt::Display) -> Error {
    wrong(&format!("field `{path}` {problem}"))
}

/// The numbers are in order one by one, but 32-bit floats cannot compute with them.
fn overflow(result: impl fmt::Display) -> Error {
    wrong(&format!("`{result}` does not come out finite: the numbers are too extreme for 32-bit floats"))
}

/// What the core computes, by name, as JSON.
pub struct Report(Vec<(&'static str, String)>);

impl Report {
    /// Writes the report, a line per field.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let lines: Vec<String> =
            self.0.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
        writeln!(out, "{{\n{}\n}}", lines.join(",\n"))
    }
}

/// What the core computes for the text of a file.
pub fn inspect(text: &str) -> Result<Report, Error> {
    let case = Case::read(text)?;
    let mut warnings = Vec::new();
    if case.ambiguous {
        warnings.push("params: ignored, there are particles".to_string());
    }
    let belief = |parameters| compute::belief(&case, parameters, &mut warnings);
    let beliefs: Vec<Belief> = case.particles.iter().map(belief).collect::<Result<_, _>>()?;
    let table =
        |values: &[f32]| -> Vec<Vec<f32>> { values.chunks(case.fidelities).map(<[f32]>::to_vec).collect() };
    let of = |f: fn(&Posterior) -> f32| {
        let values = |belief: &Belief| belief.posterior.iter().map(f).collect::<Vec<f32>>();
        answer(&case, beliefs.iter().map(|belief| table(&values(belief))))
    };
    let mut fields = vec![
        ("mean", of(|posterior| posterior.mean)?),
        ("var", of(|posterior| posterior.variance)?),
        ("cov", of(|posterior| posterior.covariance)?),
        ("lml", answer(&case, beliefs.iter().map(|belief| belief.likelihood))?),
        ("grad", answer(&case, beliefs.iter().map(|belief| &belief.gradient))?),
    ];
    if let Some(scoring) = &case.scoring {
        for (name, values) in compute::scores(&case, scoring, &beliefs)? {
            fields.push((name, json(&table(&values))?));
        }
    }
    fields.push(("warnings", json(&warnings)?));
    Ok(Report(fields))
}

/// A list with one per particle, or just one where the file has `params`.
fn answer<T: Serialize>(case: &Case, values: impl Iterator<Item = T>) -> Result<String, Error> {
    let values: Vec<T> = values.collect();
    match &values[..] {
        [one] if case.scoring.is_none() => json(one),
        several => json(&several),
    }
}

fn json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| wrong(&error.to_string()))
}

#[cfg(test)]
mod tests;
