//! `foretune report`: one page from any number of studies.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use clap::Args;

use super::arguments::shown;
use super::stop_flag;
use crate::error::Error;
use crate::report;
use crate::results;
use crate::words::{counted, say};

/// Make one self-contained page from results: figures, tables, the paper's claims beside our numbers.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Folders of studies, or folders with studies in them.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The page, or, with a name that ends in .svg, a picture of one study's curves.
    #[arg(long, short, value_name = "FILE", default_value = "report.html", value_parser = page_or_picture)]
    out: PathBuf,
    /// Renew the page while a study runs, until it is finished; an open page loads itself again.
    #[arg(long)]
    watch: bool,
}

/// Seconds between two looks at a running study.
const RENEWAL: u32 = 5;

fn page_or_picture(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    report::Form::of(&path).map(|_| path).map_err(|error| error.to_string())
}

pub(super) fn run(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Error> {
    let outcome =
        if arguments.watch { watch(arguments)? } else { report::write(&arguments.folders, &arguments.out)? };
    outcome.notes.iter().for_each(|note| say(&format!("note: {note}")));
    if arguments.out.extension().is_some_and(|name| name == "svg") {
        writeln!(out, "{}: a picture of the study", shown(&arguments.out))?;
    } else {
        let (studies, figures) = (counted(outcome.studies, "study"), counted(outcome.figures, "figure"));
        let [hold, fail, open] = outcome.verdicts;
        writeln!(
            out,
            "{}: {studies}, {figures} of the paper; claims of the paper: {hold} hold, {fail} fail, {open} open",
            shown(&arguments.out),
        )?;
    }
    out.flush()?;
    missing(outcome.unreadable)
}

/// The report lacks the studies that could not be read: that is no success. The last of them ends the program.
fn missing(mut unreadable: Vec<results::Error>) -> Result<(), Error> {
    let Some(last) = unreadable.pop() else { return Ok(()) };
    unreadable.iter().for_each(|error| say(&format!("foretune: {error}")));
    Err(last.into())
}

/// Writes the page again and again; once nothing is missing any more, for good.
fn watch(arguments: &ReportArguments) -> Result<report::Outcome, Error> {
    loop {
        let outcome = report::write_live(&arguments.folders, &arguments.out, Some(RENEWAL))?;
        if !outcome.running {
            return Ok(report::write(&arguments.folders, &arguments.out)?);
        }
        for _ in 0..10 * RENEWAL {
            if stop_flag().load(Ordering::Relaxed) {
                return Ok(report::write(&arguments.folders, &arguments.out)?);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}
