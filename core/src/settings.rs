//! What a user chooses: method, model, learning, search. Presets: [`Settings::PAPER`], [`Settings::DEFAULT`],
//! [`Settings::LIVE`], [`Settings::DEEP`].

use core::f32::consts::FRAC_1_SQRT_2;

use crate::acquisition::Information;
use crate::data::Scaling;
use crate::error::Error;
use crate::features::Map;
use crate::kernel::Model;
use crate::math::LARGEST_VALUE;
use crate::max_value::MAX_SAMPLES;
use crate::prior::{LogNormal, MAX_PARTICLES, Prior, Weights};
use crate::svgd::{Bandwidth, Step};

/// Most points carried from task to task.
pub const MAX_CARRIED: usize = 8;

/// Which queries are made, and what is carried from task to task.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Method {
    /// Alg. 1: one particle, drawn anew for every task; Eq. (24).
    MfMes,
    /// Alg. 2 without the transfer term: particles are carried on; Eq. (37) with β = 0.
    Continual,
    /// Alg. 2: particles are carried on; Eq. (37).
    MftMes,
    /// Eq. (59), at the truth's fidelity: with probability `c` the information about the optimum, else about `θ`.
    Separation {
        /// Share of queries for the current task, in `[0, 1]`.
        c: f32,
    },
    /// Eq. (60), at the truth's fidelity: with probability `c` the information about the optimum, else the next point
    /// of the batch design of Eq. (43).
    Myopic {
        /// Share of queries for the current task, in `[0, 1]`.
        c: f32,
    },
    /// Eq. (42), (43), at the truth's fidelity: the first `⌈cT⌉` queries for the optimum, the rest the batch design.
    TwoPhase {
        /// Share of queries for the current task, in `[0, 1]`.
        c: f32,
    },
}

/// Where the recommendation may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Recommend {
    /// At a point that was queried.
    Queried,
    /// Anywhere in the space: the highest posterior mean that the search finds.
    Anywhere,
    /// At a point that was measured at the truth's fidelity; anywhere if none but initial points was, or if there is no
    /// other fidelity that could mislead.
    Measured,
}

/// What the model is: a Gaussian process for each of some particles.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ModelSettings {
    /// The kernel's feature map; a deep one at most 512 units wide.
    pub map: Map,
    /// Number of particles `V`, 1 to 16; [`Method::MfMes`] takes 1.
    pub particles: usize,
    /// Prior of `θ` in the first task.
    pub prior: Prior,
    /// Scaling of the observations. [`Scaling::Initial`] needs initial points.
    pub scaling: Scaling,
}

/// How the particles follow the observations.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LearningSettings {
    /// How particles move.
    pub step: Step,
    /// Kernel between particles.
    pub bandwidth: Bandwidth,
    /// Steps after every observation, once the initial points are in; the paper has 0.
    pub steps_per_round: u32,
    /// Steps `R` at the end of a task (not if nothing of it is carried on).
    pub steps_per_task: u32,
}

/// What goes from task to task, and what it weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TransferSettings {
    /// Weight `β` of the information about `θ` in [`Method::MftMes`], at least 0. The paper's printed β is twice this.
    pub beta: f32,
    /// Whether that information counts at most as much as the query's information about the optimum: nothing is asked
    /// for the sake of `θ` alone. The paper has no such limit.
    pub limited: bool,
    /// Whether the next task starts from this one's particles (else from the prior). Ignored by [`Method::MfMes`].
    pub carry_particles: bool,
    /// Standard deviation of the density estimate around each carried particle, in units of `θ`; above 0.
    pub kde_bandwidth: f32,
    /// Share of the first task's prior in the later tasks' priors, in `[0, 1]`; the paper has 0.
    pub kde_mix: f32,
    /// How many of the last tasks' recommendations are carried on, 0 to 8; the paper has 0.
    pub carried: usize,
    /// Whether carried points are measured again, at the truth's fidelity, charged like any query.
    pub remeasure: bool,
    /// How well the values remembered of carried points are believed: their standard deviation from the values in this
    /// task, in standard deviations of the observations. They then take part in the model, each in a slot for an
    /// observation. 0: they are not used.
    pub memory_deviation: f32,
    /// Share of the budget, in `[0, 1]`, that is spent before carried points and values play a part. Without it, the
    /// first task's second-best optimum would be found again in all later ones.
    pub memory_after: f32,
}

