//! A toy tuner, a toy world to measure, and what a task between them must come to.
//!
//! The toy's proposals are hashes of all that it observed and knows, so one wrong, lost or repeated observation
//! changes everything that follows.

use foretune_link::frame::crc32;
use foretune_link::tuner::{Application, Event, Proposal, Tuner};
use foretune_link::{
    Answer, Begin, Blob, Coordinate, Health, Identity, Knowledge, Kpis, Outcome, Phase, Point, Reading,
    Reason, Recommendation, Refusal, Ticket,
};

/// Tries before a query is given up.
pub const TRIES: u8 = 3;
/// The toy's only problem.
pub const PROBLEM: u32 = 0x00C0_FFEE;
/// Most bytes of knowledge.
pub const LIMIT: u32 = 4096;

/// Who the toy is.
pub const IDENTITY: Identity<'static> = Identity {
    firmware: "toy 1.0",
    profile: "compact",
    problem: PROBLEM,
    dimensions: 3,
    fidelities: 4,
    tries: TRIES,
};

fn hash(words: &[u32]) -> u32 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    crc32(&bytes)
}

/// The toy's view of a task so far.
fn digest(begin: &Begin, knowledge: &[u8], events: &[Event]) -> u32 {
    let begin =
        hash(&[begin.task, begin.problem, begin.seed as u32, begin.budget.to_bits(), crc32(knowledge)]);
    events.iter().fold(begin, |digest, event| match *event {
        Event::Observed { ticket, value, kpis, cost } => {
            let digest = hash(&[digest, ticket.step, value.to_bits(), cost.unwrap_or(0.0).to_bits()]);
            kpis.iter().fold(digest, |digest, kpi| hash(&[digest, kpi.to_bits()]))
        }
        Event::GivenUp { ticket, .. } => hash(&[digest, ticket.step]),
        _ => digest,
    })
}

fn point(digest: u32) -> Point {
    let unit = hash(&[digest, 1]) as f32 / 4_294_967_296.0;
    let levels = [Coordinate::Level((digest % 114) as u16), Coordinate::Level((digest / 114 % 8) as u16)];
    Point::from_slice(&[levels[0], levels[1], Coordinate::Unit(unit)]).unwrap()
}

/// What the toy asks next.
pub fn propose(begin: &Begin, knowledge: &[u8], events: &[Event]) -> Proposal {
    let digest = digest(begin, knowledge, events);
    let fidelity = (digest >> 8) as u8 % 4;
    let samples = [10, 20, 50, 100][usize::from(fidelity)];
    Proposal { fidelity, samples, cost: samples as f32, point: point(digest) }
}

/// Events that end a query.
pub fn settled(events: &[Event]) -> Vec<Event> {
    events.iter().filter(|event| ends_query(event)).copied().collect()
}

fn ends_query(event: &Event) -> bool {
    matches!(event, Event::Observed { .. } | Event::GivenUp { .. })
}

/// What the queries settled so far cost.
fn spent(begin: &Begin, knowledge: &[u8], events: &[Event]) -> f32 {
    let cost = |end: usize| propose(begin, knowledge, &events[..end]).cost;
    events.iter().enumerate().filter(|(_, event)| ends_query(event)).map(|(end, _)| cost(end)).sum()
}

/// What a measurement gives: a value, now and then none or nonsense.
pub fn measure(ticket: Ticket, attempt: u8, point: &Point, fidelity: u8) -> Outcome {
    let luck = hash(&[ticket.task, ticket.step, u32::from(attempt), 77]);
    match luck % 16 {
        0 => Outcome::Failed,
        1 => Outcome::Value(f32::NAN),
        2 if luck.is_multiple_of(3) => Outcome::Failed,
        3 => Outcome::Values(1.0, Kpis::new(&[f32::INFINITY])),
        4..8 => Outcome::Values(truth(point, fidelity), Kpis::new(&[luck as f32, -1.0])),
        _ => Outcome::Value(truth(point, fidelity)),
    }
}

