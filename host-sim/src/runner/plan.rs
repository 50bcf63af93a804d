//! What a study runs: a problem and the variants that are compared on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use foretune_core::{Fleet, Settings};
use serde_json::Value;

use super::measured::Bench;
use super::opponent::Opponent;
use super::session::Seeds;
use super::space::Space;
use super::tuner::Tuner;
use crate::error::Error;
use crate::method::Method;
use crate::problems::{
    Deployed, DimensionSpec, Guarded, Problem, ProblemSpec, Sequence, Service, Task, level_words,
};
use crate::results::crc32;
use crate::results::{self, Bound, Manifest};
use crate::settings::Setup;
use crate::shapes::Room;
use crate::words::{number, shortest};

/// A problem with what a study may change about it.
#[derive(Clone, Debug)]
pub struct Benchmark {
    source: Source,
    spec: ProblemSpec,
    space: Space,
    /// The task, from 1, that is of another kind than the others.
    unlike: Option<u32>,
    /// How far every experiment's tasks are moved, at most: a share of every range.
    moved: f64,
    budget_set: bool,
    /// The point in use, if tasks start from one.
    deployed: Option<Deployed>,
}

#[derive(Clone, Debug)]
enum Source {
    Known(Problem),
    Measured(Arc<dyn Bench>),
}

impl Benchmark {
    /// A problem that is measured; its tasks start from the point in use if it has one.
    pub fn measured(bench: Arc<dyn Bench>, spec: ProblemSpec, service: Service) -> Self {
        let deployed = (!spec.deployed.is_empty()).then_some(Deployed::Default);
        let space = Space::new(&spec).asking(service, deployed.is_some());
        let source = Source::Measured(bench);
        Self { source, spec, space, unlike: None, moved: 0.0, budget_set: false, deployed }
    }

    /// What measures, if the problem is not built in.
    pub fn bench(&self) -> Option<&dyn Bench> {
        match &self.source {
            Source::Known(_) => None,
            Source::Measured(bench) => Some(&**bench),
        }
    }

    pub fn new(problem: Problem) -> Self {
        let spec = problem.spec();
        let space = Space::new(&spec);
        let source = Source::Known(problem);
        Self { source, spec, space, unlike: None, moved: 0.0, budget_set: false, deployed: None }
    }

    pub fn with_budget(mut self, budget: f64) -> Result<Self, Error> {
        if !(0.0..=1e9).contains(&budget) {
            return Err(Error::usage(format!(
                "the budget takes a number from 0 to 1e9, not {}",
                number(budget)
            )));
        }
        self.spec.budget = budget;
        self.space = Space::new(&self.spec).asking(self.space.service().clone(), self.space.is_in_use());
        self.budget_set = true;
        Ok(self)
    }

    /// With one task, counted from 1, of another kind than the others.
    pub fn with_unlike(mut self, task: u32) -> Result<Self, Error> {
        if task == 0 {
            return Err(Error::usage("tasks count from 1, so the task unlike the others cannot be 0"));
        }
        self.unlike = Some(task);
        Ok(self)
    }

    /// With the tasks of every experiment moved by a random part of every range, at most this share of it.
    pub fn with_moved(mut self, share: f64) -> Result<Self, Error> {
        let even = self.spec.dimensions.iter().all(|d| matches!(d, DimensionSpec::Interval { .. }));
        if self.bench().is_some() || !even || !(0.0..=0.5).contains(&share) {
            return Err(Error::usage(
                "--moved takes a share from 0 to 0.5, of a built-in problem without levels",
            ));
        }
        self.moved = share;
        Ok(self)
    }

