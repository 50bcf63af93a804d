//! What is tuned: parameters, fidelities, goal and budget, and what a system in service asks for.

use std::collections::BTreeMap;

use crate::Because;
use foretune_core::{Floor, Goal, LARGEST_VALUE, Side};
use host_sim::error::Error;
use host_sim::problems::{DimensionSpec, FidelitySpec, Guarded, Notation, ProblemSpec, Service};
use host_sim::words::number;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    pub name: String,
    /// What one measurement costs, in the unit of the budget.
    pub cost: f64,
    /// Variance of its noise; if left out it is estimated.
    pub noise: Option<f64>,
    /// What the measurement is told, if anything.
    pub samples: Option<u32>,
}

/// A hard limit: `Σ coefficient · parameter ≤ at_most`.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// One per parameter, 0 where it plays no part.
    pub coefficients: Vec<f64>,
    pub at_most: f64,
}

/// Readings between two false alarms of a watch, on average, where the file does not say.
pub const RUN_LENGTH: f64 = 10_000.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Name of the problem: that of its file.
    pub name: String,
    pub goal: Goal,
    /// What the measurements of a task may cost.
    pub budget: f64,
    /// Those to tune, then the conditions that are known.
    pub parameters: Vec<DimensionSpec>,
    /// From the cheapest to the one that counts.
    pub fidelities: Vec<Rung>,
    /// The point in use, in natural units, without conditions.
    pub deployed: Option<Vec<f64>>,
    /// What a trial may not fall below.
    pub floor: Option<Floor>,
    /// KPIs that are kept.
    pub guards: Vec<Guarded>,
    pub limits: Vec<Limit>,
    /// A task ends early when no more than this is to be gained; 0 never.
    pub tolerance: f64,
    /// A task ends when so many measurements in a row have failed.
    pub failures: usize,
    /// While the setting in use is watched: readings between two false alarms, on average.
    pub run_length: f64,
    /// What other sites have in common: the bytes of a fleet's file.
    pub fleet: Option<Vec<u8>>,
}

impl Target {
    /// Index of the fidelity that counts.
    pub fn truth(&self) -> usize {
        self.fidelities.len() - 1
    }

