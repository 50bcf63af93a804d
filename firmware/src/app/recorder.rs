//! The recorder: makes what happens durable before it counts, and keeps the knowledge.

use embedded_storage::nor_flash::NorFlash;
use foretune_core::snapshot::{Header, check_knowledge, knowledge_and_fleet};
use foretune_core::{Error, Fleet, Optimizer, Problem, ProblemPart, Query, SnapshotError, Watch};
use foretune_link::problem::{Numbers, Parts};
use foretune_link::{
    Answer, Application, Begin, Blob, Event, Health, Knowledge, Kpis, MAX_PROBLEM, Misfit, Proposal, Reading,
    Refusal, crc32,
};
use heapless::Vec;

use super::entry::{self, Asked, Entry};
use super::mapped;
use crate::board::Mapped;
use crate::drive::{self, is_plausible, proposal};
use crate::log::{error, info, warn};
use crate::profile::Profile;
use crate::room::{self, Room};
use crate::storage::{self, Store};

/// Health's code when the flash failed; those of restarts lie below.
pub const FAULT_STORAGE: u16 = 100;
/// Health's code when a task was dropped because what is stored does not fit this firmware.
pub const FAULT_KNOWLEDGE: u16 = 101;
/// Health's code when a task was dropped because the device failed at the same place of it again and again.
pub const FAULT_RESTARTS: u16 = 102;

/// Length of the first part of the journal's preamble: how the task began, as `postcard` writes it. A problem that came
/// over the line follows.
const HEAD: usize = 32;

/// The longest fleet's file that is taken.
pub const MAX_FLEET: usize = 2048;
/// Bytes of it that are copied at once.
const PIECE: usize = 64;

/// Numbers that are watched at most: the objective, and two guards.
pub const WATCHES: usize = 3;

/// The storage, and how the device is.
pub struct Recorder<F> {
    pub store: Store<F, { entry::LENGTH }>,
    pub health: Health,
    profile: Profile,
    /// Room for the head, then the problem that was received last.
    preamble: Vec<u8, { HEAD + MAX_PROBLEM }>,
    /// One for every number of a reading. Not in flash: after a restart the baseline is learnt anew.
    watches: Vec<Watch, WATCHES>,
}

/// The task that runs: its optimizer, and the query that is open.
pub struct Task<'a, 'm> {
    pub optimizer: &'a mut Optimizer<'m>,
    pub open: Option<Query>,
}

/// The recorder with the task that it records, while one runs: what the dialogue is served with.
pub struct Recording<'a, 't, 'm, F> {
    pub recorder: &'a mut Recorder<F>,
    pub task: Option<&'a mut Task<'t, 'm>>,
}

impl<F: NorFlash + Mapped> Recorder<F> {
    pub fn new(store: Store<F, { entry::LENGTH }>, profile: Profile) -> Self {
        let (health, preamble, watches) = (Health::default(), Vec::new(), Vec::new());
        let mut recorder = Recorder { store, health, profile, preamble, watches };
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
        let head = self.store.preamble(&mut bytes).ok().filter(|head| head.len() == HEAD)?;
        postcard::take_from_bytes(head).ok().map(|(begin, _)| begin)
    }

    /// The entries of the last task's journal.
    pub fn entries(&mut self) -> impl Iterator<Item = Entry> {
        (0..).map_while(|index| self.store.record(index).and_then(|bytes| Entry::decode(&bytes)))
    }

    /// Restarts after faults since the last thing that happened to the task, and in the whole task.
    pub fn restarts(&mut self) -> (u32, u32) {
        self.entries().fold((0, 0), |(here, all), entry| match entry {
            Entry::Restarted => (here + 1, all + 1),
            _ => (0, all),
        })
    }

    pub fn append(&mut self, entry: &Entry) -> Result<(), storage::Error> {
        self.store.append(&entry.encode())
    }

    /// The newest knowledge where it lies in flash, and the fleet's file behind it; nothing on a new device.
    pub fn stored(&self) -> (&[u8], &[u8]) {
        knowledge_and_fleet(mapped(self.store.flash_ref(), self.store.knowledge_range()))
    }

