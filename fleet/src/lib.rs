//! What many sites have in common, learnt from what was measured there: [`foretune_core::fleet`] on the host's side.

mod fit;
mod likelihood;
mod typical;

pub use fit::{Fitted, Plan, fit};
pub use likelihood::Shape;
pub use typical::typical;

use std::path::Path;

use foretune_core::snapshot::ProblemSums;
use foretune_core::{Fleet, Goal, SnapshotError};
use host_sim::error::Error;
use host_sim::problems::ProblemSpec;
use host_sim::runner::Space;

/// The bytes of a fleet's file.
///
/// # Errors
/// [`Error::Usage`] naming the file and what is wrong.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = std::fs::read(path)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let wrong = |why| Error::usage(format!("{}: fleet file refused: {why}", path.display()));
    Fleet::read(&bytes).map_err(wrong)?;
    Ok(bytes)
}

/// All sites, and the problem that they have in common.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The problem.
    pub spec: ProblemSpec,
    /// 1 where it is maximised, −1 where minimised.
    pub sign: f64,
    /// The same as checksums.
    pub sums: ProblemSums,
    /// The sites.
    pub sites: Vec<Site>,
}

/// A site: its tasks, one after the other.
#[derive(Clone, Debug)]
pub struct Site {
    /// Where it comes from.
    pub name: String,
    /// Its tasks.
    pub tasks: Vec<TaskData>,
}

/// What was measured in a task.
#[derive(Clone, Debug, Default)]
pub struct TaskData {
    /// Points in the unit cube, one after the other.
    pub x: Vec<f64>,
    /// Fidelity of each, from 0.
    pub fidelity: Vec<usize>,
    /// The answers, with the sign turned where they are minimised.
    pub y: Vec<f64>,
    /// Noise variance of every fidelity, as this site measures.
    pub noise: Vec<f64>,
    /// The recommended point, in the unit cube, if the task has ended.
    pub recommended: Option<Vec<f64>>,
}

impl Site {
    /// Whether anything can be learnt from it: one answer alone says nothing.
    pub fn teaches(&self) -> bool {
        self.tasks.iter().any(|task| task.y.len() > 1)
    }

    /// Whether one of both has the answers with which the other begins: it is a copy, perhaps an older one.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        self.teaches() && other.teaches() && self.answers().zip(other.answers()).all(|(a, b)| a == b)
    }

    /// Where what was measured, at which fidelity.
    fn answers(&self) -> impl Iterator<Item = (&[f64], usize, f64)> {
        self.tasks.iter().flat_map(|task| {
            let d = task.x.len() / task.y.len().max(1);
            task.y.iter().enumerate().map(move |(i, y)| (&task.x[i * d..][..d], task.fidelity[i], *y))
        })
    }
}

impl Gathered {
    /// No sites yet.
    pub fn new(spec: ProblemSpec, goal: Goal) -> Self {
        let space = Space::of_goal(&spec, goal);
        let parts = space.parts();
        let sums = ProblemSums::of(&space.problem(&parts, None));
        Self { spec, sign: if goal == Goal::Maximise { 1.0 } else { -1.0 }, sums, sites: Vec::new() }
    }

    /// Whether sites are of the same problem: its parameters and goal. What they measure with may differ.
    pub fn is_like(&self, other: &Self) -> bool {
        let of = |all: &Self| (all.sums.parameters, all.sums.goal, all.spec.fidelities.len());
        of(self) == of(other)
    }

    /// Refuses a fleet that is of another problem.
    ///
    /// # Errors
    /// [`Error::Usage`] naming what differs.
    pub fn check(&self, fleet: &Fleet<'_>) -> Result<(), Error> {
        let goal = if self.sign > 0.0 { Goal::Maximise } else { Goal::Minimise };
        let space = Space::of_goal(&self.spec, goal);
        let parts = space.parts();
        fleet.fits(&space.problem(&parts, None)).map_err(|why| {
            let what = match why {
                SnapshotError::Problem(part) => format!("not its {part}"),
                other => other.to_string(),
            };
            Error::usage(format!("the sites are of another problem than the fleet: they have {what}"))
        })
    }

    /// A task without answers, measured with the problem's own noise.
    pub fn task(&self) -> TaskData {
        let noise = self.spec.fidelities.iter().map(|fidelity| fidelity.noise_variance).collect();
        TaskData { noise, ..TaskData::default() }
    }

    /// Sites, tasks and answers.
    pub fn counts(&self) -> [usize; 3] {
        let tasks = || self.sites.iter().flat_map(|site| &site.tasks);
        [self.sites.len(), tasks().count(), tasks().map(|task| task.y.len()).sum()]
    }
}

impl TaskData {
    /// One more answer.
    pub fn push(&mut self, space: &Space, point: &[f64], fidelity: usize, y: f64) {
        self.x.extend(space.unit(point).into_iter().map(f64::from));
        self.fidelity.push(fidelity);
        self.y.push(y);
    }
}
