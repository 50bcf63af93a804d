//! The paper's figures, made anew: a study for each.
//!
//! A curve that is in two figures is the same variant with the same key, so that its units can be taken over from the
//! figure that ran first instead of running again.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::figures::{Beta, FIGURES, Figure, Line};
use clap::Args;
use foretune::cli::arguments::PresetName;
use foretune::cli::{ExecutionArguments, SettingArguments, SizeArguments, run, stop_flag};
use foretune_report::plot::short_number;
use foretune_report::table::Table;
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::Problem;
use host_sim::results::{Manifest, Study, Unit};
use host_sim::runner::{self, Benchmark, Execution, Plan, Variant};
use host_sim::settings::{Assignment, Preset, Setup};
use host_sim::words::{counted, shortest, spell};

/// Make the paper's figures anew: fig3 to fig10, or all.
///
/// Each figure becomes a study in its own folder, which `foretune-paper report` turns into a page. Curves that figures share
/// are run once. The estimate at the start is measured on this machine.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub(crate) struct ReproduceArguments {
    /// fig3, fig4, fig5, fig6, fig7, fig8, fig9, fig10 or all.
    #[arg(required = true, value_name = "FIGURE", value_parser = figure)]
    figures: Vec<Chosen>,
    /// What the settings start from.
    #[arg(long, value_enum, default_value = "paper")]
    preset: PresetName,
    #[command(flatten)]
    settings: SettingArguments,
    #[command(flatten)]
    size: SizeArguments,
    /// Budget of a task, instead of the problem's: for a quick look, not for the figures.
    #[arg(long, value_name = "COST")]
    budget: Option<f64>,
    /// Folder for the studies [default: runs/PRESET].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Tell how long it would take, and stop there.
    #[arg(long)]
    estimate: bool,
    #[command(flatten)]
    execution: ExecutionArguments,
}

/// Repetitions unless said otherwise; the paper has 100.
const EXPERIMENTS: u32 = 20;

#[derive(Clone, Debug)]
enum Chosen {
    All,
    One(&'static Figure),
}

fn figure(name: &str) -> Result<Chosen, String> {
    match Figure::named(name) {
        _ if name == "all" => Ok(Chosen::All),
        Some(figure) => Ok(Chosen::One(figure)),
        None => Err(format!("there is no figure `{name}` to make: there are fig3 to fig10, and all")),
    }
}

fn help() -> String {
    let line = |figure: &Figure| format!("  {:6} {}", figure.name, figure.title);
    let figures: Vec<String> = FIGURES.iter().map(line).collect();
    format!(
        "Figures:\n{}\n\nExamples:\n\
        \x20 foretune-paper reproduce fig3 --experiments 100            as large as the paper's\n\
        \x20 foretune-paper reproduce all --preset default --estimate   how long would it take?\n\
        \x20 foretune-paper reproduce fig9 --tasks 5 --experiments 4    a quick look\n\
        \x20 foretune-paper reproduce all --shard 3/8 --out shard-3     an eighth of everything, for foretune-paper merge",
        figures.join("\n")
    )
}

pub(crate) fn reproduce(arguments: &ReproduceArguments, out: &mut dyn Write) -> Result<(), Error> {
    let request = Request {
        preset: arguments.preset.into(),
        assignments: arguments.settings.assignments()?,
        experiments: arguments.size.experiments.unwrap_or(EXPERIMENTS),
        tasks: arguments.size.tasks,
        budget: arguments.budget,
        seed: arguments.size.seed,
    };
    if let Some(fixed) = request.assignments.iter().find(|a| figures(arguments).all(|f| f.fixes(&a.key))) {
        return Err(Error::usage(format!("setting `{}` is fixed by the figures asked for", fixed.key)));
    }
    let plans = figures(arguments).map(|figure| Ok((figure, figure.plan(&request)?)));
    let plans: Vec<(&Figure, Plan)> = plans.collect::<Result<_, Error>>()?;
    let how = arguments.execution.execution();
    if arguments.estimate || !how.quiet {
        estimate(&plans, how, out)?;
    }
    if arguments.estimate {
        return Ok(());
    }
    let folder = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(request.preset.name()));
    let folders: Vec<PathBuf> = FIGURES.iter().map(|figure| folder.join(figure.name)).collect();
    for (figure, plan) in &plans {
        let folder = folder.join(figure.name);
        let run = || {
            take_over(plan, &folder, how, &folders)?;
            let how = Execution { resume: true, ..how };
            runner::run(plan, &folder, how, stop_flag("finished tasks are kept"))
        };
        let study = run().map_err(run::explained)?;
        if arguments.execution.shard.is_none() {
            writeln!(out, "\n{}, {}", figure.name, figure.title)?;
            run::outcome(&study, out)?;
            out.flush()?;
        }
    }
    run::whereabouts("foretune-paper", &arguments.execution, &folder, out)
}

