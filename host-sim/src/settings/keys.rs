//! The settings by name: what each takes, how it is read and printed.
//!
//! A setting is a row of [`KEYS`]: its name, the field, the [form](super::form) of its value, what it means. How the value is
//! written, how it is read, its range and the words for it in errors and in the help all come from the form.

use foretune_core::{Information, Recommend};
use serde_json::Value;

use super::Setup;
use super::form::{
    above, bandwidth, capacity, flag, log_normal, map, number, scaling, step, weights, whole, words, zero_or,
};
use crate::method::Method;
use crate::shapes;

/// One setting.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
    /// What it takes, and its value.
    get: fn(&Setup) -> (String, Value),
    set: fn(&mut Setup, &str) -> Option<()>,
}

impl Key {
    /// What it takes, to follow "takes" in a sentence.
    pub fn takes(&self, setup: &Setup) -> String {
        (self.get)(setup).0
    }

    /// Reads `text` into the setup; `None` if it is not what the key takes.
    pub(super) fn apply(&self, setup: &mut Setup, text: &str) -> Option<()> {
        (self.set)(setup, text)
    }

    /// The setting's value.
    pub fn value(&self, setup: &Setup) -> Value {
        (self.get)(setup).1
    }

    /// Whether the setting makes a difference to a method.
    pub fn matters_to(&self, method: Method) -> bool {
        match (self.name, method) {
            ("initial", _) => true,
            (_, method) if method.core(0.0).is_none() => false,
            ("beta" | "limited", method) => matches!(method, Method::MftMes | Method::Kept),
            ("c", method) => method.has_share(),
            _ => true,
        }
    }
}

/// Defines [`KEYS`]: in each row a name, the setup's field, the form of its value, and what it means.
macro_rules! keys {
    (|$s:ident| $($name:ident: $($field:ident).+, $form:expr, $help:literal;)*) => {
        /// All settings, in the order of the core's.
        pub const KEYS: &[Key] = &[$(Key {
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
    map: core.model.map, map(),
        "feature map of the kernel: a lengthscale per dimension, or the paper's three tanh layers";
    particles: core.model.particles, whole(1..=16),
        "particles V that stand for what is believed of the kernel's parameters; MF-MES always has 1";
    beta: core.transfer.beta, number(0.0..=1e6),
        "weight β of the transfer term in MFT-MES; the paper's printed β is twice this";
    limited: core.transfer.limited, flag(),
        "whether the transfer term counts at most as much as a query's information about the optimum";
    c: c, number(0.0..=1.0),
        "share of queries for the current task in separation, separation-myopic and two-phase";
    information: core.search.information,
        words(&[("paper", Information::Paper), ("correlated", Information::Correlated)]),
        "form of the information about the optimum";
    max_values: core.search.max_values, whole(1..=16), "samples S of the optimum's value per particle";
    weights: core.model.prior.weights, weights(),
        "prior variance of the deep map's weights, for all the same or divided by a layer's inputs";
    length: core.model.prior.length, log_normal(),
        "prior of the ARD map's lengthscales (unit cube): mean and deviation of the logarithm";
    signal: core.model.prior.signal, log_normal(),
        "prior of the signal variance (the deep map has its mean): mean and deviation of the logarithm";
    gamma: core.model.prior.gamma, log_normal(),
        "prior of the fidelity decay γ: mean and deviation of the logarithm";
    carry_particles: core.transfer.carry_particles, flag(), "whether the next task starts from this one's particles";
    kde_bandwidth: core.transfer.kde_bandwidth, above(1e-6, 1e3),
        "deviation of the density estimate around each carried particle";
    kde_mix: core.transfer.kde_mix, number(0.0..=1.0), "share of the first task's prior in later tasks' priors";
    bandwidth: core.learning.bandwidth, bandwidth(), "bandwidth h of the kernel between particles";
    step: core.learning.step, step(),
        "how particles move: plain steps, Adam, one second moment shared by all particles, or steps with noise that sample";
    steps_per_round: core.learning.steps_per_round, whole(0..=1_000_000), "learning steps after every observation";
    steps_per_task: core.learning.steps_per_task, whole(0..=1_000_000), "learning steps R at the end of a task";
    carried: core.transfer.carried, whole(0..=8), "how many of the last tasks' recommendations are carried on";
    remeasure: core.transfer.remeasure, flag(), "whether carried points are measured again, charged to the budget";
    memory_deviation: core.transfer.memory_deviation, zero_or(1e-3..=1e3),
        "how far, in deviations, carried points' values may have changed; 0 keeps them out of the model";
    memory_after: core.transfer.memory_after, number(0.0..=1.0),
        "share of the budget spent before anything carried plays a part";
    initial: core.search.initial, whole(0..=256), "random points at the start of a task, not charged to the budget";
    scaling: core.model.scaling, scaling(s.fixed),
        "how observations are standardised: by all so far, by the initial ones, or by fixed numbers";
    candidates: core.search.candidates, whole(16..=shapes::MAX_CANDIDATES),
        "points at which the acquisition is looked at, before refinement";
    refinements: core.search.refinements, whole(0..=8), "how often the search is refined around its best candidates";
    recommend: core.search.recommend,
        words(&[
            ("queried", Recommend::Queried),
            ("anywhere", Recommend::Anywhere),
            ("measured", Recommend::Measured),
        ]),
        "where the recommendation may lie: at a point tried, anywhere, or at one measured at the truth's fidelity";
    verify: core.search.verify, number(0.0..=0.5),
        "share of the budget kept for the end, to measure at the truth's fidelity what would be recommended";
    confirm: core.search.confirm, zero_or(2.0..=1e6),
        "an answer so many times farther from all others than these are apart is measured again before it is believed; \
         0 for never";
    capacity: capacity, capacity(),
        "room for observations in one task; with less room than the budget buys, expensive fidelities win";
}
