//! The settings by name: what each takes, how it is read and printed.
//!
//! The public ones are rows of the core's own table. The others are rows of [`DETAILS`]: name, field, what it means, and the
//! [form](super::form) of its value, which is how it is written and read, its range and the words for it.

use foretune_core::{
    Error, Field, Information, Method as CoreMethod, Recommend, Settings, Value as CoreValue,
};
use serde_json::Value;

use super::form::{
    above, bandwidth, capacity, flag, log_normal, map, number, scaling, step, weights, whole, words, zero_or,
};
use super::{CAPACITY, Setup};
use crate::method::Method;
use crate::shapes;
use crate::words::shortest;

/// One setting.
pub enum Key {
    /// One of the core's public ones.
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

/// All settings, the public ones first.
pub fn keys() -> impl Iterator<Item = Key> {
    Settings::FIELDS.iter().map(Key::Public).chain(DETAILS.iter().map(Key::Detail))
}

impl Key {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Key::Public(field) => field.name,
            Key::Detail(detail) => detail.name,
        }
    }

    /// What it means, in a sentence.
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

    /// The setting's value.
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
            ("beta" | "limited", method) => matches!(method, Method::MftMes | Method::Kept),
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
        "how observations are standardised: by all so far, by the initial ones, or by fixed numbers";
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
