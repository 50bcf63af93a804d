//! Learning how noisy a fidelity is: the deployed point is measured several times, charged to the budget.
//!
//! One absurd answer would make the variance, and with it all that is measured against the noise, as large as it likes: it is left
//! out, and counts as an outlier.

use std::collections::BTreeSet;

use foretune_core::LARGEST_VALUE;
use host_sim::error::Error;
use host_sim::problems::Guarded;
use host_sim::words::number;

use super::several::Next;
use super::{Reason, Told, Tuning};
use crate::Why;
use crate::target::is_within;
use crate::why::VALUE;

/// Measurements of the deployed point from which the noise of a fidelity is estimated.
const REPEATS: usize = 5;
/// No variance is larger: it must be an `f32`, too.
const LARGEST_NOISE: f64 = 1e38;
/// One that lies farther from all others than so many times their range is absurd. Of five with normal noise about one in 120 is (Dixon's
/// test: a gap of 5/6 of the whole range).
const ABSURD: f64 = 5.0;
/// Others this close together, relative to the largest, count as this far apart: answers may be rounded.
const CLOSEST: f64 = 0.01;

impl Tuning {
    /// How much less sure an expectation is where a noise was estimated: the standard deviation of Student's t, whose
    /// degrees of freedom the repeats leave, over that of a normal distribution.
    pub(super) fn widening(&self) -> f32 {
        let freedom = REPEATS as f32 - 1.0;
        let estimated = self.target.fidelities.iter().any(|rung| rung.noise.is_none())
            || self.target.guards.iter().any(|guard| guard.noise.is_empty());
        if estimated { (freedom / (freedom - 2.0)).sqrt() } else { 1.0 }
    }

