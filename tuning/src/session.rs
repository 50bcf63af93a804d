//! Tasks of a target, one after the other: the optimizer asks, a source answers, the state follows.
//!
//! A task: where a fidelity's noise is unknown, the deployed point is measured a few times there ([`noise`]), charged to the
//! budget; then the optimizer's own queries. Every answer is on the disk before the next query is asked. After a restart
//! the answers are asked for and told again, without measuring, so that the next query is the one that was lost.

mod noise;
mod replay;
mod several;
mod watch;

pub use several::MOST_AT_ONCE;
pub use watch::Watched;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foretune_core::{Fleet, Kind, Optimizer, Settings, SnapshotError, Stop};

use super::belief::Belief;
use super::page::page;
use super::state::{Begun, Ended, Past, Reason, State, Store, TaskState, Told, elsewhere, from_hex, to_hex};
use super::why::{Because, VALUE, lacking};
use crate::{Ask, Target, Why};
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::results::{crc32, write_atomically};
use host_sim::runner::{Next, Space, Tuner};
use host_sim::settings::Setup;
use host_sim::shapes::Room;
use host_sim::words::number;

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A value, the KPIs that the problem guards, what it cost if not what the fidelity costs, and the conditions if it is known
    /// under which it was measured.
    Value {
        value: f64,
        kpis: Vec<f64>,
        cost: Option<f64>,
        conditions: Vec<f64>,
    },
    Failed,
    /// None: another query is wanted, under these conditions.
    AskAt(Vec<f64>),
    /// None yet: another query is wanted beside those that wait.
    AskMore,
    /// The task is to end here.
    Stop,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub spent: f64,
    pub budget: f64,
    /// The best answer at the fidelity that counts, so far.
    pub best: Option<f32>,
    /// What was measured of the setting in use, and how often what broke its bound, of how many trials.
    pub in_use: Option<f64>,
    /// Which bounds the setting in use does not reach itself, in words.
    pub lacking: Vec<String>,
    pub broken: BTreeMap<String, [usize; 2]>,
    /// What the model expected of the best point so far when it asked, if it had one by then.
    pub expected: Option<f32>,
    /// Answers that lie too far from all others, and were not confirmed by a second.
    pub outliers: usize,
}

/// Where answers come from, and who hears what becomes of them.
pub trait Source {
    /// Begins to measure, beside those with these numbers.
    ///
    /// # Errors
    /// Whatever keeps the whole task from going on; the state is kept.
    fn start(&mut self, ask: &Ask, beside: &[u64]) -> Result<(), Error>;

    /// Waits for the answer to one of these, which have been started, and says to which.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    fn wait(&mut self, asks: &[Ask]) -> Result<(u64, Answer), Error>;

    /// The answer was not accepted: another one instead, or none, to wait again.
    fn refused(&mut self, ask: &Ask, why: &str) -> Result<Option<Answer>, Error>;

    /// How many queries may wait for their answers now.
    fn at_once(&self) -> usize {
        1
    }

    /// Nothing is to be measured beside these before one is answered.
    fn no_more(&mut self, _asks: &[Ask]) -> Result<(), Error> {
        Ok(())
    }

    /// The answer is taken and on the disk.
    fn told(&mut self, ask: &Ask, told: &Told, standing: &Standing) -> Result<(), Error>;

    /// Whether to go on while the optimizer computes.
    fn go_on(&self) -> bool {
        true
    }
}

pub struct Tuning {
    target: Target,
    setup: Setup,
    state: State,
    store: Option<Store>,
    /// The point in use at the start of the task at hand, or of the next one if that has ended, if it was given.
    given: Option<Vec<f64>>,
    /// What was measured before the next task.
    past: Vec<Past>,
    /// A page that is renewed with every query.
    page: Option<PathBuf>,
}

