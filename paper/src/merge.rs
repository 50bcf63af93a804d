//! Putting the shards of a study together again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use foretune::cli::shown;
use host_sim::error::Error;
use host_sim::results::{Study, Timing, UnitId, write_atomically};
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

pub(crate) fn run(arguments: &MergeArguments, out: &mut dyn Write) -> Result<(), Error> {
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
        let read = Error::io("read the folder", folder);
        let entries =
            std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(read)?;
        let studies: Vec<PathBuf> = entries.into_iter().map(|e| e.path()).filter(is_study).collect();
        if studies.is_empty() {
            let problem = "holds no study: neither it nor a folder in it has a study.json";
            return Err(Error::refused(folder, problem));
        }
        for study in studies {
            let name = study.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.entry(name).or_default().push(study);
        }
    }
    Ok(found.into_iter().map(|(name, shards)| (Some(name), shards)).collect())
}

/// Merges shards into a new folder, which equals the unsharded study byte for byte.
///
/// Every unit must be there exactly once, finished and sound; nothing is written before that is known.
pub fn merge(shards: &[PathBuf], out: &Path) -> Result<Study, Error> {
    let shards = shards.iter().map(|folder| Study::open(folder)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = shards.first() else { return Err(Error::refused(out, "no shards to merge")) };
    for other in &shards[1..] {
        if let Some(field) = first.manifest().first_difference(other.manifest()) {
            let problem =
                format!("is of another study than {}: they differ in {field}", first.folder().display());
            return Err(Error::refused(other.folder(), problem));
        }
    }
    let owners = owners(&shards)?;
    let merged = Study::new(out, first.manifest().clone())?;
    if merged.manifest_path().exists() {
        return Err(Error::refused(out, "already holds a study: choose another folder"));
    }
    for (&unit, owner) in &owners {
        owner.finished_unit(unit)?;
    }
    merged.make_folders()?;
    units_in(&merged)?;
    for (&unit, owner) in &owners {
        let source = owner.unit_path(unit);
        let bytes = fs::read(&source).map_err(Error::io("read", &source))?;
        write_atomically(&merged.unit_path(unit), &bytes)?;
    }
    merged.write_summary()?;
    write_timing(&shards, &merged)?;
    // Last, so that a merge cut short leaves no folder that looks like a study.
    merged.write_manifest()?;
    Ok(merged)
}

/// Which shard holds each unit, in canonical order.
fn owners(shards: &[Study]) -> Result<BTreeMap<UnitId, &Study>, Error> {
    let mut owners: BTreeMap<UnitId, &Study> = BTreeMap::new();
    for shard in shards {
        for unit in units_in(shard)? {
            if let Some(other) = owners.insert(unit, shard) {
                let problem = format!("the unit is also in {}", other.folder().display());
                return Err(Error::refused(&shard.unit_path(unit), problem));
            }
        }
    }
    let manifest = shards[0].manifest();
    let missing: Vec<String> =
        manifest.units().filter(|u| !owners.contains_key(u)).map(|u| manifest.unit_name(u)).collect();
    if let [first, ..] = missing.as_slice() {
        let problem =
            format!("the shards lack {} of the study, the first is {first}", counted(missing.len(), "unit"));
        return Err(Error::refused(shards[0].folder(), problem));
    }
    Ok(owners)
}

/// The units whose files are in a study's folder.
fn units_in(study: &Study) -> Result<Vec<UnitId>, Error> {
    let folder = study.folder().join("units");
    let entries = fs::read_dir(&folder).map_err(Error::io("read the folder", &folder))?;
    let mut units = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io("read the folder", &folder))?.path();
        if path.extension().is_none_or(|e| e != "csv") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let unit = study.manifest().unit_named(&name);
        units.push(unit.ok_or_else(|| Error::refused(&path, "is no unit of this study"))?);
    }
    units.sort();
    Ok(units)
}

fn write_timing(shards: &[Study], merged: &Study) -> Result<(), Error> {
    let timings = shards.iter().map(Study::timing).collect::<Result<Option<Vec<Timing>>, _>>()?;
    match timings.and_then(|t| t.into_iter().reduce(Timing::plus)) {
        Some(total) => merged.add_timing(total),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use host_sim::results::fixture::{UNIT, manifest, whole_study, write_units};
    use host_sim::results::{Manifest, Shard};

    use super::*;

    /// All files of a folder by relative name.
    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        for part in ["", "units"] {
            for entry in fs::read_dir(folder.join(part)).unwrap().map(|e| e.unwrap().path()) {
                if entry.is_file() {
                    let name = entry.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                    found.insert(name, fs::read(entry).unwrap());
                }
            }
        }
        found
    }

    fn shards(folder: &Path, count: u32) -> Vec<PathBuf> {
        let one = |index| {
            let path = folder.join(format!("shard-{index}"));
            let study = Study::create(&path, manifest()).unwrap();
            write_units(&study, format!("{index}/{count}").parse::<Shard>().unwrap().units(&manifest()));
            study.write_summary().unwrap();
            path
        };
        (1..=count).map(one).collect()
    }

    #[test]
    fn merged_shards_equal_the_whole_study() {
        for count in [1, 2, 3, 7] {
            let folder = tempfile::tempdir().unwrap();
            whole_study(&folder.path().join("whole"));
            let mut shards = shards(folder.path(), count);
            shards.reverse();
            let out = folder.path().join("merged");
            merge(&shards, &out).unwrap();
            assert_eq!(files(&out), files(&folder.path().join("whole")), "{count} shards");
        }
    }

    #[test]
    fn times_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let shards = shards(folder.path(), 2);
        for shard in &shards {
            let run = Timing { wall_seconds: 2.0, runs: 1, ..Timing::default() };
            Study::open(shard).unwrap().add_timing(run).unwrap();
        }
        let merged = merge(&shards, &folder.path().join("merged")).unwrap();
        assert_eq!(merged.timing().unwrap().unwrap().wall_seconds, 4.0);
    }

    #[test]
    fn what_does_not_fit_is_named_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("merged");
        let shards = shards(folder.path(), 2);
        let refused = |shards: &[PathBuf], words: &str| {
            let error = merge(shards, &out).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
            assert!(!out.exists());
        };
        refused(&[], "no shards");
        refused(&shards[..1], "lack 2 units");
        refused(&[shards[0].clone(), shards[1].clone(), shards[0].clone()], "also in");

        let other = folder.path().join("other");
        Study::create(&other, Manifest { seed: 1, ..manifest() }).unwrap();
        refused(&[shards[0].clone(), other], "differ in seed");

        let owner = Study::open(&shards[1]).unwrap();
        let path = if owner.unit_path(UNIT).exists() {
            owner.unit_path(UNIT)
        } else {
            Study::open(&shards[0]).unwrap().unit_path(UNIT)
        };
        let good = fs::read(&path).unwrap();
        fs::write(&path, &good[..good.len() / 2]).unwrap();
        refused(&shards, "cut off");
        fs::write(&path, good).unwrap();
        fs::write(shards[0].join("units/other-1.csv"), "").unwrap();
        refused(&shards, "no unit of this study");
    }

    #[test]
    fn an_existing_study_is_not_merged_over() {
        let folder = tempfile::tempdir().unwrap();
        let shards = shards(folder.path(), 2);
        let error = merge(&shards, &shards[0]).unwrap_err().to_string();
        assert!(error.contains("already holds"), "{error}");
    }
}