    /// Stores the end of a task: its entry, unless it was stored before a restart, then its knowledge.
    pub fn finish(
        &mut self,
        end: &Entry,
        task: u32,
        write: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), Error>,
    ) -> Result<(), storage::Error> {
        if !self.entries().any(|entry| matches!(entry, Entry::Finished { .. })) {
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
        self.keep_fleet()?;
        self.store.finish_knowledge()?;
        self.store.commit_knowledge(task).map(|_| ())
    }

    /// Copies the fleet's file behind the knowledge that is being written.
    fn keep_fleet(&mut self) -> Result<(), storage::Error> {
        let (knowledge, fleet) = self.stored();
        let (mut from, end) = (knowledge.len(), knowledge.len() + fleet.len());
        let mut piece = [0; PIECE];
        while from < end {
            let piece = piece.get_mut(..(end - from).min(PIECE)).unwrap_or_default();
            self.store.read_knowledge(from as u32, piece)?;
            self.store.write_knowledge(piece)?;
            from += piece.len();
        }
        Ok(())
    }

    /// Stores how a task begins, with its problem unless that is built in.
    fn begin(&mut self, begin: &Begin) -> Result<(), storage::Error> {
        if begin.problem == self.profile.number {
            self.preamble.truncate(HEAD);
        }
        let head = self.preamble.get_mut(..HEAD).unwrap_or_default();
        postcard::to_slice(begin, head).map_err(|_| storage::Error::TooLarge)?;
        self.store.begin_task(begin.task, &self.preamble)
    }

    /// Begins a watch of the last task's recommendation.
    #[inline(never)]
    fn begin_watch(&mut self, reading: &Reading) -> Result<(), Refusal> {
        let begin = self.begun().ok_or(Refusal::Storage)?;
        let mut numbers = Numbers::new();
        let parts = self.parts(begin.problem, &mut numbers).transpose().map_err(Refusal::BadProblem)?;
        let guards = self.problem(&begin, parts.as_ref()).ok_or(Refusal::Storage)?.guards.len();
        if reading.kpis.len() != guards {
            return Err(Refusal::WrongKpis { wanted: guards as u8 });
        }
        let count = guards + 1;
        let watch = Watch::new(reading.run_length * count as f32).map_err(|_| Refusal::BadReading)?;
        self.watches.clear();
        info!("watch begins: {} per reading, one false alarm in {} readings", count, reading.run_length);
        self.watches.resize(count, watch).map_err(|_| Refusal::WrongKpis { wanted: guards as u8 })
    }

    fn watch(&mut self, reading: &Reading) -> Result<foretune_core::Reading, Refusal> {
        if reading.number == 0 {
            self.begin_watch(reading)?;
        }
        let numbers: Vec<f32, WATCHES> =
            [reading.value].into_iter().chain(reading.kpis.iter().copied()).take(WATCHES).collect();
        let told = Watch::tell_all(&mut self.watches, &numbers, reading.deviation);
        if told == Ok(foretune_core::Reading::Changed) {
            for (number, watch) in self.watches.iter().enumerate() {
                info!("number {} after reading {}: {}", number, reading.number, watch.status());
            }
        }
        told.map_err(|why| match why {
            Error::Kpis { wanted, .. } => Refusal::WrongKpis { wanted: wanted as u8 },
            _ => Refusal::BadReading,
        })
    }

    /// Number of the last task, which the next knowledge notes.
    fn last_task(&self) -> u32 {
        let of_slot = self.store.knowledge().map_or(0, |slot| slot.tag);
        self.store.last_task().map_or(of_slot, |task| task.number.max(of_slot))
    }

    /// Whether a task can start from what is known; from nothing it can.
    #[inline(never)]
    fn check_start(&self, begin: &Begin) -> Result<(), Refusal> {
        let mut numbers = Numbers::new();
        let parts = self.parts(begin.problem, &mut numbers).transpose().map_err(Refusal::BadProblem)?;
        let problem = self.problem(begin, parts.as_ref());
        let problem = problem.ok_or(Refusal::WrongProblem { ours: self.profile.number })?;
        room::check(&problem, self.profile.room).map_err(Refusal::BadProblem)?;
        let (bytes, _) = self.stored();
        if bytes.is_empty() {
            return Ok(());
        }
        match check_knowledge(bytes, self.profile.settings_for(begin.problem, &problem).get(), &problem) {
            // What fits is looked at first: the rest of it does.
            Err(SnapshotError::Problem(_)) if begin.adopt => Ok(()),
            checked => checked.map(|_| ()).map_err(bad_knowledge),
        }
    }

    /// Whether this is knowledge, or a fleet's file, or one behind the other, that some problem could start from. Which one, is
    /// known when a task begins.
    fn check_knowledge(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let (bytes, fleet) = knowledge_and_fleet(bytes);
        if !fleet.is_empty() {
            let found = Fleet::read(fleet).map_err(bad_knowledge)?;
            if fleet.len() > MAX_FLEET || found.header().dimensions > self.profile.room.dimensions {
                return Err(bad_knowledge(SnapshotError::Model));
            }
            if bytes.is_empty() {
                return Ok(());
            }
        }
        let header = Header::verify(bytes).map_err(bad_knowledge)?;
        let Profile { settings, live, room: Room { dimensions, fidelities, .. }, .. } = &self.profile;
        let parameters = [settings, live].map(|map| map.get().model(header.dimensions).parameters());
        let fits = header.dimensions <= *dimensions
            && header.fidelities <= *fidelities
            && (header.particles == 0 || header.particles == settings.get().particles)
            && parameters.contains(&header.parameters);
        match header.mid_task {
            true => Err(bad_knowledge(SnapshotError::Settings)),
            false if fits => Ok(()),
            false => Err(bad_knowledge(SnapshotError::Model)),
        }
    }

    /// Takes over the knowledge that was received, if it can be used.
    fn commit(&mut self, crc: u32) -> Result<(), Refusal> {
        let (range, found) = self.store.finish_knowledge().map_err(flash_failed)?;
        if found != crc {
            return Err(Refusal::Checksum);
        }
        self.check_knowledge(mapped(self.store.flash_ref(), Some(range)))?;
        let task = self.last_task();
        self.store.commit_knowledge(task).map(|_| ()).map_err(flash_failed)
    }
}

