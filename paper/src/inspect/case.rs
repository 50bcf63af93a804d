//! The file to inspect: what it may hold, and what it must.

use foretune_core::{Information, MAX_DIMENSIONS, MAX_FIDELITIES};
use serde_json::{Map, Value};

use super::error::Error;
use super::field::{Field, parse};
use super::parameters::{Kernel, Parameters};

/// Most observations.
pub const MAX_OBSERVATIONS: usize = 1024;
/// Most particles.
pub const MAX_PARTICLES: usize = 256;

/// The contents of a file.
#[derive(Clone, Debug)]
pub struct Case {
    /// Dimensions of the input.
    pub d: usize,
    /// Fidelities.
    pub fidelities: usize,
    /// Observed points, one after the other.
    pub points: Vec<f32>,
    /// Their fidelities, from 0.
    pub fidelity: Vec<u8>,
    /// Their observations, as the model sees them.
    pub y: Vec<f32>,
    /// Candidates, one after the other.
    pub candidates: Vec<f32>,
    /// One particle, or several.
    pub particles: Vec<Parameters>,
    /// What is needed to score the candidates, if the file has particles.
    pub scoring: Option<Scoring>,
    /// Whether the file has parameters beside its particles.
    pub ambiguous: bool,
}

/// What is needed to score candidates.
#[derive(Clone, Debug)]
pub struct Scoring {
    /// Samples of the optimum's value, per particle.
    pub maxima: Vec<Vec<f32>>,
    /// Cost per fidelity.
    pub costs: Vec<f32>,
    /// Weight of the information about `θ`.
    pub beta: f32,
    /// Form of the information about the optimum.
    pub form: Information,
}

impl Case {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`Error::Syntax`] or [`Error::Field`].
    pub fn read(text: &str) -> Result<Self, Error> {
        let object = parse(text)?;
        let field = |name| Field::of(&object, name);
        let kernel = word(&field("kernel")?, &[("deep", Kernel::Deep), ("ard", Kernel::Ard)])?;
        let (d, fidelities) =
            (field("d")?.count(1..=MAX_DIMENSIONS)?, field("M")?.count(1..=MAX_FIDELITIES)?);
        let (particles, several) =
            particles(&object, |field| Parameters::read(kernel, d, fidelities, field))?;
        let points = field("x")?.rows(d, "d")?;
        let t = points.len() / d;
        if t > MAX_OBSERVATIONS {
            return Err(field("x")?.error(format!("must have at most {MAX_OBSERVATIONS} rows, found {t}")));
        }
        let levels = field("m")?;
        let level = |item: Field<'_>| Ok(item.count(1..=fidelities)? as u8 - 1);
        let fidelity =
            levels.items_exactly(t, "one per row of x")?.map(level).collect::<Result<Vec<u8>, Error>>()?;
        Ok(Self {
            d,
            fidelities,
            y: field("y")?.numbers(t, "one per row of x")?,
            candidates: field("xc")?.rows(d, "d")?,
            scoring: several.then(|| Scoring::read(&object, particles.len(), fidelities)).transpose()?,
            ambiguous: several && object.contains_key("params"),
            points,
            fidelity,
            particles,
        })
    }
}

