//! Ask and tell, over a sequence of tasks, in bounded slices of work.
//!
//! One task: initial points, carried points, then queries by the acquisition until budget or slots are used up; then
//! learning at its end, and a recommendation. [`Optimizer::advance`] does one slice; [`Optimizer::ask`] is the loop
//! around it. Alg. 1 and Alg. 2 of the paper, and its variants of Eq. (42), (43), (59), (60), are choices of
//! [`Method`].
//!
//! **Slots are a budget too.** When fewer observations fit than the money could buy, an observation is priced at least
//! `Λ_left / slots_left`, so that dearer, better fidelities win by themselves.
//!
//! **Nothing twice for nothing.** A point already observed at a fidelity is asked again there only if the variance
//! left of its value (over all particles) is at least half the noise's: about one repetition per point.
//!
//! **Slices.** The longest is one block of 8 observations or candidates through the model: see [`crate::gp`]; in the
//! batch methods, the mean kernel of one block under all particles.

mod design;
mod learn;
mod sweep;

use crate::data::{Data, Kind, LARGEST_DEVIATION, LARGEST_VALUE, Record, Scale, Scaling};
use crate::error::Error;
use crate::features::Rows;
use crate::gp::{self, Fallbacks, Observations};
use crate::kernel::{MAX_FIDELITIES, Model};
use crate::prior::MAX_PARTICLES;
use crate::random::{Purpose, Random};
use crate::search;
use crate::settings::{MAX_CARRIED, MAX_SAMPLES, Method, Settings};
use crate::space::{MAX_DIMENSIONS, Problem};
use crate::svgd::Pairs;

use design::Design;
use learn::Learn;
use sweep::{Candidates, Sweep};

/// Measurements that may fail in one task before it ends.
pub const MAX_FAILURES: usize = 8;

/// All memory of an optimizer: zeros at first, so that a `static` lies in `.bss`.
///
/// Capacities, in this order: `D` dimensions, `M` fidelities, `N` observations, `V` particles, `F` features
/// ([`Map::features`](crate::features::Map::features)), `P` parameters ([`Model::parameters`]), `A` auxiliary rows of
/// parameters (`V` to keep the last task's particles here rather than outside, plus
/// [`Step::rows`](crate::svgd::Step::rows)), `Q` candidates, at least `N`.
pub struct Memory<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> {
    data: Data<D, N>,
    gp: gp::Memory<N, F>,
    particles: [[f32; P]; V],
    gradients: [[f32; P]; V],
    rows: [[f32; P]; A],
    pairs: Pairs,
    candidates: Candidates<D, M, Q>,
    maxima: [[f32; MAX_SAMPLES]; V],
    design: [[f32; D]; N],
    design_fidelity: [u8; N],
    carried: [[f32; D]; MAX_CARRIED],
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
> Memory<D, M, N, V, F, P, A, Q>
{
    /// All zeros.
    pub const fn new() -> Self {
        const {
            assert!(
                D <= MAX_DIMENSIONS && M <= MAX_FIDELITIES && V <= MAX_PARTICLES,
                "beyond the library's limits"
            );
            assert!(M > 0 && V > 0 && P > 0, "capacities must not be zero");
            assert!(Q >= N, "all observations must fit among the candidates: Q >= N");
        };
        Memory {
            data: Data::new(),
            gp: gp::Memory::new(),
            particles: [[0.0; P]; V],
            gradients: [[0.0; P]; V],
            rows: [[0.0; P]; A],
            pairs: [[0.0; MAX_PARTICLES]; MAX_PARTICLES],
            candidates: Candidates::new(),
            maxima: [[0.0; MAX_SAMPLES]; V],
            design: [[0.0; D]; N],
            design_fidelity: [0; N],
            carried: [[0.0; D]; MAX_CARRIED],
        }
    }

    /// Starts the first task: [`Optimizer::new`], without spelling the capacities again.
    ///
    /// # Errors
    /// As [`Optimizer::new`].
    pub fn start<'a>(
        &'a mut self,
        problem: Problem<'a>,
        settings: Settings,
        seed: u64,
    ) -> Result<Optimizer<'a, D, M, N, V, F, P, A, Q>, Error> {
        Optimizer::new(self, problem, settings, seed)
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
> Default for Memory<D, M, N, V, F, P, A, Q>
{
    fn default() -> Self {
        Self::new()
    }
}

/// What to measure next. Answer it once: [`Optimizer::tell`] takes it by value.
#[must_use = "a query wants an answer: `tell` or `fail`"]
#[derive(Debug, PartialEq)]
pub struct Query<const D: usize> {
    task: u32,
    round: u32,
    x: [f32; D],
    setting: [f32; D],
    dimensions: usize,
    fidelity: usize,
    kind: Kind,
}

impl<const D: usize> Query<D> {
    /// Values of the parameters, in natural units.
    pub fn setting(&self) -> &[f32] {
        &self.setting[..self.dimensions]
    }

