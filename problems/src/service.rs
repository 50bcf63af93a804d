//! A system in service: the point in use when tuning begins, what it asks for beside its problem, and guarded KPIs: what a
//! measurement gives beside its value, and what of it must be kept.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use foretune_core::{Floor, Guard, Level, Side};

use super::random::{Purpose, Random};
use super::{DimensionSpec, ProblemSpec};
use crate::words::{self, shortest};

/// What trials have to keep to, and when a task is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    pub floor: Option<Floor>,
    /// A task ends when no more than this share is to be gained; 0 never.
    pub tolerance: f32,
    /// Coefficients of the parameters in natural units, and what their sum may be at most.
    pub limits: Vec<(Vec<f64>, f64)>,
    /// KPIs that are kept, in the order in which they are told.
    pub guards: Vec<Guarded>,
}

impl Service {
    pub fn words(&self) -> BTreeMap<String, String> {
        let mut words = BTreeMap::new();
        if let Some(Floor { level, risk }) = self.floor {
            words.insert("floor".into(), format!("{} at a risk of {risk}", level_words(level)));
        }
        if !self.guards.is_empty() {
            words.insert("guards".into(), Guarded::all_words(&self.guards));
        }
        if self.tolerance > 0.0 {
            words.insert("tolerance".into(), self.tolerance.to_string());
        }
        if !self.limits.is_empty() {
            let limit =
                |(coefficients, at_most): &(Vec<f64>, f64)| format!("{coefficients:?} at most {at_most}");
            words.insert("limits".into(), self.limits.iter().map(limit).collect::<Vec<_>>().join(", "));
        }
        words
    }

    /// The same for values whose sign is turned, so that less becomes more.
    pub fn turned(mut self) -> Self {
        if let Some(Floor { level: Level::Value(value), .. }) = &mut self.floor {
            *value = -*value;
        }
        self
    }
}

/// A level as words have it: `share:0.9`, `drop:2`, `value:30`.
pub fn level(text: &str) -> Result<Level, String> {
    let wrong = || format!("takes share:0.9, drop:2 or value:30, with numbers of your own, not `{text}`");
    let (kind, number) = text.split_once(':').ok_or_else(wrong)?;
    let number: f32 = number.parse().ok().filter(|number: &f32| number.is_finite()).ok_or_else(wrong)?;
    match kind {
        "share" if (0.0..1.0).contains(&number) => Ok(Level::Share(number)),
        "share" => Err(format!("a share is from 0 to below 1, not {}", words::number(number.into()))),
        "drop" if number > 0.0 => Ok(Level::Drop(number)),
        "drop" => Err(format!("a drop is above 0, not {}", words::number(number.into()))),
        "value" => Ok(Level::Value(number)),
        _ => Err(wrong()),
    }
}

pub fn level_words(level: Level) -> String {
    match level {
        Level::Value(value) => format!("value:{}", words::number(shortest(value))),
        Level::Drop(drop) => format!("drop:{}", words::number(shortest(drop))),
        Level::Share(share) => format!("share:{share}"),
    }
}

/// The point in use when the first task begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Deployed {
    Default,
    /// Another random one in every experiment.
    Random,
    /// This one, in natural units.
    At(Vec<f64>),
}

impl FromStr for Deployed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "default" => Ok(Self::Default),
            "random" => Ok(Self::Random),
            values => {
                let values: Result<Vec<f64>, _> =
                    values.split(',').map(|value| value.trim().parse()).collect();
                let wrong = |_| format!("takes default, random, or a number per parameter, not `{text}`");
                values.map(Self::At).map_err(wrong)
            }
        }
    }
}

impl fmt::Display for Deployed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Random => f.write_str("random"),
            Self::At(values) => {
                let values: Vec<String> = values.iter().map(f64::to_string).collect();
                f.write_str(&values.join(","))
            }
        }
    }
}

impl Deployed {
    /// The point of an experiment, in natural units; none if the problem has no ordinary one. The seed is for a random
    /// one.
    pub fn point(&self, spec: &ProblemSpec, seed: u64) -> Option<Vec<f64>> {
        match self {
            Self::Default => Some(spec.deployed.clone()).filter(|point| !point.is_empty()),
            Self::At(values) => Some(values.clone()),
            Self::Random => {
                let mut random = Random::new(seed, Purpose::InUse, 0);
                Some(spec.dimensions.iter().map(|dimension| anywhere(dimension, &mut random)).collect())
            }
        }
    }
}

