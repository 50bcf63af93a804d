//! A task on the core alone, in the link's words: what a device must come to, bit for bit.

extern crate std;

use std::vec::Vec;

use foretune_core::snapshot::knowledge_and_fleet;
use foretune_core::{Block, Error, Problem, Progress};
use foretune_link::{Begin, Kpis, Query, Recommendation, Ticket};

use crate::drive::{is_plausible, measured, proposal, recommendation, take_over};
use crate::profile::Profile;

/// What is seen of a task on the line.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "sim", derive(serde::Serialize, serde::Deserialize))]
pub struct Trace {
    /// The queries in their order.
    pub queries: Vec<Query>,
    /// The end; none while the task runs, and if nothing was observed.
    pub recommendation: Option<Recommendation>,
}

/// What a task comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// What is seen of it.
    pub trace: Trace,
    /// What the next task starts from.
    pub knowledge: Vec<u8>,
    /// What is best under other conditions, if that is asked.
    pub elsewhere: Option<Recommendation>,
}

/// What becomes of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// A value with its KPIs, and what it cost where that is not what the query said.
    Value(f32, Kpis, Option<f32>),
    /// None, after all tries; what the last one cost, likewise.
    GivenUp(Option<f32>),
    /// The task is stopped instead.
    Stop,
    /// It is to be asked under these conditions instead.
    Under(Kpis),
}

/// Runs a task of a problem, with a profile's settings, from some knowledge and the fleet's file behind it. Then it is asked what
/// is best under other conditions, unless there are none of these.
///
/// # Errors
/// What the core has against it.
pub fn run(
    memory: Block<'_>,
    profile: &Profile,
    problem: Problem<'_>,
    begin: &Begin,
    knowledge: &[u8],
    answer: &mut dyn FnMut(&Query) -> Answer,
    others: &[f32],
) -> Result<Outline, Error> {
    let (knowledge, fleet) = knowledge_and_fleet(knowledge);
    let mut core =
        memory.start_checked(problem, *profile.settings_for(begin.problem, &problem), begin.seed)?;
    take_over(&mut core, begin, knowledge, fleet)?;
    let mut trace = Trace::default();
    let stop = loop {
        match core.advance_with(knowledge)? {
            Progress::Working => {}
            Progress::Done(stop) => break stop,
            Progress::Query(query) => {
                let ticket = Ticket { task: begin.task, step: trace.queries.len() as u32 };
                let asked = proposal(&problem, &query).asked(ticket, 0);
                trace.queries.push(asked.clone());
                match answer(&asked) {
                    // As the device does with a value that no measurement can give, try after try.
                    Answer::Value(value, kpis, cost) if !is_plausible(&core, value, &kpis) => {
                        core.answer_at(query, None, &[], cost, &[])?
                    }
                    Answer::Value(value, kpis, cost) => {
                        let (_, conditions) = measured(&problem, &query, &kpis);
                        let kpis = kpis.get(..problem.guards.len()).unwrap_or_default();
                        core.answer_at(query, Some(value), kpis, cost, &conditions)?
                    }
                    Answer::GivenUp(cost) => core.answer_at(query, None, &[], cost, &[])?,
                    Answer::Stop => core.stop(),
                    Answer::Under(conditions) => {
                        trace.queries.pop();
                        core.change_conditions(&conditions)?;
                    }
                }
            }
            // Every query is answered at once, and the knowledge is at hand.
            _ => return Err(Error::OutOfTurn),
        }
    };
    trace.recommendation = recommendation(&core, begin.task, stop);
    let mut knowledge = Vec::new();
    core.knowledge(|bytes| knowledge.extend_from_slice(bytes))?;
    knowledge.extend_from_slice(fleet);
    let mut elsewhere = None;
    if !others.is_empty() {
        core.change_conditions(others)?;
        while matches!(core.advance(), Progress::Working) {}
        elsewhere = recommendation(&core, begin.task, stop);
    }
    Ok(Outline { trace, knowledge, elsewhere })
}
