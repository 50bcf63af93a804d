//! What a device measured, read back from its journal and kept in a file: a site that a fleet can be learnt from.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use foretune_core::Problem;
use foretune_core::snapshot::ProblemSums;
use foretune_link::{Coordinate, Phase, Recommendation, Request, Response, Ticket};
use serde::{Deserialize, Serialize};

use super::dialogue::{Dialogue, refused, unexpected};
use super::profile::Profile;
use host_sim::error::Error;
use host_sim::results::write_atomically;
use host_sim::words::counted;

/// A device's tasks, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceTasks {
    /// Checksums of the problem's parameters, fidelities and goal.
    problem: [u32; 3],
    tasks: BTreeMap<u32, DeviceTask>,
}

/// A task as the device has it. Points are of the unit cube.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceTask {
    /// What was asked, at which fidelity, and what came of it.
    pub answers: Vec<(Vec<f32>, usize, Option<f32>)>,
    /// What was recommended.
    pub recommended: Vec<f32>,
}

impl DeviceTasks {
    /// What a file has; `None` if it is of something else.
    pub fn read(file: &Path) -> Option<Self> {
        fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }

    /// The tasks, if they are of this problem.
    pub fn of(&self, sums: &ProblemSums) -> Option<impl Iterator<Item = &DeviceTask>> {
        let [parameters, _, goal] = self.problem;
        ((parameters, goal) == (sums.parameters, sums.goal)).then_some(self.tasks.values())
    }
}

/// Reads back the task that the device has just ended, if it has, and adds it to a file.
pub fn keep_last(
    dialogue: &mut Dialogue,
    profile: &Profile,
    sent: Option<&[u8]>,
    file: &Path,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let device = dialogue.greet()?;
    if !matches!(device.phase, Phase::Finished | Phase::Watching) {
        writeln!(out, "the device has no task that has just ended: nothing to read back")?;
        return Ok(());
    }
    let end = dialogue.ask(&Request::Poll { task: device.task }, |response| match response {
        Response::Finished(end) => Ok(end.clone()),
        other => Err(unexpected(other)),
    })??;
    keep(dialogue, profile, sent, &end, file, out)
}

/// Reads back the answers of a task that has ended, and adds them to a file.
pub fn keep(
    dialogue: &mut Dialogue,
    profile: &Profile,
    sent: Option<&[u8]>,
    end: &Recommendation,
    file: &Path,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let (sums, recommended) = profile.with_problem(sent, |problem| {
        let ProblemSums { parameters, fidelities, goal } = ProblemSums::of(problem);
        ([parameters, fidelities, goal], unit(problem, &end.point))
    })?;
    let mut answers = Vec::new();
    while let Some(answer) = recall(dialogue, Ticket { task: end.task, step: answers.len() as u32 })? {
        let unit = answer.numbers.iter().copied().take(recommended.len()).collect();
        answers.push((unit, answer.fidelity.into(), answer.value));
    }
    let wrong = || Error::usage(format!("{}: not of answers read back from a device", file.display()));
    let known = if file.exists() { Some(DeviceTasks::read(file).ok_or_else(wrong)?) } else { None };
    let mut kept = known.unwrap_or(DeviceTasks { problem: sums, tasks: BTreeMap::new() });
    if kept.problem != sums {
        return Err(Error::usage(format!("{}: of another problem than the device's", file.display())));
    }
    let count = counted(answers.len(), "answer");
    kept.tasks.insert(end.task, DeviceTask { answers, recommended });
    write_atomically(file, &serde_json::to_vec(&kept).map_err(std::io::Error::from)?)?;
    writeln!(out, "{count} of task {} read back into {}", end.task, file.display())?;
    Ok(())
}

/// What the device has kept of a query; `None` behind the last.
fn recall(dialogue: &mut Dialogue, ticket: Ticket) -> Result<Option<foretune_link::Answer>, Error> {
    dialogue.ask(&Request::Recall { ticket }, |response| match response {
        Response::Recalled { ticket: of, answer } if *of == ticket => Ok(Some(answer.clone())),
        Response::Refused(foretune_link::Refusal::WrongStep { .. }) => Ok(None),
        Response::Refused(refusal) => Err(refused(refusal)),
        other => Err(unexpected(other)),
    })?
}

fn unit(problem: &Problem<'_>, point: &[Coordinate]) -> Vec<f32> {
    let each = problem.dimensions.iter().zip(point);
    each.map(|(dimension, coordinate)| match *coordinate {
        Coordinate::Level(level) => dimension.unit_of_level(usize::from(level)),
        Coordinate::Unit(unit) => unit,
    })
    .collect()
}
