//! What is kept between two answers, and between two tasks: a file that is replaced whole or not at all.
//!
//! A line with the format's version and a checksum, then the state as JSON. The answers of the current task and what it
//! started from are enough: the optimizer is deterministic, so asking and telling them again leads to the same query.
//! A lock on a file beside it keeps a second process out, and goes when the process goes, however it ends.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use foretune_core::{Floor, Goal, Side};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::belief::Belief;
use super::why::{Because, VALUE};
use crate::target::{Ask, Identity, Target, Why};
use host_sim::error::Error;
use host_sim::problems::Guarded;
use host_sim::results::{followed, seal, sealed, unseal, unsealed};

/// What is in the file, and the version of its format.
const NAME: &str = "foretune-state 1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The point, in natural units, under the conditions that it was measured under.
    pub point: Vec<f64>,
    /// The conditions that it was asked under, where somebody had said so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked_at: Vec<f64>,
    /// Whether the answer said under which it was measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told_at: bool,
    /// Index of the fidelity.
    pub fidelity: usize,
    pub why: Why,
    /// None if the measurement failed.
    pub value: Option<f32>,
    /// What was measured of the guarded KPIs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kpis: Vec<f64>,
    pub cost: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// The point as the optimizer has it, where it was asked beside others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unit: Vec<f32>,
}

impl Told {
    /// What was measured of a KPI, or of the objective.
    pub fn measured(&self, target: &Target, name: &str) -> Option<f64> {
        match target.guards.iter().position(|guard| guard.name == name) {
            Some(g) => self.kpis.get(g).copied(),
            None => self.value.map(f64::from),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    Budget,
    Capacity,
    Exhausted,
    Tolerance,
    /// Too many measurements in a row have failed.
    Failures,
    Stopped,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "the budget is used up",
            Self::Capacity => "there is no room for more answers",
            Self::Exhausted => "everything worth measuring has been measured",
            Self::Tolerance => "going on is not expected to pay",
            Self::Failures => "too many measurements in a row failed",
            Self::Stopped => "it was stopped",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// The recommended point, in natural units; none if nothing was measured.
    pub point: Option<Vec<f64>>,
    pub mean: f32,
    pub deviation: f32,
    pub reason: Reason,
    pub spent: f64,
    /// Answers that lay too far from all others, and were not confirmed by a second.
    #[serde(default)]
    pub outliers: usize,
    /// Whether no setting keeps floor and guards as surely as asked for, so that the one in use is recommended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unassured: bool,
}

/// What a task began with; none of it may change before it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    pub budget: f64,
    pub deployed: Option<Vec<f64>>,
    /// The one that the problem's file gave then.
    #[serde(default)]
    pub filed: Option<Vec<f64>>,
    pub settings: BTreeMap<String, Value>,
    /// Floor, tolerance and limits, in words.
    #[serde(default)]
    pub service: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Past>,
}

/// What was measured before a task, not charged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Past {
    /// The point, in natural units.
    pub point: Vec<f64>,
    /// Index of the fidelity.
    pub fidelity: usize,
    pub value: f32,
    /// What was measured of the guarded KPIs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kpis: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskState {
    pub begun: Begun,
    pub answers: Vec<Told>,
    /// Queries that wait for their answers, where several are measured at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Ask>,
    /// The conditions that the query which waits was asked under, where somebody has said so since the last answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked_at: Vec<f64>,
    /// What the model expected of the best point when it asked last, if it had one by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<f32>,
    /// Answers so far that lie too far from all others, and were not confirmed by a second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outliers: usize,
    pub ended: Option<Ended>,
}

impl TaskState {
    /// One that has just begun.
    pub fn new(begun: Begun) -> Self {
        let (answers, pending, asked_at) = (Vec::new(), Vec::new(), Vec::new());
        Self { begun, answers, pending, asked_at, expected: None, outliers: 0, ended: None }
    }

    /// The point in use afterwards: what was recommended, where one was in use.
    pub fn in_use(&self) -> Option<&Vec<f64>> {
        let recommended = self.ended.as_ref().and_then(|ended| ended.point.as_ref());
        self.begun.deployed.as_ref().map(|before| recommended.unwrap_or(before))
    }

    /// Measurements that failed since the last one that did not.
    pub fn failing(&self) -> usize {
        self.answers.iter().rev().take_while(|told| told.value.is_none()).count()
    }

