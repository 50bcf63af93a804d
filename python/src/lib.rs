//! `foretune._foretune`: a conversation with the tuner, and the program `foretune`. All else is Python, beside this.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foretune::conversation::{Conversation, Start};
use pyo3::exceptions::{PyImportError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// How long Python waits before it looks for Ctrl-C again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Lines of `foretune serve`, without a process; see `docs/serve.md`.
#[pyclass(frozen)]
struct Session(Mutex<Conversation>);

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
        past: Vec<(Vec<f64>, f64)>,
    ) -> PyResult<Self> {
        let start = Start { file, state, seed, deployed, settings, knowledge, past };
        Ok(Self(Mutex::new(Conversation::open(&place, text, start).map_err(refused)?)))
    }

    /// Sends a line.
    fn say(&self, py: Python<'_>, line: &str) {
        py.detach(|| self.with(|conversation| conversation.say(line)));
    }

    /// Waits for a line; Ctrl-C ends the waiting, and the line can be heard later.
    fn hear(&self, py: Python<'_>) -> PyResult<String> {
        loop {
            let heard = py.detach(|| self.with(|conversation| conversation.hear(PATIENCE)));
            if let Some(line) = heard.map_err(refused)? {
                return Ok(line);
            }
            py.check_signals()?;
        }
    }

    /// What a file with the state has, or would have.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.with(|conversation| conversation.state()).map_err(refused)?;
        Ok(PyBytes::new(py, &state))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with(Conversation::close)).map_err(refused)
    }
}

impl Session {
    fn with<R>(&self, act: impl FnOnce(&mut Conversation) -> R) -> R {
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
    if let Some(advice) = foretune::processor::missing() {
        return Err(PyImportError::new_err(advice.trim_end()));
    }
    module.add_class::<Session>()?;
    module.add_function(wrap_pyfunction!(main, module)?)
}
