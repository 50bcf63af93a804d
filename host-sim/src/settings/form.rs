//! How values of settings are written and read: one text form each, with its range and the words for it.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use foretune_core::{Bandwidth, LogNormal, Map, Scaling, Step, Weights};
use serde_json::Value;

use crate::shapes;
use crate::words::shortest;

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

/// A whole number in a range.
pub fn whole<T: FromStr + PartialOrd + ToString + Into<Value> + 'static>(
    range: RangeInclusive<T>,
) -> Form<T> {
    let takes = format!("a whole number from {} to {}", range.start().to_string(), range.end().to_string());
    Form::new(takes, T::into, move |text| within(text, &range))
}

/// A number in a range.
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

/// Yes or no.
pub fn flag() -> Form<bool> {
    Form::new("true or false", Value::from, |text| text.parse().ok())
}

/// One of several words.
pub fn words<T: Copy + PartialEq>(words: &'static [(&'static str, T)]) -> Form<T> {
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let show = |value| words.iter().find(|(_, meant)| *meant == value).map(|(word, _)| *word).into();
    Form::new(names.join(" or "), show, |text| word(text, words))
}

/// Room for observations.
pub fn capacity() -> Form<usize> {
    Form::new("32, 64, 128 or 256", Value::from, |text| {
        text.parse().ok().filter(|capacity| shapes::CAPACITIES.contains(capacity))
    })
}

/// The kernel's feature map.
pub fn map() -> Form<Map> {
    let show = |map| match map {
        Map::Ard => "ard".into(),
        Map::Deep { width } => format!("deep:{width}").into(),
    };
    Form::new("ard, deep (64 units a layer) or deep:WIDTH up to 64", show, |text| {
        match text.split_once(':') {
            None => word(text, &[("ard", Map::Ard), ("deep", Map::Deep { width: shapes::MAX_WIDTH })]),
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

/// Bandwidth between particles.
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

/// How particles move.
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
        Scaling::Initial => "initial".into(),
        Scaling::Fixed { mean, deviation } => format!("fixed:{mean}:{deviation}").into(),
    };
    let takes = "running, initial, fixed (the problem's own map) or fixed:MEAN:DEVIATION";
    Form::new(takes, show, move |text| match text.split_once(':') {
        None => word(text, &[("running", Scaling::Running), ("initial", Scaling::Initial), ("fixed", fixed)]),
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