/// How the next query and the recommendation are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SearchSettings {
    /// Initial points, uniform at uniform fidelities, not charged to the budget.
    pub initial: usize,
    /// Form of the information about the optimum.
    pub information: Information,
    /// Samples `S` of the optimum's value per particle, 1 to 16.
    pub max_values: usize,
    /// Candidates, at least 16, at most what the memory has room for.
    pub candidates: usize,
    /// How often the search is refined around its best candidates, 0 to 8.
    pub refinements: usize,
    /// Where the recommendation may lie.
    pub recommend: Recommend,
    /// Share of the budget, 0 to 0.5, that is kept for the end, to measure at the truth's fidelity what would be
    /// recommended, so that a model which cheaper ones misled is found out; at least one such measurement. 0: none, as in
    /// the paper. With one fidelity, or if one such measurement takes more than half the budget, nothing is kept.
    pub verify: f32,
    /// When an answer is an outlier: how many times farther from all others of the task it lies than these are apart, 2 or
    /// more. It is measured again, charged like any query, and believed if the second answer is alike; else the model
    /// sees only the second. 0: every answer is believed, as in the paper.
    pub confirm: f32,
}

/// All settings, in groups. Plain values; [`checked`](Settings::checked) says whether they make sense.
///
/// ```
/// use foretune_core::{ModelSettings, SearchSettings, Settings};
///
/// const SETTINGS: Settings = Settings {
///     model: ModelSettings { particles: 4, ..Settings::DEFAULT.model },
///     search: SearchSettings { initial: 4, ..Settings::DEFAULT.search },
///     ..Settings::DEFAULT
/// };
/// assert!(SETTINGS.checked().is_ok());
///
/// let wrong = Settings { model: ModelSettings { particles: 40, ..SETTINGS.model }, ..SETTINGS };
/// assert_eq!(wrong.checked().unwrap_err().to_string(), "setting `particles` must be 1 to 16");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Settings {
    /// Which queries are made.
    pub method: Method,
    /// What the model is.
    pub model: ModelSettings,
    /// How it learns.
    pub learning: LearningSettings,
    /// What goes from task to task.
    pub transfer: TransferSettings,
    /// How queries are found.
    pub search: SearchSettings,
}

impl Settings {
    /// The paper's settings. What it does not say is set as in related work; `docs/guide/reproduce.md` lists it.
    ///
    /// `scaling` and `initial` belong to the problem: set them beside.
    pub const PAPER: Settings = Settings {
        method: Method::MftMes,
        model: ModelSettings {
            map: Map::Deep { width: 64 },
            particles: 10,
            prior: Prior {
                weights: Weights::Fixed(0.5),
                length: LogNormal { mean: -0.7, deviation: FRAC_1_SQRT_2 },
                signal: LogNormal { mean: 0.0, deviation: FRAC_1_SQRT_2 },
                gamma: LogNormal { mean: -2.3, deviation: FRAC_1_SQRT_2 },
            },
            scaling: Scaling::Fixed { mean: 0.0, deviation: 1.0 },
        },
        learning: LearningSettings {
            step: Step::Plain { rate: 1e-3 },
            bandwidth: Bandwidth::Fixed(1.0 / 1.326),
            steps_per_round: 0,
            steps_per_task: 2000,
        },
        transfer: TransferSettings {
            beta: 0.6,
            limited: false,
            carry_particles: true,
            kde_bandwidth: 0.55,
            kde_mix: 0.0,
            carried: 0,
            remeasure: true,
            memory_deviation: 0.0,
            memory_after: 0.0,
        },
        search: SearchSettings {
            initial: 10,
            information: Information::Paper,
            max_values: 10,
            candidates: 512,
            refinements: 3,
            recommend: Recommend::Queried,
            verify: 0.0,
            confirm: 0.0,
        },
    };

    /// Our own preset, small enough for a Cortex-M4F: ARD map, learning after every observation, best points carried.
    pub const DEFAULT: Settings = Settings {
        method: Method::MftMes,
        model: ModelSettings {
            map: Map::Ard,
            particles: 10,
            prior: Prior {
                weights: Weights::PerInput(0.5),
                length: LogNormal { mean: -1.2, deviation: 0.8 },
                signal: LogNormal { mean: 1.5, deviation: 0.7 },
                gamma: LogNormal { mean: -4.0, deviation: 1.5 },
            },
            scaling: Scaling::Initial,
        },
        learning: LearningSettings {
            step: Step::Adam { rate: 0.05 },
            bandwidth: Bandwidth::Median,
            steps_per_round: 10,
            steps_per_task: 20,
        },
        transfer: TransferSettings {
            beta: 1.0,
            limited: true,
            carry_particles: true,
            kde_bandwidth: 0.55,
            kde_mix: 0.2,
            carried: 4,
            remeasure: true,
            memory_deviation: 1.0,
            memory_after: 0.4,
        },
        search: SearchSettings {
            initial: 10,
            information: Information::Correlated,
            max_values: 10,
            candidates: 128,
            refinements: 3,
            recommend: Recommend::Measured,
            verify: 0.15,
            confirm: 30.0,
        },
    };

