//! A key for the line: frames that cannot be forged, nor recorded and played again.
//!
//! Both sides hold the same 32 bytes. A device with a key answers a frame that is not sealed with nothing but a
//! *challenge*. The station adds a nonce of its own, and both derive the session's key from the three; every frame then
//! carries a counter and a MAC. Sealed body: `mark, nonce (8), counter (4, little endian), body, MAC (16)`, mark `}` from the
//! station, `{` from the tuner. The MAC is HMAC-SHA-256 of all before it under the session's key, its first 16 bytes,
//! compared in constant time.
//!
//! | | |
//! |---|---|
//! | challenge | HMAC(key, `01`, restart counter (4), sessions since then (4)), its first 16 bytes |
//! | session's key | HMAC(key, `02`, challenge, the station's nonce) |
//! | station to tuner | the counter grows with every frame, repeats included; one that does not is refused |
//! | tuner to station | the counter is that of the request; one that was answered already, or never sent, is ignored |
//!
//! A challenge opens one session: the next has another number, and after a restart another restart counter, which the
//! device keeps in flash. So what was recorded in one session is refused in every other.

use core::ops::Range;

use hmac::digest::Output;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::frame::{FrameError, Sealer, encode_sealed};
use crate::message::Request;

/// What both sides hold.
pub type Key = [u8; 32];
/// What a device with a key asks who has none.
pub type Challenge = [u8; 16];
/// What the station adds; different in every session.
pub type Nonce = [u8; NONCE];

const NONCE: usize = 8;
const COUNTER: usize = 4;
const MAC: usize = 16;
/// Bytes before the body of a sealed frame.
pub(crate) const BEFORE: usize = 1 + NONCE + COUNTER;
/// Bytes that a seal adds to a body.
pub const SEAL: usize = BEFORE + MAC;

const FROM_STATION: u8 = b'}';
const FROM_TUNER: u8 = b'{';

/// HMAC-SHA-256 (RFC 2104) under a key of bytes given in parts, yet to be taken or compared.
fn hmac(key: &Key, parts: &[&[u8]]) -> Hmac<Sha256> {
    // HMAC fills up a key of less than a block with zeros.
    let mut block = [0; 64];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = <Hmac<Sha256> as Mac>::new(&block.into());
    parts.iter().for_each(|part| mac.update(part));
    mac
}

fn digest(key: &Key, parts: &[&[u8]]) -> Output<Sha256> {
    hmac(key, parts).finalize().into_bytes()
}

/// A session as both sides see it.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    nonce: Nonce,
    key: Key,
    counter: u32,
}

impl Session {
    fn new(key: &Key, challenge: &Challenge, nonce: Nonce) -> Self {
        Session { nonce, key: digest(key, &[&[2], challenge, &nonce]).into(), counter: 0 }
    }

    /// Seals a body that lies in `bytes` from [`BEFORE`] on; returns the length with the seal.
    fn seal(&self, mark: u8, counter: u32, bytes: &mut [u8], length: usize) -> Option<usize> {
        let end = BEFORE + length;
        let (head, tail) = bytes.split_at_mut_checked(end)?;
        let before = [&[mark][..], &self.nonce, &counter.to_le_bytes()];
        head.iter_mut().zip(before.into_iter().flatten()).for_each(|(to, from)| *to = *from);
        let mac = digest(&self.key, &[head]);
        tail.get_mut(..MAC)?.copy_from_slice(mac.first_chunk::<MAC>()?);
        Some(end + MAC)
    }

    /// Whether a sealed body is of this session and direction, and its counter.
    fn open(&self, mark: u8, body: &[u8]) -> Option<u32> {
        let (sealed, mac) = body.split_last_chunk::<MAC>()?;
        let counter = sealed.get(1 + NONCE..BEFORE)?.first_chunk()?;
        let genuine = hmac(&self.key, &[sealed]).verify_truncated_left(mac).is_ok();
        (genuine && sealed.first() == Some(&mark)).then_some(u32::from_le_bytes(*counter))
    }
}

/// Where the body lies in a sealed one.
fn within(body: &[u8]) -> Range<usize> {
    BEFORE..body.len().saturating_sub(MAC)
}

/// The device's side.
#[derive(Clone, Debug)]
pub struct Lock {
    key: Key,
    restart: u32,
    sessions: u32,
    session: Option<Session>,
}

impl Lock {
    /// A lock after so many restarts: a number that never comes again.
    pub fn new(key: Key, restart: u32) -> Self {
        Lock { key, restart, sessions: 0, session: None }
    }

    /// What opens the next session.
    pub fn challenge(&self) -> Challenge {
        let parts = [&[1][..], &self.restart.to_le_bytes(), &self.sessions.to_le_bytes()];
        digest(&self.key, &parts).first_chunk().copied().unwrap_or_default()
    }

    /// Where the request lies in a sealed body; none if it is forged, recorded earlier or not sealed at all. Nothing changes then.
    pub fn open(&mut self, body: &[u8]) -> Option<Range<usize>> {
        let nonce: Nonce = *body.get(1..1 + NONCE)?.first_chunk()?;
        let mut session = match &self.session {
            Some(session) if session.nonce == nonce => session.clone(),
            _ => Session::new(&self.key, &self.challenge(), nonce),
        };
        let counter = session.open(FROM_STATION, body).filter(|counter| *counter > session.counter)?;
        // The first frame of a session uses its challenge up.
        self.sessions = self.sessions.wrapping_add(u32::from(session.counter == 0));
        session.counter = counter;
        self.session = Some(session);
        Some(within(body))
    }

    /// Seals the answer to the last request that was opened.
    pub(crate) fn seal(&self, bytes: &mut [u8], length: usize) -> Option<usize> {
        let session = self.session.as_ref()?;
        session.seal(FROM_TUNER, session.counter, bytes, length)
    }
}

/// The station's side.
#[derive(Clone, Debug)]
pub struct Opener {
    key: Key,
    session: Option<Session>,
    /// Counter of the last answer.
    heard: u32,
}

impl Opener {
    /// Without a session.
    pub fn new(key: Key) -> Self {
        Opener { key, session: None, heard: 0 }
    }

    /// Whether there is a session. Without one, say Hello as it is: the answer has the challenge.
    pub fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Takes up a challenge with a nonce that was never used before: a random one.
    pub fn meet(&mut self, challenge: &Challenge, nonce: Nonce) {
        self.session = Some(Session::new(&self.key, challenge, nonce));
        self.heard = 0;
    }

    /// Writes a request as a sealed frame.
    ///
    /// # Errors
    /// As [`crate::encode`]; [`FrameError::TooLong`] without a session.
    pub fn encode<'b>(
        &mut self,
        tag: u32,
        request: &Request<'_>,
        out: &'b mut [u8],
    ) -> Result<&'b [u8], FrameError> {
        encode_sealed(tag, request, Some(Sealer::Station(self)), out)
    }

    /// Seals a request.
    pub(crate) fn seal(&mut self, bytes: &mut [u8], length: usize) -> Option<usize> {
        let session = self.session.as_mut()?;
        session.counter = session.counter.checked_add(1)?;
        session.seal(FROM_STATION, session.counter, bytes, length)
    }

    /// Where the answer lies in a sealed body; none if it is forged, recorded earlier or not sealed at all.
    pub fn open(&mut self, body: &[u8]) -> Option<Range<usize>> {
        let session = self.session.as_ref()?;
        let counter = session.open(FROM_TUNER, body)?;
        if counter <= self.heard || counter > session.counter {
            return None;
        }
        self.heard = counter;
        Some(within(body))
    }
}

#[cfg(test)]
mod tests;
