//! The device's side of knowledge and problems that travel.
//!
//! A transfer is named by the CRC of all its bytes. The device says which offset it wants next, so a repeated, lost
//! or late piece does no harm. What is unfinished at a restart is forgotten; the station offers again.

use super::Application;
use crate::MAX_CHUNK;
use crate::message::{Knowledge, Refusal, Request, Response};

/// A transfer under way.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    what: What,
    crc: u32,
    total: u32,
    received: u32,
}

/// What comes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Knowledge,
    Problem,
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
            Request::Offer { knowledge, total, crc } => {
                check(knowledge, app.knowledge())?;
                self.open(What::Knowledge, total, crc, app)
            }
            Request::Describe { total, crc } => self.open(What::Problem, total, crc, app),
            Request::Write { crc, offset, data } => self.write(crc, offset, data, app),
            Request::Commit { crc } => self.commit(crc, app),
            Request::Forget { knowledge } => self.forget(knowledge, app),
            _ => Err(Refusal::NoTransfer),
        }
    }

    fn open<'b>(
        &mut self,
        what: What,
        total: u32,
        crc: u32,
        app: &mut impl Application,
    ) -> Result<Response<'b>, Refusal> {
        let same = |open: &Transfer| (open.what, open.crc, open.total) == (what, crc, total);
        if let Some(Transfer { received, .. }) = self.0.filter(same) {
            return Ok(Response::Ready { offset: received });
        }
        self.close();
        match what {
            What::Knowledge => app.open_knowledge(total)?,
            What::Problem => app.open_problem(total)?,
        }
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
            match open.what {
                What::Knowledge => app.write_knowledge(data)?,
                What::Problem => app.write_problem(data)?,
            }
            open.received += length;
        }
        Ok(Response::Ready { offset: open.received })
    }

    fn commit<'b>(&mut self, crc: u32, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        match self.0.filter(|open| (open.what, open.crc) == (What::Knowledge, crc)) {
            None if app.knowledge().crc == crc => return Ok(Response::Stored(app.knowledge())),
            None => return Err(Refusal::NoTransfer),
            Some(open) if open.received < open.total => return Ok(Response::Ready { offset: open.received }),
            Some(_) => {}
        }
        self.close();
        app.commit_knowledge(crc)?;
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
