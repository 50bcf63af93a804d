//! Fleets in files: what was measured at many sites, from wherever it is kept (studies, states of `tune` and `serve`, answers
//! read back from devices), and a page that shows what [`foretune_fleet`] made of it: mean and modes over every two parameters,
//! through the first typical point.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use foretune_core::{Fleet, Goal};
use foretune_fleet::{Gathered, Site, TaskData};
use foretune_report::html;
use foretune_report::plot::{HeatMap, HeatRow, Theme};
use foretune_tuning::{self as tuning, Target, state};
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::{Problem, ProblemSpec};
use host_sim::results::{Kind, Manifest, Study};
use host_sim::runner::Space;
use host_sim::words::{counted, say};

use crate::hil::answers::DeviceTasks;

/// Options of a study that are none of its problem's.
const OF_STUDIES: [&str; 9] =
    ["deployed", "floor", "risk", "tolerance", "limits", "guards", "unlike_task", "moved", "budget"];

/// Reads folders of studies, each experiment a site (by one of its methods), and files of states or of a device's answers, each a site. All but what is
/// of a built-in problem needs the problem's file.
///
/// # Errors
/// [`Error::Usage`] naming what cannot be read, is there twice, or differs in its problem.
pub fn gather(places: &[PathBuf], problem: Option<&Path>) -> Result<Gathered, Error> {
    let target = problem.map(tuning::read).transpose()?;
    let mut all: Option<Gathered> = None;
    let mut seen = BTreeSet::new();
    for place in places {
        if place.canonicalize().is_ok_and(|real| !seen.insert(real)) {
            return Err(Error::usage(format!("{} is given twice: each site counts once", place.display())));
        }
        let some = match DeviceTasks::read(place) {
            _ if place.is_dir() => of_study(place, target.as_ref()),
            Some(tasks) => of_device(place, &tasks, target.as_ref()),
            None => of_state(place, target.as_ref()),
        }?;
        let Some(all) = &mut all else {
            all = Some(some);
            continue;
        };
        if !all.is_like(&some) {
            let what = "is of another problem than those before it";
            return Err(Error::usage(format!("{}: {what}", place.display())));
        }
        for site in some.sites {
            if let Some(same) = all.sites.iter().find(|other| site.is_copy_of(other)) {
                let (one, other) = (&site.name, &same.name);
                return Err(Error::usage(format!(
                    "{one} has the answers of {other}: each site counts once, so leave one of them out"
                )));
            }
            all.sites.push(site);
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
        Some(target) if target.name == manifest.problem => {
            // What it was run with.
            let fidelities = manifest.options.get("fidelities").cloned();
            let fidelities = fidelities.and_then(|all| serde_json::from_value(all).ok());
            let target =
                Target { fidelities: fidelities.unwrap_or(target.fidelities.clone()), ..target.clone() };
            target.spec(&given_noise(&target)?, target.budget)
        }
        _ => built_in(manifest).ok_or_else(|| {
            Error::usage(format!("{}: give the problem's file with --problem", folder.display()))
        })?,
    };
    let mut found = Gathered::new(spec, target.map_or(Goal::Maximise, |target| target.goal));
    let space = Space::new(&found.spec);
    let variants = &manifest.variants;
    let ours = variants.iter().position(|variant| variant.method == Method::MftMes.name()).unwrap_or(0);
    if let (2.., Some(variant)) = (variants.len(), variants.get(ours)) {
        let (folder, count) = (folder.display(), counted(variants.len(), "variant"));
        say(&format!(
            "{folder}: an experiment is one site, measured by {count}: learning from {}",
            variant.key
        ));
    }
    for id in manifest.units().filter(|id| id.variant == ours) {
        let Some(unit_of) = study.read_unit(id)? else { continue };
        let mut tasks = Vec::new();
        for task in unit_of.tasks {
            let mut data = found.task();
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
    let state = state::of_site(path, target)?.ok_or_else(missing)?;
    // Before a noise is known, which may be another one at each site, the answers say little.
    let noise: Option<Vec<f64>> = state.noise.iter().copied().collect();
    let given: Vec<f64> = target.fidelities.iter().map(|rung| rung.noise.unwrap_or(0.0)).collect();
    let mut found = Gathered::new(target.spec(&given, target.budget), target.goal);
    let space = Space::of_goal(&found.spec, target.goal);
    let mut tasks = Vec::new();
    for task in state.tasks.iter().filter(|_| noise.is_some()) {
        let mut data = TaskData { noise: noise.clone().unwrap_or_default(), ..TaskData::default() };
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
        let mut data = TaskData { recommended: Some(numbers(&task.recommended)), ..found.task() };
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

/// Places along a parameter.
const PLACES: usize = 15;

/// The page. `x` is where the parameters lie that are not varied.
pub fn page(fleet: &Fleet<'_>, x: &[f32]) -> String {
    let header = fleet.header();
    let [sites, tasks, answers] = header.learnt_from;
    let mut content = format!(
        "<h1>What {sites} sites have in common</h1>\n<p>{}</p>\n",
        html::prose(&format!(
            "Learnt from {tasks} tasks, {answers} answers. The mean is what a new site expects before its first answer. A mode is \
             added to it with a weight that is the site's own, most often between -1 and 1: that is how sites differ. All \
             parameters go from their lowest value, 0, to their highest, 1; those that are not varied lie at {}.",
            x.iter().map(|x| format!("{x:.2}")).collect::<Vec<_>>().join(", ")
        ))
    );
    for mode in 0..=header.modes {
        let title = if mode == 0 { "Mean".to_owned() } else { format!("Mode {mode}") };
        content += &format!("<h2>{title}</h2>\n");
        for (a, b) in pairs(header.dimensions) {
            let map = map(fleet, x, mode, a, b, &title);
            content += &html::chart(|width| map.svg(width, Theme::Page), 640.0, 340.0);
        }
    }
    html::document("Fleet", &content)
}

fn pairs(dimensions: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dimensions.max(2)).flat_map(move |a| (a + 1..dimensions.max(2)).map(move |b| (a, b)))
}

/// The mean, in units of the answers, or what a mode adds to it, over two parameters.
fn map(fleet: &Fleet<'_>, x: &[f32], mode: usize, a: usize, b: usize, title: &str) -> HeatMap {
    let header = fleet.header();
    let at = |place: usize| place as f32 / (PLACES - 1) as f32;
    let label =
        |place: usize| if place.is_multiple_of(7) { format!("{:.1}", at(place)) } else { String::new() };
    let value = |i: usize, j: usize| {
        let mut x = x.to_vec();
        x[a] = at(i);
        // Of one parameter all rows are alike.
        if let Some(x) = x.get_mut(b) {
            *x = at(j);
        }
        let term = fleet.at(&x, header.fidelities - 1)[mode];
        Some(f64::from(header.deviation * term + if mode == 0 { header.mean } else { 0.0 }))
    };
    let row = |j: usize| HeatRow {
        label: label(j),
        cells: (0..PLACES).map(|i| value(i, j)).collect(),
        apart: false,
    };
    HeatMap {
        name: format!("{title} over parameters {} and {}", a + 1, b + 1),
        title: title.into(),
        x_title: format!("parameter {}", a + 1),
        y_title: format!("parameter {}", b + 1),
        value_title: "value".into(),
        columns: (0..PLACES).map(label).collect(),
        rows: (0..PLACES).rev().map(row).collect(),
        stars: vec![None; PLACES],
        low_is_better: false,
        log: false,
    }
}
