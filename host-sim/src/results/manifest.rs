//! `study.json`: what was run, and nothing about how it went.
//!
//! No times, paths or machine names, so that two runs of one study have equal manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Error;
use crate::checksum::crc32;

/// The version of the on-disk format.
pub const FORMAT: u32 = 2;

/// What a study consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the format of all files of the study.
    pub format: u32,
    /// Name of the study; `fig3` to `fig10` make it a figure of the paper.
    pub study: String,
    /// Which set of defaults it started from: `paper`, or `default` for ours.
    pub preset: String,
    /// The problem, by name.
    pub problem: String,
    /// Options of the problem, such as the number of antennas.
    pub options: BTreeMap<String, Value>,
    /// Root of all randomness.
    pub seed: u64,
    /// Version of the program that ran it.
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
    /// Name for people, as in a legend.
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

    /// The text of `study.json`.
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
}
