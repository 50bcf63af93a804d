//! `foretune-paper theory`: the paper's regret bound, as far as it can be checked.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use crate::theory;
use foretune::cli::shown;
use host_sim::error::Error;
use host_sim::results::{self, check_writable};
use host_sim::words::{say, spell};

/// Check the paper's regret bound, Eq. (51) and (64), on functions drawn from a Gaussian process.
///
/// For known θ the bound is compared with the measured regret; for unknown θ, where its constants cannot be known, what
/// Two-phase MFT-MES loses is measured against the number of the task and the share c. Takes less than a minute as it
/// is; the options make it larger.
#[derive(Debug, Args)]
pub(crate) struct TheoryArguments {
    /// Known θ: functions drawn for each noise.
    #[arg(long, value_name = "N", default_value_t = 20)]
    functions: usize,
    /// Known θ: queries of each function, up to 64.
    #[arg(long, value_name = "N", default_value_t = 40)]
    rounds: usize,
    /// Known θ: noise variances, beside functions of variance 1.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0.001,0.01,0.1,1")]
    noise: Vec<f64>,
    /// Unknown θ: sequences of tasks for each c.
    #[arg(long, value_name = "N", default_value_t = 30)]
    experiments: usize,
    /// Unknown θ: tasks in a sequence.
    #[arg(long, value_name = "N", default_value_t = 8)]
    tasks: usize,
    /// Unknown θ: queries of each task, up to 64.
    #[arg(long, value_name = "N", default_value_t = 12)]
    queries: usize,
    /// Unknown θ: shares c of queries for the current task.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0.25,0.5,0.75,1")]
    c: Vec<f64>,
    /// Unknown θ: noise variance.
    #[arg(long, value_name = "X", default_value_t = 0.01)]
    task_noise: f64,
    /// Unknown θ: particles, up to 16.
    #[arg(long, value_name = "N", default_value_t = 10)]
    particles: usize,
    /// Unknown θ: deviation of the density estimate around each carried particle.
    #[arg(long, value_name = "X", default_value_t = 0.2)]
    bandwidth: f64,
    /// Samples of the posterior behind every expected maximum.
    #[arg(long, value_name = "N", default_value_t = 400)]
    samples: usize,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder for the text and the charts.
    #[arg(long, short, value_name = "DIR", default_value = "runs/theory")]
    out: PathBuf,
    /// No progress.
    #[arg(long, short)]
    quiet: bool,
}

impl TheoryArguments {
    fn options(&self) -> Result<theory::Options, Error> {
        let options = theory::Options {
            seed: self.seed,
            samples: self.samples,
            functions: self.functions,
            rounds: self.rounds,
            noises: self.noise.clone(),
            experiments: self.experiments,
            tasks: self.tasks,
            queries: self.queries,
            shares: self.c.clone(),
            noise: self.task_noise,
            bandwidth: self.bandwidth,
            particles: self.particles,
        };
        options.checked().map_err(Error::usage)
    }
}

pub(super) fn run(arguments: &TheoryArguments, out: &mut dyn Write) -> Result<(), Error> {
    let options = arguments.options()?;
    let text = arguments.out.join("theory.txt");
    fs::create_dir_all(&arguments.out).map_err(results::Error::io("create", &arguments.out))?;
    check_writable(&text)?;
    let started = Instant::now();
    let mut progress = |stage: &str| {
        if !arguments.quiet {
            say(&format!("[{}] {stage}", spell(started.elapsed())));
        }
    };
    let report = theory::measure(options, &mut progress)?;
    let mut told = Vec::new();
    theory::write(&report, &mut told)?;
    write(&text, &told)?;
    let charts = theory::charts(&report);
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
    Ok(fs::write(path, bytes).map_err(results::Error::io("write", path))?)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: TheoryArguments,
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let arguments = Program::parse_from(["theory"]).arguments;
        assert_eq!(arguments.options().unwrap(), theory::Options::default());
    }
}
