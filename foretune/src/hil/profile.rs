//! The firmware's profiles on this host: the same problem, settings and memory, run by the same core.

use foretune_core::{Optimizer, Problem, Progress, Settings};
use foretune_link::problem::{self, Numbers, Parts};
use foretune_link::profile::{self, COMPACT, Compact, DEEP, Deep, coordinates, reason, take_over};
use foretune_link::{Begin, Query, Recommendation, Refusal, Ticket};
use serde::{Deserialize, Serialize};

use super::dialogue::refused;
use host_sim::error::Error;

/// A profile of the firmware, as the host knows it.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    device: profile::Profile,
    run: fn(&Assignment<'_>, &mut Answer<'_>) -> Result<Outline, foretune_core::Error>,
}

/// A task to run: what, how, and from which knowledge.
struct Assignment<'a> {
    problem: Problem<'a>,
    settings: Settings,
    begin: &'a Begin,
    knowledge: &'a [u8],
}

/// Answers a query, and says what that cost where it is not what the query said; `None` gives it up.
type Answer<'a> = dyn FnMut(&Query) -> (Option<f32>, Option<f32>) + 'a;

/// What a task comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The queries in their order.
    pub queries: Vec<Query>,
    /// The end; none while the task runs, and if nothing was observed.
    pub recommendation: Option<Recommendation>,
}

/// A task run on this host.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// What would be seen of it on the line.
    pub trace: Trace,
    /// What the next task starts from.
    pub knowledge: Vec<u8>,
}

impl Profile {
    /// The profile of this name.
    pub fn find(name: &str) -> Result<Self, Error> {
        match name {
            "compact" => Ok(Profile { device: COMPACT, run: run_compact }),
            "deep" => Ok(Profile { device: DEEP, run: run_deep }),
            other => Err(Error::Device(format!(
                "the device has profile `{other}`, which this program does not know"
            ))),
        }
    }

    /// The same with another number of learning steps at the end of a task, as a firmware may be built for tests.
    pub fn with_steps(mut self, steps: Option<u32>) -> Self {
        let settings = &mut self.device.settings;
        settings.steps_per_task = steps.unwrap_or(settings.steps_per_task);
        self
    }

    /// Fingerprint of its problem, as in the greeting.
    pub fn problem(&self) -> u32 {
        self.device.number
    }

    /// Whether the device has room for a problem, given as its bytes.
    pub fn fits(&self, bytes: &[u8]) -> Result<(), Error> {
        let mut numbers = Numbers::new();
        Parts::read(bytes, &mut numbers)
            .and_then(|parts| problem::check(&parts.problem(0.0), self.device.room))
            .map_err(|misfit| refused(&Refusal::BadProblem(misfit)))
    }

    /// One task on this host, of a problem that was sent or else of its own, from some knowledge.
    pub fn run(
        &self,
        begin: &Begin,
        sent: Option<&[u8]>,
        knowledge: &[u8],
        answer: &mut Answer<'_>,
    ) -> Result<Outline, Error> {
        let mut numbers = Numbers::new();
        let parts = sent.map(|bytes| Parts::read(bytes, &mut numbers)).transpose();
        let parts = parts.map_err(|misfit| refused(&Refusal::BadProblem(misfit)))?;
        let own = Problem { budget: begin.budget, ..self.device.problem };
        let problem = parts.as_ref().map_or(own, |parts| parts.problem(begin.budget));
        let settings = self.device.settings_for(&problem);
        Ok((self.run)(&Assignment { problem, settings, begin, knowledge }, answer)?)
    }
}

fn run_compact(task: &Assignment<'_>, answer: &mut Answer<'_>) -> Result<Outline, foretune_core::Error> {
    let mut memory = Box::new(Compact::new());
    run(memory.start(task.problem, task.settings, task.begin.seed)?, task, answer)
}

fn run_deep(task: &Assignment<'_>, answer: &mut Answer<'_>) -> Result<Outline, foretune_core::Error> {
    let mut memory = Box::new(Deep::new());
    run(memory.start(task.problem, task.settings, task.begin.seed)?, task, answer)
}

fn run(
    mut core: Optimizer<'_>,
    task: &Assignment<'_>,
    answer: &mut Answer<'_>,
) -> Result<Outline, foretune_core::Error> {
    let Assignment { problem, begin, knowledge, .. } = *task;
    take_over(&mut core, begin, knowledge)?;
    let mut queries = Vec::new();
    let stop = loop {
        match core.advance_with(knowledge)? {
            Progress::Working => {}
            Progress::Done(stop) => break stop,
            Progress::Query(query) => {
                let fidelity = problem.fidelities[query.fidelity()];
                let asked = Query {
                    ticket: Ticket { task: begin.task, step: queries.len() as u32 },
                    attempt: 0,
                    fidelity: query.fidelity() as u8,
                    samples: fidelity.samples,
                    cost: fidelity.cost,
                    point: coordinates(problem.dimensions, query.unit()),
                };
                let (value, cost) = answer(&asked);
                queries.push(asked);
                // As the device does with a value that no measurement can give.
                let value = value.filter(|value| core.plausible().contains(value));
                core.answer(query, value, value.and(cost))?;
            }
            // Every query is answered at once, and the knowledge is at hand.
            _ => return Err(foretune_core::Error::OutOfTurn),
        }
    };
    let recommendation = core.recommendation().map(|best| Recommendation {
        task: begin.task,
        reason: reason(stop),
        queries: core.records().count() as u32,
        spent: core.status().spent,
        mean: best.mean,
        point: coordinates(problem.dimensions, best.unit()),
    });
    let mut learnt = Vec::new();
    core.knowledge(|bytes| learnt.extend_from_slice(bytes))?;
    Ok(Outline { trace: Trace { queries, recommendation }, knowledge: learnt })
}
