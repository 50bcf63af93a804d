//! One task from its first query to its recommendation: the optimizer asks, the simulator answers with noise; and where
//! randomness comes from: one root seed, and for every experiment its own four.

use super::space::Space;
use super::tuner::{Advice, Next, Proposal, Tuner};
use crate::error::Error;
use crate::problems::random::{Purpose, Random};
use crate::problems::{Guarded, ProblemSpec, Task};
use crate::results;
use crate::words::shortest;
use foretune_core::{Kind, Stop};

#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub proposal: Proposal,
    /// The setting in the problem's units.
    pub setting: Vec<f64>,
    pub cost: f64,
    /// What it took, charged or not, in the unit of the budget.
    pub time: f64,
    /// The observation, as the optimizer was told.
    pub y: f32,
    /// The noise-free value at the target fidelity.
    pub truth: f64,
    /// Likewise the guarded KPIs.
    pub kpis: Vec<f64>,
}

impl Answered {
    pub fn row(self) -> results::Row {
        results::Row {
            kind: kind(self.proposal.kind),
            fidelity: self.proposal.fidelity as u32 + 1,
            cost: self.cost,
            time: Some(self.time),
            x: self.setting,
            y: Some(shortest(self.y)),
            truth: Some(self.truth),
            kpis: self.kpis,
        }
    }
}

/// The kind of query as results have it.
pub(super) fn kind(kind: Kind) -> results::Kind {
    match kind {
        // Past measurements are never asked for.
        Kind::Initial | Kind::Past => results::Kind::Initial,
        Kind::Carried => results::Kind::Carried,
        Kind::Search => results::Kind::Search,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub stop: Stop,
    pub advice: Advice,
    /// The recommended setting in the problem's units.
    pub setting: Vec<f64>,
    /// Its noise-free value at the target fidelity, and the guarded KPIs.
    pub truth: f64,
    pub kpis: Vec<f64>,
}

impl Ended {
    pub fn row(&self, fidelities: usize) -> results::Row {
        results::Row {
            kind: results::Kind::Recommend,
            fidelity: fidelities as u32,
            cost: 0.0,
            time: None,
            x: self.setting.clone(),
            y: None,
            truth: Some(self.truth),
            kpis: self.kpis.clone(),
        }
    }
}

/// Plays one task to its end.
///
/// # Errors
/// [`Error::Interrupted`] when `go_on` says no; what `each` returns; what the optimizer has against an answer.
pub fn play(
    tuner: &mut dyn Tuner,
    task: &dyn Task,
    spec: &ProblemSpec,
    space: &Space,
    noise: &mut Noise,
    go_on: &dyn Fn() -> bool,
    each: &mut dyn FnMut(Answered) -> Result<(), Error>,
) -> Result<Ended, Error> {
    let truth = spec.fidelities.len() - 1;
    let guards = &space.service().guards;
    if let Some((rule, found)) = tuner.relay_rule().and_then(|rule| Some((rule, task.relay()?))) {
        let unit = tuner.deployed().unwrap_or_default();
        tuner.adopt(space.unit(&[rule[0] * found.gain, rule[1] * found.period, rule[2] * found.period]));
        let (setting, kpis) =
            (space.natural(&unit), guards.iter().map(|guard| found.kpis[guard.index]).collect());
        let proposal = Proposal { unit, fidelity: 0, kind: Kind::Initial, round: 0 };
        let (cost, truth) = (found.cost, found.value);
        each(Answered { proposal, setting, cost, time: cost, y: truth as f32, truth, kpis })?;
    }
    loop {
        let proposal = match tuner.next(go_on) {
            Next::Query(proposal) => proposal,
            Next::Interrupted => return Err(Error::Interrupted),
            Next::Done(stop) => {
                let nothing = || {
                    Error::usage("nothing can be measured: no initial points, and the budget is too small")
                };
                let advice = tuner.advice().ok_or_else(nothing)?;
                let setting = space.natural(&advice.unit);
                let (truth, kpis) = (task.value(truth, &setting), guarded(guards, task, truth, &setting));
                return Ok(Ended { stop, advice, setting, truth, kpis });
            }
        };
        let fidelity = &spec.fidelities[proposal.fidelity];
        let setting = space.natural(&proposal.unit);
        let y = (task.value(proposal.fidelity, &setting) + noise.draw(fidelity.noise_variance)) as f32;
        let measured = guarded(guards, task, proposal.fidelity, &setting);
        let told = |(guard, kpi): (&Guarded, f64)| {
            guard.told(kpi) + noise.kpi(f64::from(guard.noise[proposal.fidelity])) as f32
        };
        let kpis: Vec<f32> = guards.iter().zip(measured).map(told).collect();
        tuner.answer(Some(y), if tuner.knows_guards() { &kpis } else { &[] })?;
        let cost = if space.is_free(proposal.kind) { 0.0 } else { fidelity.cost };
        let (truth, kpis) = (task.value(truth, &setting), guarded(guards, task, truth, &setting));
        each(Answered { proposal, setting, cost, time: fidelity.cost, y, truth, kpis })?;
    }
}

/// The true KPIs that are guarded, in the order of the guards.
pub(super) fn guarded(guards: &[Guarded], task: &dyn Task, fidelity: usize, x: &[f64]) -> Vec<f64> {
    let kpis = if guards.is_empty() { Vec::new() } else { task.kpis(fidelity, x) };
    guards.iter().map(|guard| kpis[guard.index]).collect()
}

/// The seeds of one experiment. None depends on the method, so that all methods of an experiment meet the same tasks, the
/// same initial points and, query by query, the same noise: differences between methods are differences within pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Of the sequence of tasks.
    pub tasks: u64,
    pub optimizer: u64,
    pub noise: u64,
    /// Of random search and the lattice.
    pub baseline: u64,
}

impl Seeds {
    /// The seeds of an experiment, counted from 1.
    pub fn new(root: u64, experiment: u32) -> Self {
        let mut random = Random::new(root, Purpose::Experiment, experiment as usize);
        let [tasks, optimizer, noise, baseline] = std::array::from_fn(|_| random.bits());
        Self { tasks, optimizer, noise, baseline }
    }
}

/// The observation noise of one task: one draw per query, in their order; and that of the KPIs.
pub struct Noise(Random, Random);

impl Noise {
    /// The noise of a task, counted from 1.
    pub fn new(seed: u64, task: u32) -> Self {
        Self(
            Random::new(seed, Purpose::Noise, task as usize),
            Random::new(seed, Purpose::KpiNoise, task as usize),
        )
    }

    /// The next query's noise, of the given variance.
    pub fn draw(&mut self, variance: f64) -> f64 {
        variance.sqrt() * self.0.normal()
    }

    /// The next KPI's.
    fn kpi(&mut self, variance: f64) -> f64 {
        variance.sqrt() * self.1.normal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards results that people have stored.
    #[test]
    fn seeds_and_noise_stay_what_they_were() {
        let seeds = Seeds::new(1, 1);
        let mut noise = Noise::new(seeds.noise, 1);
        assert_eq!(seeds.tasks, 3_352_151_618_773_015_216);
        assert_eq!(seeds.optimizer, 8_553_262_432_999_347_601);
        assert_eq!(noise.draw(1.0).to_bits(), 13_826_492_980_682_104_681);
        assert_eq!(noise.draw(0.25).to_bits(), 4_592_198_577_885_850_818);
        assert_ne!(seeds, Seeds::new(1, 2));
        assert_ne!(seeds, Seeds::new(2, 1));
    }
}
