//! Tables: as text, columns as wide as they need to be and numbers to the right; and as Markdown.

use std::fmt;
use std::io::{self, Write};

#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<T: ToString>(titles: impl IntoIterator<Item = T>) -> Self {
        Self { rows: vec![titles.into_iter().map(|t| t.to_string()).collect()] }
    }

    pub fn push<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// Writes the table, the first column to the left and the others to the right.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell_width = |row: &Vec<String>, i: usize| row.get(i).map_or(0, |cell| cell.chars().count());
        let width = |i: usize| self.rows.iter().map(|row| cell_width(row, i)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (r, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(i, (cell, &width))| match i {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            let line: Vec<String> = cells.collect();
            writeln!(out, "{}", line.join("  ").trim_end())?;
            if r == 0 {
                writeln!(
                    out,
                    "{}",
                    "-".repeat(widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1))
                )?;
            }
        }
        Ok(())
    }
}

/// As Markdown.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["method", "β"]);
        table.push(["a", "10"]);
        let mut text = Vec::new();
        table.write(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "method   β\n----------\na       10\n");
    }
}
