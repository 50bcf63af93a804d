//! The master's side of a task: what to send when.
//!
//! Call [`Station::transmit`] regularly and send what it returns; give every answer to [`Station::receive`] and act on
//! the event. After a restart of the station, [`Station::greet`], then [`Station::resume`] the task that
//! the greeting names: the tuner remembers everything. A problem that the tuner was not built for goes with
//! [`Station::begin_with`]: it is described to the tuner when that does not know it.

use crate::VERSION;
use crate::exchange::Exchange;
use crate::message::{
    Begin, Greeting, Kpis, Outcome, Progress, Query, Reading, Recommendation, Refusal, Report, Request,
    Response, Status, Ticket,
};
use crate::transfer::Upload;

/// Times in the caller's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long to wait for an answer before repeating the request; longer than two frames and the tuner's longest slice
    /// of work take.
    pub timeout: u32,
    /// How long to wait between two polls while the tuner thinks.
    pub interval: u32,
}

/// What a response means to whoever runs the station.
#[derive(Clone, Debug, PartialEq)]
pub enum StationEvent<'a> {
    /// Nothing: a late or needless response.
    Nothing,
    /// The tuner introduced itself. Check version and problem, then begin or resume.
    Greeted(Greeting<'a>),
    /// The task runs.
    Begun {
        /// The task.
        task: u32,
    },
    /// Measure this, then [`Station::report`].
    Measure(Query),
    /// The query needs nothing more.
    Settled {
        /// The query.
        ticket: Ticket,
    },
    /// The tuner is thinking.
    Working {
        /// About which query.
        ticket: Ticket,
        /// How far it is.
        progress: Progress,
    },
    /// The task is over. The station rests.
    Finished(Recommendation),
    /// The task is dropped. The station rests.
    Aborted {
        /// The task.
        task: u32,
    },
    /// The setting in use gives what it gave. The station rests until the next [`Station::watch`], for which this is the number;
    /// 0 after the tuner was restarted.
    Steady {
        /// Number of the next reading.
        next: u32,
    },
    /// The setting in use no longer gives what it gave, and the tuner has begun this task, to whose end the station goes on.
    Changed {
        /// The task.
        task: u32,
    },
    /// How the tuner is.
    Status(Status),
    /// The tuner refused. The station rests; greeting again shows where things stand.
    Refused(Refusal),
}

/// Descriptions of a problem after which a tuner that still does not know it is believed to be out of order. More than one
/// is needed where it restarts meanwhile.
const DESCRIPTIONS: u8 = 20;

/// What the station does when no other request is pending.
#[derive(Clone, Debug, PartialEq)]
enum State<'p> {
    Rest,
    Greet,
    Begin(Begin),
    Describe(Upload<'p>, Begin),
    Poll { task: u32, since: u32, pause: u32 },
    Measure(Query),
    Report(Query, Outcome, Option<f32>),
    Watch(Reading),
}

/// State of the dialogue on the station. Measurements are made by the caller.
#[derive(Clone, Debug)]
pub struct Station<'p> {
    pace: Pace,
    exchange: Exchange,
    state: State<'p>,
    /// The problem of the task to begin, unless the tuner was built for it, and how often it was described.
    problem: Option<&'p [u8]>,
    described: u8,
    /// Task of the state, while there is one.
    task: u32,
    /// Goes before what the state wants, once.
    pending: Option<Request<'p>>,
    /// The request that waits for its answer.
    open: Option<Request<'p>>,
    /// The last measurement, in case the tuner lost it and asks again.
    held: Option<(Query, Outcome, Option<f32>)>,
}

impl<'p> Station<'p> {
    /// A station at rest; see [`Exchange::new`] for the tag.
    pub const fn new(pace: Pace, first_tag: u32) -> Self {
        let exchange = Exchange::new(first_tag, pace.timeout);
        Self {
            pace,
            exchange,
            state: State::Rest,
            problem: None,
            described: 0,
            task: 0,
            pending: None,
            open: None,
            held: None,
        }
    }

