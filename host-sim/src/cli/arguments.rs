//! Arguments that several commands share.

use std::path::{Path, PathBuf};
use std::thread;

use clap::{Args, ValueEnum};

use crate::error::Error;
use crate::problems::ProblemSpec;
use crate::results::Shard;
use crate::runner::Execution;
use crate::settings::{Assignment, Preset, Setup, read_file};

/// The presets as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetName {
    /// What the paper describes: deep map, plain steps at the end of a task.
    Paper,
    /// Ours: lengthscales, learning after every observation, a first part without memory before carried points are tried.
    Default,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Paper => Self::Paper,
            PresetName::Default => Self::Default,
        }
    }
}

/// Settings over a preset.
#[derive(Debug, Args)]
pub(crate) struct SettingArguments {
    /// TOML file of settings, over the preset's: lines of `key = value` with the keys of --set.
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// One setting, over the file's; may be repeated. `foretune run --help` lists the keys.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl SettingArguments {
    /// All assignments: the file's, then the command line's.
    pub fn assignments(&self) -> Result<Vec<Assignment>, Error> {
        let mut all = self.settings.as_deref().map_or(Ok(Vec::new()), read_file)?;
        let given: Vec<Assignment> = self.set.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        if let Some(i) = (1..given.len()).find(|&i| given[..i].iter().any(|a| a.key == given[i].key)) {
            return Err(Error::usage(format!("setting `{}` is set twice", given[i].key)));
        }
        all.retain(|a| given.iter().all(|over| over.key != a.key));
        all.extend(given);
        Ok(all)
    }
}

/// The preset with assignments over it.
pub(crate) fn setup(preset: Preset, spec: &ProblemSpec, assignments: &[Assignment]) -> Result<Setup, Error> {
    let mut setup = Setup::new(preset, spec);
    setup.assign(assignments)?;
    Ok(setup)
}

/// How large a study is.
#[derive(Debug, Args)]
pub(crate) struct SizeArguments {
    /// Independent repetitions [default: 1; 20 in reproduce, where the paper has 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub experiments: Option<u32>,
    /// Tasks in each experiment [default: the paper's number].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tasks: Option<u32>,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// How a study is run; nothing of this changes its results.
#[derive(Debug, Args)]
pub(crate) struct ExecutionArguments {
    /// Go on with a study that was interrupted; the result is the same as without interruption.
    #[arg(long)]
    pub resume: bool,
    /// Worker threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub jobs: Option<u16>,
    /// Run only share I of N of the study, for `foretune merge` to join.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// No progress.
    #[arg(long, short)]
    pub quiet: bool,
}

impl ExecutionArguments {
    /// As the runner wants it.
    pub fn execution(&self) -> Execution {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        Execution {
            jobs: self.jobs.map_or_else(cores, usize::from),
            shard: self.shard.unwrap_or(Shard::WHOLE),
            resume: self.resume,
            quiet: self.quiet,
        }
    }
}

/// A word for a shell: as it is if it has nothing that a shell would change.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:=/+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// A folder for people.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}
