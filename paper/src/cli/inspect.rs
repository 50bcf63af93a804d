//! `foretune-paper inspect`: what the core computes for a file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::inspect;
use foretune::cli::shown;
use host_sim::error::Error;

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

pub(super) fn run(arguments: &InspectArguments, out: &mut dyn Write) -> Result<(), Error> {
    let text = inspect::read(&arguments.file).map_err(|error| Error::usage(error.to_string()))?;
    let report = inspect::inspect(&text)
        .map_err(|error| Error::usage(format!("{}: {error}", shown(&arguments.file))))?;
    Ok(report.write(out)?)
}
