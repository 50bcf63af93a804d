//! The firmware's profiles on this host: the same problem, settings and memory, run by the same core.

use foretune_core::{Block, Capacities, Checked, Problem, Settings};
use foretune_firmware::profile::{self, COMPACT, Compact, DEEP, Deep};
use foretune_firmware::reference::{self, Answer, Outline};
use foretune_firmware::room;
use foretune_link::problem::{Numbers, Parts};
use foretune_link::{Begin, Query, Refusal};

use super::dialogue::refused;
use host_sim::error::Error;

/// A profile of the firmware, as the host knows it.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    device: profile::Profile,
    capacities: Capacities,
}

impl Profile {
    pub fn find(name: &str) -> Result<Self, Error> {
        match name {
            "compact" => Ok(Profile { device: COMPACT, capacities: Compact::CAPACITIES }),
            "deep" => Ok(Profile { device: DEEP, capacities: Deep::CAPACITIES }),
            other => Err(Error::Device(format!(
                "the device has profile `{other}`, which this program does not know"
            ))),
        }
    }

    /// The same with another number of learning steps at the end of a task, as a firmware may be built for tests.
    pub fn with_steps(mut self, steps: Option<u32>) -> Result<Self, Error> {
        for settings in [&mut self.device.settings, &mut self.device.sent, &mut self.device.live] {
            let steps_per_task = steps.unwrap_or(settings.get().steps_per_task);
            *settings = Checked::new(Settings { steps_per_task, ..*settings.get() })?;
        }
        Ok(self)
    }

    /// Fingerprint of its problem, as in the greeting.
    pub fn problem(&self) -> u32 {
        self.device.number
    }

    /// Whether the device has room for a problem, given as its bytes.
    pub fn fits(&self, bytes: &[u8]) -> Result<(), Error> {
        let mut numbers = Numbers::new();
        Parts::read(bytes, &mut numbers)
            .and_then(|parts| room::check(&parts.problem(0.0), self.device.room))
            .map_err(|misfit| refused(&Refusal::BadProblem(misfit)))
    }

    /// One task on this host, of a problem that was sent or else of its own, from some knowledge; then what is best under other
    /// conditions.
    pub fn run(
        &self,
        begin: &Begin,
        sent: Option<&[u8]>,
        knowledge: &[u8],
        answer: &mut dyn FnMut(&Query) -> Answer,
        others: &[f32],
    ) -> Result<Outline, Error> {
        let mut words = vec![0; self.capacities.words()];
        let memory = Block::new(&mut words, self.capacities);
        let run = |problem: &Problem<'_>| {
            let problem = Problem { budget: begin.budget, ..*problem };
            reference::run(memory, &self.device, problem, begin, knowledge, answer, others)
        };
        Ok(self.with_problem(sent, run)??)
    }

    /// Does something with the problem that was sent, or else with its own; neither has a budget.
    pub fn with_problem<T>(
        &self,
        sent: Option<&[u8]>,
        work: impl FnOnce(&Problem<'_>) -> T,
    ) -> Result<T, Error> {
        let mut numbers = Numbers::new();
        let parts = sent.map(|bytes| Parts::read(bytes, &mut numbers)).transpose();
        let parts = parts.map_err(|misfit| refused(&Refusal::BadProblem(misfit)))?;
        Ok(work(&parts.as_ref().map_or(self.device.problem, |parts| parts.problem(0.0))))
    }
}