    /// The best answer at the fidelity that counts.
    pub fn best(&self, target: &Target) -> Option<&Told> {
        let sign = if target.goal == Goal::Maximise { 1.0 } else { -1.0 };
        let value = |told: &&Told| told.value.map_or(f32::NEG_INFINITY, |value| sign * value);
        let told = self.answers.iter().filter(|told| told.fidelity == target.truth() && told.value.is_some());
        told.max_by(|a, b| value(a).total_cmp(&value(b)))
    }

    /// What was measured of the setting in use, at the fidelity that counts: the median of the objective, or of a KPI, since one answer
    /// may be absurd.
    pub fn measured_in_use(&self, target: &Target, name: &str) -> Option<f64> {
        let used = self.begun.deployed.as_ref()?;
        let told = self
            .answers
            .iter()
            .filter(|told| told.fidelity == target.truth() && told.point.starts_with(used));
        let mut values: Vec<f64> = told.filter_map(|told| told.measured(target, name)).collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        (count > 0).then(|| f64::midpoint(values[(count - 1) / 2], values[count / 2]))
    }

    /// Measurements that broke a bound when it was known, by KPI, and those that might have.
    pub fn broken(&self, target: &Target) -> BTreeMap<String, [usize; 2]> {
        let mut broken = BTreeMap::<String, [usize; 2]>::new();
        for told in &self.answers {
            let expected = told.because.as_ref().map(|because| &because.expected);
            for (name, expected) in expected.into_iter().flatten() {
                let (Some(bound), Some(measured)) = (expected.bound, told.measured(target, name)) else {
                    continue;
                };
                let above = measured - f64::from(bound);
                let breaks = if target.side(name) == Side::AtLeast { above < 0.0 } else { above > 0.0 };
                let [count, all] = broken.entry(name.clone()).or_default();
                (*count, *all) = (*count + usize::from(breaks), *all + 1);
            }
        }
        broken
    }

