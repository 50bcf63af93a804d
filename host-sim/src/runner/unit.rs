//! One unit of work: one variant in one experiment, all its tasks in order, written as it goes.

use super::measured;
use super::plan::Plan;
use super::pool::Pool;
use super::seeds::Noise;
use super::session::play;
use super::tuner::Tuner;
use crate::error::Error;
use crate::results::{Resumed, Study, Terms, UnitId, UnitWriter};

/// Runs what is left of a unit.
///
/// # Errors
/// [`Error::Interrupted`] if it was stopped: finished tasks are on the disk then; [`Error::Results`] if they
/// could not be put there.
pub fn run(plan: &Plan, study: &Study, unit: UnitId, pool: &Pool<'_>) -> Result<(), Error> {
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
    Ok(writer.finish()?)
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
    let optimum = plan.optimum(unit.experiment, number, &*task);
    let deployed =
        tuner.deployed().map(|unit| task.value(spec.fidelities.len() - 1, &benchmark.space().natural(&unit)));
    let asked = benchmark.space().service().floor;
    let floor = asked.zip(deployed).map(|(floor, value)| f64::from(floor.level.at(value as f32, 1.0)));
    let mut rows = writer.begin_task(Terms { optimum, deployed, floor })?;
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
            Ok(rows.push(answered.row())?)
        },
    )?;
    rows.push(ended.row(spec.fidelities.len()))?;
    rows.close()?;
    Ok(())
}
