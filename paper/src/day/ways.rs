//! Ways to run a network for days.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use foretune_core::{Ask, Fleet, Floor, Level, Optimizer, Reading, Watch};
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::{Deployed, DimensionSpec, Notation, Problem, ProblemSpec, Rrm, Service, Task, Town};
use host_sim::results::Manifest;
use host_sim::runner::{Answered, Benchmark, Modelled, Noise, Plan, Rule, Seeds, Space, Variant, play};
use host_sim::settings::{Preset, Setup};
use host_sim::shapes::Room;

use super::air::{CHOSEN, FLOOR, HOUR, OnAir, STEP, Step, TRUTH};

/// Room for observations: that of the device's compact profile.
const CAPACITY: usize = 64;
/// Answers that a task begins with, where the way keeps some.
const KEPT: usize = 32;
const RISK: f32 = 0.05;
/// When tuning ends: no more than this share is to be gained; where trials are spared, no more than that.
const TOLERANCE: f32 = 0.01;
const SPARING: f32 = 0.02;
/// Samples of a reading of the setting in use, and readings between two false alarms.
const READING: f64 = 100.0;
const RUN_LENGTH: f32 = 10_000.0;
/// An event counts as found by an alarm within so many readings.
const IN_TIME: u32 = 80;
/// Loads further apart than this have recommendations of their own.
const LOADS_APART: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// Tunes; then watches, and tunes again where something has changed.
    Watching,
    /// The same, from what other sites have in common.
    Fleet,
    /// As fleet, with fewer trials: a task ends sooner.
    Sparing,
    /// As watching, knowing the load: what is in use follows it, and readings are compared with what is expected under it.
    Knowing,
    /// The same, and a task begins with answers of those before.
    Keeping,
    /// Tunes at the beginning of every hour, as if the hour did not change.
    Hourly,
    /// Tunes in the first hour.
    Once,
    /// Contextual GP-UCB with the floor, at the beginning of every hour; the load is its context.
    Ucb,
    /// One parameter at a time, at the beginning of every hour.
    Climbing,
    /// Leaves the setting that it came with.
    Never,
    /// Knows the best, every half hour.
    Oracle,
}

impl Way {
    /// As on the command line.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// What the town comes to, step by step; the seeds are those of an experiment of a study, the fleet is the bytes of its file.
    pub fn run(
        self,
        town: &Town,
        seeds: &Seeds,
        fleet: &[u8],
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Step>, Error> {
        let spec = Problem::Rrm(Rrm::default()).spec();
        let air = OnAir::new(town, spec.deployed.clone());
        match self {
            Way::Never => air.serve(town.steps() as f64 * STEP),
            Way::Oracle => know(&air, go_on)?,
            Way::Watching | Way::Fleet | Way::Sparing | Way::Knowing | Way::Keeping => {
                watch(&air, town, spec, seeds, &self.known(fleet), go_on)?;
            }
            Way::Once => tune(&air, Method::MftMes, 1, seeds, go_on)?,
            Way::Hourly => tune(&air, Method::MftMes, usize::MAX, seeds, go_on)?,
            Way::Ucb => follow(&air, spec, seeds, go_on)?,
            Way::Climbing => tune(&air, Method::HillClimbing, usize::MAX, seeds, go_on)?,
        }
        Ok(air.into_steps())
    }

    /// Whether it starts from what other sites have in common.
    pub fn has_fleet(self) -> bool {
        matches!(self, Way::Fleet | Way::Sparing)
    }

    fn known(self, fleet: &[u8]) -> Known<'_> {
        Known {
            load: matches!(self, Way::Knowing | Way::Keeping),
            kept: if self == Way::Keeping { KEPT } else { 0 },
            fleet: self.has_fleet().then_some(fleet),
            tolerance: if self == Way::Sparing { SPARING } else { TOLERANCE },
        }
    }
}

/// What a way knows beside the answers of the task, and when it ends one.
struct Known<'a> {
    load: bool,
    /// Answers of the tasks before.
    kept: usize,
    fleet: Option<&'a [u8]>,
    tolerance: f32,
}

