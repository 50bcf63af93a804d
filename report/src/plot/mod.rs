//! Charts as SVG: lines with confidence bands, and heat maps with the best cell marked.
//!
//! A chart is plain data; [`LineChart::svg`] and [`HeatMap::svg`] lay it out for a width in pixels. On a
//! [`Theme::Page`] its colours are CSS variables ([`theme::css`]) that follow the page into dark mode; a
//! [`Theme::Standalone`] file carries its own colours, for any viewer.

mod heat;
mod label;
mod line;
mod panel;
mod scale;
mod svg;
pub mod theme;

pub use heat::{HeatMap, HeatRow};
pub use line::{Axis, Curve, Dash, LineChart, Panel, Sample, Style, Tick};
pub use scale::ScaleKind;
pub use svg::escape;
pub use theme::Theme;

pub use label::{decimals_for, fixed_number, short_number};