    /// The guards that words ask for, of the problem's KPIs.
    pub fn guards(&self, words: &[String], risk: f32) -> Result<Vec<Guarded>, Error> {
        let kpis = match &self.source {
            Source::Known(problem) => problem.kpis(),
            Source::Measured(_) => {
                return Err(Error::usage("--guard is for built-in problems: a file has [[guard]]"));
            }
        };
        let guarded = |text: &String| {
            let wrong = |why: String| Error::usage(format!("--guard {why}"));
            let (name, side, level) = Guarded::parse(text).map_err(wrong)?;
            let names: Vec<&str> = kpis.iter().map(|kpi| kpi.name).collect();
            let unknown = || match names.is_empty() {
                true => Error::usage(format!("problem {} has no KPIs to guard", self.spec.name)),
                false => Error::usage(format!("there is no KPI `{name}`; there are {}", names.join(", "))),
            };
            let index = names.iter().position(|known| *known == name).ok_or_else(unknown)?;
            let noise = kpis[index].noise.iter().map(|noise| *noise as f32).collect();
            let guard = Guarded { log: kpis[index].log, name, index, side, level, risk, noise };
            guard.fault().map_or(Ok(guard), |why| Err(wrong(why)))
        };
        words.iter().map(guarded).collect()
    }

    /// In service: tasks start from a point in use and keep to what is asked.
    pub fn in_service(mut self, deployed: Deployed, service: Service) -> Result<Self, Error> {
        match &deployed {
            Deployed::Default if self.spec.deployed.is_empty() => {
                return Err(Error::usage("the problem has no point in use: give it a [deployed]"));
            }
            Deployed::At(values) if values.len() != self.spec.dimensions.len() => {
                return Err(Error::usage(format!(
                    "the point in use takes {} numbers, not {}",
                    self.spec.dimensions.len(),
                    values.len()
                )));
            }
            Deployed::At(values) => {
                for (dimension, value) in self.spec.dimensions.iter().zip(values) {
                    dimension.admissible(*value).map_err(Error::usage)?;
                }
            }
            Deployed::Default | Deployed::Random => {}
        }
        self.space = self.space.asking(service, true);
        self.deployed = Some(deployed);
        Ok(self)
    }

    pub fn spec(&self) -> &ProblemSpec {
        &self.spec
    }

    pub fn space(&self) -> &Space {
        &self.space
    }

    pub fn tasks(&self, seed: u64) -> Result<Sequence, Error> {
        let Source::Known(problem) = &self.source else {
            return Err(Error::usage("this needs a problem that is built in"));
        };
        let tasks = problem.tasks(seed).with_moved(self.moved);
        Ok(match self.unlike {
            Some(task) => tasks.with_unlike(task as usize - 1),
            None => tasks,
        })
    }

    /// The point in use before anything was tuned in an experiment, in natural units; for those who need one, the
    /// problem's ordinary one, even if tasks do not start from it.
    fn deployed(&self, seeds: &Seeds) -> Option<Vec<f64>> {
        self.deployed.as_ref().unwrap_or(&Deployed::Default).point(&self.spec, seeds.baseline)
    }

    fn describe_service(&self, options: &mut BTreeMap<String, Value>) {
        if let Some(deployed) = &self.deployed {
            options.insert("deployed".into(), deployed.to_string().into());
        }
        let Service { floor, tolerance, limits, guards } = self.space.service();
        if let Some(floor) = floor {
            options.insert("floor".into(), level_words(floor.level).into());
            options.insert("risk".into(), shortest(floor.risk).into());
        }
        if !guards.is_empty() {
            let words: Vec<String> = guards.iter().map(Guarded::words).collect();
            options.insert("guards".into(), words.into());
            options.insert("risk".into(), shortest(guards[0].risk).into());
        }
        if *tolerance > 0.0 {
            options.insert("tolerance".into(), shortest(*tolerance).into());
        }
        if !limits.is_empty() {
            options.insert("limits".into(), serde_json::to_value(limits).unwrap_or_default());
        }
    }