    /// Values of the parameters in the unit cube.
    pub fn unit(&self) -> &[f32] {
        &self.x[..self.dimensions]
    }

    /// Index of the fidelity to measure with.
    pub fn fidelity(&self) -> usize {
        self.fidelity
    }

    /// Number of the task, from 1.
    pub fn task(&self) -> u32 {
        self.task
    }

    /// Number of the query within the task, from 0.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// How the query came about.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// An answer that was refused, with the query, which still wants one.
#[derive(Debug)]
pub struct Refused<const D: usize> {
    /// The query.
    pub query: Query<D>,
    /// Why.
    pub error: Error,
}

impl<const D: usize> core::fmt::Display for Refused<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.error.fmt(f)
    }
}

impl<const D: usize> core::error::Error for Refused<D> {}

/// Why a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Stop {
    /// No fidelity that the method uses can be paid any more.
    Budget,
    /// All slots for observations are used.
    Capacity,
    /// Everything worth asking has been asked.
    Exhausted,
    /// [`MAX_FAILURES`] measurements failed.
    Failures,
    /// [`Optimizer::stop`] was called.
    Requested,
}

/// What a slice of work came to.
#[derive(Debug, PartialEq)]
pub enum Progress<const D: usize> {
    /// There is more to do.
    Working,
    /// A query to answer.
    Query(Query<D>),
    /// A query was handed out and wants its answer.
    Waiting,
    /// The task has ended.
    Done(Stop),
}

/// The setting to use when a task has ended: highest posterior mean at the truth's fidelity, over all particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recommendation<const D: usize> {
    x: [f32; D],
    setting: [f32; D],
    dimensions: usize,
    /// Posterior mean, in units of the observations.
    pub mean: f32,
    /// Posterior deviation, in units of the observations.
    pub deviation: f32,
}

impl<const D: usize> Recommendation<D> {
    /// Values of the parameters, in natural units.
    pub fn setting(&self) -> &[f32] {
        &self.setting[..self.dimensions]
    }

    /// Values of the parameters in the unit cube.
    pub fn unit(&self) -> &[f32] {
        &self.x[..self.dimensions]
    }
}

/// What the optimizer is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Activity {
    /// Draws or restores particles.
    Preparing,
    /// Replays what was observed before a restart.
    Replaying,
    /// Moves particles.
    Learning,
    /// Looks for the next query.
    Searching,
    /// Waits for an answer.
    Waiting,
    /// The task has ended.
    Done,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Number of the task, from 1.
    pub task: u32,
    /// Observations so far.
    pub observations: usize,
    /// Observations still to be replayed after a restore.
    pub to_replay: usize,
    /// Spent of the budget.
    pub spent: f32,
    /// What it is doing.
    pub activity: Activity,
    /// How often numerics had to help themselves, in this task.
    pub fallbacks: Fallbacks,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Prepare { v: usize },
    Next,
    Design(Design),
    Learn(Learn),
    Sweep(Sweep),
    Asked,
    Done,
}

/// A query whose measurement failed.
#[derive(Clone, Copy, Debug)]
struct Failure<const D: usize> {
    x: [f32; D],
    fidelity: usize,
    kind: Kind,
    /// Observations there were at the time.
    position: usize,
}

/// Everything about the current task but the big arrays.
struct State<const D: usize> {
    seed: u64,
    task: u32,
    phase: Phase,
    stop: Option<Stop>,
    /// The user wants the task to end.
    stopping: bool,
    scale: Scale,
    hidden: usize,
    failures: [Option<Failure<D>>; MAX_FAILURES],
    carried: usize,
    next_carried: usize,
    designed: Option<usize>,
    next_design: usize,
    steps: u32,
    recommendation: Option<Recommendation<D>>,
    fallbacks: Fallbacks,
}

