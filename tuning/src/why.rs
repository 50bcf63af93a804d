//! Why a setting was measured: what was expected of it, and what was ruled out by which bound.

use std::collections::BTreeMap;

use foretune_core::{Belief, Level, Reasons, Side};
use serde::{Deserialize, Serialize};

use super::state::{TaskState, Told};
use crate::{Target, Why};
use foretune_report::plot::short_number;
use host_sim::problems::Guarded;
use host_sim::words::counted;

/// The objective's name among the KPIs, as a command prints it.
pub const VALUE: &str = "value";

/// What the model thought when it asked, in natural units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Because {
    /// What was expected of the objective, `value`, and of every guarded KPI.
    pub expected: BTreeMap<String, Expected>,
    /// Left out where the setting was not asked for what its answer tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Worth>,
    /// Candidates that the search looked at, if the setting was asked for what its answer tells: what the optimizer counts otherwise is of
    /// an earlier search, which is not run again after a restart.
    pub looked_at: u32,
    /// How often the world had changed since the task began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changes: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub mean: f32,
    pub deviation: f32,
    /// What must be kept to, and how many deviations must lie between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f32>,
    pub margin: f32,
    /// Candidates that the bound ruled out.
    pub ruled_out: u32,
}

/// Information in nats, and its price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worth {
    pub optimum: f32,
    pub particles: f32,
    pub price: f32,
}

impl Because {
    /// In a target's units; deviations wider where noise was estimated.
    pub fn of(target: &Target, reasons: &Reasons, widening: f32) -> Self {
        let of_search = |count: u32| if reasons.score.is_some() { count } else { 0 };
        let plain = |belief: &Belief| Expected {
            mean: belief.mean,
            deviation: widening * belief.deviation,
            bound: belief.bound,
            margin: belief.margin,
            ruled_out: of_search(belief.ruled_out),
        };
        let kpi = |(guard, belief): (&Guarded, &Belief)| {
            let told = plain(belief);
            let natural = |told: f32| guard.untold(told) as f32;
            let slope = if guard.log { natural(told.mean) } else { 1.0 };
            let (mean, bound) = (natural(told.mean), told.bound.map(natural));
            (guard.name.clone(), Expected { mean, deviation: slope * told.deviation, bound, ..told })
        };
        let mut expected: BTreeMap<String, Expected> =
            target.guards.iter().zip(&reasons.guards).map(kpi).collect();
        expected.insert(VALUE.into(), plain(&reasons.objective));
        let score = reasons.score.map(|score| Worth {
            optimum: score.optimum,
            particles: score.particles,
            price: score.price,
        });
        Self { expected, score, looked_at: of_search(reasons.looked_at), changes: reasons.changes }
    }

    /// Whether one bound alone ruled out all candidates. Under conditions the setting in use is allowed all the same.
    fn nothing_is_allowed(&self, target: &Target) -> bool {
        let asked = target.conditions().is_empty() && self.looked_at > 0;
        asked && self.expected.values().any(|expected| expected.ruled_out == self.looked_at)
    }
}

/// Why a setting was measured, a line for each reason.
pub fn reasons(target: &Target, told: &Told) -> Vec<String> {
    let mut lines = vec![match (told.why, told.because.as_ref().and_then(|because| because.score)) {
        (Why::Noise, _) => "the setting in use, to learn how noisy a measurement is".into(),
        (Why::Initial, _) => "one of the first of a task".into(),
        (Why::Carried, _) => "recommended in an earlier task".into(),
        (Why::Search, Some(_))
            if told.because.as_ref().is_some_and(|because| because.nothing_is_allowed(target)) =>
        {
            "nothing is allowed: the safest, or within a guard's noise the most promising".into()
        }
        (Why::Search, Some(Worth { optimum, particles, price })) => format!(
            "tells most for its price: {} nats about the best value and {} about the model, for {}",
            short_number(optimum.into()),
            short_number(particles.into()),
            short_number(price.into())
        ),
        (Why::Search, None) => {
            "to check what would be recommended, or an answer that was doubted".to_string()
        }
    }];
    let Some(because) = &told.because else { return lines };
    if because.changes > 0 {
        lines.push(format!(
            "the world has changed since the task began: {}",
            counted(because.changes as usize, "time")
        ));
    }
    for (name, expected) in &because.expected {
        let mut line = format!(
            "{name}: {} ± {} expected",
            short_number(expected.mean.into()),
            short_number(expected.deviation.into())
        );
        if let Some(measured) = told.measured(target, name) {
            line += &format!(", {} measured", short_number(measured));
        }
        if let Some(bound) = expected.bound {
            let word = if target.side(name) == Side::AtLeast { "at least" } else { "at most" };
            let [bound, margin] = [bound, expected.margin].map(|number| short_number(number.into()));
            line += &format!("; {word} {bound} is to be kept by {margin} deviations");
            if because.looked_at > 0 {
                let (out, all) = (expected.ruled_out, because.looked_at);
                line += &format!(", which ruled out {out} of {all} candidates");
            }
        }
        lines.push(line);
    }
    lines
}

/// Which bounds with a value of their own the setting in use does not reach, a line for each.
pub fn lacking(target: &Target, task: &TaskState) -> Vec<String> {
    let floor = target.floor.iter().map(|floor| (VALUE, "the floor", floor.level));
    let guards = target.guards.iter().map(|guard| (&guard.name[..], "the bound", guard.level));
    let line = |(name, what, level): (&str, &str, Level)| {
        let (Level::Value(bound), Some(given)) = (level, task.measured_in_use(target, name)) else {
            return None;
        };
        let beyond = match target.side(name) {
            Side::AtLeast if given < bound.into() => "below",
            Side::AtMost if given > bound.into() => "above",
            _ => return None,
        };
        let [given, bound] = [given, bound.into()].map(short_number);
        let of = if name == VALUE { String::new() } else { format!(" of `{name}`") };
        Some(format!("The setting in use gives {given}{of}, {beyond} {what} of {bound}."))
    };
    floor.chain(guards).filter_map(line).collect()
}
