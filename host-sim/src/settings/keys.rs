//! The settings by name: what each takes, how it is read and printed.
//!
//! The public ones are rows of the core's own table. The others are rows of [`DETAILS`]: name, field, what it means, and the
//! [form](Form) of its value, which is how it is written and read, its range and the words for it.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{CAPACITY, Setup};
use crate::method::Method;
use crate::shapes;
use crate::words::shortest;
use foretune_core::{
    Bandwidth, Error, Field, Information, LogNormal, Map, Method as CoreMethod, Recommend, Scaling, Settings,
    Step, Value as CoreValue, Weights,
};
use serde_json::Value;

pub enum Key {
    Public(&'static Field),
    /// What only a preset decides otherwise.
    Detail(&'static Detail),
}

/// A setting for those who study the method.
pub struct Detail {
    name: &'static str,
    help: &'static str,
    /// What it takes, and its value.
    get: fn(&Setup) -> (String, Value),
    set: fn(&mut Setup, &str) -> Option<()>,
}

pub fn keys() -> impl Iterator<Item = Key> {
    Settings::FIELDS.iter().map(Key::Public).chain(DETAILS.iter().map(Key::Detail))
}

impl Key {
    pub fn name(&self) -> &'static str {
        match self {
            Key::Public(field) => field.name,
            Key::Detail(detail) => detail.name,
        }
    }

    pub fn help(&self) -> &'static str {
        match self {
            Key::Public(field) => {
                let about = field.about.trim();
                about.split_inclusive(". ").next().unwrap_or(about).trim_end_matches(['.', ' '])
            }
            Key::Detail(detail) => detail.help,
        }
    }

    /// What it takes, to follow "takes" in a sentence.
    pub fn takes(&self, setup: &Setup) -> String {
        match self {
            Key::Public(field) => match field.name {
                "map" => map().takes,
                "candidates" => format!("16 to {}", shapes::MAX_CANDIDATES),
                "initial" => format!("at most {CAPACITY}"),
                _ => field.allowed.into(),
            },
            Key::Detail(detail) => (detail.get)(setup).0,
        }
    }

    /// Reads `text` into the setup; `None`, and nothing changed, if it is not what the key takes.
    pub(super) fn apply(&self, setup: &mut Setup, text: &str) -> Option<()> {
        match self {
            Key::Public(field) => {
                let value = match (field.get)(&setup.core) {
                    CoreValue::Flag(_) => CoreValue::Flag(text.parse().ok()?),
                    CoreValue::Whole(_) => CoreValue::Whole(text.parse().ok()?),
                    CoreValue::Number(_) => CoreValue::Number(text.parse().ok()?),
                    CoreValue::Map(_) => CoreValue::Map((map().read)(text)?),
                };
                let mut core = setup.core;
                (field.set)(&mut core, value).then_some(())?;
                let refused = |error| matches!(error, Error::Setting { name, .. } if name == field.name);
                // No initial points are a matter of the scaling too: whoever takes both says so.
                let alone = Settings { initial: core.initial.max(1), ..core.with_method(CoreMethod::MftMes) };
                let fits = core.candidates <= shapes::MAX_CANDIDATES && core.initial <= CAPACITY;
                (fits && !alone.checked().is_err_and(refused)).then(|| setup.core = core)
            }
            Key::Detail(detail) => (detail.set)(setup, text),
        }
    }

    pub fn value(&self, setup: &Setup) -> Value {
        match self {
            Key::Public(field) => match (field.get)(&setup.core) {
                CoreValue::Flag(flag) => flag.into(),
                CoreValue::Whole(number) => number.into(),
                CoreValue::Number(number) => shortest(number).into(),
                CoreValue::Map(value) => (map().show)(value),
            },
            Key::Detail(detail) => (detail.get)(setup).1,
        }
    }

    /// Whether the setting makes a difference to a method.
    pub fn matters_to(&self, method: Method) -> bool {
        match (self.name(), method) {
            ("initial", _) => true,
            (_, method) if method.core(0.0).is_none() => false,
            ("beta" | "limited", method) => {
                matches!(method, Method::MftMes | Method::Kept | Method::Unguarded)
            }
            ("c", method) => method.has_share(),
            _ => true,
        }
    }
}

/// Defines [`DETAILS`]: in each row a name, the setup's field, the form of its value, and what it means.
macro_rules! keys {
    (|$s:ident| $($name:ident: $($field:ident).+, $form:expr, $help:literal;)*) => {
        const DETAILS: &[Detail] = &[$(Detail {
            name: stringify!($name),
            help: $help,
            get: |$s| {
                let form = $form;
                (form.takes, (form.show)($s.$($field).+))
            },
            set: |$s, text| ($form.read)(text).map(|value| $s.$($field).+ = value),
        }),*];
    };
}

