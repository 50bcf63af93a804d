//! Settings of a run: a preset, then a TOML file, then `--set key=value`, each over the one before.
//!
//! Every setting is one [`Key`] with one text form, the same on the command line, in a file and in `study.json`, so
//! that a stored study can be typed again.

mod keys;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use foretune_core::{Map, Method as CoreMethod, Scaling, Settings};
use serde_json::Value;
use toml::Spanned;

use crate::error::Error;
use crate::method::Method;
use crate::problems::ProblemSpec;

pub use keys::{Key, keys};

/// Room for observations in the simulator, unless set otherwise: more than any of the problems' budgets can buy.
pub const CAPACITY: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    Paper,
    Default,
    /// Ours for a system in service, with a floor.
    Live,
    Deep,
}

impl Preset {
    /// The word for it on the command line and in `study.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Default => "default",
            Self::Live => "live",
            Self::Deep => "deep",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    pub core: Settings,
    /// Share of queries for the current task in the simplified variants of MFT-MES, in [0, 1].
    pub c: f32,
    /// Room for observations: 32, 64, 128 or 256.
    pub capacity: usize,
    /// The problem's fixed map of observations, what `scaling=fixed` means.
    fixed: Scaling,
}

impl Setup {
    pub fn new(preset: Preset, problem: &ProblemSpec) -> Self {
        let fixed =
            Scaling::Fixed { mean: problem.scale_mean as f32, deviation: problem.scale_deviation as f32 };
        let mut core = match preset {
            Preset::Paper => Settings::PAPER,
            Preset::Default => Settings::DEFAULT,
            Preset::Live => Settings::LIVE,
            Preset::Deep => Settings::DEEP,
        };
        if preset == Preset::Paper {
            core.details.scaling = fixed;
        }
        core.initial = problem.initial;
        core.details.free_start = problem.free_start;
        Self { core, c: 0.6, capacity: CAPACITY, fixed }
    }

    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let known = keys().find(|known| known.name() == key).ok_or_else(|| unknown(key))?;
        known.apply(self, value).ok_or_else(|| {
            Error::usage(format!("setting `{key}` takes {}, not `{value}`", known.takes(self)))
        })
    }

    pub fn assign(&mut self, assignments: &[Assignment]) -> Result<(), Error> {
        let mut one = |a: &Assignment| self.set(&a.key, &a.value).map_err(|error| a.located(error));
        assignments.iter().try_for_each(&mut one)
    }

    pub fn for_method(&self, method: Method) -> Result<Settings, Error> {
        let settings = match method.core(self.c) {
            Some(core) => carrying(method, self.core.with_method(core)),
            None => self.for_baseline(),
        };
        settings.checked().map_err(|error| self.explain(&error))
    }

    /// The baselines take from the optimizer only its initial points.
    fn for_baseline(&self) -> Settings {
        let mut settings = self.core.with_method(CoreMethod::MfMes);
        settings.map = Map::Ard;
        settings.steps_per_round = 0;
        settings.carried = 0;
        settings.confirm = 0.0;
        settings
    }

    fn explain(&self, error: &foretune_core::Error) -> Error {
        let by_initial =
            matches!(self.core.details.scaling, Scaling::Initial | Scaling::Robust) && self.core.initial == 0;
        Error::usage(match error {
            foretune_core::Error::Setting { name: "initial", .. } if by_initial => {
                "setting `scaling` goes by the initial points, but setting `initial` is 0: there is nothing to scale by"
                    .into()
            }
            error => error.to_string(),
        })
    }

    /// The settings that matter to a method, as `study.json` keeps them.
    pub fn describe(&self, method: Method) -> BTreeMap<String, Value> {
        let used = |key: &Key| key.matters_to(method);
        let mut all: BTreeMap<String, Value> =
            keys().filter(used).map(|key| (key.name().to_string(), key.value(self))).collect();
        let mut fixed = |key: &str, value: Value| all.insert(key.into(), value);
        match method {
            Method::MfMes => {
                fixed("particles", 1.into());
                fixed("carried", 0.into());
            }
            Method::MfMesTen | Method::WarmStart => {
                let settings = carrying(method, self.core);
                fixed("carry_particles", settings.carry_particles.into());
                fixed("carried", settings.carried.into());
            }
            _ => {}
        }
        all
    }
}

