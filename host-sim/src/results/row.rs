//! One row of a unit's file: a query and what came of it, or a task's recommendation.

pub(super) const COLUMNS: &str =
    "variant,experiment,task,round,kind,fidelity,cost,x,y,truth,optimum,time,deployed,floor";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the random points before the search.
    Initial,
    /// A good setting of an earlier task, tried again.
    Carried,
    Search,
    /// Not a query: the setting recommended at the end of the task.
    Recommend,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Initial, Self::Carried, Self::Search, Self::Recommend];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Carried => "carried",
            Self::Search => "search",
            Self::Recommend => "recommend",
        }
    }
}

/// A query, its observation and the truth behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub kind: Kind,
    /// Fidelity, from 1; the last one is the truth's.
    pub fidelity: u32,
    /// What was charged to the budget: 0 for free initial points and recommendations.
    pub cost: f64,
    /// What the trial took, charged or not, in the unit of the budget; none for a recommendation.
    pub time: Option<f64>,
    /// The setting, in the problem's natural units.
    pub x: Vec<f64>,
    /// The noisy observation; none for a recommendation.
    pub y: Option<f64>,
    /// The noise-free value at the last fidelity; none if nobody knows it.
    pub truth: Option<f64>,
    /// Likewise the guarded KPIs, in the order of the guards.
    pub kpis: Vec<f64>,
}

impl Row {
    /// Whether all of it is finite, and an observation there just where there was a query.
    pub(super) fn is_sound(&self) -> bool {
        let numbers = self
            .x
            .iter()
            .chain(&self.y)
            .chain(&self.truth)
            .chain(&self.kpis)
            .chain(&self.time)
            .chain([&self.cost]);
        let positive = self.cost >= 0.0 && self.time.is_none_or(|time| time >= 0.0) && self.fidelity > 0;
        let observed = self.y.is_some() == (self.kind != Kind::Recommend);
        numbers.into_iter().all(|number| number.is_finite()) && !self.x.is_empty() && positive && observed
    }
}

/// What is the same in all rows of a task, and known to a simulator alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    pub optimum: f64,
    /// The true value of the point in use at the task's start, if the task started from one.
    pub deployed: Option<f64>,
    /// The value that trials should not fall below, if there is one.
    pub floor: Option<f64>,
    /// The bounds of the guards, in their order.
    pub bounds: Vec<Bound>,
}

/// What a guarded KPI should keep in a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    pub at_most: bool,
    pub at: f64,
}

impl Bound {
    pub fn is_kept_by(&self, kpi: f64) -> bool {
        if self.at_most { kpi <= self.at } else { kpi >= self.at }
    }

    /// `<3` or `>0.2`.
    fn text(&self) -> String {
        format!("{}{}", if self.at_most { '<' } else { '>' }, number(self.at))
    }

    fn parse(text: &str) -> Option<Self> {
        let (at_most, at) = match text.strip_prefix('<') {
            Some(at) => (true, at),
            None => (false, text.strip_prefix('>')?),
        };
        Some(Self { at_most, at: at.parse().ok()? })
    }
}

impl Terms {
    pub(super) fn is_sound(&self) -> bool {
        let numbers = [Some(self.optimum), self.deployed, self.floor].into_iter().flatten();
        numbers.chain(self.bounds.iter().map(|bound| bound.at)).all(f64::is_finite)
    }
}

/// Where a row stands in its file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place<'a> {
    pub variant: &'a str,
    pub experiment: u32,
    pub task: u32,
    pub round: usize,
}

/// The row as a line of the file, with its newline.
pub(super) fn format_row(place: Place<'_>, row: &Row, terms: &Terms) -> String {
    let Place { variant, experiment, task, round } = place;
    let x: Vec<String> = row.x.iter().map(|&v| number(v)).collect();
    // KPIs stand behind the truth, their bounds behind the floor.
    let mut numbers =
        [row.y, row.truth, Some(terms.optimum), row.time, terms.deployed, terms.floor].map(optional);
    row.kpis.iter().for_each(|kpi| numbers[1] += &format!(" {}", number(*kpi)));
    terms.bounds.iter().for_each(|bound| numbers[5] += &format!(" {}", bound.text()));
    format!(
        "{variant},{experiment},{task},{round},{},{},{},{},{}\n",
        row.kind.as_str(),
        row.fidelity,
        number(row.cost),
        x.join(" "),
        numbers.join(",")
    )
}

