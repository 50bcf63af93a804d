//! The device's side of what travels in pieces.
//!
//! A transfer is named by the CRC of all its bytes. The device says which offset it wants next, so a repeated, lost
//! or late piece does no harm. What is unfinished at a restart is forgotten; the station offers again.

use super::Application;
use crate::MAX_CHUNK;
use crate::message::{Blob, Knowledge, Refusal, Request, Response};

/// A transfer under way.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    what: Blob,
    crc: u32,
    total: u32,
    received: u32,
}

/// The transfer under way, if there is one.
#[derive(Debug)]
pub(super) struct Receiver(Option<Transfer>);

impl Receiver {
    pub(super) const fn new() -> Self {
        Self(None)
    }

    /// Drops an unfinished transfer.
    pub(super) fn close(&mut self) {
        self.0 = None;
    }

    pub(super) fn respond<'b>(
        &mut self,
        request: &Request,
        app: &mut impl Application,
    ) -> Result<Response<'b>, Refusal> {
        match *request {
            Request::Offer { what, replaces, total, crc } => {
                if what == Blob::Knowledge {
                    check(replaces, app.knowledge())?;
                }
                self.open(what, total, crc, app)
            }
            Request::Write { crc, offset, data } => self.write(crc, offset, data, app),
            Request::Commit { crc } => self.commit(crc, app),
            Request::Forget { knowledge } => self.forget(knowledge, app),
            _ => Err(Refusal::NoTransfer),
        }
    }

    fn open<'b>(
        &mut self,
        what: Blob,
        total: u32,
        crc: u32,
        app: &mut impl Application,
    ) -> Result<Response<'b>, Refusal> {
        let same = |open: &Transfer| (open.what, open.crc, open.total) == (what, crc, total);
        if let Some(Transfer { received, .. }) = self.0.filter(same) {
            return Ok(Response::Ready { offset: received });
        }
        self.close();
        app.open(what, total)?;
        self.0 = Some(Transfer { what, crc, total, received: 0 });
        Ok(Response::Ready { offset: 0 })
    }

    fn write<'b>(
        &mut self,
        crc: u32,
        offset: u32,
        data: &[u8],
        app: &mut impl Application,
    ) -> Result<Response<'b>, Refusal> {
        let open = self.0.as_mut().filter(|open| open.crc == crc).ok_or(Refusal::NoTransfer)?;
        if offset == open.received {
            let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
            if length > open.total - open.received {
                return Err(Refusal::TooLarge { limit: open.total });
            }
            app.write(open.what, data)?;
            open.received += length;
        }
        Ok(Response::Ready { offset: open.received })
    }

    fn commit<'b>(&mut self, crc: u32, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        let Some(open) = self.0.filter(|open| open.what != Blob::Problem && open.crc == crc) else {
            let now = app.knowledge();
            return if now.crc == crc { Ok(Response::Stored(now)) } else { Err(Refusal::NoTransfer) };
        };
        if open.received < open.total {
            return Ok(Response::Ready { offset: open.received });
        }
        self.close();
        app.commit(open.what, crc)?;
        Ok(Response::Stored(app.knowledge()))
    }

    fn forget<'b>(&mut self, knowledge: u32, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        let now = app.knowledge();
        let done = now.total == 0 && knowledge.checked_add(1) == Some(now.sequence);
        if !done {
            check(knowledge, now)?;
            self.close();
            app.forget_knowledge()?;
        }
        Ok(Response::Stored(app.knowledge()))
    }
}

fn check(knowledge: u32, now: Knowledge) -> Result<(), Refusal> {
    if knowledge != now.sequence {
        return Err(Refusal::WrongKnowledge { current: now.sequence });
    }
    Ok(())
}

/// Answers `Read`: needs no transfer and disturbs none.
pub(super) fn read<'b>(
    knowledge: u32,
    offset: u32,
    app: &mut impl Application,
    scratch: &'b mut [u8; MAX_CHUNK],
) -> Result<Response<'b>, Refusal> {
    let now = app.knowledge();
    check(knowledge, now)?;
    let length = now.total.saturating_sub(offset).min(MAX_CHUNK as u32) as usize;
    let data = &mut scratch[..length];
    if length > 0 {
        app.read_knowledge(offset, data)?;
    }
    Ok(Response::Chunk { offset, data })
}