/// The value of a setting.
pub fn truth(point: &Point, fidelity: u8) -> f32 {
    let words: Vec<u32> = point
        .iter()
        .map(|coordinate| match *coordinate {
            Coordinate::Level(level) => u32::from(level),
            Coordinate::Unit(unit) => unit.to_bits(),
        })
        .chain([u32::from(fidelity)])
        .collect();
    hash(&words) as f32 / 4_294_967_296.0
}

/// What the toy recommends after these events.
pub fn recommend(begin: &Begin, knowledge: &[u8], events: &[Event]) -> Recommendation {
    let stopped = events.iter().any(|event| matches!(event, Event::Stopped { .. }));
    let digest = digest(begin, knowledge, events);
    Recommendation {
        task: begin.task,
        reason: if stopped { Reason::Stopped } else { Reason::Budget },
        queries: settled(events).len() as u32,
        spent: spent(begin, knowledge, events),
        mean: digest as f32 / 4_294_967_296.0,
        point: point(digest),
        assured: true,
    }
}

/// What the toy knows after a task.
pub fn learn(begin: &Begin, knowledge: &[u8], events: &[Event]) -> Vec<u8> {
    let digest = digest(begin, knowledge, events);
    (0..600).map(|i| hash(&[digest, i]) as u8).collect()
}

/// Tries that a query takes, and the value it comes to, if any.
fn settle(ticket: Ticket, proposal: &Proposal) -> Event {
    (0..TRIES)
        .find_map(|attempt| {
            let (value, kpis) = measure(ticket, attempt, &proposal.point, proposal.fidelity).finite()?;
            Some(Event::Observed { ticket, value, kpis, cost: None })
        })
        .unwrap_or(Event::GivenUp { ticket, cost: None })
}

/// All that settles in a task that nobody disturbs.
pub fn undisturbed(begin: &Begin, knowledge: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    while spent(begin, knowledge, &events) < begin.budget {
        let ticket = Ticket { task: begin.task, step: events.len() as u32 };
        let proposal = propose(begin, knowledge, &events);
        events.push(settle(ticket, &proposal));
    }
    events
}

/// What the toy's flash holds.
#[derive(Default)]
pub struct Memory {
    /// How the current or last task began.
    pub begin: Option<Begin>,
    /// What happened in it since.
    pub events: Vec<Event>,
    /// What came of it.
    pub recommendation: Option<Recommendation>,
    /// What the toy knew at the task's beginning.
    pub knew: Vec<u8>,
    /// What it knows.
    pub knowledge: Vec<u8>,
    /// How often that changed.
    pub sequence: u32,
    /// An unfinished upload: not in the flash.
    incoming: Vec<u8>,
    /// The problem received last: not in the flash.
    pub described: Vec<u8>,
    /// Power fails during the next event: before it is stored, or after.
    pub cut: Option<bool>,
    /// Power has failed.
    pub dead: bool,
    /// The open query: not in the flash.
    pub open: Option<Proposal>,
    /// Refuse every event for this.
    pub refusal: Option<Refusal>,
}

impl Memory {
    fn store(&mut self, event: &Event) {
        match event {
            Event::Begun(begin) => {
                (self.begin, self.recommendation) = (Some(*begin), None);
                self.knew.clone_from(&self.knowledge);
                self.events.clear();
            }
            event => self.events.push(*event),
        }
    }

    fn replace(&mut self, knowledge: Vec<u8>) {
        self.knowledge = knowledge;
        self.sequence += 1;
    }

    fn received(&mut self, what: Blob) -> &mut Vec<u8> {
        match what {
            Blob::Knowledge => &mut self.incoming,
            Blob::Problem => &mut self.described,
        }
    }

    fn observed(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Observed { .. }))
    }
}

impl Application for Memory {
    fn apply(&mut self, event: &Event) -> Result<(), Refusal> {
        self.refusal.map_or(Ok(()), Err)?;
        if matches!(event, Event::Stopped { .. }) && !self.observed() {
            return Err(Refusal::NothingObserved);
        }
        if let Event::Begun(begin) = event
            && begin.problem != PROBLEM
            && begin.problem != crc32(&self.described)
        {
            return Err(Refusal::WrongProblem { ours: PROBLEM });
        }
        let cut = self.cut.take();
        self.dead |= cut.is_some();
        if cut != Some(false) {
            self.store(event);
        }
        Ok(())
    }

