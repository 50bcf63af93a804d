//! Ask and tell, over a sequence of tasks, in bounded slices of work.
//!
//! One task: initial points, carried points, then queries by the acquisition until budget or slots are used up, the last
//! ones at what would be recommended ([`verify`](crate::Settings::verify)); then learning, and a recommendation.
//! [`Optimizer::advance`] does one slice; [`Optimizer::ask`] is the loop around it. Alg. 1 and Alg. 2 of the paper, and
//! its variants of Eq. (42), (43), (59), (60), are choices of [`Method`](crate::settings::Method).
//!
//! **Slots are a budget too.** When fewer observations fit than the budget could pay, an observation is priced at least
//! `Λ_left / slots_left`, so that better fidelities win by themselves though they cost more.
//!
//! **Nothing twice for nothing.** A point already observed at a fidelity is asked again there only if the variance
//! left of its value (over all particles) is at least half the noise's: about one repetition per point. Where the noise
//! is below [`NOISE_FLOOR`](crate::gp::NOISE_FLOOR) it is never asked again, and neither is a query that failed.
//! (An initial point that was observed already is drawn again, up to 16 times.)
//!
//! **Slices.** With `t` observations, `F` features in `D` dimensions, `M` fidelities and `Q` candidates, none takes
//! more than these many multiply-adds, or elementary functions of which each counts for 20:
//! - a block of 8 observations or candidates through the model: see [`crate::gp`]. This is the longest for the deep map;
//! - one quartile of the optimum's value: `20 Q` normal distribution functions;
//! - 32 candidates summed up or weighed: `32 M (S + t D)`, `S` samples of the optimum's value;
//! - 512 parameters of all `V` particles moved: `1536 V²`;
//! - a particle drawn from the prior, `P` elementary functions; the gradient of a later task's prior, `2 V P`;
//! - the choice of candidates: `Q D` roundings to a level, each of which looks at all levels of a list; with a floor
//!   `Q t` looks at observations, with limits nine times as many roundings;
//! - in the batch methods, the chosen points under one particle: `t F (D + 2F)`.
//!
//! **Failures.** A measurement that failed is charged and takes a slot. The model sees the worst value told so far in its
//! place, and the query is not asked again; only the point in use is, where floor or guards are relative to what it gives.
//!
//! **Absurd answers.** An answer far from all others ([`confirm`](crate::Settings::confirm)) is an outlier: the next
//! query is the same again, and only a second answer like it makes it believed. Until then it counts as a failure; after
//! another second answer the model sees that in its place.
//!
//! Starting a task, saving and loading are not sliced: they pass once over the particles and the answers.

// In the order in which to read them, as the crate's.
mod trust;
mod query;
mod drift;
mod trials;
mod candidates;
mod memory;
mod state;
mod fleet;
mod guards;
mod change;
mod budget;
mod fill;
mod search;
mod learning;
mod keeping;
mod decide;
#[cfg(feature = "paper")]
mod design;
mod start;
mod live;
mod conditions;
mod explain;
mod save;
#[cfg(feature = "parallel")]
mod beside;

pub use memory::{Block, Capacities, Memory};
pub use query::{
    Activity, Ask, Belief, GuardStatus, LiveStatus, Progress, Query, Reasons, Recommendation, Refused, Score,
    Status, Stop,
};
pub use trust::FleetStatus;

use core::ops::RangeInclusive;

use crate::data::{Kind, Kpis, LARGEST_DEVIATION, Point};
use crate::error::Error;
use crate::math::{self, LARGEST_VALUE};
use crate::scale::{Scale, Scaling};
use crate::settings::Settings;
use crate::space::Problem;

use candidates::Choice;
use decide::Next;
#[cfg(feature = "paper")]
use design::Design;
use fleet::Check;
use keeping::Keeping;
use learning::Learning;
use memory::Buffers;
use search::{Objective, Search};
use state::{State, Task};
use trials::Start;
use trust::Trust;

