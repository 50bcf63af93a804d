//! `foretune-paper theory`: the paper's regret bound, as far as it can be checked.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use crate::theory;
use foretune::cli::shown;
use host_sim::error::Error;
use host_sim::results::{self, check_writable};
use host_sim::words::{say, spell};

/// Check the paper's regret bound, Eq. (51) and (64), on functions drawn from a Gaussian process.
///
/// For known θ the bound is compared with the measured regret; for unknown θ, where its constants cannot be known, what
/// Two-phase MFT-MES loses is measured against the number of the task and the share c. Takes less than a minute as it
/// is; the options make it larger.
#[derive(Debug, Args)]
pub(crate) struct TheoryArguments {
    #[command(flatten)]
    options: theory::Options,
    /// Folder for the text and the charts.
    #[arg(long, short, value_name = "DIR", default_value = "runs/theory")]
    out: PathBuf,
    /// No progress.
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(arguments: &TheoryArguments, out: &mut dyn Write) -> Result<(), Error> {
    let options = arguments.options.clone().checked().map_err(Error::usage)?;
    let text = arguments.out.join("theory.txt");
    fs::create_dir_all(&arguments.out).map_err(results::Error::io("create", &arguments.out))?;
    check_writable(&text)?;
    let started = Instant::now();
    let mut progress = |stage: &str| {
        if !arguments.quiet {
            say(&format!("[{}] {stage}", spell(started.elapsed())));
        }
    };
    let report = theory::measure(options, &mut progress)?;
    let mut told = Vec::new();
    theory::write(&report, &mut told)?;
    write(&text, &told)?;
    let charts = theory::charts(&report);
    for (name, svg) in &charts {
        write(&arguments.out.join(name), svg.as_bytes())?;
    }
    out.write_all(&told)?;
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    writeln!(
        out,
        "\nThis text is in {}, charts beside it: {}. That took {}.",
        shown(&text),
        names.join(", "),
        spell(started.elapsed())
    )?;
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    Ok(fs::write(path, bytes).map_err(results::Error::io("write", path))?)
}
