//! Arguments that several commands share.

use std::path::{Path, PathBuf};
use std::thread;

use clap::{Args, ValueEnum};
use foretune_core::{Floor, Level};

use host_sim::error::Error;
use host_sim::problems::{Deployed, ProblemSpec, Service, level, level_words};
use host_sim::results::Shard;
use host_sim::runner::{Benchmark, Execution};
use host_sim::settings::{Assignment, Preset, Setup, read_file};

/// The presets as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PresetName {
    /// What the paper describes: deep map, plain steps at the end of a task.
    Paper,
    /// Ours: lengthscales, learning after every observation, a first part without memory before carried points are tried.
    Default,
    /// The default for a system in service: lengthscales after a shear, nearer to what is known to be good, memory from the
    /// first query on.
    Live,
    /// The paper's deep map with steps that sample, so that it learns without collapsing.
    Deep,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Paper => Self::Paper,
            PresetName::Default => Self::Default,
            PresetName::Live => Self::Live,
            PresetName::Deep => Self::Deep,
        }
    }
}

/// Settings over a preset.
#[derive(Debug, Args)]
pub struct SettingArguments {
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

pub fn setup(preset: Preset, spec: &ProblemSpec, assignments: &[Assignment]) -> Result<Setup, Error> {
    let mut setup = Setup::new(preset, spec);
    setup.assign(assignments)?;
    Ok(setup)
}

/// A system in service.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("bounds").multiple(true).args(["floor", "guard"]))]
pub struct ServiceArguments {
    /// Start from a point in use, and charge every trial: `default` (the problem's ordinary one), `random` (another one
    /// in every experiment), or a number per parameter. Later tasks start from the last recommendation.
    #[arg(long, value_name = "POINT", allow_hyphen_values = true, value_parser = str::parse::<Deployed>)]
    pub deployed: Option<Deployed>,
    /// Try nothing that gives less than this: share:0.9 (of what the point in use gives), drop:2 (below it), or value:30.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub floor: Option<Level>,
    /// Keep a KPI of the problem: NAME:[at-most:]share:0.9, drop:2 or value:30, at least unless said; up to four.
    #[arg(long, value_name = "BOUND")]
    pub guard: Vec<String>,
    /// The share of the time that trials may be below the floor, or break a guard, all the same.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = risk, requires = "bounds")]
    pub risk: f32,
    /// End a task when going on is not expected to improve the recommendation by more than this share.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub tolerance: Option<f32>,
}

impl ServiceArguments {
    /// The benchmark in service, if anything asks for it.
    pub fn put(&self, benchmark: Benchmark) -> Result<Benchmark, Error> {
        let asked = self.deployed.is_some() || self.floor.is_some() || self.tolerance.is_some();
        if !asked && self.guard.is_empty() {
            return Ok(benchmark);
        }
        let floor = self.floor.map(|level| Floor { level, risk: self.risk });
        let tolerance = self.tolerance.unwrap_or(0.0);
        let mut service = Service { floor, tolerance, ..benchmark.space().service().clone() };
        if !self.guard.is_empty() {
            service.guards = benchmark.guards(&self.guard, self.risk)?;
        }
        benchmark.in_service(self.deployed.clone().unwrap_or(Deployed::Default), service)
    }

    pub fn words(&self) -> Vec<(&'static str, String)> {
        let mut words = Vec::new();
        if let Some(deployed) = &self.deployed {
            words.push(("--deployed", deployed.to_string()));
        }
        if let Some(floor) = self.floor {
            words.push(("--floor", level_words(floor)));
        }
        words.extend(self.guard.iter().map(|guard| ("--guard", guard.clone())));
        if self.floor.is_some() || !self.guard.is_empty() {
            words.push(("--risk", self.risk.to_string()));
        }
        if let Some(tolerance) = self.tolerance {
            words.push(("--tolerance", tolerance.to_string()));
        }
        words
    }
}

fn risk(text: &str) -> Result<f32, String> {
    within(text, 0.001, 0.5)
}

fn share(text: &str) -> Result<f32, String> {
    within(text, 0.0, 1.0)
}

fn within(text: &str, low: f32, high: f32) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (low..=high).contains(number));
    number.ok_or_else(|| format!("takes a number from {low} to {high}"))
}

/// How large a study is.
#[derive(Debug, Args)]
pub struct SizeArguments {
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
pub struct ExecutionArguments {
    /// Go on with a study that was interrupted; the result is the same as without interruption.
    #[arg(long)]
    pub resume: bool,
    /// Worker threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub jobs: Option<u16>,
    /// Run only share I of N of the study, for `foretune-paper merge` to join.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// No progress.
    #[arg(long, short)]
    pub quiet: bool,
}

impl ExecutionArguments {
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
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:=/+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
