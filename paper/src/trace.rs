//! Every query, observation and recommendation of a seeded run with its exact bits, and a digest of them all.
//!
//! What a device does can be compared with this line by line, or by the digest alone. The help has the format.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::Ordering;

use clap::Args;
use foretune::cli::arguments::{PresetName, setup};
use foretune::cli::{SettingArguments, stop_flag};
use foretune_core::{Kind, Stop};
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::Problem;
use host_sim::results::{Crc, Manifest};
use host_sim::runner::{Advice, Benchmark, Noise, Plan, Proposal, Variant, play};
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

pub(crate) fn run(arguments: &TraceArguments, out: &mut dyn Write) -> Result<(), Error> {
    let mut benchmark = Benchmark::new(arguments.problem);
    if let Some(budget) = arguments.budget {
        benchmark = benchmark.with_budget(budget)?;
    }
    let setup = setup(arguments.preset.into(), benchmark.spec(), &arguments.settings.assignments()?)?;
    let study = Manifest {
        study: "trace".into(),
        preset: Preset::from(arguments.preset).name().into(),
        command: String::new(),
        seed: arguments.seed,
        experiments: arguments.experiment,
        tasks: arguments.tasks,
        ..Manifest::default()
    };
    let plan = Plan::new(study, benchmark, vec![Variant::of(arguments.method, setup)])?;
    let go_on = || !stop_flag("the lines so far stand").load(Ordering::Relaxed);
    let mut each = |line: &str| match arguments.digest {
        true => Ok(()),
        // Flushed line by line: whoever compares with a slow device wants to see how far it is.
        false => Ok(writeln!(out, "{line}").and_then(|()| out.flush())?),
    };
    let digest = trace(&plan, arguments.experiment, &go_on, &mut each)?;
    writeln!(out, "digest {digest:08x}")?;
    Ok(())
}

/// Turns events into lines and keeps their digest.
#[derive(Clone, Debug, Default)]
pub struct Tracer {
    crc: Crc,
}

impl Tracer {
    pub fn query(&mut self, task: u32, query: &Proposal, y: f32) -> String {
        let (kind, number) = match query.kind {
            Kind::Initial => ("initial", 0),
            Kind::Carried => ("carried", 1),
            Kind::Search => ("search", 2),
            Kind::Past => ("past", 3),
        };
        self.add(&[task, query.round, number, query.fidelity as u32]);
        self.add_floats(&query.unit);
        self.add_floats(&[y]);
        let fidelity = query.fidelity + 1;
        format!("query {task} {} {kind} {fidelity} x{} y{}", query.round, hex(&query.unit), hex(&[y]))
    }

    pub fn end(&mut self, task: u32, stop: Stop, advice: &Advice) -> String {
        let Advice { unit, mean, deviation, .. } = advice;
        self.add(&[task, u32::MAX]);
        self.add_floats(unit);
        self.add_floats(&[*mean, *deviation]);
        format!(
            "end {task} {} x{} mean{} deviation{} digest {:08x}",
            stop_word(stop),
            hex(unit),
            hex(&[*mean]),
            hex(&[*deviation]),
            self.digest()
        )
    }

    pub fn digest(&self) -> u32 {
        self.crc.value()
    }

    fn add(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.crc.update(&word.to_le_bytes()));
    }

    fn add_floats(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.add(&[value.to_bits()]));
    }
}

fn hex(values: &[f32]) -> String {
    values.iter().fold(String::new(), |mut text, value| {
        // Writing to a string cannot fail.
        let _ = write!(text, " {:08x}", value.to_bits());
        text
    })
}

fn stop_word(stop: Stop) -> String {
    format!("{stop:?}").to_lowercase()
}

/// Runs all tasks of one experiment of a plan's first variant; `each` gets the lines.
///
/// # Errors
/// What the optimizer refuses, what `each` returns, [`Error::Interrupted`] when `go_on` says no.
pub fn trace(
    plan: &Plan,
    experiment: u32,
    go_on: &dyn Fn() -> bool,
    each: &mut dyn FnMut(&str) -> Result<(), Error>,
) -> Result<u32, Error> {
    let (benchmark, seeds) = (plan.benchmark(), plan.seeds(experiment));
    let mut tracer = Tracer::default();
    plan.with_tuner(0, experiment, |tuner| {
        for number in 1..=plan.manifest().tasks {
            let task = benchmark.tasks(seeds.tasks)?.task(number as usize - 1);
            let mut noise = Noise::new(seeds.noise, number);
            let mut answered = |a: host_sim::runner::Answered| each(&tracer.query(number, &a.proposal, a.y));
            let ended =
                play(tuner, &*task, benchmark.spec(), benchmark.space(), &mut noise, go_on, &mut answered)?;
            each(&tracer.end(number, ended.stop, &ended.advice))?;
            tuner.next_task()?;
        }
        Ok(())
    })?;
    Ok(tracer.digest())
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::results::crc32;

    #[test]
    fn lines_and_digest_are_as_documented() {
        let mut tracer = Tracer::default();
        let query = Proposal { unit: vec![0.5, 1.0], fidelity: 1, kind: Kind::Carried, round: 7 };
        let line = tracer.query(3, &query, -2.0);
        assert_eq!(line, "query 3 7 carried 2 x 3f000000 3f800000 y c0000000");
        let words = [3, 7, 1, 1, 0x3f00_0000, 0x3f80_0000, 0xc000_0000u32];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(tracer.digest(), crc32(&bytes));
        let advice = Advice { unit: vec![0.0, 0.25], mean: 1.0, deviation: 0.5, assured: true };
        let line = tracer.end(3, Stop::Budget, &advice);
        let words = [3, u32::MAX, 0, 0x3e80_0000, 0x3f80_0000, 0x3f00_0000];
        let all: Vec<u8> = bytes.into_iter().chain(words.iter().flat_map(|w| w.to_le_bytes())).collect();
        let digest = crc32(&all);
        let expected =
            format!("end 3 budget x 00000000 3e800000 mean 3f800000 deviation 3f000000 digest {digest:08x}");
        assert_eq!(line, expected);
    }
}
