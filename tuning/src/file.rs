//! `problem.toml`: every error with the file, the line and what is allowed.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use foretune_core::{Fleet, Floor, Goal, Level, MAX_GUARDS, Side};
use serde::Deserialize;
use toml::Spanned;

use super::parameter::{Parameter, Scale, parameters};
use super::target::{Given, Limit, RUN_LENGTH, Rung, Target};
use host_sim::error::Error;
use host_sim::problems::{DimensionSpec, Guarded};
use host_sim::runner::Space;
use host_sim::words;

/// Most fidelities; one of the core's eight is kept for remembered values.
const MOST_FIDELITIES: usize = 7;
/// Failures in a row after which a task ends, unless the file says otherwise.
const FAILURES: u32 = 10;
/// Words that stand for something else in commands, answers and tables.
const RESERVED: [&str; 8] = ["fidelity", "samples", "task", "seed", "experiment", "value", "cost", "why"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    goal: Aim,
    budget: Spanned<f64>,
    #[serde(default)]
    parameter: Vec<Spanned<Parameter>>,
    #[serde(default)]
    condition: Vec<Spanned<Parameter>>,
    #[serde(default)]
    fidelity: Vec<Spanned<Fidelity>>,
    deployed: Option<Spanned<BTreeMap<String, Spanned<Given>>>>,
    floor: Option<Spanned<FloorTable>>,
    #[serde(default)]
    guard: Vec<Spanned<GuardTable>>,
    #[serde(default)]
    limit: Vec<Spanned<LimitTable>>,
    tolerance: Option<Spanned<f64>>,
    failures: Option<Spanned<i64>>,
    run_length: Option<Spanned<f64>>,
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
    risk: Option<Spanned<f64>>,
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
    noise: Option<Spanned<Noise>>,
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
pub(super) struct Fault {
    at: Range<usize>,
    what: String,
}

pub(super) fn fault<T>(at: Range<usize>, what: impl Into<String>) -> Result<T, Fault> {
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
    let contents: Contents = toml::from_str(text).map_err(|error| {
        let what = match error.message() {
            "invalid type: map, expected a sequence" => {
                "takes a list of tables, in a file with two brackets: [[parameter]]"
            }
            message => message,
        };
        Fault { at: error.span().unwrap_or(0..0), what: what.replace('\n', " ") }
    })?;
    let end = text.len()..text.len();
    let mut target = Target {
        name: name.into(),
        goal: match contents.goal {
            Aim::Maximise => Goal::Maximise,
            Aim::Minimise => Goal::Minimise,
        },
        budget: number(&contents.budget, "budget", 0.0, 1e12)?,
        parameters: parameters(&contents.parameter, &contents.condition, &end)?,
        fidelities: fidelities(&contents.fidelity, &end)?,
        deployed: None,
        floor: None,
        guards: Vec::new(),
        limits: Vec::new(),
        tolerance: contents.tolerance.as_ref().map_or(Ok(0.0), |t| number(t, "tolerance", 0.0, 1.0))?,
        failures: contents.failures.as_ref().map_or(Ok(FAILURES), |f| count(f, "failures"))? as usize,
        run_length: contents
            .run_length
            .as_ref()
            .map_or(Ok(RUN_LENGTH), |n| number(n, "run_length", 10.0, 1e8))?,
        fleet: None,
    };
    target.deployed = contents.deployed.as_ref().map(|table| point(&target, table)).transpose()?;
    if let (Some(unknown), Some(_)) = (unknown_noise(&contents), target.conditions().first()) {
        return fault(
            unknown.name.span(),
            "with a [[condition]] every fidelity needs its noise (a variance)",
        );
    }
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
    let bytes =
        foretune_fleet::read(&folder.join(name.get_ref())).map_err(|error| wrong(error.to_string()))?;
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

pub(super) fn number(value: &Spanned<f64>, name: &str, low: f64, high: f64) -> Result<f64, Fault> {
    let found = *value.get_ref();
    if (low..=high).contains(&found) {
        return Ok(found);
    }
    let [low, high, found] = [low, high, found].map(words::number);
    fault(value.span(), format!("{name} takes a number from {low} to {high}, not {found}"))
}

pub(super) fn word(name: &Spanned<String>, of: &str, seen: &mut HashSet<String>) -> Result<String, Fault> {
    let text = name.get_ref();
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !letters || !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return fault(
            name.span(),
            format!("the name of a {of} has letters a-z, digits and _, a letter first: not `{text}`"),
        );
    }
    if of != "fidelity" && RESERVED.contains(&text.to_ascii_lowercase().as_str()) {
        return fault(
            name.span(),
            format!(
                "`{text}` cannot be the name of a {of}: {} stand for something else in commands, answers and tables",
                RESERVED.join(", ")
            ),
        );
    }
    if !seen.insert(text.to_ascii_lowercase()) {
        return fault(
            name.span(),
            format!("the {of} name `{text}` is there already, small and capital letters alike"),
        );
    }
    Ok(text.clone())
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

fn point(target: &Target, table: &Spanned<BTreeMap<String, Spanned<Given>>>) -> Result<Vec<f64>, Fault> {
    let values = table.get_ref();
    let pairs = values.iter().map(|(name, value)| (name.as_str(), value.get_ref().clone()));
    target.choice(pairs).map_err(|(name, what)| {
        let at = name.and_then(|name| values.get(&name)).map_or(table.span(), Spanned::span);
        Fault { at, what: format!("[deployed]: {what}") }
    })
}

fn guards(tables: &[Spanned<GuardTable>], target: &Target) -> Result<Vec<Guarded>, Fault> {
    if let Some(extra) = tables.get(MAX_GUARDS) {
        return fault(extra.span(), format!("a problem has at most {MAX_GUARDS} guards"));
    }
    let mut seen = target.names().map(str::to_ascii_lowercase).collect();
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
    let at = noise.as_ref().map_or(table.span(), Spanned::span);
    let noise = match noise.as_ref().map(Spanned::get_ref) {
        None if !target.conditions().is_empty() => {
            return fault(at, format!("with a [[condition]] guard `{name}` needs its noise (a variance)"));
        }
        None => Vec::new(),
        Some(Noise::All(variance)) => vec![*variance; count],
        Some(Noise::Each(variances)) if variances.len() == count => variances.clone(),
        Some(Noise::Each(_)) => return fault(at, format!("noise takes a variance, or a list of {count}")),
    };
    if !noise.iter().all(|variance| (0.0..=1e30).contains(variance)) {
        return fault(at, "noise takes variances from 0 to 1e30");
    }
    let guard = Guarded {
        name,
        index,
        side,
        level,
        risk: risk_of(risk.as_ref())?,
        log: matches!(scale, Some(Scale::Log)),
        noise: noise.iter().map(|variance| *variance as f32).collect(),
    };
    guard.fault().map_or(Ok(guard), |what| fault(table.span(), what))
}

/// One in twenty, unless said.
fn risk_of(risk: Option<&Spanned<f64>>) -> Result<f32, Fault> {
    Ok(risk.map_or(Ok(0.05), |risk| number(risk, "risk", 0.001, 0.5))? as f32)
}

fn floor(table: &Spanned<FloorTable>, target: &Target) -> Result<Floor, Fault> {
    let FloorTable { value, drop, share, risk } = table.get_ref();
    let level = match (value, drop, share) {
        (Some(value), None, None) => Level::Value(number(value, "value", -1e30, 1e30)? as f32),
        (None, Some(drop), None) => Level::Drop(number(drop, "drop", 1e-30, 1e30)? as f32),
        (None, None, Some(share)) => Level::Share(number(share, "share", 0.0, 0.999_999)? as f32),
        _ => return fault(table.span(), "[floor] takes one of value, drop and share"),
    };
    if target.deployed.is_none() {
        return fault(table.span(), "[floor] needs a [deployed] point: tuning begins there");
    }
    Ok(Floor { level, risk: risk_of(risk.as_ref())? })
}

fn limit(table: &Spanned<LimitTable>, target: &Target) -> Result<Limit, Fault> {
    let LimitTable { sum, at_most } = table.get_ref();
    let mut coefficients = vec![0.0; target.parameters.len()];
    for (name, value) in sum.get_ref() {
        let Some(known) = target.names().take(target.chosen()).position(|known| known == name) else {
            let names: Vec<&str> = target.names().take(target.chosen()).collect();
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
        if matches!(target.parameters[known], DimensionSpec::Category { .. }) {
            return fault(
                value.span(),
                format!("sum: the values of parameter `{name}` are names: a limit takes numbers"),
            );
        }
        coefficients[known] = number(value, "a coefficient of sum", -1e30, 1e30)?;
    }
    if coefficients.iter().all(|&coefficient| coefficient == 0.0) {
        return fault(sum.span(), "sum takes at least one parameter with a coefficient that is not 0");
    }
    let limit = Limit { coefficients, at_most: number(at_most, "at_most", -1e30, 1e30)? };
    let parts = |point| limit.coefficients.iter().zip(point).map(|(a, x): (_, &f64)| a * x);
    let sums = |point| parts(point).fold((0.0, 0.0), |(sum, size), part| (sum + part, size + f64::abs(part)));
    match target.deployed.as_ref().map(sums) {
        Some((total, size)) if total > limit.at_most + 4.0 * f64::EPSILON * size => fault(
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
    use super::*;
    use crate::fixture::FILE;

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
        let unsaid =
            parse("radio", &FILE.replace("risk = 0.05", ""), Path::new("")).map_err(|fault| fault.what);
        assert_eq!(unsaid.unwrap().floor, target.floor);
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
            ("budget = 100\n", "budget = 1\nrun_length = 2\n", 3, "run_length takes"),
            ("name = \"p0\"", "name = \"p 0\"", 4, "letters"),
            ("name = \"p0\"", "name = \"task\"", 4, "something else"),
            ("unit = \"dBm\"", "steps = 2", 5, "`levels`"),
            ("unit = \"dBm\"", "step = 2", 3, "one of levels, step, integer"),
            ("levels = 63", "step = 3", 3, "steps of 3 do not lead from -100 to 24"),
            ("levels = 63", "step = 0.001", 3, "more than 65535 levels"),
            ("high = 24.0\nlevels = 63", "high = 24.5\ninteger = true", 7, "whole"),
            ("unit = \"dBm\"", "scale = \"log\"", 6, "low on a logarithmic scale takes a number from 1e-30"),
            ("unit = \"dBm\"", "scale = \"dB\"", 5, "`linear` or `log`"),
            ("values = [0.0,", "scale = \"log\"\nvalues = [0.0,", 12, "numbers above 0"),
            ("low = -100\nhigh = 24.0", "scale = \"log\"\nlow = 1\nhigh = 24.0", 22, "the nearest is 1"),
            ("low = -100", "low = \"-100\"", 6, "f64"),
            ("[[limit]]", "[limit]", 26, "with two brackets"),
            ("high = 24.0", "high = -100", 7, "above low"),
            ("levels = 63", "levels = 1", 8, "from 2"),
            ("levels = 63", "values = [1.0, 2.0]", 3, "nothing else"),
            ("name = \"alpha\"", "name = \"P0\"", 10, "alike"),
            ("[0.0, 0.4, 0.7, 1.0]", "[0.0, 0.4, 0.4]", 11, "above the one before"),
            ("[0.0, 0.4, 0.7, 1.0]", "[0.0, 1e-12, 0.7]", 11, "single precision"),
            ("[0.0, 0.4, 0.7, 1.0]", "[0.0, \"high\"]", 11, "numbers, or names in quotes: not both"),
            ("[0.0, 0.4, 0.7, 1.0]", "[\"low\"]", 11, "2 to 8 names, not 1"),
            ("[0.0, 0.4, 0.7, 1.0]", "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]", 11, "not 9"),
            ("[0.0, 0.4, 0.7, 1.0]", "[\"low\", \"\"]", 11, "no empty name"),
            ("[0.0, 0.4, 0.7, 1.0]", "[\"low\", \"high\", \"low\"]", 11, "has `low` twice"),
            ("[0.0, 0.4, 0.7, 1.0]", "[\"low\", \"a,b\"]", 11, "not `a,b`"),
            ("[0.0, 0.4, 0.7, 1.0]", "[\"low\", \"high\"]\nunit = \"V\"", 11, "neither unit nor scale"),
            ("[0.0, 0.4, 0.7, 1.0]", "[\"low\", \"high\"]", 22, "no value `0.7`: there are low, high"),
            ("p0 = -80.0", "p0 = \"much\"", 21, "`much` is not a number"),
            ("p0 = -80.0", "p0 = true", 21, "a number or a name"),
            (
                "[[fidelity]]",
                "[[condition]]\nname = \"load\"\nlow = 0\nhigh = 1\n[[fidelity]]",
                22,
                "needs its noise",
            ),
            (
                "[[fidelity]]",
                "[[condition]]\nname = \"load\"\nvalues = [0, 1]\n[[fidelity]]",
                12,
                "a condition takes",
            ),
            ("[[fidelity]]", "[[condition]]\nname = \"P0\"\nlow = 0\nhigh = 1\n[[fidelity]]", 13, "alike"),
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
