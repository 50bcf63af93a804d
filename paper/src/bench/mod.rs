//! How fast the optimizer is here, beside what this machine can do at most: `foretune-paper bench`.
//!
//! Times one search (`ask`) and one step of learning of the very core that runs on the device, counts the
//! floating-point operations that they need ([`work`]), and measures the machine's [`peak`](peak()) in the same process,
//! before and after every case: a clock that rises or falls meanwhile, or a neighbour, then hurts both sides of the
//! ratio. All times are the least of several runs.

mod case;
pub mod growth;
mod peak;

pub use case::{Case, MAX_OBSERVATIONS, MAX_WIDTH, Timing};
pub use peak::peak;

use std::time::Duration;

use foretune_core::{Map, Settings};
use serde_json::{Value, json};

use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::Problem;
use host_sim::runner::{Benchmark, Noise, Seeds};
use host_sim::settings::{Preset, Setup};
use host_sim::work;

/// A row of the table: which case, and what came out.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the problem.
    pub problem: String,
    /// The settings.
    pub settings: Settings,
    /// Observations.
    pub observations: usize,
    /// Root of all randomness.
    pub seed: u64,
    /// What was measured.
    pub timing: Timing,
}

/// All rows, and the peak beside which they stand.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Floating-point operations per second.
    pub peak: f64,
    /// The cases.
    pub rows: Vec<Row>,
}

/// The problem and the settings of a case.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The problem.
    pub problem: Problem,
    /// The settings, for MFT-MES.
    pub settings: Settings,
}

impl Subject {
    /// A problem with a preset and what is set over it.
    ///
    /// # Errors
    /// [`Error::Usage`] naming the setting that is wrong.
    pub fn new(problem: Problem, setup: &Setup) -> Result<Self, Error> {
        Ok(Subject { problem, settings: setup.for_method(Method::MftMes)? })
    }

    /// What the table of this project's documentation shows: the paper's deep map on Hartmann-6, our lengthscales on
    /// power control.
    ///
    /// # Errors
    /// None that could be seen: the presets are sound.
    pub fn usual() -> Result<[Self; 2], Error> {
        let subject = |name: &str, preset| {
            let problem: Problem = name.parse().map_err(|_| Error::Defect)?;
            Subject::new(problem, &Setup::new(preset, &problem.spec()))
        };
        Ok([subject("hartmann6", Preset::Paper)?, subject("rrm", Preset::Default)?])
    }
}

impl Report {
    /// Times one more case.
    ///
    /// # Errors
    /// What the optimizer has against it.
    pub fn add(
        &mut self,
        subject: &Subject,
        observations: usize,
        seed: u64,
        patience: Duration,
    ) -> Result<(), Error> {
        let timing = time(subject, observations, seed, patience)?;
        self.peak = self.peak.max(peak(patience / 10));
        let problem = Benchmark::new(subject.problem).spec().name.clone();
        self.rows.push(Row { problem, settings: subject.settings, observations, seed, timing });
        Ok(())
    }

    /// Everything as JSON: times in seconds, operations, shares of the peak.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row(row)).collect();
        json!({ "peak_flops": self.peak, "operations": PRICES, "rows": rows })
    }

    fn row(&self, row: &Row) -> Value {
        let side = |time: Duration, work: f64| {
            let seconds = time.as_secs_f64();
            json!({ "seconds": seconds, "operations": work, "flops": work / seconds,
                "share_of_peak": work / seconds / self.peak })
        };
        json!({
            "problem": row.problem,
            "map": map(&row.settings),
            "particles": row.settings.particles,
            "candidates": row.settings.candidates,
            "candidates_with_refinements": work::candidates(&row.settings),
            "observations": row.observations,
            "seed": row.seed,
            "runs": row.timing.runs,
            "step": side(row.timing.step, row.timing.step_work),
            "ask": side(row.timing.ask, row.timing.ask_work),
        })
    }
}

/// What counts, in one line.
pub const PRICES: &str =
    "sum, difference, product, quotient, root 1; tanh, exp 20; ln 26; ln of the normal distribution 48";

/// Times a subject with so many observations.
fn time(subject: &Subject, observations: usize, seed: u64, patience: Duration) -> Result<Timing, Error> {
    let benchmark = Benchmark::new(subject.problem);
    let seeds = Seeds::new(seed, 1);
    let task = benchmark.tasks(seeds.tasks)?.task(0);
    let mut noise = Noise::new(seeds.noise, 1);
    let mut answer = |unit: &[f32], fidelity: usize| {
        let exact = task.value(fidelity, &benchmark.space().natural(unit));
        (exact + noise.draw(benchmark.spec().fidelities[fidelity].noise_variance)) as f32
    };
    let parts = benchmark.space().parts();
    let problem = benchmark.space().problem(&parts, None);
    let case = Case { problem, settings: subject.settings, observations, seed: seeds.optimizer };
    Ok(case.time(patience, &mut answer)?)
}

/// The map in a word.
pub fn map(settings: &Settings) -> String {
    match settings.map {
        Map::Ard => "ard".into(),
        Map::Deep { width } => format!("deep {width}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_was_timed_and_which_share_of_the_peak_it_reached() {
        let [_, ard] = Subject::usual().unwrap();
        let mut report = Report::default();
        report.add(&ard, 10, 3, Duration::ZERO).unwrap();
        let json = report.json();
        let row = &json["rows"][0];
        assert_eq!(
            (&row["problem"], &row["map"], &row["observations"]),
            (&json!("rrm"), &json!("ard"), &json!(10))
        );
        let share = row["ask"]["share_of_peak"].as_f64().unwrap();
        let Timing { ask, ask_work, .. } = report.rows[0].timing;
        let expected = ask_work / ask.as_secs_f64() / report.peak;
        assert!(share > 0.0 && (share / expected - 1.0).abs() < 1e-3, "{share}, not {expected}");
        // Below the release profile's level of optimisation the peak's loop keeps its sums in memory: it is no peak.
        assert!(share < 1.0 || cfg!(debug_assertions), "{share}");
    }
}