    /// The default for a system in service, with a floor: the paper's form of the information, which asks nearer to
    /// what is known to be good; no weight on the information about `θ`, which users would pay for; memory from the
    /// first query on; and nothing kept for the end, since what looks best is tried all along.
    pub const LIVE: Settings = Settings {
        transfer: TransferSettings { beta: 0.0, memory_after: 0.0, ..Settings::DEFAULT.transfer },
        search: SearchSettings {
            information: Information::Paper,
            recommend: Recommend::Anywhere,
            verify: 0.0,
            ..Settings::DEFAULT.search
        },
        ..Settings::DEFAULT
    };

    /// The paper's model and method with what it takes to work: the deep map with weights whose prior's mass is a kernel
    /// that is neither white noise nor constant, a signal variance, steps that sample instead of collapsing to the
    /// prior's mode, learning after every observation, a narrow density estimate, a small β, the discount of
    /// [`Settings::DEFAULT`], and the highest mean of all recommended. Points are not carried.
    pub const DEEP: Settings = Settings {
        model: ModelSettings {
            prior: Prior {
                weights: Weights::PerInput(1.5),
                signal: Settings::DEFAULT.model.prior.signal,
                gamma: Settings::DEFAULT.model.prior.gamma,
                ..Settings::PAPER.model.prior
            },
            scaling: Scaling::Initial,
            ..Settings::PAPER.model
        },
        learning: LearningSettings {
            step: Step::Langevin { rate: 0.2 },
            steps_per_round: 10,
            steps_per_task: 40,
            ..Settings::PAPER.learning
        },
        transfer: TransferSettings { beta: 0.05, kde_bandwidth: 0.05, ..Settings::PAPER.transfer },
        search: SearchSettings {
            candidates: 256,
            recommend: Recommend::Anywhere,
            verify: 0.0,
            ..Settings::DEFAULT.search
        },
        ..Settings::PAPER
    };

    /// The settings, if all are in range.
    ///
    /// # Errors
    /// [`Error::Setting`] with the name of the first field that is not.
    pub const fn checked(self) -> Result<Self, Error> {
        let Settings { method, model, learning, transfer, search } = self;
        macro_rules! require {
            ($($name:literal, $allowed:literal: $condition:expr;)*) => {
                $(if !$condition { return Err(Error::Setting { name: $name, allowed: $allowed }); })*
            };
        }
        require! {
            "method", "with a share `c` of 0 to 1": match method {
                Method::Separation { c } | Method::Myopic { c } | Method::TwoPhase { c } => c >= 0.0 && c <= 1.0,
                _ => true,
            };
            "map", "1 to 512 units wide": match model.map {
                Map::Ard => true,
                Map::Deep { width } => width >= 1 && width <= 512,
            };
            "particles", "1 to 16": model.particles >= 1 && model.particles <= MAX_PARTICLES;
            "particles", "1 with the method MF-MES": model.particles == 1 || !matches!(method, Method::MfMes);
            "prior", "of variances 1e-12 to 1e6, means -20 to 20 and deviations 1e-6 to 10": model.prior.is_valid();
            "scaling", "fixed with a finite mean and a deviation of 1e-20 to 1e20": match model.scaling {
                Scaling::Fixed { mean, deviation } => mean.abs() <= LARGEST_VALUE && deviation >= 1e-20 && deviation <= 1e20,
                _ => true,
            };
            "step", "of a rate above 0, at most 10": learning.step.rate() > 0.0 && learning.step.rate() <= 10.0;
            "bandwidth", "above 0, at most 1e9": match learning.bandwidth {
                Bandwidth::Fixed(h) => h > 0.0 && h <= 1e9,
                Bandwidth::Median => true,
            };
            "steps_per_round", "at most 1000000": learning.steps_per_round <= 1_000_000;
            "steps_per_task", "at most 1000000": learning.steps_per_task <= 1_000_000;
            "beta", "0 to 1e6": transfer.beta >= 0.0 && transfer.beta <= 1e6;
            "kde_bandwidth", "above 1e-6, at most 1000": transfer.kde_bandwidth > 1e-6 && transfer.kde_bandwidth <= 1e3;
            "kde_mix", "0 to 1": transfer.kde_mix >= 0.0 && transfer.kde_mix <= 1.0;
            "carried", "0 to 8": transfer.carried <= MAX_CARRIED;
            "memory_deviation", "0, or 0.001 to 1000":
                transfer.memory_deviation == 0.0
                || (transfer.memory_deviation >= 1e-3 && transfer.memory_deviation <= 1e3);
            "memory_after", "0 to 1": transfer.memory_after >= 0.0 && transfer.memory_after <= 1.0;
            "initial", "1 or more where `scaling` is taken from the initial points":
                search.initial > 0 || !matches!(model.scaling, Scaling::Initial);
            "max_values", "1 to 16": search.max_values >= 1 && search.max_values <= MAX_SAMPLES;
            "candidates", "16 or more": search.candidates >= 16;
            "refinements", "0 to 8": search.refinements <= 8;
            "verify", "0 to 0.5": search.verify >= 0.0 && search.verify <= 0.5;
            "confirm", "0, or 2 to 1000000":
                search.confirm == 0.0 || (search.confirm >= 2.0 && search.confirm <= 1e6);
        }
        Ok(self)
    }

