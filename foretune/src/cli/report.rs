//! `foretune report`: one page from any number of studies.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use clap::Args;

use super::arguments::shown;
use super::stop_flag;
use foretune_report::{self as report, Maker, Outcome};
use host_sim::error::Error;
use host_sim::words::say;

/// Make one self-contained page from results: charts and tables.
#[derive(Debug, Args)]
pub struct ReportArguments {
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

pub fn run(arguments: &ReportArguments, maker: Maker, out: &mut dyn Write) -> Result<(), Error> {
    let ReportArguments { folders, out: page, watch: live } = arguments;
    let outcome = if *live { watch(arguments, maker)? } else { report::write(maker, folders, page, None)? };
    outcome.notes.iter().for_each(|note| say(&format!("note: {note}")));
    writeln!(out, "{}: {}", shown(page), outcome.words)?;
    out.flush()?;
    missing(outcome.unreadable)
}

/// The report lacks the studies that could not be read: that is no success. The last of them ends the program.
fn missing(mut unreadable: Vec<Error>) -> Result<(), Error> {
    let Some(last) = unreadable.pop() else { return Ok(()) };
    unreadable.iter().for_each(|error| say(&format!("foretune: {error}")));
    Err(last)
}

/// Writes the page again and again; once nothing is missing any more, for good.
fn watch(ReportArguments { folders, out, .. }: &ReportArguments, maker: Maker) -> Result<Outcome, Error> {
    loop {
        let outcome = report::write(maker, folders, out, Some(RENEWAL))?;
        if !outcome.running {
            return report::write(maker, folders, out, None);
        }
        for _ in 0..10 * RENEWAL {
            if stop_flag("the page is written a last time").load(Ordering::Relaxed) {
                return report::write(maker, folders, out, None);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}
