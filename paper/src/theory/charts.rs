//! The measurements as charts.

use super::known::{KnownRow, Rule};
use super::{PhaseRow, Report};
use foretune_report::plot::{
    Axis, Curve, Dash, LineChart, Panel, Sample, ScaleKind, Style, Theme, short_number,
};
use foretune_report::stats::Estimate;

/// Width of a panel, and of everything around.
const PANEL: f64 = 350.0;
const MARGIN: f64 = 90.0;

pub fn charts(report: &Report) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        [1, 2].into_iter().map(|d| (format!("bound-{d}d.svg"), bound(report, d))).collect();
    let phases = &report.phases;
    all.push(("two-phase-excess.svg".into(), excess(phases)));
    all.push(("two-phase-delta.svg".into(), delta(phases)));
    all.push(("two-phase-learning.svg".into(), learning(phases)));
    all
}

/// Regret and bound against `T`, a panel per noise.
fn bound(report: &Report, d: usize) -> String {
    let rows = |noise: f64, rule: Rule| {
        report.known.iter().filter(move |row| row.d == d && row.noise == noise && row.rule == rule)
    };
    let panel = |&noise: &f64| {
        let curve = |label: &str, style, rule, value: &dyn Fn(&KnownRow) -> Estimate| Curve {
            label: label.to_string(),
            style,
            points: rows(noise, rule).map(|row| sample(row.rounds, &value(row))).collect(),
        };
        let exact = |value: f64| Estimate { n: 1, mean: value, half_width: None };
        Panel {
            title: format!("noise variance {}", short_number(noise)),
            curves: vec![
                curve("bound (64)", style(0, Dash::Long), Rule::Expected, &|row| row.bound),
                curve("rule (63)", style(1, Dash::Solid), Rule::Expected, &|row| row.regret),
                curve("optimizer told θ", style(2, Dash::Short), Rule::Optimizer, &|row| row.regret),
                curve("queries at random", style(3, Dash::Dotted), Rule::Expected, &|row| exact(row.random)),
            ],
            y: None,
        }
    };
    let chart = LineChart {
        name: format!("Cumulative expected regret and its bound for known θ, {d} dimension(s)"),
        x: Axis { title: "queries T".into(), whole: true, ..Axis::default() },
        y: Axis { title: "cumulative expected regret".into(), scale: ScaleKind::Log, ..Axis::default() },
        panels: report.options.noises.iter().map(panel).collect(),
    };
    chart.svg(MARGIN + PANEL * report.options.noises.len() as f64, Theme::Standalone)
}

/// What two-phase loses to the optimizer told θ, against `n`.
fn excess(rows: &[PhaseRow]) -> String {
    let curves = by_share(rows, |row| row.excess);
    let zero = Curve {
        label: "told θ".into(),
        style: Style { ink: 7, dash: Dash::Dotted, plain: true, ..Style::default() },
        points: rows.iter().filter(|row| row.c == rows[0].c).map(|row| exact(row.task, 0.0)).collect(),
    };
    single(
        "Excess of Two-phase MFT-MES over the same optimizer told θ",
        "excess of the cumulative expected regret, first ⌈cT⌉ queries",
        ScaleKind::default(),
        [vec![zero], curves].concat(),
    )
}

/// What the extra term of Eq. (51) is to cover, against `n`.
fn delta(rows: &[PhaseRow]) -> String {
    single(
        "Excess of the normalised regret of a query over the least possible",
        "Δ, mean over the first ⌈cT⌉ queries",
        ScaleKind::Log,
        by_share(rows, |row| row.delta),
    )
}

/// How well the lengthscale is known, against `n`, beside the assumption.
fn learning(rows: &[PhaseRow]) -> String {
    let mut curves = by_share(rows, |row| row.error);
    let start = rows.iter().filter(|row| row.task == 2).map(|row| row.error.mean).fold(0.0, f64::max);
    let tasks = rows.iter().map(|row| row.task).max().unwrap_or(0);
    curves.push(Curve {
        label: "as 1/√(n − 1)".into(),
        style: Style { ink: 7, dash: Dash::Dotted, plain: true, ..Style::default() },
        points: (2..=tasks).map(|n| exact(n, start / ((n - 1) as f64).sqrt())).collect(),
    });
    single(
        "Error of the particles' lengthscale at the start of each task",
        "root mean square of ln ℓ − ln ℓ* over particles",
        ScaleKind::Log,
        curves,
    )
}

fn single(name: &str, y: &str, scale: ScaleKind, curves: Vec<Curve>) -> String {
    let chart = LineChart {
        name: name.into(),
        x: Axis { title: "task n".into(), whole: true, ..Axis::default() },
        y: Axis { title: y.into(), scale, ..Axis::default() },
        panels: vec![Panel { curves, ..Panel::default() }],
    };
    chart.svg(2.0 * PANEL, Theme::Standalone)
}

fn by_share(rows: &[PhaseRow], value: fn(&PhaseRow) -> Estimate) -> Vec<Curve> {
    let mut shares: Vec<f64> = Vec::new();
    for row in rows {
        if !shares.contains(&row.c) {
            shares.push(row.c);
        }
    }
    let dashes = [Dash::Solid, Dash::Long, Dash::Short, Dash::DashDot];
    shares
        .iter()
        .enumerate()
        .map(|(i, &c)| Curve {
            label: format!("c = {}", short_number(c)),
            style: style(i, dashes[i % dashes.len()]),
            points: rows.iter().filter(|row| row.c == c).map(|row| sample(row.task, &value(row))).collect(),
        })
        .collect()
}

fn style(ink: usize, dash: Dash) -> Style {
    Style { ink, dash, ..Style::default() }
}

fn sample(x: usize, estimate: &Estimate) -> Sample {
    Sample { x: x as f64, mean: estimate.mean, low: estimate.low(), high: estimate.high() }
}

fn exact(x: usize, value: f64) -> Sample {
    Sample { x: x as f64, mean: value, low: value, high: value }
}
