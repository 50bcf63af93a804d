//! Learning how noisy a fidelity is: the deployed point is measured several times, charged to the budget.

use foretune_core::LARGEST_VALUE;
use host_sim::error::Error;
use host_sim::words::number;

use super::several::Next;
use super::{Reason, Told, Tuning};
use crate::Why;
use crate::target::is_within;

/// Measurements of the deployed point from which the noise of a fidelity is estimated.
const REPEATS: usize = 5;
/// No variance is larger: it must be an `f32`, too.
const LARGEST_NOISE: f64 = 1e38;

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
        if needed <= budget {
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

    /// Of what repeated measurements gave.
    fn learn_noise(&mut self, fidelity: usize, told: &[Told]) {
        let of = |value: &dyn Fn(&Told) -> f64| variance(&told.iter().map(value).collect::<Vec<f64>>());
        let of_value = of(&|told| told.value.map_or(0.0, f64::from));
        self.state.noise[fidelity].get_or_insert(of_value.min(LARGEST_NOISE));
        for (g, guard) in self.target.guards.iter().enumerate().filter(|(_, guard)| guard.noise.is_empty()) {
            let of_kpi = of(&|told| told.kpis.get(g).map_or(0.0, |kpi| guard.told(*kpi).into()));
            let known = self.state.kpi_noise.entry(guard.name.clone()).or_default();
            known.resize(self.target.fidelities.len(), None);
            known[fidelity].get_or_insert(of_kpi.min(LARGEST_NOISE));
        }
    }

    pub(super) fn estimates(&self) -> impl Iterator<Item = &Told> {
        let answers = self.state.current().map_or(&[][..], |task| &task.answers);
        answers.iter().filter(|told| told.why == Why::Noise)
    }

    /// The deployed point once more, where a noise is not known.
    pub(super) fn next_repeat(&mut self) -> Result<Next, Error> {
        for fidelity in 0..self.target.fidelities.len() {
            if self.is_noise_known(fidelity) {
                continue;
            }
            let is_repeat = |told: &&Told| told.fidelity == fidelity && told.value.is_some();
            let told: Vec<Told> = self.estimates().filter(is_repeat).cloned().collect();
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

fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0)
}
