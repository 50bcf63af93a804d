//! `foretune demo`: what a program without arguments does.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::arguments::shown;
use super::{ExecutionArguments, stop_flag};
use crate::demo;
use host_sim::error::Error;
use host_sim::results::check_writable;
use host_sim::runner;
use host_sim::words::{counted, spell};

/// Run a simulated cellular system in service, never tuned and tuned, for about a minute, and tell what its users got.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Different towns to average over.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    systems: u32,
    /// Hours in each.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    tasks: u32,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The picture.
    #[arg(long, short, value_name = "FILE", default_value = "foretune-demo.svg")]
    out: PathBuf,
    /// Worker threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,
}

impl Default for DemoArguments {
    fn default() -> Self {
        Self { systems: 8, tasks: 6, seed: 1, out: "foretune-demo.svg".into(), jobs: None }
    }
}

pub(super) fn run(arguments: &DemoArguments, out: &mut dyn Write) -> Result<(), Error> {
    check_writable(&arguments.out)?;
    let plan = demo::plan(arguments.systems, arguments.tasks, arguments.seed)?;
    writeln!(out, "{}\n", demo::INTRODUCTION)?;
    let (methods, systems) = (demo::METHODS.len(), counted(arguments.systems as usize, "town"));
    let hours = counted(arguments.tasks as usize, "hour");
    writeln!(out, "Now {systems} are run in {methods} ways for {hours} each.")?;
    out.flush()?;
    let folder = tempfile::tempdir().map_err(Error::Output)?;
    let jobs = ExecutionArguments { resume: false, jobs: arguments.jobs, shard: None, quiet: false };
    let started = Instant::now();
    let study =
        runner::run(&plan, &folder.path().join("demo"), jobs.execution(), stop_flag("nothing is kept"))?;
    let time = spell(started.elapsed());
    demo::tell(&study, out)?;
    let picture = demo::picture(&study)?;
    fs::write(&arguments.out, picture).map_err(Error::io("write", &arguments.out))?;
    writeln!(out, "\nThat took {time}. The picture is in {}.\n\n{}", shown(&arguments.out), demo::NEXT)?;
    Ok(())
}
