//! All units of a study, or of a shard of it, over worker threads.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use foretune_core::Side;

use super::measured;
use super::plan::Plan;
use super::progress::Progress;
use super::session::{Noise, guarded, play};
use super::tuner::Tuner;
use crate::error::Error;
use crate::problems::Guarded;
use crate::results::{Bound, Resumed, Shard, Study, Terms, Timing, UnitId, UnitWriter};

/// How a study is run; nothing of this changes its results.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    pub jobs: usize,
    pub shard: Shard,
    /// Whether to go on with a study that is there.
    pub resume: bool,
    pub quiet: bool,
}

/// Runs a study in a folder and sums it up.
///
/// # Errors
/// [`Error::Interrupted`] when `stop` is set: finished tasks are on the disk then. [`Error::File`] if the folder
/// cannot be used, or as soon as something cannot be written.
pub fn run(plan: &Plan, folder: &Path, how: Execution, stop: &AtomicBool) -> Result<Study, Error> {
    let manifest = plan.manifest().clone();
    let study = if how.resume { Study::resume(folder, manifest) } else { Study::create(folder, manifest) }?;
    let mut units = how.shard.units(plan.manifest());
    // All variants of an experiment first: what is there after an interruption can be compared.
    units.sort_by_key(|unit| (unit.experiment, unit.variant));
    let progress = Progress::new(plan, &study, &units, how.quiet)?;
    let pool = Pool {
        plan,
        study: &study,
        progress: &progress,
        stop,
        queue: Mutex::new(units),
        failed: Mutex::default(),
    };
    let started = Instant::now();
    let work = pool.work(how.jobs);
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let timing = Timing {
        wall_seconds: started.elapsed().as_secs_f64(),
        work_seconds: work.as_secs_f64(),
        jobs: how.jobs as u32,
        cores,
        runs: 1,
    };
    progress.close();
    study.add_timing(timing)?;
    if let Some(error) = pool.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    study.write_summary()?;
    Ok(study)
}

pub(super) struct Pool<'a> {
    plan: &'a Plan,
    study: &'a Study,
    pub progress: &'a Progress,
    stop: &'a AtomicBool,
    queue: Mutex<Vec<UnitId>>,
    failed: Mutex<Option<Error>>,
}

impl Pool<'_> {
    /// Starts the workers and waits for them; returns the time they spent.
    fn work(&self, jobs: usize) -> Duration {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).reverse();
        thread::scope(|scope| {
            let start = |_| thread::Builder::new().spawn_scoped(scope, || self.worker());
            let workers: Vec<_> = (0..jobs.max(1)).map(start).collect();
            let mut total = Duration::ZERO;
            for worker in workers {
                match worker.map(thread::ScopedJoinHandle::join) {
                    Ok(Ok(time)) => total += time,
                    Ok(Err(_)) => self.fail(Error::Defect),
                    Err(error) => self.fail(Error::Output(error)),
                }
            }
            total
        })
    }

    fn worker(&self) -> Duration {
        let started = Instant::now();
        while let Some(unit) = self.next() {
            if let Err(error) = run_unit(self.plan, self.study, unit, self) {
                self.fail(error);
                break;
            }
        }
        started.elapsed()
    }

    fn next(&self) -> Option<UnitId> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.is_empty() {
            return None;
        }
        if !self.go_on() {
            self.fail(Error::Interrupted);
            return None;
        }
        queue.pop()
    }

    /// Keeps the first failure; the interruptions of the others follow from it.
    fn fail(&self, error: Error) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub fn go_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && !self.has_failed()
    }
}

/// Runs what is left of a unit.
///
/// # Errors
/// [`Error::Interrupted`] if it was stopped: finished tasks are on the disk then; [`Error::File`] if they
/// could not be put there.
fn run_unit(plan: &Plan, study: &Study, unit: UnitId, pool: &Pool<'_>) -> Result<(), Error> {
    let (mut writer, state) = match study.open_unit(unit)? {
        Resumed::Finished => return Ok(()),
        Resumed::Continue { writer, state, note } => {
            note.iter().for_each(|note| pool.progress.note(note));
            (writer, state)
        }
    };
    plan.with_tuner(unit.variant, unit.experiment, |tuner| {
        if let Some(state) = state {
            tuner.load(&state)?;
        }
        for number in writer.next_task()..=plan.manifest().tasks {
            task(plan, unit, number, tuner, &mut writer, pool)?;
            writer.save_snapshot(&tuner.knowledge()?)?;
            pool.progress.finished(unit);
            tuner.next_task()?;
        }
        Ok(())
    })?;
    writer.finish()
}

/// The bounds of the guards where what is in use has these KPIs.
pub(super) fn bounds(guards: &[Guarded], kpis: Vec<f64>) -> Vec<Bound> {
    let bound =
        |(guard, kpi): (&Guarded, f64)| Bound { at_most: guard.side == Side::AtMost, at: guard.bound(kpi) };
    guards.iter().zip(kpis).map(bound).collect()
}

fn task(
    plan: &Plan,
    unit: UnitId,
    number: u32,
    tuner: &mut dyn Tuner,
    writer: &mut UnitWriter,
    pool: &Pool<'_>,
) -> Result<(), Error> {
    let (benchmark, seeds) = (plan.benchmark(), plan.seeds(unit.experiment));
    if let Some(bench) = benchmark.bench() {
        return measured::task(plan, bench, unit, number, tuner, writer, pool);
    }
    let spec = benchmark.spec();
    let task = benchmark.tasks(seeds.tasks)?.task(number as usize - 1);
    let (truth, guards) = (spec.fidelities.len() - 1, &benchmark.space().service().guards);
    let in_use = tuner.deployed().map(|unit| benchmark.space().natural(&unit));
    let deployed = in_use.as_ref().map(|x| task.value(truth, x));
    let bounds: Vec<Bound> =
        in_use.iter().flat_map(|x| bounds(guards, guarded(guards, &*task, truth, x))).collect();
    let optimum = plan.optimum((unit.experiment, number), &*task, in_use.as_deref(), &bounds);
    let asked = benchmark.space().service().floor;
    let floor = asked.zip(deployed).map(|(floor, value)| f64::from(floor.level.at(value as f32, 1.0)));
    let mut rows = writer.begin_task(Terms { optimum, deployed, floor, bounds })?;
    let mut spent = 0.0;
    let ended = play(
        tuner,
        &*task,
        spec,
        benchmark.space(),
        &mut Noise::new(seeds.noise, number),
        &|| pool.go_on(),
        &mut |answered| {
            spent += answered.cost;
            pool.progress.advanced(unit, spent / spec.budget.max(f64::MIN_POSITIVE));
            rows.push(answered.row())
        },
    )?;
    rows.push(ended.row(spec.fidelities.len()))?;
    rows.close()
}