keys! { |s|
    limited: core.details.limited, flag(),
        "whether the transfer term counts at most as much as a query's information about the optimum";
    c: c, number(0.0..=1.0),
        "share of queries for the current task in separation, separation-myopic and two-phase";
    information: core.details.information,
        words(&[("paper", Information::Paper), ("correlated", Information::Correlated)]),
        "form of the information about the optimum";
    max_values: core.details.max_values, whole(1..=16), "samples S of the optimum's value per particle";
    weights: core.details.prior.weights, weights(),
        "prior variance of the deep map's weights, for all the same or divided by a layer's inputs";
    length: core.details.prior.length, log_normal(),
        "prior of the ARD map's lengthscales (unit cube): mean and deviation of the logarithm";
    signal: core.details.prior.signal, log_normal(),
        "prior of the signal variance (the deep map has its mean): mean and deviation of the logarithm";
    gamma: core.details.prior.gamma, log_normal(),
        "prior of the fidelity decay γ: mean and deviation of the logarithm";
    kde_bandwidth: core.details.kde_bandwidth, above(1e-6, 1e3),
        "deviation of the density estimate around each carried particle";
    kde_mix: core.details.kde_mix, number(0.0..=1.0), "share of the first task's prior in later tasks' priors";
    bandwidth: core.details.bandwidth, bandwidth(), "bandwidth h of the kernel between particles";
    step: core.details.step, step(),
        "how particles move: plain steps, Adam, or steps with noise that sample";
    remeasure: core.details.remeasure, flag(), "whether carried points are measured again, charged to the budget";
    memory_deviation: core.details.memory_deviation, zero_or(1e-3..=1e3),
        "how far, in deviations, carried points' values may have changed; 0 keeps them out of the model";
    scaling: core.details.scaling, scaling(s.fixed),
        "how observations are standardised: by all so far, by the initial ones, the same unless bad ones lie far out, or by fixed numbers";
    refinements: core.details.refinements, whole(0..=8), "how often the search is refined around its best candidates";
    recommend: core.details.recommend,
        words(&[
            ("queried", Recommend::Queried),
            ("anywhere", Recommend::Anywhere),
            ("measured", Recommend::Measured),
        ]),
        "where the recommendation may lie: at a point tried, anywhere, or at one measured at the target fidelity";
    capacity: capacity, capacity(),
        "room for observations in one task; with less room than the budget buys, expensive fidelities win";
}

type Read<T> = Box<dyn Fn(&str) -> Option<T>>;

/// How the values of a type are written, read and described.
pub struct Form<T> {
    /// To follow "takes" in a sentence.
    pub takes: String,
    /// The value as text or number.
    pub show: Box<dyn Fn(T) -> Value>,
    /// The value of a text; `None` if it is not one that is allowed.
    pub read: Read<T>,
}

impl<T> Form<T> {
    fn new(
        takes: impl Into<String>,
        show: impl Fn(T) -> Value + 'static,
        read: impl Fn(&str) -> Option<T> + 'static,
    ) -> Self {
        Self { takes: takes.into(), show: Box::new(show), read: Box::new(read) }
    }
}

pub fn whole<T: FromStr + PartialOrd + ToString + Into<Value> + 'static>(
    range: RangeInclusive<T>,
) -> Form<T> {
    let takes = format!("a whole number from {} to {}", range.start().to_string(), range.end().to_string());
    Form::new(takes, T::into, move |text| within(text, &range))
}

pub fn number(range: RangeInclusive<f32>) -> Form<f32> {
    let takes = format!("a number from {} to {}", range.start(), range.end());
    Form::new(takes, float, move |text| within(text, &range))
}

/// A number above `low`, up to `high`.
pub fn above(low: f32, high: f32) -> Form<f32> {
    let takes = format!("a number above {low}, up to {high}");
    Form::new(takes, float, move |text| above_up_to(text, low, high))
}

/// A number in a range, or 0.
pub fn zero_or(range: RangeInclusive<f32>) -> Form<f32> {
    let takes = format!("0, or a number from {} to {}", range.start(), range.end());
    Form::new(takes, float, move |text| within(text, &(0.0..=0.0)).or_else(|| within(text, &range)))
}

pub fn flag() -> Form<bool> {
    Form::new("true or false", Value::from, |text| text.parse().ok())
}

pub fn words<T: Copy + PartialEq>(words: &'static [(&'static str, T)]) -> Form<T> {
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let show = |value| words.iter().find(|(_, meant)| *meant == value).map(|(word, _)| *word).into();
    Form::new(names.join(" or "), show, |text| word(text, words))
}

pub fn capacity() -> Form<usize> {
    Form::new("32, 64, 128 or 256", Value::from, |text| {
        text.parse().ok().filter(|capacity| shapes::CAPACITIES.contains(capacity))
    })
}

