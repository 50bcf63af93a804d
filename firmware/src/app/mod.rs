//! The tuning application: the optimizer between a serial line and a flash, on any [`Board`].
//!
//! One loop. Bytes from the serial line go to the dialogue ([`foretune_link::Tuner`]), whose events are made durable by the
//! recorder before they reach the optimizer and are answered. Between bytes the optimizer does one slice of
//! work, and the watchdog is fed. When a task ends, its recommendation goes to the journal and what was learnt to a
//! slot; readings of the recommendation are then watched, and a change begins the next task. After a restart the journal is read back: the dialogue takes up its events, the optimizer replays its answers,
//! and both go on as if nothing had happened.

mod recorder;
pub(crate) mod entry;

use embedded_io::{Read, ReadReady, Write};
use foretune_core::{Activity, Block, Optimizer, Problem, Progress, SnapshotError, Stop};
use foretune_link as link;
use heapless::Vec;
use link::problem::Numbers;
use link::{Begin, DropReason, Event, Phase, Tuner};

use crate::board::{Board, Mapped, Parts, SERIAL_BUFFER, Status, System};
use crate::drive::{reason, recommendation, take_over};
use crate::log::{error, info, warn};
use crate::profile::Profile;
use crate::storage::{self, Store};
use entry::Entry;
pub(crate) use recorder::{MAX_FLEET, WATCHES};
use recorder::{Recorder, Recording, Task};

/// Tries after which a query is given up.
pub const TRIES: u8 = 3;

/// Restarts after faults at the same place of a task after which the task is dropped: what fails three times in the same
/// replay will fail for ever.
pub const RESTARTS_HERE: u32 = 3;
/// Restarts after faults in a whole task after which it is dropped, wherever they were.
pub const RESTARTS: u32 = 16;

/// Name and version in the greeting.
const FIRMWARE: &str = concat!("foretune ", env!("CARGO_PKG_VERSION"));

/// Whether a loop goes on: always on a board, as long as a test wants on a host.
pub trait KeepGoing<S>: FnMut(&mut S) -> bool {}
impl<S, F: FnMut(&mut S) -> bool> KeepGoing<S> for F {}

/// The application on a board.
pub struct App<B: Board> {
    serial: B::Serial,
    system: B::System,
    recorder: Recorder<B::Flash>,
    tuner: Tuner,
    decoder: link::Decoder,
    profile: Profile,
    /// Longest slice of work so far, in ticks of the board's clock.
    longest: u64,
    /// How often the world has changed in the task.
    changes: u32,
}

impl<B: Board> App<B> {
    /// Opens the storage and takes up what was going on.
    ///
    /// # Errors
    /// [`storage::Error::Layout`] if the layout does not fit the flash.
    #[inline(never)]
    pub fn new(parts: Parts<B>, profile: Profile) -> Result<Self, storage::Error> {
        let Parts { serial, flash, system } = parts;
        let store = Store::open(flash, profile.layout.in_sectors_of::<B::Flash>())?;
        let recorder = Recorder::new(store, profile);
        let tuner = Tuner::new(link::Identity {
            firmware: FIRMWARE,
            profile: profile.name,
            problem: profile.number,
            dimensions: profile.room.dimensions as u8,
            fidelities: profile.room.fidelities as u8,
            tries: TRIES,
        });
        let mut app = App {
            serial,
            system,
            recorder,
            tuner,
            decoder: link::Decoder::new(),
            profile,
            longest: 0,
            changes: 0,
        };
        app.report_restart();
        app.lock();
        app.read_journal();
        app.count_restart();
        Ok(app)
    }

    fn report_restart(&mut self) {
        info!("foretune on {}, profile {}", B::NAME, self.profile.name);
        if let Some(fault) = self.system.last_fault() {
            warn!("restarted after {}", fault);
            self.recorder.health.restarts += 1;
            self.recorder.health.fault = fault.cause as u16 + 1;
        }
    }

    /// Nobody holds a key.
    #[cfg(not(feature = "key"))]
    fn lock(&mut self) {}

    /// With a key, only who holds it is heard. Its nonce must never come again: without flash there is no talking.
    #[cfg(feature = "key")]
    fn lock(&mut self) {
        let Some(key) = self.profile.key else { return };
        let restart = self.recorder.store.renew();
        self.tuner.lock(link::seal::Lock::new(key, restart.unwrap_or(0)));
        if restart.is_err() {
            self.out_of_order();
        }
    }

