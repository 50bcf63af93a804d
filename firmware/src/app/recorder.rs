//! The recorder: makes what happens durable before it counts, and keeps the knowledge.

use core::ops::RangeInclusive;

use embedded_storage::nor_flash::NorFlash;
use foretune_core::snapshot::{Header, check_knowledge};
use foretune_core::{Error, Problem, ProblemPart, Query, SnapshotError};
use foretune_link::problem::{Numbers, Parts};
use foretune_link::{Application, Begin, Event, Health, Knowledge, MAX_PROBLEM, Misfit, Refusal, crc32};
use heapless::Vec;

use super::entry::{self, Asked, Entry, padded};
use super::mapped;
use crate::board::Mapped;
use crate::profile::Profile;
use crate::room::{self, Room};
use crate::storage::{self, Store};

/// Health's code when the flash failed; those of restarts lie below.
pub const FAULT_STORAGE: u16 = 100;
/// Health's code when a task was dropped because what is stored does not fit this firmware.
pub const FAULT_KNOWLEDGE: u16 = 101;
/// Health's code when a task was dropped because the device failed at the same place of it again and again.
pub const FAULT_RESTARTS: u16 = 102;

/// Length of the first part of the journal's preamble: task, problem, seed, budget, flags. A problem that came over the
/// line follows.
const HEAD: usize = 24;

/// The query that is open, as far as the journal cares.
#[derive(Clone, Debug)]
pub struct Open {
    asked: Asked,
    plausible: RangeInclusive<f32>,
}

impl Open {
    /// Of a query, and the values that the optimizer would take.
    pub fn new(query: &Query, plausible: RangeInclusive<f32>) -> Self {
        let asked = Asked { x: padded(query.unit()), fidelity: query.fidelity() as u8, kind: query.kind() };
        Open { asked, plausible }
    }
}

/// Storage, and what must be passed on to the optimizer.
pub struct Recorder<F> {
    pub store: Store<F, { entry::LENGTH }>,
    pub open: Option<Open>,
    pub happened: Option<Event>,
    pub health: Health,
    profile: Profile,
    /// Room for the head, then the problem that was received last.
    preamble: Vec<u8, { HEAD + MAX_PROBLEM }>,
}

impl<F: NorFlash + Mapped> Recorder<F> {
    pub fn new(store: Store<F, { entry::LENGTH }>, profile: Profile) -> Self {
        let (health, preamble) = (Health::default(), Vec::new());
        let mut recorder = Recorder { store, open: None, happened: None, health, profile, preamble };
        recorder.read_preamble();
        recorder
    }

    /// Takes up the problem of the last task.
    fn read_preamble(&mut self) {
        let _ = self.preamble.resize(HEAD + MAX_PROBLEM, 0);
        let length = self.store.preamble(&mut self.preamble).map_or(0, <[u8]>::len);
        let _ = self.preamble.resize(length.max(HEAD), 0);
    }

    /// The bytes of the problem that was received last.
    fn received(&self) -> &[u8] {
        self.preamble.get(HEAD..).unwrap_or_default()
    }

