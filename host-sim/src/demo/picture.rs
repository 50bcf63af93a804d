//! The demonstration as a picture.

use crate::error::Error;
use crate::plot::{Axis, Curve, Dash, LineChart, Panel, Sample, Style, Theme};
use crate::results::{Metric, Point, Samples, Study};

/// Share of the best possible by task: with the setting found, and meanwhile. As an SVG file.
///
/// # Errors
/// [`Error::Results`] if the study cannot be read.
pub fn picture(study: &Study) -> Result<String, Error> {
    let (manifest, rows) = (study.manifest(), study.load()?.rows);
    let styles = [
        Style { ink: 2, dash: Dash::DashDot, ..Style::default() },
        Style { ink: 1, dash: Dash::Long, ..Style::default() },
        Style { ink: 0, ..Style::default() },
    ];
    let panel = |point: Point, title: &str| {
        let samples = Samples::new(manifest, &rows, Metric::Ratio, point);
        let sample = |variant, task| {
            let estimate = samples.estimate(variant, task)?;
            let (low, high) = (estimate.low(), estimate.high());
            Some(Sample { x: f64::from(task), mean: estimate.mean, low, high })
        };
        let curves = manifest.variants.iter().enumerate().map(|(v, variant)| Curve {
            label: variant.label.clone(),
            style: styles[v % styles.len()],
            points: (1..=manifest.tasks).filter_map(|task| sample(v, task)).collect(),
        });
        Panel { title: title.into(), curves: curves.collect() }
    };
    let chart = LineChart {
        name: "Share of the best possible spectral efficiency by task, for three ways of tuning".into(),
        x: Axis { title: "task".into(), whole: true, ..Axis::default() },
        y: Axis {
            title: "share of the best possible".into(),
            limits: (Some(0.0), Some(1.0)),
            ..Axis::default()
        },
        panels: vec![
            panel(Point::Recommended, "With the setting that was found"),
            panel(Point::Tried, "Meanwhile: mean over the settings tried"),
        ],
    };
    Ok(chart.svg(960.0, Theme::Standalone))
}