pub(super) fn anywhere(dimension: &DimensionSpec, random: &mut Random) -> f64 {
    match dimension {
        DimensionSpec::Interval { low, high, .. } => random.uniform(*low, *high),
        DimensionSpec::Levels { values, .. } => {
            let level = random.uniform(0.0, values.len() as f64) as usize;
            values[level.min(values.len() - 1)]
        }
        DimensionSpec::Category { values, .. } => random.uniform(0.0, values.len() as f64).floor(),
    }
}

/// A KPI as a problem has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kpi {
    pub name: &'static str,
    /// Whether it spans decades, so that the model sees its logarithm.
    pub log: bool,
    /// Variance of the noise of what the model sees, by fidelity.
    pub noise: Vec<f64>,
}

/// A KPI with a bound that trials and the recommendation keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarded {
    pub name: String,
    /// Which of the problem's KPIs it is.
    pub index: usize,
    pub side: Side,
    /// In units of the KPI; with its logarithm there is no drop.
    pub level: Level,
    /// Share of the time in which trials may break it.
    pub risk: f32,
    pub log: bool,
    /// Variance of the noise of what the model sees, by fidelity; empty where it is to be estimated.
    pub noise: Vec<f32>,
}

impl Guarded {
    /// As words have it: `NAME:[at-most:]share|drop|value:NUMBER`.
    pub fn parse(text: &str) -> Result<(String, Side, Level), String> {
        let wrong = || format!("takes NAME:[at-most:]share:0.9, drop:2 or value:30, not `{text}`");
        let (name, rest) = text.split_once(':').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
        let (side, rest) = match rest.strip_prefix("at-most:") {
            Some(rest) => (Side::AtMost, rest),
            None => (Side::AtLeast, rest.strip_prefix("at-least:").unwrap_or(rest)),
        };
        Ok((name.into(), side, level(rest)?))
    }

    /// The same in one piece, as it is read back.
    pub fn words(&self) -> String {
        let side = if self.side == Side::AtMost { "at-most:" } else { "" };
        format!("{}:{side}{}", self.name, level_words(self.level))
    }

    /// With their risks, as a state keeps them.
    pub fn all_words(guards: &[Self]) -> String {
        guards.iter().map(|g| format!("{} at a risk of {}", g.words(), g.risk)).collect::<Vec<_>>().join(", ")
    }

    /// Guards from such words: names, sides, levels and risks. Whether a logarithm is seen, and the noise, is not in them.
    pub fn read(words: &str) -> Vec<Self> {
        let guard = |(index, words): (usize, &str)| {
            let (words, risk) = words.split_once(" at a risk of ")?;
            let ((name, side, level), risk) = (Self::parse(words).ok()?, risk.parse().ok()?);
            Some(Self { name, index, side, level, risk, log: false, noise: Vec::new() })
        };
        words.split(", ").enumerate().filter_map(guard).collect()
    }

    /// What is wrong with it, if anything is.
    pub fn fault(&self) -> Option<String> {
        match self.level {
            Level::Drop(_) if self.log => {
                Some(format!("`{}` is seen by its logarithm: give a share or a value, not a drop", self.name))
            }
            Level::Value(value) if self.log && value <= 0.0 => {
                Some(format!("`{}` is seen by its logarithm: its bound must be above 0", self.name))
            }
            _ => None,
        }
    }

    /// What the model is told of a KPI.
    pub fn told(&self, kpi: f64) -> f32 {
        if self.log { libm::log(kpi.max(1e-30)) as f32 } else { kpi as f32 }
    }

    /// A KPI of which the model is told this.
    pub fn untold(&self, told: f32) -> f64 {
        if self.log { libm::exp(f64::from(told)) } else { f64::from(told) }
    }

    fn sign(&self) -> f64 {
        self.side.sign().into()
    }

    /// The bound where the point in use gives this.
    pub fn bound(&self, in_use: f64) -> f64 {
        f64::from(self.level.at(in_use as f32, self.sign() as f32))
    }

    /// Whether a KPI keeps a bound.
    pub fn keeps(&self, bound: f64, kpi: f64) -> bool {
        self.sign() * kpi >= self.sign() * bound
    }

    pub fn core(&self) -> Guard<'_> {
        let sign = self.sign() as f32;
        let level = match self.level {
            Level::Value(value) if self.log => Level::Value(libm::logf(value)),
            // `v − (1 − s) v` at least, `v + (1 − s) v` at most.
            Level::Share(share) if self.log => Level::Drop(-sign * libm::logf(1.0 - sign * (1.0 - share))),
            level => level,
        };
        Guard { side: self.side, floor: Floor { level, risk: self.risk }, noise: &self.noise }
    }
}
