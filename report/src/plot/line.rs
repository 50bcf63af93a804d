//! A line chart, and how it is drawn: its panels side by side, a legend or names at the curves' ends.

use super::label::text_width;
use super::panel::{self, Frame};
use super::scale::{Scale, ScaleKind, domain};
use super::svg::{Canvas, Font};
use super::theme::Theme;

#[derive(Clone, Debug, Default)]
pub struct LineChart {
    /// What the chart shows, for those who cannot see it.
    pub name: String,
    pub x: Axis,
    pub y: Axis,
    /// Panels, side by side where there is room and one below the other where not.
    pub panels: Vec<Panel>,
}

#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What is measured, and in which unit.
    pub title: String,
    pub scale: ScaleKind,
    /// The least and the greatest value that can exist, such as 0 for a regret.
    pub limits: (Option<f64>, Option<f64>),
    /// Where ticks belong; when empty, they are chosen.
    pub ticks: Vec<Tick>,
    /// Whether only whole numbers make sense, as for a count.
    pub whole: bool,
}

#[derive(Clone, Debug)]
pub struct Tick {
    pub at: f64,
    pub label: String,
    /// A second, fainter line below, or nothing.
    pub note: String,
}

#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// What sets the panel apart from its neighbours.
    pub title: String,
    /// The curves, drawn in this order.
    pub curves: Vec<Curve>,
    /// Its vertical axis, if it is not the chart's; such panels stand below each other.
    pub y: Option<Axis>,
}

#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    pub style: Style,
    pub points: Vec<Sample>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub x: f64,
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub ink: usize,
    pub dash: Dash,
    /// Open markers on a thinner line, for the lesser of two alike.
    pub light: bool,
    /// No markers, for a line of reference.
    pub plain: bool,
}

/// Dashes, so that curves differ by more than colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    #[default]
    Solid,
    Long,
    Short,
    /// Long and short strokes in turn.
    DashDot,
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

/// The least width of a panel beside another.
const LEAST_PANEL: f64 = 300.0;
const GAP: f64 = 34.0;
const EDGE: f64 = 10.0;

impl LineChart {
    /// Lays the chart out for a width in pixels.
    pub fn svg(&self, width: f64, theme: Theme) -> String {
        let mut canvas = Canvas::new(theme);
        let x_domain = self.domain_of_x();
        let left = self.panels.iter().map(|panel| self.left_margin(panel)).fold(EDGE, f64::max);
        let beside = self.side_by_side(width, left);
        let right = panel::direct_margin(&self.panels, width);
        let mut top = EDGE;
        if right.is_none() {
            let start = if width < 520.0 { EDGE } else { left };
            top = panel::draw_legend(&mut canvas, &self.panels, (start, width - EDGE), top);
        }
        let columns = if beside { self.panels.len().max(1) } else { 1 };
        let inner = width - left - right.unwrap_or(EDGE + 6.0) - GAP * (columns - 1) as f64;
        let panel_width = inner / columns as f64;
        let plot_height = (0.62 * panel_width).clamp(190.0, 290.0);
        let own = self.panels.iter().find_map(|panel| panel.y.as_ref());
        let header = panel::header_height(&self.panels, &own.unwrap_or(&self.y).title);
        let footer = panel::footer_height(&self.x);
        for (i, panel) in self.panels.iter().enumerate() {
            let (column, row) = if beside { (i, 0) } else { (0, i) };
            let x0 = left + column as f64 * (panel_width + GAP);
            let y0 = top + header + row as f64 * (header + plot_height + footer);
            let frame = Frame { left: x0, right: x0 + panel_width, top: y0, bottom: y0 + plot_height };
            let x = Scale { kind: self.x.scale, domain: x_domain, range: (x0 + 9.0, frame.right - 9.0) };
            let (axis, y) = self.vertical(panel, (frame.bottom, frame.top));
            panel::draw(&mut canvas, panel, &frame, (&self.x, &x), (axis, &y), column == 0);
            if right.is_some() {
                panel::draw_direct(&mut canvas, panel, &frame, &x, &y);
            }
        }
        let rows = if beside { 1 } else { self.panels.len() };
        let height = top + rows as f64 * (header + plot_height + footer);
        canvas.finish(width, height, &self.name)
    }

    fn samples(&self) -> impl Iterator<Item = &Sample> + Clone {
        self.panels.iter().flat_map(|p| &p.curves).flat_map(|c| &c.points)
    }