/// Reads a line that [`format_row`] wrote, as a checksum tells; its place is known.
pub(super) fn parse_row(line: &str) -> Option<(Row, Terms)> {
    let fields: Vec<&str> = line.split(',').skip(4).collect();
    let [kind, fidelity, cost, x, y, truth, optimum, time, deployed, floor] = fields[..] else { return None };
    let ((truth, kpis), (floor, bounds)) = (apart(truth), apart(floor));
    let row = Row {
        kind: Kind::ALL.into_iter().find(|known| known.as_str() == kind)?,
        fidelity: fidelity.parse().ok()?,
        cost: cost.parse().ok()?,
        time: parse_optional(time)?,
        x: x.split(' ').map(|value| value.parse().ok()).collect::<Option<_>>()?,
        y: parse_optional(y)?,
        truth: parse_optional(truth)?,
        kpis: kpis.map(|kpi| kpi.parse().ok()).collect::<Option<_>>()?,
    };
    let terms = Terms {
        optimum: optimum.parse().ok()?,
        deployed: parse_optional(deployed)?,
        floor: parse_optional(floor)?,
        bounds: bounds.map(Bound::parse).collect::<Option<_>>()?,
    };
    Some((row, terms))
}

/// The first word of a field, and those behind it.
fn apart(field: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut words = field.split(' ');
    (words.next().unwrap_or_default(), words)
}

/// The shortest text of a number that may be missing.
pub(super) fn optional(v: Option<f64>) -> String {
    v.map(number).unwrap_or_default()
}

pub(super) fn parse_optional(field: &str) -> Option<Option<f64>> {
    if field.is_empty() { Some(None) } else { field.parse().ok().map(Some) }
}

/// The shortest text that reads back as the same number.
pub(super) fn number(v: f64) -> String {
    if v == 0.0 || (1e-5..1e15).contains(&v.abs()) { format!("{v}") } else { format!("{v:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { optimum: 3.5, deployed: Some(1.25), floor: Some(1.125), bounds: Vec::new() };

    #[test]
    fn rows_round_trip_bit_for_bit() {
        let row = Row {
            kind: Kind::Search,
            fidelity: 2,
            cost: 15.0,
            time: Some(15.0),
            x: vec![0.1, -3e-9],
            y: Some(1.5),
            truth: Some(1.0 / 3.0),
            kpis: Vec::new(),
        };
        let recommended = Row { kind: Kind::Recommend, y: None, cost: 0.0, time: None, ..row.clone() };
        let unknown = Row { truth: None, ..row.clone() };
        let guarded = Row { kpis: vec![0.31, -1e-7], ..row.clone() };
        let bounds = vec![Bound { at_most: false, at: 0.25 }, Bound { at_most: true, at: -3.5 }];
        let place = Place { variant: "a", experiment: 2, task: 3, round: 4 };
        for row in [row, recommended, unknown, guarded] {
            let none = Terms { deployed: None, floor: None, ..TERMS };
            for terms in [TERMS, Terms { bounds: bounds.clone(), ..none.clone() }, none] {
                let line = format_row(place, &row, &terms);
                assert_eq!(line.split(',').count(), COLUMNS.split(',').count());
                assert_eq!(parse_row(line.trim_end()), Some((row.clone(), terms)));
            }
        }
    }

    #[test]
    fn numbers_are_short_and_exact() {
        for v in [0.0, 1.0, -2.5, 0.1, 1e-5, 9.9e-6, 1e15, f64::MAX, f64::MIN_POSITIVE, 1.0 / 3.0, 5e-324] {
            let text = number(v);
            assert!(text.len() <= 24, "{text}");
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), v.to_bits());
        }
    }
}