    /// The problem that was received last, if it is the one of this number.
    ///
    /// # Errors
    /// What cannot be read of it.
    pub fn parts<'n>(&self, number: u32, numbers: &'n mut Numbers) -> Option<Result<Parts<'n>, Misfit>> {
        let known = number != self.profile.number && number == crc32(self.received());
        known.then(|| Parts::read(self.received(), numbers))
    }

    /// The problem of a task: built in, or received as these parts.
    pub fn problem<'p>(&self, begin: &Begin, parts: Option<&'p Parts<'_>>) -> Option<Problem<'p>> {
        if begin.problem == self.profile.number {
            return Some(Problem { budget: begin.budget, ..self.profile.problem });
        }
        parts.map(|parts| parts.problem(begin.budget))
    }

    /// How the last task began, if its journal is there.
    pub fn begun(&mut self) -> Option<Begin> {
        self.store.last_task()?;
        let mut bytes = [0; HEAD];
        let head: &[u8; HEAD] = self.store.preamble(&mut bytes).ok()?.try_into().ok()?;
        let word = |at: usize| [head[at], head[at + 1], head[at + 2], head[at + 3]];
        let seed = u64::from(u32::from_le_bytes(word(8))) | u64::from(u32::from_le_bytes(word(12))) << 32;
        Some(Begin {
            task: u32::from_le_bytes(word(0)),
            problem: u32::from_le_bytes(word(4)),
            seed,
            budget: f32::from_le_bytes(word(16)),
            deploy: head[20] == 1,
            adopt: head[21] == 1,
        })
    }

    /// Entry `index` of the last task's journal.
    pub fn entry(&mut self, index: u32) -> Option<Entry> {
        self.store.record(index).and_then(|bytes| Entry::decode(&bytes))
    }

    /// The last thing that happened to the task, restarts aside.
    fn last_entry(&mut self) -> Option<Entry> {
        let entries = self.store.running().map_or(0, |task| task.records);
        (0..entries).rev().filter_map(|index| self.entry(index)).find(|entry| *entry != Entry::Restarted)
    }

    /// Restarts after faults since the last thing that happened to the task, and in the whole task.
    pub fn restarts(&mut self) -> (u32, u32) {
        let (mut here, mut all, mut index) = (0, 0, 0);
        while let Some(entry) = self.entry(index) {
            let restarted = entry == Entry::Restarted;
            here = if restarted { here + 1 } else { 0 };
            all += u32::from(restarted);
            index += 1;
        }
        (here, all)
    }

    pub fn append(&mut self, entry: &Entry) -> Result<(), storage::Error> {
        self.store.append(&entry.encode())
    }

    /// Whether the optimizer would take a value as the answer to the open query.
    pub fn plausible(&self, value: f32) -> bool {
        self.open.as_ref().is_some_and(|open| open.plausible.contains(&value))
    }

    /// The newest knowledge where it lies in flash; nothing on a new device.
    pub fn knowledge_bytes(&self) -> &[u8] {
        mapped(self.store.flash_ref(), self.store.knowledge_range())
    }

    /// Stores the end of a task: its entry, unless a restart came between, then its knowledge.
    pub fn finish(
        &mut self,
        end: &Entry,
        task: u32,
        write: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), Error>,
    ) -> Result<(), storage::Error> {
        if self.last_entry() != Some(*end) {
            self.append(end)?;
        }
        self.store.open_knowledge()?;
        let mut stored = Ok(());
        let store = &mut self.store;
        let written = write(&mut |bytes| {
            if stored.is_ok() {
                stored = store.write_knowledge(bytes);
            }
        });
        stored?;
        written.map_err(|_| storage::Error::NotOpen)?;
        self.store.finish_knowledge()?;
        self.store.commit_knowledge(task).map(|_| ())
    }

    /// Stores how a task begins, with its problem unless that is built in.
    fn begin(&mut self, begin: &Begin) -> Result<(), storage::Error> {
        if begin.problem == self.profile.number {
            self.preamble.truncate(HEAD);
        }
        let fields: [&[u8]; 5] = [
            &begin.task.to_le_bytes(),
            &begin.problem.to_le_bytes(),
            &begin.seed.to_le_bytes(),
            &begin.budget.to_le_bytes(),
            &[u8::from(begin.deploy), u8::from(begin.adopt)],
        ];
        let bytes = fields.into_iter().flatten();
        self.preamble.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.store.begin_task(begin.task, &self.preamble)
    }

    /// Number of the last task, which the next knowledge notes.
    fn last_task(&self) -> u32 {
        let of_slot = self.store.knowledge().map_or(0, |slot| slot.tag);
        self.store.last_task().map_or(of_slot, |task| task.number.max(of_slot))
    }

    fn entry_of(&self, event: &Event) -> Result<Option<Entry>, Refusal> {
        let asked = || self.open.as_ref().map(|open| open.asked).ok_or(Refusal::Storage);
        Ok(Some(match *event {
            Event::Begun(_) => return Ok(None),
            Event::Observed { value, cost, .. } if self.plausible(value) => {
                Entry::Observed(asked()?, value, cost)
            }
            Event::Observed { .. } | Event::GivenUp { .. } => Entry::GivenUp(asked()?),
            Event::Failed { attempt, .. } => Entry::Failed { attempt },
            Event::Stopped { .. } => Entry::Stopped,
            Event::Aborted { .. } => Entry::Aborted,
            Event::Dropped { reason, .. } => Entry::Dropped { reason },
        }))
    }

    /// Whether a task can start from what is known; from nothing it can.
    #[inline(never)]
    fn check_start(&self, begin: &Begin) -> Result<(), Refusal> {
        let mut numbers = Numbers::new();
        let parts = self.parts(begin.problem, &mut numbers).transpose().map_err(Refusal::BadProblem)?;
        let problem = self.problem(begin, parts.as_ref());
        let problem = problem.ok_or(Refusal::WrongProblem { ours: self.profile.number })?;
        room::check(&problem, self.profile.room).map_err(Refusal::BadProblem)?;
        match (self.knowledge_bytes(), begin.adopt) {
            ([], _) => Ok(()),
            (bytes, adopt) => {
                match check_knowledge(bytes, &self.profile.settings_for(&problem), &problem) {
                    // What fits is looked at first: the rest of it does.
                    Err(SnapshotError::Problem(_)) if adopt => Ok(()),
                    checked => checked.map(|_| ()).map_err(|why| Refusal::BadKnowledge { code: code(why) }),
                }
            }
        }
    }

    /// Whether this profile's particles are of that size.
    fn same_model(&self, header: &Header) -> bool {
        let settings = &self.profile.settings;
        let particles = header.particles == 0 || header.particles == settings.particles;
        particles && header.parameters == settings.model(header.dimensions).parameters()
    }

    /// Whether this is knowledge that some problem could start from. Which one, is known when a task begins.
    fn check_knowledge(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let bad = |why| Refusal::BadKnowledge { code: code(why) };
        let header = Header::verify(bytes).map_err(bad)?;
        let Room { dimensions, fidelities } = self.profile.room;
        if header.mid_task {
            Err(bad(SnapshotError::Settings))
        } else if header.dimensions > dimensions
            || header.fidelities > fidelities
            || !self.same_model(&header)
        {
            Err(bad(SnapshotError::Model))
        } else {
            Ok(())
        }
    }

    fn observed_anything(&mut self) -> bool {
        let mut index = 0;
        while let Some(entry) = self.entry(index) {
            if matches!(entry, Entry::Observed(..)) {
                return true;
            }
            index += 1;
        }
        false
    }
}