    /// Asks the tuner who it is and where it stands.
    pub fn greet(&mut self) {
        self.take_up(State::Greet);
    }

    /// Begins a task of the problem that the tuner was built for, and goes on to its end.
    pub fn begin(&mut self, begin: Begin) {
        (self.task, self.problem, self.described) = (begin.task, None, 0);
        self.take_up(State::Begin(begin));
    }

    /// The same for a problem of the station's own, given as its bytes (see [`crate::problem`]).
    pub fn begin_with(&mut self, begin: Begin, problem: &'p [u8]) {
        self.begin(begin);
        self.problem = Some(problem);
    }

    /// Goes on with a task that runs already, to its end.
    pub fn resume(&mut self, task: u32) {
        self.task = task;
        self.take_up(State::Poll { task, since: 0, pause: 0 });
    }

    /// Hands in the measurement last asked for, and what it cost where that is not what the query said. Ignored when none
    /// is asked for.
    pub fn report(&mut self, outcome: Outcome, cost: Option<f32>) {
        if let State::Measure(query) = &self.state {
            self.held = Some((query.clone(), outcome, cost));
            self.state = State::Report(query.clone(), outcome, cost);
        }
    }

    /// Asks for the recommendation now.
    pub fn stop(&mut self) {
        self.pending = Some(Request::Stop { task: self.task });
    }

    /// Drops the task.
    pub fn abort(&mut self) {
        self.pending = Some(Request::Abort { task: self.task });
    }

    /// Says under which conditions the next query is to be asked, a value for each in natural units. One that was asked under
    /// others is replaced: measure what comes instead. After a task's end: what is best under them. A tuner that has just restarted
    /// may not have heard it, or know only what the task ended with: look at the point.
    pub fn under(&mut self, conditions: &[f32]) {
        self.pending = Some(Request::Under { task: self.task, conditions: Kpis::new(conditions) });
    }

    /// Hands in a reading of the setting in use, after a task.
    pub fn watch(&mut self, reading: Reading) {
        self.task = reading.task;
        self.take_up(State::Watch(reading));
    }

    /// Asks how the tuner is; the task goes on meanwhile.
    pub fn ask_status(&mut self) {
        self.pending = Some(Request::Status);
    }

    /// How often the open request has been repeated in vain.
    pub fn repeats(&self) -> u32 {
        self.exchange.repeats()
    }

    /// Whether the station has nothing to do.
    pub fn is_at_rest(&self) -> bool {
        self.state == State::Rest && self.pending.is_none() && self.open.is_none()
    }

    /// What to send now, if anything, with its tag.
    pub fn transmit(&mut self, now: u32) -> Option<(u32, Request<'p>)> {
        if self.open.is_none() {
            self.open = self.pending.take().or_else(|| self.state_request(now));
            self.open?;
            self.exchange.open();
        }
        let tag = self.exchange.transmit(now)?;
        self.open.map(|request| (tag, request))
    }