/// Begins a figure's study with the units that another one has finished, if they are the very same work.
fn take_over(plan: &Plan, folder: &Path, how: Execution, others: &[PathBuf]) -> Result<(), Error> {
    let manifest = plan.manifest().clone();
    let study = if how.resume { Study::resume(folder, manifest) } else { Study::create(folder, manifest) }?;
    for unit in how.shard.units(study.manifest()) {
        let path = study.unit_path(unit);
        let Some(name) = path.file_name().filter(|_| !path.exists()) else { continue };
        // Whatever cannot be read there is run here.
        let mut there = others.iter().filter_map(|other| fs::read(other.join("units").join(name)).ok());
        if let Some(bytes) = there.find(|b| Unit::parse(b, study.manifest(), unit).problem.is_none()) {
            fs::write(&path, &bytes).map_err(Error::io("write", &path))?;
        }
    }
    Ok(())
}

/// The figures asked for, each once, in the paper's order.
fn figures(arguments: &ReproduceArguments) -> impl Iterator<Item = &'static Figure> {
    let wanted = |figure: &&Figure| {
        arguments.figures.iter().any(|chosen| match chosen {
            Chosen::All => true,
            Chosen::One(one) => one.name == figure.name,
        })
    };
    FIGURES.iter().filter(wanted)
}

/// Tells how long the figures will take; what one shares with an earlier one counts there.
fn estimate(plans: &[(&Figure, Plan)], how: Execution, out: &mut dyn Write) -> Result<(), Error> {
    let mut known = HashSet::new();
    let (mut table, mut total) = (Table::new(["figure", "units", "time"]), Duration::ZERO);
    for (figure, plan) in plans {
        let manifest = plan.manifest();
        let mut units = how.shard.units(manifest);
        units.retain(|unit| {
            known.insert((manifest.fingerprint(unit.variant), unit.experiment, manifest.tasks))
        });
        let time = crate::work::estimate(plan, &units) / how.jobs as u32;
        total += time;
        table.push(vec![figure.name.into(), units.len().to_string(), spell(time)]);
    }
    if plans.len() > 1 {
        table.push(vec!["all".into(), String::new(), spell(total)]);
    }
    let threads = counted(how.jobs, "thread");
    writeln!(out, "Estimated for {threads}, from a short measurement (good to a factor of two):")?;
    table.write(out)?;
    Ok(out.flush()?)
}

#[derive(Clone, Debug)]
pub struct Request {
    pub preset: Preset,
    pub assignments: Vec<Assignment>,
    pub experiments: u32,
    /// Tasks, if not the paper's number.
    pub tasks: Option<u32>,
    /// Budget of a task, if not the problem's.
    pub budget: Option<f64>,
    pub seed: u64,
}

impl Figure {
    pub fn plan(&self, request: &Request) -> Result<Plan, Error> {
        let problem: Problem = self.problem.parse().map_err(Error::Usage)?;
        let mut benchmark = Benchmark::new(problem);
        if let Some(budget) = request.budget {
            benchmark = benchmark.with_budget(budget)?;
        }
        let mut base = Setup::new(request.preset, benchmark.spec());
        base.assign(&request.assignments)?;
        let variants = self.lines.iter().map(|line| self.variant(line, base, request)).collect();
        let study = Manifest {
            study: self.name.into(),
            preset: request.preset.name().into(),
            command: request.command(self.name),
            seed: request.seed,
            experiments: request.experiments,
            tasks: request.tasks.unwrap_or(self.tasks),
            ..Manifest::default()
        };
        Plan::new(study, benchmark, variants)
    }

