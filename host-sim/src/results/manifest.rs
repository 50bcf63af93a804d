//! `study.json`: what was run, and nothing about how it went; shards of it; `timing.json`, how long it took.
//!
//! No times, paths or machine names in the former, so that two runs of one study have equal manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::disk::{read_if_there, write_atomically};
use crate::error::Error;
use crate::results::crc32;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const FORMAT: u32 = 2;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the format of all files of the study.
    pub format: u32,
    /// Name of the study; `fig3` to `fig10` make it a figure of the paper.
    pub study: String,
    /// Which set of defaults it started from: `paper`, or `default` for ours.
    pub preset: String,
    pub problem: String,
    /// Options of the problem, such as the number of antennas.
    pub options: BTreeMap<String, Value>,
    pub seed: u64,
    pub version: String,
    /// The command that runs the whole study, without what differs between equal studies (folder, jobs, shard, resume).
    pub command: String,
    /// Independent repetitions, numbered from 1.
    pub experiments: u32,
    /// Tasks in each experiment, numbered from 1.
    pub tasks: u32,
    /// What is compared, in the order of tables and legends.
    pub variants: Vec<Variant>,
}

/// One of the compared methods with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Short name used in file names and tables: lower-case letters, digits, `.`, `_` and `-`.
    pub key: String,
    pub label: String,
    /// The method: `mf-mes`, `continual`, `mft-mes`, `separation`, `separation-myopic`, `two-phase`, or a baseline.
    pub method: String,
    /// All settings in force. The report looks for `particles`, `beta` (ours, half the printed one) and `c`.
    pub settings: BTreeMap<String, Value>,
}

impl Variant {
    /// A setting that is a number, if the variant has it.
    pub fn number(&self, setting: &str) -> Option<f64> {
        self.settings.get(setting)?.as_f64()
    }
}

/// A unit of work: one variant in one experiment, with all its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId {
    /// Index into [`Manifest::variants`], from 0.
    pub variant: usize,
    /// Experiment, from 1.
    pub experiment: u32,
}

impl Manifest {
    /// Names of the guards in tables: those of their KPIs, and a number where a KPI has had a guard before.
    pub fn guards(&self) -> Vec<String> {
        let guards = self.options.get("guards").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let kpis: Vec<&str> = guards.iter().filter_map(|words| words.as_str()?.split(':').next()).collect();
        let name = |(i, kpi): (usize, &&str)| match kpis[..=i].iter().filter(|other| *other == kpi).count() {
            1 => (*kpi).to_string(),
            nth => format!("{kpi}_{nth}"),
        };
        kpis.iter().enumerate().map(name).collect()
    }

    /// The manifest itself when every field makes sense, else what is wrong.
    pub fn checked(self) -> Result<Self, String> {
        if self.format != FORMAT {
            return Err(format!("format {} is not the format {FORMAT} that this program knows", self.format));
        }
        if self.study.is_empty() || self.problem.is_empty() {
            return Err("the study and its problem need a name".into());
        }
        if self.experiments == 0 || self.tasks == 0 || self.variants.is_empty() {
            return Err("a study needs at least one experiment, one task and one variant".into());
        }
        let mut seen = BTreeSet::new();
        for Variant { key, .. } in &self.variants {
            if !is_key(key) {
                return Err(format!("variant key {key:?} has other signs than a-z, 0-9, '.', '_' and '-'"));
            }
            if !seen.insert(key) {
                return Err(format!("variant key {key:?} occurs twice"));
            }
        }
        Ok(self)
    }

    /// All units of the study in canonical order: by variant, then by experiment.
    pub fn units(&self) -> impl Iterator<Item = UnitId> + use<> {
        let experiments = self.experiments;
        (0..self.variants.len())
            .flat_map(move |variant| (1..=experiments).map(move |experiment| UnitId { variant, experiment }))
    }

    /// The name of a unit's files, without extension.
    pub fn unit_name(&self, unit: UnitId) -> String {
        format!("{}-{}", self.variants[unit.variant].key, unit.experiment)
    }

