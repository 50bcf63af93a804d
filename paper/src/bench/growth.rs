//! How time grows with the numbers that a user chooses: observations, particles, units, candidates.
//!
//! Each of them is doubled a few times, the others staying at the usual case. The exponent between the last two points
//! is set beside that of the counted operations: where the two differ, something surprising happens.

use std::time::Duration;

use foretune_core::{Map, Settings};
use serde_json::{Value, json};

use super::Subject;
use foretune_report::plot::{Axis, Curve, Dash, LineChart, Panel, Sample, ScaleKind, Style, Theme};
use host_sim::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// `t`.
    Observations,
    /// `V`.
    Particles,
    /// `H`, units per layer of the deep map.
    Width,
    Candidates,
}

impl Knob {
    pub const ALL: [Knob; 4] = [Knob::Observations, Knob::Particles, Knob::Width, Knob::Candidates];

    pub fn name(self) -> &'static str {
        match self {
            Knob::Observations => "observations t",
            Knob::Particles => "particles V",
            Knob::Width => "units per layer H",
            Knob::Candidates => "candidates",
        }
    }

    fn values(self) -> &'static [usize] {
        match self {
            Knob::Observations => &[8, 16, 32, 64, 128, 248],
            Knob::Particles => &[1, 2, 4, 8, 16],
            Knob::Width => &[8, 16, 32, 64, 128],
            Knob::Candidates => &[64, 128, 256, 512, 1024],
        }
    }

    /// Settings and observations with this one changed.
    fn set(self, mut settings: Settings, observations: usize, value: usize) -> (Settings, usize) {
        match self {
            Knob::Observations => return (settings, value),
            Knob::Particles => settings.particles = value,
            Knob::Width => settings.map = Map::Deep { width: value },
            Knob::Candidates => settings.candidates = value,
        }
        (settings, observations)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub value: usize,
    /// Seconds of a step of learning, and its operations.
    pub step: (f64, f64),
    /// Seconds of a search, and its operations.
    pub ask: (f64, f64),
}

#[derive(Clone, Debug)]
pub struct Curves {
    pub knob: Knob,
    pub map: String,
    /// From the least value to the greatest.
    pub points: Vec<Point>,
}

/// Turns every knob that a subject has, at 40 observations otherwise.
pub fn growth(subject: &Subject, seed: u64, patience: Duration) -> Result<Vec<Curves>, Error> {
    let deep = matches!(subject.settings.map, Map::Deep { .. });
    let knobs = Knob::ALL.into_iter().filter(|&knob| deep || knob != Knob::Width);
    knobs.map(|knob| turn(subject, knob, seed, patience)).collect()
}

fn turn(subject: &Subject, knob: Knob, seed: u64, patience: Duration) -> Result<Curves, Error> {
    let mut points = Vec::new();
    for &value in knob.values() {
        let (settings, observations) = knob.set(subject.settings, 40, value);
        let timing = Subject { settings, ..subject.clone() }.time(observations, seed, patience)?;
        let [step, ask] = [timing.step, timing.ask].map(|(time, work)| (time.as_secs_f64(), work));
        points.push(Point { value, step, ask });
    }
    Ok(Curves { knob, map: subject.map(), points })
}

impl Curves {
    /// Exponents between the last two points: of the time and of the operations of a step, then of a search.
    pub fn exponents(&self) -> [f64; 4] {
        let [.., a, b] = &self.points[..] else { return [0.0; 4] };
        let doublings = (b.value as f64 / a.value as f64).ln();
        let exponent = |a: f64, b: f64| (b / a).ln() / doublings;
        [
            exponent(a.step.0, b.step.0),
            exponent(a.step.1, b.step.1),
            exponent(a.ask.0, b.ask.0),
            exponent(a.ask.1, b.ask.1),
        ]
    }

    pub fn json(&self) -> Value {
        let point = |p: &Point| {
            json!({ "value": p.value, "step_seconds": p.step.0, "step_operations": p.step.1,
                "ask_seconds": p.ask.0, "ask_operations": p.ask.1 })
        };
        json!({
            "knob": self.knob.name(),
            "map": self.map,
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
        })
    }
}

/// All of it in one picture: a panel per knob; dotted the counted operations, through the last point.
pub fn chart(all: &[Curves]) -> String {
    let panel = |knob: Knob| Panel {
        title: knob.name().into(),
        curves: all.iter().filter(|curves| curves.knob == knob).flat_map(curves_of).collect(),
        y: None,
    };
    let chart = LineChart {
        name: "Time of a step of learning and of a search against the size of the problem".into(),
        x: Axis { title: "number of what is named above".into(), scale: ScaleKind::Log, ..Axis::default() },
        y: Axis { title: "milliseconds".into(), scale: ScaleKind::Log, ..Axis::default() },
        panels: Knob::ALL.into_iter().map(panel).collect(),
    };
    chart.svg(1480.0, Theme::Standalone)
}

fn curves_of(curves: &Curves) -> [Curve; 4] {
    let deep = curves.map.starts_with("deep");
    let ink = |step: bool| usize::from(deep) * 2 + usize::from(step);
    let curve = |step: bool, counted: bool| {
        let side = |p: &Point| if step { p.step } else { p.ask };
        let scale = curves.points.last().map_or(0.0, |p| side(p).0 / side(p).1);
        let sample = |p: &Point| {
            let y = 1e3 * if counted { side(p).1 * scale } else { side(p).0 };
            Sample { x: p.value as f64, mean: y, low: y, high: y }
        };
        Curve {
            label: format!(
                "{} {}{}",
                if deep { "deep" } else { "ard" },
                if step { "step" } else { "ask" },
                if counted { ", counted" } else { "" }
            ),
            style: Style {
                ink: ink(step),
                dash: if counted { Dash::Dotted } else { Dash::Solid },
                plain: counted,
                ..Style::default()
            },
            points: curves.points.iter().map(sample).collect(),
        }
    };
    [curve(true, false), curve(true, true), curve(false, false), curve(false, true)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_those_of_the_last_two_points() {
        let point = |value: usize| {
            let x = value as f64;
            Point { value, step: (x * x, x), ask: (3.0 * x * x * x, 1.0) }
        };
        let curves =
            Curves { knob: Knob::Particles, map: "ard".into(), points: vec![point(1), point(2), point(4)] };
        let [a, b, c, d] = curves.exponents();
        assert!((a - 2.0).abs() < 1e-12 && (b - 1.0).abs() < 1e-12 && (c - 3.0).abs() < 1e-12 && d == 0.0);
        assert!(chart(&[curves]).starts_with("<svg"));
    }
}
