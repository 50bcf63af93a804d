//! Values of a built-in problem for whoever tunes it from outside: other optimizers, in the same table as ours.

use std::io::{BufRead, Write};

use clap::Args;
use host_sim::error::Error;
use host_sim::problems::{DimensionSpec, Problem, help};
use host_sim::runner::Seeds;
use serde_json::json;

/// Answer points of a built-in problem, a line each, so that another program can tune it.
///
/// First a line that describes the problem. Then, for every line `EXPERIMENT TASK X1 X2 …` (experiments and tasks from 1,
/// natural units), the truth's value without noise and the task's optimum.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct EvaluateArguments {
    #[arg(help = help())]
    problem: Problem,
    /// Seed of the studies: the tasks are those of `foretune run --seed`.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const EXAMPLE: &str = "\
Example:
  echo '1 1 0.5 0.5 0.5' | foretune-paper evaluate one:hartmann3 --seed 7000
  python paper/opponents.py one:pid --seed 7000 --experiments 20      Optuna's samplers on the same tasks";

pub(crate) fn run(arguments: &EvaluateArguments, out: &mut dyn Write) -> Result<(), Error> {
    let spec = arguments.problem.spec();
    let truth = spec.fidelities.len() - 1;
    let range = |dimension: &DimensionSpec| match dimension {
        DimensionSpec::Interval { low, high, .. } => json!({ "low": low, "high": high }),
        DimensionSpec::Levels { values, .. } => json!({ "levels": values }),
        DimensionSpec::Category { values, .. } => json!({ "values": values }),
    };
    let parameters: Vec<_> = spec.dimensions.iter().map(range).collect();
    let noise = spec.fidelities[truth].noise_variance;
    let (budget, cost) = (spec.budget, spec.fidelities[truth].cost);
    writeln!(out, "{}", json!({ "parameters": parameters, "noise": noise, "budget": budget, "cost": cost }))?;
    out.flush()?;
    let mut known = None;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let bad = || {
            Error::usage(format!(
                "`{line}` is not an experiment, a task and {} numbers",
                spec.dimensions.len()
            ))
        };
        let mut words = line.split_whitespace();
        let mut index = || words.next().and_then(|word| word.parse::<u32>().ok()).filter(|index| *index > 0);
        let (experiment, task) = (index().ok_or_else(bad)?, index().ok_or_else(bad)?);
        let point: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
        let point = point.filter(|point| point.len() == spec.dimensions.len()).ok_or_else(bad)?;
        if known.as_ref().is_none_or(|(of, _)| *of != (experiment, task)) {
            let tasks = arguments.problem.tasks(Seeds::new(arguments.seed, experiment).tasks);
            known = Some(((experiment, task), tasks.task(task as usize - 1)));
        }
        if let Some((_, task)) = &known {
            writeln!(out, "{} {}", task.value(truth, &point), task.optimum())?;
            out.flush()?;
        }
    }
    Ok(())
}
