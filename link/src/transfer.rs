//! The master's side of what travels in pieces: problems and knowledge to a device, knowledge from it.
//!
//! Both types say which request comes next and take the answers; an [`crate::exchange::Exchange`] sends and repeats.

use core::fmt;

use crate::MAX_CHUNK;
use crate::frame::crc32;
use crate::message::{Blob, Knowledge, Refusal, Request, Response};

/// Carries bytes to a device. After a device's restart it begins anew by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Upload<'a> {
    what: Blob,
    bytes: &'a [u8],
    crc: u32,
    replaces: u32,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Offer,
    Write { offset: usize },
    Commit,
    Done(Option<Knowledge>),
}

impl<'a> Upload<'a> {
    const fn new(what: Blob, bytes: &'a [u8], crc: u32, replaces: u32) -> Self {
        Self { what, bytes, crc, replaces, stage: Stage::Offer }
    }

    /// Knowledge to replace the one that the device's greeting named.
    pub fn knowledge(bytes: &'a [u8], now: &Knowledge) -> Self {
        Self::new(Blob::Knowledge, bytes, crc32(bytes), now.sequence)
    }

    /// A problem, see [`crate::problem`], which the device then knows until its next restart or the next problem.
    pub fn problem(bytes: &'a [u8]) -> Self {
        Self::new(Blob::Problem, bytes, crc32(bytes), 0)
    }

    /// What to ask next; none when the device has it all.
    pub fn request(&self) -> Option<Request<'a>> {
        let Self { what, crc, replaces, .. } = *self;
        match self.stage {
            Stage::Offer => Some(Request::Offer { what, replaces, total: self.bytes.len() as u32, crc }),
            Stage::Write { offset } => {
                let rest = self.bytes.get(offset..).unwrap_or_default();
                let data = rest.get(..MAX_CHUNK).unwrap_or(rest);
                Some(Request::Write { crc, offset: offset as u32, data })
            }
            Stage::Commit => Some(Request::Commit { crc }),
            Stage::Done(_) => None,
        }
    }

    /// Takes the answer to the last request. An error means that the device will not have it.
    pub fn receive(&mut self, response: &Response) -> Result<(), Refusal> {
        self.stage = match *response {
            Response::Ready { offset } if (offset as usize) < self.bytes.len() => {
                Stage::Write { offset: offset as usize }
            }
            Response::Ready { .. } if self.what == Blob::Problem => Stage::Done(None),
            Response::Ready { .. } => Stage::Commit,
            Response::Stored(knowledge) => Stage::Done(Some(knowledge)),
            Response::Refused(Refusal::NoTransfer) => Stage::Offer,
            Response::Refused(refusal) => return Err(refusal),
            _ => self.stage,
        };
        Ok(())
    }

    /// What the device says it knows now, once it has taken over knowledge.
    pub fn stored(&self) -> Option<Knowledge> {
        match self.stage {
            Stage::Done(knowledge) => knowledge,
            _ => None,
        }
    }
}

/// Why a download came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownloadError {
    /// The buffer is smaller than the knowledge.
    NoRoom,
    /// The device refused; `WrongKnowledge` if it has learnt meanwhile.
    Refused(Refusal),
    /// The bytes do not have the CRC that the greeting named.
    Checksum,
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom => f.write_str("it is larger than the buffer"),
            Self::Refused(refusal) => write!(f, "the device refuses: {refusal}"),
            Self::Checksum => f.write_str("the checksum does not match"),
        }
    }
}

impl core::error::Error for DownloadError {}

/// Reads a device's knowledge into a buffer.
#[derive(Debug)]
pub struct Download<'b> {
    knowledge: Knowledge,
    buffer: &'b mut [u8],
    received: usize,
}

impl<'b> Download<'b> {
    /// Reads the knowledge that the device's greeting named.
    pub fn new(knowledge: Knowledge, buffer: &'b mut [u8]) -> Result<Self, DownloadError> {
        let buffer = buffer.get_mut(..knowledge.total as usize).ok_or(DownloadError::NoRoom)?;
        Ok(Self { knowledge, buffer, received: 0 })
    }

    /// What to ask next; none when everything is there.
    pub fn request(&self) -> Option<Request<'static>> {
        let request = Request::Read { knowledge: self.knowledge.sequence, offset: self.received as u32 };
        (self.received < self.buffer.len()).then_some(request)
    }

    /// Takes the answer to the last request. What does not fit is ignored and asked again.
    pub fn receive(&mut self, response: &Response) -> Result<(), DownloadError> {
        match *response {
            Response::Refused(refusal) => return Err(DownloadError::Refused(refusal)),
            Response::Chunk { offset, data } if offset as usize == self.received => {
                let rest = self.buffer.get_mut(self.received..);
                if let Some(place) = rest.and_then(|rest| rest.get_mut(..data.len())) {
                    place.copy_from_slice(data);
                    self.received += data.len();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The knowledge, checked.
    pub fn finish(self) -> Result<&'b [u8], DownloadError> {
        if self.received < self.buffer.len() || crc32(self.buffer) != self.knowledge.crc {
            return Err(DownloadError::Checksum);
        }
        Ok(self.buffer)
    }
}
