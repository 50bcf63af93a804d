//! From a study's values to charts.

use super::samples::setting;
use super::{StudyData, Who};
use crate::plot::{Axis, Curve, Dash, HeatMap, HeatRow, LineChart, Panel, Sample, ScaleKind, Style, Tick};
use crate::samples::Sweep;
use crate::stats::Estimate;
use crate::{Metric, Point, Samples};
use host_sim::results::Variant;

/// The two points of a task that are shown: what the paper measures, and what a user gets.
pub const POINTS: [(Point, &str); 2] =
    [(Point::Best, "Best point tried (the paper's measure)"), (Point::Recommended, "Recommended point")];

/// Regret or ratio against the task, a curve per variant.
pub fn lines(study: &StudyData) -> LineChart {
    let styles = styles(&study.manifest.variants);
    let panel = |(point, title): (Point, &str)| {
        let samples = study.samples(point);
        let curve = |(i, variant): (usize, &Variant)| Curve {
            label: variant.label.clone(),
            style: styles[i],
            points: (1..=study.manifest.tasks)
                .filter_map(|t| sample(f64::from(t), samples.estimate(i, t)?))
                .collect(),
        };
        Panel {
            title: title.into(),
            curves: study.manifest.variants.iter().enumerate().map(curve).collect(),
            y: None,
        }
    };
    LineChart {
        name: format!("{} by task, one curve per method, with 90 % bands", measure(study.metric())),
        x: Axis { title: "task n".into(), whole: true, ..Axis::default() },
        y: y_axis(study.metric()),
        panels: POINTS.map(panel).into(),
    }
}

/// Regret or ratio against the swept setting, a panel per task.
pub fn slices(study: &StudyData, sweep: Sweep, tasks: &[u32], (point, title): (Point, &str)) -> LineChart {
    let samples = study.samples(point);
    let members = sweep.members(&study.manifest);
    let tick = |&(value, _): &(f64, usize)| Tick {
        at: value,
        label: setting(value),
        note: if sweep == Sweep::Beta { format!("({})", setting(2.0 * value)) } else { String::new() },
    };
    let panel = |&task: &u32| {
        let swept = members.iter().filter_map(|&(value, i)| sample(value, samples.estimate(i, task)?));
        let main = Curve {
            label: if sweep == Sweep::Beta { "MFT-MES".into() } else { "Two-phase MFT-MES".into() },
            style: method_style(if sweep == Sweep::Beta { "mft-mes" } else { "two-phase" }),
            points: swept.collect(),
        };
        let flat = |(who, label): (Who, &str)| {
            let variant = who.find(&study.manifest)?;
            let estimate = samples.estimate(variant, task)?;
            let points = members.iter().filter_map(|m| sample(m.0, estimate)).collect();
            let style = Style { plain: true, ..method_style(who.method) };
            Some(Curve { label: label.into(), style, points })
        };
        let references = [(Who::any("continual"), "Continual MF-MES"), (Who::any("mf-mes"), "MF-MES")];
        let curves = references.into_iter().filter_map(flat).chain([main]).collect();
        Panel { title: format!("After n = {task} tasks"), curves, y: None }
    };
    let x_title = match sweep {
        Sweep::Beta => "β (in brackets: as the paper prints it)",
        Sweep::Share => "1 − c",
    };
    LineChart {
        name: format!("{title}: {} against {}", measure(study.metric()), sweep.symbol()),
        x: Axis { title: x_title.into(), ticks: members.iter().map(tick).collect(), ..Axis::default() },
        y: y_axis(study.metric()),
        panels: tasks.iter().map(panel).collect(),
    }
}

/// The swept setting against the task, the best of each task marked.
pub fn surface(study: &StudyData, sweep: Sweep, (point, title): (Point, &str)) -> HeatMap {
    let samples = study.samples(point);
    let tasks = study.manifest.tasks;
    let members = sweep.members(&study.manifest);
    let cells = |variant: usize| (1..=tasks).map(|t| samples.estimate(variant, t).map(|e| e.mean)).collect();
    let mut rows: Vec<HeatRow> = members
        .iter()
        .rev()
        .map(|&(value, variant)| HeatRow { label: sweep.label(value), cells: cells(variant), apart: false })
        .collect();
    let swept = rows.len();
    let references: &[&str] = if sweep == Sweep::Beta { &["mf-mes"] } else { &["continual", "mf-mes"] };
    for method in references {
        if let Some(variant) = Who::any(method).find(&study.manifest) {
            let label = if *method == "mf-mes" { "MF-MES" } else { "Continual" };
            rows.push(HeatRow { label: label.into(), cells: cells(variant), apart: rows.len() == swept });
        }
    }
    let y_title = match sweep {
        Sweep::Beta => "β (as printed); 0 is Continual MF-MES",
        Sweep::Share => "1 − c: share of queries for transfer",
    };
    HeatMap {
        name: format!("{title}: {} for each {} and task", measure(study.metric()), sweep.symbol()),
        title: title.into(),
        x_title: "task n".into(),
        y_title: y_title.into(),
        value_title: measure(study.metric()).to_lowercase(),
        columns: (1..=tasks).map(|t| t.to_string()).collect(),
        stars: (0..tasks as usize).map(|t| best_row(&rows[..swept], t, &samples)).collect(),
        rows,
        low_is_better: study.metric() == Metric::Regret,
        log: study.metric() == Metric::Regret,
    }
}

