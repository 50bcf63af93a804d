//! `foretune-paper theory`: the paper's regret bound, as far as it can be checked.
//!
//! **Known θ**, Eq. (64) of the supplement. Functions are drawn from a Gaussian process on a grid and maximised by the
//! rule of Eq. (62), (63): the least `(m̂ − μ(x))/σ(x)`, `m̂` the expected maximum. Measured is the cumulative expected
//! regret of Eq. (40), (41), `R_T = Σ_t [m̂_t − μ_t(x_t)]`; the bound is `ν* √(ζ T ρ_T)` with `ζ = 2/ln(1 + σ⁻²)`,
//! `ν*` the greatest over rounds of the least normalised regret, and the maximum information gain `ρ_T` of
//! Eq. (65), (66). Regret and bound come from the same posterior, so that the one is below the other even if the posterior
//! is wrong; what can be wrong is held against the truth: `Σ_t [f* − f(x_t)]`, what the queries lost in truth, is `R_T` on
//! average over functions, so its mean must be below the mean of the bound. [`Fault`] shows that it is not when
//! something is wrong. The greatest information gain is found greedily: it is at least `1 − 1/e` of the true one, so the bound
//! shown is at most the true one, and the true one at most `1/√(1 − 1/e) = 1.26` times the bound shown.
//!
//! **Unknown θ**, Eq. (51). Its constants ε, L, ξ, α are not known and cannot be measured, so what is measured is what they
//! bound: by how much Two-phase MFT-MES does worse than the same optimizer told θ, on sequences of tasks whose functions
//! share an unknown lengthscale, against the number of the task `n` and the share `c` of queries for the current task.
//!
//! Posteriors come from the core. Functions and joint samples of the posterior (for `m̂`) are drawn in `f64` here: a
//! sample path of the prior becomes one of the posterior by moving it, observation by observation, towards what was
//! observed (Matheron's rule), so that every path costs one pass over the grid per observation.

mod bound;
mod charts;
mod known;
mod law;
mod text;
mod two_phase;
mod watch;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bound::LOOSENESS;
use clap::{Args, FromArgMatches};
use foretune::cli::shown;
use host_sim::error::Error;
use host_sim::results::check_writable;
use host_sim::words::{say, spell};
use known::{Fault, KnownRow};
use two_phase::PhaseRow;

/// Check the paper's regret bound, Eq. (51) and (64), on functions drawn from a Gaussian process.
///
/// For known θ the bound is compared with the measured regret; for unknown θ, where its constants cannot be known, what
/// Two-phase MFT-MES loses is measured against the number of the task and the share c. Takes less than a minute as it
/// is; the options make it larger.
#[derive(Debug, Args)]
pub(crate) struct TheoryArguments {
    #[command(flatten)]
    options: Options,
    /// Folder for the text and the charts.
    #[arg(long, short, value_name = "DIR", default_value = "runs/theory")]
    out: PathBuf,
    /// No progress.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(arguments: &TheoryArguments, out: &mut dyn Write) -> Result<(), Error> {
    let options = arguments.options.clone().checked().map_err(Error::usage)?;
    let text = arguments.out.join("theory.txt");
    fs::create_dir_all(&arguments.out).map_err(Error::io("create", &arguments.out))?;
    check_writable(&text)?;
    let started = Instant::now();
    let mut progress = |stage: &str| {
        if !arguments.quiet {
            say(&format!("[{}] {stage}", spell(started.elapsed())));
        }
    };
    let report = measure(options, &mut progress)?;
    let mut told = Vec::new();
    text::write(&report, &mut told)?;
    write(&text, &told)?;
    let charts = charts::charts(&report);
    for (name, svg) in &charts {
        write(&arguments.out.join(name), svg.as_bytes())?;
    }
    out.write_all(&told)?;
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    writeln!(
        out,
        "\nThis text is in {}, charts beside it: {}. That took {}.",
        shown(&text),
        names.join(", "),
        spell(started.elapsed())
    )?;
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(Error::io("write", path))
}

pub const MAX_ROUNDS: usize = 64;
pub const MAX_PARTICLES: usize = 16;

