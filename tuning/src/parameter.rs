//! A parameter as people have it: a range, levels, steps, integers or a list, on either scale; or names.

use std::collections::HashSet;
use std::ops::Range;

use foretune_core::MAX_VALUES;
use serde::Deserialize;
use toml::Spanned;

use super::file::{Fault, fault, number, word};
use host_sim::problems::{DimensionSpec, Mapping, Notation, rounded};
use host_sim::words;

/// Most parameters, as the core has it.
const MOST_PARAMETERS: usize = 16;
/// Most levels of a parameter: as many as a grid of the core has.
const MOST_LEVELS: i64 = u16::MAX as i64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    name: Spanned<String>,
    #[serde(default)]
    unit: String,
    low: Option<Spanned<f64>>,
    high: Option<Spanned<f64>>,
    levels: Option<Spanned<i64>>,
    step: Option<Spanned<f64>>,
    #[serde(default)]
    integer: bool,
    values: Option<Spanned<Values>>,
    scale: Option<Scale>,
}

/// Levels, or the names of what has no order.
#[derive(Deserialize)]
#[serde(untagged, expecting = "values takes numbers, or names in quotes: not both, and nothing else")]
enum Values {
    Numbers(Vec<f64>),
    Names(Vec<String>),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scale {
    Linear,
    Log,
}

/// The parameters, then the conditions.
pub(super) fn parameters(
    tables: &[Spanned<Parameter>],
    conditions: &[Spanned<Parameter>],
    end: &Range<usize>,
) -> Result<Vec<DimensionSpec>, Fault> {
    if tables.is_empty() {
        return fault(end.clone(), "there is no [[parameter]]: a problem has 1 to 16");
    }
    if let Some(extra) = tables.iter().chain(conditions).nth(MOST_PARAMETERS) {
        return fault(
            extra.span(),
            format!("a problem has at most {MOST_PARAMETERS} parameters and conditions"),
        );
    }
    let mut seen = HashSet::new();
    let mut found = tables.iter().map(|table| parameter(table, &mut seen)).collect::<Result<Vec<_>, _>>()?;
    for table in conditions {
        let DimensionSpec::Interval { name, unit, low, high, notation } = parameter(table, &mut seen)? else {
            return fault(table.span(), "a condition takes name, low and high, and may have unit and scale");
        };
        let notation = Notation { condition: true, ..notation };
        found.push(DimensionSpec::Interval { name, unit, low, high, notation });
    }
    Ok(found)
}

fn parameter(table: &Spanned<Parameter>, seen: &mut HashSet<String>) -> Result<DimensionSpec, Fault> {
    let Parameter { name, unit, low, high, levels, step, integer, values, scale } = table.get_ref();
    let (name, unit) = (word(name, "parameter", seen)?, unit.clone());
    let log = matches!(scale, Some(Scale::Log));
    let notation = Notation { log, whole: *integer, condition: false };
    let steps = [levels.is_some(), step.is_some(), *integer].into_iter().filter(|given| *given).count();
    let (low, high) = match (low, high, values) {
        (None, None, Some(values)) if steps == 0 => {
            return match values.get_ref() {
                Values::Numbers(numbers) => list(name, unit, numbers, notation, values.span()),
                Values::Names(names) => {
                    category(name, names, scale.is_some() || !unit.is_empty(), values.span())
                }
            };
        }
        (Some(low), Some(high), None) if steps <= 1 => (low, high),
        _ => {
            return fault(
                table.span(),
                format!(
                    "parameter `{name}` takes low and high (and one of levels, step, integer), or values, and nothing else"
                ),
            );
        }
    };
    let ends = ends(&name, (low, high), notation)?;
    let step = step.as_ref().map(|step| number(step, "step", 1e-30, 1e30)).transpose()?;
    let (values, at) = match (levels, step.or(integer.then_some(1.0))) {
        (Some(levels), _) => (spread(ends, levels, log)?, levels.span()),
        (None, Some(step)) => (stepped(&name, ends, step, table.span())?, table.span()),
        (None, None) => {
            return Ok(DimensionSpec::Interval { name, unit, low: ends.0, high: ends.1, notation });
        }
    };
    distinct(DimensionSpec::Levels { name, unit, values, notation }, at)
}

/// Both ends of a range, if they make one.
fn ends(
    name: &str,
    (low, high): (&Spanned<f64>, &Spanned<f64>),
    notation: Notation,
) -> Result<(f64, f64), Fault> {
    let least = if notation.log { 1e-30 } else { -1e30 };
    let of_log =
        |what: &str| if notation.log { format!("{what} on a logarithmic scale") } else { what.to_string() };
    let ends = (number(low, &of_log("low"), least, 1e30)?, number(high, &of_log("high"), least, 1e30)?);
    if ends.0 >= ends.1 {
        let [low, found] = [ends.0, ends.1].map(words::number);
        return fault(
            high.span(),
            format!("high of parameter `{name}` must be above low, {low}, and is {found}"),
        );
    }
    match [(low, ends.0), (high, ends.1)].into_iter().find(|(_, end)| notation.whole && end.fract() != 0.0) {
        Some((end, _)) => {
            fault(end.span(), format!("parameter `{name}` is an integer: low and high are whole"))
        }
        None => Ok(ends),
    }
}

/// So many levels from one end to the other, at the same distance or ratio.
fn spread((low, high): (f64, f64), levels: &Spanned<i64>, log: bool) -> Result<Vec<f64>, Fault> {
    let count = *levels.get_ref();
    if !(2..=MOST_LEVELS).contains(&count) {
        return fault(
            levels.span(),
            format!("levels takes a whole number from 2 to {MOST_LEVELS}, not {count}"),
        );
    }
    let (ratio, gap) = ((high / low).powf(1.0 / (count - 1) as f64), (high - low) / (count - 1) as f64);
    let level = |i: i64| match log {
        true => Some(low * ratio.powf(i as f64)).map(|value| rounded(value, value * 1e-9)).unwrap_or(low),
        false => rounded(low + gap * i as f64, gap * 1e-9),
    };
    let mut values: Vec<f64> = (0..count).map(level).collect();
    values[count as usize - 1] = high;
    Ok(values)
}

/// Levels a step apart.
fn stepped(name: &str, (low, high): (f64, f64), step: f64, at: Range<usize>) -> Result<Vec<f64>, Fault> {
    let count = ((high - low) / step).round();
    if count > (MOST_LEVELS - 1) as f64 {
        return fault(
            at,
            format!(
                "parameter `{name}` has more than {MOST_LEVELS} levels: take a larger step, or leave it out"
            ),
        );
    }
    if (low + step * count - high).abs() > 1e-6 * step {
        let [step, low, high] = [step, low, high].map(words::number);
        return fault(at, format!("steps of {step} do not lead from {low} to {high} of parameter `{name}`"));
    }
    Ok((0..=count as u32).map(|i| rounded(low + step * f64::from(i), step * 1e-9).clamp(low, high)).collect())
}

fn list(
    name: String,
    unit: String,
    found: &[f64],
    notation: Notation,
    at: Range<usize>,
) -> Result<DimensionSpec, Fault> {
    let least = if notation.log { 1e-30 } else { -1e30 };
    let within = found.iter().all(|value| (least..=1e30).contains(value));
    if found.len() < 2 || !within || !found.is_sorted_by(|a, b| a < b) {
        let kind = if notation.log { "numbers above 0" } else { "finite numbers" };
        return fault(
            at,
            format!("values of parameter `{name}` takes two {kind} or more, each above the one before"),
        );
    }
    if found.len() > MOST_LEVELS as usize {
        return fault(
            at,
            format!("values of parameter `{name}` takes {MOST_LEVELS} at most, not {}", found.len()),
        );
    }
    distinct(DimensionSpec::Levels { name, unit, values: found.to_vec(), notation }, at)
}

/// Values without an order.
fn category(
    name: String,
    values: &[String],
    measured: bool,
    at: Range<usize>,
) -> Result<DimensionSpec, Fault> {
    let wrong = |what: &str| fault(at.clone(), format!("values of parameter `{name}` {what}"));
    // They stand in tables and behind options.
    let plain = |value: &String| {
        value.trim() == value && !value.contains(|c: char| ",\"".contains(c) || c.is_control())
    };
    let mut seen = HashSet::new();
    if measured {
        wrong("are names, which have neither unit nor scale")
    } else if !(2..=MAX_VALUES).contains(&values.len()) {
        wrong(&format!("takes 2 to {MAX_VALUES} names, not {}", values.len()))
    } else if values.iter().any(String::is_empty) {
        wrong("takes no empty name")
    } else if let Some(odd) = values.iter().find(|value| !plain(value)) {
        wrong(&format!("takes names without commas, quotes or blanks at their ends: not `{odd}`"))
    } else if let Some(twice) = values.iter().find(|value| !seen.insert(*value)) {
        wrong(&format!("has `{twice}` twice"))
    } else {
        Ok(DimensionSpec::Category { name, values: values.to_vec() })
    }
}

/// Levels that single precision can tell apart within their range.
fn distinct(levels: DimensionSpec, at: Range<usize>) -> Result<DimensionSpec, Fault> {
    let (low, high) = levels.range();
    let DimensionSpec::Levels { name, values, .. } = &levels else { return Ok(levels) };
    let (mapping, relative) = (Mapping::of(&levels), (low.abs().max(high.abs()) / (high - low)) as f32);
    let unit = |value: f64| match mapping {
        Some(mapping) => mapping.place(value) as f32,
        None => ((value as f32) - (low as f32)) / ((high as f32) - (low as f32)),
    };
    let rounding = 4.0 * f32::EPSILON * if mapping.is_some() { 1.0 } else { relative };
    if values.windows(2).all(|pair| unit(pair[1]) - unit(pair[0]) > rounding.max(f32::EPSILON)) {
        return Ok(levels);
    }
    fault(at, format!("levels of parameter `{name}` are too close together for single precision"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::read_text;
    use std::path::Path;

    #[test]
    fn parameters_are_taken_as_people_have_them() {
        let read = |text: &str| {
            let text = format!(
                "goal = \"minimise\"\nbudget = 9\n[[parameter]]\nname = \"x\"\n{text}\n\
                 [[fidelity]]\nname = \"a\"\ncost = 1\nnoise = 0\n"
            );
            read_text(Path::new("p.toml"), &text).unwrap().parameters.remove(0)
        };
        let levels = |text: &str| match read(text) {
            DimensionSpec::Levels { values, .. } => values,
            other => panic!("{other:?}"),
        };
        assert_eq!(levels("low = -1\nhigh = 3\ninteger = true"), [-1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(levels("low = -34\nhigh = 65500\ninteger = true")[65_534], 65_500.0);
        assert_eq!(levels("low = 0.1\nhigh = 0.7\nstep = 0.2"), [0.1, 0.3, 0.5, 0.7]);
        assert_eq!(levels("low = 0\nhigh = 1\nlevels = 11"), levels("low = 0\nhigh = 1\nstep = 0.1"));
        assert_eq!(levels("low = 0.1\nhigh = 0.9\nlevels = 3"), [0.1, 0.5, 0.9]);
        let decades = "low = 0.001\nhigh = 10\nlevels = 5\nscale = \"log\"";
        assert_eq!(levels(decades), [0.001, 0.01, 0.1, 1.0, 10.0]);
        assert_eq!(levels("values = [1.0, 8.0]\nscale = \"log\""), [1.0, 8.0]);
        assert!(read("low = 1\nhigh = 64\ninteger = true\nscale = \"log\"").notation().whole);
        assert_eq!(read("low = 2400000000\nhigh = 2400000100").range(), (2_400_000_000.0, 2_400_000_100.0));
        let channels = read("low = 2400e6\nhigh = 2480e6\nlevels = 8001");
        assert_eq!(channels.admissible(2_437_010_000.0), Ok(2_437_010_000.0));
        let narrow = read("low = 2400000000\nhigh = 2400000100\nlevels = 101");
        assert_eq!(narrow.admissible(2_400_000_017.0), Ok(2_400_000_017.0));
        assert!(narrow.admissible(2_400_000_017.5).unwrap_err().contains("nearest is 2400000017"));
    }
}