/// What the opponents that are variants of MF-MES carry on: points at most.
fn carrying(method: Method, settings: Settings) -> Settings {
    match method {
        Method::MfMesTen => Settings { carry_particles: false, carried: 0, ..settings },
        Method::WarmStart => Settings { carry_particles: false, ..settings },
        _ => settings,
    }
}

fn unknown(key: &str) -> Error {
    let names: Vec<&str> = keys().map(|key| key.name()).collect();
    Error::usage(format!("unknown setting `{key}`: known are {}", names.join(", ")))
}

/// A key, the value that it is given, and where that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub key: String,
    pub value: String,
    /// File and line; none on the command line.
    pub place: Option<String>,
}

impl Assignment {
    /// An error with the place of the assignment before it.
    fn located(&self, error: Error) -> Error {
        match &self.place {
            Some(place) => Error::usage(format!("{place}: {error}")),
            None => error,
        }
    }
}

impl FromStr for Assignment {
    type Err = Error;

    /// Splits `key=value`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| Error::usage(format!("`{text}` is not an assignment: write key=value")))?;
        Ok(Self { key: key.trim().into(), value: value.trim().into(), place: None })
    }
}

/// Reads a settings file as assignments, in the order of the file.
pub fn read_file(path: &Path) -> Result<Vec<Assignment>, Error> {
    let text = fs::read_to_string(path)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let place = |offset: usize| format!("{}, line {}", path.display(), line_of(&text, offset));
    let table: BTreeMap<Spanned<String>, toml::Value> = toml::from_str(&text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        Error::usage(format!("{}: {}", place(start), error.message().replace('\n', " ")))
    })?;
    let mut lines: Vec<(Spanned<String>, toml::Value)> = table.into_iter().collect();
    lines.sort_by_key(|(key, _)| key.span().start);
    let assignment = |(key, value): (Spanned<String>, toml::Value)| {
        let place = place(key.span().start);
        match scalar(&value) {
            Some(value) => Ok(Assignment { key: key.into_inner(), value, place: Some(place) }),
            None => {
                let (key, kind) = (key.into_inner(), value.type_str());
                Err(Error::usage(format!("{place}: setting `{key}` takes a single value, not a {kind}")))
            }
        }
    };
    lines.into_iter().map(assignment).collect()
}

