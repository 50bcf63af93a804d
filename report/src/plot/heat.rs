//! Heat maps: a value per cell, the best of each column marked with a star.

use super::label::{decimals_for, fixed_number, short_number, text_width};
use super::svg::{Anchor, Canvas, Font, short};
use super::theme::{Ink, Theme, ramp, readable_on};

#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// What it shows, for those who cannot see it.
    pub name: String,
    pub title: String,
    pub x_title: String,
    pub y_title: String,
    /// What the values are, written at the colour bar.
    pub value_title: String,
    pub columns: Vec<String>,
    /// The rows from top to bottom.
    pub rows: Vec<HeatRow>,
    /// Index of the row with the star, for each column that has one.
    pub stars: Vec<Option<usize>>,
    /// Whether the lower value is the better one; the better, the darker.
    pub low_is_better: bool,
    /// Whether equal steps of colour are equal factors.
    pub log: bool,
}

#[derive(Clone, Debug, Default)]
pub struct HeatRow {
    pub label: String,
    /// The value in each column.
    pub cells: Vec<Option<f64>>,
    /// Whether a gap sets it apart from the row above: a reference, not part of the sweep.
    pub apart: bool,
}

const EDGE: f64 = 10.0;
const GAP: f64 = 10.0;

struct Layout {
    left: f64,
    top: f64,
    cell: (f64, f64),
    row_tops: Vec<f64>,
}

impl HeatMap {
    /// Lays the map out for a width in pixels.
    pub fn svg(&self, width: f64, theme: Theme) -> String {
        let mut canvas = Canvas::new(theme);
        let layout = self.layout(width);
        let extent = self.extent();
        self.draw_titles(&mut canvas, &layout);
        for (row, &top) in self.rows.iter().zip(&layout.row_tops) {
            let middle = top + layout.cell.1 / 2.0 + 4.0;
            canvas.text((layout.left - 8.0, middle), Anchor::End, Font::TICK, &row.label);
            for (column, &value) in row.cells.iter().enumerate() {
                self.draw_cell(&mut canvas, &layout, (column, top), (value, extent), row);
            }
        }
        for (column, star) in self.stars.iter().enumerate() {
            if let Some(&top) = star.and_then(|row| layout.row_tops.get(row)) {
                let (w, h) = layout.cell;
                let up = if self.has_room(&layout) { h * 0.2 } else { 0.0 };
                let place = (layout.left + (column as f64 + 0.5) * w, top + h / 2.0 - up);
                draw_star(&mut canvas, place, (0.24 * w.min(h)).clamp(4.0, 7.5));
            }
        }
        let bottom = layout.row_tops.last().map_or(layout.top, |top| top + layout.cell.1);
        let below = self.draw_columns(&mut canvas, &layout, bottom);
        let height = self.draw_bar(&mut canvas, extent, (layout.left, width - EDGE), below + 14.0);
        canvas.finish(width, height, &self.name)
    }

    fn layout(&self, width: f64) -> Layout {
        let widest = self.rows.iter().map(|r| text_width(&r.label, Font::TICK.size)).fold(20.0, f64::max);
        let left = EDGE + widest + 8.0;
        let cell_width = (width - left - EDGE).max(10.0) / self.columns.len().max(1) as f64;
        let height = if cell_width >= 38.0 { 36.0 } else { 26.0 };
        let titles = [&self.title, &self.y_title].iter().filter(|t| !t.is_empty()).count();
        let top = EDGE + 20.0 * titles as f64 + 4.0;
        let mut place = top;
        let mut row_tops = Vec::new();
        for row in &self.rows {
            place += if row.apart { GAP } else { 0.0 };
            row_tops.push(place);
            place += height;
        }
        Layout { left, top, cell: (cell_width, height), row_tops }
    }

    fn has_room(&self, layout: &Layout) -> bool {
        layout.cell.0 >= 38.0
    }

