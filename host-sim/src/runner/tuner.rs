//! What a study needs of a method, the core's optimizer or a baseline: ask, tell, recommend, remember.

use foretune_core::{Error, Kind, Optimizer, Progress, Stop};

/// Slices of work between two looks at whether to go on.
const SLICES: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The point in the unit cube.
    pub unit: Vec<f32>,
    /// Index of the fidelity.
    pub fidelity: usize,
    pub kind: Kind,
    /// Number of the query within the task, from 0.
    pub round: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    Query(Proposal),
    Done(Stop),
    /// The caller did not want to go on.
    Interrupted,
}

impl Next {
    /// The query, or the end of the budget where there is none.
    pub(super) fn or_budget(proposal: Option<Proposal>) -> Self {
        proposal.map_or(Self::Done(Stop::Budget), Self::Query)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The point in the unit cube.
    pub unit: Vec<f32>,
    pub mean: f32,
    pub deviation: f32,
    /// Whether floor and guards are kept there as surely as asked for; if not, it is the point in use.
    pub assured: bool,
}

pub trait Tuner {
    /// Works until there is a query, the task has ended, or `go_on` says no.
    fn next(&mut self, go_on: &dyn Fn() -> bool) -> Next;

    /// Answers the last query, with the KPIs of the problem's guards; with `None` where the measurement failed.
    fn answer(&mut self, y: Option<f32>, kpis: &[f32]) -> Result<(), Error>;

    /// The recommendation, once the task has ended.
    fn advice(&self) -> Option<Advice>;

    fn next_task(&mut self) -> Result<(), Error>;

    /// Ends the task now, with what was observed.
    fn finish(&mut self);

    /// What the next task starts from, as bytes; once this one has ended.
    fn knowledge(&self) -> Result<Vec<u8>, Error>;

    /// Goes on from what [`knowledge`](Self::knowledge) wrote: the next task has begun then.
    fn load(&mut self, knowledge: &[u8]) -> Result<(), Error>;

    /// The point in use when the task began, in the unit cube, if the task starts from one.
    fn deployed(&self) -> Option<Vec<f32>> {
        None
    }

    /// Whether it is told the KPIs of guards.
    fn knows_guards(&self) -> bool {
        true
    }

    /// What it makes of a relay experiment, if it wants one: gain and times beside those that are found.
    fn relay_rule(&self) -> Option<[f64; 3]> {
        None
    }

    /// Takes the point that came of it, in the unit cube.
    fn adopt(&mut self, unit: Vec<f32>) {
        let _ = unit;
    }
}

impl Tuner for Optimizer<'_> {
    fn next(&mut self, go_on: &dyn Fn() -> bool) -> Next {
        while go_on() {
            for _ in 0..SLICES {
                match self.advance() {
                    Progress::Working => {}
                    Progress::Query(query) => {
                        return Next::Query(Proposal {
                            unit: query.unit().to_vec(),
                            fidelity: query.fidelity(),
                            kind: query.kind(),
                            round: query.round(),
                        });
                    }
                    Progress::Done(stop) => return Next::Done(stop),
                    // Nothing follows before the answer: whoever asks on without one gave up on the task.
                    _ => return Next::Interrupted,
                }
            }
        }
        Next::Interrupted
    }

    fn answer(&mut self, y: Option<f32>, kpis: &[f32]) -> Result<(), Error> {
        let query = self.outstanding().ok_or(Error::OutOfTurn)?;
        Ok(self.answer_all(query, y, kpis, None)?)
    }

    fn advice(&self) -> Option<Advice> {
        self.recommendation().map(|best| Advice {
            unit: best.unit().to_vec(),
            mean: best.mean,
            deviation: best.deviation,
            assured: best.assured,
        })
    }

    fn next_task(&mut self) -> Result<(), Error> {
        Optimizer::next_task(self)
    }

    fn finish(&mut self) {
        self.stop();
        while matches!(self.advance(), Progress::Working) {}
    }

    fn knowledge(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(self.snapshot_len());
        Optimizer::knowledge(self, |piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }

    fn load(&mut self, knowledge: &[u8]) -> Result<(), Error> {
        Optimizer::load(self, knowledge)
    }

    fn knows_guards(&self) -> bool {
        !self.problem().guards.is_empty()
    }

    fn deployed(&self) -> Option<Vec<f32>> {
        Optimizer::deployed(self).map(<[f32]>::to_vec)
    }
}
