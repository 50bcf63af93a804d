//! Readings of a recommendation in use, until the device notices that the world has changed, and the same watch here.

use std::io::Write;

use foretune_core::{Reading as Verdict, Watch};
use foretune_link::{Query, Reading, Station};

use super::notes::Notes;
use super::world::World;
use host_sim::error::Error;

/// Readings before the world changes to that of the next task.
const STEADY: u32 = 60;

/// A watch: its reading that the device looks at, and the watches of its numbers.
pub struct Watching {
    place: usize,
    query: Query,
    run_length: f32,
    reading: Reading,
    watches: Vec<Watch>,
}

impl Watching {
    /// Hands in the first reading of what was recommended in the task before this place; none if nothing was.
    pub fn begin(
        place: usize,
        run_length: f32,
        notes: &Notes,
        world: &mut World,
        station: &mut Station<'_>,
    ) -> Result<Option<Self>, Error> {
        let last = &notes.traces[place - 1];
        let query = last.queries.iter().max_by_key(|query| query.fidelity);
        let (Some(query), Some(end)) = (query, &last.recommendation) else { return Ok(None) };
        let query = Query { point: end.point.clone(), ..query.clone() };
        let reading = read(&query, place, run_length, 0, world)?;
        let watches = vec![Watch::new(run_length)?];
        station.watch(reading);
        Ok(Some(Watching { place, query, run_length, reading, watches }))
    }

    /// The device finds nothing, and wants reading `next`: 0 after a restart.
    pub fn steady(&mut self, next: u32, world: &mut World, station: &mut Station<'_>) -> Result<(), Error> {
        if next == 0 {
            self.watches.iter_mut().for_each(Watch::restart);
        } else {
            self.compare(Verdict::Steady)?;
        }
        if next > 10 * STEADY {
            return Err(Error::Device("the device does not notice that the world has changed".into()));
        }
        self.reading = read(&self.query, self.place, self.run_length, next, world)?;
        station.watch(self.reading);
        Ok(())
    }

    pub fn changed(mut self, task: u32, out: &mut dyn Write) -> Result<(), Error> {
        self.compare(Verdict::Changed)?;
        writeln!(
            out,
            "reading {} of the setting in use: changed, so that task {task} begins",
            self.reading.number
        )?;
        Ok(out.flush()?)
    }

    fn compare(&mut self, device: Verdict) -> Result<(), Error> {
        let Reading { number, deviation, value, .. } = self.reading;
        let host = Watch::tell_all(&mut self.watches, &[value], deviation)?;
        if host == device {
            return Ok(());
        }
        Err(Error::Device(format!("DIFFERENT: reading {number}: {device:?} on the device, {host:?} here")))
    }
}

fn read(
    query: &Query,
    place: usize,
    run_length: f32,
    number: u32,
    world: &mut World,
) -> Result<Reading, Error> {
    let place = if number < STEADY { place - 1 } else { place };
    let mut query = query.clone();
    query.ticket.step = number;
    for attempt in 0..10 {
        query.attempt = attempt;
        if let Some((value, kpis)) = world.measure(place, &query)?.0.finite() {
            let task = query.ticket.task;
            return Ok(Reading { task, number, run_length, deviation: 1.0, value, kpis });
        }
    }
    Err(Error::Device("the recommendation cannot be measured".into()))
}