    /// Takes a response from the line.
    pub fn receive<'a>(&mut self, now: u32, tag: u32, response: &Response<'a>) -> StationEvent<'a> {
        if !self.exchange.accept(tag) {
            return StationEvent::Nothing;
        }
        match self.open.take() {
            Some(request) => self.understand(now, &request, response),
            None => StationEvent::Nothing,
        }
    }

    /// A new state makes an open request pointless: nobody waits for its answer.
    fn take_up(&mut self, state: State<'p>) {
        self.state = state;
        self.pending = None;
        self.open = None;
    }

    fn state_request(&self, now: u32) -> Option<Request<'p>> {
        match &self.state {
            State::Rest | State::Measure(_) => None,
            State::Greet => Some(Request::Hello { version: VERSION }),
            State::Begin(begin) => Some(Request::Begin(*begin)),
            State::Watch(reading) => Some(Request::Watch(*reading)),
            State::Describe(upload, begin) => upload.request().or(Some(Request::Begin(*begin))),
            State::Poll { since, pause, .. } if now.wrapping_sub(*since) < *pause => None,
            State::Poll { task, .. } => Some(Request::Poll { task: *task }),
            State::Report(query, outcome, cost) => Some(Request::Report(Report {
                ticket: query.ticket,
                attempt: query.attempt,
                outcome: *outcome,
                cost: *cost,
            })),
        }
    }

    /// A response that does not fit its request changes nothing, and the request is made anew.
    fn understand<'a>(&mut self, now: u32, request: &Request, response: &Response<'a>) -> StationEvent<'a> {
        match (request, response) {
            (Request::Status, Response::Status(status)) => StationEvent::Status(*status),
            (Request::Hello { .. }, Response::Greeting(greeting)) => {
                self.state = State::Rest;
                StationEvent::Greeted(*greeting)
            }
            (Request::Begin(_), Response::Begun { task }) => {
                self.poll(now, 0);
                StationEvent::Begun { task: *task }
            }
            (Request::Report(_), Response::Settled { ticket }) => {
                self.poll(now, 0);
                StationEvent::Settled { ticket: *ticket }
            }
            (Request::Report(_), Response::Again { attempt, .. }) => self.measure_again(*attempt),
            (Request::Report(_), Response::Refused(Refusal::WrongStep { .. })) => {
                self.poll(now, 0);
                StationEvent::Nothing
            }
            (Request::Watch(_), Response::Steady { next: expected })
            | (Request::Watch(_), Response::Refused(Refusal::WrongStep { expected })) => {
                self.state = State::Rest;
                StationEvent::Steady { next: *expected }
            }
            (Request::Watch(_), Response::Changed { task }) => {
                self.task = *task;
                self.poll(now, 0);
                StationEvent::Changed { task: *task }
            }
            (Request::Begin(begin), Response::Refused(Refusal::WrongProblem { .. }))
                if self.can_describe() =>
            {
                self.described += 1;
                self.state = State::Describe(Upload::problem(self.problem.unwrap_or_default()), *begin);
                StationEvent::Nothing
            }
            (Request::Offer { .. } | Request::Write { .. }, response) => self.described(response),
            (_, Response::Refused(refusal)) => {
                self.state = State::Rest;
                StationEvent::Refused(*refusal)
            }
            (Request::Abort { .. }, Response::Aborted { task }) => {
                self.state = State::Rest;
                StationEvent::Aborted { task: *task }
            }
            (_, Response::Finished(recommendation)) => {
                self.state = State::Rest;
                StationEvent::Finished(recommendation.clone())
            }
            (_, Response::Working { ticket, progress }) => {
                self.poll(now, self.pace.interval);
                StationEvent::Working { ticket: *ticket, progress: *progress }
            }
            (_, Response::Query(query)) => self.measure(query),
            _ => StationEvent::Nothing,
        }
    }

    fn can_describe(&self) -> bool {
        self.problem.is_some() && self.described < DESCRIPTIONS
    }

    fn described<'a>(&mut self, response: &Response<'a>) -> StationEvent<'a> {
        let State::Describe(upload, _) = &mut self.state else { return StationEvent::Nothing };
        match upload.receive(response) {
            Ok(()) => StationEvent::Nothing,
            Err(refusal) => {
                self.state = State::Rest;
                StationEvent::Refused(refusal)
            }
        }
    }

    fn poll(&mut self, now: u32, pause: u32) {
        self.state = State::Poll { task: self.task, since: now, pause };
    }

    /// A query already measured is answered from memory; all others go to the caller.
    fn measure<'a>(&mut self, query: &Query) -> StationEvent<'a> {
        if let Some((known, outcome, cost)) = &self.held
            && known == query
        {
            self.state = State::Report(query.clone(), *outcome, *cost);
            return StationEvent::Nothing;
        }
        self.state = State::Measure(query.clone());
        StationEvent::Measure(query.clone())
    }

    fn measure_again<'a>(&mut self, attempt: u8) -> StationEvent<'a> {
        match &self.state {
            State::Report(query, ..) => {
                let query = Query { attempt, ..query.clone() };
                self.measure(&query)
            }
            _ => StationEvent::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