    /// The vertical axis of a panel and its scale: of all panels' curves, or of its own.
    fn vertical<'a>(&'a self, panel: &'a Panel, range: (f64, f64)) -> (&'a Axis, Scale) {
        let (axis, panels) = match &panel.y {
            Some(own) => (own, std::slice::from_ref(panel)),
            None => (&self.y, &self.panels[..]),
        };
        let limits = (axis.limits.0.unwrap_or(f64::NEG_INFINITY), axis.limits.1.unwrap_or(f64::INFINITY));
        let samples = panels.iter().flat_map(|p| &p.curves).flat_map(|c| &c.points);
        let domain = domain(axis.scale, samples.map(|s| (s.mean, s.low, s.high)), limits);
        (axis, Scale { kind: axis.scale, domain, range })
    }

    /// Exactly as wide as the data: the frame leaves room at the sides.
    fn domain_of_x(&self) -> (f64, f64) {
        let places = self.samples().map(|s| s.x).filter(|x| x.is_finite());
        let ticks = self.x.ticks.iter().map(|t| t.at);
        let all = places.chain(ticks);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        match low < high {
            true => (low, high),
            false if low.is_finite() => (low - 0.5, low + 0.5),
            false => (0.0, 1.0),
        }
    }

    fn left_margin(&self, panel: &Panel) -> f64 {
        let (axis, y) = self.vertical(panel, (0.0, 1.0));
        let ticks = panel::ticks(axis, &y, 250.0);
        let widest = ticks.iter().map(|t| text_width(&t.label, Font::TICK.size)).fold(20.0, f64::max);
        EDGE + widest + 8.0
    }

    fn side_by_side(&self, width: f64, left: f64) -> bool {
        if self.panels.iter().any(|panel| panel.y.is_some()) {
            return false;
        }
        let panels = self.panels.len().max(1) as f64;
        (width - left - EDGE - GAP * (panels - 1.0)) / panels >= LEAST_PANEL
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn chart(panels: usize, curves: usize, points: usize) -> LineChart {
        let sample = |c: usize, i: usize| {
            let mean = 1.0 / (1.0 + i as f64 + c as f64);
            Sample { x: i as f64 + 1.0, mean, low: mean - 0.1, high: mean + 0.1 }
        };
        let curve = |c: usize| Curve {
            label: format!("curve {c}"),
            style: Style { ink: c, ..Style::default() },
            points: (0..points).map(|i| sample(c, i)).collect(),
        };
        let panel = |p: usize| Panel {
            title: format!("panel {p}"),
            curves: (0..curves).map(curve).collect(),
            y: None,
        };
        LineChart {
            name: "a < b".into(),
            x: Axis { title: "task".into(), whole: true, ..Axis::default() },
            y: Axis { title: "regret".into(), scale: ScaleKind::Log, ..Axis::default() },
            panels: (0..panels).map(panel).collect(),
        }
    }

    fn count(svg: &str, tag: &str) -> usize {
        let document = roxmltree::Document::parse(svg).unwrap();
        document.descendants().filter(|n| n.tag_name().name() == tag).count()
    }

    #[test]
    fn any_amount_of_data_is_well_formed() {
        for panels in 0..3 {
            for (curves, points) in [(0, 0), (1, 0), (1, 1), (1, 2), (9, 30)] {
                for width in [120.0, 360.0, 1100.0] {
                    for theme in [Theme::Page, Theme::Standalone] {
                        let svg = chart(panels, curves, points).svg(width, theme);
                        roxmltree::Document::parse(&svg).unwrap();
                        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_curve_has_a_band_a_line_and_markers() {
        let svg = chart(1, 3, 5).svg(700.0, Theme::Standalone);
        assert_eq!(count(&svg, "path"), 3 + 3);
        assert_eq!(count(&svg, "circle"), 3 * 5);
    }

    #[test]
    fn everything_stays_inside_the_drawing() {
        for width in [360.0, 1100.0] {
            let svg = chart(2, 4, 10).svg(width, Theme::Page);
            let document = roxmltree::Document::parse(&svg).unwrap();
            let height: f64 = document.root_element().attribute("height").unwrap().parse().unwrap();
            for node in document.descendants() {
                for (name, most) in [("x", width), ("cx", width), ("y", height), ("cy", height)] {
                    let value = node.attribute(name).map_or(0.0, |v| v.parse::<f64>().unwrap());
                    assert!((0.0..=most).contains(&value), "{node:?}");
                }
            }
        }
    }

    #[test]
    fn values_that_do_not_exist_are_left_out() {
        let mut broken = chart(1, 1, 4);
        broken.panels[0].curves[0].points[1].mean = f64::NAN;
        broken.panels[0].curves[0].points[2].high = f64::INFINITY;
        broken.panels[0].curves[0].points[3].mean = -1.0;
        let svg = broken.svg(700.0, Theme::Page);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert_eq!(count(&svg, "circle"), 3);
    }
}