    /// The range of values, as the colours see them.
    fn extent(&self) -> (f64, f64) {
        let values = self.rows.iter().flat_map(|r| &r.cells).flatten().filter_map(|&v| self.height_of(v));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
    }

    fn height_of(&self, value: f64) -> Option<f64> {
        let height = if self.log { value.ln() } else { value };
        height.is_finite().then_some(height)
    }

    /// Decimals for the cells: all alike, and enough to tell a fiftieth of the range.
    fn decimals(&self, (low, high): (f64, f64)) -> usize {
        let (finest, few) = match self.log {
            true => (low.exp() / 5.0, (high.exp() - low.exp()) / 50.0),
            false => ((high - low) / 50.0, f64::INFINITY),
        };
        decimals_for(10.0 * finest.min(few)).clamp(1, 4)
    }

    /// The colour of a value that has one.
    fn colour(&self, value: f64, (low, high): (f64, f64)) -> Option<[u8; 3]> {
        let height = self.height_of(value)?;
        let share = if high > low { (height - low) / (high - low) } else { 0.5 };
        Some(ramp(if self.low_is_better { 1.0 - share } else { share }))
    }

    fn draw_titles(&self, canvas: &mut Canvas, layout: &Layout) {
        let mut line = layout.top - 10.0;
        if !self.y_title.is_empty() {
            canvas.text((EDGE, line), Anchor::Start, Font::TICK, &self.y_title);
            line -= 20.0;
        }
        if !self.title.is_empty() {
            canvas.text((EDGE, line), Anchor::Start, Font::TITLE, &self.title);
        }
    }

    fn draw_cell(
        &self,
        canvas: &mut Canvas,
        layout: &Layout,
        (column, top): (usize, f64),
        (value, extent): (Option<f64>, (f64, f64)),
        row: &HeatRow,
    ) {
        let (w, h) = layout.cell;
        let left = layout.left + column as f64 * w;
        let cell = |c: &mut Canvas, ink: Ink, hint: &str| {
            let rect = c.element("rect").at("x", left + 0.75).at("y", top + 0.75);
            let rect = rect.at("width", w - 1.5).at("height", h - 1.5).at("rx", 2.0);
            rect.fill(ink).end_with_hint(hint);
        };
        let name =
            format!("{} {}, {}", self.x_title, self.columns[column.min(self.columns.len() - 1)], row.label);
        let Some((value, colour)) = value.and_then(|v| Some((v, self.colour(v, extent)?))) else {
            return cell(canvas, Ink::Grid, &format!("{name}: not run"));
        };
        cell(canvas, Ink::Value(colour), &format!("{name}: {}", short_number(value)));
        if self.has_room(layout) {
            let index = self.rows.iter().position(|r| std::ptr::eq(r, row));
            let starred = self.stars.get(column).is_some_and(|s| s.is_some() && *s == index);
            let middle = top + h / 2.0 + if starred { 13.0 } else { 4.0 };
            let font = Font { size: 11.0, ink: Ink::Value(readable_on(colour)), bold: starred };
            let value = fixed_number(value, self.decimals(extent));
            canvas.text((left + w / 2.0, middle), Anchor::Middle, font, &value);
        }
    }

    fn draw_columns(&self, canvas: &mut Canvas, layout: &Layout, bottom: f64) -> f64 {
        let mut free = f64::NEG_INFINITY;
        for (i, name) in self.columns.iter().enumerate() {
            let x = layout.left + (i as f64 + 0.5) * layout.cell.0;
            let half = text_width(name, Font::TICK.size) / 2.0;
            if x - half >= free {
                canvas.text((x, bottom + 17.0), Anchor::Middle, Font::TICK, name);
                free = x + half + 3.0;
            }
        }
        let middle = layout.left + self.columns.len() as f64 * layout.cell.0 / 2.0;
        canvas.text((middle, bottom + 36.0), Anchor::Middle, Font::TICK, &self.x_title);
        bottom + 40.0
    }

