//! The master's side of carrying problems to a device, and knowledge to and from it.
//!
//! All types say which request comes next and take the answers; an [`crate::exchange::Exchange`] sends and repeats.

use core::fmt;

use crate::MAX_CHUNK;
use crate::frame::crc32;
use crate::message::{Knowledge, Refusal, Request, Response};

/// Carries knowledge to a device. After a device's restart it begins anew by itself.
#[derive(Clone, Debug)]
pub struct Upload<'a> {
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
    Done(Knowledge),
}

impl<'a> Upload<'a> {
    /// Knowledge to replace the one that the device's greeting named.
    pub fn new(bytes: &'a [u8], now: &Knowledge) -> Self {
        Self { bytes, crc: crc32(bytes), replaces: now.sequence, stage: Stage::Offer }
    }

    /// What to ask next; none when the device has taken over the knowledge.
    pub fn request(&self) -> Option<Request<'a>> {
        let (crc, total) = (self.crc, self.bytes.len() as u32);
        match self.stage {
            Stage::Offer => Some(Request::Offer { knowledge: self.replaces, total, crc }),
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
            Response::Ready { .. } => Stage::Commit,
            Response::Stored(knowledge) => Stage::Done(knowledge),
            Response::Refused(Refusal::NoTransfer) => Stage::Offer,
            Response::Refused(refusal) => return Err(refusal),
            _ => self.stage,
        };
        Ok(())
    }

    /// How many bytes the device has, and of how many.
    pub fn progress(&self) -> (usize, usize) {
        let all = self.bytes.len();
        match self.stage {
            Stage::Offer => (0, all),
            Stage::Write { offset } => (offset, all),
            Stage::Commit | Stage::Done(_) => (all, all),
        }
    }

    /// What the device says it knows now, once it is done.
    pub fn stored(&self) -> Option<Knowledge> {
        match self.stage {
            Stage::Done(knowledge) => Some(knowledge),
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

/// Carries a problem to a device, which then knows it until its next restart or the next problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Description<'a> {
    bytes: &'a [u8],
    crc: u32,
    /// How many bytes the device has; none before it is ready.
    received: Option<usize>,
}

impl<'a> Description<'a> {
    /// Of a problem's bytes, see [`crate::problem`].
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, crc: crc32(bytes), received: None }
    }

    /// What to ask next; none when the device has it all.
    pub fn request(&self) -> Option<Request<'a>> {
        let Some(offset) = self.received else {
            return Some(Request::Describe { total: self.bytes.len() as u32, crc: self.crc });
        };
        let rest = self.bytes.get(offset..).filter(|rest| !rest.is_empty())?;
        let data = rest.get(..MAX_CHUNK).unwrap_or(rest);
        Some(Request::Write { crc: self.crc, offset: offset as u32, data })
    }

    /// Takes the answer to the last request. An error means that the device will not have it.
    pub fn receive(&mut self, response: &Response) -> Result<(), Refusal> {
        match *response {
            Response::Ready { offset } => self.received = Some(offset as usize),
            Response::Refused(Refusal::NoTransfer) => self.received = None,
            Response::Refused(refusal) => return Err(refusal),
            _ => {}
        }
        Ok(())
    }
}

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
                if let Some(place) =
                    self.buffer.get_mut(self.received..).and_then(|rest| rest.get_mut(..data.len()))
                {
                    place.copy_from_slice(data);
                    self.received += data.len();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// How many bytes have come, and of how many.
    pub fn progress(&self) -> (usize, usize) {
        (self.received, self.buffer.len())
    }

    /// The knowledge, checked.
    pub fn finish(self) -> Result<&'b [u8], DownloadError> {
        if self.received < self.buffer.len() || crc32(self.buffer) != self.knowledge.crc {
            return Err(DownloadError::Checksum);
        }
        Ok(self.buffer)
    }
}
