//! A line chart as data: curves with confidence bands, in one panel or in several that share their axes.

use super::scale::ScaleKind;

/// A line chart as data.
#[derive(Clone, Debug, Default)]
pub struct LineChart {
    /// What the chart shows, for those who cannot see it.
    pub name: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Panels, side by side where there is room and one below the other where not.
    pub panels: Vec<Panel>,
}

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What is measured, and in which unit.
    pub title: String,
    /// Linear or logarithmic.
    pub scale: ScaleKind,
    /// The least and the greatest value that can exist, such as 0 for a regret.
    pub limits: (Option<f64>, Option<f64>),
    /// Where ticks belong; when empty, they are chosen.
    pub ticks: Vec<Tick>,
    /// Whether only whole numbers make sense, as for a count.
    pub whole: bool,
}

/// A tick at a given value.
#[derive(Clone, Debug)]
pub struct Tick {
    /// The value.
    pub at: f64,
    /// What is written there.
    pub label: String,
    /// A second, fainter line below, or nothing.
    pub note: String,
}

/// One set of axes.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// What sets the panel apart from its neighbours.
    pub title: String,
    /// The curves, drawn in this order.
    pub curves: Vec<Curve>,
}

/// A curve with its band.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// How it is drawn.
    pub style: Style,
    /// Its points from left to right.
    pub points: Vec<Sample>,
}

/// A mean and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Place on the horizontal axis.
    pub x: f64,
    /// The mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Which of the curve colours.
    pub ink: usize,
    /// The dashes.
    pub dash: Dash,
    /// Open markers on a thinner line, for the lesser of two alike.
    pub light: bool,
    /// No markers, for a line of reference.
    pub plain: bool,
}

/// Dashes, so that curves differ by more than colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// One stroke.
    #[default]
    Solid,
    /// Long strokes.
    Long,
    /// Short strokes.
    Short,
    /// Long and short strokes in turn.
    DashDot,
    /// Dots.
    Dotted,
}

impl Dash {
    pub(super) fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Solid => None,
            Self::Long => Some("9 4"),
            Self::Short => Some("4 3"),
            Self::DashDot => Some("9 3 2 3"),
            Self::Dotted => Some("1.5 3.5"),
        }
    }
}
