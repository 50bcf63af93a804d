//! Which curve is which: a legend above the panels, or names at the curves' ends where there is room.

use super::chart::{Curve, Panel, Style};
use super::label::{spread, text_width, wrapped};
use super::panel::Frame;
use super::scale::Scale;
use super::svg::{Anchor, Canvas, Font};
use super::theme::Ink;

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
pub(super) fn draw(canvas: &mut Canvas, panels: &[Panel], (left, right): (f64, f64), top: f64) -> f64 {
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