/// The line of a byte, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::Problem;

    fn setup(preset: Preset) -> Setup {
        Setup::new(preset, &"rrm".parse::<Problem>().unwrap().spec())
    }

    #[test]
    fn the_paper_preset_takes_scaling_and_initial_points_from_the_problem() {
        let paper = setup(Preset::Paper);
        assert_eq!(paper.core.details.scaling, Scaling::Fixed { mean: 18.6, deviation: 11.0 });
        assert_eq!(paper.core.initial, 10);
        assert_eq!(setup(Preset::Default).core.details.scaling, Scaling::Robust);
    }

    #[test]
    fn every_key_reads_back_what_it_prints() {
        for preset in [Preset::Paper, Preset::Default] {
            let original = setup(preset);
            let other = setup(if preset == Preset::Paper { Preset::Default } else { Preset::Paper });
            let mut copied = other;
            for key in keys() {
                let value = key.value(&original);
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                copied.set(key.name(), &text).unwrap();
                assert_eq!(key.value(&copied), value, "{}", key.name());
            }
            let method = original.core.details.method;
            assert_eq!(
                copied.core,
                Settings {
                    details: foretune_core::Details { method, ..original.core.details },
                    ..original.core
                }
            );
        }
    }

    #[test]
    fn bad_settings_are_named_in_one_line() {
        for (key, value) in [
            ("beta", "-1"),
            ("beta", "NaN"),
            ("beta", "much"),
            ("beta", ""),
            ("particles", "0"),
            ("particles", "17"),
            ("particles", "2.5"),
            ("map", "deep:65"),
            ("map", "shallow"),
            ("step", "adam"),
            ("step", "adam:0"),
            ("step", "adam:inf"),
            ("weights", "fixed"),
            ("length", "0.1"),
            ("length", "0:-1"),
            ("bandwidth", "0"),
            ("scaling", "fixed:0:0"),
            ("capacity", "100"),
            ("candidates", "1025"),
            ("candidates", "8"),
            ("initial", "300"),
            ("c", "1.01"),
            ("carry_particles", "maybe"),
            ("recommend", "nowhere"),
            ("information", "none"),
            ("confirm", "1"),
            ("verify", "0.6"),
        ] {
            let error = setup(Preset::Default).set(key, value).unwrap_err().to_string();
            assert!(error.contains(&format!("`{key}`")) && !error.contains('\n'), "{error}");
        }
        let error = setup(Preset::Default).set("betta", "1").unwrap_err().to_string();
        assert!(error.contains("`betta`") && error.contains("beta,"), "{error}");
        assert!("beta".parse::<Assignment>().is_err());
        let given: Assignment = " beta = 1 ".parse().unwrap();
        assert_eq!(given, Assignment { key: "beta".into(), value: "1".into(), place: None });
    }

    #[test]
    fn a_description_has_what_matters_to_the_method() {
        let setup = setup(Preset::Default);
        let has = |method, key: &str| setup.describe(method).contains_key(key);
        assert!(has(Method::MftMes, "beta") && !has(Method::Continual, "beta"));
        assert!(has(Method::TwoPhase, "c") && !has(Method::MftMes, "c"));
        assert_eq!(setup.describe(Method::MfMes)["particles"], 1);
        let random: Vec<String> = setup.describe(Method::Random).into_keys().collect();
        assert_eq!(random, ["initial"]);
        assert_eq!(setup.describe(Method::MftMes)["kde_bandwidth"].to_string(), "0.55");
    }

    fn read(text: &str) -> Result<Vec<Assignment>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        fs::write(&path, text).unwrap();
        read_file(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn scalars_of_all_kinds_become_text() {
        let found =
            read("# ours\nbeta = 0.6\nmap = \"deep\"\nparticles = 5\ncarry_particles = false\n").unwrap();
        let expected = [("beta", "0.6"), ("map", "deep"), ("particles", "5"), ("carry_particles", "false")];
        let pairs: Vec<_> = found.iter().map(|a| (a.key.as_str(), a.value.as_str())).collect();
        assert_eq!(pairs, expected, "in the order of the file");
        assert!(found[3].place.as_ref().unwrap().ends_with("s.toml, line 5"), "{:?}", found[3]);
    }

    #[test]
    fn what_is_wrong_is_named_in_one_line() {
        for (text, words) in [
            ("beta = 1\nmap = deep\n", "line 2"),
            ("beta = 1\nbeta = 2\n", "line 2"),
            ("beta = 1\n[prior]\nx = 1\n", "line 2: setting `prior`"),
            ("beta = [1, 2]\n", "line 1: setting `beta`"),
            ("\u{0}", "line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words) && error.contains("s.toml") && !error.contains('\n'), "{error}");
        }
        let mut setup = setup(Preset::Default);
        for (text, words) in [("beta = 1\n\nbetta = 2\n", "line 3"), ("kde_mix = 7\n", "line 1")] {
            let error = setup.assign(&read(text).unwrap()).unwrap_err().to_string();
            assert!(error.contains("s.toml") && error.contains(words), "{error}");
        }
        assert!(read_file(Path::new("/nowhere/s.toml")).unwrap_err().to_string().contains("nowhere"));
    }
}
