//! What a user chooses, and what a preset decides: [`Settings::DEFAULT`], [`Settings::LIVE`], [`Settings::DEEP`],
//! [`Settings::PAPER`].
//!
//! A setting is a row of the table below: its meaning, its type, its range. The structures, the check, the fingerprint
//! and the keys of a command line come from there.

use core::f32::consts::FRAC_1_SQRT_2;

use crate::acquisition::Information;
use crate::error::Error;
use crate::features::Map;
use crate::kernel::Model;
use crate::math::LARGEST_VALUE;
use crate::max_value::MAX_SAMPLES;
use crate::prior::{LogNormal, MAX_PARTICLES, Prior, Weights};
use crate::scale::Scaling;
use crate::svgd::{Bandwidth, Step};

/// Most points carried from task to task.
pub const MAX_CARRIED: usize = 8;

/// Which queries are made, and what is carried from task to task.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Method {
    /// Alg. 1: one particle, re-initialised in every task; Eq. (24).
    MfMes,
    /// Alg. 2 without the transfer term: particles are carried on; Eq. (37) with β = 0.
    Continual,
    /// Alg. 2: particles are carried on; Eq. (37).
    MftMes,
    /// Eq. (59), at the target fidelity: with probability `c` the information about the optimum, else about `θ`.
    #[cfg(feature = "paper")]
    Separation {
        /// Share of queries for the current task, in `[0, 1]`.
        c: f32,
    },
    /// Eq. (60), at the target fidelity: with probability `c` the information about the optimum, else the next point
    /// of the batch design of Eq. (43).
    #[cfg(feature = "paper")]
    Myopic {
        /// Share of queries for the current task, in `[0, 1]`.
        c: f32,
    },
    /// Eq. (42), (43), at the target fidelity: the first `⌈cT⌉` queries for the optimum, the rest the batch design.
    #[cfg(feature = "paper")]
    TwoPhase {
        /// Share of queries for the current task, in `[0, 1]`.
        c: f32,
    },
}

impl Method {
    /// The share of queries for the current task; 1 where there is no other kind.
    const fn share(self) -> f32 {
        match self {
            Method::MfMes | Method::Continual | Method::MftMes => 1.0,
            #[cfg(feature = "paper")]
            Method::Separation { c } | Method::Myopic { c } | Method::TwoPhase { c } => c,
        }
    }

    /// Whether queries come from a design that no answer changes.
    pub(crate) const fn asks_in_batches(self) -> bool {
        match self {
            #[cfg(feature = "paper")]
            Method::Myopic { .. } | Method::TwoPhase { .. } => true,
            _ => false,
        }
    }

    const fn is_valid(self) -> bool {
        self.share() >= 0.0 && self.share() <= 1.0
    }

    const fn number(self) -> u32 {
        match self {
            Method::MfMes => 0,
            Method::Continual => 1,
            Method::MftMes => 2,
            #[cfg(feature = "paper")]
            Method::Separation { .. } => 3,
            #[cfg(feature = "paper")]
            Method::Myopic { .. } => 4,
            #[cfg(feature = "paper")]
            Method::TwoPhase { .. } => 5,
        }
    }
}

/// Where the recommendation may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Recommend {
    /// At a point that was queried.
    Queried,
    /// Anywhere in the space: the highest posterior mean that the search finds.
    Anywhere,
    /// At a point that was measured at the target fidelity; anywhere if none was, or if the answers speak for a fleet's prior.
    Measured,
}

