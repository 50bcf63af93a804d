//! One row of a unit's file: a query and what came of it, or a task's recommendation.

use std::fmt;

use super::{Manifest, UnitId};

/// The columns of a unit's file of format 1.
const COLUMNS: &str = "variant,experiment,task,round,kind,fidelity,cost,x,y,truth,optimum";
/// The columns that format 2 has behind those of format 1.
const COLUMNS_2: &str = "time,deployed,floor";

/// The columns of a unit's file.
pub(super) fn columns(format: u32) -> String {
    if format < 2 { COLUMNS.into() } else { format!("{COLUMNS},{COLUMNS_2}") }
}

/// Why a point was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the random points before the search.
    Initial,
    /// A good setting of an earlier task, tried again.
    Carried,
    /// Proposed by the acquisition function.
    Search,
    /// Not a query: the setting recommended at the end of the task.
    Recommend,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Initial, Self::Carried, Self::Search, Self::Recommend];

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Carried => "carried",
            Self::Search => "search",
            Self::Recommend => "recommend",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A query, its observation and the truth behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Why the point was evaluated.
    pub kind: Kind,
    /// Fidelity, from 1; the last one is the truth's.
    pub fidelity: u32,
    /// What was charged to the budget: 0 for free initial points and recommendations.
    pub cost: f64,
    /// What the trial took, charged or not, in the unit of the budget; none for a recommendation, and in format 1.
    pub time: Option<f64>,
    /// The setting, in the problem's natural units.
    pub x: Vec<f64>,
    /// The noisy observation; none for a recommendation.
    pub y: Option<f64>,
    /// The noise-free value at the last fidelity; none if nobody knows it.
    pub truth: Option<f64>,
}

impl Row {
    /// What makes the row impossible, if anything does.
    pub(super) fn fault(&self) -> Option<String> {
        let finite = |v: &f64| v.is_finite();
        if self.fidelity == 0 {
            return Some("fidelity 0: fidelities count from 1".into());
        }
        if !(self.cost.is_finite() && self.cost >= 0.0) {
            return Some(format!("cost {} is not a finite number of at least 0", self.cost));
        }
        if self.time.is_some_and(|time| !(time.is_finite() && time >= 0.0)) {
            return Some("time is not a finite number of at least 0".into());
        }
        if self.x.is_empty() || !self.x.iter().all(finite) {
            return Some("x is empty or not finite".into());
        }
        if !self.truth.iter().chain(&self.y).all(finite) {
            return Some("y or truth is not finite".into());
        }
        let recommends = self.kind == Kind::Recommend;
        (recommends == self.y.is_some())
            .then(|| "a query has an observation y, and a recommendation has none".to_string())
    }
}

/// What is the same in all rows of a task, and known to a simulator alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// The true optimum.
    pub optimum: f64,
    /// The true value of the point in use at the task's start, if the task started from one.
    pub deployed: Option<f64>,
    /// The value that trials should not fall below, if there is one.
    pub floor: Option<f64>,
}

impl Terms {
    /// What makes the terms impossible, if anything does.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let known = [Some(self.optimum), self.deployed, self.floor];
        let finite = known.iter().flatten().all(|value| value.is_finite());
        (!finite).then_some("the task's optimum, point in use or floor is not finite")
    }
}

/// Where a row stands in its file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place<'a> {
    pub format: u32,
    pub variant: &'a str,
    pub experiment: u32,
    pub task: u32,
    pub round: usize,
}

impl<'a> Place<'a> {
    pub fn first(manifest: &'a Manifest, unit: UnitId) -> Self {
        let variant = &manifest.variants[unit.variant].key;
        Self { format: manifest.format, variant, experiment: unit.experiment, task: 1, round: 1 }
    }
}

/// The row as a line of the file, with its newline.
pub(super) fn format_row(place: Place<'_>, row: &Row, terms: &Terms) -> String {
    let x: Vec<String> = row.x.iter().map(|&v| number(v)).collect();
    let mut line = format!(
        "{},{},{},{},{},{},{},{},{},{},{}",
        place.variant,
        place.experiment,
        place.task,
        place.round,
        row.kind,
        row.fidelity,
        number(row.cost),
        x.join(" "),
        optional(row.y),
        optional(row.truth),
        number(terms.optimum),
    );
    if place.format >= 2 {
        let behind = [row.time, terms.deployed, terms.floor].map(optional);
        line += &format!(",{}", behind.join(","));
    }
    line + "\n"
}