impl<F: NorFlash + Mapped> Recording<'_, '_, '_, F> {
    fn append(&mut self, entry: &Entry) -> Result<(), Refusal> {
        self.recorder.append(entry).map_err(flash_failed)
    }

    /// Journals the answer to the open query, then gives it to the optimizer.
    fn answer(&mut self, value: Option<f32>, kpis: &[f32], cost: Option<f32>) -> Result<(), Refusal> {
        let Some(Task { optimizer, open }) = &mut self.task else { return Err(Refusal::Storage) };
        let problem = *optimizer.problem();
        let wanted = problem.guards.len();
        if value.is_some() && kpis.len() != wanted && kpis.len() != wanted + problem.conditions() {
            return Err(Refusal::WrongKpis { wanted: wanted as u8 });
        }
        let query = open.as_ref().ok_or(Refusal::Storage)?;
        let (unit, conditions) = drive::measured(&problem, query, kpis);
        let kpis = kpis.get(..wanted).unwrap_or_default();
        let asked = Asked::new(query, &unit, kpis);
        self.recorder.append(&Entry::Answered(asked, value, cost)).map_err(flash_failed)?;
        if open.take().is_none_or(|query| optimizer.answer_at(query, value, kpis, cost, &conditions).is_err())
        {
            error!("an answer was refused that the journal holds");
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Refusal> {
        if !self.recorder.entries().any(|entry| matches!(entry, Entry::Answered(_, Some(_), _))) {
            return Err(Refusal::NothingObserved);
        }
        self.append(&Entry::Stopped)?;
        if let Some(task) = &mut self.task {
            task.open = None;
            task.optimizer.stop();
        }
        Ok(())
    }
}

impl<F: NorFlash + Mapped> Application for Recording<'_, '_, '_, F> {
    fn apply(&mut self, event: &Event) -> Result<(), Refusal> {
        match *event {
            Event::Begun(begin) => {
                self.recorder.check_start(&begin)?;
                self.recorder.begin(&begin).map_err(flash_failed)
            }
            Event::Observed { value, kpis, cost, .. } => self.answer(Some(value), &kpis, cost),
            Event::GivenUp { cost, .. } => self.answer(None, &[], cost),
            Event::Failed { attempt, .. } => self.append(&Entry::Failed { attempt }),
            Event::Stopped { .. } => self.stop(),
            Event::Aborted { .. } => self.append(&Entry::Aborted),
            Event::Dropped { reason, .. } => self.append(&Entry::Dropped { reason }),
        }
    }

    fn proposal(&self) -> Option<Proposal> {
        let Task { optimizer, open } = self.task.as_deref()?;
        open.as_ref().map(|query| proposal(optimizer.problem(), query))
    }

    fn is_plausible(&self, value: f32, kpis: &[f32]) -> bool {
        let is_plausible = self.task.as_deref().is_none_or(|task| is_plausible(task.optimizer, value, kpis));
        if !is_plausible {
            warn!("implausible value {}", value);
        }
        is_plausible
    }

    fn health(&self) -> Health {
        self.recorder.health
    }

    fn knowledge(&self) -> Knowledge {
        let slot = self.recorder.store.knowledge();
        slot.map_or(Knowledge::default(), |slot| Knowledge {
            sequence: slot.sequence,
            total: slot.length,
            crc: slot.crc,
        })
    }

    fn read_knowledge(&mut self, offset: u32, data: &mut [u8]) -> Result<(), Refusal> {
        self.recorder.store.read_knowledge(offset, data).map_err(flash_failed)
    }

    fn recall(&mut self, step: u32) -> Result<Answer, Refusal> {
        let answer = self.recorder.entries().filter_map(|entry| entry.answer()).nth(step as usize);
        answer.ok_or(Refusal::Storage)
    }

    fn under(&mut self, conditions: &[f32]) -> Result<bool, Refusal> {
        let Some(Task { optimizer, open }) = self.task.as_deref_mut() else { return Ok(false) };
        let wanted = optimizer.problem().conditions() as u8;
        let changed = optimizer.change_conditions(conditions);
        if !changed.map_err(|_| Refusal::BadConditions { wanted })? {
            return Ok(false);
        }
        *open = None;
        if self.recorder.store.running().is_none() {
            // The task has ended: only what it ended with is durable.
            return Ok(true);
        }
        // Durable before the query is: its ticket is the other's, and a report may come after a restart.
        self.append(&Entry::Under(Kpis::new(conditions))).map(|()| true)
    }

    fn watch(&mut self, reading: &Reading) -> Result<foretune_core::Reading, Refusal> {
        self.recorder.watch(reading)
    }

    fn forget_knowledge(&mut self) -> Result<(), Refusal> {
        let task = self.recorder.last_task();
        let store = &mut self.recorder.store;
        let forgotten = store.open_knowledge().and_then(|()| store.finish_knowledge());
        forgotten.and_then(|_| store.commit_knowledge(task)).map(|_| ()).map_err(flash_failed)
    }

    fn open(&mut self, what: Blob, total: u32) -> Result<(), Refusal> {
        let Recorder { store, preamble, .. } = &mut *self.recorder;
        let limit = match what {
            Blob::Knowledge => store.slots().capacity(),
            Blob::Problem => MAX_PROBLEM as u32,
        };
        match what {
            _ if total > limit => Err(Refusal::TooLarge { limit }),
            Blob::Knowledge => store.open_knowledge().map_err(flash_failed),
            Blob::Problem => {
                preamble.truncate(HEAD);
                Ok(())
            }
        }
    }

    fn write(&mut self, what: Blob, data: &[u8]) -> Result<(), Refusal> {
        let Recorder { store, preamble, .. } = &mut *self.recorder;
        match what {
            Blob::Knowledge => store.write_knowledge(data).map_err(flash_failed),
            Blob::Problem => {
                preamble.extend_from_slice(data).map_err(|_| Refusal::TooLarge { limit: MAX_PROBLEM as u32 })
            }
        }
    }

    fn commit(&mut self, what: Blob, crc: u32) -> Result<(), Refusal> {
        match what {
            Blob::Knowledge => self.recorder.commit(crc),
            Blob::Problem => Err(Refusal::NoTransfer),
        }
    }
}

fn flash_failed(_: storage::Error) -> Refusal {
    Refusal::Storage
}

/// The optimizer's reasons, numbered for the link.
fn bad_knowledge(why: SnapshotError) -> Refusal {
    let code = match why {
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
    };
    Refusal::BadKnowledge { code }
}
