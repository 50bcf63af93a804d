//! Guarded KPIs: what a measurement gives beside its value, and what of it must be kept.

use foretune_core::{Floor, Guard, Level, Side};

use super::service::{level, level_words};

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
