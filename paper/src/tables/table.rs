//! Tables in Markdown, and what stands in their cells.

use std::fmt;

use foretune_report::stats::Estimate;

/// A table for a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these titles.
    pub fn new<T: ToString>(titles: impl IntoIterator<Item = T>) -> Self {
        Self { rows: vec![titles.into_iter().map(|title| title.to_string()).collect()] }
    }

    /// Adds a row.
    pub fn push<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, row) in self.rows.iter().enumerate() {
            writeln!(f, "| {} |", row.join(" | "))?;
            if i == 0 {
                writeln!(f, "{}|", "|---".repeat(row.len()))?;
            }
        }
        Ok(())
    }
}

/// Three figures, or all before the point.
pub(super) fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v < 1.0 => 3,
        v if v < 10.0 => 2,
        _ => 0,
    };
    fixed(value, digits)
}

/// With so many decimals, and a minus as people write it.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

/// A mean with its interval.
pub(super) fn mean(value: Estimate) -> String {
    let half = value.half_width.map_or(String::new(), |half| format!(" ± {}", fixed(half, 3)));
    fixed(value.mean, 3) + &half
}

/// A difference with its interval, bold where it is significant.
pub(super) fn difference(value: Estimate) -> String {
    let text = mean(value);
    let signed = if text.starts_with('−') { text } else { format!("+{text}") };
    if value.sign() == 0 { signed } else { format!("**{signed}**") }
}

/// An opponent's cell: plain where we are significantly better, bold where the opponent is, `≈` where they are tied.
pub(super) fn against(text: String, lead: Estimate) -> String {
    match lead.sign() {
        1 => text,
        0 => format!("{text} ≈"),
        _ => format!("**{text}**"),
    }
}
