//! `foretune serve` inside another program: the same lines, without a process. What `import foretune` is built on.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use host_sim::error::Error;

use crate::cli::{KeepArguments, SettingArguments};
use foretune_tuning::{self as tuning, Store};
pub use foretune_tuning::{Given, Known};

/// How tuning starts and where it is kept.
#[derive(Debug, Default)]
pub struct Start {
    /// File that keeps answers and what was learnt; without one, [`Conversation::state`] has them.
    pub file: Option<PathBuf>,
    /// What [`Conversation::state`] of another conversation said, to go on from there.
    pub state: Vec<u8>,
    pub seed: Option<u64>,
    /// As `--deployed` has it.
    pub deployed: Option<String>,
    /// As `--set` has them.
    pub settings: Vec<String>,
    /// What a task of another conversation left, for the first one here.
    pub knowledge: Vec<u8>,
    /// What was measured before the first task.
    pub past: Vec<Known>,
}

/// A thread that serves; it ends with this value.
pub struct Conversation {
    /// None once nothing more will be said.
    requests: Option<Sender<String>>,
    replies: Receiver<String>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    state: Result<PathBuf, Arc<Mutex<Vec<u8>>>>,
    /// A fork of the process has no such thread.
    process: u32,
    /// Why it ended by itself.
    failure: Option<String>,
}

impl Conversation {
    /// Begins or goes on with the tuning of a problem, given as its text and where that lies or would lie.
    ///
    /// # Errors
    /// What `foretune serve` would end with.
    pub fn open(place: &Path, text: &str, start: Start) -> Result<Self, Error> {
        let target = tuning::read_text(place, text)?;
        let Start { file, state, seed, deployed, settings: set, knowledge, past } = start;
        let settings = SettingArguments { settings: None, set };
        let keep = KeepArguments { state: file.clone(), deployed, past: None, from: None, seed, settings };
        let memory = Arc::new(Mutex::new(state));
        let store = match &file {
            Some(path) => Store::open(path)?,
            None => Store::Memory(memory.clone()),
        };
        let past = tuning::past::of_known(&target, &past)?;
        let mut tuning = keep.open_in(target, Some(store))?;
        if !knowledge.is_empty() {
            tuning.start_from(&knowledge)?;
        }
        if !past.is_empty() {
            tuning.take_past_once(past)?;
        }
        let (requests, input) = mpsc::channel();
        let (mut output, replies) = mpsc::channel();
        let serve = move || {
            let mut input = BufReader::new(Requests { from: input, rest: VecDeque::new() });
            tuning::serve(&mut tuning, &mut input, &mut Replies { to: &mut output, line: Vec::new() })
        };
        let thread = thread::Builder::new().name("foretune".into()).spawn(serve)?;
        let state = file.ok_or(memory);
        let (requests, thread, process) = (Some(requests), Some(thread), process::id());
        Ok(Self { requests, replies, thread, state, process, failure: None })
    }

    /// Sends a line.
    pub fn say(&self, line: &str) {
        if let Some(requests) = &self.requests {
            // Whoever has gone says why to the one who listens.
            requests.send(format!("{line}\n")).ok();
        }
    }

    /// The next line that was said, if it comes within this time.
    ///
    /// # Errors
    /// Why no more will come.
    pub fn hear(&mut self, within: Duration) -> Result<Option<String>, Error> {
        if self.process != process::id() {
            return Err(Error::usage("this tuner is another process's: make one here, or send it pickled"));
        }
        match self.replies.recv_timeout(within) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                if let Err(error) = self.close() {
                    self.failure = Some(error.to_string());
                }
                let why = self.failure.as_ref().map_or(String::new(), |failure| format!(": {failure}"));
                Err(Error::usage(format!("this tuner is closed{why}")))
            }
        }
    }

    /// The bytes of the state's file, or those that it would have.
    pub fn state(&self) -> Result<Vec<u8>, Error> {
        match &self.state {
            Ok(path) => std::fs::read(path).map_err(Error::io("read", path)),
            Err(memory) => Ok(memory.lock().map_err(|_| Error::Defect)?.clone()),
        }
    }

    /// Ends it, and gives the state's file free; what is known is kept.
    pub fn close(&mut self) -> Result<(), Error> {
        if self.process != process::id() {
            std::mem::forget(self.thread.take());
        }
        self.requests = None;
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Err(Error::Defect)))
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        self.close().ok();
    }
}

/// What is sent, as something to read; its end is the end of the sender.
struct Requests {
    from: Receiver<String>,
    rest: VecDeque<u8>,
}

impl Read for Requests {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty()
            && let Ok(line) = self.from.recv()
        {
            self.rest = line.into_bytes().into();
        }
        self.rest.read(into)
    }
}

/// What is written, sent line by line.
struct Replies<'a> {
    to: &'a mut Sender<String>,
    line: Vec<u8>,
}

impl Write for Replies<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).trim_end().to_owned();
        self.to.send(line).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
