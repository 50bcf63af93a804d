//! `foretune._foretune`: a conversation with the tuner, and the program `foretune`. All else is Python, beside this.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foretune::conversation::{Conversation, Error, Given, Known, Start};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// How long Python waits before it looks for Ctrl-C again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Lines of `foretune serve`, without a process; see `docs/serve.md`. Ctrl-C may come between any two calls: what is to be heard
/// is counted here, and a line stands until it is done with.
#[pyclass(frozen)]
struct Session(Mutex<Line>);

struct Line {
    conversation: Conversation,
    awaited: usize,
    heard: Option<String>,
}

impl Line {
    fn hear(&mut self) -> Result<bool, Error> {
        if self.awaited > 0 && self.heard.is_none() {
            self.heard = self.conversation.hear(PATIENCE)?;
        }
        Ok(self.awaited == 0 || self.heard.is_some())
    }
}

/// Setting, value, fidelity and KPIs.
type Measured = (BTreeMap<String, String>, f64, Option<String>, Numbers);
type Numbers = BTreeMap<String, f64>;

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (place, text, *, file, state, seed, deployed, settings, knowledge, past))]
    #[expect(clippy::too_many_arguments, reason = "by name from Python")]
    fn new(
        place: PathBuf,
        text: &str,
        file: Option<PathBuf>,
        state: Vec<u8>,
        seed: Option<u64>,
        deployed: Option<String>,
        settings: Vec<String>,
        knowledge: Vec<u8>,
        past: Vec<Measured>,
    ) -> PyResult<Self> {
        let known = |(setting, value, fidelity, kpis): Measured| {
            let setting = setting.into_iter().map(|(name, text)| (name, Given::Text(text))).collect();
            Known { setting, value, fidelity, kpis }
        };
        let past = past.into_iter().map(known).collect();
        let start = Start { file, state, seed, deployed, settings, knowledge, past };
        let conversation = Conversation::open(&place, text, start).map_err(refused)?;
        // It greets, and asks or recommends.
        Ok(Self(Mutex::new(Line { conversation, awaited: 2, heard: None })))
    }

    /// Sends a line, which is answered by one.
    fn say(&self, py: Python<'_>, text: &str) {
        py.detach(|| {
            self.with(|line| {
                line.conversation.say(text);
                line.awaited += 1;
            })
        });
    }

    /// Waits for the next line, the same until it is done with; none if none is to come.
    fn hear(&self, py: Python<'_>) -> PyResult<Option<String>> {
        while !py.detach(|| self.with(Line::hear)).map_err(refused)? {
            py.check_signals()?;
        }
        Ok(self.with(|line| line.heard.clone()))
    }

    /// The line is done with.
    fn done(&self) {
        self.with(|line| {
            // A change is followed by the next task's first query.
            let more = line.heard.take().is_some_and(|heard| heard.starts_with("{\"changed\""));
            line.awaited = line.awaited.saturating_sub(1) + usize::from(more);
        });
    }

    /// What a file with the state has, or would have.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.with(|line| line.conversation.state()).map_err(refused)?;
        Ok(PyBytes::new(py, &state))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with(|line| line.conversation.close())).map_err(refused)
    }
}

impl Session {
    fn with<R>(&self, act: impl FnOnce(&mut Line) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn refused(error: impl ToString) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// The program `foretune` with the words of a command line; its exit code.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| foretune::cli::run(words))
}

#[pymodule]
fn _foretune(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Session>()?;
    module.add_function(wrap_pyfunction!(main, module)?)
}
