//! Talking to the device: requests with answers, and a station that goes through a task.

use std::io::Read;
use std::time::{Duration, Instant};

use foretune_link::exchange::Exchange;
use foretune_link::seal::{Key, Nonce, Opener};
use foretune_link::transfer::DownloadError;
use foretune_link::{
    Decoder, Download, Knowledge, Kpis, MAX_FRAME, Pace, Phase, Recommendation, Refusal, Request, Response,
    Station, Upload, VERSION, encode, parse,
};

use super::line::Line;
use host_sim::error::Error;
use host_sim::words::say;

/// How often to tell that nothing comes from the device.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

const LOCKED: &str = "the device talks only to those who hold its key: --key FILE";
const KEYLESS: &str = "the device has no key, or somebody answers in its place: leave --key out";

/// What a greeting says, kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    pub firmware: String,
    pub profile: String,
    pub problem: u32,
    /// Tries after which it gives a query up.
    pub tries: u8,
    pub phase: Phase,
    pub task: u32,
    pub knowledge: Knowledge,
}

pub struct Dialogue {
    line: Line,
    decoder: Decoder,
    start: Instant,
    tag: u32,
    timeout: u32,
    patience: Duration,
    /// When something last came, or the user was last told that nothing does.
    quiet_since: Instant,
    opener: Option<Opener>,
    /// Why the device cannot be talked to: one side has a key, the other has none.
    obstacle: Option<&'static str>,
}

impl Dialogue {
    /// A dialogue that repeats a request after `timeout` ms and gives up after `patience`.
    /// With a key, nothing is said or heard but sealed with it.
    pub fn new(line: Line, timeout: u32, patience: Duration, key: Option<Key>) -> Self {
        // Differs from run to run, so that an answer to a former life is not taken for one to this.
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let tag = since.as_millis() as u32;
        let start = Instant::now();
        let opener = key.map(Opener::new);
        let decoder = Decoder::new();
        Dialogue { line, decoder, start, tag, timeout, patience, quiet_since: start, opener, obstacle: None }
    }

    /// Milliseconds since the start.
    pub fn now(&self) -> u32 {
        self.start.elapsed().as_millis() as u32
    }

    pub fn station<'p>(&mut self) -> Station<'p> {
        self.tag = self.tag.wrapping_add(1 << 20);
        Station::new(Pace { timeout: self.timeout, interval: 20 }, self.tag)
    }

    pub fn send(&mut self, tag: u32, request: &Request<'_>) {
        let mut frame = [0; MAX_FRAME];
        let coded = match &mut self.opener {
            Some(opener) if opener.has_session() => opener.encode(tag, request, &mut frame),
            // The answer has the challenge; what there is to say waits until the repeat.
            Some(_) => encode(tag, &Request::Hello { version: VERSION }, &mut frame),
            None => encode(tag, request, &mut frame),
        };
        if let Ok(frame) = coded {
            self.line.send(frame);
        }
    }

    /// Gives every answer that has come to `take`; waits a few milliseconds for the first.
    pub fn listen(&mut self, mut take: impl FnMut(u32, &Response<'_>)) {
        let mut buffer = [0; 256];
        let bytes = self.line.receive(&mut buffer);
        if !bytes.is_empty() {
            self.quiet_since = Instant::now();
        } else if self.quiet_since.elapsed() > SIGN_OF_LIFE {
            self.quiet_since = Instant::now();
            let left = self.patience.as_secs();
            say(&format!("waiting for the device, {left} s at most: {}", self.line.state()));
        }
        for byte in bytes {
            let Some(body) = self.decoder.push(*byte) else { continue };
            let opened = self.opener.as_mut().and_then(|opener| opener.open(body));
            let sealed = opened.is_some();
            let Ok((tag, response)) = parse::<Response<'_>>(opened.map_or(body, |range| &body[range])) else {
                continue;
            };
            match (&mut self.opener, response) {
                (None, Response::Locked { .. }) => self.obstacle = Some(LOCKED),
                (None, response) => take(tag, &response),
                (Some(_), response) if sealed => take(tag, &response),
                (Some(opener), Response::Locked { challenge }) => opener.meet(&challenge, nonce()),
                (Some(_), _) => self.obstacle = Some(KEYLESS),
            }
        }
    }

