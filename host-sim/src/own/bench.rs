//! A problem of one's own with the command that measures it, as studies take it: maximised.

use foretune_core::Goal;

use super::{Ask, Command, Measured, Target};
use crate::error::Error;

/// Attempts at measuring a recommendation.
const ATTEMPTS: u32 = 3;

/// What is measured, and how.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The problem.
    pub target: Target,
    /// The command.
    pub command: Command,
}

impl Bench {
    /// A measurement, as maximised; none if it failed.
    pub(crate) fn measure(&self, ask: &Ask, go_on: &dyn Fn() -> bool) -> Result<Option<f64>, Error> {
        let sign = match self.target.goal {
            Goal::Maximise => 1.0,
            Goal::Minimise => -1.0,
        };
        Ok(match self.command.measure(&self.target, ask, go_on)? {
            Measured::Value(value, _) => Some(sign * value),
            Measured::Failed(_) => None,
        })
    }

    /// A measurement that has to succeed, in a few attempts.
    pub(crate) fn judge(&self, ask: &Ask, go_on: &dyn Fn() -> bool) -> Result<f64, Error> {
        for _ in 0..ATTEMPTS {
            if let Some(value) = self.measure(ask, go_on)? {
                return Ok(value);
            }
        }
        Err(Error::Device(format!("the recommended point could not be measured in {ATTEMPTS} attempts")))
    }
}