/// Tunes, watches, and tunes again.
fn watch(
    air: &OnAir<'_>,
    town: &Town,
    mut spec: ProblemSpec,
    seeds: &Seeds,
    known: &Known<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<(), Error> {
    if known.load {
        spec.dimensions.push(load());
    }
    let space = Space::new(&spec).asking(service(known.tolerance), true);
    let mut settings = Setup::new(Preset::Live, &spec).for_method(Method::MftMes)?;
    settings.kept = known.kept;
    let (parts, deployed) = (space.parts(), space.core_point(&spec.deployed));
    let mut room = Room::new(CAPACITY);
    let mut optimizer = room.start(space.problem(&parts, Some(&deployed)), settings, seeds.optimizer)?;
    if let Some(fleet) = known.fleet {
        optimizer.set_fleet(Some(Fleet::read(fleet).map_err(foretune_core::Error::Fleet)?))?;
    }
    let mut noise = Noise::new(seeds.noise, 1);
    loop {
        air.note(|step| step.tasks += 1);
        while let Ask::Query(query) = optimizer.ask_at(&[air.load() as f32][..usize::from(known.load)])? {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            let (setting, fidelity) = (space.natural(query.unit()), &spec.fidelities[query.fidelity()]);
            let y = air.value(query.fidelity(), &setting) + noise.draw(fidelity.noise_variance);
            air.try_out(&setting, fidelity.cost);
            optimizer.tell(query, y as f32).map_err(foretune_core::Error::from)?;
            if air.is_over() {
                return Ok(());
            }
        }
        let variance = spec.fidelities[TRUTH].noise_variance;
        let in_use = wait(air, town, &mut optimizer, (&space, variance), &mut noise)?;
        if air.is_over() {
            return Ok(());
        }
        optimizer.next_task()?;
        optimizer.deploy(&space.core_point(&in_use))?;
    }
}

/// The load, as a condition.
fn load() -> DimensionSpec {
    let [low, high] = Town::LOADS;
    let notation = Notation { condition: true, ..Notation::default() };
    DimensionSpec::Interval { name: "load".into(), unit: String::new(), low, high, notation }
}

fn service(tolerance: f32) -> Service {
    let floor = Floor { level: Level::Share(FLOOR as f32), risk: RISK };
    Service { floor: Some(floor), tolerance, ..Service::default() }
}

fn know(air: &OnAir<'_>, go_on: &dyn Fn() -> bool) -> Result<(), Error> {
    while !air.is_over() {
        if !go_on() {
            return Err(Error::Interrupted);
        }
        // The moment's task is made by the first look at it.
        let _ = air.value(TRUTH, &[0.0; 4]);
        air.put_in_use(&air.optimum_at());
        air.serve(HOUR / 2.0);
    }
    Ok(())
}

/// Tunes in the first so many hours, as studies do.
fn tune(
    air: &OnAir<'_>,
    method: Method,
    hours: usize,
    seeds: &Seeds,
    go_on: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let benchmark = Benchmark::new(Problem::Rrm(Rrm::default()));
    let benchmark = benchmark.in_service(Deployed::Default, service(TOLERANCE))?;
    let mut setup = Setup::new(Preset::Live, benchmark.spec());
    setup.capacity = CAPACITY;
    let study = Manifest {
        study: "day".into(),
        preset: Preset::Live.name().into(),
        command: "foretune-paper day".into(),
        seed: seeds.optimizer,
        experiments: 1,
        tasks: 1,
        ..Manifest::default()
    };
    let plan = Plan::new(study, benchmark, vec![Variant::of(method, setup)])?;
    let (spec, space) = (plan.benchmark().spec(), plan.benchmark().space());
    let lasts = || go_on() && !air.is_over();
    plan.with_tuner(0, 1, |tuner| {
        for hour in 0..hours {
            air.note(|step| step.tasks += 1);
            let mut noise = Noise::new(seeds.noise, hour as u32 + 1);
            let mut each = |answered: Answered| {
                air.try_out(&answered.setting, answered.time);
                Ok(())
            };
            let ended = match play(tuner, air, spec, space, &mut noise, &lasts, &mut each) {
                Err(Error::Interrupted) if air.is_over() => return Ok(()),
                ended => ended?,
            };
            air.put_in_use(&ended.setting);
            air.serve_until(hour as f64 + 1.0);
            if air.is_over() {
                return Ok(());
            }
            tuner.next_task()?;
        }
        air.serve(f64::INFINITY);
        Ok(())
    })
}

/// Contextual GP-UCB: tries with the budget of every hour what may be best under the load at hand, then uses what is.
fn follow(
    air: &OnAir<'_>,
    mut spec: ProblemSpec,
    seeds: &Seeds,
    go_on: &dyn Fn() -> bool,
) -> Result<(), Error> {
    spec.dimensions.push(load());
    spec.deployed.push(Town::LOADS[0]);
    let space = Space::new(&spec).asking(service(TOLERANCE), true);
    let (parts, deployed) = (space.parts(), space.unit(&spec.deployed));
    let problem = space.problem(&parts, None);
    let mut method = Modelled::new(Rule::ContextualUcb, deployed, seeds.optimizer, 1);
    let mut noise = Noise::new(seeds.noise, 1);
    let fidelity = &spec.fidelities[TRUTH];
    let at_hand = || (air.load() - Town::LOADS[0]) / (Town::LOADS[1] - Town::LOADS[0]);
    for hour in 1.. {
        air.note(|step| step.tasks += 1);
        for _ in 0..(spec.budget / fidelity.cost) as usize {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            method.put_conditions(&[at_hand() as f32]);
            let setting = space.natural(&method.next(&problem));
            let y = air.value(TRUTH, &setting) + noise.draw(fidelity.noise_variance);
            air.try_out(&setting, fidelity.cost);
            method.tell(&problem, Some(y as f32), &[]);
        }
        let end = f64::from(hour) * HOUR;
        while air.time() < end && !air.is_over() {
            method.put_conditions(&[at_hand() as f32]);
            let best = method.best(&problem).ok_or(foretune_core::Error::OutOfTurn)?;
            air.put_in_use(&space.natural(&best.0));
            air.serve(READING);
        }
        if air.is_over() {
            return Ok(());
        }
        let (best, _) = method.best(&problem).ok_or(foretune_core::Error::OutOfTurn)?;
        method.go_on_from(best);
    }
    Ok(())
}

/// Uses what is best under the load at hand, until readings say that something has changed; what was in use then.
fn wait(
    air: &OnAir<'_>,
    town: &Town,
    optimizer: &mut Optimizer<'_>,
    (space, variance): (&Space, f64),
    noise: &mut Noise,
) -> Result<Vec<f64>, Error> {
    let mut watch = Watch::new(RUN_LENGTH)?;
    let mut known: BTreeMap<i64, (Vec<f64>, f64)> = BTreeMap::new();
    // Readings since an event that has not been found yet.
    let mut since = None::<u32>;
    loop {
        let knows = optimizer.problem().conditions() > 0;
        let place = if knows { (air.load() / LOADS_APART).round() as i64 } else { 0 };
        let (setting, expected) = match known.entry(place) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let load = (place as f64 * LOADS_APART).clamp(Town::LOADS[0], Town::LOADS[1]);
                let best = optimizer.recommendation_at(&[load as f32][..usize::from(knows)])?;
                new.insert((space.natural(best.unit()), f64::from(best.mean)))
            }
        };
        air.put_in_use(setting);
        let (y, step) = (air.value(TRUTH, setting) + noise.draw(variance), air.step());
        since = since.map(|readings| readings + 1).filter(|readings| *readings <= IN_TIME);
        air.serve(READING);
        let changed = watch.tell((y - *expected) as f32)? == Reading::Changed;
        if let Some(readings) = since.filter(|_| changed) {
            air.note(|step| (step.found, step.delay) = (step.found + 1, step.delay + readings));
        }
        if changed || air.is_over() {
            return Ok(setting.clone());
        }
        if air.step() != step && is_costly(town, air.step(), setting) {
            air.note(|step| step.events += 1);
            since = Some(0);
        }
    }
}