    fn variant(&self, line: &Line, base: Setup, request: &Request) -> Variant {
        let mut setup = base;
        setup.core.particles = line.particles;
        setup.c = line.c.unwrap_or(base.c);
        match line.beta {
            Beta::Grid(beta) => setup.core.beta = beta,
            Beta::Paper(beta) if request.preset == Preset::Paper && !request.sets("beta") => {
                setup.core.beta = beta;
            }
            Beta::Paper(_) | Beta::None => {}
        }
        let several = self.lines.iter().any(|l| l.method == line.method && l.particles != line.particles);
        let (mut key, mut label) = (line.method.name().to_string(), line.method.label().to_string());
        if line.method != Method::MfMes {
            key += &format!("-v{}", line.particles);
        }
        if several {
            label += &format!(", V = {}", line.particles);
        }
        if line.beta != Beta::None {
            let beta = shortest(setup.core.beta);
            key += &format!("-b{beta}");
            label += &format!(", β = {} ({} printed)", short_number(beta), short_number(2.0 * beta));
        }
        if let Some(c) = line.c {
            key += &format!("-c{c}");
            label += &format!(", c = {c}");
        }
        Variant { key, label, method: line.method, setup, fleet: None }
    }
}

impl Request {
    fn sets(&self, key: &str) -> bool {
        self.assignments.iter().any(|a| a.key == key)
    }

    /// The command that makes a figure, with a settings file spelt out.
    fn command(&self, figure: &str) -> String {
        let mut text = format!("foretune-paper reproduce {figure} --preset {}", self.preset.name());
        for Assignment { key, value, .. } in &self.assignments {
            text += &format!(" --set {key}={value}");
        }
        text += &format!(" --experiments {} --seed {}", self.experiments, self.seed);
        if let Some(tasks) = self.tasks {
            text += &format!(" --tasks {tasks}");
        }
        if let Some(budget) = self.budget {
            text += &format!(" --budget {budget}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::FIGURES;

    fn request(preset: Preset) -> Request {
        Request { preset, assignments: Vec::new(), experiments: 2, tasks: None, budget: None, seed: 1 }
    }

    #[test]
    fn every_figure_has_a_sound_plan_with_both_presets() {
        for figure in FIGURES {
            for preset in [Preset::Paper, Preset::Default] {
                let plan = figure.plan(&request(preset)).unwrap();
                assert_eq!(plan.manifest().variants.len(), figure.lines.len());
                assert_eq!(plan.manifest().study, figure.name);
            }
        }
    }

    #[test]
    fn beta_is_the_papers_in_its_preset_and_ours_in_ours() {
        let beta = |request: Request| {
            let plan = Figure::named("fig5").unwrap().plan(&request).unwrap();
            let variant = plan.manifest().variants.iter().find(|v| v.method == "mft-mes").unwrap();
            (variant.number("beta").unwrap(), variant.label.clone())
        };
        let paper = beta(request(Preset::Paper));
        assert_eq!(paper, (0.8, "MFT-MES, β = 0.8 (1.6 printed)".into()));
        let ours = f64::from(foretune_core::Settings::DEFAULT.beta);
        assert!((beta(request(Preset::Default)).0 - ours).abs() < 1e-6);
        let set = Request { assignments: vec!["beta=0.1".parse().unwrap()], ..request(Preset::Paper) };
        assert_eq!(beta(set).0, 0.1);
    }

    /// What two figures share is the same unit of work, so that it needs to be run once.
    #[test]
    fn shared_curves_are_the_same_units() {
        let units = |name: &str| -> Vec<(String, u32)> {
            let plan = Figure::named(name).unwrap().plan(&request(Preset::Paper)).unwrap();
            let manifest = plan.manifest();
            manifest
                .variants
                .iter()
                .enumerate()
                .map(|(i, v)| (v.key.clone(), manifest.fingerprint(i)))
                .collect()
        };
        for (small, large, shared) in
            [("fig5", "fig6", 3), ("fig9", "fig10", 3), ("fig3", "fig4", 3), ("fig7", "fig8", 3)]
        {
            let large = units(large);
            assert_eq!(units(small).iter().filter(|unit| large.contains(unit)).count(), shared, "{small}");
        }
    }
}
