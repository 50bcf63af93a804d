//! What a user chooses: method, model, learning, search. Presets: [`Settings::PAPER`], [`Settings::DEFAULT`].

use core::f32::consts::FRAC_1_SQRT_2;

use crate::acquisition::Information;
use crate::data::{LARGEST_VALUE, Scaling};
use crate::error::Error;
use crate::features::Map;
use crate::kernel::Model;
use crate::prior::{LogNormal, MAX_PARTICLES, Prior, Weights};
use crate::svgd::{Bandwidth, Step};

/// Most samples of the optimum's value per particle.
pub const MAX_SAMPLES: usize = 16;
/// Most points carried from task to task.
pub const MAX_CARRIED: usize = 8;

/// Which queries are made, and what is carried from task to task.
#[derive(Clone, Copy, Debug, PartialEq)]
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
pub enum Recommend {
    /// At a point that was queried.
    Queried,
    /// Anywhere in the space: the highest posterior mean that the search finds.
    Anywhere,
}

/// All settings. Plain values; [`checked`](Settings::checked) says whether they make sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Which queries are made.
    pub method: Method,
    /// The kernel's feature map; a deep one at most 512 units wide.
    pub map: Map,
    /// Number of particles `V`, 1 to 16; [`Method::MfMes`] takes 1.
    pub particles: usize,
    /// Weight `β` of the information about `θ` in [`Method::MftMes`], at least 0. The paper's printed β is twice this.
    pub beta: f32,
    /// Form of the information about the optimum.
    pub information: Information,
    /// Samples `S` of the optimum's value per particle, 1 to 16.
    pub max_values: usize,
    /// Prior of `θ` in the first task.
    pub prior: Prior,
    /// Whether the next task starts from this one's particles (else from the prior). Ignored by [`Method::MfMes`].
    pub carry_particles: bool,
    /// Deviation of the density estimate around each carried particle, in units of `θ`; above 0.
    pub kde_bandwidth: f32,
    /// Share of the first task's prior in the later tasks' priors, in `[0, 1]`; the paper has 0.
    pub kde_mix: f32,
    /// Kernel between particles.
    pub bandwidth: Bandwidth,
    /// How particles move.
    pub step: Step,
    /// Learning steps after every observation, once the initial points are in; the paper has 0.
    pub steps_per_round: u32,
    /// Learning steps `R` at the end of a task (not if nothing of it is carried on).
    pub steps_per_task: u32,
    /// How many of the last tasks' recommendations are carried on, 0 to 8; the paper has 0.
    pub carried: usize,
    /// Whether carried points are measured again, at the truth's fidelity, charged like any query.
    pub retry: bool,
    /// How well the values remembered of carried points are believed: their deviation from the values in this task, in
    /// deviations of the observations. They then take part in the model, each in a slot for an observation. 0: they are
    /// not used.
    pub doubt: f32,
    /// Share of the budget, in `[0, 1]`, that is spent before carried points and values play a part: a fresh look, or the
    /// first task's second-best optimum would be found again in all later ones.
    pub fresh: f32,
    /// Initial points, uniform at uniform fidelities, not charged to the budget.
    pub initial: usize,
    /// Scaling of the observations. [`Scaling::Initial`] needs initial points.
    pub scaling: Scaling,
    /// Candidates of the search, at least 16, at most `Q` of the memory's type.
    pub candidates: usize,
    /// How often the search is refined around its best candidates, 0 to 8.
    pub refinements: usize,
    /// Where the recommendation may lie.
    pub recommend: Recommend,
}

impl Settings {
    /// The paper's settings; what it does not say is set after kin work (see the design notes in the README).
    ///
    /// `scaling` and `initial` belong to the problem: set them beside.
    pub const PAPER: Settings = Settings {
        method: Method::MftMes,
        map: Map::Deep { width: 64 },
        particles: 10,
        beta: 0.6,
        information: Information::Paper,
        max_values: 10,
        prior: Prior {
            weights: Weights::Fixed(0.5),
            length: LogNormal { mean: -0.7, deviation: FRAC_1_SQRT_2 },
            signal: LogNormal { mean: 0.0, deviation: FRAC_1_SQRT_2 },
            gamma: LogNormal { mean: -2.3, deviation: FRAC_1_SQRT_2 },
        },
        carry_particles: true,
        kde_bandwidth: 0.55,
        kde_mix: 0.0,
        bandwidth: Bandwidth::Fixed(1.0 / 1.326),
        step: Step::Plain { rate: 1e-3 },
        steps_per_round: 0,
        steps_per_task: 2000,
        carried: 0,
        retry: true,
        doubt: 0.0,
        fresh: 0.0,
        initial: 10,
        scaling: Scaling::Fixed { mean: 0.0, deviation: 1.0 },
        candidates: 512,
        refinements: 3,
        recommend: Recommend::Queried,
    };

