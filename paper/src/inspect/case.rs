//! The file to inspect: what it may hold, and what it must.

use foretune_core::{Information, MAX_DIMENSIONS, MAX_FIDELITIES};
use serde::Deserialize;

use super::parameters::{Kernel, Natural, Parameters};
use super::{field, wrong};
use host_sim::error::Error;

const MAX_OBSERVATIONS: usize = 1024;
pub const MAX_PARTICLES: usize = 256;

/// A finite number of 32 bits.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub struct Number(pub f32);

impl TryFrom<f64> for Number {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let number = Some(value as f32).filter(|number| number.is_finite());
        number.map(Self).ok_or_else(|| format!("must fit a 32-bit float, found {value:e}"))
    }
}

/// A whole number; some writers have only floats, so 3.0 is one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Count(usize);

impl TryFrom<f64> for Count {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let whole = value >= 0.0 && value.fract() == 0.0;
        if whole { Ok(Self(value as usize)) } else { Err(format!("must be a whole number, found {value}")) }
    }
}

#[derive(Deserialize)]
struct File {
    kernel: Kernel,
    d: Count,
    #[serde(rename = "M")]
    fidelities: Count,
    params: Option<Natural>,
    particles: Option<Vec<Natural>>,
    x: Vec<Vec<Number>>,
    m: Vec<Count>,
    y: Vec<Number>,
    xc: Vec<Vec<Number>>,
    fstar: Option<Vec<Vec<Number>>>,
    costs: Option<Vec<Number>>,
    beta: Option<Number>,
    form: Option<Form>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    Paper,
    Correlated,
}

/// The contents of a file, checked.
#[derive(Clone, Debug)]
pub struct Case {
    pub d: usize,
    pub fidelities: usize,
    /// Observed points, one after the other.
    pub points: Vec<f32>,
    /// Their fidelities, from 0.
    pub fidelity: Vec<u8>,
    /// Their observations, as the model sees them.
    pub y: Vec<f32>,
    /// Candidates, one after the other.
    pub candidates: Vec<f32>,
    pub particles: Vec<Parameters>,
    /// What is needed to score the candidates, if the file has particles.
    pub scoring: Option<Scoring>,
    /// Whether the file has parameters beside its particles.
    pub ambiguous: bool,
}

#[derive(Clone, Debug)]
pub struct Scoring {
    /// Samples of the optimum's value, per particle.
    pub maxima: Vec<Vec<f32>>,
    pub costs: Vec<f32>,
    /// Weight of the information about `θ`.
    pub beta: f32,
    pub form: Information,
}

/// Reads JSON; an error has the path of the value.
pub fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    let mut reader = serde_json::Deserializer::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (path, said) = (error.path().to_string(), error.inner().to_string());
        // Where a value is wrong, its path says so; the parser is somewhere behind it by then.
        let place = said.rfind(" at line ").filter(|_| error.inner().is_data());
        let said = &said[..place.unwrap_or(said.len())];
        if path == "." { wrong(said) } else { field(path, said) }
    })?;
    reader.end().map_err(|error| wrong(&error.to_string()))?;
    Ok(value)
}

/// That a list has so many items; `what` says of what.
pub fn exactly<T>(path: &str, list: &[T], length: usize, what: &str) -> Result<(), Error> {
    match list.len() == length {
        true => Ok(()),
        false => Err(field(path, format!("must have {length} items ({what}), found {}", list.len()))),
    }
}

/// That all numbers of a list meet a condition, which `wanted` puts in words.
pub fn all(path: &str, list: &[Number], wanted: &str, good: fn(f32) -> bool) -> Result<Vec<f32>, Error> {
    let check = |(i, number): (usize, &Number)| match good(number.0) {
        true => Ok(number.0),
        false => Err(field(format!("{path}[{i}]"), format!("must be {wanted}, found {}", number.0))),
    };
    list.iter().enumerate().map(check).collect()
}

/// That one number meets a condition.
pub fn one(path: &str, number: Number, wanted: &str, good: fn(f32) -> bool) -> Result<f32, Error> {
    match good(number.0) {
        true => Ok(number.0),
        false => Err(field(path, format!("must be {wanted}, found {}", number.0))),
    }
}

/// Rows of `width` numbers, one after the other.
pub fn rows(path: &str, rows: &[Vec<Number>], width: usize, what: &str) -> Result<Vec<f32>, Error> {
    for (i, row) in rows.iter().enumerate() {
        exactly(&format!("{path}[{i}]"), row, width, what)?;
    }
    Ok(rows.iter().flatten().map(|number| number.0).collect())
}