/// Whether an event begins that takes more than a twentieth of what a setting gives.
fn is_costly(town: &Town, step: usize, setting: &[f64]) -> bool {
    let value = |step: usize| town.at(step).value(TRUTH, &setting[..CHOSEN]);
    town.events().iter().any(|event| event.from == step) && value(step) < 0.95 * value(step - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::problems::STEPS_PER_HOUR;

    fn add((time, count): (f64, u32), (more, others): (f64, u32)) -> (f64, u32) {
        (time + more, count + others)
    }

    /// A day that is only watched costs users nothing in trials; one that is tuned has every sample accounted for.
    #[test]
    fn every_sample_of_a_day_is_accounted_for() {
        let (town, seeds) = (Town::new(3, 1), Seeds::new(3, 1));
        let never = Way::Never.run(&town, &seeds, &[], &|| true).unwrap();
        assert!(never.iter().all(|step| step.trial == 0.0 && step.value > 0.0));
        let once = Way::Once.run(&town, &seeds, &[], &|| true).unwrap();
        let sum = |of: &dyn Fn(&Step) -> f64| once.iter().map(of).sum::<f64>();
        assert_eq!((once.len(), sum(&|step| f64::from(step.tasks))), (town.steps(), 1.0));
        let (trial, below) = (sum(&|step| step.trial), sum(&|step| step.below));
        assert!(trial > 0.0 && trial <= 2000.0 && below <= trial, "{trial}, {below}");
        let values = once.iter().zip(&never).map(|(once, never)| once.value / never.value);
        assert!(values.clone().all(|share| share > 0.3) && values.sum::<f64>() > 0.9 * town.steps() as f64);
        // Contextual GP-UCB has the budget of every hour, and follows the load.
        let ucb = Way::Ucb.run(&town, &seeds, &[], &|| true).unwrap();
        let trials = |hour: &[Step]| hour.iter().map(|step| (step.trial, step.trials)).fold((0.0, 0), add);
        assert!(ucb.chunks(STEPS_PER_HOUR).all(|hour| trials(hour) == (2000.0, 20)));
        let better = ucb.iter().zip(&never).filter(|(ucb, never)| ucb.value > never.value).count();
        assert!(2 * better > town.steps(), "{better} of {} steps", town.steps());
        let interrupted = Way::Watching.run(&town, &seeds, &[], &|| false);
        assert!(matches!(interrupted, Err(Error::Interrupted)));
    }
}
