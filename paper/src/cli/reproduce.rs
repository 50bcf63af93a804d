//! `foretune-paper reproduce`: the paper's figures, one study each.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::figures::{FIGURES, Figure};
use crate::reproduce::Request;
use foretune::cli::arguments::PresetName;
use foretune::cli::{ExecutionArguments, SettingArguments, SizeArguments, run, stop_flag};
use foretune_report::table::Table;
use host_sim::error::Error;
use host_sim::runner::{self, Execution, Plan};
use host_sim::words::{counted, spell};

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

pub(super) fn reproduce(arguments: &ReproduceArguments, out: &mut dyn Write) -> Result<(), Error> {
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
        let study = runner::run_with(
            plan,
            &folder.join(figure.name),
            how,
            stop_flag("finished tasks are kept"),
            &folders,
        );
        let study = study.map_err(run::explained)?;
        if arguments.execution.shard.is_none() {
            writeln!(out, "\n{}, {}", figure.name, figure.title)?;
            run::outcome(&study, out)?;
            out.flush()?;
        }
    }
    run::whereabouts("foretune-paper", &arguments.execution, &folder, out)
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
        let time = runner::estimate(plan, &units) / how.jobs as u32;
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