pub fn required<T>(path: &str, value: Option<T>) -> Result<T, Error> {
    value.ok_or_else(|| field(path, "is missing"))
}

fn within(path: &str, Count(count): Count, most: usize) -> Result<usize, Error> {
    let problem = || format!("must be a whole number from 1 to {most}, found {count}");
    (1..=most).contains(&count).then_some(count).ok_or_else(|| field(path, problem()))
}

impl Case {
    pub fn read(text: &str) -> Result<Self, Error> {
        let file: File = parse(text)?;
        let d = within("d", file.d, MAX_DIMENSIONS)?;
        let fidelities = within("M", file.fidelities, MAX_FIDELITIES)?;
        let read = |name: String, natural| Parameters::read(name, file.kernel, d, fidelities, natural);
        let particles = match (&file.particles, &file.params) {
            (Some(list), _) if !(1..=MAX_PARTICLES).contains(&list.len()) => {
                let problem = format!("must have 1 to {MAX_PARTICLES} items, found {}", list.len());
                return Err(field("particles", problem));
            }
            (Some(list), _) => {
                list.iter().enumerate().map(|(v, one)| read(format!("particles[{v}]"), one)).collect()
            }
            (None, Some(params)) => read("params".into(), params).map(|particle| vec![particle]),
            (None, None) => Err(field("params", "is missing (and there are no `particles` in its place)")),
        }?;
        let t = file.x.len();
        if t > MAX_OBSERVATIONS {
            return Err(field("x", format!("must have at most {MAX_OBSERVATIONS} rows, found {t}")));
        }
        exactly("m", &file.m, t, "one per row of x")?;
        exactly("y", &file.y, t, "one per row of x")?;
        let level = |(i, m): (usize, &Count)| Ok(within(&format!("m[{i}]"), *m, fidelities)? as u8 - 1);
        Ok(Self {
            d,
            fidelities,
            points: rows("x", &file.x, d, "d")?,
            fidelity: file.m.iter().enumerate().map(level).collect::<Result<_, Error>>()?,
            y: file.y.iter().map(|y| y.0).collect(),
            candidates: rows("xc", &file.xc, d, "d")?,
            ambiguous: file.particles.is_some() && file.params.is_some(),
            scoring: match file.particles {
                Some(_) => Some(Scoring::read(file, particles.len(), fidelities)?),
                None => None,
            },
            particles,
        })
    }
}