    /// Our own preset, small enough for a Cortex-M4F: ARD map, learning after every observation, best points carried.
    pub const DEFAULT: Settings = Settings {
        method: Method::MftMes,
        map: Map::Ard,
        particles: 10,
        beta: 0.2,
        information: Information::Correlated,
        max_values: 10,
        prior: Prior {
            weights: Weights::PerInput(0.5),
            length: LogNormal { mean: -1.2, deviation: 0.8 },
            signal: LogNormal { mean: 1.5, deviation: 0.7 },
            gamma: LogNormal { mean: -4.0, deviation: 1.5 },
        },
        carry_particles: true,
        kde_bandwidth: 0.55,
        kde_mix: 0.2,
        bandwidth: Bandwidth::Median,
        step: Step::Adam { rate: 0.05 },
        steps_per_round: 10,
        steps_per_task: 20,
        carried: 4,
        retry: true,
        doubt: 1.0,
        fresh: 0.4,
        initial: 10,
        scaling: Scaling::Initial,
        candidates: 128,
        refinements: 3,
        recommend: Recommend::Anywhere,
    };

    /// The settings, if all are in range.
    ///
    /// # Errors
    /// [`Error::Setting`] with the name of the first field that is not.
    pub const fn checked(self) -> Result<Self, Error> {
        macro_rules! require {
            ($($name:literal: $condition:expr;)*) => {
                $(if !$condition { return Err(Error::Setting($name)); })*
            };
        }
        require! {
            "method": match self.method {
                Method::Separation { c } | Method::Myopic { c } | Method::TwoPhase { c } => c >= 0.0 && c <= 1.0,
                Method::MfMes => self.particles == 1,
                _ => true,
            };
            "map": match self.map {
                Map::Ard => true,
                Map::Deep { width } => width >= 1 && width <= 512,
            };
            "particles": self.particles >= 1 && self.particles <= MAX_PARTICLES;
            "beta": self.beta >= 0.0 && self.beta <= 1e6;
            "max_values": self.max_values >= 1 && self.max_values <= MAX_SAMPLES;
            "prior": self.prior.is_valid();
            "kde_bandwidth": self.kde_bandwidth > 1e-6 && self.kde_bandwidth <= 1e3;
            "kde_mix": self.kde_mix >= 0.0 && self.kde_mix <= 1.0;
            "bandwidth": match self.bandwidth {
                Bandwidth::Fixed(h) => h > 0.0 && h <= 1e9,
                Bandwidth::Median => true,
            };
            "step": self.step.rate() > 0.0 && self.step.rate() <= 10.0;
            "steps_per_round": self.steps_per_round <= 1_000_000;
            "steps_per_task": self.steps_per_task <= 1_000_000;
            "carried": self.carried <= MAX_CARRIED;
            "doubt": self.doubt == 0.0 || (self.doubt >= 1e-3 && self.doubt <= 1e3);
            "fresh": self.fresh >= 0.0 && self.fresh <= 1.0;
            "scaling": match self.scaling {
                Scaling::Fixed { mean, deviation } => mean.abs() <= LARGEST_VALUE && deviation >= 1e-20 && deviation <= 1e20,
                Scaling::Initial => self.initial > 0,
                Scaling::Running => true,
            };
            "candidates": self.candidates >= 16;
            "refinements": self.refinements <= 8;
        }
        Ok(self)
    }

    /// The same settings for another method. [`Method::MfMes`] takes one particle and carries nothing.
    pub const fn with_method(self, method: Method) -> Self {
        match method {
            Method::MfMes => Settings { method, particles: 1, carried: 0, ..self },
            _ => Settings { method, ..self },
        }
    }

    /// The model that these settings make of a problem with `d` dimensions.
    pub const fn model(&self, d: usize) -> Model {
        Model { map: self.map, dimensions: d, offsets: self.prior.offsets() }
    }

    /// Whether particles go on to the next task.
    pub(crate) const fn carries_particles(&self) -> bool {
        self.carry_particles && !matches!(self.method, Method::MfMes)
    }

    /// Most values remembered of earlier tasks.
    pub(crate) const fn remembers(&self) -> usize {
        if self.doubt > 0.0 { self.carried } else { 0 }
    }

