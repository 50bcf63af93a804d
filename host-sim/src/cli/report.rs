//! `foretune report`: one page from any number of studies.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::arguments::shown;
use crate::error::Error;
use crate::report;
use crate::runner::say;

/// Make one self-contained page from results: figures, tables, the paper's claims beside our numbers.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Folders of studies, or folders with studies in them.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The page, or, with a name that ends in .svg, a picture of the first study's curves.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

pub(super) fn run(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Error> {
    let outcome = report::write(&arguments.folders, &arguments.out)?;
    outcome.problems.iter().for_each(|problem| say(&format!("note: {problem}")));
    if arguments.out.extension().is_some_and(|name| name == "svg") {
        writeln!(out, "{}: a picture of the first study", shown(&arguments.out))?;
        return Ok(());
    }
    let [hold, fail, open] = outcome.verdicts;
    writeln!(
        out,
        "{}: {} studies, {} figures of the paper; of its claims {hold} hold, {fail} do not, {open} are undecided",
        shown(&arguments.out),
        outcome.studies,
        outcome.figures
    )?;
    Ok(())
}