/// What is measured, and how much of it; as it stands, some twenty seconds on one core.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Known θ: functions drawn for each noise.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub functions: usize,
    /// Known θ: queries of each function, up to 64.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub rounds: usize,
    /// Known θ: noise variances, beside functions of variance 1.
    #[arg(long = "noise", value_name = "LIST", value_delimiter = ',', default_value = "0.001,0.01,0.1,1")]
    pub noises: Vec<f64>,
    /// Unknown θ: sequences of tasks for each c.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub experiments: usize,
    /// Unknown θ: tasks in a sequence.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub tasks: usize,
    /// Unknown θ: queries of each task, up to 64.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub queries: usize,
    /// Unknown θ: shares c of queries for the current task.
    #[arg(long = "c", value_name = "LIST", value_delimiter = ',', default_value = "0.25,0.5,0.75,1")]
    pub shares: Vec<f64>,
    /// Unknown θ: noise variance.
    #[arg(long = "task-noise", value_name = "X", default_value_t = 0.01)]
    pub noise: f64,
    /// Unknown θ: particles, up to 16.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub particles: usize,
    /// Unknown θ: deviation of the density estimate around each carried particle.
    #[arg(long, value_name = "X", default_value_t = 0.2)]
    pub bandwidth: f64,
    /// Samples of the posterior behind every expected maximum.
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub samples: usize,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        let defaults = Self::augment_args(clap::Command::new("theory")).get_matches_from(["theory"]);
        Self::from_arg_matches(&defaults).expect("every option has a default")
    }
}

impl Options {
    pub fn checked(self) -> Result<Self, &'static str> {
        let positive = |noise: &f64| (3e-4..=1e3).contains(noise);
        let share = |c: &f64| *c > 0.0 && *c <= 1.0;
        let rounds = 1..=MAX_ROUNDS;
        for (good, problem) in [
            (self.samples >= 2, "samples must be 2 or more"),
            (self.functions >= 1, "functions must be 1 or more"),
            (rounds.contains(&self.rounds), "rounds must be 1 to 64"),
            (!self.noises.is_empty() && self.noises.iter().all(positive), "noise must be 0.0003 to 1000"),
            (self.experiments >= 1, "experiments must be 1 or more"),
            (self.tasks >= 1, "tasks must be 1 or more"),
            (rounds.contains(&self.queries), "queries must be 1 to 64"),
            (!self.shares.is_empty() && self.shares.iter().all(share), "c must be above 0 and at most 1"),
            (positive(&self.noise), "task noise must be 0.0003 to 1000"),
            ((0.001..=10.0).contains(&self.bandwidth), "bandwidth must be 0.001 to 10"),
            ((1..=MAX_PARTICLES).contains(&self.particles), "particles must be 1 to 16"),
        ] {
            if !good {
                return Err(problem);
            }
        }
        Ok(self)
    }
}

#[derive(Clone, Debug)]
pub struct Report {
    pub options: Options,
    pub known: Vec<KnownRow>,
    /// Known θ, with something wrong on purpose.
    pub faults: Vec<(Fault, KnownRow)>,
    pub phases: Vec<PhaseRow>,
    /// Largest difference of the core's posterior means from those in `f64`, anywhere.
    pub rounding: f64,
}

/// Measures everything; `progress` is told what comes next.
pub fn measure(options: Options, progress: &mut dyn FnMut(&str)) -> Result<Report, foretune_core::Error> {
    let (known, rounding) = known::measure(&options, progress)?;
    let faults = known::faults(&options, progress)?;
    let phases = two_phase::measure(&options, progress)?;
    Ok(Report { options, known, faults, phases, rounding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_range_are_named() {
        let wrong = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.checked().unwrap_err()
        };
        assert_eq!(wrong(|o| o.rounds = 65), "rounds must be 1 to 64");
        assert_eq!(wrong(|o| o.noises = vec![]), "noise must be 0.0003 to 1000");
        assert_eq!(wrong(|o| o.shares = vec![0.0]), "c must be above 0 and at most 1");
        assert_eq!(wrong(|o| o.noise = f64::NAN), "task noise must be 0.0003 to 1000");
        assert_eq!(wrong(|o| o.particles = 17), "particles must be 1 to 16");
        assert!(Options::default().checked().is_ok());
    }
}