/// Makes a structure of settings from rows: the fields, their check, their words for the fingerprint. A row is a field
/// with its meaning and type, what is allowed, and whether its value is.
macro_rules! structure {
    ($(#[$about:meta])* $structure:ident, $checked:ident $(, with $last:ident: $last_type:ty)?;
     $($(#[doc = $doc:literal])+ $name:ident: $type:ty, $allowed:literal, $valid:expr;)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub struct $structure {
            $($(#[doc = $doc])+ pub $name: $type,)*
            $(/// What a preset decides and nobody has had a reason to change: for those who study the method.
            #[doc(hidden)]
            pub $last: $last_type,)?
        }

        impl $structure {
            const fn $checked(&self) -> Result<(), Error> {
                $(let $name = self.$name;
                let _ = $name;
                if !$valid {
                    return Err(Error::Setting { name: stringify!($name), allowed: $allowed });
                })*
                Ok(())
            }
        }

        impl Words for $structure {
            fn words(&self, mix: &mut impl FnMut(u32)) {
                $(self.$name.words(mix);)*
                $(self.$last.words(mix);)?
            }
        }
    };
}

/// Makes [`Settings::FIELDS`] from the same rows.
macro_rules! fields {
    ($(#[$about:meta])* $structure:ident, $checked:ident $(, with $last:ident: $last_type:ty)?;
     $($(#[doc = $doc:literal])+ $name:ident: $type:ty, $allowed:literal, $valid:expr;)*) => {
        impl $structure {
            /// The settings by name, for command lines and files.
            pub const FIELDS: &[Field] = &[$(Field {
                name: stringify!($name),
                about: concat!($($doc),+),
                allowed: $allowed,
                get: |settings| settings.$name.into(),
                set: |settings, value| value.try_into().map(|value| settings.$name = value).is_ok(),
            }),*];
        }
    };
}

macro_rules! public_settings {
    ($with:ident) => {
        $with! {
            /// How the optimizer goes about it. Plain values; take a preset and change what you have a reason to change.
            /// [`checked`](Settings::checked) says whether they make sense.
            ///
            /// ```
            /// use foretune_core::Settings;
            ///
            /// const SETTINGS: Settings = Settings { particles: 4, initial: 4, ..Settings::DEFAULT };
            /// assert!(SETTINGS.checked().is_ok());
            ///
            /// let wrong = Settings { particles: 40, ..SETTINGS };
            /// assert_eq!(wrong.checked().unwrap_err().to_string(), "setting `particles` must be 1 to 16");
            /// ```
            Settings, fields_checked, with details: Details;

            /// Feature map of the kernel: a lengthscale per dimension, the same after a shear, or the paper's three tanh layers.
            map: Map, "1 to 512 units wide", match map {
                Map::Ard | Map::Linear => true,
                Map::Deep { width } => width >= 1 && width <= 512,
            };
            /// Particles `V` that stand for what is believed of the kernel's parameters, 1 to 16.
            particles: usize, "1 to 16", particles >= 1 && particles <= MAX_PARTICLES;
            /// Learning steps after every observation, once the initial points are in; the paper has 0.
            steps_per_round: u32, "at most 1000000", steps_per_round <= 1_000_000;
            /// Learning steps `R` at the end of a task (not if nothing of it is carried on).
            steps_per_task: u32, "at most 1000000", steps_per_task <= 1_000_000;
            /// Weight `β` of the information about the kernel's parameters; the paper's printed β is twice this.
            beta: f32, "0 to 1e6", beta >= 0.0 && beta <= 1e6;
            /// Whether the next task starts from this one's particles (else from the prior).
            carry_particles: bool, "true or false", true;
            /// How many of the last tasks' recommendations are carried on, 0 to 8; the paper has 0.
            carried: usize, "0 to 8", carried <= MAX_CARRIED;
            /// How many of a task's answers the next one begins with, those that tell most: for a device that is on for years, so
            /// that what it learnt does not go when its slots are full. 0: none, as in the paper.
            kept: usize, "at most 32767", kept <= 32_767;
            /// Share of the budget spent before carried points and values play a part. Without it, the first task's
            /// second-best optimum would be found again in all later ones.
            memory_after: f32, "0 to 1", memory_after >= 0.0 && memory_after <= 1.0;
            /// Random points at the start of a task, at random fidelities, for at most half of the budget.
            initial: usize, "at most 65535", initial <= 65_535;
            /// Points at which the acquisition is looked at, before refinement: at least 16, at most what the memory has room for.
            candidates: usize, "16 or more", candidates >= 16;
            /// Share of the budget kept for the end, to measure at the target fidelity what would be recommended: so a model that
            /// was misled is found out; at least one such measurement. 0: none, as in the paper. If one such measurement takes
            /// more than half the budget, nothing is kept.
            verify: f32, "0 to 0.5", verify >= 0.0 && verify <= 0.5;
            /// An answer so many times farther from all others of the task than these are apart is an outlier. It is measured
            /// again, charged like any query, and believed if the second answer is alike; else the model sees only the second.
            /// 0: every answer is believed, as in the paper.
            confirm: f32, "0, or 2 to 1000000", confirm == 0.0 || (confirm >= 2.0 && confirm <= 1e6);
        }
    };
}

public_settings!(structure);
public_settings!(fields);

structure! {
    /// What a preset decides beside the public settings. No promise holds for it.
    Details, checked;

    /// Which queries are made.
    method: Method, "with a share `c` of 0 to 1", method.is_valid();
    /// Prior of `θ` in the first task.
    prior: Prior, "of variances 1e-12 to 1e6, means -20 to 20 and deviations 1e-6 to 10", prior.is_valid();
    /// Scaling of the observations. [`Scaling::Initial`] needs initial points.
    scaling: Scaling, "fixed with a finite mean and a deviation of 1e-20 to 1e20", match scaling {
        Scaling::Fixed { mean, deviation } => {
            mean.abs() <= LARGEST_VALUE && deviation >= 1e-20 && deviation <= 1e20
        }
        _ => true,
    };
    /// How particles move.
    step: Step, "of a rate above 0, at most 10", step.rate() > 0.0 && step.rate() <= 10.0;
    /// Kernel between particles.
    bandwidth: Bandwidth, "above 0, at most 1e9", match bandwidth {
        Bandwidth::Fixed(h) => h > 0.0 && h <= 1e9,
        Bandwidth::Median => true,
    };
    /// Whether the information about `θ` counts at most as much as the query's information about the optimum: nothing
    /// is asked for the sake of `θ` alone. The paper has no such limit.
    limited: bool, "true or false", true;
    /// Standard deviation of the density estimate around each carried particle, in units of `θ`.
    kde_bandwidth: f32, "above 1e-6, at most 1000", kde_bandwidth > 1e-6 && kde_bandwidth <= 1e3;
    /// Share of the first task's prior in the later tasks' priors; the paper has 0.
    kde_mix: f32, "0 to 1", kde_mix >= 0.0 && kde_mix <= 1.0;
    /// Whether initial points are not charged to the budget, as in the paper.
    free_start: bool, "true or false", true;
    /// Whether carried points are measured again, at the target fidelity, charged like any query.
    remeasure: bool, "true or false", true;
    /// How well the values remembered of carried points are believed: their standard deviation from the values in this
    /// task, in standard deviations of the observations. They then take part in the model, each in a slot for an
    /// observation. 0: they are not used.
    memory_deviation: f32, "0, or 0.001 to 1000",
        memory_deviation == 0.0 || (memory_deviation >= 1e-3 && memory_deviation <= 1e3);
    /// Form of the information about the optimum.
    information: Information, "", true;
    /// Samples `S` of the optimum's value per particle.
    max_values: usize, "1 to 16", max_values >= 1 && max_values <= MAX_SAMPLES;
    /// How often the search is refined around its best candidates.
    refinements: usize, "0 to 8", refinements <= 8;
    /// Where the recommendation may lie.
    recommend: Recommend, "", true;
}

impl Settings {
    /// The paper's settings. What it does not say is set as in related work; `docs/guide/reproduce.md` lists it.
    ///
    /// `scaling` and `initial` belong to the problem: set them beside.
    pub const PAPER: Settings = Settings {
        map: Map::Deep { width: 64 },
        particles: 10,
        steps_per_round: 0,
        steps_per_task: 2000,
        beta: 0.6,
        carry_particles: true,
        carried: 0,
        kept: 0,
        memory_after: 0.0,
        initial: 10,
        candidates: 512,
        verify: 0.0,
        confirm: 0.0,
        details: Details {
            method: Method::MftMes,
            prior: Prior {
                weights: Weights::Fixed(0.5),
                length: LogNormal { mean: -0.7, deviation: FRAC_1_SQRT_2 },
                signal: LogNormal { mean: 0.0, deviation: FRAC_1_SQRT_2 },
                gamma: LogNormal { mean: -2.3, deviation: FRAC_1_SQRT_2 },
            },
            scaling: Scaling::Fixed { mean: 0.0, deviation: 1.0 },
            step: Step::Plain { rate: 1e-3 },
            bandwidth: Bandwidth::Fixed(1.0 / 1.326),
            limited: false,
            kde_bandwidth: 0.55,
            kde_mix: 0.0,
            free_start: true,
            remeasure: true,
            memory_deviation: 0.0,
            information: Information::Paper,
            max_values: 10,
            refinements: 3,
            recommend: Recommend::Queried,
        },
    };

    /// Our own preset, small enough for a Cortex-M4F: ARD map, learning after every observation, best points carried.
    pub const DEFAULT: Settings = Settings {
        map: Map::Ard,
        particles: 10,
        steps_per_round: 10,
        steps_per_task: 20,
        beta: 1.0,
        carry_particles: true,
        carried: 4,
        kept: 0,
        memory_after: 0.4,
        initial: 10,
        candidates: 128,
        verify: 0.15,
        confirm: 30.0,
        details: Details {
            method: Method::MftMes,
            prior: Prior {
                weights: Weights::PerInput(0.5),
                length: LogNormal { mean: -1.2, deviation: 0.8 },
                signal: LogNormal { mean: 1.5, deviation: 0.7 },
                gamma: LogNormal { mean: -4.0, deviation: 1.5 },
            },
            scaling: Scaling::Robust,
            step: Step::Adam { rate: 0.05 },
            bandwidth: Bandwidth::Median,
            limited: true,
            kde_bandwidth: 0.55,
            kde_mix: 0.2,
            free_start: false,
            remeasure: true,
            memory_deviation: 1.0,
            information: Information::Correlated,
            max_values: 10,
            refinements: 3,
            recommend: Recommend::Measured,
        },
    };

    /// The default for a system in service, with a floor: a linear map, for the ridges of what is in service often lie askew; the
    /// paper's form of the information, which asks nearer to what is known to be good; no weight on the information about `θ`, which users would pay for; memory from the
    /// first query on; and nothing kept for the end, since what looks best is tried all along.
    pub const LIVE: Settings = Settings {
        map: Map::Linear,
        beta: 0.0,
        memory_after: 0.0,
        verify: 0.0,
        details: Details {
            prior: Prior { weights: Weights::PerInput(1.0), ..Settings::DEFAULT.details.prior },
            information: Information::Paper,
            recommend: Recommend::Anywhere,
            ..Settings::DEFAULT.details
        },
        ..Settings::DEFAULT
    };

    /// The paper's model and method with what it takes to work: the deep map with weights whose prior's mass is a kernel
    /// that is neither white noise nor constant, a signal variance, steps that sample instead of collapsing to the
    /// prior's mode, learning after every observation, a narrow density estimate, a small β, the discount of
    /// [`Settings::DEFAULT`], and the highest mean of all recommended. Points are not carried.
    pub const DEEP: Settings = Settings {
        steps_per_round: 10,
        steps_per_task: 40,
        beta: 0.05,
        candidates: 256,
        confirm: Settings::DEFAULT.confirm,
        verify: 0.0,
        details: Details {
            prior: Prior {
                weights: Weights::PerInput(1.5),
                signal: Settings::DEFAULT.details.prior.signal,
                gamma: Settings::DEFAULT.details.prior.gamma,
                ..Settings::PAPER.details.prior
            },
            scaling: Scaling::Initial,
            step: Step::Langevin { rate: 0.2 },
            kde_bandwidth: 0.05,
            information: Information::Correlated,
            recommend: Recommend::Anywhere,
            ..Settings::PAPER.details
        },
        ..Settings::PAPER
    };

    /// The settings, if all are in range.
    ///
    /// # Errors
    /// [`Error::Setting`] with the name of the first field that is not.
    pub const fn checked(self) -> Result<Self, Error> {
        if let Err(error) = self.fields_checked() {
            return Err(error);
        }
        if let Err(error) = self.details.checked() {
            return Err(error);
        }
        let single = matches!(self.details.method, Method::MfMes);
        if single && self.particles > 1 {
            return Err(Error::Setting { name: "particles", allowed: "1 with the method MF-MES" });
        }
        if matches!(self.details.scaling, Scaling::Initial | Scaling::Robust) && self.initial == 0 {
            let allowed = "1 or more where `scaling` is taken from the initial points";
            return Err(Error::Setting { name: "initial", allowed });
        }
        Ok(self)
    }

    /// The same settings for another method. [`Method::MfMes`] takes one particle and carries nothing.
    pub const fn with_method(mut self, method: Method) -> Self {
        self.details.method = method;
        if matches!(method, Method::MfMes) {
            self.particles = 1;
            self.carried = 0;
        }
        self
    }

    /// The model that these settings make of a problem with `d` dimensions, none of them a category.
    // Not inlined: it takes less flash.
    #[inline(never)]
    pub const fn model(&self, d: usize) -> Model {
        Model::plain(self.map, d, self.details.prior.offsets())
    }

    /// Whether particles go on to the next task.
    pub(crate) const fn carries_particles(&self) -> bool {
        self.carry_particles && !matches!(self.details.method, Method::MfMes)
    }

    /// Most values remembered of earlier tasks.
    pub(crate) const fn remembers(&self) -> usize {
        if self.details.memory_deviation > 0.0 { self.carried } else { 0 }
    }

    /// Hands over, word by word, everything that decides which queries are made.
    pub(crate) fn fingerprint(&self, mut mix: impl FnMut(u32)) {
        self.words(&mut mix);
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::DEFAULT
    }
}

/// A setting by name.
pub struct Field {
    /// The field's name.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// What it takes, to follow "must be" in a sentence.
    pub allowed: &'static str,
    /// Its value.
    pub get: fn(&Settings) -> Value,
    /// Gives it a value, in range or not; whether that is of the field's type.
    pub set: fn(&mut Settings, Value) -> bool,
}

/// The value of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Whole(u32),
    /// A number.
    Number(f32),
    /// A feature map.
    Map(Map),
}

/// Between a type and its kind of [`Value`].
macro_rules! values {
    ($($type:ty, $kind:ident;)*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Value {
                Value::$kind(value as _)
            }
        }

        impl TryFrom<Value> for $type {
            type Error = ();

            fn try_from(value: Value) -> Result<$type, ()> {
                match value {
                    Value::$kind(value) => Ok(value as _),
                    _ => Err(()),
                }
            }
        })*
    };
}

values! {
    bool, Flag;
    u32, Whole;
    usize, Whole;
    f32, Number;
    Map, Map;
}

/// A value as words of a fingerprint.
trait Words {
    fn words(&self, mix: &mut impl FnMut(u32));
}

/// How the values of some types become words.
macro_rules! words {
    ($($type:ty: |$value:ident| $($word:expr),+;)*) => {
        $(impl Words for $type {
            fn words(&self, mix: &mut impl FnMut(u32)) {
                let $value = *self;
                $(mix($word);)+
            }
        })*
    };
}

words! {
    bool: |value| value as u32;
    u32: |value| value;
    usize: |value| value as u32;
    f32: |value| value.to_bits();
    Information: |value| value as u32;
    Recommend: |value| value as u32;
    Map: |map| match map { Map::Ard => 0, Map::Linear => u32::MAX, Map::Deep { width } => width as u32 };
    LogNormal: |prior| prior.mean.to_bits(), prior.deviation.to_bits();
    Weights: |weights| matches!(weights, Weights::Fixed(_)) as u32, {
        let (Weights::Fixed(variance) | Weights::PerInput(variance)) = weights;
        variance.to_bits()
    };
    Bandwidth: |bandwidth| match bandwidth { Bandwidth::Median => 0, Bandwidth::Fixed(h) => h.to_bits() };
    Step: |step| match step {
        Step::Plain { .. } => 0,
        Step::Adam { .. } => 1,
        Step::Langevin { .. } => 2,
    }, step.rate().to_bits();
    Method: |method| method.number(), method.share().to_bits();
}

impl Words for Prior {
    fn words(&self, mix: &mut impl FnMut(u32)) {
        let Prior { weights, length, signal, gamma } = self;
        weights.words(mix);
        [length, signal, gamma].into_iter().for_each(|prior| prior.words(mix));
    }
}

impl Words for Scaling {
    fn words(&self, mix: &mut impl FnMut(u32)) {
        match self {
            Scaling::Initial => mix(0),
            Scaling::Running => mix(1),
            Scaling::Robust => mix(3),
            Scaling::Fixed { mean, deviation } => {
                [2, mean.to_bits(), deviation.to_bits()].into_iter().for_each(mix);
            }
        }
    }
}

/// Settings that are in range. Where they are constants, the compiler finds out, and a device has no code for it.
///
/// ```
/// use foretune_core::{Settings, Checked};
///
/// const SETTINGS: Checked = Checked::of(Settings { particles: 8, ..Settings::DEFAULT });
/// assert_eq!(SETTINGS.get().particles, 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked(Settings);

impl Checked {
    /// Constant settings.
    ///
    /// # Panics
    /// When they are not in range: while the program is compiled.
    pub const fn of(settings: Settings) -> Checked {
        match Checked::new(settings) {
            Ok(checked) => checked,
            Err(_) => panic!("a setting is out of range"),
        }
    }

    /// Any settings.
    ///
    /// # Errors
    /// As [`Settings::checked`].
    pub const fn new(settings: Settings) -> Result<Checked, Error> {
        match settings.checked() {
            Ok(settings) => Ok(Checked(settings)),
            Err(error) => Err(error),
        }
    }

    /// The settings.
    pub const fn get(&self) -> &Settings {
        &self.0
    }
}

#[cfg(test)]
mod tests;