    /// Refuses a task whose budget would be used up before the noise is known.
    pub(super) fn check_budget(&self) -> Result<(), Error> {
        let rungs = self.target.fidelities.iter().enumerate();
        let unknown: f64 = rungs.filter(|(m, _)| !self.is_noise_known(*m)).map(|(_, rung)| rung.cost).sum();
        let (needed, budget) = (REPEATS as f64 * unknown, self.target.budget);
        if needed <= budget * (1.0 + 4.0 * f64::EPSILON) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "learning the noise costs {}, {REPEATS} measurements of each fidelity without `noise`, and the budget is {}: \
             give `noise`, or more budget",
            number(needed),
            number(budget)
        )))
    }

    /// What is known of the noise of a guarded KPI that was given without.
    pub(super) fn kpi_noise(&self, name: &str, fidelity: usize) -> Option<f64> {
        self.state.kpi_noise.get(name)?.get(fidelity).copied()?
    }

    pub(super) fn is_any_noise_unknown(&self) -> bool {
        (0..self.target.fidelities.len()).any(|m| !self.is_noise_known(m))
    }

    fn is_noise_known(&self, fidelity: usize) -> bool {
        let mut unknown = self.target.guards.iter().filter(|guard| guard.noise.is_empty());
        self.state.noise[fidelity].is_some()
            && unknown.all(|guard| self.kpi_noise(&guard.name, fidelity).is_some())
    }

    /// What repeated measurements gave, of the value and of every guarded KPI, where the noise is to be learnt.
    fn repeated(&self, told: &[Told]) -> (Vec<f64>, Vec<(String, Vec<f64>)>) {
        let unknown = self.target.guards.iter().enumerate().filter(|(_, guard)| guard.noise.is_empty());
        let of_kpi = |(g, guard): (usize, &Guarded)| {
            let kpi = |told: &Told| told.kpis.get(g).map_or(0.0, |kpi| guard.told(*kpi).into());
            (guard.name.clone(), told.iter().map(kpi).collect())
        };
        (told.iter().map(|told| told.value.map_or(0.0, f64::from)).collect(), unknown.map(of_kpi).collect())
    }

    fn learn_noise(&mut self, fidelity: usize, told: &[Told]) {
        let (values, kpis) = self.repeated(told);
        self.state.noise[fidelity].get_or_insert(variance(values).min(LARGEST_NOISE));
        for (name, values) in kpis {
            let known = self.state.kpi_noise.entry(name).or_default();
            known.resize(self.target.fidelities.len(), None);
            known[fidelity].get_or_insert(variance(values).min(LARGEST_NOISE));
        }
    }

    /// Repeats of the current task that were left out, because their value or a KPI was absurd.
    pub(super) fn absurd_repeats(&self) -> usize {
        let of = |fidelity: usize| {
            let told = self.repeats(fidelity);
            let (values, kpis) = self.repeated(&told);
            let given = self.target.fidelities[fidelity].noise.is_some();
            let columns = kpis.iter().map(|(_, values)| values).chain((!given).then_some(&values));
            columns.filter_map(|values| absurd(values)).collect::<BTreeSet<usize>>().len()
        };
        (0..self.target.fidelities.len()).map(of).sum()
    }

    pub(super) fn estimates(&self) -> impl Iterator<Item = &Told> {
        let answers = self.state.current().map_or(&[][..], |task| &task.answers);
        answers.iter().filter(|told| told.why == Why::Noise)
    }

    /// Those of a fidelity that did not fail.
    fn repeats(&self, fidelity: usize) -> Vec<Told> {
        let is_repeat = |told: &&Told| told.fidelity == fidelity && told.value.is_some();
        self.estimates().filter(is_repeat).cloned().collect()
    }

    /// The point in use, with the median of its repeats and how sure that is, for a task that ends with nothing else. One repeat alone
    /// does not say how sure it is.
    pub(super) fn in_use_as_repeated(&self) -> Option<(Vec<f64>, f32, f32)> {
        let (task, target) = (self.task().ok()?, &self.target);
        let told = self.repeats(target.truth());
        let values: Vec<f64> = told.iter().filter_map(|told| told.value.map(f64::from)).collect();
        let count = Some(values.len()).filter(|count| *count > 1)? as f64;
        let deviation = self.widening() * (variance(values).min(LARGEST_NOISE) / count).sqrt() as f32;
        Some((task.begun.deployed.clone()?, task.measured_in_use(target, VALUE)? as f32, deviation))
    }

    /// The deployed point once more, where a noise is not known.
    pub(super) fn next_repeat(&mut self) -> Result<Next, Error> {
        for fidelity in 0..self.target.fidelities.len() {
            if self.is_noise_known(fidelity) {
                continue;
            }
            let told = self.repeats(fidelity);
            let (cost, task) = (|m: usize| self.target.fidelities[m].cost, self.task()?);
            let pending = || task.pending.iter().map(|ask| ask.fidelity);
            if told.len() == REPEATS {
                self.learn_noise(fidelity, &told);
                self.save()?;
            } else if told.len() + pending().filter(|m| *m == fidelity).count() < REPEATS {
                if task.spent() + pending().map(cost).sum::<f64>() + cost(fidelity) > task.begun.budget {
                    return Ok(Next::Done(Reason::Budget));
                }
                let point = task.begun.deployed.clone().ok_or(Error::Defect)?;
                return Ok(Next::Ask(Box::new(self.ask(point, fidelity, Why::Noise))));
            }
        }
        Ok(Next::Wait)
    }
}

/// Whether the optimizer would take such an answer, whatever the others are.
pub(super) fn check_answer(value: f64, cost: Option<f64>) -> Result<(), &'static str> {
    if !is_within(value) {
        Err("a value is a finite number within ±1e30")
    } else if cost.is_some_and(|cost| !(0.0..=f64::from(LARGEST_VALUE)).contains(&cost)) {
        Err("what a measurement cost must be 0 or more, and finite")
    } else {
        Ok(())
    }
}

/// The absurd one of all repeats, by its index.
fn absurd(values: &[f64]) -> Option<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let [lowest, second, .., before, highest] = order[..] else { return None };
    let is_far = |one: usize, next: usize, other: usize| {
        let [one, next, other] = [one, next, other].map(|i| values[i]);
        let range = (next - other).abs().max(CLOSEST * next.abs().max(other.abs()));
        // Where all others are 0, nothing says what is usual.
        range > 0.0 && (one - next).abs() > ABSURD * range
    };
    let found = [(highest, before, lowest), (lowest, second, highest)];
    let complete = values.len() == REPEATS;
    found.into_iter().find(|(one, next, other)| complete && is_far(*one, *next, *other)).map(|(one, ..)| one)
}

/// Of repeats, but for an absurd one.
pub(super) fn variance(mut values: Vec<f64>) -> f64 {
    absurd(&values).map(|one| values.swap_remove(one));
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0)
}