    /// Gives the last task's events to the dialogue.
    #[inline(never)]
    fn read_journal(&mut self) {
        if let Some(slot) = self.recorder.store.knowledge() {
            self.tuner.retire(slot.tag);
        }
        let Some(begin) = self.recorder.begun() else { return };
        self.tuner.replay(&Event::Begun(begin));
        let mut numbers = Numbers::new();
        let parts = self.recorder.parts(begin.problem, &mut numbers).and_then(Result::ok);
        let problem = self.recorder.problem(&begin, parts.as_ref()).unwrap_or(Problem::PLAIN);
        // The end of a task whose knowledge is stored; without that, the end is yet to come again.
        let ended = self.recorder.store.running().is_none();
        let mut count = 0;
        for entry in self.recorder.entries() {
            if let Some(event) = entry.event(self.tuner.ticket(), &problem) {
                self.tuner.replay(&event);
            } else if let Some(end) = entry.recommendation(begin.task, &problem).filter(|_| ended) {
                self.tuner.finish(end);
            }
            count += 1;
        }
        info!("task {} taken up with {} entries", begin.task, count);
        if self.is_at_work() && ended {
            warn!("what the task started from is lost, and the task with it");
            self.recorder.health.fault = recorder::FAULT_KNOWLEDGE;
            self.drop_task(DropReason::Stored);
        }
    }

    /// Notes a restart after a fault in the journal. A task at which the device fails again and again is dropped, so that it
    /// does not restart for ever; what was known before the task stays.
    fn count_restart(&mut self) {
        if self.system.last_fault().is_none() || !self.is_at_work() {
            return;
        }
        if self.recorder.append(&Entry::Restarted).is_err() {
            return self.out_of_order();
        }
        let (here, all) = self.recorder.restarts();
        if here >= RESTARTS_HERE || all >= RESTARTS {
            error!("task dropped: {} restarts after faults, {} of them here", all, here);
            self.recorder.health.fault = recorder::FAULT_RESTARTS;
            self.drop_task(DropReason::Restarts);
        }
    }

    /// Whether the dialogue believes that a task runs.
    fn is_at_work(&self) -> bool {
        matches!(self.tuner.phase(), Phase::Thinking | Phase::Waiting)
    }

    /// Whether what the last task recommended is in use.
    fn has_ended(&self) -> bool {
        matches!(self.tuner.phase(), Phase::Finished | Phase::Watching)
    }

    /// Works for ever, or as long as `going` says.
    pub fn run(&mut self, mut memory: Block<'_>, mut going: impl KeepGoing<B::System>) {
        while going(&mut self.system) {
            if !self.is_at_work() {
                self.rest();
                continue;
            }
            self.tune(memory.lend(), &mut going);
        }
    }

    /// Takes up the task that runs, with its problem, and works on it until it ends.
    #[inline(never)]
    fn tune(&mut self, memory: Block<'_>, going: &mut impl KeepGoing<B::System>) {
        let damaged = foretune_core::Error::Snapshot(SnapshotError::Contents);
        let Some(begin) = self.recorder.begun() else { return self.give_up_task(damaged) };
        let mut numbers = Numbers::new();
        let parts = self.recorder.parts(begin.problem, &mut numbers).and_then(Result::ok);
        let problem = self.recorder.problem(&begin, parts.as_ref());
        let Some(problem) = problem else { return self.give_up_task(damaged) };
        (self.recorder.health.below, self.changes) = (0, 0);
        // A copy: the flash is written to while the task runs.
        let fleet = Vec::<u8, MAX_FLEET>::from_slice(self.recorder.stored().1).unwrap_or_default();
        // Not moved: it would lie on the stack twice.
        let settings = *self.profile.settings_for(begin.problem, &problem);
        let mut started = memory.start_checked(problem, settings, begin.seed);
        let taken_up = match &mut started {
            Ok(optimizer) => self.take_up(optimizer, &begin, &fleet),
            Err(why) => Err(*why),
        };
        match (started.as_mut(), taken_up) {
            (Ok(optimizer), Ok(())) => self.work(optimizer, going),
            (_, Err(why)) | (Err(&mut why), _) => self.give_up_task(why),
        }
    }