/// The optimizer: settings and state around a borrowed [`Memory`].
///
/// ```
/// use foretune_core::{Ask, Dimension, Error, Fidelity, Goal, Optimizer, Problem, Settings};
///
/// /// Asks, measures and tells until the task ends.
/// fn tune(tuner: &mut Optimizer<'_>) -> Result<(), Error> {
///     while let Ask::Query(query) = tuner.ask() {
///         let measured = 1.0 - (query.point()[0] - 0.3).powi(2);
///         tuner.tell(query, measured)?;
///     }
///     Ok(())
/// }
///
/// let problem = Problem {
///     dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }],
///     fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 1e-4 }],
///     budget: 15.0,
///     goal: Goal::Maximise,
///     ..Problem::PLAIN
/// };
/// type Memory = foretune_core::memory!(
///     dimensions: 1, fidelities: 1, observations: 32, particles: 10, map: Ard, candidates: 128
/// );
/// let mut memory = Box::new(Memory::new());
/// let mut tuner = memory.start(problem, Settings::DEFAULT, 1)?;
/// tune(&mut tuner)?;
/// assert!((tuner.recommendation().unwrap().point()[0] - 0.3).abs() < 0.1);
/// # Ok::<(), Error>(())
/// ```
pub struct Optimizer<'a> {
    state: State<'a>,
    phase: Phase,
}

/// What the next slice of work is.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is no allocator to box the larger ones with")]
enum Phase {
    /// Particle `v` is drawn from the prior.
    Preparing {
        v: usize,
    },
    /// It is decided what comes next.
    Deciding,
    #[cfg(feature = "paper")]
    Designing(Design),
    Checking(Check),
    Learning(Learning),
    Searching(Search),
    Keeping(Keeping),
    /// A query was handed out.
    Waiting,
    Done,
}

#[allow(clippy::result_large_err, reason = "a refused query goes back to whoever measures")]
impl<'a> Optimizer<'a> {
    fn new(memory: Buffers<'a>, problem: Problem<'a>, settings: Settings, start: Start, seed: u64) -> Self {
        let mut model = settings.model(problem.dimensions.len());
        model.widen(problem.dimensions);
        let task = Task::new(seed, 1, settings.details.scaling);
        // The middle of every range.
        let conditions =
            problem.dimensions.iter().map(|d| if d.is_condition() { 0.5 } else { 0.0 }).collect();
        let mut state =
            State { problem, settings, model, memory, start, conditions, task, trust: Trust::NONE };
        state.memory.data.set_conditions(problem.dimensions);
        let mut optimizer = Optimizer { state, phase: Phase::Done };
        optimizer.begin(1);
        optimizer
    }

    /// Sets up a task.
    fn begin(&mut self, number: u32) {
        self.state.begin(number);
        self.phase = if self.state.draws() { Phase::Preparing { v: 0 } } else { Phase::Deciding };
    }

    /// One slice of work; the last task's particles are in the memory.
    pub fn advance(&mut self) -> Progress {
        if self.needs_knowledge() { Progress::NeedsKnowledge } else { self.slice(&[]) }
    }

    /// One slice of work, with the last task's particles elsewhere: [`knowledge`](Self::knowledge) as it was written,
    /// for instance in flash. Not looked at in the first task, nor by a memory that keeps them itself.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if these are not this task's.
    pub fn advance_with(&mut self, knowledge: &[u8]) -> Result<Progress, Error> {
        let centres = if self.needs_knowledge() { self.particles_within(knowledge)? } else { &[] };
        Ok(self.slice(centres))
    }

    fn needs_knowledge(&self) -> bool {
        // Nothing is learnt once there is a recommendation.
        let learns = self.state.learns_from_centres() && self.state.task.recommendation.is_none();
        self.state.memory.centres.is_none() && learns && !self.is_done()
    }