    /// On which side of its bound a KPI, or the objective, is kept.
    pub fn side(&self, kpi: &str) -> Side {
        match self.guards.iter().find(|guard| guard.name == kpi) {
            Some(guard) => guard.side,
            None if self.goal == Goal::Maximise => Side::AtLeast,
            None => Side::AtMost,
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(DimensionSpec::name)
    }

    /// How many parameters are chosen: those in front.
    pub fn chosen(&self) -> usize {
        self.parameters.iter().filter(|parameter| !parameter.notation().condition).count()
    }

    pub fn conditions(&self) -> &[DimensionSpec] {
        &self.parameters[self.chosen()..]
    }

    /// Values of all conditions in their order, from their names; none where none is given.
    pub fn conditions_of(&self, given: &BTreeMap<String, f64>) -> Result<Vec<f64>, String> {
        let known = self.conditions();
        let unknown = given.keys().find(|name| known.iter().all(|condition| condition.name() != *name));
        if let Some(name) = unknown {
            return Err(format!("no condition is called `{name}`"));
        }
        let value = |condition: &DimensionSpec| {
            let lacks = || format!("condition `{}` has no value", condition.name());
            condition.admissible(*given.get(condition.name()).ok_or_else(lacks)?)
        };
        if given.is_empty() { Ok(Vec::new()) } else { known.iter().map(value).collect() }
    }

    /// The noise of every fidelity, for somebody who does not estimate it, nor a guard's.
    pub fn given_noise(&self, who: &str) -> Result<Vec<f64>, Error> {
        let unknown = |what: &str, name: &str| {
            Error::usage(format!("{what} `{name}` has no noise (a variance): {who} does not estimate it"))
        };
        if let Some(guard) = self.guards.iter().find(|guard| guard.noise.is_empty()) {
            return Err(unknown("guard", &guard.name));
        }
        let noise = |rung: &Rung| rung.noise.ok_or_else(|| unknown("fidelity", &rung.name));
        self.fidelities.iter().map(noise).collect()
    }

    /// As the simulator describes problems, with this noise of every fidelity and this budget.
    pub fn spec(&self, noise: &[f64], budget: f64) -> ProblemSpec {
        let fidelity = |(rung, noise): (&Rung, &f64)| FidelitySpec {
            cost: rung.cost,
            samples: rung.samples.unwrap_or(1),
            noise_variance: *noise,
        };
        ProblemSpec {
            name: self.name.clone(),
            dimensions: self.parameters.clone(),
            fidelities: self.fidelities.iter().zip(noise).map(fidelity).collect(),
            budget,
            initial: 2 * self.parameters.len() + 2,
            free_start: false,
            scale_mean: 0.0,
            scale_deviation: 1.0,
            tasks: 1,
            deployed: self.deployed.clone().unwrap_or_default(),
        }
    }

    /// What `study.json` says about it, beside its name and command.
    pub fn options(&self, budget: f64) -> BTreeMap<String, Value> {
        let identity = serde_json::to_value(Identity::of(self)).unwrap_or_default();
        let mut options: BTreeMap<String, Value> =
            identity.as_object().map(|fields| fields.clone().into_iter().collect()).unwrap_or_default();
        options.insert("budget".into(), budget.into());
        options
    }

    /// What it asks for as a system in service.
    pub fn service(&self) -> Service {
        let limit = |limit: &Limit| (limit.coefficients.clone(), limit.at_most);
        Service {
            floor: self.floor,
            tolerance: self.tolerance as f32,
            limits: self.limits.iter().map(limit).collect(),
            guards: self.guards.clone(),
        }
    }

    /// Refuses limits without a point in use: there is nowhere to begin that is known to keep to them.
    pub fn check_limits(&self, deployed: Option<&Vec<f64>>) -> Result<(), Error> {
        let what = match (&self.limits[..], &self.guards[..]) {
            _ if deployed.is_some() => return Ok(()),
            ([], []) => return Ok(()),
            ([], _) => "[[guard]]",
            _ => "[[limit]]",
        };
        Err(Error::usage(format!(
            "a {what} needs the setting in use, where tuning begins: give [deployed] or --deployed"
        )))
    }

    /// KPIs as the optimizer is told.
    pub fn told(&self, kpis: &[f64]) -> Vec<f32> {
        self.guards.iter().zip(kpis).map(|(guard, kpi)| guard.told(*kpi)).collect()
    }

    /// The KPIs of an answer in the order of the guards, from their names; or which one is missing.
    pub fn kpis(&self, by_name: impl Fn(&str) -> Option<f64>) -> Result<Vec<f64>, String> {
        let kpi = |guard: &Guarded| match by_name(&guard.name) {
            Some(kpi) if !is_within(kpi) => {
                Err(format!("{} for `{}`, which is no number within ±1e30", number(kpi), guard.name))
            }
            Some(kpi) if guard.log && kpi <= 0.0 => {
                Err(format!("{} for `{}`, which has no logarithm", number(kpi), guard.name))
            }
            kpi => kpi.ok_or_else(|| format!("no `{}`, which is guarded", guard.name)),
        };
        self.guards.iter().map(kpi).collect()
    }

    /// A point in words: `p0 = -80 dBm, alpha = 0.7`; conditions may be left out, at its end.
    pub fn words(&self, point: &[f64]) -> String {
        let one = |(parameter, value): (&DimensionSpec, &f64)| {
            let unit = parameter.unit();
            let gap = if unit.is_empty() { "" } else { " " };
            format!("{} = {}{gap}{unit}", parameter.name(), parameter.shown(*value))
        };
        self.parameters.iter().zip(point).map(one).collect::<Vec<_>>().join(", ")
    }

    /// The point that a table of values stands for: every parameter and condition once, each admissible.
    pub fn point<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Given)>,
    ) -> Result<Vec<f64>, (Option<String>, String)> {
        self.named(values, self.parameters.len())
    }

    /// The same without conditions.
    pub fn choice<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Given)>,
    ) -> Result<Vec<f64>, (Option<String>, String)> {
        self.named(values, self.chosen())
    }

    fn named<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Given)>,
        count: usize,
    ) -> Result<Vec<f64>, (Option<String>, String)> {
        let mut point = vec![None; count];
        for (name, value) in values {
            let known = self.names().take(count).position(|known| known == name).ok_or_else(|| {
                let names: Vec<&str> = self.names().take(count).collect();
                (
                    Some(name.to_string()),
                    format!("no parameter is called `{name}`: there are {}", names.join(", ")),
                )
            })?;
            if point[known].is_some() {
                return Err((Some(name.to_string()), format!("parameter `{name}` is given twice")));
            }
            let fits = match value {
                Given::Number(value) => self.parameters[known].admissible(value),
                Given::Text(text) => self.parameters[known].read(&text),
            };
            point[known] = Some(fits.map_err(|why| (Some(name.to_string()), why))?);
        }
        let lacks = |(value, parameter): (&Option<f64>, &DimensionSpec)| {
            value.ok_or_else(|| (None, format!("parameter `{}` has no value", parameter.name())))
        };
        point.iter().zip(&self.parameters).map(lacks).collect()
    }
}

