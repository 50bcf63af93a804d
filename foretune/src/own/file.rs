//! `problem.toml`: every error with the file, the line and what is allowed.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use foretune_core::{Fleet, Floor, Goal, Level, MAX_GUARDS, Side};
use serde::Deserialize;
use toml::Spanned;

use super::target::{Limit, Rung, Target};
use host_sim::error::Error;
use host_sim::problems::{DimensionSpec, Guarded, Mapping, Notation, rounded};
use host_sim::runner::Space;
use host_sim::words;

/// Most parameters, as the core has it.
const MOST_PARAMETERS: usize = 16;
/// Most fidelities; one of the core's eight is kept for remembered values.
const MOST_FIDELITIES: usize = 7;
/// Most levels of a parameter.
const MOST_LEVELS: i64 = 10_000;
/// Failures in a row after which a task ends, unless the file says otherwise.
const FAILURES: u32 = 10;
/// Words that stand for something else in a command.
const RESERVED: [&str; 5] = ["fidelity", "samples", "task", "seed", "experiment"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    goal: Aim,
    budget: Spanned<f64>,
    #[serde(default)]
    parameter: Vec<Spanned<Parameter>>,
    #[serde(default)]
    fidelity: Vec<Spanned<Fidelity>>,
    deployed: Option<Spanned<BTreeMap<String, Spanned<f64>>>>,
    floor: Option<Spanned<FloorTable>>,
    #[serde(default)]
    guard: Vec<Spanned<GuardTable>>,
    #[serde(default)]
    limit: Vec<Spanned<LimitTable>>,
    tolerance: Option<Spanned<f64>>,
    failures: Option<Spanned<i64>>,
    fleet: Option<Spanned<PathBuf>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Aim {
    Maximise,
    Minimise,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    name: Spanned<String>,
    #[serde(default)]
    unit: String,
    low: Option<Spanned<f64>>,
    high: Option<Spanned<f64>>,
    levels: Option<Spanned<i64>>,
    step: Option<Spanned<f64>>,
    #[serde(default)]
    integer: bool,
    values: Option<Spanned<Vec<f64>>>,
    scale: Option<Scale>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scale {
    Linear,
    Log,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fidelity {
    name: Spanned<String>,
    cost: Spanned<f64>,
    noise: Option<Spanned<f64>>,
    samples: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FloorTable {
    value: Option<Spanned<f64>>,
    drop: Option<Spanned<f64>>,
    share: Option<Spanned<f64>>,
    risk: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuardTable {
    name: Spanned<String>,
    at_least: Option<Spanned<f64>>,
    at_most: Option<Spanned<AtMost>>,
    share: Option<Spanned<f64>>,
    drop: Option<Spanned<f64>>,
    risk: Option<Spanned<f64>>,
    noise: Spanned<Noise>,
    scale: Option<Scale>,
}

/// A bound, or that share or drop are meant upwards.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum AtMost {
    Value(f64),
    Meant(bool),
}

/// A variance of all fidelities, or of each.
#[derive(Deserialize)]
#[serde(untagged)]
enum Noise {
    All(f64),
    Each(Vec<f64>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitTable {
    sum: Spanned<BTreeMap<String, Spanned<f64>>>,
    at_most: Spanned<f64>,
}

/// What is wrong, and where in the text.
struct Fault {
    at: Range<usize>,
    what: String,
}

fn fault<T>(at: Range<usize>, what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { at, what: what.into() })
}

pub fn read(path: &Path) -> Result<Target, Error> {
    let text = fs::read_to_string(path)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    read_text(path, &text)
}

/// Reads a problem's text as if it lay there: files that it names are looked for beside it.
pub fn read_text(path: &Path, text: &str) -> Result<Target, Error> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    parse(&name, text, path.parent().unwrap_or(Path::new(""))).map_err(|fault| {
        let start = fault.at.start.min(text.len());
        let line = text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::usage(format!("{}, line {line}: {}", path.display(), fault.what))
    })
}

/// Reads a problem's text; names of files in it are relative to a folder.
fn parse(name: &str, text: &str, folder: &Path) -> Result<Target, Fault> {
    let contents: Contents = toml::from_str(text).map_err(|error| Fault {
        at: error.span().unwrap_or(0..0),
        what: error.message().replace('\n', " "),
    })?;
    let end = text.len()..text.len();
    let mut target = Target {
        name: name.into(),
        goal: match contents.goal {
            Aim::Maximise => Goal::Maximise,
            Aim::Minimise => Goal::Minimise,
        },
        budget: number(&contents.budget, "budget", 0.0, 1e12)?,
        parameters: parameters(&contents.parameter, &end)?,
        fidelities: fidelities(&contents.fidelity, &end)?,
        deployed: None,
        floor: None,
        guards: Vec::new(),
        limits: Vec::new(),
        tolerance: contents.tolerance.as_ref().map_or(Ok(0.0), |t| number(t, "tolerance", 0.0, 1.0))?,
        failures: contents.failures.as_ref().map_or(Ok(FAILURES), |f| count(f, "failures"))? as usize,
        fleet: None,
    };
    target.deployed = contents.deployed.as_ref().map(|table| point(&target, table)).transpose()?;
    if let (Some(unknown), None) = (unknown_noise(&contents), &target.deployed) {
        return fault(
            unknown.name.span(),
            format!(
                "fidelity `{}` has no noise, and without [deployed] it cannot be estimated: give noise (a variance), or \
                 a [deployed] point to measure several times",
                unknown.name.get_ref()
            ),
        );
    }
    target.fleet = contents.fleet.as_ref().map(|name| fleet(name, folder, &target)).transpose()?;
    target.floor = contents.floor.as_ref().map(|table| floor(table, &target)).transpose()?;
    target.guards = guards(&contents.guard, &target)?;
    target.limits = contents.limit.iter().map(|table| limit(table, &target)).collect::<Result<_, _>>()?;
    Ok(target)
}

/// The bytes of a fleet's file, if it is of this problem.
fn fleet(name: &Spanned<PathBuf>, folder: &Path, target: &Target) -> Result<Vec<u8>, Fault> {
    let wrong = |why: String| Fault { at: name.span(), what: format!("fleet: {why}") };
    let bytes = crate::fleet::read(&folder.join(name.get_ref())).map_err(|error| wrong(error.to_string()))?;
    let noise = vec![0.0; target.fidelities.len()];
    let space = Space::of_goal(&target.spec(&noise, target.budget), target.goal);
    let parts = space.parts();
    let fits = Fleet::read(&bytes).and_then(|fleet| fleet.fits(&space.problem(&parts, None)));
    fits.map_err(|why| wrong(why.to_string()))?;
    Ok(bytes)
}

fn unknown_noise(contents: &Contents) -> Option<&Fidelity> {
    contents.fidelity.iter().map(Spanned::get_ref).find(|fidelity| fidelity.noise.is_none())
}

fn number(value: &Spanned<f64>, name: &str, low: f64, high: f64) -> Result<f64, Fault> {
    let found = *value.get_ref();
    if (low..=high).contains(&found) {
        return Ok(found);
    }
    let [low, high, found] = [low, high, found].map(words::number);
    fault(value.span(), format!("{name} takes a number from {low} to {high}, not {found}"))
}

fn word(name: &Spanned<String>, of: &str, seen: &mut HashSet<String>) -> Result<String, Fault> {
    let text = name.get_ref();
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !letters || !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return fault(
            name.span(),
            format!("the name of a {of} has letters a-z, digits and _, a letter first: not `{text}`"),
        );
    }
    if of == "parameter" && RESERVED.contains(&text.to_ascii_lowercase().as_str()) {
        return fault(
            name.span(),
            format!(
                "`{text}` cannot be a parameter: {} stand for something else in a command",
                RESERVED.join(", ")
            ),
        );
    }
    if !seen.insert(text.to_ascii_lowercase()) {
        return fault(
            name.span(),
            format!("two of the {of} names are `{text}`, small and capital letters alike"),
        );
    }
    Ok(text.clone())
}

fn parameters(tables: &[Spanned<Parameter>], end: &Range<usize>) -> Result<Vec<DimensionSpec>, Fault> {
    if tables.is_empty() {
        return fault(end.clone(), "there is no [[parameter]]: a problem has 1 to 16");
    }
    if let Some(extra) = tables.get(MOST_PARAMETERS) {
        return fault(extra.span(), format!("a problem has at most {MOST_PARAMETERS} parameters"));
    }
    let mut seen = HashSet::new();
    tables.iter().map(|table| parameter(table, &mut seen)).collect()
}

fn parameter(table: &Spanned<Parameter>, seen: &mut HashSet<String>) -> Result<DimensionSpec, Fault> {
    let Parameter { name, unit, low, high, levels, step, integer, values, scale } = table.get_ref();
    let (name, unit) = (word(name, "parameter", seen)?, unit.clone());
    let log = matches!(scale, Some(Scale::Log));
    let notation = Notation { log, whole: *integer };
    let steps = [levels.is_some(), step.is_some(), *integer].into_iter().filter(|given| *given).count();
    let (low, high) = match (low, high, values) {
        (None, None, Some(values)) if steps == 0 => return list(name, unit, values, notation),
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
        false => low + gap * i as f64,
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
    values: &Spanned<Vec<f64>>,
    notation: Notation,
) -> Result<DimensionSpec, Fault> {
    let found = values.get_ref();
    let least = if notation.log { 1e-30 } else { -1e30 };
    let within = found.iter().all(|value| (least..=1e30).contains(value));
    if found.len() < 2 || !within || !found.is_sorted_by(|a, b| a < b) {
        let kind = if notation.log { "numbers above 0" } else { "finite numbers" };
        return fault(
            values.span(),
            format!("values of parameter `{name}` takes two {kind} or more, each above the one before"),
        );
    }
    distinct(DimensionSpec::Levels { name, unit, values: found.clone(), notation }, values.span())
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

fn fidelities(tables: &[Spanned<Fidelity>], end: &Range<usize>) -> Result<Vec<Rung>, Fault> {
    if tables.is_empty() {
        return fault(
            end.clone(),
            "there is no [[fidelity]]: a problem has 1 to 7, the last is the one that counts",
        );
    }
    if let Some(extra) = tables.get(MOST_FIDELITIES) {
        return fault(extra.span(), format!("a problem has at most {MOST_FIDELITIES} fidelities"));
    }
    let (mut seen, mut rungs) = (HashSet::new(), Vec::<Rung>::new());
    for table in tables {
        let Fidelity { name, cost, noise, samples } = table.get_ref();
        let rung = Rung {
            name: word(name, "fidelity", &mut seen)?,
            cost: number(cost, "cost", 1e-12, 1e12)?,
            noise: noise.as_ref().map(|noise| number(noise, "noise", 0.0, 1e30)).transpose()?,
            samples: samples.as_ref().map(|samples| count(samples, "samples")).transpose()?,
        };
        if let Some(before) = rungs.last().filter(|before| before.cost > rung.cost) {
            return fault(
                cost.span(),
                format!(
                    "fidelities go from cheap to expensive: `{}` costs {}, `{}` before it {}",
                    rung.name,
                    words::number(rung.cost),
                    before.name,
                    words::number(before.cost)
                ),
            );
        }
        rungs.push(rung);
    }
    Ok(rungs)
}

fn count(value: &Spanned<i64>, name: &str) -> Result<u32, Fault> {
    match u32::try_from(*value.get_ref()) {
        Ok(count) if count > 0 => Ok(count),
        _ => {
            fault(value.span(), format!("{name} takes a whole number of at least 1, not {}", value.get_ref()))
        }
    }
}

fn point(target: &Target, table: &Spanned<BTreeMap<String, Spanned<f64>>>) -> Result<Vec<f64>, Fault> {
    let values = table.get_ref();
    let pairs = values.iter().map(|(name, value)| (name.as_str(), *value.get_ref()));
    target.point(pairs).map_err(|(name, what)| {
        let at = name.and_then(|name| values.get(&name)).map_or(table.span(), Spanned::span);
        Fault { at, what: format!("[deployed]: {what}") }
    })
}

fn guards(tables: &[Spanned<GuardTable>], target: &Target) -> Result<Vec<Guarded>, Fault> {
    if let Some(extra) = tables.get(MAX_GUARDS) {
        return fault(extra.span(), format!("a problem has at most {MAX_GUARDS} guards"));
    }
    let mut seen = HashSet::from(["value".to_string(), "cost".to_string()]);
    (0..).zip(tables).map(|(index, table)| guard(table, index, target, &mut seen)).collect()
}

fn guard(
    table: &Spanned<GuardTable>,
    index: usize,
    target: &Target,
    seen: &mut HashSet<String>,
) -> Result<Guarded, Fault> {
    let GuardTable { name, at_least, at_most, share, drop, risk, noise, scale } = table.get_ref();
    let name = word(name, "guard", seen)?;
    let upwards = at_most.as_ref().map(|at_most| (*at_most.get_ref(), at_most));
    let value = |value: &Spanned<f64>, name| number(value, name, -1e30, 1e30).map(|v| Level::Value(v as f32));
    let (side, level) = match (at_least, upwards, share, drop) {
        (Some(least), None, None, None) => (Side::AtLeast, value(least, "at_least")?),
        (None, Some((AtMost::Value(most), at)), None, None) => {
            (Side::AtMost, value(&Spanned::new(at.span(), most), "at_most")?)
        }
        (None, None | Some((AtMost::Meant(_), _)), share, drop) if share.is_some() != drop.is_some() => {
            let meant = matches!(upwards, Some((AtMost::Meant(true), _)));
            let level = match (share, drop) {
                (Some(share), _) => Level::Share(number(share, "share", 0.0, 0.999_999)? as f32),
                (_, drop) => {
                    let drop = drop.as_ref().map_or(Ok(1.0), |drop| number(drop, "drop", 1e-30, 1e30))?;
                    Level::Drop(drop as f32)
                }
            };
            (if meant { Side::AtMost } else { Side::AtLeast }, level)
        }
        _ => {
            return fault(
                table.span(),
                format!(
                    "guard `{name}` takes one of at_least, at_most, share and drop; at_most = true with a share or a drop turns it \
                     upwards"
                ),
            );
        }
    };
    let count = target.fidelities.len();
    let noise = match noise.get_ref() {
        Noise::All(variance) => vec![*variance; count],
        Noise::Each(variances) if variances.len() == count => variances.clone(),
        Noise::Each(_) => {
            return fault(noise.span(), format!("noise takes a variance, or a list of {count}"));
        }
    };
    if !noise.iter().all(|variance| (0.0..=1e30).contains(variance)) {
        return fault(table.get_ref().noise.span(), "noise takes variances from 0 to 1e30");
    }
    let guard = Guarded {
        name,
        index,
        side,
        level,
        risk: risk.as_ref().map_or(Ok(0.05), |risk| number(risk, "risk", 0.001, 0.5))? as f32,
        log: matches!(scale, Some(Scale::Log)),
        noise: noise.iter().map(|variance| *variance as f32).collect(),
    };
    guard.fault().map_or(Ok(guard), |what| fault(table.span(), what))
}

fn floor(table: &Spanned<FloorTable>, target: &Target) -> Result<Floor, Fault> {
    let FloorTable { value, drop, share, risk } = table.get_ref();
    let level = match (value, drop, share) {
        (Some(value), None, None) => Level::Value(number(value, "value", -1e30, 1e30)? as f32),
        (None, Some(drop), None) => Level::Drop(number(drop, "drop", 1e-30, 1e30)? as f32),
        (None, None, Some(share)) => Level::Share(number(share, "share", 0.0, 0.999_999)? as f32),
        _ => return fault(table.span(), "[floor] takes one of value, drop and share, and a risk"),
    };
    if target.deployed.is_none() {
        return fault(table.span(), "[floor] needs a [deployed] point: tuning begins there");
    }
    Ok(Floor { level, risk: number(risk, "risk", 0.001, 0.5)? as f32 })
}

fn limit(table: &Spanned<LimitTable>, target: &Target) -> Result<Limit, Fault> {
    let LimitTable { sum, at_most } = table.get_ref();
    let mut coefficients = vec![0.0; target.parameters.len()];
    for (name, value) in sum.get_ref() {
        let Some(known) = target.names().position(|known| known == name) else {
            let names: Vec<&str> = target.names().collect();
            return fault(
                value.span(),
                format!("sum: no parameter is called `{name}`: there are {}", names.join(", ")),
            );
        };
        if target.parameters[known].notation().log {
            return fault(
                value.span(),
                format!("sum: parameter `{name}` has a logarithmic scale: a limit takes others"),
            );
        }
        coefficients[known] = number(value, "a coefficient of sum", -1e30, 1e30)?;
    }
    if coefficients.iter().all(|&coefficient| coefficient == 0.0) {
        return fault(sum.span(), "sum takes at least one parameter with a coefficient that is not 0");
    }
    let limit = Limit { coefficients, at_most: number(at_most, "at_most", -1e30, 1e30)? };
    let total = |point: &Vec<f64>| limit.coefficients.iter().zip(point).map(|(a, x)| a * x).sum::<f64>();
    match target.deployed.as_ref().map(total) {
        Some(total) if total > limit.at_most => fault(
            table.span(),
            format!(
                "the [deployed] point breaks this limit: its sum is {}, at most {} is allowed",
                words::number(total),
                words::number(limit.at_most)
            ),
        ),
        _ => Ok(limit),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::FILE;
    use super::*;

    fn refusal(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.toml");
        fs::write(&path, text).unwrap();
        read(&path).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_file_is_read() {
        let target = parse("radio", FILE, Path::new("")).map_err(|fault| fault.what).unwrap();
        assert_eq!(target.names().collect::<Vec<_>>(), ["p0", "alpha"]);
        let DimensionSpec::Levels { values, .. } = &target.parameters[0] else { panic!() };
        assert_eq!((values.len(), values[1], values[62]), (63, -98.0, 24.0));
        assert_eq!(target.deployed, Some(vec![-80.0, 0.7]));
        assert_eq!(target.fidelities[0].samples, Some(10));
        assert_eq!(target.fidelities[1].noise, None);
        assert_eq!(target.floor, Some(Floor { level: Level::Share(0.9), risk: 0.05 }));
        assert_eq!(target.limits[0].coefficients, [1.0, 2.0]);
        assert_eq!(target.service().limits, [(vec![1.0, 2.0], 20.0)]);
    }

    /// Each replacement breaks the file in one place: the error names that line and what is allowed.
    #[test]
    fn every_mistake_is_told_with_its_line_and_what_is_allowed() {
        let cases = [
            ("\"maximise\"", "\"max\"", 1, "`maximise`"),
            ("budget = 100\n", "budget = -1\n", 2, "from 0"),
            ("budget = 100\n", "budget = 1e300\n", 2, "not 1e300"),
            ("budget = 100\n", "budget = 1\nspeed = 3\n", 3, "`budget`"),
            ("budget = 100\n", "budget = 1\nfailures = 0\n", 3, "failures takes"),
            ("name = \"p0\"", "name = \"p 0\"", 4, "letters"),
            ("name = \"p0\"", "name = \"task\"", 4, "something else"),
            ("unit = \"dBm\"", "steps = 2", 5, "`levels`"),
            ("unit = \"dBm\"", "step = 2", 3, "one of levels, step, integer"),
            ("levels = 63", "step = 3", 3, "steps of 3 do not lead from -100 to 24"),
            ("levels = 63", "step = 0.001", 3, "more than 10000 levels"),
            ("high = 24.0\nlevels = 63", "high = 24.5\ninteger = true", 7, "whole"),
            ("unit = \"dBm\"", "scale = \"log\"", 6, "low on a logarithmic scale takes a number from 1e-30"),
            ("unit = \"dBm\"", "scale = \"dB\"", 5, "`linear` or `log`"),
            ("values = [0.0,", "scale = \"log\"\nvalues = [0.0,", 12, "numbers above 0"),
            ("low = -100\nhigh = 24.0", "scale = \"log\"\nlow = 1\nhigh = 24.0", 22, "the nearest is 1"),
            ("low = -100", "low = \"-100\"", 6, "f64"),
            ("high = 24.0", "high = -100", 7, "above low"),
            ("levels = 63", "levels = 1", 8, "from 2"),
            ("levels = 63", "values = [1.0, 2.0]", 3, "nothing else"),
            ("name = \"alpha\"", "name = \"P0\"", 10, "alike"),
            ("[0.0, 0.4, 0.7, 1.0]", "[0.0, 0.4, 0.4]", 11, "above the one before"),
            ("[0.0, 0.4, 0.7, 1.0]", "[0.0, 1e-12, 0.7]", 11, "single precision"),
            ("cost = 1.0", "cost = 0", 14, "cost takes"),
            ("cost = 1.0", "cost = 6", 19, "from cheap to expensive"),
            ("noise = 0.04", "noise = -0.04", 15, "noise takes"),
            ("samples = 10", "samples = 0", 16, "at least 1"),
            ("p0 = -80.0", "p0 = -81.0", 21, "nearest is -82"),
            ("p0 = -80.0", "p1 = -80.0", 21, "p0, alpha"),
            ("alpha = 0.7", "", 20, "`alpha` has no value"),
            ("share = 0.9", "share = 1.9", 24, "from 0 to 0.999"),
            ("share = 0.9", "drop = 1.0\nvalue = 1.0", 23, "one of"),
            ("risk = 0.05", "risk = 0", 25, "risk takes"),
            ("alpha = 2.0 }", "beta = 2.0 }", 27, "p0, alpha"),
            ("at_most = 20.0", "at_most = -90.0", 26, "breaks this limit"),
            ("p0 = 1.0, alpha = 2.0", "p0 = 0", 27, "not 0"),
        ];
        for (from, to, line, words) in cases {
            assert!(FILE.contains(from), "{from}");
            let error = refusal(&FILE.replacen(from, to, 1));
            assert!(error.contains(&format!("p.toml, line {line}: ")), "{to}: {error}");
            assert!(error.contains(words) && !error.contains('\n'), "{to}: {error}");
        }
    }

    #[test]
    fn parameters_are_taken_as_people_have_them() {
        let read = |text: &str| {
            let text = format!(
                "goal = \"minimise\"\nbudget = 9\n[[parameter]]\nname = \"x\"\n{text}\n\
                 [[fidelity]]\nname = \"a\"\ncost = 1\nnoise = 0\n"
            );
            parse("p", &text, Path::new("")).map_err(|fault| fault.what).unwrap().parameters.remove(0)
        };
        let levels = |text: &str| match read(text) {
            DimensionSpec::Levels { values, .. } => values,
            other => panic!("{other:?}"),
        };
        assert_eq!(levels("low = -1\nhigh = 3\ninteger = true"), [-1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(levels("low = 0.1\nhigh = 0.7\nstep = 0.2"), [0.1, 0.3, 0.5, 0.7]);
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

    #[test]
    fn what_is_missing_is_named() {
        let without = |from: &str, to: &str| {
            let (start, end) = (FILE.find(from).unwrap(), FILE.find(to).unwrap());
            refusal(&[&FILE[..start], &FILE[end..]].concat())
        };
        assert!(without("goal", "budget").contains("missing field `goal`"));
        assert!(without("[[fidelity]]", "[deployed]").contains("no [[fidelity]]"));
        assert!(without("[[parameter]]", "[[fidelity]]").contains("no [[parameter]]"));
        let error = without("[deployed]", "[floor]");
        assert!(error.contains("line 18") && error.contains("noise"), "{error}");
        assert!(read(Path::new("/nowhere/p.toml")).unwrap_err().to_string().contains("nowhere"));
    }
}
