//! `foretune-paper trace`: the exact bits of a seeded run.

use std::io::Write;
use std::sync::atomic::Ordering;

use clap::Args;

use crate::trace;
use foretune::cli::arguments::{PresetName, setup};
use foretune::cli::{SettingArguments, stop_flag};
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::Problem;
use host_sim::runner::{Benchmark, Identity, Plan, Variant};
use host_sim::settings::Preset;

/// Print every query, observation and recommendation of a seeded run with its exact bits.
///
/// The same seed and settings give the same lines on every machine, and on the device, whatever it is made of.
#[derive(Debug, Args)]
#[command(after_help = FORMAT)]
pub(crate) struct TraceArguments {
    #[arg(default_value = "rrm", help = host_sim::problems::help())]
    problem: Problem,
    /// The method.
    #[arg(long, short, value_name = "NAME", default_value = "mft-mes")]
    method: Method,
    /// What the settings start from.
    #[arg(long, value_enum, default_value = "default")]
    preset: PresetName,
    #[command(flatten)]
    settings: SettingArguments,
    /// Tasks to run.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tasks: u32,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Which experiment of a study with this seed, from 1.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    experiment: u32,
    /// Budget of a task, instead of the problem's.
    #[arg(long, value_name = "COST")]
    budget: Option<f64>,
    /// Print only the digest.
    #[arg(long)]
    digest: bool,
}

const FORMAT: &str = "\
Lines:
  query TASK ROUND KIND FIDELITY x HEX… y HEX
  end TASK STOP x HEX… mean HEX deviation HEX digest HEX
  digest HEX
HEX are the bits of an f32; x lies in the unit cube; tasks and fidelities count from 1, rounds from 0. The digest is
the CRC-32 of all events before it, as little-endian words: of a query task, round, kind (0 initial, 1 carried,
2 search), fidelity from 0, x, y; of an end task, ffffffff, x, mean, deviation.

The device's profiles:
  compact  foretune-paper trace rrm --set capacity=64
  deep     foretune-paper trace rrm --preset paper --set capacity=128 --set candidates=256";

pub(super) fn run(arguments: &TraceArguments, out: &mut dyn Write) -> Result<(), Error> {
    let mut benchmark = Benchmark::new(arguments.problem);
    if let Some(budget) = arguments.budget {
        benchmark = benchmark.with_budget(budget)?;
    }
    let setup = setup(arguments.preset.into(), benchmark.spec(), &arguments.settings.assignments()?)?;
    let identity = Identity {
        study: "trace".into(),
        preset: Preset::from(arguments.preset).name().into(),
        command: String::new(),
        seed: arguments.seed,
        experiments: arguments.experiment,
        tasks: arguments.tasks,
    };
    let plan = Plan::new(identity, benchmark, vec![Variant::of(arguments.method, setup)])?;
    let go_on = || !stop_flag("the lines so far stand").load(Ordering::Relaxed);
    let mut each = |line: &str| match arguments.digest {
        true => Ok(()),
        // Flushed line by line: whoever compares with a slow device wants to see how far it is.
        false => Ok(writeln!(out, "{line}").and_then(|()| out.flush())?),
    };
    let digest = trace::trace(&plan, arguments.experiment, &go_on, &mut each)?;
    writeln!(out, "digest {digest:08x}")?;
    Ok(())
}
