//! Ask and tell, over a sequence of tasks, in bounded slices of work.
//!
//! One task: initial points, carried points, then queries by the acquisition until budget or slots are used up; then
//! learning at its end, and a recommendation. [`Optimizer::advance`] does one slice; [`Optimizer::ask`] is the loop
//! around it. Alg. 1 and Alg. 2 of the paper, and its variants of Eq. (42), (43), (59), (60), are choices of
//! [`Method`](crate::settings::Method).
//!
//! **Slots are a budget too.** When fewer observations fit than the money could buy, an observation is priced at least
//! `Λ_left / slots_left`, so that dearer, better fidelities win by themselves.
//!
//! **Nothing twice for nothing.** A point already observed at a fidelity is asked again there only if the variance
//! left of its value (over all particles) is at least half the noise's: about one repetition per point. Where the noise
//! is below [`NOISE_FLOOR`](crate::gp::NOISE_FLOOR) it is never asked again, and neither is a query that failed.
//! (An initial point that was observed already is drawn anew, up to 16 times.)
//!
//! **Slices.** With `t` observations, `F` features in `D` dimensions, `M` fidelities and `Q` candidates, none takes
//! more than these many multiply-adds, or elementary functions of which each counts for 20:
//! - a block of 8 observations or candidates through the model: see [`crate::gp`]. This is the longest for the deep map;
//! - one quartile of the optimum's value: `20 Q` normal distribution functions;
//! - 32 candidates tallied or weighed: `32 M (S + t D)`, `S` samples of the optimum's value;
//! - 512 parameters of all `V` particles moved: `1536 V²`;
//! - a particle drawn from the prior, `P` elementary functions; the gradient of a later task's prior, `2 V P`;
//! - the choice of candidates: `Q D` roundings to a level, each of which looks at all levels of a list;
//! - in the batch methods, the chosen points under one particle: `t F (D + 2F)`.
//!
//! Starting a task, saving and loading are not sliced: they pass once over the particles and the answers.

mod candidates;
mod course;
mod design;
mod learn;
mod memory;
mod purse;
mod query;
mod save;
mod state;
mod sweep;

pub use memory::Memory;
pub use query::{Activity, Progress, Query, Recommendation, Refused, Status, Stop};

use crate::data::{Data, Kind};
use crate::error::Error;
use crate::features::{Maps, Rows};
use crate::gp::{Fallbacks, Observations, Particle};
use crate::kernel::{MAX_FIDELITIES, Model};
use crate::random::{Purpose, Random};
use crate::settings::Settings;
use crate::space::Problem;

use state::{Failure, Phase, State};

/// Measurements that may fail in one task before it ends.
pub const MAX_FAILURES: usize = 8;