/// The particles of a file, and whether it has a list of them.
fn particles(
    object: &Map<String, Value>,
    read: impl Fn(&Field<'_>) -> Result<Parameters, Error>,
) -> Result<(Vec<Parameters>, bool), Error> {
    if !object.contains_key("particles") {
        let Ok(params) = Field::of(object, "params") else {
            return Err(Error::field("params", "is missing (and there are no `particles` in its place)"));
        };
        return Ok((vec![read(&params)?], false));
    }
    let field = Field::of(object, "particles")?;
    let items = field.items()?;
    if !(1..=MAX_PARTICLES).contains(&items.len()) {
        return Err(field.error(format!("must have 1 to {MAX_PARTICLES} items, found {}", items.len())));
    }
    Ok((items.map(|item| read(&item)).collect::<Result<_, _>>()?, true))
}

impl Scoring {
    fn read(object: &Map<String, Value>, particles: usize, fidelities: usize) -> Result<Self, Error> {
        let field = |name| Field::of(object, name);
        let costs = field("costs")?;
        let cost = |item: Field<'_>| item.number_that("above 0", |cost| cost > 0.0);
        let forms = [("paper", Information::Paper), ("correlated", Information::Correlated)];
        Ok(Self {
            maxima: maxima(&field("fstar")?, particles)?,
            costs: costs.items_exactly(fidelities, "M")?.map(cost).collect::<Result<_, _>>()?,
            beta: field("beta")?.number_that("at least 0", |beta| beta >= 0.0)?,
            form: word(&field("form")?, &forms)?,
        })
    }
}

/// Samples of the optimum's value: as many for every particle.
fn maxima(field: &Field<'_>, particles: usize) -> Result<Vec<Vec<f32>>, Error> {
    let mut samples = None;
    field
        .items_exactly(particles, "one per particle")?
        .map(|row| {
            let count = *samples.get_or_insert(row.items()?.len());
            if count == 0 {
                return Err(row.error("must have at least one sample, found none"));
            }
            row.numbers(count, "samples, as for the first particle")
        })
        .collect()
}

/// One of several words.
fn word<T: Copy>(field: &Field<'_>, words: &[(&str, T)]) -> Result<T, Error> {
    let text = field.text()?;
    let meant = words.iter().find(|(word, _)| *word == text).map(|&(_, value)| value);
    meant.ok_or_else(|| {
        let wanted: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        field.error(format!("must be {}, found \"{text}\"", wanted.join(" or ")))
    })
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
            assert_eq!(Case::read(&text).unwrap_err().to_string(), format!("field `{name}` is missing"));
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
            (&one, "\"ard\"", "\"rbf\"", "kernel` must be \"deep\" or \"ard\", found \"rbf\""),
            (&one, "\"d\": 2", "\"d\": 0", "d` must be a whole number from 1 to 16, found 0"),
            (&one, "\"M\": 3", "\"M\": 9", "M` must be a whole number from 1 to 8, found 9"),
            (&one, "[0.5, 0.5]", "[0.5]", "x[1]` must have 2 items (d), found 1"),
            (&one, "[0, 0]", "[0, 0, 0]", "xc[0]` must have 2 items (d), found 3"),
            (&one, "[1, 3]", "[0, 3]", "m[0]` must be a whole number from 1 to 3, found 0"),
            (&one, "[1, 3]", "[1]", "m` must have 2 items (one per row of x), found 1"),
            (&one, "[0.25, -1]", "[1, 2, 3]", "y` must have 2 items (one per row of x), found 3"),
            (&one, "-1]", "NaN]", "y[1]` must be a finite number, found null (or NaN, or Infinity)"),
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
            (&two, "\"paper\"", "\"mes\"", "form` must be \"paper\" or \"correlated\", found \"mes\""),
            (
                &two,
                "\"lengthscales\": [0.5, 2]",
                "\"lengthscales\": 1",
                "particles[0].lengthscales` must be a list, found a number",
            ),
        ];
        for (text, from, to, expected) in cases {
            assert!(text.contains(from), "{from}");
            let said = Case::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert_eq!(said, format!("field `{expected}"));
        }
        let said = Case::read(&two.replace(&format!("[{PARAMS}, {PARAMS}]"), "[]")).unwrap_err().to_string();
        assert_eq!(said, "field `particles` must have 1 to 256 items, found 0");
        let rows = vec!["[0, 0]"; MAX_OBSERVATIONS + 1].join(",");
        let many = one.replace("[0, 1], [0.5, 0.5]", &rows);
        let said = Case::read(&many).unwrap_err().to_string();
        assert_eq!(said, "field `x` must have at most 1024 rows, found 1025");
    }
}