/// A parameter's value as it is given: a number, or the name of a category's; a number may be a text, too.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a value takes a number or a name")]
pub enum Given {
    Number(f64),
    Text(String),
}

/// Whether the optimizer would take such a value, or KPI.
pub(super) fn is_within(value: f64) -> bool {
    value.abs() <= f64::from(LARGEST_VALUE)
}

/// What is given as `NAME=VALUE,…` behind an option.
fn pairs<'a, T>(
    option: &str,
    text: &'a str,
    read: impl Fn(&'a str) -> Option<T>,
) -> Result<Vec<(String, T)>, Error> {
    let value = |pair: &'a str| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_string(), read(value.trim())?))
    };
    let wrong = || Error::usage(format!("{option}: takes NAME=VALUE,NAME=VALUE,…, not `{text}`"));
    text.split(',').map(value).collect::<Option<Vec<_>>>().ok_or_else(wrong)
}

/// A point of a target, behind `--deployed`.
pub fn point(target: &Target, text: &str) -> Result<Vec<f64>, Error> {
    let values = pairs("--deployed", text, |value| Some(Given::Text(value.into())))?;
    let point = target.choice(values.iter().map(|(name, value)| (name.as_str(), value.clone())));
    point.map_err(|(_, why)| Error::usage(format!("--deployed: {why}")))
}

/// Conditions of a target, behind `--at`.
pub fn conditions(target: &Target, text: &str) -> Result<Vec<f64>, Error> {
    let given = pairs("--at", text, |value| value.parse().ok())?;
    let values: BTreeMap<_, _> = given.iter().cloned().collect();
    if values.len() < given.len() {
        return Err(Error::usage("--at: a condition is given twice"));
    }
    let values = target.conditions_of(&values);
    values.map_err(|why| Error::usage(format!("--at: {why}")))
}

/// Everything of a target that what was learnt depends on, as the state keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    goal: String,
    parameters: Vec<Axis>,
    fidelities: Vec<Rung>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Axis {
    name: String,
    /// Lowest and highest value of an interval, or all levels.
    values: Vec<f64>,
    levels: bool,
    /// The values of a category, which has no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    log: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    condition: bool,
}

impl Axis {
    /// Whether it is the same, whatever rounding made of its levels.
    fn is_like(&self, other: &Self) -> bool {
        let apart = self.values.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        let mut levels = self.values.iter().zip(&other.values);
        self.values.len() == other.values.len()
            && levels.all(|(own, other)| (own - other).abs() <= 1e-9 * apart)
            && Self { values: other.values.clone(), ..self.clone() } == *other
    }
}

impl Identity {
    pub fn of(target: &Target) -> Self {
        let axis = |d: &DimensionSpec| {
            let (values, levels, names) = match d {
                DimensionSpec::Interval { low, high, .. } => (vec![*low, *high], false, Vec::new()),
                DimensionSpec::Levels { values, .. } => (values.clone(), true, Vec::new()),
                DimensionSpec::Category { values, .. } => (Vec::new(), true, values.clone()),
            };
            let Notation { log, condition, .. } = d.notation();
            Axis { name: d.name().into(), values, levels, names, log, condition }
        };
        let goal = match target.goal {
            Goal::Maximise => "maximise",
            Goal::Minimise => "minimise",
        };
        Self {
            goal: goal.into(),
            parameters: target.parameters.iter().map(axis).collect(),
            fidelities: target.fidelities.clone(),
        }
    }