    /// The unit that a file name (without extension) stands for.
    pub fn unit_named(&self, name: &str) -> Option<UnitId> {
        let (key, experiment) = name.rsplit_once('-')?;
        let variant = self.variants.iter().position(|v| v.key == key)?;
        let unit = UnitId { variant, experiment: experiment.parse().ok()? };
        let known = (1..=self.experiments).contains(&unit.experiment) && self.unit_name(unit) == name;
        known.then_some(unit)
    }

    /// Checksum of all that decides a variant's results: a unit carries it, so that it is never mistaken for another
    /// study's. The number of experiments is left out, so that a study can grow.
    pub fn fingerprint(&self, variant: usize) -> u32 {
        let Variant { key, method, settings, .. } = &self.variants[variant];
        let decisive =
            (self.format, &self.problem, &self.options, self.seed, &self.version, key, method, settings);
        crc32(serde_json::to_string(&decisive).unwrap_or_default().as_bytes())
    }

    pub fn to_json(&self) -> String {
        // Only a map with other keys than strings can fail, and the type has none.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads the text of `study.json`; `path` is for the error.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, Error> {
        let damaged = |e: serde_json::Error| Error::damaged(path, e.line().max(1), one_line(&e.to_string()));
        let value: Value = serde_json::from_str(text).map_err(damaged)?;
        if let Some(format) = value["format"].as_u64().filter(|format| *format != u64::from(FORMAT)) {
            let problem = format!("format {format} is not the format {FORMAT} that this program knows");
            return Err(Error::refused(path, problem));
        }
        let manifest: Self = serde_json::from_str(text).map_err(damaged)?;
        manifest.checked().map_err(|problem| Error::refused(path, problem))
    }

    /// Which field keeps `other` from being the same study, if one does.
    pub fn first_difference(&self, other: &Self) -> Option<&'static str> {
        let checks = [
            ("study", self.study == other.study),
            ("preset", self.preset == other.preset),
            ("problem", self.problem == other.problem),
            ("options", self.options == other.options),
            ("seed", self.seed == other.seed),
            ("version", self.version == other.version),
            ("tasks", self.tasks == other.tasks),
            ("variants", self.variants == other.variants),
            ("experiments", self.experiments == other.experiments),
            ("command", self.command == other.command),
        ];
        checks.iter().find(|(_, same)| !same).map(|(field, _)| *field)
    }
}

