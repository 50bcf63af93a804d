//! A base station in small: goes through a plan of tasks, whatever happens to the line and the device.

use std::vec::Vec;

use foretune_core::LARGEST_VALUE;
use foretune_link::{
    Begin, Coordinate, Decoder, Greeting, Kpis, MAX_FRAME, Outcome, Pace, Phase, Query, Reading,
    Recommendation, Refusal, Response, Station, StationEvent, Status, encode,
};

use foretune_link::problem::{Bytes, number};

use super::mock::Outside;
use super::profile::Profile;
use super::serial::Noise;
use crate::app::TRIES;
use crate::reference::{Answer, Outline, Trace};

/// Turns of the loop: a request is repeated after this many.
const PACE: Pace = Pace { timeout: 200, interval: 5 };

/// A problem as it goes over the line.
pub fn bytes_of(problem: &foretune_core::Problem) -> Vec<u8> {
    Bytes::of(problem).unwrap().as_slice().to_vec()
}

/// A measurement: a function of the query, so that a repeated one gives the same.
pub type Measure = fn(&Query) -> Outcome;

/// The station: its dialogue, its ear, its notes.
pub struct Base {
    pub station: Station<'static>,
    decoder: Decoder,
    pub now: u32,
    pub notes: Notes,
    pub hears: Noise,
    pub says: Noise,
}

/// What it wants to do, and what came of it.
pub struct Notes {
    budgets: Vec<f32>,
    pub measure: Measure,
    problem: u32,
    /// Guards of the problem, and conditions that are told with an answer.
    guards: usize,
    /// What a condition is to be at a step, if it is given beforehand.
    under: Option<fn(u32) -> f32>,
    /// The problem's bytes, if it is not the one that the device was built for.
    sent: Option<&'static [u8]>,
    pub traces: Vec<Trace>,
    pub refused: Vec<Refusal>,
    pub status: Vec<Status>,
    pub aborted: Vec<u32>,
    /// Wants the recommendation when asked for this step of this task.
    pub stop_at: Option<(u32, u32)>,
    /// Keeps the answer to this step of this task to itself.
    pub silent_at: Option<(u32, u32)>,
    /// Whether tasks but the first are not begun: readings of the recommendation are watched.
    pub watches: bool,
    /// Changes that the device has found.
    pub changes: u32,
    /// Readings that it has taken.
    pub readings: u32,
    /// Conditions under which it asks what is best once a task has ended, from the last to the first, and what it was told.
    pub elsewhere: Option<Vec<f32>>,
    pub told: Vec<Recommendation>,
    pub finished: bool,
}

impl Base {
    pub fn new<P: Profile>(budgets: &[f32], measure: Measure) -> Self {
        let notes = Notes {
            budgets: budgets.to_vec(),
            measure,
            problem: number(&P::problem()),
            guards: P::problem().guards.len() + P::UNDER.map_or(P::problem().conditions(), |_| 0),
            under: P::UNDER,
            sent: P::SENT.map(|problem| &*bytes_of(&problem).leak()),
            traces: std::vec![Trace::default(); budgets.len()],
            refused: Vec::new(),
            status: Vec::new(),
            aborted: Vec::new(),
            stop_at: None,
            silent_at: None,
            watches: false,
            changes: 0,
            readings: 0,
            elsewhere: None,
            told: Vec::new(),
            finished: false,
        };
        let (hears, says) = (Noise::default(), Noise::default());
        let mut base =
            Base { station: Station::new(PACE, 0), decoder: Decoder::new(), now: 0, notes, hears, says };
        base.station.greet();
        base
    }

    /// As if the station's program had been restarted: it knows its plan and its notes, and nothing of the dialogue.
    pub fn restart(&mut self) {
        self.station = Station::new(PACE, self.now.wrapping_mul(1_000_003));
        self.decoder = Decoder::new();
        self.station.greet();
    }

