//! Tables of measurements, written and read, and what was measured before a task by name from another program.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::state::{Past, State};
use crate::target::is_within;
use crate::{Given, Target};
use host_sim::error::Error;
use host_sim::words::{counted, number, say, shortest};

/// Columns that need not be there, and are not looked at.
const BESIDE: [&str; 3] = ["task", "why", "cost"];

/// A measurement by name, as `foretune serve` and Python have it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    pub setting: BTreeMap<String, Given>,
    pub value: f64,
    /// The fidelity that counts, if none is given.
    pub fidelity: Option<String>,
    /// What was measured of the guarded KPIs.
    #[serde(default)]
    pub kpis: BTreeMap<String, f64>,
}

/// Measurements of a target, or why one of them is none.
pub fn of_known(target: &Target, known: &[Known]) -> Result<Vec<Past>, Error> {
    let one = |(i, known): (usize, &Known)| {
        let setting = known.setting.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let kpi = |name: &str| known.kpis.get(name).copied();
        past(target, setting, known.fidelity.as_deref(), known.value, kpi)
            .map_err(|(_, why)| Error::usage(format!("past measurement {}: {why}", i + 1)))
    };
    known.iter().enumerate().map(one).collect()
}

/// A measurement, or the column that is wrong and why.
fn past<'a>(
    target: &Target,
    setting: impl IntoIterator<Item = (&'a str, Given)>,
    fidelity: Option<&str>,
    value: f64,
    kpi: impl Fn(&str) -> Option<f64>,
) -> Result<Past, (Option<String>, String)> {
    let point = target.point(setting)?;
    let kpis = target.kpis(kpi).map_err(|why| (None, format!("there is {why}")))?;
    let named = |name: &str| {
        let names: Vec<&str> = target.fidelities.iter().map(|rung| rung.name.as_str()).collect();
        names.iter().position(|known| *known == name).ok_or_else(|| {
            let why = format!("no fidelity is called `{name}`: there are {}", names.join(", "));
            (Some("fidelity".to_string()), why)
        })
    };
    let fidelity = fidelity.map_or(Ok(target.truth()), named)?;
    if is_within(value) {
        return Ok(Past { point, fidelity, value: value as f32, kpis });
    }
    let why = format!("a value is a finite number within ±1e30, not {}", number(value));
    Err((Some("value".into()), why))
}

/// The measurements in a file: a line with names of columns, then a line for each; those without a value are left out.
pub fn read(path: &Path, target: &Target) -> Result<Vec<Past>, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let (rows, failed) = parse(&text, target)
        .map_err(|(line, why)| Error::usage(format!("{}, line {line}: {why}", path.display())))?;
    if failed > 0 {
        let rows = counted(failed, "row");
        say(&format!("{}: {rows} without a value left out, as failed measurements", path.display()));
    }
    Ok(rows)
}

/// The measurements of all tasks as a table that [`read`] reads.
pub fn table(target: &Target, state: &State) -> String {
    cells(target, state).into_iter().map(|row| row.join(",") + "\n").collect()
}

/// Its rows, names of columns first.
pub fn cells(target: &Target, state: &State) -> Vec<Vec<String>> {
    let names = ["task", "why"].into_iter().chain(target.names()).chain(["fidelity", "cost", "value"]);
    let names = names.chain(target.guards.iter().map(|guard| guard.name.as_str()));
    let mut rows = vec![names.map(String::from).collect::<Vec<_>>()];
    for (task, told) in
        state.tasks.iter().enumerate().flat_map(|(i, task)| task.answers.iter().map(move |t| (i + 1, t)))
    {
        let mut row = vec![task.to_string(), format!("{:?}", told.why).to_lowercase()];
        row.extend(target.parameters.iter().zip(&told.point).map(|(parameter, x)| parameter.shown(*x)));
        let value = told.value.map(|value| number(shortest(value))).unwrap_or_default();
        row.extend([target.fidelities[told.fidelity].name.clone(), number(told.cost), value]);
        let kpi = |g: usize| told.kpis.get(g).map(|kpi| number(*kpi)).unwrap_or_default();
        row.extend((0..target.guards.len()).map(kpi));
        rows.push(row);
    }
    rows
}

type Wrong = (usize, String);