    /// Checksum of everything that decides which queries are made.
    pub(crate) fn fingerprint(&self, mut mix: impl FnMut(u32)) {
        let mut float = |x: f32| mix(x.to_bits());
        let (method, c) = match self.method {
            Method::MfMes => (0, 0.0),
            Method::Continual => (1, 0.0),
            Method::MftMes => (2, 0.0),
            Method::Separation { c } => (3, c),
            Method::Myopic { c } => (4, c),
            Method::TwoPhase { c } => (5, c),
        };
        float(c);
        float(self.beta);
        let (Weights::Fixed(weights) | Weights::PerInput(weights)) = self.prior.weights;
        float(weights);
        for log in [self.prior.length, self.prior.signal, self.prior.gamma] {
            float(log.mean);
            float(log.deviation);
        }
        float(self.kde_bandwidth);
        float(self.kde_mix);
        float(self.doubt);
        float(self.fresh);
        let (bandwidth, h) = match self.bandwidth {
            Bandwidth::Fixed(h) => (0, h),
            Bandwidth::Median => (1, 0.0),
        };
        float(h);
        float(self.step.rate());
        let (scaling, mean, deviation) = match self.scaling {
            Scaling::Fixed { mean, deviation } => (0, mean, deviation),
            Scaling::Initial => (1, 0.0, 0.0),
            Scaling::Running => (2, 0.0, 0.0),
        };
        float(mean);
        float(deviation);
        let (map, width) = match self.map {
            Map::Ard => (0, 0),
            Map::Deep { width } => (1, width as u32),
        };
        let step = match self.step {
            Step::Plain { .. } => 0,
            Step::Adam { .. } => 1,
            Step::Shared { .. } => 2,
        };
        for word in [
            method,
            map,
            width,
            self.particles as u32,
            self.information as u32,
            self.max_values as u32,
            matches!(self.prior.weights, Weights::PerInput(_)) as u32,
            self.carry_particles as u32,
            bandwidth,
            step,
            self.steps_per_round,
            self.steps_per_task,
            self.carried as u32,
            self.retry as u32,
            self.initial as u32,
            scaling,
            self.candidates as u32,
            self.refinements as u32,
            self.recommend as u32,
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
mod tests {
    use super::*;

    const _: () = assert!(Settings::PAPER.checked().is_ok());
    const _: () = assert!(Settings::DEFAULT.checked().is_ok());

    #[test]
    fn bad_values_are_refused_by_name() {
        let good = Settings::DEFAULT;
        for (bad, name) in [
            (Settings { particles: 0, ..good }, "particles"),
            (Settings { particles: 17, ..good }, "particles"),
            (Settings { method: Method::MfMes, ..good }, "method"),
            (Settings { method: Method::TwoPhase { c: f32::NAN }, ..good }, "method"),
            (Settings { beta: -1.0, ..good }, "beta"),
            (Settings { beta: f32::NAN, ..good }, "beta"),
            (Settings { kde_mix: 1.5, ..good }, "kde_mix"),
            (Settings { step: Step::Plain { rate: 0.0 }, ..good }, "step"),
            (Settings { candidates: 3, ..good }, "candidates"),
            (Settings { doubt: -1.0, ..good }, "doubt"),
            (Settings { fresh: f32::NAN, ..good }, "fresh"),
            (Settings { scaling: Scaling::Fixed { mean: 0.0, deviation: 0.0 }, ..good }, "scaling"),
            (Settings { scaling: Scaling::Initial, initial: 0, ..good }, "scaling"),
            (Settings { map: Map::Deep { width: 0 }, ..good }, "map"),
            (
                Settings {
                    prior: Prior { gamma: LogNormal { mean: 0.0, deviation: 1e-30 }, ..good.prior },
                    ..good
                },
                "prior",
            ),
        ] {
            assert_eq!(bad.checked(), Err(Error::Setting(name)));
        }
        assert_eq!(good.with_method(Method::MfMes).checked().map(|s| s.particles), Ok(1));
    }

    #[test]
    fn every_setting_is_in_the_fingerprint() {
        let print = |settings: Settings| {
            let mut sum = 0u32;
            settings.fingerprint(|word| sum = sum.wrapping_mul(0x0100_0193).wrapping_add(word ^ 0x5bd1));
            sum
        };
        let base = Settings::DEFAULT;
        let log = LogNormal { mean: 0.1, deviation: 0.2 };
        for other in [
            Settings { method: Method::Continual, ..base },
            Settings { map: Map::Deep { width: 8 }, ..base },
            Settings { particles: 9, ..base },
            Settings { beta: 0.7, ..base },
            Settings { information: Information::Paper, ..base },
            Settings { max_values: 9, ..base },
            Settings { prior: Prior { length: log, ..base.prior }, ..base },
            Settings { prior: Prior { signal: log, ..base.prior }, ..base },
            Settings { prior: Prior { gamma: log, ..base.prior }, ..base },
            Settings { prior: Prior { weights: Weights::Fixed(0.5), ..base.prior }, ..base },
            Settings { carry_particles: false, ..base },
            Settings { kde_bandwidth: 0.5, ..base },
            Settings { kde_mix: 0.3, ..base },
            Settings { bandwidth: Bandwidth::Fixed(0.3), ..base },
            Settings { step: Step::Shared { rate: 0.05 }, ..base },
            Settings { step: Step::Adam { rate: 0.06 }, ..base },
            Settings { steps_per_round: 4, ..base },
            Settings { steps_per_task: 4, ..base },
            Settings { carried: 1, ..base },
            Settings { retry: !base.retry, ..base },
            Settings { doubt: 0.7, ..base },
            Settings { fresh: 0.7, ..base },
            Settings { initial: 1, ..base },
            Settings { scaling: Scaling::Running, ..base },
            Settings { candidates: 17, ..base },
            Settings { refinements: 1, ..base },
            Settings { recommend: Recommend::Queried, ..base },
        ] {
            assert_ne!(print(base), print(other), "{other:?}");
        }
    }
}
