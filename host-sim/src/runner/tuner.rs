//! What a study needs of an optimizer, whatever its shape: ask, tell, recommend, remember.

use foretune_core::{Error, Fallbacks, Kind, Optimizer, Progress, Query, Stop};

/// Slices of work between two looks at whether to go on.
const SLICES: usize = 64;

/// A query to be answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The point in the unit cube.
    pub unit: Vec<f32>,
    /// Index of the fidelity.
    pub fidelity: usize,
    /// How it came about.
    pub kind: Kind,
    /// Number of the query within the task, from 0.
    pub round: u32,
}

/// What comes next in a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A query wants an answer.
    Query(Proposal),
    /// The task has ended.
    Done(Stop),
    /// The caller did not want to go on.
    Interrupted,
}

/// The setting to use after a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The point in the unit cube.
    pub unit: Vec<f32>,
    /// What is expected of it.
    pub mean: f32,
    /// Deviation of that expectation.
    pub deviation: f32,
}

/// An optimizer over a sequence of tasks.
pub trait Tuner {
    /// Works until there is a query, the task has ended, or `go_on` says no.
    fn next(&mut self, go_on: &dyn Fn() -> bool) -> Next;

    /// Answers the last query.
    ///
    /// # Errors
    /// What the optimizer has against the answer.
    fn tell(&mut self, y: f32) -> Result<(), Error>;

    /// The measurement of the last query failed.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if there is none.
    fn fail(&mut self) -> Result<(), Error>;

    /// The recommendation, once the task has ended.
    fn advice(&self) -> Option<Advice>;

    /// Starts the next task.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if this one has not ended.
    fn next_task(&mut self) -> Result<(), Error>;

    /// Ends the task now, with what was observed.
    fn finish(&mut self);

    /// What the next task starts from, as bytes; once this one has ended.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if it has not.
    fn knowledge(&self) -> Result<Vec<u8>, Error>;

    /// Goes on from what [`knowledge`](Self::knowledge) wrote: the next task has begun then.
    ///
    /// # Errors
    /// Why the bytes were refused.
    fn load(&mut self, knowledge: &[u8]) -> Result<(), Error>;

    /// How often numerics had to help themselves in this task.
    fn fallbacks(&self) -> Fallbacks;
}

/// The core's optimizer with the query that it asked last.
pub(super) struct Asking<
    'a,
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> {
    optimizer: Optimizer<'a, D, M, N, V, F, P, A, Q>,
    query: Option<Query<D>>,
}

impl<
    'a,
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> Asking<'a, D, M, N, V, F, P, A, Q>
{
    pub fn new(optimizer: Optimizer<'a, D, M, N, V, F, P, A, Q>) -> Self {
        Self { optimizer, query: None }
    }
}

impl<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> Tuner for Asking<'_, D, M, N, V, F, P, A, Q>
{
    fn next(&mut self, go_on: &dyn Fn() -> bool) -> Next {
        while go_on() {
            for _ in 0..SLICES {
                match self.optimizer.advance() {
                    Progress::Working => {}
                    Progress::Query(query) => {
                        let (unit, fidelity) = (query.unit().to_vec(), query.fidelity());
                        let (kind, round) = (query.kind(), query.round());
                        self.query = Some(query);
                        return Next::Query(Proposal { unit, fidelity, kind, round });
                    }
                    Progress::Done(stop) => return Next::Done(stop),
                    // Nothing follows before the answer: whoever asks on without one gave up on the task.
                    Progress::Waiting => return Next::Interrupted,
                }
            }
        }
        Next::Interrupted
    }

    fn tell(&mut self, y: f32) -> Result<(), Error> {
        let query = self.query.take().ok_or(Error::OutOfTurn)?;
        self.optimizer.tell(query, y).map_err(|refused| {
            self.query = Some(refused.query);
            refused.error
        })
    }

    fn fail(&mut self) -> Result<(), Error> {
        let query = self.query.take().ok_or(Error::OutOfTurn)?;
        self.optimizer.fail(query).map_err(|refused| {
            self.query = Some(refused.query);
            refused.error
        })
    }

    fn advice(&self) -> Option<Advice> {
        self.optimizer.recommendation().map(|best| Advice {
            unit: best.unit().to_vec(),
            mean: best.mean,
            deviation: best.deviation,
        })
    }

    fn next_task(&mut self) -> Result<(), Error> {
        self.optimizer.next_task()
    }

    fn finish(&mut self) {
        self.query = None;
        self.optimizer.stop();
        while matches!(self.optimizer.advance(), Progress::Working) {}
    }

    fn knowledge(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(self.optimizer.snapshot_len());
        self.optimizer.knowledge(|piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }

    fn load(&mut self, knowledge: &[u8]) -> Result<(), Error> {
        self.query = None;
        self.optimizer.load(knowledge)
    }

    fn fallbacks(&self) -> Fallbacks {
        self.optimizer.status().fallbacks
    }
}