    /// The next query, or why there is none; under the conditions at hand, if the problem has
    /// [conditions](Self::set_conditions).
    pub fn ask(&mut self) -> Ask {
        loop {
            match self.advance() {
                Progress::Working => {}
                Progress::Query(query) => return Ask::Query(query),
                Progress::Waiting => return Ask::Waiting,
                Progress::NeedsKnowledge => return Ask::NeedsKnowledge,
                Progress::Done(stop) => return Ask::Done(stop),
            }
        }
    }

    /// Runs the task to its end: every query is answered by `measure`, with `None` where the measurement failed.
    ///
    /// # Errors
    /// What [`tell`](Self::tell) has against an answer; the query is then [outstanding](Self::outstanding).
    /// [`Error::OutOfTurn`] where [`ask`](Self::ask) has neither a query nor an end.
    pub fn run_task(&mut self, mut measure: impl FnMut(&Query) -> Option<f32>) -> Result<Stop, Error> {
        loop {
            let query = match self.ask() {
                Ask::Query(query) => query,
                Ask::Done(stop) => return Ok(stop),
                Ask::Waiting => self.outstanding().ok_or(Error::OutOfTurn)?,
                Ask::NeedsKnowledge => return Err(Error::OutOfTurn),
            };
            match measure(&query) {
                Some(y) => self.tell(query, y)?,
                None => self.fail(query)?,
            }
        }
    }

    fn slice(&mut self, centres: &[u8]) -> Progress {
        let state = &mut self.state;
        let next = match &mut self.phase {
            Phase::Preparing { v } => {
                state.draw_particle(*v);
                *v += 1;
                (*v == state.settings.particles).then_some(Next::Decide)
            }
            Phase::Deciding => Some(state.decide()),
            #[cfg(feature = "paper")]
            Phase::Designing(design) => design.advance(state).then_some(Next::Decide),
            Phase::Checking(check) => check.advance(state).then(|| Next::Learn(check.steps)),
            Phase::Learning(learning) => learning.advance(state, centres).then(|| match state.task.stop {
                Some(_) => Next::Search(Objective::Mean),
                None => Next::Judge,
            }),
            Phase::Searching(search) => search.advance(state).then(|| match search.objective {
                Objective::Mean if state.settings.kept > 0 && state.task.recommendation.is_none() => {
                    Next::Keep
                }
                Objective::Mean => Next::End,
                Objective::Trial => {
                    let changed = state.note_surprise(search.used());
                    if let Some([v, mean]) = search.trial_means(state).filter(|_| !changed) {
                        state.judge(v, mean);
                    }
                    if changed { Next::Judge } else { Next::Decide }
                }
                Objective::InUse => {
                    state.renew_bounds(search.trial_means(state));
                    if state.task.stop.is_some() { Next::Search(Objective::Mean) } else { Next::Decide }
                }
                _ => state.found(search),
            }),
            Phase::Keeping(keeping) => keeping.advance(state).then_some(Next::End),
            Phase::Waiting => return Progress::Waiting,
            Phase::Done => return Progress::Done(state.task.stop.unwrap_or(Stop::Requested)),
        };
        next.map_or(Progress::Working, |next| self.enter(next))
    }

