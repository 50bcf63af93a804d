//! One task from its first query to its recommendation: the optimizer asks, the simulator answers with noise.

use foretune_core::{Fallbacks, Kind, Stop};

use super::seeds::Noise;
use super::space::Space;
use super::tuner::{Advice, Next, Proposal, Tuner};
use crate::error::Error;
use crate::problems::{ProblemSpec, Task};
use crate::results;
use crate::words::shortest;

/// A query with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The query.
    pub proposal: Proposal,
    /// The setting in the problem's units.
    pub setting: Vec<f64>,
    /// What was charged.
    pub cost: f64,
    /// What it took, charged or not, in the unit of the budget.
    pub time: f64,
    /// The observation, as the optimizer was told.
    pub y: f32,
    /// The noise-free value at the truth's fidelity.
    pub truth: f64,
}

impl Answered {
    /// The row that is kept of it.
    pub fn row(self) -> results::Row {
        results::Row {
            kind: kind(self.proposal.kind),
            fidelity: self.proposal.fidelity as u32 + 1,
            cost: self.cost,
            time: Some(self.time),
            x: self.setting,
            y: Some(shortest(self.y)),
            truth: Some(self.truth),
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

/// How a task ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Why it ended.
    pub stop: Stop,
    /// The recommendation.
    pub advice: Advice,
    /// The recommended setting in the problem's units.
    pub setting: Vec<f64>,
    /// Its noise-free value at the truth's fidelity.
    pub truth: f64,
    /// How often numerics had to help themselves.
    pub fallbacks: Fallbacks,
}

impl Ended {
    /// The row that is kept of it.
    pub fn row(&self, fidelities: usize) -> results::Row {
        results::Row {
            kind: results::Kind::Recommend,
            fidelity: fidelities as u32,
            cost: 0.0,
            time: None,
            x: self.setting.clone(),
            y: None,
            truth: Some(self.truth),
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
                let truth = task.value(truth, &setting);
                return Ok(Ended { stop, advice, setting, truth, fallbacks: tuner.fallbacks() });
            }
        };
        let fidelity = &spec.fidelities[proposal.fidelity];
        let setting = space.natural(&proposal.unit);
        let y = (task.value(proposal.fidelity, &setting) + noise.draw(fidelity.noise_variance)) as f32;
        tuner.tell(y)?;
        let cost = if space.is_free(proposal.kind) { 0.0 } else { fidelity.cost };
        let truth = task.value(truth, &setting);
        each(Answered { proposal, setting, cost, time: fidelity.cost, y, truth })?;
    }
}
