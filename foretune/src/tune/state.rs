//! What is kept between two answers, and between two tasks: a file that is replaced whole or not at all.
//!
//! Two lines of JSON: the format's version with a checksum, then the state. The answers of the current task and what it
//! started from are enough: the optimizer is deterministic, so asking and telling them again leads to the same query.
//! A lock on a file beside it keeps a second process out, and goes when the process goes, however it ends.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::own::{Identity, Target, Why};
use host_sim::error::Error;
use host_sim::results::write_atomically;

/// Version of the file's format.
const FORMAT: u32 = 1;

/// What came of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A value.
    Value(f32),
    /// Nothing: it failed.
    Failed,
}

/// A query with what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The point, in natural units.
    pub point: Vec<f64>,
    /// Index of the fidelity.
    pub fidelity: usize,
    /// Why it was measured.
    pub why: Why,
    /// What came of it.
    pub outcome: Outcome,
    /// What it cost.
    pub cost: f64,
}

impl Told {
    /// The value, if the measurement succeeded.
    pub fn value(&self) -> Option<f32> {
        match self.outcome {
            Outcome::Value(value) => Some(value),
            Outcome::Failed => None,
        }
    }
}

/// Why a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The budget is used up.
    Budget,
    /// There is no room for more answers.
    Capacity,
    /// Everything worth measuring has been measured.
    Exhausted,
    /// Going on is not expected to pay.
    Tolerance,
    /// Too many measurements in a row have failed.
    Failures,
    /// Somebody asked for it.
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

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// The recommended point, in natural units; none if nothing was measured.
    pub point: Option<Vec<f64>>,
    /// What is expected of it.
    pub mean: f32,
    /// Standard deviation of that expectation.
    pub deviation: f32,
    /// Why the task ended.
    pub reason: Reason,
    /// What the task spent of its budget.
    pub spent: f64,
    /// Answers that lay too far from all others, and were not confirmed by a second.
    #[serde(default)]
    pub outliers: usize,
}

/// What a task began with; none of it may change before it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// Its budget.
    pub budget: f64,
    /// The point in use.
    pub deployed: Option<Vec<f64>>,
    /// The one that the problem's file gave then.
    #[serde(default)]
    pub filed: Option<Vec<f64>>,
    /// The optimizer's settings.
    pub settings: BTreeMap<String, Value>,
    /// Floor, tolerance and limits, in words.
    #[serde(default)]
    pub service: BTreeMap<String, String>,
}

/// A task, running or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskState {
    /// What it began with.
    pub begun: Begun,
    /// All answers, in order.
    pub answers: Vec<Told>,
    /// How it ended, if it has.
    pub ended: Option<Ended>,
}

impl TaskState {
    /// What is charged to the budget: all but initial points, and these, too, where a point is in use.
    pub fn charged(&self, told: &Told) -> f64 {
        if told.why == Why::Initial && self.begun.deployed.is_none() { 0.0 } else { told.cost }
    }

    /// The point in use afterwards: what was recommended, where one was in use.
    pub fn in_use(&self) -> Option<&Vec<f64>> {
        let recommended = self.ended.as_ref().and_then(|ended| ended.point.as_ref());
        self.begun.deployed.as_ref().map(|before| recommended.unwrap_or(before))
    }

    /// Measurements that failed since the last one that did not.
    pub fn failing(&self) -> usize {
        self.answers.iter().rev().take_while(|told| told.value().is_none()).count()
    }

    /// What was spent of the budget so far.
    pub fn spent(&self) -> f64 {
        self.answers.iter().map(|told| self.charged(told)).sum()
    }
}

/// Everything that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    problem: Identity,
    /// Root of all randomness.
    pub seed: u64,
    /// Noise variance of every fidelity, given or estimated; none before it is known.
    pub noise: Vec<Option<f64>>,
    /// All tasks; the last is the current one.
    pub tasks: Vec<TaskState>,
    /// What the current task starts from, as hexadecimal digits.
    pub(super) knowledge: String,
    /// What the next task starts from, once the current one has ended.
    pub(super) learnt: String,
    /// Whether the end of the current task has been told to anyone.
    pub(super) reported: bool,
}

impl State {
    /// A state before the first task.
    pub fn new(target: &Target, seed: u64) -> Self {
        Self {
            problem: Identity::of(target),
            seed,
            noise: target.fidelities.iter().map(|rung| rung.noise).collect(),
            tasks: Vec::new(),
            knowledge: String::new(),
            learnt: String::new(),
            reported: false,
        }
    }