    fn describe(&self) -> (String, BTreeMap<String, Value>) {
        let problem = match &self.source {
            Source::Known(problem) => problem,
            Source::Measured(bench) => {
                let mut options = bench.options(self.spec.budget);
                self.describe_service(&mut options);
                return (self.spec.name.clone(), options);
            }
        };
        let name = problem.to_string();
        let (name, list) = name.split_once(':').unwrap_or((&name, ""));
        let mut options: BTreeMap<String, Value> = BTreeMap::new();
        // A name alone is one of several problems.
        for option in list.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or(("which", option));
            let value = value.parse::<u64>().map_or_else(|_| value.into(), Value::from);
            options.insert(key.into(), value);
        }
        if let Some(task) = self.unlike {
            options.insert("unlike_task".into(), task.into());
        }
        if self.moved > 0.0 {
            options.insert("moved".into(), self.moved.into());
        }
        if self.budget_set {
            options.insert("budget".into(), self.spec.budget.into());
        }
        self.describe_service(&mut options);
        (name.to_string(), options)
    }
}

/// One of the compared methods with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    pub key: String,
    pub label: String,
    pub method: Method,
    pub setup: Setup,
    /// What other sites have in common: the bytes of a fleet's file.
    pub fleet: Option<Arc<[u8]>>,
}

impl Variant {
    /// A variant that is named after its method.
    pub fn of(method: Method, setup: Setup) -> Self {
        Self { key: method.name().into(), label: method.label().into(), method, setup, fleet: None }
    }

    /// The same with a fleet, where the method can use one.
    #[must_use]
    pub fn with_fleet(self, fleet: Arc<[u8]>) -> Self {
        let used = self.method.core(self.setup.c).is_some();
        Self { fleet: used.then_some(fleet), ..self }
    }
}

/// Experiment, task, and the bits of bounds and point in use.
type OptimumKey = (u32, u32, Vec<u64>);

pub struct Plan {
    manifest: Manifest,
    benchmark: Benchmark,
    variants: Vec<Variant>,
    settings: Vec<Settings>,
    optima: Mutex<HashMap<OptimumKey, f64>>,
}