impl<F: NorFlash + Mapped> Application for Recorder<F> {
    fn apply(&mut self, event: &Event) -> Result<(), Refusal> {
        match event {
            Event::Begun(begin) => self.check_start(begin)?,
            Event::Stopped { .. } if !self.observed_anything() => return Err(Refusal::NothingObserved),
            _ => {}
        }
        let stored = match (event, self.entry_of(event)?) {
            (Event::Begun(begin), _) => self.begin(begin),
            (_, Some(entry)) => self.append(&entry),
            (_, None) => Ok(()),
        };
        stored.map_err(|_| Refusal::Storage)?;
        self.happened = Some(*event);
        Ok(())
    }

    fn open_problem(&mut self, total: u32) -> Result<(), Refusal> {
        if total as usize > MAX_PROBLEM {
            return Err(Refusal::TooLarge { limit: MAX_PROBLEM as u32 });
        }
        self.preamble.truncate(HEAD);
        Ok(())
    }

    fn write_problem(&mut self, data: &[u8]) -> Result<(), Refusal> {
        self.preamble.extend_from_slice(data).map_err(|_| Refusal::TooLarge { limit: MAX_PROBLEM as u32 })
    }

    fn health(&self) -> Health {
        self.health
    }

    fn knowledge(&self) -> Knowledge {
        let slot = self.store.knowledge();
        slot.map_or(Knowledge::default(), |slot| Knowledge {
            sequence: slot.sequence,
            total: slot.length,
            crc: slot.crc,
        })
    }

    fn read_knowledge(&mut self, offset: u32, data: &mut [u8]) -> Result<(), Refusal> {
        self.store.read_knowledge(offset, data).map_err(|_| Refusal::Storage)
    }

    fn open_knowledge(&mut self, total: u32) -> Result<(), Refusal> {
        let limit = self.store.slots().capacity();
        if total > limit {
            return Err(Refusal::TooLarge { limit });
        }
        self.store.open_knowledge().map_err(|_| Refusal::Storage)
    }

    fn write_knowledge(&mut self, data: &[u8]) -> Result<(), Refusal> {
        self.store.write_knowledge(data).map_err(|_| Refusal::Storage)
    }

    fn commit_knowledge(&mut self, crc: u32) -> Result<(), Refusal> {
        let (range, found) = self.store.finish_knowledge().map_err(|_| Refusal::Storage)?;
        if found != crc {
            return Err(Refusal::Checksum);
        }
        if range.is_empty() {
            return Err(Refusal::BadKnowledge { code: code(SnapshotError::Truncated) });
        }
        self.check_knowledge(mapped(self.store.flash_ref(), Some(range)))?;
        let task = self.last_task();
        self.store.commit_knowledge(task).map(|_| ()).map_err(|_| Refusal::Storage)
    }

    fn forget_knowledge(&mut self) -> Result<(), Refusal> {
        let task = self.last_task();
        let forgotten = self.store.open_knowledge().and_then(|()| self.store.finish_knowledge());
        forgotten.and_then(|_| self.store.commit_knowledge(task)).map(|_| ()).map_err(|_| Refusal::Storage)
    }
}

/// The optimizer's reasons, numbered for the link.
fn code(why: SnapshotError) -> u8 {
    match why {
        SnapshotError::Truncated => 1,
        SnapshotError::Foreign => 2,
        SnapshotError::Newer { .. } => 3,
        SnapshotError::Checksum => 4,
        SnapshotError::Model => 5,
        SnapshotError::Settings => 6,
        SnapshotError::Contents => 7,
        SnapshotError::Older { .. } => 8,
        SnapshotError::Problem(ProblemPart::Parameters) => 9,
        SnapshotError::Problem(ProblemPart::Fidelities) => 10,
        SnapshotError::Problem(_) => 11,
        _ => 255,
    }
}
