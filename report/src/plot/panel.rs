//! One panel of a line chart: frame, grid, ticks, bands, lines and markers.

use super::chart::{Axis, Curve, Panel, Sample, Tick};
use super::label::{short_number, text_width};
use super::scale::Scale;
use super::svg::{Anchor, Canvas, Font, short};
use super::theme::Ink;

/// Where a panel's curves may go, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// Above this many points markers would touch.
const MOST_MARKERS: usize = 45;

/// Height above the frames, for the panels' titles and the vertical axis's.
pub(super) fn header_height(panels: &[Panel], y_title: &str) -> f64 {
    let titled = panels.iter().any(|p| !p.title.is_empty());
    12.0 + if titled { 20.0 } else { 0.0 } + if y_title.is_empty() { 0.0 } else { 20.0 }
}

/// Height below a frame, for ticks and the horizontal axis's title.
pub(super) fn footer_height(x: &Axis) -> f64 {
    let noted = x.ticks.iter().any(|t| !t.note.is_empty());
    30.0 + if noted { 15.0 } else { 0.0 } + if x.title.is_empty() { 0.0 } else { 20.0 }
}

/// The axis's own ticks, or round values about every 44 pixels of `length`.
pub(super) fn ticks(axis: &Axis, scale: &Scale, length: f64) -> Vec<Tick> {
    if !axis.ticks.is_empty() {
        return axis.ticks.clone();
    }
    let values = scale.ticks((length / 44.0).max(2.0) as usize);
    let kept = values.into_iter().filter(|v| !axis.whole || v.fract().abs() < 1e-9);
    kept.map(|at| Tick { at, label: short_number(at), note: String::new() }).collect()
}

/// Draws the panel; `first` of its row, it also shows the vertical axis's numbers and title.
pub(super) fn draw(
    canvas: &mut Canvas,
    panel: &Panel,
    frame: &Frame,
    x: (&Axis, &Scale),
    y: (&Axis, &Scale),
    first: bool,
) {
    draw_titles(canvas, panel, frame, x.0, y.0, first);
    draw_y_ticks(canvas, frame, y, first);
    draw_x_ticks(canvas, frame, x);
    for curve in &panel.curves {
        draw_band(canvas, curve, x.1, y.1);
    }
    for curve in &panel.curves {
        draw_line(canvas, curve, x.1, y.1);
    }
    for curve in &panel.curves {
        draw_markers(canvas, curve, x, y.1);
    }
}

fn draw_titles(canvas: &mut Canvas, panel: &Panel, frame: &Frame, x: &Axis, y: &Axis, first: bool) {
    let mut line = frame.top - 12.0;
    if !y.title.is_empty() {
        if first {
            canvas.text((frame.left, line), Anchor::Start, Font::TICK, &y.title);
        }
        line -= 20.0;
    }
    canvas.text((frame.left, line), Anchor::Start, Font::TITLE, &panel.title);
    let below = frame.bottom + footer_height(x) - 12.0;
    canvas.text(((frame.left + frame.right) / 2.0, below), Anchor::Middle, Font::TICK, &x.title);
}

fn draw_y_ticks(canvas: &mut Canvas, frame: &Frame, (axis, scale): (&Axis, &Scale), labelled: bool) {
    for tick in ticks(axis, scale, frame.bottom - frame.top) {
        let y = scale.map(tick.at);
        canvas.line((frame.left, y), (frame.right, y), Ink::Grid, 1.0);
        if labelled {
            canvas.text((frame.left - 8.0, y + 4.0), Anchor::End, Font::TICK, &tick.label);
        }
    }
}

fn draw_x_ticks(canvas: &mut Canvas, frame: &Frame, (axis, scale): (&Axis, &Scale)) {
    let bottom = frame.bottom;
    canvas.line((frame.left, bottom), (frame.right, bottom), Ink::Axis, 1.0);
    let note = Font { size: 10.5, ..Font::TICK };
    let mut free = f64::NEG_INFINITY;
    for tick in ticks(axis, scale, frame.right - frame.left) {
        let x = scale.map(tick.at);
        canvas.line((x, bottom), (x, bottom + 4.0), Ink::Axis, 1.0);
        let half = text_width(&tick.label, Font::TICK.size).max(text_width(&tick.note, note.size)) / 2.0;
        if x - half < free {
            continue;
        }
        free = x + half + 4.0;
        canvas.text((x, bottom + 18.0), Anchor::Middle, Font::TICK, &tick.label);
        if !tick.note.is_empty() {
            canvas.text((x, bottom + 33.0), Anchor::Middle, note, &tick.note);
        }
    }
}

fn visible(curve: &Curve) -> impl Iterator<Item = &Sample> + Clone {
    curve.points.iter().filter(|s| s.x.is_finite() && s.mean.is_finite())
}

fn draw_band(canvas: &mut Canvas, curve: &Curve, x: &Scale, y: &Scale) {
    let place = |s: &Sample, value: f64| format!("{},{}", short(x.map(s.x)), short(y.map(value)));
    let end = |s: &Sample, end: f64| place(s, if end.is_finite() { end } else { s.mean });
    let upper: Vec<String> = visible(curve).map(|s| end(s, s.high)).collect();
    let mut lower: Vec<String> = visible(curve).map(|s| end(s, s.low)).collect();
    if upper.len() < 2 {
        return;
    }
    lower.reverse();
    let outline = format!("M{}L{}Z", upper.join("L"), lower.join("L"));
    let ink = Ink::Series(curve.style.ink);
    let opacity = if curve.style.light { 0.09 } else { 0.15 };
    canvas.element("path").attribute("d", &outline).fill(ink).at("fill-opacity", opacity).end();
}

fn draw_line(canvas: &mut Canvas, curve: &Curve, x: &Scale, y: &Scale) {
    let places: Vec<String> =
        visible(curve).map(|s| format!("{},{}", short(x.map(s.x)), short(y.map(s.mean)))).collect();
    if places.len() < 2 {
        return;
    }
    let width = if curve.style.light { 1.4 } else { 2.2 };
    let mut line = canvas.element("path").attribute("d", &format!("M{}", places.join("L")));
    if let Some(pattern) = curve.style.dash.pattern() {
        line = line.attribute("stroke-dasharray", pattern);
    }
    line.attribute("fill", "none")
        .attribute("stroke-linejoin", "round")
        .stroke(Ink::Series(curve.style.ink), width)
        .end();
}

fn draw_markers(canvas: &mut Canvas, curve: &Curve, (axis, x): (&Axis, &Scale), y: &Scale) {
    let ink = Ink::Series(curve.style.ink);
    let alone = curve.points.len() == 1;
    if (curve.style.plain && !alone) || curve.points.len() > MOST_MARKERS {
        return;
    }
    let radius = if curve.points.len() > 20 { 2.2 } else { 3.0 };
    for s in visible(curve) {
        let hint = format!(
            "{}, {} {}: {} [{}, {}]",
            curve.label,
            axis.title,
            short_number(s.x),
            short_number(s.mean),
            short_number(s.low),
            short_number(s.high),
        );
        let dot = canvas.element("circle").at("cx", x.map(s.x)).at("cy", y.map(s.mean)).at("r", radius);
        let dot = if curve.style.light { dot.fill(Ink::Surface).stroke(ink, 1.4) } else { dot.fill(ink) };
        dot.end_with_hint(&hint);
    }
}