    /// Number of the current task, from 1; 0 before the first.
    pub fn task(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// The current task.
    pub fn current(&self) -> Option<&TaskState> {
        self.tasks.last()
    }

    /// Answers over all tasks.
    pub fn answered(&self) -> u64 {
        self.tasks.iter().map(|task| task.answers.len() as u64).sum()
    }
}

/// Where a state is kept, locked as long as this lives.
pub struct Store {
    path: PathBuf,
    _lock: File,
}

impl Store {
    /// Takes the place, or says who has it.
    ///
    /// # Errors
    /// [`Error::Usage`] if another process has it, [`Error::Output`] if it cannot be made.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let lock = path.with_file_name(name);
        let opened = File::options().create(true).truncate(false).write(true).open(&lock);
        let file = opened.map_err(|error| unwritable(&lock, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: file }),
            Err(TryLockError::WouldBlock) => Err(Error::usage(format!(
                "{} is in use by another foretune: wait for it, or give this one another --state",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(unwritable(&lock, &error)),
        }
    }

    /// The state for a target; `None` when there is none yet.
    ///
    /// # Errors
    /// [`Error::Usage`] if the file is damaged, of another version, or of another problem.
    pub fn load(&self, target: &Target) -> Result<Option<State>, Error> {
        let text = match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other
                .map_err(|error| Error::usage(format!("cannot read {}: {error}", self.path.display())))?,
        };
        let refused = |why: String| Error::usage(format!("{}: {why}", self.path.display()));
        let state = parse(&text).map_err(refused)?;
        match state.problem.change(&Identity::of(target)) {
            Some(change) => Err(refused(format!(
                "what was learnt here does not hold any more: {change}; change it back, or give another --state"
            ))),
            None => Ok(Some(state)),
        }
    }

    /// Replaces the state: after this returns, not even a power cut loses it.
    ///
    /// # Errors
    /// [`Error::Results`] if it cannot be written; the old one is still there then.
    pub fn save(&self, state: &State) -> Result<(), Error> {
        Ok(write_atomically(&self.path, format(state).as_bytes())?)
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::usage(format!("cannot write {}: {error}", path.display()))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    foretune_state: u32,
    crc: String,
}

fn format(state: &State) -> String {
    // Only a map with other keys than strings can fail, and the type has none.
    let body = serde_json::to_string(state).unwrap_or_default();
    let header = Header { foretune_state: FORMAT, crc: checksum(&body) };
    format!("{}\n{body}\n", serde_json::to_string(&header).unwrap_or_default())
}

fn checksum(body: &str) -> String {
    format!("{:08x}", host_sim::checksum::crc32(body.as_bytes()))
}

fn parse(text: &str) -> Result<State, String> {
    let (header, body) = text.split_once('\n').ok_or("this is no state of foretune")?;
    let body = body.strip_suffix('\n').ok_or("the state is cut off")?;
    let header: Header = serde_json::from_str(header).map_err(|_| "this is no state of foretune")?;
    if header.foretune_state != FORMAT {
        return Err(format!("format {} is not the format {FORMAT} of this version", header.foretune_state));
    }
    if header.crc != checksum(body) {
        return Err("the state is damaged: its checksum is wrong".into());
    }
    serde_json::from_str(body).map_err(|error| format!("the state makes no sense: {error}"))
}

/// Bytes as hexadecimal digits.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hexadecimal digits as bytes.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|digit| digit as u8);
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::fixture::target;

    fn state() -> State {
        let told = Told {
            point: vec![0.1, -3.0],
            fidelity: 1,
            why: Why::Search,
            outcome: Outcome::Value(0.1 + 0.2),
            cost: 5.0,
        };
        let failed = Told { outcome: Outcome::Failed, why: Why::Initial, ..told.clone() };
        let (settings, service) = Default::default();
        let begun = Begun { budget: 60.0, deployed: None, filed: Some(vec![0.1, 1.0]), settings, service };
        let task = TaskState { begun, answers: vec![told, failed], ended: None };
        State { tasks: vec![task], knowledge: "00ff".into(), ..State::new(&target(), u64::MAX) }
    }

    #[test]
    fn a_state_reads_back_and_counts_what_is_charged() {
        let state = state();
        assert_eq!(parse(&format(&state)), Ok(state.clone()));
        assert_eq!(state.current().unwrap().spent(), 5.0);
        assert_eq!(from_hex(&to_hex(&[0, 255, 16])), Some(vec![0, 255, 16]));
        assert_eq!((from_hex("0"), from_hex("zz")), (None, None));
    }

    #[test]
    fn damage_at_any_byte_is_refused() {
        let good = format(&state());
        for place in 0..good.len() {
            let mut bad = good.clone().into_bytes();
            bad[place] ^= 1;
            let changed = String::from_utf8(bad).is_ok_and(|text| parse(&text).is_ok());
            assert!(!changed, "byte {place}");
            assert!(parse(&good[..place]).is_err(), "cut at {place}");
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
        let error = store.load(&other).unwrap_err().to_string();
        assert!(error.contains("fidelity `short` had cost 1"), "{error}");
        drop(store);
        assert!(Store::open(&path).is_ok());
    }
}
