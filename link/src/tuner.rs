//! The device's side of the dialogue: which query is open, which reports count.
//!
//! [`Tuner`] is the fold of the [`Event`]s of a task. It asks the [`Application`] to make an event durable before it
//! changes itself and answers, so that whatever the station has been told survives a restart: then the
//! application reads its journal and gives the same events to [`Tuner::replay`].
//!
//! A report counts when its ticket is that of the open query. One for an earlier step is answered again (`Settled`), one
//! for a later step is refused: the device has lost an observation to a power failure and will ask for it again. A failed
//! try counts only when its attempt is the current one, so a repeated frame cannot use up two tries.

use crate::decoder::Decoder;
use crate::frame::{Sealer, encode_sealed};
use crate::message::{
    Begin, DropReason, Greeting, Health, Identity, Knowledge, LineCounters, Outcome, Phase, Progress,
    Reading, Recommendation, Refusal, Report, ReportCounters, Request, Response, Retry, Status, Ticket,
};
use crate::seal::Lock;
use crate::{MAX_CHUNK, MAX_TEXT, VERSION};

mod application;
mod receiver;

pub use application::{Application, Event, Proposal};
use receiver::Receiver;

/// No measurement costs more.
const LARGEST_COST: f32 = 1e30;

/// State of the dialogue on the device.
#[derive(Debug)]
pub struct Tuner {
    identity: Identity<'static>,
    phase: Phase,
    /// How the current or last task began; none before the first.
    begun: Option<Begin>,
    /// Number of the current or last task.
    task: u32,
    /// Step of the open query or of the next.
    step: u32,
    attempt: u8,
    /// The station wants the recommendation: no further query.
    stopping: bool,
    progress: Progress,
    recommendation: Option<Recommendation>,
    /// Readings of it that are watched.
    watched: u32,
    /// Why the last task was dropped, if it was.
    dropped: Option<DropReason>,
    receiver: Receiver,
    line: LineCounters,
    reports: ReportCounters,
    /// If there is a key.
    #[cfg(feature = "key")]
    lock: Option<Lock>,
}

impl Tuner {
    /// A tuner that never had a task.
    pub const fn new(identity: Identity<'static>) -> Self {
        Self {
            identity,
            phase: Phase::Idle,
            begun: None,
            task: 0,
            step: 0,
            attempt: 0,
            stopping: false,
            progress: Progress { done: 0, total: 0 },
            recommendation: None,
            watched: 0,
            dropped: None,
            receiver: Receiver::new(),
            line: LineCounters { good: 0, broken: 0, oversize: 0, unknown: 0 },
            reports: ReportCounters { counted: 0, repeated: 0, failed: 0, given_up: 0 },
            #[cfg(feature = "key")]
            lock: None,
        }
    }

    /// From now on, only who holds the key is heard.
    #[cfg(feature = "key")]
    pub fn lock(&mut self, lock: Lock) {
        self.lock = Some(lock);
    }

    /// Takes up an event of a task from before a restart. The first one of a task is [`Event::Begun`].
    pub fn replay(&mut self, event: &Event) {
        self.take(event);
    }

    /// Sets the number of the last task when its events are gone, so that the number cannot come again.
    pub fn retire(&mut self, task: u32) {
        self.task = self.task.max(task);
    }

    /// What the tuner is doing.
    pub fn phase(&self) -> Phase {
        if self.phase == Phase::Finished && self.watched > 0 { Phase::Watching } else { self.phase }
    }

    /// The open query's ticket, or that of the next query.
    pub fn ticket(&self) -> Ticket {
        Ticket { task: self.task, step: self.step }
    }

    /// How the current or last task began.
    pub fn begun(&self) -> Option<&Begin> {
        self.begun.as_ref()
    }

    /// The recommendation of a finished task.
    pub fn recommendation(&self) -> Option<&Recommendation> {
        self.recommendation.as_ref()
    }

    /// Tells how far the thinking is.
    pub fn set_progress(&mut self, done: u32, total: u32) {
        self.progress = Progress { done, total };
    }

    /// Whether the station asked to stop: what is wanted next is the recommendation.
    pub fn stopping(&self) -> bool {
        self.stopping
    }

    /// Opens the query that the application [proposes](Application::proposal). Does nothing unless the tuner is thinking
    /// about one.
    pub fn ask(&mut self) {
        if self.phase == Phase::Thinking && !self.stopping {
            self.phase = Phase::Waiting;
        }
    }