impl Plan {
    /// Of a study's name, preset, command, seed and size; the rest of its manifest follows from the others. Checks everything
    /// that can be checked before the first query.
    pub fn new(study: Manifest, benchmark: Benchmark, variants: Vec<Variant>) -> Result<Self, Error> {
        let settings: Vec<Settings> =
            variants.iter().map(|v| v.setup.for_method(v.method)).collect::<Result<_, _>>()?;
        for variant in &variants {
            check(&benchmark, variant)?;
        }
        let (problem, options) = benchmark.describe();
        let described = |v: &Variant| {
            let mut settings = v.setup.describe(v.method);
            if let Some(fleet) = &v.fleet {
                settings.insert("fleet".into(), format!("{:08x}", crc32(fleet)).into());
            }
            let (key, label, method) = (v.key.clone(), v.label.clone(), v.method.name().into());
            results::Variant { key, label, method, settings }
        };
        let manifest = Manifest {
            format: results::FORMAT,
            problem,
            options,
            version: env!("CARGO_PKG_VERSION").into(),
            variants: variants.iter().map(described).collect(),
            ..study
        };
        let manifest = manifest.checked().map_err(Error::Usage)?;
        Ok(Self { manifest, benchmark, variants, settings, optima: Mutex::default() })
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub fn benchmark(&self) -> &Benchmark {
        &self.benchmark
    }

    /// The variants, in the order of the manifest.
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    pub fn settings(&self, variant: usize) -> Settings {
        self.settings[variant]
    }

    pub fn seeds(&self, experiment: u32) -> Seeds {
        Seeds::new(self.manifest.seed, experiment)
    }

    /// A task's true optimum, within bounds and from a point in use where there are some; found once, however many variants
    /// ask.
    pub fn optimum(
        &self,
        (experiment, number): (u32, u32),
        task: &dyn Task,
        in_use: Option<&[f64]>,
        bounds: &[Bound],
    ) -> f64 {
        let optima = || self.optima.lock().unwrap_or_else(PoisonError::into_inner);
        let start = in_use.filter(|_| !bounds.is_empty()).unwrap_or_default();
        let bits = bounds.iter().map(|bound| &bound.at).chain(start).map(|number| number.to_bits());
        let key = (experiment, number, bits.collect());
        if let Some(known) = optima().get(&key) {
            return *known;
        }
        let guards = &self.benchmark.space.service().guards;
        let optimum = match in_use {
            Some(x) if !bounds.is_empty() => task.optimum_within(x, &|kpis| {
                guards.iter().zip(bounds).all(|(guard, bound)| bound.is_kept_by(kpis[guard.index]))
            }),
            _ => task.optimum(),
        };
        optima().insert(key, optimum);
        optimum
    }

    /// Calls `work` with the tuner of a variant at the start of its first task.
    pub fn with_tuner<R>(
        &self,
        variant: usize,
        experiment: u32,
        work: impl FnOnce(&mut dyn Tuner) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (settings, seeds) = (self.settings[variant], self.seeds(experiment));
        let Variant { method, setup, .. } = self.variants[variant];
        let space = &self.benchmark.space;
        let deployed = self.benchmark.deployed(&seeds);
        let point = deployed.as_ref().map(|point| space.core_point(point));
        let parts = space.parts();
        let mut problem = space.problem(&parts, point.as_deref().filter(|_| space.is_in_use()));
        if method == Method::Unguarded {
            problem.guards = &[];
        }
        let mut room = Room::new(setup.capacity);
        let mut optimizer = room.start(problem, settings, seeds.optimizer)?;
        if let Some(fleet) = &self.variants[variant].fleet {
            let fleet = Fleet::read(fleet).map_err(foretune_core::Error::Fleet)?;
            optimizer.set_fleet(Some(fleet))?;
        }
        let begins = if method.from_deployed() {
            let missing =
                || Error::usage(format!("{method} needs a point in use: give the problem a [deployed]"));
            (0, true, space.unit(&deployed.ok_or_else(missing)?))
        } else if method.core(setup.c).is_some() {
            return work(&mut optimizer);
        } else {
            // Where a system is in service, every trial is charged.
            (settings.initial, !settings.details.free_start || problem.deployed.is_some(), Vec::new())
        };
        work(&mut Opponent::new(&mut optimizer, problem, method, begins, seeds.baseline))
    }
}

/// What the optimizer would find out only after a while, or would not mind.
fn check(benchmark: &Benchmark, variant: &Variant) -> Result<(), Error> {
    let (spec, setup) = (benchmark.spec(), &variant.setup);
    if let Some(fleet) = &variant.fleet {
        let parts = benchmark.space.parts();
        let fits = Fleet::read(fleet).and_then(|fleet| fleet.fits(&benchmark.space.problem(&parts, None)));
        fits.map_err(|why| Error::usage(format!("fleet file refused: {why}")))?;
    }
    let settings = setup.for_method(variant.method)?;
    let remembered = if settings.details.memory_deviation > 0.0 { settings.carried } else { 0 };
    let service = benchmark.space().service();
    let floor = service.floor.is_some() || !service.guards.is_empty();
    if floor && matches!(variant.method, Method::Myopic | Method::TwoPhase) {
        return Err(Error::usage(format!(
            "{} asks in batches, and cannot keep to a floor or a guard",
            variant.method
        )));
    }
    if !floor && variant.method.models() {
        return Err(Error::usage(format!("{} needs a floor or a guard: add --floor", variant.method)));
    }
    if variant.method.relay_rule().is_some() && (!spec.name.starts_with("pid") || benchmark.moved > 0.0) {
        let moved = if benchmark.moved > 0.0 { ", without --moved" } else { "" };
        return Err(Error::usage(format!("{} is for problem pid{moved}", variant.method)));
    }
    if settings.initial + remembered >= setup.capacity {
        return Err(Error::usage(format!(
            "setting `initial` is {}, but setting `capacity` has room for {}, {remembered} remembered values and a query included",
            settings.initial, setup.capacity
        )));
    }
    let cheapest = if variant.method.only_truth() { spec.fidelities.len() - 1 } else { 0 };
    let least = spec.fidelities[cheapest].cost;
    if least > spec.budget {
        return Err(Error::usage(format!(
            "the budget of {} buys nothing: the cheapest query of {} costs {least}",
            spec.budget, variant.method
        )));
    }
    Ok(())
}
