//! The settings by name: what each takes, how it is read and printed.

use std::ops::RangeInclusive;
use std::str::FromStr;

use foretune_core::{Bandwidth, Information, LogNormal, Map, Recommend, Scaling, Step, Weights};
use serde_json::Value;

use super::Setup;
use crate::runner::{Method, shapes};

/// One setting.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it takes, to follow "takes" in a sentence.
    pub takes: &'static str,
    /// What it means.
    pub help: &'static str,
    get: fn(&Setup) -> Value,
    set: fn(&mut Setup, &str) -> Option<()>,
}

impl Key {
    /// Reads `text` into the setup; `None` if it is not what the key takes.
    pub(super) fn apply(&self, setup: &mut Setup, text: &str) -> Option<()> {
        (self.set)(setup, text)
    }

    /// The setting's value.
    pub fn value(&self, setup: &Setup) -> Value {
        (self.get)(setup)
    }

    /// Whether the setting makes a difference to a method.
    pub fn matters_to(&self, method: Method) -> bool {
        match (self.name, method) {
            ("initial", _) => true,
            (_, method) if method.core(0.0).is_none() => false,
            ("beta", method) => matches!(method, Method::MftMes | Method::Kept),
            ("c", method) => method.has_share(),
            _ => true,
        }
    }
}