fn parse(text: &str, target: &Target) -> Result<(Vec<Past>, usize), Wrong> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines =
        text.lines().enumerate().map(|(i, line)| (i + 1, line)).filter(|(_, line)| !line.trim().is_empty());
    let guarded = target.guards.iter().map(|guard| guard.name.as_str());
    let names: Vec<&str> = target.names().chain(["value"]).chain(guarded).collect();
    let wanted = || format!("a first line with {}, and fidelity if need be", names.join(", "));
    let (first, head) =
        lines.next().ok_or_else(|| (1, format!("the table is empty: it takes {}", wanted())))?;
    let columns: Vec<&str> = split(head).collect();
    for (i, name) in columns.iter().enumerate() {
        if columns[..i].contains(name) {
            return Err((first, format!("column `{name}` is there twice")));
        }
        if !names.contains(name) && *name != "fidelity" && !BESIDE.contains(name) {
            return Err((first, format!("column `{name}` is none of this problem's: it takes {}", wanted())));
        }
    }
    if let Some(missing) = names.iter().find(|name| !columns.contains(name)) {
        return Err((first, format!("column `{missing}` is missing: it takes {}", wanted())));
    }
    let (mut rows, mut failed) = (Vec::new(), 0);
    for (line, text) in lines {
        match row(text, &columns, target).map_err(|why| (line, why))? {
            Some(past) => rows.push(past),
            None => failed += 1,
        }
    }
    Ok((rows, failed))
}

/// A measurement; none if it has no value.
fn row(text: &str, columns: &[&str], target: &Target) -> Result<Option<Past>, String> {
    let cells: Vec<&str> = split(text).collect();
    if cells.len() != columns.len() {
        return Err(format!(
            "there are {} for {}",
            counted(cells.len(), "cell"),
            counted(columns.len(), "column")
        ));
    }
    let cell = |name: &str| columns.iter().position(|column| *column == name).map(|i| cells[i]);
    let number = |name: &str| {
        let text = cell(name).unwrap_or_default();
        text.parse().map_err(|_| format!("column `{name}`: `{text}` is not a number"))
    };
    if cell("value") == Some("") {
        return Ok(None);
    }
    let setting = target.names().map(|name| (name, Given::Text(cell(name).unwrap_or_default().into())));
    let kpis = target.guards.iter().map(|guard| Ok((&guard.name[..], number(&guard.name)?)));
    let kpis = kpis.collect::<Result<BTreeMap<&str, f64>, String>>()?;
    let past = past(target, setting, cell("fidelity"), number("value")?, |name| kpis.get(name).copied());
    past.map(Some)
        .map_err(|(column, why)| column.map_or(why.clone(), |name| format!("column `{name}`: {why}")))
}

fn split(line: &str) -> impl Iterator<Item = &str> {
    let bare =
        |cell| Some(cell).and_then(|cell: &str| cell.strip_prefix('"')?.strip_suffix('"')).unwrap_or(cell);
    line.split(',').map(str::trim).map(bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::target;

    #[test]
    fn columns_in_any_order_quoted_or_not_are_read_and_rows_without_a_value_counted() {
        let text = "\u{feff}task,\"alpha\",value, p0,fidelity\r\n1,0.5,2.5,-80,short\r\n\r\n1,1,,-78,long\r\n1,1,3,-78,long\r\n";
        let past =
            |point: [f64; 2], fidelity, value| Past { point: point.into(), fidelity, value, kpis: vec![] };
        let rows = vec![past([-80.0, 0.5], 0, 2.5), past([-78.0, 1.0], 1, 3.0)];
        assert_eq!(parse(text, &target()), Ok((rows, 1)));
        let plain = parse("p0,alpha,value\n-80,0.5,1", &target()).unwrap();
        assert_eq!(plain.0, [past([-80.0, 0.5], 1, 1.0)]);
    }

    #[test]
    fn every_mistake_is_told_with_its_line_and_column() {
        for (text, line, words) in [
            ("", 1, "p0, alpha, value, and fidelity"),
            ("p0,value\n", 1, "column `alpha` is missing"),
            ("p0,alpha\n", 1, "column `value` is missing"),
            ("\np0,alpha,value,beta\n", 2, "column `beta` is none of this problem's"),
            ("p0,alpha,value,p0\n", 1, "column `p0` is there twice"),
            ("p0,alpha,value\n-80,1,2\n-80,1\n", 3, "2 cells for 3 columns"),
            ("p0,alpha,value\n-80,one,2\n", 2, "column `alpha`: `one` is not a number"),
            ("p0,alpha,value\n-80,,2\n", 2, "column `alpha`: `` is not a number"),
            ("p0,alpha,value\n-81,1,2\n", 2, "column `p0`: parameter `p0` has no level -81"),
            (
                "p0,alpha,value\n-80,1.5,2\n",
                2,
                "column `alpha`: parameter `alpha` takes a number from 0 to 1",
            ),
            ("p0,alpha,value\n-80,1,inf\n", 2, "column `value`: a value is a finite number"),
            (
                "p0,alpha,value,fidelity\n-80,1,2,medium\n",
                2,
                "column `fidelity`: no fidelity is called `medium`",
            ),
        ] {
            let (at, why) = parse(text, &target()).unwrap_err();
            assert!(at == line && why.contains(words), "{text}: line {at}: {why}");
        }
    }
}