impl Tuning {
    /// Goes on from what the store has, or begins with this seed. A point in use that is given wins over the target's.
    pub fn open(
        target: Target,
        setup: Setup,
        (seed, deployed): (Option<u64>, Option<Vec<f64>>),
        store: Option<Store>,
    ) -> Result<Self, Error> {
        let stored = store.as_ref().map(|store| store.load(&target)).transpose()?.flatten();
        let fresh = stored.is_none();
        let state = stored.unwrap_or_else(|| State::new(&target, seed.unwrap_or(1)));
        if let Some(seed) = seed.filter(|&seed| seed != state.seed) {
            return Err(Error::usage(format!(
                "the stored state began with seed {}, not {seed}: leave --seed out, or give another --state",
                state.seed
            )));
        }
        let mut tuning = Self { target, setup, state, store, given: deployed, past: Vec::new(), page: None };
        tuning.setup.for_method(Method::MftMes)?;
        if fresh {
            tuning.begin(None)?;
        } else if tuning.ended().is_none() {
            tuning.unchanged()?;
        }
        Ok(tuning)
    }

    /// From now on a page shows how the task goes, written anew with every query.
    pub fn show_on(&mut self, page: PathBuf) {
        self.page = Some(page);
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// How the current task ended, if it has.
    pub fn ended(&self) -> Option<&Ended> {
        self.state.current()?.ended.as_ref()
    }

    /// Whether the end of the current task was told to anyone.
    pub fn reported(&self) -> bool {
        self.state.reported
    }

    pub fn report(&mut self) -> Result<(), Error> {
        self.state.reported = true;
        self.save()
    }

    /// Begins the next task, with another deployed point if one is given; after the current one has ended.
    ///
    /// # Errors
    /// [`Error::Usage`] if it has not, if the optimizer does not take the point, or if the budget does not pay for learning the
    /// noise. Nothing has begun then.
    pub fn next_task(&mut self, deployed: Option<Vec<f64>>) -> Result<(), Error> {
        if self.ended().is_none() {
            return Err(Error::usage("the current task has not ended"));
        }
        self.begin(deployed)
    }

    /// Has the first task start from what another one left.
    ///
    /// # Errors
    /// [`Error::Usage`] if it has had answers, and started from something else.
    pub fn start_from(&mut self, knowledge: &[u8]) -> Result<(), Error> {
        let knowledge = to_hex(knowledge);
        match &self.state.tasks[..] {
            [task] if task.answers.is_empty() => self.state.knowledge = knowledge,
            [_] if knowledge != self.state.knowledge => {
                return Err(Error::usage("knowledge is for the start of the first task"));
            }
            _ => return Ok(()),
        }
        self.save()
    }

    /// Has the first task start from what another site learnt: its state, with the noise that it estimated, or knowledge. Nothing
    /// changes once there are answers, but the file must be there.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot be read, or is of another problem. Nothing has changed then.
    pub fn start_from_file(&mut self, path: &Path) -> Result<(), Error> {
        let bytes = std::fs::read(path)
            .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
        let [TaskState { begun, answers, .. }] = &self.state.tasks[..] else { return Ok(()) };
        if !answers.is_empty() {
            return Ok(());
        }
        let (begun, before) = (begun.clone(), self.state.clone());
        self.state.knowledge = match elsewhere(path, bytes, &self.target)? {
            Ok(State { noise, kpi_noise, learnt, knowledge, .. }) => {
                (self.state.noise, self.state.kpi_noise) = (noise, kpi_noise);
                if learnt.is_empty() { knowledge } else { learnt }
            }
            Err(bytes) => to_hex(&bytes),
        };
        if let Err(why) = self.check(&begun, &self.state.knowledge) {
            self.state = before;
            return Err(Error::usage(format!("{}: {why}", path.display())));
        }
        self.save()
    }

    /// As [`take_past`](Self::take_past), for who gives it whenever the program starts: what a task began with is not taken once more.
    ///
    /// # Errors
    /// As there.
    pub fn take_past_once(&mut self, past: Vec<Past>) -> Result<(), Error> {
        let known = self.state.tasks.iter().any(|task| task.begun.past == past);
        if known { Ok(()) } else { self.take_past(past) }
    }

    /// Takes what was measured before the task at hand, in place of what it was given so; if it has ended, before the next one.
    ///
    /// # Errors
    /// [`Error::Usage`] if the task has had answers, or the optimizer does not take it. Nothing has changed then.
    pub fn take_past(&mut self, past: Vec<Past>) -> Result<(), Error> {
        let task = self.task()?;
        if task.ended.is_some() {
            self.past = past;
            return Ok(());
        }
        if !task.answers.is_empty() {
            return Err(Error::usage(format!(
                "past measurements are for the start of a task, and task {} has had answers: give them to the next one, or \
                 give another --state",
                self.state.task()
            )));
        }
        let begun = Begun { past, ..task.begun.clone() };
        self.check(&begun, &self.state.knowledge)?;
        self.task_mut()?.begun = begun;
        self.save()
    }

    fn begin(&mut self, deployed: Option<Vec<f64>>) -> Result<(), Error> {
        let begun = self.begun(deployed);
        self.check(&begun, &self.state.learnt).map_err(|why| match why {
            // Of the same problem, as the state is.
            Error::Optimizer(foretune_core::Error::Snapshot(SnapshotError::Model)) => Error::usage(
                "what was learnt is of another `map` or number of `particles`: change them back, or give another --state",
            ),
            other => other,
        })?;
        self.check_budget()?;
        (self.given, self.past) = (None, Vec::new());
        self.state.knowledge = std::mem::take(&mut self.state.learnt);
        self.state.reported = false;
        self.state.watch.clear();
        self.state.watched.clear();
        self.state.belief = None;
        self.state.tasks.push(TaskState::new(begun));
        self.save()
    }

    /// What a task begins with now. The point in use is the one given; else the target's, if it is another one there than
    /// when the last task began; else what that task left in use.
    fn begun(&self, deployed: Option<Vec<f64>>) -> Begun {
        let (filed, in_use) = (self.target.deployed.clone(), self.left_in_use());
        let settings = self.setup.describe(Method::MftMes);
        let (budget, mut service) = (self.target.budget, self.target.service().words());
        if let Some(fleet) = &self.target.fleet {
            service.insert("fleet".into(), format!("{:08x}", crc32(fleet)));
        }
        let deployed = deployed.or(self.given.clone()).or(in_use);
        Begun { budget, deployed, filed, settings, service, past: self.past.clone() }
    }

    /// The point in use after the task at hand, if none is given: the target's, if it was edited since the task began.
    fn left_in_use(&self) -> Option<Vec<f64>> {
        match self.state.current() {
            Some(task) if task.begun.filed == self.target.deployed => {
                task.in_use().map(|point| point[..self.target.chosen()].to_vec())
            }
            _ => self.target.deployed.clone(),
        }
    }

    /// Refuses a point in use or past measurements that the optimizer would not take: what has begun is changed no more.
    fn check(&self, begun: &Begun, knowledge: &str) -> Result<(), Error> {
        self.target.check_limits(begun.deployed.as_ref())?;
        let space = self.space(begun, &self.noise(), begun.budget);
        let (parts, settings) = (space.parts(), self.settings(begun)?);
        let point = begun.deployed.as_deref().map(|point| space.core_point(point));
        let mut room = Room::new(self.setup.capacity);
        let problem = space.problem(&parts, point.as_deref());
        match (room.start(problem, settings, self.state.seed), &begun.deployed) {
            (Err(foretune_core::Error::Live(why)), Some(point)) => Err(Error::usage(format!(
                "{}: {why}; say as `deployed` which setting is in use",
                self.target.words(point)
            ))),
            (optimizer, _) if !begun.past.is_empty() || !knowledge.is_empty() => {
                hand_over(&self.target, &mut optimizer?, &space, begun, knowledge)
            }
            (other, _) => Ok(other.map(|_| ())?),
        }
    }

    /// Past measurements take the place of initial points, but for one.
    fn settings(&self, begun: &Begun) -> Result<Settings, Error> {
        let settings = self.setup.for_method(Method::MftMes)?;
        let known = begun.past.len().min(settings.initial.saturating_sub(1));
        Ok(Settings { initial: settings.initial - known, ..settings })
    }

    /// Noise variance of every fidelity; 0 before it is known.
    fn noise(&self) -> Vec<f64> {
        self.state.noise.iter().map(|noise| noise.unwrap_or(0.0)).collect()
    }

    fn space(&self, begun: &Begun, noise: &[f64], budget: f64) -> Space {
        let space = Space::of_goal(&self.target.spec(noise, budget), self.target.goal);
        let mut service = self.target.service();
        for guard in service.guards.iter_mut().filter(|guard| guard.noise.is_empty()) {
            let known = |m| self.kpi_noise(&guard.name, m).unwrap_or(0.0) as f32;
            guard.noise = (0..self.target.fidelities.len()).map(known).collect();
        }
        space.asking(service, begun.deployed.is_some())
    }

    /// Budget, settings, point in use, floor, tolerance and limits may change between tasks, not within one.
    fn unchanged(&mut self) -> Result<(), Error> {
        let (now, count) = (self.begun(None), self.state.task());
        let begun = &self.task()?.begun;
        let point = |of: &Begun| of.deployed.as_ref().map_or("not given".into(), |x| self.target.words(x));
        let change = if begun.deployed != now.deployed {
            Some(format!("the setting in use was {}, and is {}", point(begun), point(&now)))
        } else if begun.budget != now.budget {
            Some(format!("the budget was {}, and is {}", number(begun.budget), number(now.budget)))
        } else {
            self.change()
        };
        self.given = None;
        change.map_or(Ok(()), |change| {
            Err(Error::usage(format!(
                "{change}: it may change between tasks, but task {count} has not ended"
            )))
        })
    }

    /// What was another setting, floor, tolerance or limit when the task at hand began, in words.
    fn change(&self) -> Option<String> {
        let (begun, now) = (&self.state.current()?.begun, self.begun(None));
        if let Some((key, was)) = begun.settings.iter().find(|(k, v)| now.settings.get(*k) != Some(*v)) {
            let is = now.settings.get(key).map_or("not set".into(), ToString::to_string);
            return Some(format!("setting `{key}` was {was}, and is {is}"));
        }
        let key = changed(&begun.service, &now.service)?;
        let word =
            |of: &BTreeMap<String, String>| of.get(key).map_or("not there", String::as_str).to_string();
        Some(format!("the {key} was {}, and is {}", word(&begun.service), word(&now.service)))
    }

    fn save(&self) -> Result<(), Error> {
        self.store.as_ref().map_or(Ok(()), |store| store.save(&self.state))
    }

    fn task(&self) -> Result<&TaskState, Error> {
        self.state.current().ok_or(Error::Defect)
    }

    fn task_mut(&mut self) -> Result<&mut TaskState, Error> {
        self.state.tasks.last_mut().ok_or(Error::Defect)
    }

    /// Plays the current task to its end.
    ///
    /// # Errors
    /// What the source returns; [`Error::Interrupted`] if it does not want to go on. The state is kept.
    pub fn play(&mut self, source: &mut dyn Source) -> Result<(), Error> {
        if self.ended().is_some() {
            return Ok(());
        }
        if self.is_any_noise_unknown()
            && let Some(reason) = self.measure(Vec::new(), None, source)?
        {
            return self.end(None, reason, (0, false), String::new());
        }
        self.with_optimizer(|tuning, space, tuner| tuning.run(space, tuner, source))
    }

    /// Works with an optimizer as it is when the current task begins.
    fn with_optimizer<R>(
        &mut self,
        work: impl FnOnce(&mut Self, &Space, &mut Optimizer<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let estimating: f64 = self.estimates().map(|told| told.cost).sum();
        let budget = (self.task()?.begun.budget - estimating).max(0.0);
        let begun = self.task()?.begun.clone();
        let space = self.space(&begun, &self.noise(), budget);
        let settings = self.settings(&begun)?;
        let (capacity, seed) = (self.setup.capacity, self.state.seed);
        let parts = space.parts();
        let point = begun.deployed.as_deref().map(|point| space.core_point(point));
        let mut room = Room::new(capacity);
        let mut optimizer = room.start(space.problem(&parts, point.as_deref()), settings, seed)?;
        let fleet = self.target.fleet.clone();
        let fleet = fleet.as_deref().map(Fleet::read).transpose().map_err(foretune_core::Error::Fleet)?;
        if fleet.is_some() {
            optimizer.set_fleet(fleet)?;
        }
        hand_over(&self.target, &mut optimizer, &space, &begun, &self.state.knowledge)?;
        work(self, &space, &mut optimizer)
    }

    /// Whether so many measurements in a row have failed that no more are tried.
    fn is_failing(&self) -> Result<bool, Error> {
        Ok(self.task()?.failing() >= self.target.failures)
    }

    /// What a measurement cost, if that is not what its fidelity costs: as the optimizer is told, now and after a restart.
    fn own_cost(&self, fidelity: usize, cost: f64) -> Option<f32> {
        (cost != self.target.fidelities[fidelity].cost).then_some(cost as f32)
    }

    fn ask(&self, point: Vec<f64>, fidelity: usize, why: Why) -> Ask {
        let pending = self.state.current().map_or(0, |task| task.pending.len() as u64);
        let (id, task) =
            (self.state.answered() + self.state.unanswered as u64 + pending + 1, self.state.task());
        Ask { id, task, point, fidelity, why, because: None, unit: Vec::new() }
    }

    fn record(
        &mut self,
        ask: &Ask,
        answer: Answer,
        outliers: usize,
        source: &mut dyn Source,
    ) -> Result<(), Error> {
        let usual = self.target.fidelities[ask.fidelity].cost;
        let (value, kpis, cost, conditions) = match answer {
            Answer::Value { value, kpis, cost, conditions } => {
                (Some(value as f32), kpis, cost.unwrap_or(usual), conditions)
            }
            _ => (None, Vec::new(), usual, Vec::new()),
        };
        let Ask { mut point, fidelity, why, because, unit, .. } = ask.clone();
        let (told_at, chosen) = (!conditions.is_empty(), point.len() - conditions.len());
        point.splice(chosen.., conditions);
        let task = self.task_mut()?;
        let asked_at = std::mem::take(&mut task.asked_at);
        // Where it was asked beside others, its point is known without.
        let asked_at = if unit.is_empty() { asked_at } else { Vec::new() };
        let told = Told { point, asked_at, told_at, fidelity, why, value, kpis, cost, because, unit };
        task.answers.push(told.clone());
        task.pending.retain(|pending| pending.id != ask.id);
        let outliers = outliers + self.absurd_repeats();
        self.task_mut()?.outliers = outliers;
        self.save()?;
        source.told(ask, &told, &self.standing()?)
    }

    pub(super) fn standing(&self) -> Result<Standing, Error> {
        let task = self.task()?;
        let best = task.best(&self.target).and_then(|told| told.value);
        Ok(Standing {
            spent: task.spent(),
            budget: task.begun.budget,
            best,
            in_use: task.measured_in_use(&self.target, VALUE),
            lacking: lacking(&self.target, task),
            broken: task.broken(&self.target),
            expected: task.expected,
            outliers: task.outliers,
        })
    }

    fn run(
        &mut self,
        space: &Space,
        tuner: &mut Optimizer<'_>,
        source: &mut dyn Source,
    ) -> Result<(), Error> {
        self.replay_all(space, tuner)?;
        let asked_at = &self.task()?.asked_at;
        if !asked_at.is_empty() {
            tuner.set_conditions(&self.core_conditions(space, asked_at))?;
        }
        let (mut running, mut standing) = (Vec::new(), None);
        loop {
            if self.is_failing()? {
                return self.finish(space, tuner, Reason::Failures);
            }
            if source.at_once() > 1 || !self.task()?.pending.is_empty() {
                let several = self.measure(std::mem::take(&mut running), Some((space, tuner)), source)?;
                match several {
                    Some(reason) => return self.finish(space, tuner, reason),
                    None => continue,
                }
            }
            let (ask, unit) = match standing.take() {
                Some(standing) => standing,
                None => {
                    let proposal = match tuner.next(&|| source.go_on()) {
                        Next::Query(proposal) => proposal,
                        Next::Interrupted => return Err(Error::Interrupted),
                        Next::Done(stop) => return self.finish(space, tuner, reason(stop)),
                    };
                    let because = tuner.explain().map(|why| Because::of(&self.target, &why, self.widening()));
                    let point = self.shown(space, &proposal.unit)?;
                    let ask = self.ask(point, proposal.fidelity, why(proposal.kind));
                    self.renew_page(space, tuner)?;
                    (Ask { because, ..ask }, proposal.unit)
                }
            };
            self.task_mut()?.expected = tuner.status().best;
            match self.answered(space, tuner, &ask, source)? {
                Answer::Stop => return self.finish(space, tuner, Reason::Stopped),
                Answer::AskAt(conditions) => {
                    // Under the same ones the query stands, and is sent again.
                    let stands = !tuner.change_conditions(&self.core_conditions(space, &conditions))?;
                    standing = stands.then_some((ask, unit));
                    self.task_mut()?.asked_at = conditions;
                    self.save()?;
                }
                Answer::AskMore => {
                    running.push(self.pend(Ask { unit, ..ask }, true)?.id);
                }
                answer => {
                    self.record(&ask, answer, tuner.status().outliers, source)?;
                }
            }
        }
    }

    /// A point for people: the one in use as it was given, whatever single precision made of it.
    fn shown(&self, space: &Space, unit: &[f32]) -> Result<Vec<f64>, Error> {
        let in_use = self.task()?.begun.deployed.as_ref();
        let mut shown = space.shown(unit);
        if let Some(point) = in_use.filter(|point| unit.starts_with(&space.unit(point))) {
            shown[..point.len()].copy_from_slice(point);
        }
        Ok(shown)
    }

    /// Answers the query, measured under these conditions or under those that it was asked under.
    fn tell(
        &self,
        space: &Space,
        tuner: &mut Optimizer<'_>,
        (value, kpis, cost): (Option<f32>, &[f32], Option<f32>),
        conditions: &[f64],
    ) -> Result<(), foretune_core::Error> {
        let query = tuner.outstanding().ok_or(foretune_core::Error::OutOfTurn)?;
        Ok(tuner.answer_at(query, value, kpis, cost, &self.core_conditions(space, conditions))?)
    }

    /// Asks until the optimizer takes an answer, or there is none.
    fn answered(
        &self,
        space: &Space,
        tuner: &mut Optimizer<'_>,
        ask: &Ask,
        source: &mut dyn Source,
    ) -> Result<Answer, Error> {
        let asks = std::slice::from_ref(ask);
        source.start(ask, &[])?;
        let mut answer = source.wait(asks)?.1;
        let mut tell = |answer: (Option<f32>, &[f32], Option<f32>), conditions: &[f64]| {
            self.tell(space, tuner, answer, conditions).map_err(|error| error.to_string())
        };
        loop {
            let taken = match &answer {
                Answer::Stop | Answer::AskAt(_) | Answer::AskMore => return Ok(answer),
                Answer::Failed => tell((None, &[], None), &[]),
                Answer::Value { value, kpis, cost, conditions } => {
                    let own_cost = cost.and_then(|cost| self.own_cost(ask.fidelity, cost));
                    let told = (Some(*value as f32), &self.target.told(kpis)[..], own_cost);
                    let fits = noise::check_answer(*value, *cost).map_err(String::from);
                    fits.and_then(|()| tell(told, conditions))
                }
            };
            match taken {
                Ok(()) => return Ok(answer),
                Err(why) => {
                    answer = match source.refused(ask, &why)? {
                        Some(instead) => instead,
                        None => source.wait(asks)?.1,
                    }
                }
            }
        }
    }

    fn finish(&mut self, space: &Space, tuner: &mut Optimizer<'_>, reason: Reason) -> Result<(), Error> {
        Tuner::finish(tuner);
        let advice = tuner.advice();
        let unassured = advice.as_ref().is_some_and(|advice| !advice.assured);
        let found = advice.map(|advice| ((advice.mean, self.widening() * advice.deviation), advice.unit));
        let advice = match &found {
            Some(((mean, deviation), unit)) => Some((self.shown(space, unit)?, *mean, *deviation)),
            None => None,
        };
        if let Some((_, unit)) = &found {
            self.state.belief = Belief::of(&self.target, space, tuner, (unit, self.widening()));
        }
        self.end(advice, reason, (tuner.status().outliers, unassured), to_hex(&Tuner::knowledge(tuner)?))?;
        self.write_page()
    }

    /// Shows what the model believes around the best answer so far, if there is a page.
    fn renew_page(&mut self, space: &Space, tuner: &mut Optimizer<'_>) -> Result<(), Error> {
        if self.page.is_some() {
            let best = self.task()?.best(&self.target).map(|told| space.unit(&told.point));
            let belief =
                best.and_then(|unit| Belief::of(&self.target, space, tuner, (&unit, self.widening())));
            self.state.belief = belief;
        }
        self.write_page()
    }

    fn write_page(&self) -> Result<(), Error> {
        let Some(path) = &self.page else { return Ok(()) };
        write_atomically(path, page(&self.target, &self.state).as_bytes())
    }

    fn end(
        &mut self,
        advice: Option<(Vec<f64>, f32, f32)>,
        reason: Reason,
        (outliers, unassured): (usize, bool),
        learnt: String,
    ) -> Result<(), Error> {
        let (spent, outliers) = (self.task()?.spent(), outliers + self.absurd_repeats());
        let bounded = self.target.floor.is_some() || !self.target.guards.is_empty();
        let (advice, unassured) = match advice {
            None => (self.in_use_as_repeated(), bounded),
            _ => (advice, unassured),
        };
        let (point, mean, deviation) =
            advice.map_or((None, 0.0, 0.0), |(point, mean, deviation)| (Some(point), mean, deviation));
        let unassured = unassured && point.is_some();
        // Nothing learnt in this task leaves what was known before it.
        self.state.learnt = if learnt.is_empty() { self.state.knowledge.clone() } else { learnt };
        // Who stops a task leaves the query that stands, or all that wait.
        self.state.unanswered += self.task()?.pending.len().max(usize::from(reason == Reason::Stopped));
        let task = self.task_mut()?;
        task.pending.clear();
        task.asked_at.clear();
        task.ended = Some(Ended { point, mean, deviation, reason, spent, outliers, unassured });
        self.save()
    }
}

/// Gives an optimizer what is known when a task begins.
fn hand_over(
    target: &Target,
    optimizer: &mut Optimizer<'_>,
    space: &Space,
    begun: &Begun,
    knowledge: &str,
) -> Result<(), Error> {
    if !knowledge.is_empty() {
        Tuner::load(optimizer, &from_hex(knowledge).ok_or(Error::Defect)?)?;
    }
    if let Some(point) = &begun.deployed {
        optimizer.deploy(&space.core_point(point))?;
    }
    for (i, Past { point, fidelity, value, kpis }) in begun.past.iter().enumerate() {
        match optimizer.add_past_all(&space.core_point(point), *fidelity, *value, &target.told(kpis)) {
            Err(foretune_core::Error::Capacity { .. }) => {
                return Err(Error::usage(format!(
                    "past: there is room for {i} measurements, not {}: leave out the others",
                    begun.past.len()
                )));
            }
            other => other?,
        }
    }
    Ok(())
}

fn changed<'a>(was: &'a BTreeMap<String, String>, is: &'a BTreeMap<String, String>) -> Option<&'a str> {
    was.keys().chain(is.keys()).find(|key| was.get(*key) != is.get(*key)).map(String::as_str)
}

fn why(kind: Kind) -> Why {
    match kind {
        // Past measurements are never asked for.
        Kind::Initial | Kind::Past => Why::Initial,
        Kind::Carried => Why::Carried,
        Kind::Search => Why::Search,
    }
}

fn reason(stop: Stop) -> Reason {
    match stop {
        Stop::Budget => Reason::Budget,
        Stop::Capacity => Reason::Capacity,
        Stop::Exhausted => Reason::Exhausted,
        Stop::Tolerance => Reason::Tolerance,
        _ => Reason::Stopped,
    }
}

#[cfg(test)]
mod tests;
