//! What was measured at many sites, from wherever it is kept: studies, and states of `tune` and `serve`.

use std::path::{Path, PathBuf};

use foretune_core::Goal;
use foretune_core::snapshot::ProblemSums;
use host_sim::error::Error;
use host_sim::problems::{Problem, ProblemSpec};
use host_sim::results::{Kind, Manifest, Study};
use host_sim::runner::Space;

use crate::own::{self, Target};
use crate::tune::state;

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
    /// The recommended point, in the unit cube, if the task has ended.
    pub recommended: Option<Vec<f64>>,
}

/// Options of a study that are none of its problem's.
const OF_STUDIES: [&str; 7] = ["deployed", "floor", "risk", "tolerance", "limits", "unlike_task", "budget"];

impl Gathered {
    /// Reads folders of studies, each experiment a site, and files of states, each a site. These, and studies of one's own
    /// command, need the problem's file.
    ///
    /// # Errors
    /// [`Error::Usage`] naming what cannot be read, or differs in its problem.
    pub fn read(places: &[PathBuf], problem: Option<&Path>) -> Result<Self, Error> {
        let target = problem.map(own::read).transpose()?;
        let mut all: Option<Self> = None;
        for place in places {
            let some = if place.is_dir() {
                of_study(place, target.as_ref())
            } else {
                of_state(place, target.as_ref())
            }?;
            match &mut all {
                None => all = Some(some),
                Some(all) if all.sums == some.sums => all.sites.extend(some.sites),
                Some(_) => {
                    let what = "is of another problem than those before it";
                    return Err(Error::usage(format!("{}: {what}", place.display())));
                }
            }
        }
        all.ok_or_else(|| Error::usage("name at least one study or state"))
    }

    fn new(spec: ProblemSpec, goal: Goal) -> Self {
        let space = Space::of_goal(&spec, goal);
        let parts = space.parts();
        let sums = ProblemSums::of(&space.problem(&parts, None));
        Self { spec, sign: if goal == Goal::Maximise { 1.0 } else { -1.0 }, sums, sites: Vec::new() }
    }

    /// Noise variance of every fidelity.
    pub fn noise(&self) -> impl Iterator<Item = f64> {
        self.spec.fidelities.iter().map(|fidelity| fidelity.noise_variance)
    }

    /// Sites, tasks and answers.
    pub fn counts(&self) -> [usize; 3] {
        let tasks = || self.sites.iter().flat_map(|site| &site.tasks);
        [self.sites.len(), tasks().count(), tasks().map(|task| task.y.len()).sum()]
    }
}

impl TaskData {
    fn push(&mut self, space: &Space, point: &[f64], fidelity: usize, y: f64) {
        self.x.extend(space.unit(point).into_iter().map(f64::from));
        self.fidelity.push(fidelity);
        self.y.push(y);
    }
}

fn unit(space: &Space, point: &[f64]) -> Vec<f64> {
    space.unit(point).into_iter().map(f64::from).collect()
}

fn of_study(folder: &Path, target: Option<&Target>) -> Result<Gathered, Error> {
    let study = Study::open(folder)?;
    let manifest = study.manifest();
    let spec = match target {
        Some(target) if target.name == manifest.problem => target.spec(&given_noise(target)?, target.budget),
        _ => built_in(manifest).ok_or_else(|| {
            Error::usage(format!("{}: give the problem's file with --problem", folder.display()))
        })?,
    };
    let mut found = Gathered::new(spec, target.map_or(Goal::Maximise, |target| target.goal));
    let space = Space::new(&found.spec);
    for id in manifest.units() {
        let Some(unit_of) = study.read_unit(id)? else { continue };
        let mut tasks = Vec::new();
        for task in unit_of.tasks {
            let mut data = TaskData::default();
            for row in task.rows {
                match (row.kind, row.y) {
                    (Kind::Recommend, _) => data.recommended = Some(unit(&space, &row.x)),
                    (_, Some(y)) => data.push(&space, &row.x, row.fidelity as usize - 1, y),
                    _ => {}
                }
            }
            tasks.push(data);
        }
        if !tasks.is_empty() {
            found
                .sites
                .push(Site { name: format!("{} {}", folder.display(), manifest.unit_name(id)), tasks });
        }
    }
    Ok(found)
}

/// The problem of a study, if it is built in.
fn built_in(manifest: &Manifest) -> Option<ProblemSpec> {
    let options = manifest.options.iter().filter(|(key, _)| !OF_STUDIES.contains(&key.as_str()));
    let options: Vec<String> =
        options.map(|(key, value)| format!("{key}={}", value.to_string().trim_matches('"'))).collect();
    let name = [manifest.problem.clone(), options.join(",")].join(":");
    name.trim_end_matches(':').parse::<Problem>().ok().map(|problem| problem.spec())
}

fn given_noise(target: &Target) -> Result<Vec<f64>, Error> {
    let noise = target.fidelities.iter().map(|rung| rung.noise).collect::<Option<Vec<f64>>>();
    noise.ok_or_else(|| Error::usage("a fleet needs the noise of every fidelity in the problem's file"))
}

fn of_state(path: &Path, target: Option<&Target>) -> Result<Gathered, Error> {
    let missing = || Error::usage(format!("{}: give the problem's file with --problem", path.display()));
    let target = target.ok_or_else(missing)?;
    let missing = || Error::usage(format!("{}: no such file", path.display()));
    let state = state::read(path, target)?.ok_or_else(missing)?;
    let mut found = Gathered::new(target.spec(&given_noise(target)?, target.budget), target.goal);
    let space = Space::of_goal(&found.spec, target.goal);
    let mut tasks = Vec::new();
    for task in &state.tasks {
        let mut data = TaskData::default();
        for told in &task.answers {
            if let Some(value) = told.value {
                data.push(&space, &told.point, told.fidelity, found.sign * f64::from(value));
            }
        }
        data.recommended =
            task.ended.as_ref().and_then(|ended| ended.point.as_deref()).map(|x| unit(&space, x));
        tasks.push(data);
    }
    found.sites.push(Site { name: path.display().to_string(), tasks });
    Ok(found)
}
