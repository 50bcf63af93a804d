//! Reading and comparing the reference's numbers.

use serde_json::Value;

/// Path of a file of golden data.
pub fn path(name: &str) -> String {
    format!("{}/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A file of golden data.
pub fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).expect("golden data lie beside the tests");
    serde_json::from_str(&text).expect("golden data are JSON")
}

/// The elements of an array, which must not be empty: a loop over nothing tests nothing.
pub fn list(value: &Value) -> &[Value] {
    let list = value.as_array().expect("an array");
    assert!(!list.is_empty());
    list
}

/// A string.
pub fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// A count or an index.
pub fn count(value: &Value) -> usize {
    value.as_u64().expect("a count") as usize
}

/// An expected number.
pub fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Expected numbers; nested arrays one after the other.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        _ => vec![number(value)],
    }
}

/// An input, exact in `f32`.
pub fn float(value: &Value) -> f32 {
    number(value) as f32
}

/// Inputs, exact in `f32`; nested arrays one after the other.
pub fn floats(value: &Value) -> Vec<f32> {
    numbers(value).into_iter().map(|number| number as f32).collect()
}

/// `|got − want|`.
pub fn error(got: f32, want: f64) -> f64 {
    (f64::from(got) - want).abs()
}

/// The largest of some errors; NaN counts as infinite.
pub fn largest(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |largest, error| if error.is_nan() { f64::INFINITY } else { error.max(largest) })
}

/// The largest `|got − want|`.
pub fn largest_error(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    largest(got.iter().zip(want).map(|(&got, &want)| error(got, want)))
}

/// The largest size of an entry.
pub fn size(values: &[f64]) -> f64 {
    largest(values.iter().map(|value| value.abs()))
}

/// Fails if `got` is off by more than `relative · |want| + absolute`.
#[track_caller]
pub fn assert_near(got: f32, want: f64, relative: f64, absolute: f64, what: &str) {
    let allowed = relative * want.abs() + absolute;
    assert!(error(got, want) <= allowed, "{what}: {got} instead of {want}, {allowed:.1e} allowed");
}
