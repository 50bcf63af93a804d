//! A small SVG writer: elements with attributes, escaped, with short numbers.

use std::fmt::Write;

use super::theme::{Ink, Theme};

/// The typeface of all charts: the reader's own.
const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,Inter,'Helvetica Neue',Arial,sans-serif";

/// Text made safe for XML and HTML, inside elements and attributes.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(c),
            // No other control characters exist in XML, not even escaped.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A coordinate with at most two decimals.
pub(super) fn short(v: f64) -> String {
    let text = format!("{:.2}", if v.is_finite() { v } else { 0.0 });
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Horizontal alignment of a text at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug)]
pub(super) struct Canvas {
    body: String,
    theme: Theme,
}

impl Canvas {
    pub fn new(theme: Theme) -> Self {
        Self { body: String::new(), theme }
    }

    /// Begins an element; it is written when [`Element::end`] is called.
    pub fn element(&mut self, tag: &'static str) -> Element<'_> {
        let start = format!("<{tag}");
        Element { canvas: self, tag, text: start }
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        let line = self.element("line").at("x1", from.0).at("y1", from.1).at("x2", to.0).at("y2", to.1);
        line.stroke(ink, width).end();
    }

    pub fn text(&mut self, place: (f64, f64), anchor: Anchor, font: Font, text: &str) {
        let anchor = match anchor {
            Anchor::Start => None,
            Anchor::Middle => Some("middle"),
            Anchor::End => Some("end"),
        };
        let mut element = self.element("text").at("x", place.0).at("y", place.1).at("font-size", font.size);
        if let Some(anchor) = anchor {
            element = element.attribute("text-anchor", anchor);
        }
        if font.bold {
            element = element.attribute("font-weight", "600");
        }
        element.fill(font.ink).end_with(text);
    }

    /// The finished drawing, named for those who cannot see it.
    pub fn finish(self, width: f64, height: f64, name: &str) -> String {
        let (w, h) = (short(width), short(height));
        let name = escape(name);
        let paper = match self.theme {
            Theme::Page => String::new(),
            Theme::Standalone => {
                let fill = self.theme.paint(Ink::Surface);
                format!("<rect width=\"{w}\" height=\"{h}\" fill=\"{fill}\"/>\n")
            }
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             role=\"img\" aria-label=\"{name}\" font-family=\"{FONT}\">\n{paper}{}</svg>\n",
            self.body
        )
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Font {
    pub size: f64,
    pub ink: Ink,
    pub bold: bool,
}

impl Font {
    pub const TICK: Self = Self { size: 12.0, ink: Ink::Muted, bold: false };
    pub const LABEL: Self = Self { size: 12.5, ink: Ink::Text, bold: false };
    pub const TITLE: Self = Self { size: 13.0, ink: Ink::Text, bold: true };
}

#[derive(Debug)]
#[must_use = "an element is written by `end`"]
pub(super) struct Element<'a> {
    canvas: &'a mut Canvas,
    tag: &'static str,
    text: String,
}

impl Element<'_> {
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.text, " {name}=\"{}\"", escape(value));
        self
    }

    pub fn at(self, name: &str, value: f64) -> Self {
        self.attribute(name, &short(value))
    }

    pub fn fill(self, ink: Ink) -> Self {
        let paint = self.canvas.theme.paint(ink);
        self.attribute("fill", &paint)
    }

    pub fn stroke(self, ink: Ink, width: f64) -> Self {
        let paint = self.canvas.theme.paint(ink);
        self.attribute("stroke", &paint).at("stroke-width", width)
    }

    pub fn end(self) {
        let Self { canvas, text, .. } = self;
        canvas.body.push_str(&text);
        canvas.body.push_str("/>\n");
    }

    /// Ends an element that contains text.
    pub fn end_with(self, content: &str) {
        let Self { canvas, tag, text } = self;
        let _ = writeln!(canvas.body, "{text}>{}</{tag}>", escape(content));
    }

    /// Ends an element that shows `hint` under the pointer.
    pub fn end_with_hint(self, hint: &str) {
        let Self { canvas, tag, text } = self;
        let _ = writeln!(canvas.body, "{text}><title>{}</title></{tag}>", escape(hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</text><script>alert('x')</script>&\"\u{0}\u{1b}\u{ffff}\t\n";
        let mut canvas = Canvas::new(Theme::Standalone);
        canvas.text((1.0, 2.0), Anchor::Middle, Font::TITLE, hostile);
        canvas.element("rect").attribute("id", hostile).end_with_hint(hostile);
        let svg = canvas.finish(10.0, 10.0, hostile);
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert!(document.descendants().all(|n| n.tag_name().name() != "script"));
        let text = document.descendants().find(|n| n.tag_name().name() == "text").unwrap();
        assert!(text.text().unwrap().starts_with("</text><script>"));
    }

    #[test]
    fn coordinates_are_short() {
        let cases =
            [(1.0, "1"), (0.126, "0.13"), (-0.001, "0"), (10.5, "10.5"), (f64::NAN, "0"), (100.0, "100")];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }
}