    /// A target like this, with nothing but what is known here.
    pub fn target(&self, name: &str, budget: f64) -> Target {
        let parameter = |axis: &Axis| match (axis.levels, &axis.values[..]) {
            (false, [low, high]) if axis.condition => {
                let (name, notation) =
                    (axis.name.clone(), Notation { condition: true, ..Notation::default() });
                DimensionSpec::Interval { name, unit: String::new(), low: *low, high: *high, notation }
            }
            (false, [low, high]) => DimensionSpec::interval(&axis.name, "", *low, *high),
            (_, []) => DimensionSpec::Category { name: axis.name.clone(), values: axis.names.clone() },
            (_, values) => DimensionSpec::levels(&axis.name, "", values.to_vec()),
        };
        Target {
            name: name.into(),
            goal: if self.goal == "minimise" { Goal::Minimise } else { Goal::Maximise },
            budget,
            parameters: self.parameters.iter().map(parameter).collect(),
            fidelities: self.fidelities.clone(),
            deployed: None,
            floor: None,
            guards: Vec::new(),
            limits: Vec::new(),
            tolerance: 0.0,
            failures: 0,
            run_length: RUN_LENGTH,
            fleet: None,
        }
    }

    pub fn change(&self, now: &Self) -> Option<String> {
        let moved = || self.fidelities.iter().zip(&now.fidelities).find(|(was, is)| was != is);
        let rungs = |(was, is): (&Rung, &Rung)| {
            format!("fidelity `{}` had {}, and has {}", is.name, rung(was), rung(is))
        };
        self.difference(now).or_else(|| moved().map(rungs))
    }

    /// What makes it another problem, whatever it is measured with.
    pub fn difference(&self, now: &Self) -> Option<String> {
        if self.goal != now.goal {
            return Some(format!("the goal was {}, and is {}", self.goal, now.goal));
        }
        let named = |names: Vec<&str>| names.join(", ");
        let names = |identity: &Self| named(identity.parameters.iter().map(|p| p.name.as_str()).collect());
        if names(self) != names(now) {
            return Some(format!("the parameters were {}, and are {}", names(self), names(now)));
        }
        let moved = self.parameters.iter().zip(&now.parameters).find(|(was, is)| !was.is_like(is));
        if let Some((was, is)) = moved {
            let (mut words, mut levels) = ([was, is].map(range), was.values.iter().zip(&is.values));
            if let (true, Some((was, is))) = (words[0] == words[1], levels.find(|(was, is)| was != is)) {
                words = [was, is].map(|level| format!("{} at one level", number(*level)));
            }
            return Some(format!("parameter `{}` was {}, and is {}", is.name, words[0], words[1]));
        }
        let names = |identity: &Self| named(identity.fidelities.iter().map(|f| f.name.as_str()).collect());
        (names(self) != names(now))
            .then(|| format!("the fidelities were {}, and are {}", names(self), names(now)))
    }
}

fn range(axis: &Axis) -> String {
    if !axis.names.is_empty() {
        return format!("one of {}", axis.names.join(", "));
    }
    let (first, last) = (axis.values.first(), axis.values.last());
    let [first, last] = [first, last].map(|end| number(end.copied().unwrap_or(0.0)));
    let ends = format!("{}from {first} to {last}", if axis.condition { "a condition " } else { "" });
    let ends = if axis.levels { format!("{ends} in {} levels", axis.values.len()) } else { ends };
    if axis.log { format!("{ends} on a logarithmic scale") } else { ends }
}

fn rung(rung: &Rung) -> String {
    let noise = rung.noise.map_or("no noise given".into(), |noise| format!("noise {}", number(noise)));
    let samples = rung.samples.map_or("no samples".into(), |samples| format!("samples {samples}"));
    format!("cost {}, {noise}, {samples}", number(rung.cost))
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Number over all tasks, from 1.
    pub id: u64,
    pub task: u32,
    /// The point, in natural units.
    pub point: Vec<f64>,
    /// Index of the fidelity.
    pub fidelity: usize,
    pub why: Why,
    /// What the model thought, once it has something to go by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// The point as the optimizer has it, where it is asked beside others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unit: Vec<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// The deployed point, to learn how noisy a fidelity is.
    Noise,
    /// One of the first points of a task; charged to the budget only where a point is in use.
    Initial,
    /// A recommendation of an earlier task, measured again.
    Carried,
    Search,
}
