//! What was measured at many sites, from wherever it is kept: studies, states of `tune` and `serve`, answers read back from devices.

use std::path::{Path, PathBuf};

use foretune_core::Goal;
use foretune_fleet::{Gathered, Site, TaskData};
use host_sim::error::Error;
use host_sim::problems::{Problem, ProblemSpec};
use host_sim::results::{Kind, Manifest, Study};
use host_sim::runner::Space;

use crate::hil::answers::DeviceTasks;
use foretune_tuning::{self as tuning, Target, state};

/// Options of a study that are none of its problem's.
const OF_STUDIES: [&str; 8] =
    ["deployed", "floor", "risk", "tolerance", "limits", "unlike_task", "moved", "budget"];

/// Reads folders of studies, each experiment a site, and files of states or of a device's answers, each a site. All but what is
/// of a built-in problem needs the problem's file.
///
/// # Errors
/// [`Error::Usage`] naming what cannot be read, or differs in its problem.
pub fn gather(places: &[PathBuf], problem: Option<&Path>) -> Result<Gathered, Error> {
    let target = problem.map(tuning::read).transpose()?;
    let mut all: Option<Gathered> = None;
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
