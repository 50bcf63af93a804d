//! One panel of a line chart: frame, grid, ticks, bands, lines and markers; which curve is which: a legend above the
//! panels, or names at the curves' ends where there is room.

use super::label::{short_number, spread, text_width, wrapped};
use super::line::{Axis, Curve, Panel, Sample, Style, Tick};
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

const ROW: f64 = 21.0;
const SWATCH: f64 = 28.0;

/// The room to leave on the right for names at the curves' ends; `None` where a legend serves better: beside other
/// panels, and where the names would take too much of the width.
pub(super) fn direct_margin(panels: &[Panel], width: f64) -> Option<f64> {
    let [panel] = panels else { return None };
    let widest = panel.curves.iter().map(|c| text_width(&c.label, Font::LABEL.size)).fold(0.0, f64::max);
    let margin = widest + 30.0;
    (!panel.curves.is_empty() && width >= 520.0 && margin < 0.36 * width).then_some(margin)
}

/// All different curves of the panels, in order of appearance.
fn entries(panels: &[Panel]) -> Vec<&Curve> {
    let mut found: Vec<&Curve> = Vec::new();
    for curve in panels.iter().flat_map(|p| &p.curves) {
        if !found.iter().any(|c| c.label == curve.label && c.style == curve.style) {
            found.push(curve);
        }
    }
    found
}

/// Draws the legend from `top` on and returns where it ends.
pub(super) fn draw_legend(canvas: &mut Canvas, panels: &[Panel], (left, right): (f64, f64), top: f64) -> f64 {
    let entries = entries(panels);
    let width = |c: &&Curve| SWATCH + 8.0 + text_width(&c.label, Font::LABEL.size) + 20.0;
    let widths: Vec<f64> = entries.iter().map(width).collect();
    let lines = wrapped(&widths, right - left + 20.0);
    for (row, line) in lines.iter().enumerate() {
        let mut x = left;
        let y = top + 12.0 + row as f64 * ROW;
        for &i in line {
            swatch(canvas, entries[i].style, (x, y));
            canvas.text((x + SWATCH + 8.0, y + 4.0), Anchor::Start, Font::LABEL, &entries[i].label);
            x += widths[i];
        }
    }
    if lines.is_empty() { top } else { top + lines.len() as f64 * ROW + 8.0 }
}

fn swatch(canvas: &mut Canvas, style: Style, (x, y): (f64, f64)) {
    let ink = Ink::Series(style.ink);
    let band = canvas.element("rect").at("x", x).at("y", y - 6.0).at("width", SWATCH).at("height", 12.0);
    band.at("rx", 2.0).fill(ink).at("fill-opacity", 0.15).end();
    let mut line = canvas.element("line").at("x1", x).at("y1", y).at("x2", x + SWATCH).at("y2", y);
    if let Some(pattern) = style.dash.pattern() {
        line = line.attribute("stroke-dasharray", pattern);
    }
    line.stroke(ink, if style.light { 1.4 } else { 2.2 }).end();
    if !style.plain {
        let dot = canvas.element("circle").at("cx", x + SWATCH / 2.0).at("cy", y).at("r", 3.0);
        let dot = if style.light { dot.fill(Ink::Surface).stroke(ink, 1.4) } else { dot.fill(ink) };
        dot.end();
    }
}

/// Writes each curve's name at its end, moved apart where they would overlap.
pub(super) fn draw_direct(canvas: &mut Canvas, panel: &Panel, frame: &Frame, x: &Scale, y: &Scale) {
    let ends: Vec<(f64, f64, &Curve)> = panel
        .curves
        .iter()
        .filter_map(|c| {
            let last = c.points.iter().rev().find(|s| s.x.is_finite() && s.mean.is_finite())?;
            Some((x.map(last.x), y.map(last.mean), c))
        })
        .collect();
    let wanted: Vec<f64> = ends.iter().map(|e| e.1).collect();
    let placed = spread(&wanted, 16.0, (frame.top + 4.0, frame.bottom - 4.0));
    for (&(x, y, curve), label) in ends.iter().zip(placed) {
        let ink = Ink::Series(curve.style.ink);
        let start = frame.right + 8.0;
        let leader =
            canvas.element("line").at("x1", x + 5.0).at("y1", y).at("x2", start - 1.0).at("y2", label);
        leader.stroke(ink, 0.8).attribute("stroke-opacity", "0.55").end();
        let font = Font { ink, ..Font::LABEL };
        canvas.text((start + 2.0, label + 4.0), Anchor::Start, font, &curve.label);
    }
}