    /// The scale of colours with the meaning of the star; returns the drawing's height.
    fn draw_bar(&self, canvas: &mut Canvas, extent: (f64, f64), (left, right): (f64, f64), top: f64) -> f64 {
        if extent.0 > extent.1 {
            return top;
        }
        const STEPS: usize = 40;
        let length = (right - left).min(220.0);
        let step = length / STEPS as f64;
        let value = |share: f64| {
            let height = extent.0 + share * (extent.1 - extent.0);
            if self.log { height.exp() } else { height }
        };
        for i in 0..STEPS {
            let share = (i as f64 + 0.5) / STEPS as f64;
            let colour = ramp(if self.low_is_better { 1.0 - share } else { share });
            let rect = canvas.element("rect").at("x", left + i as f64 * step).at("y", top);
            rect.at("width", step + 0.4).at("height", 9.0).fill(Ink::Value(colour)).end();
        }
        let label_line = top + 23.0;
        canvas.text((left, label_line), Anchor::Start, Font::TICK, &short_number(value(0.0)));
        canvas.text((left + length, label_line), Anchor::End, Font::TICK, &short_number(value(1.0)));
        let (mut next, mut line) = (left + length + 16.0, top + 9.0);
        let words = format!("best of its column · colour: {}", self.value_title);
        if right - next < text_width(&words, Font::TICK.size) + 20.0 {
            (next, line) = (left, label_line + 20.0);
        }
        draw_star(canvas, (next + 7.0, line - 4.0), 7.0);
        canvas.text((next + 20.0, line), Anchor::Start, Font::TICK, &words);
        line.max(label_line) + 10.0
    }
}

fn draw_star(canvas: &mut Canvas, (x, y): (f64, f64), radius: f64) {
    let corner = |i: usize| {
        let r = if i.is_multiple_of(2) { radius } else { radius * 0.45 };
        let angle = std::f64::consts::PI * (i as f64 / 5.0 - 0.5);
        format!("{},{}", short(x + r * angle.cos()), short(y + r * angle.sin()))
    };
    let outline: Vec<String> = (0..10).map(corner).collect();
    let star = canvas.element("path").attribute("class", "star");
    let star = star.attribute("d", &format!("M{}Z", outline.join("L")));
    star.attribute("stroke-linejoin", "round").fill(Ink::Star).stroke(Ink::StarEdge, 1.0).end();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: usize, columns: usize) -> HeatMap {
        let row = |r: usize| HeatRow {
            label: format!("β = {r}"),
            cells: (0..columns).map(|c| (r != 1 || c != 1).then_some(0.1 + (r * c) as f64)).collect(),
            apart: r == 2,
        };
        HeatMap {
            name: "map".into(),
            columns: (1..=columns).map(|c| c.to_string()).collect(),
            rows: (0..rows).map(row).collect(),
            stars: vec![Some(0); columns],
            low_is_better: true,
            log: true,
            ..HeatMap::default()
        }
    }

    #[test]
    fn any_size_is_well_formed_with_one_star_per_column() {
        for (rows, columns) in [(0, 0), (1, 1), (3, 4), (9, 40)] {
            for width in [300.0, 540.0] {
                let svg = map(rows, columns).svg(width, Theme::Page);
                let document = roxmltree::Document::parse(&svg).unwrap();
                let stars = document.descendants().filter(|n| n.attribute("class") == Some("star")).count();
                let in_legend = usize::from(rows > 0);
                assert_eq!(stars, if rows == 0 { 0 } else { columns } + in_legend);
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
            }
        }
    }

    #[test]
    fn better_is_darker_whichever_way_is_better() {
        let mut m = map(3, 4);
        let extent = m.extent();
        assert_eq!(m.colour(0.1, extent), Some(ramp(1.0)));
        m.low_is_better = false;
        assert_eq!(m.colour(0.1, extent), Some(ramp(0.0)));
        assert_eq!(m.colour(-1.0, extent), None, "no logarithm");
    }

    #[test]
    fn cells_without_a_value_say_so() {
        assert!(map(3, 4).svg(540.0, Theme::Page).contains("not run"));
    }
}