    /// Queries asked so far, over all tasks.
    pub fn asked(&self) -> usize {
        self.notes.traces.iter().map(|trace| trace.queries.len()).sum()
    }

    /// One look at the line; false when the plan is done.
    pub fn turn(&mut self, outside: &Outside) -> bool {
        self.now = self.now.wrapping_add(1);
        for byte in self.hears.carry(self.now, &mut outside.to_station.borrow_mut()) {
            if let Some((tag, response)) = self.decoder.receive::<Response>(byte) {
                let event = self.station.receive(self.now, tag, &response);
                self.notes.take(&mut self.station, event);
            }
        }
        if let Some((tag, request)) = self.station.transmit(self.now) {
            let mut frame = [0; MAX_FRAME];
            self.says.waiting.extend(encode(tag, &request, &mut frame).unwrap());
        }
        let mut waiting = core::mem::take(&mut self.says.waiting);
        outside.to_device.borrow_mut().extend(self.says.carry(self.now, &mut waiting));
        self.says.waiting = waiting;
        !self.notes.finished
    }
}

impl Notes {
    fn take(&mut self, station: &mut Station<'static>, event: StationEvent) {
        match event {
            StationEvent::Greeted(greeting) => self.go_on(station, &greeting),
            StationEvent::Measure(query) => self.measure(station, &query),
            StationEvent::Finished(recommendation) => {
                let trace = &mut self.traces[recommendation.task as usize - 1];
                let known = trace.recommendation.get_or_insert_with(|| recommendation.clone());
                let moves = self.elsewhere.is_some();
                assert!(moves || *known == recommendation, "a recommendation never changes by itself");
                self.told.push(recommendation);
                match self.elsewhere.as_mut().and_then(Vec::pop) {
                    Some(condition) => station.under(&[condition]),
                    None => station.greet(),
                }
            }
            StationEvent::Aborted { task } => {
                self.aborted.push(task);
                station.greet();
            }
            StationEvent::Status(status) => self.status.push(status),
            StationEvent::Refused(refusal) => {
                self.refused.push(refusal);
                station.greet();
            }
            StationEvent::Steady { next } => {
                self.readings += 1;
                station.watch(self.reading(next));
            }
            StationEvent::Changed { .. } => self.changes += 1,
            StationEvent::Nothing
            | StationEvent::Begun { .. }
            | StationEvent::Settled { .. }
            | StationEvent::Working { .. } => {}
        }
    }

    /// Takes up the task that runs, fetches the end that was missed, or begins the next.
    fn go_on(&mut self, station: &mut Station<'static>, greeting: &Greeting) {
        let task = greeting.task as usize;
        let missed = task > 0 && self.traces[task - 1].recommendation.is_none();
        match greeting.phase {
            Phase::Thinking | Phase::Waiting => station.resume(greeting.task),
            Phase::Finished if missed => station.resume(greeting.task),
            Phase::Finished | Phase::Watching if self.watches && task < self.budgets.len() => {
                station.watch(self.reading(0))
            }
            Phase::Idle | Phase::Finished | Phase::Watching if task < self.budgets.len() => match self.sent {
                Some(bytes) => station.begin_with(self.begin(task), bytes),
                None => station.begin(self.begin(task)),
            },
            Phase::Idle | Phase::Finished | Phase::Watching => self.finished = true,
            Phase::Fault => panic!("the device is out of order"),
        }
    }

    /// A reading of the last recommendation in use: what it gives falls after sixty.
    fn reading(&self, number: u32) -> Reading {
        let task = self.traces.iter().filter(|trace| trace.recommendation.is_some()).count() as u32;
        let luck = |factor: u32| (number * factor % 101) as f32 / 100.0;
        let value = if number < 60 { luck(37) } else { luck(37) - 2.0 };
        let kpis = Kpis::new(&[luck(61), luck(29)][..self.guards]);
        Reading { task, number, run_length: 5_000.0, deviation: 1.0, value, kpis }
    }

