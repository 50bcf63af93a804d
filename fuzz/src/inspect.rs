//! `foretune-paper inspect` on any text, and on files that are almost as they should be.

use arbitrary::{Result, Unstructured};
use foretune_paper::inspect::{Report, inspect};
use serde_json::{Value, json};

use crate::case::number;

/// Seeds: files of both kinds.
pub fn seeds() -> Vec<Vec<u8>> {
    let ard = r#"{"kernel": "ard", "d": 2, "M": 3, "params": {"lengthscales": [0.5, 2], "signal_variance": 1,
        "gamma": 0.5, "noise": 0.1}, "x": [[0, 1], [0.5, 0.5]], "m": [1, 3], "y": [0.25, -1], "xc": [[0, 0]]}"#;
    let deep = r#"{"kernel": "deep", "d": 1, "M": 1, "params": {"W": [[[1], [0.5]], [[1, 2], [3, 4]], [[1, -1]]],
        "b": [[0, 0], [1, 1], [0.5]], "gamma": 0, "noise": [0.01]}, "x": [[0.1]], "m": [1], "y": [2], "xc": [[1]]}"#;
    let several = r#"{"kernel": "ard", "d": 1, "M": 2, "particles": [{"lengthscales": [1], "signal_variance": 1,
        "gamma": 0, "noise": 1}], "fstar": [[1, 2]], "costs": [1, 2], "beta": 0.5, "form": "paper", "x": [],
        "m": [], "y": [], "xc": [[0.5]]}"#;
    [ard, deep, several]
        .map(|text| text.as_bytes().to_vec())
        .into_iter()
        .chain(crate::optimizer::seeds())
        .collect()
}

/// Runs an input.
pub fn run(bytes: &[u8]) {
    check(&String::from_utf8_lossy(bytes));
    if let Ok(file) = file(&mut Unstructured::new(bytes)) {
        check(&file.to_string());
    }
}

fn check(text: &str) {
    match inspect(text) {
        Ok(report) => check_report(&report),
        Err(error) => {
            let said = error.to_string();
            assert!(!said.is_empty() && !said.contains('\n'), "{said:?}");
        }
    }
}

/// All numbers are finite, no variance is negative, and what is written is JSON again.
fn check_report(report: &Report) {
    let mut text = Vec::new();
    report.write(&mut text).expect("a vector takes everything");
    let read: Value = serde_json::from_slice(&text).expect("JSON");
    assert!(!has_null(&read), "a number that is not finite: {read}");
    assert!(least(&read["var"]) >= 0.0, "{read}");
}

fn least(value: &Value) -> f64 {
    match value {
        Value::Array(items) => items.iter().map(least).fold(f64::INFINITY, f64::min),
        number => number.as_f64().expect("a number"),
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

/// A file whose shapes are right, as a rule.
fn file(u: &mut Unstructured<'_>) -> Result<Value> {
    let (d, fidelities, t) = (u.int_in_range(1..=3)?, u.int_in_range(1..=3)?, u.int_in_range(0..=6)?);
    let deep = u.ratio(1, 3)?;
    let count = u.int_in_range(1..=2)?;
    let particles = (0..count).map(|_| parameters(u, deep, d, fidelities)).collect::<Result<Vec<_>>>()?;
    let mut file = json!({
        "kernel": if deep { "deep" } else { "ard" }, "d": d, "M": fidelities,
        "x": rows(u, t, d)?, "y": numbers(u, t, &[-1.0, 2.0])?, "xc": rows(u, 2, d)?,
        "m": (0..t).map(|_| u.int_in_range(1..=fidelities)).collect::<Result<Vec<_>>>()?,
    });
    let fields = file.as_object_mut().expect("an object");
    if u.arbitrary()? {
        fields.insert("params".into(), particles[0].clone());
    } else {
        fields.insert("fstar".into(), Value::from(rows(u, count, 2)?));
        fields.insert("costs".into(), Value::from(numbers(u, fidelities, &[1.0, 2.0])?));
        fields.insert("beta".into(), Value::from(number(u, &[0.0, 1.2])?));
        fields.insert("form".into(), Value::from(*u.choose(&["paper", "correlated"])?));
        fields.insert("particles".into(), Value::from(particles));
    }
    Ok(file)
}

fn parameters(u: &mut Unstructured<'_>, deep: bool, d: usize, fidelities: usize) -> Result<Value> {
    let (gamma, noise) = (number(u, &[0.0, 0.5, 1e9])?, numbers(u, fidelities, &[1e-9, 0.1, 1e9])?);
    if !deep {
        let lengths = numbers(u, d, &[1e-6, 0.5, 1e6])?;
        let signal = number(u, &[1e-6, 1.0, 1e6])?;
        return Ok(
            json!({"lengthscales": lengths, "signal_variance": signal, "gamma": gamma, "noise": noise}),
        );
    }
    let sizes = [u.int_in_range(1..=3)?, u.int_in_range(1..=3)?, u.int_in_range(1..=3)?];
    let weights = [rows(u, sizes[0], d)?, rows(u, sizes[1], sizes[0])?, rows(u, sizes[2], sizes[1])?];
    let biases = sizes.map(|size| numbers(u, size, &[-1.0, 1.0]));
    let [a, b, c] = biases;
    Ok(json!({"W": weights, "b": [a?, b?, c?], "gamma": gamma, "noise": noise}))
}

fn numbers(u: &mut Unstructured<'_>, count: usize, usual: &[f32]) -> Result<Vec<f32>> {
    (0..count).map(|_| number(u, usual)).collect()
}

fn rows(u: &mut Unstructured<'_>, count: usize, length: usize) -> Result<Vec<Vec<f32>>> {
    (0..count).map(|_| numbers(u, length, &[0.0, 1.0])).collect()
}
