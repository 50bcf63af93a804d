//! A problem of one's own with the command that measures it, as studies take it: maximised.

use std::collections::BTreeMap;
use std::sync::Arc;

use foretune_core::Goal;
use host_sim::error::Error;
use host_sim::runner::{self, Benchmark, Trial};
use serde_json::Value;

use super::{Ask, Command, Measured, Target, Why};

/// What is measured, and how.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The problem.
    pub target: Target,
    /// The command.
    pub command: Command,
}

impl Bench {
    /// The problem of a study, with its fidelities' noise.
    pub fn benchmark(self, noise: &[f64]) -> Benchmark {
        let spec = self.target.spec(noise, self.target.budget);
        let service = self.target.deployed.as_ref().map(|_| match self.target.goal {
            Goal::Maximise => self.target.service(),
            Goal::Minimise => self.target.service().turned(),
        });
        Benchmark::measured(Arc::new(self), spec, service)
    }
}

impl runner::Bench for Bench {
    fn options(&self, budget: f64) -> BTreeMap<String, Value> {
        let mut options = self.target.options(budget);
        options.insert("command".into(), self.command.text().into());
        options
    }

    fn failures(&self) -> usize {
        self.target.failures
    }

    fn measure(&self, trial: &Trial<'_>, go_on: &dyn Fn() -> bool) -> Result<Result<f64, String>, Error> {
        let sign = match self.target.goal {
            Goal::Maximise => 1.0,
            Goal::Minimise => -1.0,
        };
        let &Trial { seed, experiment, task, point, fidelity } = trial;
        let command = self.command.for_experiment(seed, experiment);
        let ask = Ask { id: 0, task, point: point.to_vec(), fidelity, why: Why::Search };
        Ok(match command.measure(&self.target, &ask, go_on)? {
            Measured::Value(value, _) => Ok(sign * value),
            Measured::Failed(why) => Err(why),
        })
    }
}
