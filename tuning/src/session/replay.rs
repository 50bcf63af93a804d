//! Answers told again: after a restart, and once a task has ended, to say what is best under other conditions.

use foretune_core::{Optimizer, Record};
use host_sim::error::Error;
use host_sim::runner::{Next, Space, Tuner};

use super::{Ended, Told, Tuning, several};
use crate::Why;

impl Tuning {
    /// What is recommended under these conditions after the end of a task, whose answers are told again for that.
    ///
    /// # Errors
    /// [`Error::Usage`] if the task has not ended, or nothing was measured in it.
    pub fn recommend_at(&mut self, conditions: &[f64]) -> Result<Ended, Error> {
        let nothing = || Error::usage("there is no task that has ended with a recommendation");
        let ended = self.ended().filter(|ended| ended.point.is_some()).cloned().ok_or_else(nothing)?;
        let changed = self.change();
        let found = self.with_optimizer(|tuning, space, tuner| {
            tuning.replay_all(space, tuner)?;
            Tuner::finish(tuner);
            let best = tuner.recommendation_at(&tuning.core_conditions(space, conditions))?;
            let (point, unassured) = (Some(tuning.shown(space, best.unit())?), !best.assured);
            let deviation = tuning.widening() * best.deviation;
            Ok(Ended { point, mean: best.mean, deviation, unassured, ..ended })
        });
        found.map_err(|why| match changed {
            Some(change) => Error::usage(format!(
                "{change}: what the task learnt is told with what it ran with; change it back, or run the next task first"
            )),
            None => why,
        })
    }

    /// Conditions as the optimizer is given them.
    pub(super) fn core_conditions(&self, space: &Space, conditions: &[f64]) -> Vec<f32> {
        let point = [&vec![0.0; self.target.chosen()], conditions].concat();
        let given = point.len() - conditions.len()..point.len();
        space.core_point(&point)[given].to_vec()
    }

    /// Tells the answers from before a restart again.
    pub(super) fn replay_all(&self, space: &Space, tuner: &mut Optimizer<'_>) -> Result<(), Error> {
        let mut earlier = self.task()?.answers.iter().filter(|told| told.why != Why::Noise);
        earlier.try_for_each(|told| self.replay(space, tuner, told))
    }

    fn replay(&self, space: &Space, tuner: &mut Optimizer<'_>, told: &Told) -> Result<(), Error> {
        let (kpis, cost) = (self.target.told(&told.kpis), self.own_cost(told.fidelity, told.cost));
        let chosen = self.target.chosen();
        let conditions = if told.told_at { &told.point[chosen..] } else { &[] };
        let other = || {
            Error::usage(
                "the stored answers are not those to the queries that this version of foretune asks: finish the task \
                 with the version that began it, or give another --state",
            )
        };
        if !told.unit.is_empty() {
            let record = several::record(&told.unit, told.fidelity, told.why);
            let record = Record { y: told.value, kpis: kpis.into_iter().collect(), cost, ..record };
            return Ok(tuner.observe(record, &self.core_conditions(space, conditions))?);
        }
        if !told.asked_at.is_empty() {
            tuner.set_conditions(&self.core_conditions(space, &told.asked_at))?;
        }
        let Next::Query(proposal) = tuner.next(&|| true) else { return Err(other()) };
        let shown = self.shown(space, &proposal.unit)?;
        if shown[..chosen] != told.point[..chosen] || proposal.fidelity != told.fidelity {
            return Err(other());
        }
        Ok(self.tell(space, tuner, (told.value, &kpis, cost), conditions)?)
    }
}