    pub fn ask<T>(&mut self, request: &Request<'_>, read: impl Fn(&Response<'_>) -> T) -> Result<T, Error> {
        let mut exchange = Exchange::new(self.tag, self.timeout);
        exchange.open();
        let begun = Instant::now();
        let mut answer = None;
        while answer.is_none() {
            if begun.elapsed() > self.patience {
                return Err(self.silent());
            }
            if let Some(obstacle) = self.obstacle {
                return Err(Error::Device(obstacle.into()));
            }
            let now = self.now();
            if let Some(tag) = exchange.transmit(now) {
                self.tag = tag;
                self.send(tag, request);
            }
            self.listen(|tag, response| {
                if exchange.accept(tag) {
                    answer = Some(read(response));
                }
            });
        }
        answer.ok_or_else(|| self.silent())
    }

    /// The error of a device that says nothing.
    pub fn silent(&self) -> Error {
        Error::Device(format!("no answer for {} s: {}", self.patience.as_secs(), self.line.state()))
    }

    pub fn greet(&mut self) -> Result<Device, Error> {
        let read = |response: &Response<'_>| match response {
            Response::Greeting(greeting) if greeting.version == VERSION => Ok(Device {
                firmware: greeting.identity.firmware.to_owned(),
                profile: greeting.identity.profile.to_owned(),
                problem: greeting.identity.problem,
                tries: greeting.identity.tries,
                phase: greeting.phase,
                task: greeting.task,
                knowledge: greeting.knowledge,
            }),
            Response::Greeting(greeting) => Err(Error::Device(format!(
                "the device speaks version {} of the protocol, this program {VERSION}",
                greeting.version
            ))),
            other => Err(unexpected(other)),
        };
        self.ask(&Request::Hello { version: VERSION }, read)?
    }

    /// Asks for something that changes the device, and expects it done.
    pub fn order(&mut self, request: &Request<'_>) -> Result<(), Error> {
        self.ask(request, |response| match response {
            Response::Refused(refusal) => Err(refused(refusal)),
            _ => Ok(()),
        })?
    }

    /// What the last task recommends under these conditions.
    pub fn best_under(&mut self, conditions: &[f32]) -> Result<Recommendation, Error> {
        let task = self.greet()?.task;
        let mut request = Request::Under { task, conditions: Kpis::new(conditions) };
        loop {
            let found = self.ask(&request, |response| match response {
                Response::Finished(best) => Ok(Some(best.clone())),
                Response::Working { .. } => Ok(None),
                Response::Refused(refusal) => Err(refused(refusal)),
                other => Err(unexpected(other)),
            })??;
            match found {
                Some(best) => return Ok(best),
                None => request = Request::Poll { task },
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn upload(&mut self, bytes: &[u8], now: &Knowledge) -> Result<Knowledge, Error> {
        let mut upload = Upload::knowledge(bytes, now);
        while let Some(request) = upload.request() {
            let taken = self.ask(&request, |response| {
                let mut next = upload.clone();
                next.receive(response).map(|()| next)
            })?;
            upload = taken.map_err(|refusal| refused(&refusal))?;
        }
        upload.stored().ok_or_else(|| Error::Device("the device did not take over the knowledge".into()))
    }

    pub fn download(&mut self, knowledge: &Knowledge) -> Result<Vec<u8>, Error> {
        let mut buffer = vec![0; knowledge.total as usize];
        let mut download = Download::new(*knowledge, &mut buffer).map_err(|error| lost(&error))?;
        while let Some(request) = download.request() {
            let piece = self.ask(&request, |response| match response {
                Response::Chunk { offset, data } => Ok((*offset, data.to_vec())),
                Response::Refused(refusal) => Err(refused(refusal)),
                other => Err(unexpected(other)),
            })??;
            let response = Response::Chunk { offset: piece.0, data: &piece.1 };
            download.receive(&response).map_err(|error| lost(&error))?;
        }
        download.finish().map(<[u8]>::to_vec).map_err(|error| lost(&error))
    }
}

/// A nonce that never comes again: from the system, and should that have none, from the time.
fn nonce() -> Nonce {
    let random = std::fs::File::open("/dev/urandom").and_then(|mut file| {
        let mut nonce = Nonce::default();
        file.read_exact(&mut nonce).map(|()| nonce)
    });
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    random.unwrap_or((since.as_nanos() as u64).to_le_bytes())
}

pub fn refused(refusal: &Refusal) -> Error {
    let why = match refusal {
        Refusal::BadKnowledge { code } => {
            let reasons = [
                "cut short",
                "not knowledge of ours",
                "of a newer version",
                "damaged",
                "of another profile or model",
                "taken in the middle of a task",
                "with impossible numbers",
                "of an older version",
                "learnt with other parameters",
                "learnt with other fidelities",
                "learnt for the opposite goal",
            ];
            let reason = reasons.get(usize::from(*code).wrapping_sub(1)).unwrap_or(&"of an unknown kind");
            format!("the knowledge is {reason}")
        }
        other => other.to_string(),
    };
    Error::Device(format!("the device refuses: {why}"))
}

pub fn unexpected(response: &Response<'_>) -> Error {
    Error::Device(format!("the device answers something that does not belong here: {response:?}"))
}

fn lost(error: &DownloadError) -> Error {
    Error::Device(format!("the device's knowledge could not be read: {error}"))
}
