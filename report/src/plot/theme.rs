//! Colours, told apart by people with any colour vision, on light and on dark paper.

use std::fmt::Write;

/// Where a chart will be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Inside a page that defines the variables of [`css`].
    Page,
    /// A file of its own, on white.
    Standalone,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ink {
    Text,
    Muted,
    /// Lines that guide the eye.
    Grid,
    Axis,
    Surface,
    /// The mark of the best.
    Star,
    /// The edge of that mark.
    StarEdge,
    /// The curve with this number; there are [`SERIES`], after which they repeat.
    Series(usize),
    /// A colour that means a value, the same on any background.
    Value([u8; 3]),
}

/// Number of different curve colours.
pub const SERIES: usize = 8;

/// Name, colour on white, colour on black. The series are Okabe and Ito's hues, adjusted to read as thin lines.
const INKS: [(&str, &str, &str); 7 + SERIES] = [
    ("text", "#1c2128", "#e8eaed"),
    ("muted", "#5b6470", "#a3acb8"),
    ("grid", "#e6e8ec", "#2c323a"),
    ("axis", "#a9b0ba", "#5a636f"),
    ("surface", "#ffffff", "#16191e"),
    ("star", "#ffc61a", "#ffc61a"),
    ("star-edge", "#4a3500", "#2b1f00"),
    ("series-0", "#0067a5", "#5ab4f0"),
    ("series-1", "#c9510c", "#ff9552"),
    ("series-2", "#4d5560", "#b4bcc8"),
    ("series-3", "#00805c", "#3ccba0"),
    ("series-4", "#a8437f", "#ec9cc8"),
    ("series-5", "#9a7200", "#ecc04a"),
    ("series-6", "#2f95c9", "#a2dbf7"),
    ("series-7", "#7a4a28", "#cfa587"),
];

impl Ink {
    fn row(self) -> Option<&'static (&'static str, &'static str, &'static str)> {
        let index = match self {
            Self::Text => 0,
            Self::Muted => 1,
            Self::Grid => 2,
            Self::Axis => 3,
            Self::Surface => 4,
            Self::Star => 5,
            Self::StarEdge => 6,
            Self::Series(i) => 7 + i % SERIES,
            Self::Value(_) => return None,
        };
        INKS.get(index)
    }
}

impl Theme {
    /// The ink as the value of an SVG attribute.
    pub fn paint(self, ink: Ink) -> String {
        match (ink, ink.row(), self) {
            (Ink::Value([r, g, b]), ..) => format!("#{r:02x}{g:02x}{b:02x}"),
            (_, Some((name, ..)), Self::Page) => format!("var(--{name})"),
            (_, Some((_, light, _)), Self::Standalone) => (*light).to_string(),
            (_, None, _) => "none".to_string(),
        }
    }
}

/// The style sheet that defines the variables of [`Theme::Page`], for light and dark.
pub fn css() -> String {
    let block = |dark: bool| {
        INKS.iter().fold(String::new(), |mut text, (name, light, black)| {
            let _ = write!(text, "--{name}:{};", if dark { black } else { light });
            text
        })
    };
    format!(":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n", block(false), block(true))
}

/// From worst (0) to best (1): pale sand over teal to deep blue, evenly lighter for any eye.
pub fn ramp(share: f64) -> [u8; 3] {
    const STOPS: [[f64; 3]; 5] = [
        [247.0, 240.0, 222.0],
        [189.0, 216.0, 194.0],
        [101.0, 171.0, 176.0],
        [38.0, 108.0, 147.0],
        [18.0, 47.0, 92.0],
    ];
    let place = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 } * (STOPS.len() - 1) as f64;
    let below = (place as usize).min(STOPS.len() - 2);
    let part = place - below as f64;
    std::array::from_fn(|i| (STOPS[below][i] * (1.0 - part) + STOPS[below + 1][i] * part).round() as u8)
}

/// Black or white, whichever reads better on the colour.
pub fn readable_on(rgb: [u8; 3]) -> [u8; 3] {
    let (dark, light) = ([0x06, 0x09, 0x0d], [0xff, 0xff, 0xff]);
    if contrast(rgb, light) > contrast(rgb, dark) { light } else { dark }
}

/// Contrast of two colours, from 1 (none) to 21 (black on white).
fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Relative luminance as the web's contrast guideline defines it.
fn luminance(rgb: [u8; 3]) -> f64 {
    let [r, g, b] = rgb.map(|c| {
        let c = f64::from(c) / 255.0;
        if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rgb(hex: &str) -> [u8; 3] {
        std::array::from_fn(|i| u8::from_str_radix(&hex[1 + 2 * i..3 + 2 * i], 16).unwrap())
    }

    #[test]
    fn text_and_curves_stand_out_on_both_backgrounds() {
        let (_, white, black) = INKS[4];
        for (name, light, dark) in INKS {
            let needed = match name {
                "text" | "muted" => 4.5,
                _ if name.starts_with("series") => 3.0,
                _ => continue,
            };
            assert!(contrast(rgb(light), rgb(white)) >= needed, "{name} on light");
            assert!(contrast(rgb(dark), rgb(black)) >= needed, "{name} on dark");
        }
    }

    #[test]
    fn ramp_darkens_steadily_and_cells_stay_readable() {
        let mut before = f64::INFINITY;
        for step in 0..=100 {
            let colour = ramp(f64::from(step) / 100.0);
            assert!(luminance(colour) < before, "step {step}");
            assert!(contrast(colour, readable_on(colour)) > 4.0, "step {step}");
            before = luminance(colour);
        }
        assert_eq!(ramp(f64::NAN), ramp(0.0));
        assert_eq!(ramp(7.0), ramp(1.0));
    }

    #[test]
    fn pages_use_variables_and_files_do_not() {
        assert_eq!(Theme::Page.paint(Ink::Series(9)), "var(--series-1)");
        assert_eq!(Theme::Standalone.paint(Ink::Series(0)), "#0067a5");
        assert!(css().contains("--series-7:"));
    }
}
