//! What was measured at many sites, from wherever it is kept: studies, states of `tune` and `serve`, answers read back from devices.

use std::path::{Path, PathBuf};

use foretune_core::Goal;
use foretune_core::snapshot::ProblemSums;
use host_sim::error::Error;
use host_sim::problems::{Problem, ProblemSpec};
use host_sim::results::{Kind, Manifest, Study};
use host_sim::runner::Space;

use crate::hil::answers::DeviceTasks;
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
const OF_STUDIES: [&str; 8] =
    ["deployed", "floor", "risk", "tolerance", "limits", "unlike_task", "moved", "budget"];

impl Gathered {
    /// Reads folders of studies, each experiment a site, and files of states or of a device's answers, each a site. All but what is
    /// of a built-in problem needs the problem's file.
    ///
    /// # Errors
    /// [`Error::Usage`] naming what cannot be read, or differs in its problem.
    pub fn read(places: &[PathBuf], problem: Option<&Path>) -> Result<Self, Error> {
        let target = problem.map(own::read).transpose()?;
        let mut all: Option<Self> = None;
        for place in places {
            let some = match DeviceTasks::read(place) {
                _ if place.is_dir() => of_study(place, target.as_ref()),
                Some(tasks) => of_device(place, &tasks, target.as_ref()),
                None => of_state(place, target.as_ref()),
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

    pub(super) fn new(spec: ProblemSpec, goal: Goal) -> Self {
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

/// A device tunes power control, unless it was sent something else.
fn of_device(path: &Path, tasks: &DeviceTasks, target: Option<&Target>) -> Result<Gathered, Error> {
    let mut found = match target {
        Some(target) => Gathered::new(target.spec(&given_noise(target)?, target.budget), target.goal),
        None => Gathered::new(Problem::Rrm(Default::default()).spec(), Goal::Maximise),
    };
    let wrong =
        || Error::usage(format!("{}: of another problem: give its file with --problem", path.display()));
    let numbers = |x: &[f32]| x.iter().copied().map(f64::from).collect::<Vec<f64>>();
    let (dimensions, fidelities) = (found.spec.dimensions.len(), found.spec.fidelities.len());
    let mut site = Site { name: path.display().to_string(), tasks: Vec::new() };
    for task in tasks.of(&found.sums).ok_or_else(wrong)? {
        let mut data = TaskData { recommended: Some(numbers(&task.recommended)), ..TaskData::default() };
        for (x, fidelity, value) in &task.answers {
            let Some(value) = value else { continue };
            if x.len() != dimensions || *fidelity >= fidelities || !value.is_finite() {
                return Err(wrong());
            }
            data.x.extend(numbers(x));
            data.fidelity.push(*fidelity);
            data.y.push(found.sign * f64::from(*value));
        }
        site.tasks.push(data);
    }
    found.sites.push(site);
    Ok(found)
}