/// Standardised noise is at most this: beyond, an observation says nothing anyway.
const LARGEST_NOISE: f32 = 1e12;

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
    /// The auxiliary row from which the moments of the steps lie.
    const MOMENTS: usize = if A >= V { V } else { 0 };
    /// The code for those maps whose parameters have room.
    const MAPS: Maps = if P < Maps::LEAST_DEEP { Maps::ARD } else { Maps::ALL };

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
        let rows = settings.step.rows(settings.particles) + Self::MOMENTS;
        for (what, needed, available) in [
            ("dimensions", problem.dimensions.len(), D),
            ("fidelities", problem.fidelities.len(), M),
            ("fidelities", problem.fidelities.len() + usize::from(settings.remembers() > 0), MAX_FIDELITIES),
            ("observations", settings.initial.saturating_add(1 + settings.remembers()), N),
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
        let state = State::new(seed, 1, 0, settings.scaling);
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
        let acceptable = self.is_asked(&query).and_then(|()| self.check_value(y));
        let told = acceptable.and_then(|()| self.memory.data.push(&query.x, query.fidelity, query.kind, y));
        match told {
            Ok(()) => {
                self.observed();
                Ok(())
            }
            Err(error) => Err(Refused { query, error }),
        }
    }

    fn check_value(&self, y: f32) -> Result<(), Error> {
        match y {
            _ if !y.is_finite() => Err(Error::NotFinite),
            _ if !self.plausible().contains(&y) => Err(Error::Outlier),
            _ => Ok(()),
        }
    }

    fn is_asked(&self, query: &Query<D>) -> Result<(), Error> {
        let same = query.task == self.state.task
            && query.round == self.round()
            && self.state.asked == Some(query.record(None));
        if same { Ok(()) } else { Err(Error::ForeignQuery) }
    }

    /// The measurement failed for good: it is charged, and another query follows. After [`MAX_FAILURES`] the task ends.
    ///
    /// # Errors
    /// [`Error::ForeignQuery`] with the query, if it is not the one asked last.
    pub fn fail(&mut self, query: Query<D>) -> Result<(), Refused<D>> {
        if let Err(error) = self.is_asked(&query) {
            return Err(Refused { query, error });
        }
        let position = self.memory.data.len();
        if let Some(free) = self.state.failures.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(Failure { record: query.record(None), position });
        }
        self.state.asked = None;
        self.state.phase = Phase::Next;
        Ok(())
    }

    /// Ends the task: what was observed is learnt, and a recommendation made. A query outstanding is void.
    ///
    /// Learning from the last answer, or the replay of a restored task, is not cut short, so that a task stopped at
    /// some answer ends the same way whenever the call came.
    pub fn stop(&mut self) {
        if self.state.stop.is_none() {
            self.state.stopping = true;
            self.state.asked = None;
            if matches!(self.state.phase, Phase::Asked | Phase::Sweep(_) | Phase::Design(_)) {
                self.state.phase = Phase::Next;
            }
        }
    }

    /// The recommendation, once the task has ended; `None` before, and if nothing was observed.
    pub fn recommendation(&self) -> Option<Recommendation<D>> {
        self.state.recommendation.filter(|_| self.is_done())
    }

    /// Starts the next task.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if this one has not ended.
    pub fn next_task(&mut self) -> Result<(), Error> {
        if !self.is_done() {
            return Err(Error::OutOfTurn);
        }
        self.state.task = self.state.task.saturating_add(1);
        self.begin();
        Ok(())
    }

    /// Forgets the current task's observations and starts it anew; with particles kept in the memory.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if the task has ended.
    pub fn restart(&mut self) -> Result<(), Error> {
        const { assert!(A >= V, "this memory keeps no centres: load the knowledge again") };
        if self.is_done() {
            return Err(Error::OutOfTurn);
        }
        if self.learns_from_centres() {
            let v = self.settings.particles;
            self.memory.particles[..v].copy_from_slice(&self.memory.rows[..v]);
        }
        self.begin();
        Ok(())
    }

    /// Number of the task, from 1.
    pub fn task(&self) -> u32 {
        self.state.task
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.state.seed
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
            observations: self.memory.data.len() - self.state.remembered,
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

    /// The current task's observations, behind the values remembered of earlier tasks, if any: these have a fidelity
    /// one beyond the last.
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

    fn is_done(&self) -> bool {
        matches!(self.state.phase, Phase::Done)
    }

    /// Whether this task's prior is the density estimate on the last task's particles.
    fn learns_from_centres(&self) -> bool {
        self.state.task > 1 && self.settings.carries_particles()
    }

    fn failures(&self) -> impl Iterator<Item = &Failure<D>> {
        self.state.failures.iter().flatten()
    }

    fn has_failed(&self, x: &[f32; D], fidelity: usize) -> bool {
        self.failures().any(|failure| failure.record.fidelity == fidelity && failure.record.x == *x)
    }

    /// Queries answered so far.
    fn round(&self) -> u32 {
        (self.memory.data.len() - self.state.remembered + self.failures().count()) as u32
    }

    fn random(&self, purpose: Purpose, index: u32) -> Random {
        Random::new(self.state.seed, self.state.task, self.round(), purpose, index)
    }

    /// Standardised noise variance per fidelity.
    fn noise(&self) -> [f32; MAX_FIDELITIES] {
        let deviation = self.state.scale.deviation;
        let mut noise = [0.0; MAX_FIDELITIES];
        for (noise, fidelity) in noise.iter_mut().zip(self.problem.fidelities) {
            *noise = (fidelity.noise / deviation / deviation).min(LARGEST_NOISE);
        }
        noise
    }

    fn lens(&self) -> Lens {
        let State { remembered, .. } = self.state;
        let fidelities = self.problem.fidelities.len();
        let mut noise = self.noise();
        if remembered > 0 {
            let doubt = self.settings.doubt;
            noise[fidelities] = (doubt * doubt).max(noise[fidelities - 1]);
        }
        let from = if self.looks_back() { 0 } else { remembered };
        Lens { noise, fidelities, from, remembers: remembered > 0, maps: Self::MAPS }
    }
}

/// What the model sees: which of the data, and through which noise.
#[derive(Clone, Copy)]
struct Lens {
    /// Standardised noise variance per fidelity, and behind the last the doubt in remembered values.
    noise: [f32; MAX_FIDELITIES],
    fidelities: usize,
    /// The first slot that counts: remembered values do not before the task has had its fresh look.
    from: usize,
    remembers: bool,
    maps: Maps,
}

impl Lens {
    fn observations<'d, const D: usize, const N: usize>(&self, data: &'d Data<D, N>) -> Observations<'d> {
        let (points, from) = (rows(&data.x()[self.from..]), self.from);
        Observations { points, fidelity: &data.fidelity()[from..], z: &data.z()[from..] }
    }

    fn particle<'p>(&self, model: &'p Model, theta: &'p [f32], fallbacks: &mut Fallbacks) -> Particle<'p> {
        let particle = Particle::with(self.maps, model, theta, &self.noise[..self.fidelities], fallbacks);
        if !self.remembers {
            return particle;
        }
        particle.with_memory(self.fidelities - 1, self.noise[self.fidelities])
    }
}

fn rows<const D: usize>(points: &[[f32; D]]) -> Rows<'_> {
    Rows { data: points.as_flattened(), stride: D }
}