    fn proposal(&self) -> Option<Proposal> {
        self.open.clone()
    }

    fn under(&mut self, conditions: &[f32]) -> Result<bool, Refusal> {
        if conditions.is_empty() { Ok(false) } else { Err(Refusal::BadConditions { wanted: 0 }) }
    }

    fn health(&self) -> Health {
        Health { stack_free: 1234, restarts: 0, fault: 77, below: 0 }
    }

    fn knowledge(&self) -> Knowledge {
        let total = self.knowledge.len() as u32;
        Knowledge { sequence: self.sequence, total, crc: crc32(&self.knowledge) }
    }

    fn read_knowledge(&mut self, offset: u32, data: &mut [u8]) -> Result<(), Refusal> {
        data.copy_from_slice(&self.knowledge[offset as usize..][..data.len()]);
        Ok(())
    }

    fn recall(&mut self, step: u32) -> Result<Answer, Refusal> {
        let value = |event: &Event| match event {
            Event::Observed { value, kpis, .. } => Some((Some(*value), *kpis)),
            Event::GivenUp { .. } => Some((None, Kpis::NONE)),
            _ => None,
        };
        let (value, kpis) =
            self.events.iter().filter_map(value).nth(step as usize).ok_or(Refusal::Storage)?;
        Ok(Answer {
            fidelity: 1,
            value,
            numbers: [0.25, 0.5].into_iter().chain(kpis.iter().copied()).collect(),
        })
    }

    /// The toy finds a change where the value is negative.
    fn watch(&mut self, reading: &Reading) -> Result<foretune_core::Reading, Refusal> {
        match reading.value {
            value if !value.is_finite() => Err(Refusal::BadReading),
            value if value < 0.0 => Ok(foretune_core::Reading::Changed),
            _ => Ok(foretune_core::Reading::Steady),
        }
    }

    fn open(&mut self, what: Blob, total: u32) -> Result<(), Refusal> {
        self.received(what).clear();
        if total > LIMIT { Err(Refusal::TooLarge { limit: LIMIT }) } else { Ok(()) }
    }

    fn write(&mut self, what: Blob, data: &[u8]) -> Result<(), Refusal> {
        self.received(what).extend_from_slice(data);
        Ok(())
    }

    fn commit(&mut self, _: Blob, crc: u32) -> Result<(), Refusal> {
        let incoming = std::mem::take(&mut self.incoming);
        if crc32(&incoming) != crc {
            return Err(Refusal::Checksum);
        }
        self.replace(incoming);
        Ok(())
    }

    fn forget_knowledge(&mut self) -> Result<(), Refusal> {
        self.replace(Vec::new());
        Ok(())
    }
}

/// The dialogue as it stands after a restart.
pub fn restored(memory: &Memory) -> Tuner {
    let mut tuner = Tuner::new(IDENTITY);
    memory.begin.iter().for_each(|begin| tuner.replay(&Event::Begun(*begin)));
    memory.events.iter().for_each(|event| tuner.replay(event));
    memory.recommendation.iter().for_each(|recommendation| tuner.finish(recommendation.clone()));
    tuner
}

/// Does the toy's thinking, if it has any to do.
pub fn think(tuner: &mut Tuner, memory: &mut Memory) {
    let (Phase::Thinking, Some(begin)) = (tuner.phase(), memory.begin) else { return };
    let events = &memory.events;
    if !tuner.stopping() && spent(&begin, &memory.knowledge, events) < begin.budget {
        memory.open = Some(propose(&begin, &memory.knowledge, events));
        return tuner.ask();
    }
    let recommendation = recommend(&begin, &memory.knowledge, events);
    memory.recommendation = Some(recommendation.clone());
    memory.replace(learn(&begin, &memory.knowledge, events));
    tuner.finish(recommendation);
}