pub fn map() -> Form<Map> {
    let show = |map| match map {
        Map::Ard => "ard".into(),
        Map::Linear => "linear".into(),
        Map::Deep { width } => format!("deep:{width}").into(),
    };
    Form::new("ard, linear, deep (64 units a layer) or deep:WIDTH up to 64", show, |text| {
        match text.split_once(':') {
            None => word(
                text,
                &[
                    ("ard", Map::Ard),
                    ("linear", Map::Linear),
                    ("deep", Map::Deep { width: shapes::MAX_WIDTH }),
                ],
            ),
            Some(("deep", width)) => Some(Map::Deep { width: within(width, &(1..=shapes::MAX_WIDTH))? }),
            Some(_) => None,
        }
    })
}

/// Prior of the deep map's weights.
pub fn weights() -> Form<Weights> {
    let show = |weights| match weights {
        Weights::Fixed(variance) => pair("fixed", variance),
        Weights::PerInput(variance) => pair("per-input", variance),
    };
    Form::new("fixed:VARIANCE or per-input:VARIANCE, above 0 and below 1000000", show, |text| {
        let (kind, variance) = text.split_once(':')?;
        let variance = above_up_to(variance, 0.0, 999_999.0)?;
        word(kind, &[("fixed", Weights::Fixed(variance)), ("per-input", Weights::PerInput(variance))])
    })
}

/// Prior of a positive number.
pub fn log_normal() -> Form<LogNormal> {
    let takes = "MEAN:DEVIATION, the mean within ±20, the deviation above 0 up to 10";
    Form::new(
        takes,
        |value: LogNormal| pair(value.mean, value.deviation),
        |text| {
            let (mean, deviation) = text.split_once(':')?;
            Some(LogNormal {
                mean: within(mean, &(-20.0..=20.0))?,
                deviation: above_up_to(deviation, 0.0, 10.0)?,
            })
        },
    )
}

pub fn bandwidth() -> Form<Bandwidth> {
    let show = |bandwidth| match bandwidth {
        Bandwidth::Median => "median".into(),
        Bandwidth::Fixed(h) => float(h),
    };
    Form::new("median, or a number above 0 up to 1000000000", show, |text| match text {
        "median" => Some(Bandwidth::Median),
        _ => above_up_to(text, 0.0, 1e9).map(Bandwidth::Fixed),
    })
}

pub fn step() -> Form<Step> {
    let show = |step| match step {
        Step::Plain { rate } => pair("plain", rate),
        Step::Adam { rate } => pair("adam", rate),
        Step::Langevin { rate } => pair("langevin", rate),
    };
    let takes = "plain:RATE, adam:RATE or langevin:RATE, the rate above 0 up to 10";
    Form::new(takes, show, |text| {
        let (kind, rate) = text.split_once(':')?;
        let rate = above_up_to(rate, 0.0, 10.0)?;
        Some(match kind {
            "plain" => Step::Plain { rate },
            "adam" => Step::Adam { rate },
            "langevin" => Step::Langevin { rate },
            _ => return None,
        })
    })
}

/// How observations are standardised; `fixed` alone is the problem's own map.
pub fn scaling(fixed: Scaling) -> Form<Scaling> {
    let show = |scaling| match scaling {
        Scaling::Running => "running".into(),
        Scaling::Robust => "robust".into(),
        Scaling::Initial => "initial".into(),
        Scaling::Fixed { mean, deviation } => format!("fixed:{mean}:{deviation}").into(),
    };
    let takes = "running, initial, robust, fixed (the problem's own map) or fixed:MEAN:DEVIATION";
    Form::new(takes, show, move |text| match text.split_once(':') {
        None => word(
            text,
            &[
                ("running", Scaling::Running),
                ("initial", Scaling::Initial),
                ("robust", Scaling::Robust),
                ("fixed", fixed),
            ],
        ),
        Some(("fixed", numbers)) => {
            let (mean, deviation) = numbers.split_once(':')?;
            let mean = within(mean, &(f32::MIN..=f32::MAX))?;
            Some(Scaling::Fixed { mean, deviation: above_up_to(deviation, 1e-20, 1e20)? })
        }
        Some(_) => None,
    })
}

fn pair(first: impl Display, second: f32) -> Value {
    format!("{first}:{second}").into()
}

/// The number with the digits that `f32` has.
fn float(value: f32) -> Value {
    shortest(value).into()
}

/// A number within a range; `None` also for NaN.
fn within<T: FromStr + PartialOrd>(text: &str, range: &RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|value| range.contains(value))
}

/// A number above `low` and up to `high`.
fn above_up_to(text: &str, low: f32, high: f32) -> Option<f32> {
    within(text, &(low..=high)).filter(|value| *value > low && value.is_normal())
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}