/// Reads a line (without its newline) that must stand at `place`; returns the row and the task's terms.
pub(super) fn parse_row(line: &str, place: Place<'_>) -> Result<(Row, Terms), String> {
    let fields: Vec<&str> = line.split(',').collect();
    let columns = columns(place.format);
    let columns: Vec<&str> = columns.split(',').collect();
    if fields.len() != columns.len() {
        return Err(format!("{} fields where {} belong", fields.len(), columns.len()));
    }
    let expected =
        [place.variant.into(), place.experiment.to_string(), place.task.to_string(), place.round.to_string()];
    for (i, expected) in expected.iter().enumerate() {
        if fields[i] != expected {
            return Err(format!("{} {} where {expected} belongs", columns[i], quoted(fields[i])));
        }
    }
    let kind = Kind::ALL.into_iter().find(|k| k.as_str() == fields[4]);
    let row = Row {
        kind: kind.ok_or_else(|| format!("unknown kind {}", quoted(fields[4])))?,
        fidelity: fields[5].parse().map_err(|_| format!("fidelity {} is not a number", quoted(fields[5])))?,
        cost: parse_number("cost", fields[6])?,
        x: fields[7].split(' ').map(|v| parse_number("x", v)).collect::<Result<_, _>>()?,
        time: parse_optional("time", fields.get(11))?,
        y: parse_optional("y", fields.get(8))?,
        truth: parse_optional("truth", fields.get(9))?,
    };
    row.fault().map_or(Ok(()), Err)?;
    let terms = Terms {
        optimum: parse_number("optimum", fields[10])?,
        deployed: parse_optional("deployed", fields.get(12))?,
        floor: parse_optional("floor", fields.get(13))?,
    };
    Ok((row, terms))
}

/// The shortest text of a number that may be missing.
pub(super) fn optional(v: Option<f64>) -> String {
    v.map(number).unwrap_or_default()
}

/// Reads a finite number from a field that may be empty or missing.
pub(super) fn parse_optional(column: &str, field: Option<&&str>) -> Result<Option<f64>, String> {
    field.filter(|text| !text.is_empty()).map(|text| parse_number(column, text)).transpose()
}

/// The shortest text that reads back as the same number.
pub(super) fn number(v: f64) -> String {
    if v == 0.0 || (1e-5..1e15).contains(&v.abs()) { format!("{v}") } else { format!("{v:e}") }
}

/// Reads a finite number; `column` is for the error.
pub(super) fn parse_number(column: &str, text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v: &f64| v.is_finite());
    value.ok_or_else(|| format!("{column} {} is not a finite number", quoted(text)))
}

/// A field for an error message: short, on one line, whatever bytes the file holds.
pub(super) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> = Place { format: 2, variant: "a", experiment: 2, task: 3, round: 4 };
    const TERMS: Terms = Terms { optimum: 3.5, deployed: Some(1.25), floor: Some(1.125) };

    fn row() -> Row {
        Row {
            kind: Kind::Search,
            fidelity: 2,
            cost: 15.0,
            time: Some(15.0),
            x: vec![0.1, -3e-9],
            y: Some(1.5),
            truth: Some(1.0 / 3.0),
        }
    }

    #[test]
    fn rows_round_trip_bit_for_bit() {
        let recommended = Row { kind: Kind::Recommend, y: None, cost: 0.0, time: None, ..row() };
        let unknown = Row { truth: None, ..row() };
        for row in [row(), recommended, unknown] {
            for terms in [TERMS, Terms { deployed: None, floor: None, ..TERMS }] {
                let line = format_row(PLACE, &row, &terms);
                assert_eq!(parse_row(line.trim_end_matches('\n'), PLACE), Ok((row.clone(), terms)));
            }
        }
    }

    #[test]
    fn rows_of_format_1_are_read_without_what_it_lacks() {
        let place = Place { format: 1, ..PLACE };
        let line = format_row(place, &row(), &TERMS);
        assert_eq!(line, "a,2,3,4,search,2,15,0.1 -3e-9,1.5,0.3333333333333333,3.5\n");
        let terms = Terms { optimum: 3.5, ..Terms::default() };
        assert_eq!(parse_row(line.trim_end(), place), Ok((Row { time: None, ..row() }, terms)));
        assert!(parse_row(line.trim_end(), PLACE).unwrap_err().contains("fields"));
    }

    #[test]
    fn numbers_are_short_and_exact() {
        for v in [0.0, 1.0, -2.5, 0.1, 1e-5, 9.9e-6, 1e15, f64::MAX, f64::MIN_POSITIVE, 1.0 / 3.0, 5e-324] {
            let text = number(v);
            assert!(text.len() <= 24, "{text}");
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), v.to_bits());
        }
    }

    #[test]
    fn each_bad_field_is_named() {
        let good = format_row(PLACE, &row(), &TERMS);
        let cases = [
            ("a,2,3,4", "b,2,3,4", "variant"),
            ("a,2,3,4", "a,1,3,4", "experiment"),
            ("a,2,3,4", "a,2,3,5", "round"),
            ("search", "searching", "kind"),
            (",15,", ",-1,", "cost"),
            (",15,", ",NaN,", "cost"),
            (",1.5,", ",,", "observation"),
            (",1.5,", ",x,", "y"),
            (",3.5", ",inf", "optimum"),
            ("3.5,15", "3.5,-15", "time"),
            (",1.25", ",NaN", "deployed"),
            (",1.125", ",x", "floor"),
            ("0.1 ", "0.1  ", "x"),
            (",3.5", "", "fields"),
        ];
        for (from, to, word) in cases {
            let line = good.trim_end().replacen(from, to, 1);
            let problem = parse_row(&line, PLACE).unwrap_err();
            assert!(problem.contains(word), "{line}: {problem}");
        }
    }

    #[test]
    fn long_and_strange_fields_stay_short_in_messages() {
        let problem = quoted(&"x\u{1b}\n".repeat(1000));
        assert!(problem.chars().count() < 200 && !problem.contains('\n'));
    }
}