    /// How the task at this place of the plan begins.
    fn begin(&self, place: usize) -> Begin {
        let (task, seed) = (place as u32 + 1, 0x5EED_0000_0000 + place as u64);
        Begin { task, problem: self.problem, seed, budget: self.budgets[place], ..Begin::PLAIN }
    }

    /// The condition under which a query is to be asked instead.
    fn other_condition(&self, query: &Query) -> Option<f32> {
        let wanted = self.under?(query.ticket.step);
        (query.point[2] != Coordinate::Unit((wanted + 100.0) / 200.0)).then_some(wanted)
    }

    fn measure(&mut self, station: &mut Station, query: &Query) {
        let ticket = query.ticket;
        if let Some(wanted) = self.other_condition(query) {
            return station.under(&[wanted]);
        }
        let queries = &mut self.traces[ticket.task as usize - 1].queries;
        let first = Query { attempt: 0, ..query.clone() };
        match queries.get(ticket.step as usize) {
            Some(known) => assert_eq!(*known, first, "a query is asked again as it was"),
            None => {
                assert_eq!(queries.len(), ticket.step as usize, "no step is left out");
                queries.push(first);
            }
        }
        match Some((ticket.task, ticket.step)) {
            here if here == self.stop_at => station.stop(),
            here if here == self.silent_at => {}
            _ => station.report(self.measured(query), cost(&self.measured(query))),
        }
    }

    /// What comes of a try, with its KPIs if the problem has guards.
    fn measured(&self, query: &Query) -> Outcome {
        match (self.measure)(query) {
            Outcome::Value(value) if self.guards > 0 => Outcome::Values(value, kpis(self.guards, query)),
            outcome => outcome,
        }
    }

    /// What the core alone makes of the same plan.
    pub fn expected<P: Profile>(&self, mut knowledge: Vec<u8>) -> Vec<Trace> {
        (0..self.budgets.len())
            .map(|place| {
                let Outline { trace, knowledge: learnt, .. } = self.expected_task::<P>(place, &knowledge);
                if trace.recommendation.is_some() {
                    knowledge = learnt;
                }
                trace
            })
            .collect()
    }

    /// What the core alone makes of the task at this place of the plan.
    pub fn expected_task<P: Profile>(&self, place: usize, knowledge: &[u8]) -> Outline {
        P::task(&self.begin(place), knowledge, &mut |query| self.settle(query))
    }

    /// What becomes of a query after all its tries.
    fn settle(&self, query: &Query) -> Answer {
        if let Some(wanted) = self.other_condition(query) {
            return Answer::Under(Kpis::new(&[wanted]));
        }
        if Some((query.ticket.task, query.ticket.step)) == self.stop_at {
            return Answer::Stop;
        }
        let tried = |attempt| self.measured(&Query { attempt, ..query.clone() });
        let counts = |(value, _): &(f32, Kpis)| value.abs() <= LARGEST_VALUE;
        match (0..TRIES).find_map(|attempt| tried(attempt).finite().filter(counts)) {
            Some((value, kpis)) => Answer::Value(value, kpis, None),
            None => Answer::GivenUp(cost(&tried(TRIES - 1))),
        }
    }
}

/// What a try cost, if that is not what the query said.
fn cost(outcome: &Outcome) -> Option<f32> {
    (*outcome == Outcome::Failed).then_some(0.25)
}

/// Numbers that guards look at: how near to the middle the point is, and its height; then a condition, out of its range now and then.
pub fn kpis(guards: usize, query: &Query) -> Kpis {
    let height = |coordinate: &Coordinate| match *coordinate {
        Coordinate::Level(level) => f32::from(level) / 114.0,
        Coordinate::Unit(unit) => unit,
    };
    let heights = || query.point.iter().map(height);
    let edge = 3.0 - heights().map(|x| (x - 0.4) * (x - 0.4)).sum::<f32>();
    let condition = (query.ticket.step * 37 % 210) as f32 - 100.0;
    Kpis::new(&[edge, heights().sum(), condition, -1.0][..guards])
}