    /// What was spent of the budget so far.
    pub fn spent(&self) -> f64 {
        // From 0: a sum of nothing is −0 otherwise.
        self.answers.iter().fold(0.0, |sum, told| sum + told.cost)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    problem: Identity,
    pub seed: u64,
    /// Noise variance of every fidelity, given or estimated; none before it is known.
    pub noise: Vec<Option<f64>>,
    /// The same of what the model sees of guarded KPIs that were given without, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kpi_noise: BTreeMap<String, Vec<Option<f64>>>,
    /// All tasks; the last is the current one.
    pub tasks: Vec<TaskState>,
    /// What the current task starts from, as hexadecimal digits.
    pub(super) knowledge: String,
    /// What the next task starts from, once the current one has ended.
    pub(super) learnt: String,
    /// Queries that had no answer when their task ended: their numbers are not given away again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) unanswered: usize,
    /// Whether the end of the current task has been told to anyone.
    pub(super) reported: bool,
    /// The watches over the setting in use since then, as hexadecimal digits: of the value, and of every guarded KPI.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) watch: Vec<String>,
    /// The setting that they watch, without conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) watched: Vec<f64>,
    /// What the model believes in the last task, as of when it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belief: Option<Belief>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl State {
    pub fn new(target: &Target, seed: u64) -> Self {
        Self {
            problem: Identity::of(target),
            seed,
            noise: target.fidelities.iter().map(|rung| rung.noise).collect(),
            kpi_noise: BTreeMap::new(),
            tasks: Vec::new(),
            knowledge: String::new(),
            learnt: String::new(),
            unanswered: 0,
            reported: false,
            watch: Vec::new(),
            watched: Vec::new(),
            belief: None,
        }
    }

    /// What it says of its target, for people; called as the file is.
    pub fn target(&self, path: &Path) -> Target {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut target = self.problem.target(&name, self.current().map_or(0.0, |task| task.begun.budget));
        let service = self.current().map(|task| &task.begun.service);
        let guards = service.and_then(|service| service.get("guards")).map(|words| Guarded::read(words));
        target.guards = guards.unwrap_or_default();
        // A floor is written as a guard's bound is, without a name.
        let floor = service.and_then(|service| service.get("floor"));
        let floor = floor.and_then(|words| Guarded::read(&format!("{VALUE}:{words}")).pop());
        target.floor = floor.map(|Guarded { level, risk, .. }| Floor { level, risk });
        target
    }

    /// Number of the current task, from 1; 0 before the first.
    pub fn task(&self) -> u32 {
        self.tasks.len() as u32
    }

    pub fn current(&self) -> Option<&TaskState> {
        self.tasks.last()
    }

    pub fn answered(&self) -> u64 {
        self.tasks.iter().map(|task| task.answers.len() as u64).sum()
    }
}

/// Where a state is kept.
pub enum Store {
    /// In a file, locked as long as this lives.
    File { path: PathBuf, _lock: File },
    /// Where the same process finds it: the bytes that the file would have.
    Memory(Arc<Mutex<Vec<u8>>>),
}

impl Store {
    /// Takes the place, or says who has it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let path = followed(path);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let lock = path.with_file_name(name);
        let opened = File::options().create(true).truncate(false).write(true).open(&lock);
        let file = opened.map_err(|error| unwritable(&lock, &error))?;
        // Of one that was killed, a measurement that was just being started holds the lock for a moment longer.
        let patience = Instant::now() + Duration::from_secs(1);
        let mut locked = file.try_lock();
        while matches!(locked, Err(TryLockError::WouldBlock)) && Instant::now() < patience {
            thread::sleep(Duration::from_millis(20));
            locked = file.try_lock();
        }
        match locked {
            Ok(()) => Ok(Self::File { path, _lock: file }),
            Err(TryLockError::WouldBlock) => Err(Error::usage(format!(
                "{} is in use by another foretune: wait for it, or give this one another --state",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(unwritable(&lock, &error)),
        }
    }

    /// The state for a target; `None` when there is none yet.
    pub fn load(&self, target: &Target) -> Result<Option<State>, Error> {
        match self {
            Self::File { path, .. } => read(path, target),
            Self::Memory(bytes) => {
                let bytes = bytes.lock().map_err(|_| Error::Defect)?;
                let here = Path::new("the state");
                let body = (!bytes.is_empty()).then(|| unsealed(here, &bytes)).transpose();
                known(here, body, target)
            }
        }
    }

    /// Replaces the state: after this returns, not even a power cut loses it.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written; the old one is still there then.
    pub fn save(&self, state: &State) -> Result<(), Error> {
        let body = serde_json::to_vec(state).map_err(io::Error::from)?;
        match self {
            Self::File { path, .. } => seal(path, NAME, &body),
            Self::Memory(bytes) => {
                *bytes.lock().map_err(|_| Error::Defect)? = sealed(NAME, &body);
                Ok(())
            }
        }
    }
}

/// The state in a file, which nobody need be kept from changing; `None` when there is none.
///
/// # Errors
/// As [`Store::load`].
pub fn read(path: &Path, target: &Target) -> Result<Option<State>, Error> {
    known(path, unseal(path), target)
}

/// The state of a site with the same problem, whatever it measures with and at what cost; `None` when there is none.
///
/// # Errors
/// As [`Store::load`].
pub fn of_site(path: &Path, target: &Target) -> Result<Option<State>, Error> {
    let state = parsed(path, unseal(path))?;
    let other = |state: &State| state.problem.difference(&Identity::of(target));
    match state.as_ref().and_then(other) {
        Some(change) => Err(Error::usage(format!("{}: it is of another problem: {change}", path.display()))),
        None => Ok(state),
    }
}

/// The state in a file, of whatever target.
///
/// # Errors
/// [`Error::Usage`] if there is none.
pub fn peek(path: &Path) -> Result<State, Error> {
    let missing = || Error::usage(format!("{}: no such file", path.display()));
    parsed(path, unseal(path))?.ok_or_else(missing)
}

/// The state of another site, if the file with these bytes is one and its problem this target's; else the bytes, which may be
/// knowledge.
///
/// # Errors
/// [`Error::Usage`] if it is damaged, or a state of another problem or one that has learnt nothing yet.
pub fn elsewhere(path: &Path, bytes: Vec<u8>, target: &Target) -> Result<Result<State, Vec<u8>>, Error> {
    if !bytes.starts_with(b"foretune-state") {
        return Ok(Err(bytes));
    }
    let state = peek(path)?;
    let why = match state.problem.change(&Identity::of(target)) {
        Some(change) => format!("it is of another problem: {change}"),
        None if state.learnt.is_empty() && state.knowledge.is_empty() => "no task has ended there yet".into(),
        None => return Ok(Ok(state)),
    };
    Err(Error::usage(format!("{}: {why}", path.display())))
}

/// The state in these bytes, if it is one of this target.
fn known(
    path: &Path,
    found: Result<Option<(String, Vec<u8>)>, Error>,
    target: &Target,
) -> Result<Option<State>, Error> {
    let Some(state) = parsed(path, found)? else { return Ok(None) };
    match state.problem.change(&Identity::of(target)) {
        Some(change) => Err(Error::usage(format!(
            "{}: what was learnt here does not hold any more: {change}; change it back, or give another --state",
            path.display()
        ))),
        None => Ok(Some(state)),
    }
}

fn parsed(path: &Path, found: Result<Option<(String, Vec<u8>)>, Error>) -> Result<Option<State>, Error> {
    let found = found.map_err(|error| Error::usage(error.to_string()))?;
    let Some((name, body)) = found else { return Ok(None) };
    let refused = |why: String| Error::usage(format!("{}: {why}", path.display()));
    if name != NAME {
        return Err(refused(format!("it is `{name}`, and `{NAME}` is what this version reads")));
    }
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|error| refused(format!("the state makes no sense: {error}")))
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::usage(format!("cannot write {}: {error}", path.display()))
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|digit| digit as u8);
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::target;
    use host_sim::problems::DimensionSpec;