impl Scoring {
    fn read(file: File, particles: usize, fidelities: usize) -> Result<Self, Error> {
        let samples = required("fstar", file.fstar)?;
        exactly("fstar", &samples, particles, "one per particle")?;
        let count = samples[0].len();
        if count == 0 {
            return Err(field("fstar[0]", "must have at least one sample, found none"));
        }
        let maxima = rows("fstar", &samples, count, "samples, as for the first particle")?;
        let costs = required("costs", file.costs)?;
        exactly("costs", &costs, fidelities, "M")?;
        Ok(Self {
            maxima: maxima.chunks(count).map(<[f32]>::to_vec).collect(),
            costs: all("costs", &costs, "above 0", |cost| cost > 0.0)?,
            beta: one("beta", required("beta", file.beta)?, "at least 0", |beta| beta >= 0.0)?,
            form: match required("form", file.form)? {
                Form::Paper => Information::Paper,
                Form::Correlated => Information::Correlated,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &str = r#"{"lengthscales": [0.5, 2], "signal_variance": 1, "gamma": 0.5, "noise": 0.1}"#;

    fn single() -> String {
        format!(
            r#"{{"kernel": "ard", "d": 2, "M": 3, "params": {PARAMS}, "x": [[0, 1], [0.5, 0.5]], "m": [1, 3],
                 "y": [0.25, -1], "xc": [[0, 0]], "comment": "ignored"}}"#
        )
    }

    fn several() -> String {
        let more = format!(
            r#""particles": [{PARAMS}, {PARAMS}], "fstar": [[1, 2], [3, 4]], "costs": [1, 2, 3], "beta": 0.5,
               "form": "paper","#
        );
        single().replace(&format!("\"params\": {PARAMS},"), &more)
    }

    #[test]
    fn files_of_both_kinds_are_read() {
        let case = Case::read(&single()).unwrap();
        assert_eq!((case.fidelity, case.particles.len()), (vec![0, 2], 1));
        assert!(case.scoring.is_none() && !case.ambiguous);
        let case = Case::read(&several()).unwrap();
        let scoring = case.scoring.unwrap();
        assert_eq!(scoring.maxima, [[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!((case.particles.len(), scoring.costs.len(), scoring.form), (2, 3, Information::Paper));
        let both = several().replacen('{', &format!("{{\"params\": {PARAMS},"), 1);
        assert!(Case::read(&both).unwrap().ambiguous);
    }

    #[test]
    fn every_missing_field_is_named() {
        for name in ["kernel", "d", "M", "x", "m", "y", "xc"] {
            let text = single().replacen(&format!("\"{name}\""), "\"other\"", 1);
            let said = Case::read(&text).unwrap_err().to_string();
            assert_eq!(said, format!("missing field `{name}`"));
        }
        for name in ["fstar", "costs", "beta", "form"] {
            let text = several().replacen(&format!("\"{name}\""), "\"other\"", 1);
            assert_eq!(Case::read(&text).unwrap_err().to_string(), format!("field `{name}` is missing"));
        }
        let said = Case::read(&single().replace("params", "parameters")).unwrap_err().to_string();
        assert_eq!(said, "field `params` is missing (and there are no `particles` in its place)");
    }

    #[test]
    fn every_wrong_field_is_named_with_what_was_expected() {
        let one = single();
        let two = several();
        let cases = [
            (&one, "\"ard\"", "\"rbf\"", "kernel` unknown variant `rbf`, expected `ard` or `deep`"),
            (&one, "\"ard\"", "\"r\\nf\"", "kernel` unknown variant `r f`, expected `ard` or `deep`"),
            (&one, "\"d\": 2", "\"d\": 0", "d` must be a whole number from 1 to 16, found 0"),
            (&one, "\"M\": 3", "\"M\": 9", "M` must be a whole number from 1 to 8, found 9"),
            (&one, "[0.5, 0.5]", "[0.5]", "x[1]` must have 2 items (d), found 1"),
            (&one, "[0, 0]", "[0, 0, 0]", "xc[0]` must have 2 items (d), found 3"),
            (&one, "[1, 3]", "[0, 3]", "m[0]` must be a whole number from 1 to 3, found 0"),
            (&one, "[1, 3]", "[1]", "m` must have 2 items (one per row of x), found 1"),
            (&one, "[0.25, -1]", "[1, 2, 3]", "y` must have 2 items (one per row of x), found 3"),
            (&one, "-1]", "NaN]", "y[1]` expected value at line 2"),
            (&one, "-1]", "\"a\"]", "y[1]` invalid type: string \"a\", expected f64"),
            (&one, "-1]", "1e39]", "y[1]` must fit a 32-bit float, found 1e39"),
            (&one, "[1, 3]", "[1, 2.5]", "m[1]` must be a whole number, found 2.5"),
            (&two, "[[1, 2], [3, 4]]", "[[1, 2]]", "fstar` must have 2 items (one per particle), found 1"),
            (
                &two,
                "[3, 4]",
                "[3]",
                "fstar[1]` must have 2 items (samples, as for the first particle), found 1",
            ),
            (&two, "[1, 2], [3", "[], [3", "fstar[0]` must have at least one sample, found none"),
            (&two, "[1, 2, 3]", "[1, 0, 3]", "costs[1]` must be above 0, found 0"),
            (&two, "[1, 2, 3]", "[1, 3]", "costs` must have 3 items (M), found 2"),
            (&two, "\"beta\": 0.5", "\"beta\": -1", "beta` must be at least 0, found -1"),
            (&two, "\"paper\"", "\"mes\"", "form` unknown variant `mes`, expected `paper` or `correlated`"),
            (
                &two,
                "\"lengthscales\": [0.5, 2]",
                "\"lengthscales\": 1",
                "particles[0].lengthscales` invalid type: integer `1`, expected a sequence",
            ),
        ];
        for (text, from, to, expected) in cases {
            assert!(text.contains(from), "{from}");
            let said = Case::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(said.starts_with(&format!("field `{expected}")), "{said}");
            assert_eq!(said.contains(" at line "), to == "NaN]", "{said}");
        }
        let said = Case::read(&two.replace(&format!("[{PARAMS}, {PARAMS}]"), "[]")).unwrap_err().to_string();
        assert_eq!(said, "field `particles` must have 1 to 256 items, found 0");
        let rows = vec!["[0, 0]"; MAX_OBSERVATIONS + 1].join(",");
        let many = one.replace("[0, 1], [0.5, 0.5]", &rows);
        let said = Case::read(&many).unwrap_err().to_string();
        assert_eq!(said, "field `x` must have at most 1024 rows, found 1025");
    }
}