fn is_key(key: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    key.starts_with(plain) && key.chars().all(|c| plain(c) || matches!(c, '.' | '_' | '-'))
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Share `index` of `count`, written `index/count`, from `1/count` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// The shard's units, in canonical order. Every unit of the study is in exactly one shard, and each shard has
    /// its part of every variant, expensive or cheap.
    pub fn units(self, manifest: &Manifest) -> Vec<UnitId> {
        let mine = |(i, _): &(usize, UnitId)| *i as u32 % self.count == self.index - 1;
        // Dealt by experiment first: dealt by variant first, one shard could get a single variant.
        let mut units: Vec<UnitId> = manifest.units().collect();
        units.sort_by_key(|u| (u.experiment, u.variant));
        let mut units: Vec<UnitId> = units.into_iter().enumerate().filter(mine).map(|(_, u)| u).collect();
        units.sort();
        units
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(format!("{text:?} is not a shard: write 1/4 for the first of four")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Time spent on a study, over all runs that contributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Wall-clock seconds, summed over runs and shards.
    pub wall_seconds: f64,
    /// Seconds spent inside units of work, summed over workers.
    pub work_seconds: f64,
    /// The largest number of workers at once in a run.
    pub jobs: u32,
    /// Cores of the largest machine that took part.
    pub cores: u32,
    /// Number of runs: shards, and continuations after an interruption.
    pub runs: u32,
}

impl Timing {
    pub fn plus(self, other: Self) -> Self {
        Self {
            wall_seconds: self.wall_seconds + other.wall_seconds,
            work_seconds: self.work_seconds + other.work_seconds,
            jobs: self.jobs.max(other.jobs),
            cores: self.cores.max(other.cores),
            runs: self.runs + other.runs,
        }
    }

    pub(super) fn read(path: &Path) -> Result<Option<Self>, Error> {
        let Some(bytes) = read_if_there(path)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|e| Error::damaged(path, e.line().max(1), e))
    }

    pub(super) fn write(self, path: &Path) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(&self).unwrap_or_default();
        text.push('\n');
        write_atomically(path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::manifest;
    use super::*;

    #[test]
    fn json_round_trips_and_is_stable() {
        let m = manifest();
        let text = m.to_json();
        let back = Manifest::from_json(&text, Path::new("study.json")).unwrap();
        assert_eq!(back, m);
        assert_eq!(back.to_json(), text);
        assert_eq!(back.fingerprint(1), m.fingerprint(1));
    }

    #[test]
    fn bad_json_names_file_and_line() {
        let text = manifest().to_json().replace("\"seed\": ", "\"seed\": -");
        let error = Manifest::from_json(&text, Path::new("a/study.json")).unwrap_err().to_string();
        assert!(error.starts_with("a/study.json, line "), "{error}");
        assert!(!error.contains('\n'));
    }

    #[test]
    fn other_formats_are_refused_as_such() {
        let text =
            manifest().to_json().replace(&format!("\"format\": {FORMAT}"), "\"format\": 9, \"novel\": 1");
        let error = Manifest::from_json(&text, Path::new("s")).unwrap_err().to_string();
        assert!(error.contains("format 9"), "{error}");
    }

    #[test]
    fn bad_keys_are_refused() {
        for key in ["", "A", "a b", "../a", "a/b", "-a", ".a", "ä"] {
            let mut m = manifest();
            m.variants[0].key = key.into();
            assert!(m.checked().is_err(), "{key:?}");
        }
        let mut twice = manifest();
        twice.variants[1].key = twice.variants[0].key.clone();
        assert!(twice.checked().unwrap_err().contains("twice"));
    }

    #[test]
    fn unit_names_are_unambiguous() {
        let mut m = manifest();
        m.variants[1].key = format!("{}-1", m.variants[0].key);
        for unit in m.units() {
            assert_eq!(m.unit_named(&m.unit_name(unit)), Some(unit));
        }
        for name in ["", "x", "mf-mes-0", "mf-mes-01", "mf-mes-99", "mf-mes-+1"] {
            assert_eq!(m.unit_named(name), None, "{name}");
        }
    }

    #[test]
    fn fingerprint_follows_what_decides_the_results() {
        let m = manifest();
        let mut grown = m.clone();
        grown.experiments += 5;
        assert_eq!(grown.fingerprint(0), m.fingerprint(0));
        let mut other = m.clone();
        other.seed += 1;
        assert_ne!(other.fingerprint(0), m.fingerprint(0));
        assert_ne!(m.fingerprint(0), m.fingerprint(1));
    }

    #[test]
    fn shards_part_the_study() {
        let m = Manifest { experiments: 5, ..manifest() };
        for count in 1..=12 {
            let mut all: Vec<UnitId> =
                (1..=count).flat_map(|index| Shard { index, count }.units(&m)).collect();
            all.sort();
            assert_eq!(all, m.units().collect::<Vec<_>>());
        }
    }

    #[test]
    fn shards_are_read_and_refused() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for bad in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/2"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn runs_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timing.json");
        assert_eq!(Timing::read(&path).unwrap(), None);
        let run = Timing { wall_seconds: 2.5, work_seconds: 4.0, jobs: 2, cores: 4, runs: 1 };
        run.plus(run).write(&path).unwrap();
        let both = Timing { wall_seconds: 5.0, work_seconds: 8.0, jobs: 2, cores: 4, runs: 2 };
        assert_eq!(Timing::read(&path).unwrap(), Some(both));
        std::fs::write(&path, "{").unwrap();
        assert!(Timing::read(&path).unwrap_err().to_string().contains("line 1"));
    }
}