    /// Goes over to what follows. The only place, beside the start of a task, where the phase is written.
    fn enter(&mut self, next: Next) -> Progress {
        let state = &mut self.state;
        self.phase = match next {
            Next::Decide => Phase::Deciding,
            #[cfg(feature = "paper")]
            Next::Design(points) => Phase::Designing(Design::new(points, state)),
            Next::Judge | Next::Learn(0) if state.judges_last() => {
                Phase::Searching(Search::new(Objective::Trial, state))
            }
            Next::Judge | Next::Learn(0) => Phase::Deciding,
            Next::Check(steps) => Phase::Checking(Check::new(steps)),
            Next::Learn(steps) => Phase::Learning(Learning::new(steps)),
            Next::Search(objective) => searching(objective, state),
            Next::Hand(query) => {
                state.task.asked = Some(query.record(None, Kpis::new(), None));
                self.phase = Phase::Waiting;
                return Progress::Query(query);
            }
            Next::Finish(stop) => {
                state.task.stop = Some(stop);
                let steps = state.settings.steps_per_task;
                if !state.has_told() {
                    Phase::Done
                } else if state.settings.carries_particles() && steps > 0 {
                    Phase::Learning(Learning::new(steps))
                } else {
                    searching(Objective::Mean, state)
                }
            }
            Next::Keep => Phase::Keeping(Keeping::new(state)),
            Next::End => {
                self.recommend();
                Phase::Done
            }
        };
        Progress::Working
    }

    /// Answers a query.
    ///
    /// # Errors
    /// The query comes back with [`Error::NotFinite`], [`Error::Outlier`], or [`Error::UnknownQuery`] if it is not the
    /// one asked last; the state is unchanged.
    pub fn tell(&mut self, query: Query, y: f32) -> Result<(), Refused> {
        self.answer(query, Some(y), None)
    }

    /// Answers a query of a problem with guards: the objective, and a KPI for each guard in their order.
    ///
    /// # Errors
    /// As [`tell`](Self::tell), and [`Error::Kpis`] unless there is one for every guard.
    pub fn tell_all(&mut self, query: Query, y: f32, kpis: &[f32]) -> Result<(), Refused> {
        self.answer_all(query, Some(y), kpis, None)
    }

    /// The measurement failed for good. It is charged and takes a slot; the model keeps away from there, and another
    /// query follows.
    ///
    /// # Errors
    /// [`Error::UnknownQuery`] with the query, if it is not the one asked last.
    pub fn fail(&mut self, query: Query) -> Result<(), Refused> {
        self.answer(query, None, None)
    }

    /// Answers a query: [`tell`](Self::tell), or [`fail`](Self::fail) where there is no observation, with what the
    /// measurement cost where that is not its fidelity's cost.
    ///
    /// # Errors
    /// As [`tell`](Self::tell), and [`Error::Cost`] unless the cost is 0 or more and finite.
    pub fn answer(&mut self, query: Query, y: Option<f32>, cost: Option<f32>) -> Result<(), Refused> {
        self.answer_all(query, y, &[], cost)
    }

    /// The same for a problem with guards. A measurement that failed has no KPIs.
    ///
    /// # Errors
    /// As [`answer`](Self::answer), and [`Error::Kpis`] unless there is one for every guard.
    pub fn answer_all(
        &mut self,
        query: Query,
        y: Option<f32>,
        kpis: &[f32],
        cost: Option<f32>,
    ) -> Result<(), Refused> {
        self.answer_at(query, y, kpis, cost, &[])
    }

