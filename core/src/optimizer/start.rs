//! An optimizer in a memory.

use super::Optimizer;
use super::memory::{Block, Memory};
use super::trials::Start;
use crate::error::Error;
use crate::settings::{Checked, Settings};
use crate::space::Problem;

impl<const WORDS: usize, const CAPACITIES: u128> Memory<WORDS, CAPACITIES> {
    /// Starts the first task: [`Block::start`].
    ///
    /// # Errors
    /// As there.
    pub fn start<'a>(
        &'a mut self,
        problem: Problem<'a>,
        settings: Settings,
        seed: u64,
    ) -> Result<Optimizer<'a>, Error> {
        self.lend().start(problem, settings, seed)
    }
}

impl<'a> Block<'a> {
    /// Starts the first task. What was in the words before does not matter.
    ///
    /// # Errors
    /// What [`Problem::checked`] and [`Settings::checked`] say, or [`Error::Capacity`] naming what does not fit.
    pub fn start(self, problem: Problem<'a>, settings: Settings, seed: u64) -> Result<Optimizer<'a>, Error> {
        self.start_checked(problem, Checked::new(settings)?, seed)
    }

    /// The same with settings that were looked at already.
    ///
    /// # Errors
    /// As [`start`](Self::start), but for the settings.
    // Not inlined: whoever calls it would have every step of the way on the stack.
    #[inline(never)]
    pub fn start_checked(
        self,
        problem: Problem<'a>,
        settings: Checked,
        seed: u64,
    ) -> Result<Optimizer<'a>, Error> {
        let settings = settings.get();
        let buffers = self.buffers(&problem, settings)?;
        let start = Start::new(&problem, settings.details.method)?;
        Ok(Optimizer::new(buffers, problem, *settings, start, seed))
    }
}