    fn state() -> State {
        let told = Told {
            point: vec![0.1, -3.0],
            asked_at: vec![],
            told_at: false,
            fidelity: 1,
            why: Why::Search,
            value: Some(0.1 + 0.2),
            kpis: vec![],
            cost: 5.0,
            because: None,
            unit: vec![],
        };
        let failed = Told { value: None, why: Why::Initial, ..told.clone() };
        let (settings, service, past) = Default::default();
        let filed = Some(vec![0.1, 1.0]);
        let begun = Begun { budget: 60.0, deployed: None, filed, settings, service, past };
        let task = TaskState { answers: vec![told, failed], ..TaskState::new(begun) };
        State { tasks: vec![task], knowledge: "00ff".into(), ..State::new(&target(), u64::MAX) }
    }

    #[test]
    fn what_is_charged_is_counted_and_digits_are_bytes() {
        assert_eq!(state().current().unwrap().spent(), 10.0);
        assert_eq!(from_hex(&to_hex(&[0, 255, 16])), Some(vec![0, 255, 16]));
        assert_eq!((from_hex("0"), from_hex("zz")), (None, None));
    }

    #[test]
    fn damage_at_any_byte_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.state");
        let store = Store::open(&path).unwrap();
        store.save(&state()).unwrap();
        let good = std::fs::read(&path).unwrap();
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 1;
            for text in [&bad, &good[..place]] {
                std::fs::write(&path, text).unwrap();
                assert!(store.load(&target()).is_err(), "byte {place}");
            }
        }
    }

    #[test]
    fn a_second_process_is_kept_out_and_a_changed_problem_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.state");
        let store = Store::open(&path).unwrap();
        assert!(Store::open(&path).err().unwrap().to_string().contains("in use"));
        assert_eq!(store.load(&target()).unwrap(), None);
        store.save(&state()).unwrap();
        assert_eq!(store.load(&target()).unwrap(), Some(state()));
        let mut other = target();
        other.fidelities[0].cost = 0.5;
        other.budget = 1.0;
        let refusal = |other: &Target| store.load(other).unwrap_err().to_string();
        assert!(refusal(&other).contains("fidelity `short` had cost 1"), "{}", refusal(&other));
        for (level, words) in
            [(-98.0 + 1e-13, ""), (-97.5, "`p0` was -98 at one level, and is -97.5 at one level")]
        {
            let mut other = target();
            let DimensionSpec::Levels { values, .. } = &mut other.parameters[0] else { panic!() };
            values[1] = level;
            match store.load(&other) {
                Ok(found) => assert!(words.is_empty() && found == Some(state()), "{level}"),
                Err(error) => assert!(!words.is_empty() && error.to_string().contains(words), "{error}"),
            }
        }
        drop(store);
        assert!(Store::open(&path).is_ok());
    }
}
