//! After a task: whether the setting in use still gives what it gave. If not, the next task begins.

use foretune_core::{Change, Reading, Watch};

use super::Tuning;
use crate::state::{from_hex, to_hex};
use crate::{Ask, Why};
use host_sim::error::Error;

/// How a reading was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// Readings so far.
    pub readings: u32,
    /// What speaks for a change, from 0 to 1.
    pub evidence: f32,
    /// What has changed, if something has: the next task has begun then.
    pub changed: Option<Changed>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// `value`, or a guarded KPI.
    pub of: String,
    /// `lower`, `higher`, `wider` or `narrower`.
    pub change: &'static str,
    /// What was usual.
    pub usual: f64,
}

impl Tuning {
    /// The setting in use since the task at hand has ended, without conditions. One that was given for the start of that task, too, is no
    /// other than before.
    fn used_now(&self) -> Result<Option<Vec<f64>>, Error> {
        let before = &self.task()?.begun.deployed;
        Ok(self.given.clone().filter(|_| self.given != *before).or_else(|| self.left_in_use()))
    }

    /// What to measure while watching: the setting in use, or else the recommended one, at the cheapest fidelity, under the conditions
    /// of the recommendation.
    ///
    /// # Errors
    /// [`Error::Usage`] if the task has not ended, there is no such setting, or no recommendation under conditions.
    pub fn in_use(&self) -> Result<Ask, Error> {
        let (task, chosen) = (self.task()?, self.target.chosen());
        let ended = task.ended.as_ref().ok_or_else(|| Error::usage("the current task has not ended"))?;
        let recommended = ended.point.as_ref().map(|point| point.split_at(chosen));
        let point = self.used_now()?.or(recommended.map(|(point, _)| point.to_vec()));
        let mut point = point.ok_or_else(|| Error::usage("there is no setting in use to watch"))?;
        match recommended {
            Some((_, conditions)) => point.extend(conditions),
            None if self.target.conditions().is_empty() => {}
            None => {
                return Err(Error::usage(
                    "the last task recommended nothing, so that nothing is known under any [[condition]]: run another task, \
                     then watch",
                ));
            }
        }
        let cost = |m: &usize| self.target.fidelities[*m].cost;
        let cheapest = (0..self.target.fidelities.len()).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        Ok(self.ask(point, cheapest.unwrap_or(0), Why::Carried))
    }

    /// Takes a reading of the setting in use, of the same fidelity always, after the task has ended. Where it says that
    /// something has changed, the next task begins. Under conditions that are known, what counts is by how much it differs from what
    /// the model expects under them.
    ///
    /// # Errors
    /// [`Error::Usage`] if the task has not ended, or for a number that is not finite. Nothing has changed then.
    pub fn watch(&mut self, value: f64, kpis: &[f64], conditions: &[f64]) -> Result<Watched, Error> {
        let Ask { fidelity, mut point, .. } = self.in_use()?;
        point.truncate(self.target.chosen());
        let mut readings = vec![value as f32];
        readings.extend(self.target.told(kpis));
        let mut deviation = 1.0;
        if let Some(belief) = self.state.belief.as_ref().filter(|_| !conditions.is_empty()) {
            // What the model is unsure of counts as noise.
            let noise = self.noise()[fidelity].max(f64::from(f32::MIN_POSITIVE));
            deviation =
                (1.0 + belief.variance_under(&self.target, conditions) / noise).sqrt().min(1e6) as f32;
            let [here, there] = [conditions, &belief.through[self.target.chosen()..]]
                .map(|conditions| belief.under(&self.target, conditions));
            for (reading, (here, there)) in readings.iter_mut().zip(here.iter().zip(&there)) {
                *reading -= here - there;
            }
        }
        let mut watches = self.watches(&point, readings.len())?;
        let reading = Watch::tell_all(&mut watches, &readings, deviation)
            .map_err(|why| Error::usage(why.to_string()))?;
        self.state.watched = point;
        self.state.watch = watches.iter().map(|watch| to_hex(&watch.save())).collect();
        let most = watches
            .iter()
            .map(Watch::status)
            .enumerate()
            .max_by(|a, b| a.1.evidence.total_cmp(&b.1.evidence));
        let (index, status) = most.ok_or(Error::Defect)?;
        let changed = (reading == Reading::Changed).then(|| {
            let usual = status.baseline.map_or(f32::NAN, |baseline| baseline.centre);
            let guard = index.checked_sub(1).and_then(|g| self.target.guards.get(g));
            Changed {
                of: guard.map_or("value".into(), |guard| guard.name.clone()),
                change: word(status.change),
                usual: guard.map_or(f64::from(usual), |guard| guard.untold(usual)),
            }
        });
        if changed.is_some() {
            self.begin(self.used_now()?)?;
        } else {
            self.save()?;
        }
        Ok(Watched { readings: status.readings, evidence: status.evidence, changed })
    }

    /// One for every number: those that were saved, if they are as many and watch the same setting for what is wanted.
    fn watches(&self, point: &[f64], count: usize) -> Result<Vec<Watch>, Error> {
        let fresh = Watch::new((self.target.run_length * count as f64).min(1e9) as f32)?;
        let read = |text: &String| Watch::load(&from_hex(text)?).ok();
        let saved = self.state.watch.iter().map(read).collect::<Option<Vec<Watch>>>();
        let same = |saved: &Vec<Watch>| {
            // Older states do not say which setting it was.
            let watched = &self.state.watched;
            (watched.is_empty() || watched == point)
                && saved.len() == count
                && saved.iter().all(|watch| watch.run_length() == fresh.run_length())
        };
        Ok(saved.filter(same).unwrap_or_else(|| vec![fresh; count]))
    }
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Down => "lower",
        Change::Up => "higher",
        Change::Wider => "wider",
        Change::Narrower => "narrower",
    }
}