    /// Ends the task. Make the recommendation durable first. Does nothing unless it is for the current task.
    pub fn finish(&mut self, recommendation: Recommendation) {
        if recommendation.task == self.task && self.phase != Phase::Idle {
            self.recommendation = Some(recommendation);
            self.phase = Phase::Finished;
        }
    }

    /// Drops the task; the station learns why as soon as it asks for it. Make this durable first.
    pub fn drop_task(&mut self, reason: DropReason) {
        self.take(&Event::Dropped { task: self.task, reason });
    }

    /// Why the last task was dropped by the device, if it was; until the next begins.
    pub fn dropped(&self) -> Option<DropReason> {
        self.dropped
    }

    /// Goes out of order: everything but `Hello`, `Status` and reading knowledge is refused until a restart.
    pub fn fail(&mut self) {
        self.phase = Phase::Fault;
    }

    /// Takes a byte from the line; if it ends a request, returns the answer's frame.
    ///
    /// `out` wants [`crate::MAX_FRAME`] bytes.
    pub fn serve<'b, const N: usize>(
        &mut self,
        decoder: &mut Decoder<N>,
        byte: u8,
        app: &mut impl Application,
        out: &'b mut [u8],
    ) -> Option<&'b [u8]> {
        self.line = decoder.counters();
        let length = decoder.push(byte)?.len();
        self.line.good = self.line.good.saturating_add(1);
        let opened = match self.locked() {
            None => Some(0..length),
            Some(lock) => lock.open(decoder.part(0..length)),
        };
        let Some(range) = opened else {
            decoder.count_unknown();
            return self.refuse(out);
        };
        let mut scratch = [0; MAX_CHUNK];
        let (tag, response) = match crate::parse::<Request>(decoder.part(range)) {
            Ok((tag, request)) => (tag, self.answer(&request, app, &mut scratch)),
            Err(_) => {
                decoder.count_unknown();
                return None;
            }
        };
        encode_sealed(tag, &response, self.locked().map(|lock| Sealer::Tuner(lock)), out).ok()
    }

    #[cfg(feature = "key")]
    fn locked(&mut self) -> Option<&mut Lock> {
        self.lock.as_mut()
    }

    #[cfg(not(feature = "key"))]
    fn locked(&mut self) -> Option<&mut Lock> {
        None
    }

    /// To who has no key: that there is one, and nothing else.
    fn refuse<'b>(&mut self, out: &'b mut [u8]) -> Option<&'b [u8]> {
        let challenge = self.locked()?.challenge();
        crate::encode(0, &Response::Locked { challenge }, out).ok()
    }

    /// Answers a request. `scratch` holds the bytes of a `Chunk`.
    pub fn answer<'b>(
        &mut self,
        request: &Request,
        app: &mut impl Application,
        scratch: &'b mut [u8; MAX_CHUNK],
    ) -> Response<'b> {
        self.respond(request, app, scratch).unwrap_or_else(Response::Refused)
    }

    fn respond<'b>(
        &mut self,
        request: &Request,
        app: &mut impl Application,
        scratch: &'b mut [u8; MAX_CHUNK],
    ) -> Result<Response<'b>, Refusal> {
        match *request {
            Request::Hello { .. } => Ok(Response::Greeting(self.greeting(app.knowledge()))),
            Request::Status => Ok(Response::Status(self.status(app.health()))),
            Request::Read { knowledge, offset } => receiver::read(knowledge, offset, app, scratch),
            Request::Recall { ticket } => self.recall(ticket, app),
            _ if self.phase == Phase::Fault => Err(Refusal::Fault { code: app.health().fault }),
            Request::Begin(begin) => self.begin(&begin, app),
            Request::Poll { task } => self.poll(task, app),
            Request::Report(report) => self.report(&report, app),
            Request::Stop { task } => self.stop(task, app),
            Request::Abort { task } => self.abort(task, app),
            Request::Watch(reading) => self.watch(&reading, app),
            Request::Under { task, conditions } => self.under(task, &conditions, app),
            Request::Offer { .. }
            | Request::Write { .. }
            | Request::Commit { .. }
            | Request::Forget { .. } => {
                self.allow_transfers()?;
                self.receiver.respond(request, app)
            }
        }
    }

    fn recall<'b>(&self, ticket: Ticket, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        self.check_task(ticket.task)?;
        if ticket.step >= self.step {
            return Err(Refusal::WrongStep { expected: self.step });
        }
        Ok(Response::Recalled { ticket, answer: app.recall(ticket.step)? })
    }

    fn greeting(&self, knowledge: Knowledge) -> Greeting<'static> {
        let identity = Identity {
            firmware: cut(self.identity.firmware),
            profile: cut(self.identity.profile),
            ..self.identity
        };
        let Ticket { task, step } = self.ticket();
        Greeting { version: VERSION, identity, phase: self.phase(), task, step, knowledge }
    }

    fn status(&self, health: Health) -> Status {
        let Ticket { task, step } = self.ticket();
        let (progress, line, reports) = (self.progress, self.line, self.reports);
        Status { phase: self.phase(), task, step, progress, line, reports, health }
    }

    fn begin<'b>(&mut self, begin: &Begin, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        let task = begin.task;
        let resting = matches!(self.phase, Phase::Idle | Phase::Finished);
        if self.phase != Phase::Idle && self.begun.as_ref() == Some(begin) {
            return Ok(Response::Begun { task });
        }
        if self.begun.as_ref() == Some(begin) {
            self.check_dropped()?;
        }
        if !resting {
            return Err(Refusal::Busy { task: self.task });
        }
        if self.task.checked_add(1) != Some(task) {
            return Err(Refusal::WrongTask { current: self.task });
        }
        if !(begin.budget.is_finite() && begin.budget > 0.0) {
            return Err(Refusal::BadBudget);
        }
        // If what was received is of no use, the next description begins anew.
        self.receiver.close();
        self.make(Event::Begun(*begin), app)?;
        Ok(Response::Begun { task })
    }

    /// What the station should know now.
    fn poll<'b>(&self, task: u32, app: &impl Application) -> Result<Response<'b>, Refusal> {
        self.check_task(task)?;
        let open = app.proposal().filter(|_| self.phase == Phase::Waiting);
        Ok(match (open, &self.recommendation) {
            (Some(proposal), _) => Response::Query(proposal.asked(self.ticket(), self.attempt)),
            (None, Some(recommendation)) => Response::Finished(recommendation.clone()),
            (None, None) => Response::Working { ticket: self.ticket(), progress: self.progress },
        })
    }

    /// Other conditions: the open query is taken back, or, once the task has ended, the recommendation, and thought about anew.
    fn under<'b>(
        &mut self,
        task: u32,
        conditions: &[f32],
        app: &mut impl Application,
    ) -> Result<Response<'b>, Refusal> {
        self.check_task(task)?;
        if self.phase != Phase::Idle {
            match app.under(conditions) {
                Ok(true) if self.phase == Phase::Finished => self.recommendation = None,
                Ok(true) => self.phase = Phase::Thinking,
                Ok(false) => {}
                // The query is not what the journal says.
                Err(Refusal::Storage) => self.fail(),
                Err(refusal) => return Err(refusal),
            }
        }
        self.poll(task, app)
    }

    fn report<'b>(&mut self, report: &Report, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        let ticket = report.ticket;
        self.check_task(ticket.task)?;
        if ticket.step < self.step {
            bump(&mut self.reports.repeated);
            return Ok(Response::Settled { ticket });
        }
        if ticket.step > self.step {
            return Err(Refusal::WrongStep { expected: self.step });
        }
        if self.phase != Phase::Waiting {
            return self.poll(ticket.task, app);
        }
        let outcome = report.outcome;
        match outcome.finite().filter(|(value, kpis)| app.is_plausible(*value, kpis)) {
            Some((value, kpis)) => {
                let cost = possible(report.cost);
                self.make(Event::Observed { ticket, value, kpis, cost }, app)?;
                bump(&mut self.reports.counted);
                Ok(Response::Settled { ticket })
            }
            None if outcome == Outcome::Failed => self.failed(report, Retry::Failed, app),
            None => self.failed(report, Retry::Impossible, app),
        }
    }

    fn failed<'b>(
        &mut self,
        report: &Report,
        reason: Retry,
        app: &mut impl Application,
    ) -> Result<Response<'b>, Refusal> {
        let Report { ticket, attempt, cost, .. } = *report;
        if attempt != self.attempt {
            bump(&mut self.reports.repeated);
            return Ok(Response::Again { ticket, attempt: self.attempt, reason });
        }
        if attempt.saturating_add(1) >= self.identity.tries {
            self.make(Event::GivenUp { ticket, cost: possible(cost) }, app)?;
            bump(&mut self.reports.failed);
            bump(&mut self.reports.given_up);
            return Ok(Response::Settled { ticket });
        }
        self.make(Event::Failed { ticket, attempt }, app)?;
        bump(&mut self.reports.failed);
        Ok(Response::Again { ticket, attempt: self.attempt, reason })
    }

    fn stop<'b>(&mut self, task: u32, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        self.check_task(task)?;
        if self.phase != Phase::Finished && !self.stopping {
            self.make(Event::Stopped { task }, app)?;
        }
        self.poll(task, app)
    }

    fn abort<'b>(&mut self, task: u32, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        if task != self.task || task == 0 {
            return Err(Refusal::WrongTask { current: self.task });
        }
        match self.phase {
            Phase::Idle => {}
            Phase::Finished => return self.poll(task, app),
            _ => self.make(Event::Aborted { task }, app)?,
        }
        Ok(Response::Aborted { task })
    }

    /// A reading that was answered is answered again, and once the next task has begun, any of the last one is.
    fn watch<'b>(&mut self, reading: &Reading, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        let Reading { task, number, .. } = *reading;
        if task.checked_add(1) == Some(self.task) && self.phase != Phase::Idle {
            return Ok(Response::Changed { task: self.task });
        }
        self.check_task(task)?;
        if self.phase != Phase::Finished {
            return Err(Refusal::Busy { task });
        }
        let next = number.saturating_add(1);
        if next == self.watched {
            return Ok(Response::Steady { next });
        }
        if number != 0 && number != self.watched {
            return Err(Refusal::WrongStep { expected: self.watched });
        }
        if app.watch(reading)? == foretune_core::Reading::Changed {
            return self.begin_next(app);
        }
        self.watched = next;
        Ok(Response::Steady { next })
    }

    /// Begins a task by itself, as the last one was begun.
    fn begin_next<'b>(&mut self, app: &mut impl Application) -> Result<Response<'b>, Refusal> {
        let wrong = Refusal::WrongTask { current: self.task };
        let (last, task) = self.begun.zip(self.task.checked_add(1)).ok_or(wrong)?;
        self.receiver.close();
        let begin = Begin { task, seed: last.seed.wrapping_add(1), deploy: false, adopt: false, ..last };
        self.make(Event::Begun(begin), app)?;
        Ok(Response::Changed { task })
    }

    /// The task must be the current one, running or finished.
    fn check_task(&self, task: u32) -> Result<(), Refusal> {
        if task == self.task {
            self.check_dropped()?;
        }
        if task != self.task || self.phase == Phase::Idle {
            return Err(Refusal::WrongTask { current: self.task });
        }
        Ok(())
    }

    /// The last task must not be one that was dropped.
    fn check_dropped(&self) -> Result<(), Refusal> {
        self.dropped.map_or(Ok(()), |reason| Err(Refusal::Dropped { task: self.task, reason }))
    }

    /// Knowledge and problem change between tasks only.
    fn allow_transfers(&self) -> Result<(), Refusal> {
        match self.phase {
            Phase::Idle | Phase::Finished => Ok(()),
            _ => Err(Refusal::Busy { task: self.task }),
        }
    }

    /// Lets an event happen: first durably, then here.
    fn make(&mut self, event: Event, app: &mut impl Application) -> Result<(), Refusal> {
        app.apply(&event)?;
        self.take(&event);
        Ok(())
    }

    fn take(&mut self, event: &Event) {
        match *event {
            Event::Begun(begin) => {
                self.begun = Some(begin);
                self.task = begin.task;
                self.recommendation = None;
                self.watched = 0;
                self.dropped = None;
                self.stopping = false;
                self.think(0);
            }
            Event::Observed { ticket, .. } | Event::GivenUp { ticket, .. } => {
                self.think(ticket.step.saturating_add(1))
            }
            Event::Failed { attempt, .. } => self.attempt = attempt.saturating_add(1),
            Event::Stopped { .. } => {
                self.stopping = true;
                self.think(self.step);
            }
            Event::Aborted { .. } => self.rest(None),
            Event::Dropped { reason, .. } => self.rest(Some(reason)),
        }
    }

    fn rest(&mut self, dropped: Option<DropReason>) {
        self.think(0);
        self.dropped = dropped;
        self.phase = Phase::Idle;
    }

    fn think(&mut self, step: u32) {
        self.step = step;
        self.attempt = 0;
        self.progress = Progress { done: 0, total: 0 };
        self.phase = Phase::Thinking;
    }
}

/// At most [`MAX_TEXT`] bytes of a text, whole characters.
fn cut(text: &'static str) -> &'static str {
    let end = (0..=MAX_TEXT).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.get(..end).unwrap_or(text)
}

/// A cost that a measurement can have; any other is ignored, and the query's counts.
fn possible(cost: Option<f32>) -> Option<f32> {
    cost.filter(|cost| (0.0..=LARGEST_COST).contains(cost))
}

fn bump(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_whole_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut("0123456789012345678901234567890ä"), "0123456789012345678901234567890");
    }
}
