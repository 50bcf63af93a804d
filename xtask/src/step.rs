//! Steps as data: a name, a sentence and a function; run in order, summed up in a table.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::tools::Tools;

/// One thing that `cargo xtask test` does.
pub struct Step {
    /// Short name, also the word that selects it on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Does it.
    pub run: fn(&Tools) -> Verdict,
}

/// A row of the table of steps.
pub const fn step(name: &'static str, about: &'static str, run: fn(&Tools) -> Verdict) -> Step {
    Step { name, about, run }
}

/// A remark for the summary (often empty), or why it did not pass.
pub type Verdict = Result<String, Error>;

/// What came of a step.
#[derive(Debug)]
pub struct Finding {
    name: &'static str,
    verdict: Verdict,
    took: Duration,
}

/// What came of all of them.
#[derive(Debug, Default)]
pub struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// Runs the steps in order; one that fails does not stop the next.
    pub fn of<'a>(steps: impl IntoIterator<Item = &'a Step>, tools: &Tools) -> Self {
        let mut report = Report::default();
        for step in steps {
            println!("\n=== {}: {}", step.name, step.about);
            let start = Instant::now();
            let verdict = (step.run)(tools);
            report.add(step.name, verdict, start.elapsed());
        }
        report
    }

    fn add(&mut self, name: &'static str, verdict: Verdict, took: Duration) {
        self.findings.push(Finding { name, verdict, took });
    }

    /// Whether all is well; `strict` (continuous integration) counts a step that could not run as a failure.
    pub fn is_good(&self, strict: bool) -> bool {
        self.findings.iter().all(|finding| match finding.verdict {
            Ok(_) => true,
            Err(Error::Failed(_)) => false,
            Err(Error::Missing(_)) => !strict,
        })
    }

    /// One line per step: what ran, how long it took, what could not run and why.
    pub fn table(&self) -> String {
        let width = self.findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
        let mut table = String::new();
        for Finding { name, verdict, took } in &self.findings {
            let (word, remark) = match verdict {
                Ok(remark) => ("ok", remark.as_str()),
                Err(Error::Failed(why)) => ("FAILED", why.as_str()),
                Err(Error::Missing(why)) => ("NOT RUN", why.as_str()),
            };
            let line = format!("{name:<width$}  {word:<7} {:>6.1} s  {remark}", took.as_secs_f32());
            writeln!(table, "{}", line.trim_end()).expect("writing to a string");
        }
        table
    }

    /// The last line: how many ran, how many of them failed, how many could not run.
    pub fn summary(&self) -> String {
        let count = |test: fn(&Verdict) -> bool| self.findings.iter().filter(|f| test(&f.verdict)).count();
        let passed = count(|v| v.is_ok());
        let failed = count(|v| matches!(v, Err(Error::Failed(_))));
        let missing = count(|v| matches!(v, Err(Error::Missing(_))));
        format!("{passed} passed, {failed} failed, {missing} could not run")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: [Verdict; 2]) -> Report {
        let mut report = Report::default();
        for verdict in verdicts {
            report.add("step", verdict, Duration::ZERO);
        }
        report
    }

    #[test]
    fn a_failure_is_bad_everywhere() {
        let report = report([Ok(String::new()), Err(Error::failed("wrong"))]);
        assert!(!report.is_good(false));
        assert!(!report.is_good(true));
    }

    #[test]
    fn a_step_that_could_not_run_is_bad_only_when_strict() {
        let report = report([Ok(String::new()), Err(Error::missing("no emulator"))]);
        assert!(report.is_good(false));
        assert!(!report.is_good(true));
    }

    #[test]
    fn the_table_says_what_could_not_run_and_why() {
        let report = report([Ok("fine".into()), Err(Error::missing("no emulator"))]);
        let table = report.table();
        assert!(table.contains("ok") && table.contains("fine"), "{table}");
        assert!(table.contains("NOT RUN") && table.contains("no emulator"), "{table}");
        assert_eq!(report.summary(), "1 passed, 0 failed, 1 could not run");
    }
}
