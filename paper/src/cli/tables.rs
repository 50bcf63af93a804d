//! `tables`: the tables of the documents, from `results/`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::tables::{Results, TABLES, check, named, renewed};
use host_sim::error::Error;
use host_sim::results;

/// Print the tables of the documents from the results, compare documents with them, or renew them.
#[derive(Debug, Args)]
pub(crate) struct TablesArguments {
    /// Tables to print [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Refuse a document whose tables are not those of the results.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    check: Vec<PathBuf>,
    /// Renew the tables of a document.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    write: Vec<PathBuf>,
    /// Take finished studies into the results, as GROUP/FOLDER.
    #[arg(long, value_names = ["GROUP", "DIR"], num_args = 2..)]
    add: Vec<PathBuf>,
    /// Where the results are.
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

pub(super) fn run(arguments: &TablesArguments, out: &mut dyn Write) -> Result<(), Error> {
    let mut results = Results::read(&arguments.results)?;
    if let Some((group, folders)) = arguments.add.split_first() {
        return Ok(results.add(&group.to_string_lossy(), folders)?);
    }
    for file in &arguments.check {
        check(&read(file)?, file, &results)?;
    }
    for file in &arguments.write {
        let text = renewed(&read(file)?, file, &results)?;
        fs::write(file, text).map_err(results::Error::io("write", file))?;
    }
    if arguments.check.is_empty() && arguments.write.is_empty() {
        let all = TABLES.iter().map(|(name, _)| (*name).to_string());
        let names = if arguments.names.is_empty() { all.collect() } else { arguments.names.clone() };
        for name in names {
            writeln!(out, "{name}\n\n{}", named(&name, &results)?)?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, results::Error> {
    fs::read_to_string(file).map_err(results::Error::io("read", file))
}
