//! `foretune-paper merge`: the shards of a study become the study.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::merge::merge;
use foretune::cli::shown;
use host_sim::error::Error;
use host_sim::results;
use host_sim::words::counted;

/// Join the shards of a study into one folder, equal byte for byte to the study run in one piece.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct MergeArguments {
    /// Folders of the shards.
    #[arg(required = true, value_name = "SHARD")]
    shards: Vec<PathBuf>,
    /// Folder for the whole; a shard of several studies (of `reproduce all`) becomes as many folders in it.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
}

const EXAMPLE: &str = "\
Example:
  foretune run rrm --experiments 8 --shard 1/2 --out shard-1    on one machine
  foretune run rrm --experiments 8 --shard 2/2 --out shard-2    on another
  foretune-paper merge shard-1 shard-2 --out whole";

pub(super) fn run(arguments: &MergeArguments, out: &mut dyn Write) -> Result<(), Error> {
    for (name, shards) in studies(&arguments.shards)? {
        let folder = name.as_ref().map_or(arguments.out.clone(), |name| arguments.out.join(name));
        let study = merge(&shards, &folder)?;
        let (units, parts) = (study.manifest().units().count(), shards.len());
        let (units, parts) = (counted(units, "unit"), counted(parts, "shard"));
        writeln!(out, "{}: {units} of {parts}", shown(&folder))?;
    }
    Ok(())
}

/// The shards of one study, and the study's name if there are several.
type Shards = (Option<String>, Vec<PathBuf>);

/// The studies to merge: the folders themselves, or the folders in them, by name.
fn studies(folders: &[PathBuf]) -> Result<Vec<Shards>, Error> {
    let is_study = |folder: &PathBuf| folder.join("study.json").exists();
    if folders.iter().any(is_study) {
        return Ok(vec![(None, folders.to_vec())]);
    }
    let mut found: std::collections::BTreeMap<String, Vec<PathBuf>> = Default::default();
    for folder in folders {
        let read = results::Error::io("read the folder", folder);
        let entries =
            std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(read)?;
        let studies: Vec<PathBuf> = entries.into_iter().map(|e| e.path()).filter(is_study).collect();
        if studies.is_empty() {
            let problem = "holds no study: neither it nor a folder in it has a study.json";
            return Err(results::Error::refused(folder, problem).into());
        }
        for study in studies {
            let name = study.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.entry(name).or_default().push(study);
        }
    }
    Ok(found.into_iter().map(|(name, shards)| (Some(name), shards)).collect())
}