fn best_row(rows: &[HeatRow], task: usize, samples: &Samples) -> Option<usize> {
    let gain = |row: &HeatRow| row.cells[task].map(|v| samples.metric().gain(v, 0.0));
    let gains: Option<Vec<f64>> = rows.iter().map(gain).collect();
    let gains = gains?;
    (0..gains.len()).max_by(|&a, &b| gains[a].total_cmp(&gains[b]))
}

/// An estimate as a point of a curve, where it is a number.
pub fn sample(x: f64, estimate: Estimate) -> Option<Sample> {
    let Estimate { mean, .. } = estimate;
    mean.is_finite().then(|| Sample { x, mean, low: estimate.low(), high: estimate.high() })
}

pub fn measure(metric: Metric) -> &'static str {
    match metric {
        Metric::Regret => "Simple regret",
        Metric::Ratio => "Optimality ratio",
        Metric::Value => "Value",
    }
}

pub fn y_axis(metric: Metric) -> Axis {
    match metric {
        Metric::Regret => Axis {
            title: "simple regret (logarithmic; lower is better)".into(),
            scale: ScaleKind::Log,
            ..Axis::default()
        },
        Metric::Ratio => Axis {
            title: "optimality ratio (higher is better)".into(),
            limits: (Some(0.0), Some(1.0)),
            ..Axis::default()
        },
        Metric::Value => Axis { title: "value (higher is better)".into(), ..Axis::default() },
    }
}

/// A method looks the same in all charts.
fn method_style(method: &str) -> Style {
    let (ink, dash) = match method {
        "mft-mes" => (0, Dash::Solid),
        "continual" => (1, Dash::Long),
        "mf-mes" => (2, Dash::DashDot),
        "separation" => (3, Dash::Short),
        "separation-myopic" => (4, Dash::Dotted),
        "two-phase" => (5, Dash::Long),
        "random" => (7, Dash::Dotted),
        "lattice" => (6, Dash::Short),
        "random-cheapest" => (7, Dash::Short),
        "never" => (6, Dash::Dotted),
        "kept" => (6, Dash::Long),
        "hill-climbing" => (5, Dash::Solid),
        "mf-mes-ten" => (2, Dash::Solid),
        "warm-start" => (3, Dash::Solid),
        _ => (6, Dash::Solid),
    };
    Style { ink, dash, ..Style::default() }
}

/// Styles by method; fewer particles than another variant of the method are drawn light. Where that does not tell all
/// variants apart, each gets a colour of its own.
pub fn styles(variants: &[Variant]) -> Vec<Style> {
    let particles = |v: &Variant| v.number("particles").unwrap_or(0.0);
    let style = |v: &Variant| {
        let most = variants.iter().filter(|o| o.method == v.method).map(particles).fold(0.0, f64::max);
        Style { light: particles(v) < most, ..method_style(&v.method) }
    };
    let by_method: Vec<Style> = variants.iter().map(style).collect();
    let distinct = by_method.iter().enumerate().all(|(i, s)| !by_method[..i].contains(s));
    if distinct {
        return by_method;
    }
    const DASHES: [Dash; 3] = [Dash::Solid, Dash::Long, Dash::Short];
    let by_index = |i: usize| Style { ink: i, dash: DASHES[i / 8 % 3], ..Style::default() };
    (0..variants.len()).map(by_index).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::study;
    use super::*;

    #[test]
    fn lines_show_every_variant_twice() {
        let chart = lines(&study("fig3", 4));
        assert_eq!(chart.panels.len(), 2);
        assert!(
            chart.panels.iter().all(|p| p.curves.len() == 5 && p.curves.iter().all(|c| c.points.len() == 10))
        );
        let styles: Vec<Style> = chart.panels[0].curves.iter().map(|c| c.style).collect();
        assert_eq!(styles.iter().filter(|s| s.light).count(), 2, "five particles are drawn light");
    }

    #[test]
    fn surfaces_mark_the_best_of_each_task_among_the_sweep() {
        let data = study("fig4", 4);
        let map = surface(&data, Sweep::Beta, POINTS[0]);
        let lowest = |task: usize| {
            let value = |r: &HeatRow| r.cells[task].unwrap();
            let swept = &map.rows[..map.rows.len() - 1];
            (0..swept.len()).min_by(|&a, &b| value(&swept[a]).total_cmp(&value(&swept[b])))
        };
        assert_eq!(map.rows.last().unwrap().label, "MF-MES");
        assert_eq!(map.stars, (0..10).map(lowest).collect::<Vec<_>>());
    }

    #[test]
    fn slices_have_a_panel_per_task_with_references() {
        let chart = slices(&study("fig6", 3), Sweep::Beta, &[20, 40], POINTS[0]);
        assert_eq!(chart.panels.len(), 2);
        assert_eq!(chart.panels[1].curves.len(), 3);
    }

    #[test]
    fn variants_of_one_method_are_told_apart() {
        let data = study("fig4", 2);
        let styles = styles(&data.manifest.variants);
        assert!((1..styles.len()).all(|i| !styles[..i].contains(&styles[i])));
    }
}
