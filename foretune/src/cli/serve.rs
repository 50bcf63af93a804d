//! `foretune serve`: ask and tell as lines of JSON.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::show::FileArguments;
use super::tune::KeepArguments;
use foretune_tuning as tuning;
use host_sim::error::Error;

/// Ask and tell for any language: one JSON object a line on standard input and output.
///
/// The lines are described in docs/serve.md; in Python, `import foretune` does without. Without --state nothing is kept.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The problem: parameters, fidelities, budget (docs/guide/tune.md).
    #[arg(value_name = "PROBLEM.TOML")]
    problem: PathBuf,
    #[command(flatten)]
    keep: KeepArguments,
    #[command(flatten)]
    files: FileArguments,
}

pub(super) fn run(arguments: &ServeArguments, out: &mut dyn Write) -> Result<(), Error> {
    let target = tuning::read(&arguments.problem)?;
    arguments.files.check(arguments.keep.inputs(&arguments.problem))?;
    let mut tuning = arguments.keep.open(target, arguments.keep.state.as_deref())?;
    arguments.files.show(&mut tuning);
    tuning::serve(&mut tuning, &mut io::stdin().lock(), out)?;
    arguments.files.write(tuning.target(), tuning.state())
}