    /// The same settings for another method. [`Method::MfMes`] takes one particle and carries nothing.
    pub const fn with_method(mut self, method: Method) -> Self {
        self.method = method;
        if matches!(method, Method::MfMes) {
            self.model.particles = 1;
            self.transfer.carried = 0;
        }
        self
    }

    /// The model that these settings make of a problem with `d` dimensions.
    pub const fn model(&self, d: usize) -> Model {
        Model { map: self.model.map, dimensions: d, offsets: self.model.prior.offsets() }
    }

    /// Whether particles go on to the next task.
    pub(crate) const fn carries_particles(&self) -> bool {
        self.transfer.carry_particles && !matches!(self.method, Method::MfMes)
    }

    /// Most values remembered of earlier tasks.
    pub(crate) const fn remembers(&self) -> usize {
        if self.transfer.memory_deviation > 0.0 { self.transfer.carried } else { 0 }
    }

    /// Checksum of everything that decides which queries are made.
    pub(crate) fn fingerprint(&self, mut mix: impl FnMut(u32)) {
        let Settings { method, model, learning, transfer, search } = self;
        let (method, c) = match *method {
            Method::MfMes => (0, 0.0),
            Method::Continual => (1, 0.0),
            Method::MftMes => (2, 0.0),
            Method::Separation { c } => (3, c),
            Method::Myopic { c } => (4, c),
            Method::TwoPhase { c } => (5, c),
        };
        let Prior { weights: Weights::Fixed(weights) | Weights::PerInput(weights), length, signal, gamma } =
            model.prior;
        let (bandwidth, h) = match learning.bandwidth {
            Bandwidth::Fixed(h) => (0, h),
            Bandwidth::Median => (1, 0.0),
        };
        let (scaling, mean, deviation) = match model.scaling {
            Scaling::Fixed { mean, deviation } => (0, mean, deviation),
            Scaling::Initial => (1, 0.0, 0.0),
            Scaling::Running => (2, 0.0, 0.0),
        };
        let (map, width) = match model.map {
            Map::Ard => (0, 0),
            Map::Deep { width } => (1, width as u32),
        };
        let step = match learning.step {
            Step::Plain { .. } => 0,
            Step::Adam { .. } => 1,
            Step::Shared { .. } => 2,
            Step::Langevin { .. } => 3,
        };
        for x in [
            c,
            transfer.beta,
            weights,
            length.mean,
            length.deviation,
            signal.mean,
            signal.deviation,
            gamma.mean,
            gamma.deviation,
            transfer.kde_bandwidth,
            transfer.kde_mix,
            transfer.memory_deviation,
            transfer.memory_after,
            search.confirm,
            h,
            learning.step.rate(),
            mean,
            deviation,
        ] {
            mix(x.to_bits());
        }
        for word in [
            method,
            map,
            width,
            model.particles as u32,
            search.information as u32,
            search.max_values as u32,
            matches!(model.prior.weights, Weights::PerInput(_)) as u32,
            transfer.carry_particles as u32 | (transfer.limited as u32) << 1,
            bandwidth,
            step,
            learning.steps_per_round,
            learning.steps_per_task,
            transfer.carried as u32,
            transfer.remeasure as u32,
            search.initial as u32,
            scaling,
            search.candidates as u32,
            search.refinements as u32,
            // Up to 0.5, the highest two bits are 0.
            search.recommend as u32 | search.verify.to_bits() << 2,
        ] {
            mix(word);
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::DEFAULT
    }
}

#[cfg(test)]
mod tests;