    /// The same under these conditions, in natural units; none: under those that it was asked under.
    ///
    /// # Errors
    /// As [`answer_all`](Self::answer_all), and [`Error::Condition`] unless there is none, or a value for each within its range.
    pub fn answer_at(
        &mut self,
        query: Query,
        y: Option<f32>,
        kpis: &[f32],
        cost: Option<f32>,
        conditions: &[f32],
    ) -> Result<(), Refused> {
        let acceptable = self.is_asked(&query).and_then(|()| y.map_or(Ok(()), |y| self.check_value(y)));
        let acceptable = acceptable.and_then(|()| check_cost(cost));
        let kpis =
            acceptable.and_then(|()| if y.is_some() { self.state.kpis(kpis) } else { Ok(Kpis::new()) });
        let pushed = kpis.and_then(|kpis| {
            let mut record = query.record(y, kpis, cost);
            // At hand are those that it was asked under.
            let units = match conditions {
                [] => self.state.conditions.clone(),
                given => self.state.condition_units(given)?,
            };
            self.state.problem.put_conditions(&units, &mut record.unit);
            self.state.memory.data.push(&record)?;
            self.state.conditions = units;
            Ok(())
        });
        match pushed {
            Ok(()) => {
                let next = self.state.observed();
                self.enter(next);
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

    fn is_asked(&self, query: &Query) -> Result<(), Error> {
        let same = query.task == self.state.task.number
            && query.round == self.state.round()
            && self.state.task.asked.as_ref() == Some(&query.record(None, Kpis::new(), None));
        if same { Ok(()) } else { Err(Error::UnknownQuery) }
    }

    /// The query that was handed out and is not answered yet, should it have got lost.
    pub fn outstanding(&self) -> Option<Query> {
        let asked = self.state.task.asked.as_ref()?;
        Some(self.state.query(asked.unit.clone(), asked.fidelity, asked.kind))
    }

    /// Observations that [`tell`](Self::tell) takes now; others are [`Error::Outlier`].
    pub fn plausible(&self) -> RangeInclusive<f32> {
        let Scale { mean, deviation, .. } = self.state.task.scale;
        let judged = match self.state.settings.details.scaling {
            Scaling::Fixed { .. } => true,
            // Where outliers are measured again, one may turn out to be true.
            Scaling::Initial | Scaling::Robust if self.state.settings.confirm > 0.0 => false,
            Scaling::Initial | Scaling::Robust => self.state.task.settled && self.state.initial_done(),
            Scaling::Running => false,
        };
        let reach = if judged { LARGEST_DEVIATION * deviation } else { f32::MAX };
        (mean - reach).max(-LARGEST_VALUE)..=(mean + reach).min(LARGEST_VALUE)
    }

    /// Ends the task: what was observed is learnt, and a recommendation made. A query outstanding is void.
    ///
    /// Learning from the last answer, or the replay of a restored task, is not cut short, so that a task stopped at
    /// some answer ends the same way whenever the call came.
    pub fn stop(&mut self) {
        if self.state.task.stop.is_none() {
            self.state.task.stopping = true;
            self.state.task.asked = None;
            let judging =
                matches!(&self.phase, Phase::Searching(search) if search.objective == Objective::Trial);
            let learning = matches!(
                self.phase,
                Phase::Preparing { .. }
                    | Phase::Deciding
                    | Phase::Checking(_)
                    | Phase::Learning(_)
                    | Phase::Done
            );
            if !judging && !learning {
                self.enter(Next::Decide);
            }
        }
    }

    /// Makes the recommendation; the first of a task is carried on.
    fn recommend(&mut self) {
        let known = self.state.task.recommendation.is_some();
        self.state.task.recommendation = recommended(&self.state);
        if !known {
            self.state.carry_best();
        }
    }

    /// The recommendation, once the task has ended; `None` before, and if nothing was observed.
    pub fn recommendation(&self) -> Option<Recommendation> {
        self.state.task.recommendation.clone().filter(|_| self.is_done())
    }

    /// Starts the next task.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if this one has not ended.
    pub fn next_task(&mut self) -> Result<(), Error> {
        if !self.has_ended() {
            return Err(Error::OutOfTurn);
        }
        self.state.start = self.state.next_start();
        self.state.task.newest_is_unlike = self.state.task.best_is_unlike;
        self.state.trust.before |= self.state.trust.now;
        self.begin(self.state.task.number.saturating_add(1));
        Ok(())
    }

    /// Forgets the current task's observations, but those that it began with, and starts it anew; with particles kept in the memory.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] if the task has ended, or if the particles that it started from lie elsewhere: load them
    /// again instead.
    pub fn restart(&mut self) -> Result<(), Error> {
        if self.has_ended() {
            return Err(Error::OutOfTurn);
        }
        if self.state.carries_centres() {
            let Some(centres) = &self.state.memory.centres else { return Err(Error::OutOfTurn) };
            self.state.memory.particles.copy_from(centres);
        }
        let data = &mut self.state.memory.data;
        for i in 0..data.len() + data.hidden() {
            data.keep(i, data.kind(i) == Kind::Past);
        }
        self.begin(self.state.task.number);
        Ok(())
    }

    /// Number of the task, from 1.
    pub fn task(&self) -> u32 {
        self.state.task.number
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.state.task.seed
    }

    /// Where the task stands.
    pub fn status(&self) -> Status {
        let (state, data) = (&self.state, &self.state.memory.data);
        let activity = match self.phase {
            Phase::Preparing { .. } => Activity::Preparing,
            _ if data.hidden() > 0 => Activity::Replaying,
            Phase::Checking(_) | Phase::Learning(_) => Activity::Learning,
            Phase::Waiting => Activity::Waiting,
            Phase::Done => Activity::Done,
            _ => Activity::Searching,
        };
        Status {
            task: state.task.number,
            observations: state.round() as usize,
            failures: (0..data.len()).filter(|&i| data.failed(i)).count(),
            outliers: (0..data.len()).filter(|&i| data.is_outlier(i)).count(),
            remembered: state.task.remembered,
            past: state.task.past,
            room: data.room(),
            to_replay: data.hidden(),
            spent: state.spent(),
            activity,
            fallbacks: state.task.fallbacks,
            best: state.expected_best(),
            live: state.live_status(),
            fleet: state.fleet_status(),
        }
    }

    /// How the problem's guard `index` is kept; `None` if it has no such guard.
    pub fn guard(&self, index: usize) -> Option<GuardStatus> {
        self.state.guard_status(index)
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.state.settings
    }

    /// The problem.
    pub fn problem(&self) -> &Problem<'a> {
        &self.state.problem
    }

    /// The particles' parameters.
    pub fn particles(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.state.memory.particles.column_iter().map(|theta| theta.data.into_slice())
    }

    /// Points carried from earlier tasks, newest first, in the unit cube.
    pub fn carried(&self) -> impl ExactSizeIterator<Item = Point> {
        (0..self.state.carried()).map(|i| self.state.carried_point(i))
    }

    fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// Also while a recommendation under other conditions is searched for.
    fn has_ended(&self) -> bool {
        self.is_done() || self.state.task.recommendation.is_some()
    }
}

/// A search, where need be after one for the bounds.
fn searching(objective: Objective, state: &mut State<'_>) -> Phase {
    let objective = if state.needs_bounds() { Objective::InUse } else { objective };
    Phase::Searching(Search::new(objective, state))
}

fn check_cost(cost: Option<f32>) -> Result<(), Error> {
    if cost.is_none_or(|cost| (0.0..=LARGEST_VALUE).contains(&cost)) { Ok(()) } else { Err(Error::Cost) }
}

/// What a search for the recommendation found.
fn recommended(state: &State<'_>) -> Option<Recommendation> {
    let best = state.memory.candidates.best.first().cloned().or_else(|| best_known(state))?;
    Some(Recommendation {
        point: state.natural(&best.x),
        unit: best.x,
        mean: state.in_units(best.mean),
        // Observations near the largest allowed, times a large signal, would be infinite.
        deviation: (state.task.scale.deviation * math::sqrt(best.variance)).min(f32::MAX),
        assured: best.allowed,
    })
}

/// The best observation as it is, should no particle have an opinion.
fn best_known(state: &State<'_>) -> Option<Choice> {
    let [best, ..] = state.best_observed();
    best.map(|i| {
        let data = &state.memory.data;
        let x = state.here(data.point(i).iter().copied().collect());
        let (mean, fidelity) = (data.z()[i], usize::from(data.fidelity()[i]));
        let (allowed, variance) = (!state.problem.is_guarded(), state.noise()[fidelity]);
        Choice { allowed, score: mean, x, fidelity, mean, variance }
    })
}