    /// One turn without a task: serve the serial line, and sleep if there is nothing.
    fn rest(&mut self) {
        self.wait();
        self.serve(None);
    }

    /// Shows what there is to wait for, and sleeps until something comes.
    fn wait(&mut self) {
        self.system.show(match (self.tuner.phase(), self.tuner.dropped()) {
            (Phase::Fault, _) => Status::Fault,
            (Phase::Watching, _) => Status::Watching,
            (_, Some(_)) => Status::Dropped,
            (_, None) => Status::Idle,
        });
        self.system.feed();
        if !self.ready() {
            self.system.idle();
        }
    }

    /// Loads the knowledge of the task that runs and recalls its answers so far.
    #[inline(never)]
    fn take_up<'a>(
        &mut self,
        optimizer: &mut Optimizer<'a>,
        begin: &Begin,
        fleet: &'a [u8],
    ) -> Result<(), foretune_core::Error> {
        take_over(optimizer, begin, self.recorder.stored().0, fleet)?;
        let problem = *optimizer.problem();
        for entry in self.recorder.entries() {
            if let Some(record) = entry.record(&problem) {
                optimizer.recall(record)?;
            } else if let Entry::Stopped = entry {
                optimizer.stop();
            } else if let Entry::Under(conditions) = entry {
                optimizer.change_conditions(&conditions)?;
            }
        }
        info!(
            "task {} of {}, {} answers to replay",
            begin.task,
            optimizer.task(),
            optimizer.status().to_replay
        );
        Ok(())
    }

    /// Works on a task until it ends, and from then on says what is best under other conditions, until the next begins.
    fn work(&mut self, optimizer: &mut Optimizer<'_>, going: &mut impl KeepGoing<B::System>) {
        let mut task = Task { optimizer, open: None };
        let number = self.tuner.ticket().task;
        while going(&mut self.system) {
            self.system.feed();
            self.serve(Some(&mut task));
            let is_at_work = self.is_at_work();
            if self.tuner.ticket().task != number || !is_at_work && !self.has_ended() {
                return info!("task {} is over", number);
            }
            let before = self.system.ticks();
            let progress = match task.optimizer.advance_with(self.recorder.stored().0) {
                Ok(progress) => progress,
                Err(why) => return self.give_up_task(why),
            };
            self.longest = self.longest.max(self.system.ticks() - before);
            match progress {
                Progress::Working if !is_at_work => {}
                Progress::Working => self.thinking(&task.optimizer.status()),
                Progress::Query(query) => {
                    info!(
                        "query {} of task {} at fidelity {}",
                        query.round(),
                        query.task(),
                        query.fidelity()
                    );
                    task.open = Some(query);
                    self.ask(&task.optimizer.status());
                }
                Progress::Waiting if !self.ready() => self.system.idle(),
                Progress::Waiting => {}
                Progress::Done(stop) if is_at_work => self.finish(task.optimizer, stop),
                Progress::Done(stop) => {
                    if self.tuner.recommendation().is_none() {
                        self.recommend(task.optimizer, stop);
                    }
                    self.wait();
                }
                _ => return self.give_up_task(foretune_core::Error::OutOfTurn),
            }
        }
    }

    fn thinking(&mut self, status: &foretune_core::Status) {
        self.system.show(Status::Thinking);
        let (done, all) = (status.observations as u32, (status.observations + status.to_replay) as u32);
        let total = if status.activity == Activity::Replaying { all } else { 0 };
        self.tuner.set_progress(done, total);
        if status.activity == Activity::Replaying {
            (self.recorder.health.below, self.changes) =
                status.live.map_or((0, 0), |live| (live.below, live.changes));
        }
    }

    /// Whether the last trial fell below the floor. That is logged, and a change of the world, too.
    fn count_below(&mut self, status: &foretune_core::Status) -> bool {
        let below = status.live.map_or(0, |live| live.below);
        let fell = below > self.recorder.health.below;
        self.recorder.health.below = below;
        let changes = status.live.map_or(0, |live| live.changes);
        if changes > self.changes {
            warn!("the setting in use no longer gives what it gave: answers before count less");
        }
        self.changes = changes;
        if fell {
            warn!("a trial fell below the floor: {} of {} in this task", below, status.observations);
        }
        fell
    }

    /// Opens the task's query in the dialogue.
    fn ask(&mut self, status: &foretune_core::Status) {
        self.tuner.ask();
        let below = self.count_below(status);
        self.system.show(if below { Status::Below } else { Status::Waiting });
        self.look_at_stack();
    }

    /// Stores recommendation and knowledge, then ends the task.
    #[inline(never)]
    fn finish(&mut self, optimizer: &Optimizer<'_>, stop: Stop) {
        let task = self.tuner.ticket().task;
        let Some(best) = optimizer.recommendation() else {
            warn!("nothing was observed: there is nothing to recommend");
            return self.drop_task(DropReason::NothingObserved);
        };
        let status = optimizer.status();
        self.count_below(&status);
        let queries = optimizer.records().count() as u32;
        let entry = Entry::finished(&best, status.spent, queries, reason(stop));
        let system = &mut self.system;
        let stored = self.recorder.finish(&entry, task, |sink| {
            let mut feeding = |bytes: &[u8]| {
                system.feed();
                sink(bytes);
            };
            optimizer.knowledge(&mut feeding)
        });
        if stored.is_err() {
            return self.out_of_order();
        }
        self.look_at_stack();
        info!("task {} done: {} queries, longest slice {} ticks", task, queries, self.longest);
        info!("stack {}, fallbacks {}", self.system.stack(), status.fallbacks);
        self.recommend(optimizer, stop);
    }

    /// Tells the station what is best under the conditions at hand.
    // Not inlined: the loop that calls it would take its stack, too.
    #[inline(never)]
    fn recommend(&mut self, optimizer: &Optimizer<'_>, stop: Stop) {
        if let Some(best) = recommendation(optimizer, self.tuner.ticket().task, stop) {
            self.tuner.finish(best);
        }
    }

    /// What is stored does not fit this firmware: the task cannot go on, but another may begin.
    fn give_up_task(&mut self, why: foretune_core::Error) {
        error!("the task cannot go on: {}", why);
        self.recorder.health.fault = recorder::FAULT_KNOWLEDGE;
        self.drop_task(DropReason::Stored);
    }

    /// Drops the task and remembers why, for the station that asks for it.
    fn drop_task(&mut self, reason: DropReason) {
        if self.recorder.append(&Entry::Dropped { reason }).is_err() {
            return self.out_of_order();
        }
        self.tuner.drop_task(reason);
    }

    fn out_of_order(&mut self) {
        error!("out of order: the flash failed");
        self.recorder.health.fault = recorder::FAULT_STORAGE;
        self.tuner.fail();
    }

    /// Measures the stack for the next status. Not in every slice: a large stack takes a while to look through.
    fn look_at_stack(&mut self) {
        let stack = self.system.stack();
        self.recorder.health.stack_free = stack.size.saturating_sub(stack.used);
    }

    fn ready(&mut self) -> bool {
        self.serial.read_ready().unwrap_or(false)
    }

    /// Serves the serial line until it is silent; not for ever, lest a babbling one starve everything else.
    fn serve(&mut self, mut task: Option<&mut Task<'_, '_>>) {
        let mut byte = [0];
        let mut frame = [0; link::MAX_FRAME];
        for _ in 0..SERIAL_BUFFER {
            if !self.ready() {
                break;
            }
            if !matches!(self.serial.read(&mut byte), Ok(1)) {
                continue;
            }
            let mut recording = Recording { recorder: &mut self.recorder, task: task.as_deref_mut() };
            if let Some(answer) = self.tuner.serve(&mut self.decoder, byte[0], &mut recording, &mut frame) {
                // A line that does not take the answer is a line that lost it: the station asks again.
                let _ = self.serial.write_all(answer);
                let _ = self.serial.flush();
            }
        }
    }
}

/// What lies in this range of the flash; nothing where there is no range.
fn mapped<F: Mapped>(flash: &F, range: Option<core::ops::Range<u32>>) -> &[u8] {
    let range = range.map_or(0..0, |range| range.start as usize..range.end as usize);
    flash.mapped().get(range).unwrap_or(&[])
}

#[cfg(test)]
mod tests;