/// All settings, in the order of the core's.
pub const KEYS: &[Key] = &[
    Key {
        name: "map",
        takes: "ard, deep (64 units a layer) or deep:WIDTH up to 64",
        help: "feature map of the kernel: a lengthscale per dimension, or the paper's three tanh layers",
        get: |s| match s.core.model.map {
            Map::Ard => "ard".into(),
            Map::Deep { width } => format!("deep:{width}").into(),
        },
        set: |s, text| {
            s.core.model.map = match text.split_once(':') {
                None if text == "ard" => Map::Ard,
                None if text == "deep" => Map::Deep { width: shapes::MAX_WIDTH },
                Some(("deep", width)) => Map::Deep { width: within(width, 1..=shapes::MAX_WIDTH)? },
                _ => return None,
            };
            Some(())
        },
    },
    Key {
        name: "particles",
        takes: "a whole number from 1 to 16",
        help: "particles V that stand for what is believed of the kernel's parameters; MF-MES always has 1",
        get: |s| s.core.model.particles.into(),
        set: |s, text| within(text, 1..=16).map(|v| s.core.model.particles = v),
    },
    Key {
        name: "beta",
        takes: "a number from 0 to 1000000",
        help: "weight β of the transfer term in MFT-MES; the paper's printed β is twice this",
        get: |s| float(s.core.transfer.beta),
        set: |s, text| within(text, 0.0..=1e6).map(|v| s.core.transfer.beta = v),
    },
    Key {
        name: "c",
        takes: "a number from 0 to 1",
        help: "share of queries for the current task in separation, separation-myopic and two-phase",
        get: |s| float(s.c),
        set: |s, text| within(text, 0.0..=1.0).map(|v| s.c = v),
    },
    Key {
        name: "information",
        takes: "paper or correlated",
        help: "form of the information about the optimum",
        get: |s| match s.core.search.information {
            Information::Paper => "paper".into(),
            Information::Correlated => "correlated".into(),
        },
        set: |s, text| {
            s.core.search.information =
                word(text, &[("paper", Information::Paper), ("correlated", Information::Correlated)])?;
            Some(())
        },
    },
    Key {
        name: "max_values",
        takes: "a whole number from 1 to 16",
        help: "samples S of the optimum's value per particle",
        get: |s| s.core.search.max_values.into(),
        set: |s, text| within(text, 1..=16).map(|v| s.core.search.max_values = v),
    },
    Key {
        name: "weights",
        takes: "fixed:VARIANCE or per-input:VARIANCE, above 0 and below 1000000",
        help: "prior variance of the deep map's weights, for all the same or divided by a layer's inputs",
        get: |s| match s.core.model.prior.weights {
            Weights::Fixed(v) => pair("fixed", v),
            Weights::PerInput(v) => pair("per-input", v),
        },
        set: |s, text| {
            let (kind, variance) = text.split_once(':')?;
            let kind =
                word(kind, &[("fixed", Weights::Fixed as fn(f32) -> _), ("per-input", Weights::PerInput)])?;
            s.core.model.prior.weights = kind(within(variance, f32::MIN_POSITIVE..=999_999.0)?);
            Some(())
        },
    },
    Key {
        name: "length",
        takes: LOG_NORMAL,
        help: "prior of the ARD map's lengthscales (unit cube): mean and deviation of the logarithm",
        get: |s| log_normal_text(s.core.model.prior.length),
        set: |s, text| log_normal(text).map(|v| s.core.model.prior.length = v),
    },
    Key {
        name: "signal",
        takes: LOG_NORMAL,
        help: "prior of the ARD map's signal variance: mean and deviation of the logarithm",
        get: |s| log_normal_text(s.core.model.prior.signal),
        set: |s, text| log_normal(text).map(|v| s.core.model.prior.signal = v),
    },
    Key {
        name: "gamma",
        takes: LOG_NORMAL,
        help: "prior of the fidelity decay γ: mean and deviation of the logarithm",
        get: |s| log_normal_text(s.core.model.prior.gamma),
        set: |s, text| log_normal(text).map(|v| s.core.model.prior.gamma = v),
    },
    Key {
        name: "carry_particles",
        takes: "true or false",
        help: "whether the next task starts from this one's particles",
        get: |s| s.core.transfer.carry_particles.into(),
        set: |s, text| text.parse().ok().map(|v| s.core.transfer.carry_particles = v),
    },
    Key {
        name: "kde_bandwidth",
        takes: "a number above 0.000001, up to 1000",
        help: "deviation of the density estimate around each carried particle",
        get: |s| float(s.core.transfer.kde_bandwidth),
        set: |s, text| within(text, 1.000_001e-6..=1e3).map(|v| s.core.transfer.kde_bandwidth = v),
    },
    Key {
        name: "kde_mix",
        takes: "a number from 0 to 1",
        help: "share of the first task's prior in later tasks' priors",
        get: |s| float(s.core.transfer.kde_mix),
        set: |s, text| within(text, 0.0..=1.0).map(|v| s.core.transfer.kde_mix = v),
    },
    Key {
        name: "bandwidth",
        takes: "median, or a number above 0 up to 1000000000",
        help: "bandwidth h of the kernel between particles",
        get: |s| match s.core.learning.bandwidth {
            Bandwidth::Median => "median".into(),
            Bandwidth::Fixed(h) => float(h),
        },
        set: |s, text| {
            s.core.learning.bandwidth = match text {
                "median" => Bandwidth::Median,
                _ => Bandwidth::Fixed(within(text, f32::MIN_POSITIVE..=1e9)?),
            };
            Some(())
        },
    },
    Key {
        name: "step",
        takes: "plain:RATE, adam:RATE, shared:RATE or langevin:RATE, the rate above 0 up to 10",
        help: "how particles move: plain steps, Adam, one second moment shared by all particles, or steps with noise that sample",
        get: |s| match s.core.learning.step {
            Step::Plain { rate } => pair("plain", rate),
            Step::Adam { rate } => pair("adam", rate),
            Step::Shared { rate } => pair("shared", rate),
            Step::Langevin { rate } => pair("langevin", rate),
        },
        set: |s, text| {
            let (kind, rate) = text.split_once(':')?;
            let rate = within(rate, f32::MIN_POSITIVE..=10.0)?;
            s.core.learning.step = word(
                kind,
                &[
                    ("plain", Step::Plain { rate }),
                    ("adam", Step::Adam { rate }),
                    ("shared", Step::Shared { rate }),
                    ("langevin", Step::Langevin { rate }),
                ],
            )?;
            Some(())
        },
    },
    Key {
        name: "steps_per_round",
        takes: "a whole number up to 1000000",
        help: "learning steps after every observation",
        get: |s| s.core.learning.steps_per_round.into(),
        set: |s, text| within(text, 0..=1_000_000).map(|v| s.core.learning.steps_per_round = v),
    },
    Key {
        name: "steps_per_task",
        takes: "a whole number up to 1000000",
        help: "learning steps R at the end of a task",
        get: |s| s.core.learning.steps_per_task.into(),
        set: |s, text| within(text, 0..=1_000_000).map(|v| s.core.learning.steps_per_task = v),
    },
    Key {
        name: "carried",
        takes: "a whole number from 0 to 8",
        help: "how many of the last tasks' recommendations are carried on",
        get: |s| s.core.transfer.carried.into(),
        set: |s, text| within(text, 0..=8).map(|v| s.core.transfer.carried = v),
    },
    Key {
        name: "remeasure",
        takes: "true or false",
        help: "whether carried points are measured again, charged to the budget",
        get: |s| s.core.transfer.remeasure.into(),
        set: |s, text| text.parse().ok().map(|v| s.core.transfer.remeasure = v),
    },
    Key {
        name: "memory_deviation",
        takes: "0, or a number from 0.001 to 1000",
        help: "how far, in deviations, carried points' values may have changed; 0 keeps them out of the model",
        get: |s| float(s.core.transfer.memory_deviation),
        set: |s, text| {
            let sensible = |v: &f32| *v == 0.0 || *v >= 1e-3;
            within(text, 0.0..=1000.0).filter(sensible).map(|v| s.core.transfer.memory_deviation = v)
        },
    },
    Key {
        name: "memory_after",
        takes: "a number from 0 to 1",
        help: "share of the budget spent before anything carried plays a part",
        get: |s| float(s.core.transfer.memory_after),
        set: |s, text| within(text, 0.0..=1.0).map(|v| s.core.transfer.memory_after = v),
    },
    Key {
        name: "initial",
        takes: "a whole number up to 256",
        help: "random points at the start of a task, not charged to the budget",
        get: |s| s.core.search.initial.into(),
        set: |s, text| within(text, 0..=256).map(|v| s.core.search.initial = v),
    },
    Key {
        name: "scaling",
        takes: "running, initial, fixed (the problem's own map) or fixed:MEAN:DEVIATION",
        help: "how observations are standardised: by all so far, by the initial ones, or by fixed numbers",
        get: |s| match s.core.model.scaling {
            Scaling::Running => "running".into(),
            Scaling::Initial => "initial".into(),
            Scaling::Fixed { mean, deviation } => format!("fixed:{mean}:{deviation}").into(),
        },
        set: |s, text| {
            s.core.model.scaling = match text.split_once(':') {
                None => word(
                    text,
                    &[("running", Scaling::Running), ("initial", Scaling::Initial), ("fixed", s.fixed)],
                )?,
                Some(("fixed", numbers)) => {
                    let (mean, deviation) = numbers.split_once(':')?;
                    Scaling::Fixed {
                        mean: within(mean, f32::MIN..=f32::MAX)?,
                        deviation: within(deviation, 1.000_001e-20..=1e20)?,
                    }
                }
                _ => return None,
            };
            Some(())
        },
    },
    Key {
        name: "candidates",
        takes: "a whole number from 16 to 1024",
        help: "points at which the acquisition is looked at, before refinement",
        get: |s| s.core.search.candidates.into(),
        set: |s, text| within(text, 16..=shapes::MAX_CANDIDATES).map(|v| s.core.search.candidates = v),
    },
    Key {
        name: "refinements",
        takes: "a whole number from 0 to 8",
        help: "how often the search is refined around its best candidates",
        get: |s| s.core.search.refinements.into(),
        set: |s, text| within(text, 0..=8).map(|v| s.core.search.refinements = v),
    },
    Key {
        name: "recommend",
        takes: "queried or anywhere",
        help: "where the recommendation may lie",
        get: |s| match s.core.search.recommend {
            Recommend::Queried => "queried".into(),
            Recommend::Anywhere => "anywhere".into(),
        },
        set: |s, text| {
            s.core.search.recommend =
                word(text, &[("queried", Recommend::Queried), ("anywhere", Recommend::Anywhere)])?;
            Some(())
        },
    },
    Key {
        name: "confirm",
        takes: "0, or a number from 2 to 1000000",
        help: "an answer so many times farther from all others than these are apart is measured again before it is \
               believed; 0 for never",
        get: |s| float(s.core.search.confirm),
        set: |s, text| {
            s.core.search.confirm = within(text, 0.0..=0.0).or_else(|| within(text, 2.0..=1e6))?;
            Some(())
        },
    },
    Key {
        name: "capacity",
        takes: "32, 64, 128 or 256",
        help: "room for observations in one task; with less room than the budget buys, expensive fidelities win",
        get: |s| s.capacity.into(),
        set: |s, text| {
            let capacity = text.parse().ok()?;
            shapes::CAPACITIES.contains(&capacity).then(|| s.capacity = capacity)
        },
    },
];

const LOG_NORMAL: &str = "MEAN:DEVIATION, the mean within ±20, the deviation above 0 up to 10";

fn log_normal(text: &str) -> Option<LogNormal> {
    let (mean, deviation) = text.split_once(':')?;
    Some(LogNormal {
        mean: within(mean, -20.0..=20.0)?,
        deviation: within(deviation, f32::MIN_POSITIVE..=10.0)?,
    })
}

fn log_normal_text(value: LogNormal) -> Value {
    format!("{}:{}", value.mean, value.deviation).into()
}

fn pair(word: &str, number: f32) -> Value {
    format!("{word}:{number}").into()
}

/// The number with the digits that `f32` has.
fn float(value: f32) -> Value {
    shortest(value).into()
}

/// The `f64` with the fewest digits that is this `f32`.
pub(crate) fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// A number within a range; `None` also for NaN.
fn within<T: FromStr + PartialOrd>(text: &str, range: RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|value| range.contains(value))
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}