/// The optimizer: settings and state around a borrowed [`Memory`].
pub struct Optimizer<
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
    memory: &'a mut Memory<D, M, N, V, F, P, A, Q>,
    problem: Problem<'a>,
    settings: Settings,
    model: Model,
    state: State<D>,
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
> Optimizer<'a, D, M, N, V, F, P, A, Q>
{
    /// Whether the last task's particles are kept in the memory's auxiliary rows.
    const OWN_CENTRES: bool = A >= V;

    /// Starts the first task.
    ///
    /// # Errors
    /// What [`Problem::checked`] and [`Settings::checked`] say, or [`Error::Capacity`] naming what does not fit.
    pub fn new(
        memory: &'a mut Memory<D, M, N, V, F, P, A, Q>,
        problem: Problem<'a>,
        settings: Settings,
        seed: u64,
    ) -> Result<Self, Error> {
        let (problem, settings) = (problem.checked()?, settings.checked()?);
        let model = settings.model(problem.dimensions.len());
        let rows = settings.step.rows(settings.particles) + if Self::OWN_CENTRES { V } else { 0 };
        for (what, needed, available) in [
            ("dimensions", problem.dimensions.len(), D),
            ("fidelities", problem.fidelities.len(), M),
            ("particles", settings.particles, V),
            ("features", model.features(), F),
            ("parameters", model.parameters(), P),
            ("auxiliary rows", rows, A),
            ("candidates", settings.candidates, Q),
        ] {
            if needed > available {
                return Err(Error::Capacity { what, needed, available });
            }
        }
        let state = State {
            seed,
            task: 1,
            phase: Phase::Next,
            stop: None,
            stopping: false,
            scale: Scale::IDENTITY,
            hidden: 0,
            failures: [None; MAX_FAILURES],
            carried: 0,
            next_carried: 0,
            designed: None,
            next_design: 0,
            steps: 0,
            recommendation: None,
            fallbacks: Fallbacks::default(),
        };
        let mut optimizer = Optimizer { memory, problem, settings, model, state };
        optimizer.begin();
        Ok(optimizer)
    }

    /// One slice of work; the last task's particles are in the memory.
    pub fn advance(&mut self) -> Progress<D> {
        const { assert!(A >= V, "this memory keeps no centres: use `advance_with`") };
        self.slice(&[])
    }

    /// One slice of work, with the last task's particles elsewhere: [`knowledge`](Self::knowledge) as it was written,
    /// for instance in flash. Not looked at in the first task, nor by a memory that keeps them itself.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if these are not this task's.
    pub fn advance_with(&mut self, knowledge: &[u8]) -> Result<Progress<D>, Error> {
        let elsewhere = self.learns_from_centres() && !Self::OWN_CENTRES;
        let centres = if elsewhere { self.particles_within(knowledge)? } else { &[] };
        Ok(self.slice(centres))
    }

    /// The next query, or why the task has ended. Does nothing while an answer is outstanding (`None`).
    pub fn ask(&mut self) -> Option<Result<Query<D>, Stop>> {
        loop {
            match self.advance() {
                Progress::Working => {}
                Progress::Query(query) => return Some(Ok(query)),
                Progress::Waiting => return None,
                Progress::Done(stop) => return Some(Err(stop)),
            }
        }
    }

    fn slice(&mut self, centres: &[u8]) -> Progress<D> {
        match self.state.phase {
            Phase::Prepare { v } => self.prepare(v),
            Phase::Next => return self.next(),
            Phase::Design(design) => self.design_slice(design),
            Phase::Learn(learn) => self.learn_slice(learn, centres),
            Phase::Sweep(sweep) => return self.sweep_slice(sweep),
            Phase::Asked => return Progress::Waiting,
            Phase::Done => return Progress::Done(self.state.stop.unwrap_or(Stop::Requested)),
        }
        Progress::Working
    }

    /// Answers a query.
    ///
    /// # Errors
    /// The query comes back with [`Error::NotFinite`], [`Error::Outlier`], or [`Error::ForeignQuery`] if it is not the
    /// one asked last; the state is unchanged.
    pub fn tell(&mut self, query: Query<D>, y: f32) -> Result<(), Refused<D>> {
        let error = match self.acceptable(&query, y) {
            Ok(()) => match self.memory.data.push(&query.x, query.fidelity, query.kind, y) {
                Ok(()) => {
                    self.observed();
                    return Ok(());
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        Err(Refused { query, error })
    }

    fn acceptable(&self, query: &Query<D>, y: f32) -> Result<(), Error> {
        let asked = matches!(self.state.phase, Phase::Asked);
        if !asked || query.task != self.state.task || query.round != self.round() {
            return Err(Error::ForeignQuery);
        }
        if !y.is_finite() {
            return Err(Error::NotFinite);
        }
        if !self.plausible().contains(&y) {
            return Err(Error::Outlier);
        }
        Ok(())
    }

    /// Observations that [`tell`](Self::tell) takes now; others are [`Error::Outlier`].
    pub fn plausible(&self) -> core::ops::RangeInclusive<f32> {
        let Scale { mean, deviation } = self.state.scale;
        let judged = !matches!(self.settings.scaling, Scaling::Running) && self.initial_done();
        let reach = if judged { (LARGEST_DEVIATION * deviation).min(LARGEST_VALUE) } else { LARGEST_VALUE };
        (mean - reach).max(-LARGEST_VALUE)..=(mean + reach).min(LARGEST_VALUE)
    }

    /// The measurement failed for good: it is charged, and another query follows. After [`MAX_FAILURES`] the task ends.
    ///
    /// # Errors
    /// [`Error::ForeignQuery`] with the query, if it is not the one asked last.
    pub fn fail(&mut self, query: Query<D>) -> Result<(), Refused<D>> {
        if let Err(error) = self.acceptable(&query, self.state.scale.mean) {
            return Err(Refused { query, error });
        }
        self.note_failure(query.x, query.fidelity, query.kind);
        self.state.phase = Phase::Next;
        Ok(())
    }

    fn note_failure(&mut self, x: [f32; D], fidelity: usize, kind: Kind) {
        let position = self.memory.data.len();
        if let Some(free) = self.state.failures.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(Failure { x, fidelity, kind, position });
        }
    }

    /// Ends the task: what was observed is learnt, and a recommendation made. A query outstanding is void.
    ///
    /// Learning from the last answer, or the replay of a restored task, is not cut short, so that a task stopped at
    /// some answer ends the same way whenever the call came.
    pub fn stop(&mut self) {
        if self.state.stop.is_none() {
            self.state.stopping = true;
            if matches!(self.state.phase, Phase::Asked | Phase::Sweep(_)) {
                self.state.phase = Phase::Next;
            }
        }
    }

    /// The recommendation, once the task has ended; `None` before, and if nothing was observed.
    pub fn recommendation(&self) -> Option<Recommendation<D>> {
        self.state.recommendation.filter(|_| matches!(self.state.phase, Phase::Done))
    }

    /// Starts the next task.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if this one has not ended.
    pub fn next_task(&mut self) -> Result<(), Error> {
        if !matches!(self.state.phase, Phase::Done) {
            return Err(Error::OutOfTurn);
        }
        self.state.task += 1;
        self.begin();
        Ok(())
    }

    /// Forgets the current task's observations and starts it anew; with particles kept in the memory.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if the task has ended.
    pub fn restart(&mut self) -> Result<(), Error> {
        const { assert!(A >= V, "this memory keeps no centres: load the knowledge again") };
        if matches!(self.state.phase, Phase::Done) {
            return Err(Error::OutOfTurn);
        }
        self.restore_particles();
        self.begin();
        Ok(())
    }

    /// Adds an answer from before a restart, in the order of old; before the first slice of work on the task.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] later than that; [`Error::Capacity`]; [`Error::Snapshot`] for what cannot have been an
    /// answer in this problem. The state is unchanged then.
    pub fn recall(&mut self, record: Record<D>) -> Result<(), Error> {
        let early = matches!(self.state.phase, Phase::Prepare { .. } | Phase::Next);
        if !early || !self.memory.data.is_empty() {
            return Err(Error::OutOfTurn);
        }
        self.check_record(&record)?;
        match record.y {
            Some(y) => {
                self.memory.data.push_hidden(
                    self.state.hidden,
                    &record.x,
                    record.fidelity,
                    record.kind,
                    y,
                )?;
                self.state.hidden += 1;
            }
            None => {
                let free = self.state.failures.iter_mut().find(|slot| slot.is_none());
                let Record { x, fidelity, kind, .. } = record;
                *free.ok_or(Error::OutOfTurn)? =
                    Some(Failure { x, fidelity, kind, position: self.state.hidden });
            }
        }
        Ok(())
    }

    /// Whether this may have been a query of this problem, with a possible answer.
    pub(crate) fn check_record(&self, record: &Record<D>) -> Result<(), Error> {
        let on_level = |(x, dimension): (&f32, &crate::space::Dimension)| dimension.snap(*x) == *x;
        let inside = record.x.iter().zip(self.problem.dimensions).all(on_level);
        let sound = record.y.is_none_or(|y| y.is_finite() && y.abs() <= crate::data::LARGEST_VALUE);
        if !inside || !sound || record.fidelity >= self.problem.fidelities.len() {
            return Err(crate::error::SnapshotError::Contents.into());
        }
        Ok(())
    }

    /// All answers of the current task in their order, also those still to be replayed.
    pub fn records(&self) -> impl Iterator<Item = Record<D>> {
        let told = self.memory.data.len() + self.state.hidden;
        (0..=told).flat_map(move |i| {
            let failed = self.failures().filter(move |failure| failure.position == i).map(|failure| Record {
                x: failure.x,
                fidelity: failure.fidelity,
                kind: failure.kind,
                y: None,
            });
            failed.chain((i < told).then(|| self.memory.data.record(i)))
        })
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state.phase, Phase::Done)
    }

    /// Number of the task, from 1.
    pub fn task(&self) -> u32 {
        self.state.task
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.state.seed
    }

    pub(crate) fn particle(&self, v: usize) -> &[f32] {
        &self.memory.particles[v][..self.model.parameters()]
    }

    pub(crate) fn centre(&self, v: usize) -> &[f32] {
        &self.memory.rows[v][..self.model.parameters()]
    }

    pub(crate) fn particle_mut(&mut self, v: usize) -> &mut [f32] {
        &mut self.memory.particles[v][..self.model.parameters()]
    }

    pub(crate) fn take_over(&mut self, seed: u64, task: u32) {
        self.state.seed = seed;
        self.state.task = task;
        self.state.carried = 0;
    }

    pub(crate) fn add_carried(&mut self, x: [f32; D]) {
        self.memory.carried[self.state.carried] = x;
        self.state.carried += 1;
    }

    /// Where the task stands.
    pub fn status(&self) -> Status {
        let activity = match self.state.phase {
            Phase::Prepare { .. } => Activity::Preparing,
            _ if self.state.hidden > 0 => Activity::Replaying,
            Phase::Learn(_) => Activity::Learning,
            Phase::Next | Phase::Design(_) | Phase::Sweep(_) => Activity::Searching,
            Phase::Asked => Activity::Waiting,
            Phase::Done => Activity::Done,
        };
        Status {
            task: self.state.task,
            observations: self.memory.data.len(),
            to_replay: self.state.hidden,
            spent: self.spent(),
            activity,
            fallbacks: self.state.fallbacks,
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The problem.
    pub fn problem(&self) -> &Problem<'a> {
        &self.problem
    }

    /// The model behind the parameters of a particle.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The current task's observations.
    pub fn data(&self) -> &Data<D, N> {
        &self.memory.data
    }

    /// The particles' parameters.
    pub fn particles(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        let parameters = self.model.parameters();
        self.memory.particles[..self.settings.particles].iter().map(move |theta| &theta[..parameters])
    }

    /// Points carried from earlier tasks, newest first, in the unit cube.
    pub fn carried(&self) -> &[[f32; D]] {
        &self.memory.carried[..self.state.carried]
    }

    // ---- the course of a task ----

    /// Sets up the task `self.state.task`; its particles are the last task's.
    pub(crate) fn begin(&mut self) {
        self.memory.data.clear();
        let fresh = !self.learns_from_centres();
        if !fresh && Self::OWN_CENTRES {
            let v = self.settings.particles;
            self.memory.rows[..v].copy_from_slice(&self.memory.particles[..v]);
        }
        self.memory.rows[if Self::OWN_CENTRES { V } else { 0 }..].as_flattened_mut().fill(0.0);
        self.state = State {
            seed: self.state.seed,
            task: self.state.task,
            phase: if fresh { Phase::Prepare { v: 0 } } else { Phase::Next },
            stop: None,
            stopping: false,
            scale: match self.settings.scaling {
                Scaling::Fixed { mean, deviation } => Scale { mean, deviation },
                Scaling::Initial | Scaling::Running => Scale::IDENTITY,
            },
            hidden: 0,
            failures: [None; MAX_FAILURES],
            carried: self.state.carried,
            next_carried: 0,
            designed: None,
            next_design: 0,
            steps: 0,
            recommendation: None,
            fallbacks: Fallbacks::default(),
        };
    }

    /// Draws particle `v` from the prior.
    fn prepare(&mut self, v: usize) {
        let mut random = Random::new(self.state.seed, self.state.task, 0, Purpose::Prior, v as u32);
        self.settings.prior.sample(&self.model, &mut random, &mut self.memory.particles[v]);
        let next = v + 1;
        self.state.phase =
            if next < self.settings.particles { Phase::Prepare { v: next } } else { Phase::Next };
    }

    /// Decides what comes next: replay, the end, an initial point, a carried point, or a search.
    fn next(&mut self) -> Progress<D> {
        if let Some(points) = self.design_wanted() {
            self.start_design(points);
        } else if self.state.hidden > 0 {
            self.state.hidden -= 1;
            self.memory.data.reveal();
            self.observed();
        } else if self.state.stopping {
            self.finish(Stop::Requested);
        } else if self.failures().count() == MAX_FAILURES {
            self.finish(Stop::Failures);
        } else if self.memory.data.room() == 0 {
            self.finish(Stop::Capacity);
        } else if !self.initial_done() {
            return self.initial_query();
        } else if self.cheapest() > self.left() {
            self.finish(Stop::Budget);
        } else if let Some(query) = self.carried_query() {
            return self.hand_out(query);
        } else {
            return self.start_query();
        }
        Progress::Working
    }

    fn hand_out(&mut self, query: Query<D>) -> Progress<D> {
        self.state.phase = Phase::Asked;
        Progress::Query(query)
    }

    fn query(&self, x: [f32; D], fidelity: usize, kind: Kind) -> Query<D> {
        let setting = self.setting(&x);
        let dimensions = self.problem.dimensions.len();
        Query { task: self.state.task, round: self.round(), x, setting, dimensions, fidelity, kind }
    }

    fn setting(&self, x: &[f32; D]) -> [f32; D] {
        let mut setting = [0.0; D];
        for ((value, dimension), unit) in setting.iter_mut().zip(self.problem.dimensions).zip(x) {
            *value = dimension.value(*unit);
        }
        setting
    }

    fn initial_query(&mut self) -> Progress<D> {
        let mut random = self.random(Purpose::Start, 0);
        let mut x = [0.0; D];
        search::uniform(self.problem.dimensions, &mut random, &mut x);
        let fidelity = random.below(self.problem.fidelities.len());
        let query = self.query(x, fidelity, Kind::Initial);
        self.hand_out(query)
    }

    /// The next carried point that has not been asked in this task, at the truth's fidelity, if it can be paid.
    fn carried_query(&mut self) -> Option<Query<D>> {
        let truth = self.problem.truth();
        if self.problem.fidelities[truth].cost > self.left() {
            return None;
        }
        while self.state.next_carried < self.state.carried.min(self.settings.carried) {
            let x = self.memory.carried[self.state.next_carried];
            self.state.next_carried += 1;
            if self.memory.data.count(&x, truth) == 0 && !self.has_failed(&x, truth) {
                return Some(self.query(x, truth, Kind::Carried));
            }
        }
        None
    }

    /// After an observation has been added: scale, then learn.
    fn observed(&mut self) {
        let data = &mut self.memory.data;
        let done = self.settings.initial <= initial_count(data, &self.state.failures);
        let last_is_initial = data.kind(data.len() - 1) == Kind::Initial;
        let renew = match self.settings.scaling {
            Scaling::Fixed { .. } => false,
            Scaling::Initial => last_is_initial,
            Scaling::Running => true,
        };
        if renew {
            let least = self.problem.fidelities.iter().fold(f32::INFINITY, |least, f| least.min(f.noise));
            self.state.scale = Scale::of(data.y(), crate::math::sqrt(least));
        }
        data.rescale(self.state.scale, self.problem.goal.sign());
        let steps = if done { self.settings.steps_per_round } else { 0 };
        self.state.phase = if steps > 0 { Phase::Learn(Learn::new(steps)) } else { Phase::Next };
    }

    /// Ends the task: learning, if particles go on, then the recommendation.
    fn finish(&mut self, stop: Stop) {
        self.state.stop = Some(stop);
        self.state.hidden = 0;
        if self.memory.data.is_empty() {
            self.state.phase = Phase::Done;
        } else if self.settings.carries_particles() && self.settings.steps_per_task > 0 {
            self.state.phase = Phase::Learn(Learn::new(self.settings.steps_per_task));
        } else {
            self.start_recommendation();
        }
    }

    /// The recommendation becomes the newest carried point.
    pub(super) fn carry_best(&mut self) {
        let Some(best) = self.state.recommendation else { return };
        if self.settings.carried == 0 {
            return;
        }
        let known = self.memory.carried[..self.state.carried].iter().position(|x| *x == best.x);
        let last = known.unwrap_or_else(|| {
            self.state.carried = (self.state.carried + 1).min(self.settings.carried);
            self.state.carried - 1
        });
        self.memory.carried[..=last].rotate_right(1);
        self.memory.carried[0] = best.x;
    }

    fn restore_particles(&mut self) {
        if self.learns_from_centres() {
            let v = self.settings.particles;
            self.memory.particles[..v].copy_from_slice(&self.memory.rows[..v]);
        }
    }

    // ---- small questions ----

    /// Whether this task's prior is the density estimate on the last task's particles.
    fn learns_from_centres(&self) -> bool {
        self.state.task > 1 && self.settings.carries_particles()
    }

    fn failures(&self) -> impl Iterator<Item = &Failure<D>> {
        self.state.failures.iter().flatten()
    }

    fn has_failed(&self, x: &[f32; D], fidelity: usize) -> bool {
        self.failures().any(|failure| failure.fidelity == fidelity && failure.x == *x)
    }

    /// Queries answered so far.
    fn round(&self) -> u32 {
        (self.memory.data.len() + self.failures().count()) as u32
    }

    fn random(&self, purpose: Purpose, index: u32) -> Random {
        Random::new(self.state.seed, self.state.task, self.round(), purpose, index)
    }

    fn initial_done(&self) -> bool {
        initial_count(&self.memory.data, &self.state.failures) >= self.settings.initial
    }

    /// Charged so far: everything but the initial points.
    fn spent(&self) -> f32 {
        let data = &self.memory.data;
        let told = (0..data.len()).map(|i| (data.kind(i), usize::from(data.fidelity()[i])));
        let failed = self.failures().map(|failure| (failure.kind, failure.fidelity));
        told.chain(failed)
            .filter(|&(kind, _)| kind != Kind::Initial)
            .fold(0.0, |sum, (_, fidelity)| sum + self.problem.fidelities[fidelity].cost)
    }

    fn left(&self) -> f32 {
        self.problem.budget - self.spent()
    }

    /// The cheapest fidelity that the method uses.
    fn cheapest(&self) -> f32 {
        let only_truth = !matches!(self.settings.method, Method::MfMes | Method::Continual | Method::MftMes);
        self.problem.fidelities[if only_truth { self.problem.truth() } else { 0 }].cost
    }

    /// Standardised noise variance per fidelity.
    fn noise(&self) -> [f32; MAX_FIDELITIES] {
        let deviation = self.state.scale.deviation;
        let mut noise = [0.0; MAX_FIDELITIES];
        for (noise, fidelity) in noise.iter_mut().zip(self.problem.fidelities) {
            *noise = fidelity.noise / deviation / deviation;
        }
        noise
    }
}

/// Initial points asked and answered, for better or worse.
fn initial_count<const D: usize, const N: usize>(
    data: &Data<D, N>,
    failures: &[Option<Failure<D>>; MAX_FAILURES],
) -> usize {
    let told = (0..data.len()).filter(|&i| data.kind(i) == Kind::Initial).count();
    let failed = |failure: &&Failure<D>| failure.kind == Kind::Initial && failure.position <= data.len();
    told + failures.iter().flatten().filter(failed).count()
}

/// The observations as the model wants them.
fn observations<const D: usize, const N: usize>(data: &Data<D, N>) -> Observations<'_> {
    Observations { points: rows(data.x()), fidelity: data.fidelity(), z: data.z() }
}

fn rows<const D: usize>(points: &[[f32; D]]) -> Rows<'_> {
    Rows { data: points.as_flattened(), stride: D }
}
