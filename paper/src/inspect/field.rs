//! Reading JSON with the name of every value at hand, so that an error can say where it is.

use serde_json::{Map, Value};

use super::error::Error;

/// A value with its name.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// As in `params.W[0][3]`.
    pub path: String,
    value: &'a Value,
}

/// Parses the text of a file, whose outermost value must be an object.
///
/// # Errors
/// [`Error::Syntax`] with the place.
pub fn parse(text: &str) -> Result<Map<String, Value>, Error> {
    // Python writes these by default; as null they get the name of their field in the error.
    let (text, _) = scan(text.strip_prefix('\u{feff}').unwrap_or(text), usize::MAX);
    let value = serde_json::from_str(&text).map_err(|error| Error::Syntax {
        field: scan(&text, offset(&text, error.line(), error.column())).1,
        problem: error.to_string(),
    })?;
    match value {
        Value::Object(object) => Ok(object),
        other => {
            Err(Error::Syntax { problem: format!("expected an object, found {}", kind(&other)), field: None })
        }
    }
}

/// The text with `null` in place of `NaN` and `Infinity` outside strings, and the last key before byte `end`.
fn scan(text: &str, end: usize) -> (String, Option<String>) {
    let (mut out, mut key, mut rest) = (String::with_capacity(text.len()), None, text);
    while let Some(c) = rest.chars().next() {
        let (token, replacement) = token(rest, c);
        let after = &rest[token.len()..];
        if c == '"' && after.trim_start().starts_with(':') && text.len() - rest.len() < end {
            key = Some(token.trim_matches('"').to_string());
        }
        out.push_str(replacement.unwrap_or(token));
        rest = after;
    }
    (out, key)
}

/// The next piece of a text that begins with `c`, and what it should be instead.
fn token(rest: &str, c: char) -> (&str, Option<&'static str>) {
    for word in ["NaN", "-Infinity", "Infinity"] {
        if rest.starts_with(word) {
            return (&rest[..word.len()], Some("null"));
        }
    }
    let length = if c == '"' { string_length(rest) } else { c.len_utf8() };
    (&rest[..length], None)
}

/// Bytes of the string at the start of `rest`, with its quotes.
fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (i, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return i + 1,
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    rest.len()
}

/// Byte offset of a line and column, which count from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    before + column
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null (or NaN, or Infinity)",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl<'a> Field<'a> {
    /// A field of the outermost object.
    ///
    /// # Errors
    /// [`Error::Field`] if it is missing.
    pub fn of(object: &'a Map<String, Value>, name: &str) -> Result<Self, Error> {
        Self::found(object.get(name), name.to_string())
    }

    /// A field of this object.
    ///
    /// # Errors
    /// [`Error::Field`] if this is no object or has no such field.
    pub fn get(&self, name: &str) -> Result<Self, Error> {
        let object = self.value.as_object().ok_or_else(|| self.wrong_kind("an object"))?;
        Self::found(object.get(name), format!("{}.{name}", self.path))
    }

    fn found(value: Option<&'a Value>, path: String) -> Result<Self, Error> {
        match value {
            Some(value) => Ok(Self { path, value }),
            None => Err(Error::field(path, "is missing")),
        }
    }

    fn wrong_kind(&self, wanted: &str) -> Error {
        self.error(format!("must be {wanted}, found {}", kind(self.value)))
    }

    /// An error about this field.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::field(self.path.clone(), problem)
    }

    /// Whether this is a list.
    pub fn is_list(&self) -> bool {
        self.value.is_array()
    }

    /// A word.
    ///
    /// # Errors
    /// [`Error::Field`] if it is none.
    pub fn text(&self) -> Result<&'a str, Error> {
        self.value.as_str().ok_or_else(|| self.wrong_kind("a string"))
    }

    /// A whole number within `range`.
    ///
    /// # Errors
    /// [`Error::Field`] if it is none.
    pub fn count(&self, range: std::ops::RangeInclusive<usize>) -> Result<usize, Error> {
        let wanted = format!("must be a whole number from {} to {}", range.start(), range.end());
        let Value::Number(number) = self.value else {
            return Err(self.error(format!("{wanted}, found {}", kind(self.value))));
        };
        // Some writers have only floats: 3.0 is a count.
        let float = number.as_f64().filter(|x| x.fract() == 0.0 && *x >= 0.0).map(|x| x as usize);
        let count = number.as_u64().map(|n| n as usize).or(float);
        count.filter(|n| range.contains(n)).ok_or_else(|| self.error(format!("{wanted}, found {number}")))
    }

    /// A finite number.
    ///
    /// # Errors
    /// [`Error::Field`] if it is none.
    pub fn number(&self) -> Result<f32, Error> {
        let Some(number) = self.value.as_f64() else { return Err(self.wrong_kind("a finite number")) };
        if (number as f32).is_finite() {
            Ok(number as f32)
        } else {
            Err(self.error(format!("must fit a 32-bit float, found {number:e}")))
        }
    }

    /// A finite number that meets a condition, which `wanted` puts in words.
    ///
    /// # Errors
    /// [`Error::Field`] if it is none.
    pub fn number_that(&self, wanted: &str, condition: impl Fn(f32) -> bool) -> Result<f32, Error> {
        let number = self.number()?;
        if condition(number) {
            Ok(number)
        } else {
            Err(self.error(format!("must be {wanted}, found {number}")))
        }
    }

    /// The items of a list.
    ///
    /// # Errors
    /// [`Error::Field`] if it is none.
    pub fn items(&self) -> Result<impl ExactSizeIterator<Item = Field<'a>> + use<'a, '_>, Error> {
        let list = self.value.as_array().ok_or_else(|| self.wrong_kind("a list"))?;
        let item = |(i, value)| Field { path: format!("{}[{i}]", self.path), value };
        Ok(list.iter().enumerate().map(item))
    }

    /// The items of a list of a given length; `what` says what there should be so many of.
    ///
    /// # Errors
    /// [`Error::Field`] if it is none, or has another length.
    pub fn items_exactly(
        &self,
        length: usize,
        what: &str,
    ) -> Result<impl ExactSizeIterator<Item = Field<'a>> + use<'a, '_>, Error> {
        let items = self.items()?;
        if items.len() == length {
            Ok(items)
        } else {
            Err(self.error(format!("must have {length} items ({what}), found {}", items.len())))
        }
    }

    /// A list of finite numbers of a given length.
    ///
    /// # Errors
    /// [`Error::Field`] with the first item that is none, or with the length.
    pub fn numbers(&self, length: usize, what: &str) -> Result<Vec<f32>, Error> {
        self.items_exactly(length, what)?.map(|item| item.number()).collect()
    }

    /// Rows of `width` finite numbers, one after the other.
    ///
    /// # Errors
    /// [`Error::Field`] with the row or the number that is wrong.
    pub fn rows(&self, width: usize, what: &str) -> Result<Vec<f32>, Error> {
        let mut all = Vec::new();
        for row in self.items()? {
            all.extend(row.numbers(width, what)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_json_is_told_with_its_place_and_the_field() {
        let said = |text| parse(text).unwrap_err().to_string();
        assert_eq!(said("{"), "not JSON: EOF while parsing an object at line 1 column 1");
        let found = said("{\"d\": 2,\n \"y\": [1, oops],\n \"m\": [1]}");
        assert_eq!(found, "not JSON in field `y`: expected value at line 2 column 11");
        assert!(said("{\"y\": [1e999]}").starts_with("not JSON in field `y`: number out of range"));
        assert_eq!(said("[1]"), "not JSON: expected an object, found a list");
        assert!(said("{\"text\": \"without an end").starts_with("not JSON in field `text`"));
    }

    #[test]
    fn numbers_that_are_none_become_null_outside_strings_only() {
        let object = parse(r#"{"a": [NaN, -Infinity, Infinity, 1], "b": "a \" NaN", "NaN": 2}"#).unwrap();
        assert_eq!(object["a"], serde_json::json!([null, null, null, 1]));
        assert_eq!(object["b"], "a \" NaN");
        assert_eq!(object["NaN"], 2);
        let said = Field::of(&object, "a").unwrap().numbers(4, "four").unwrap_err().to_string();
        assert_eq!(said, "field `a[0]` must be a finite number, found null (or NaN, or Infinity)");
    }

    #[test]
    fn every_wrong_kind_and_shape_is_named() {
        let object = parse(r#"{"n": 2.5, "w": 3.0, "s": "x", "l": [1, [2]], "big": 1e39, "o": {}}"#).unwrap();
        let field = |name| Field::of(&object, name).unwrap();
        let said = |error: Error| error.to_string();
        assert_eq!(said(Field::of(&object, "q").unwrap_err()), "field `q` is missing");
        assert_eq!(said(field("o").get("q").unwrap_err()), "field `o.q` is missing");
        assert_eq!(said(field("s").get("q").unwrap_err()), "field `s` must be an object, found a string");
        assert_eq!(field("w").count(1..=3).unwrap(), 3);
        let wanted = "must be a whole number from 1 to 2, found";
        assert_eq!(said(field("n").count(1..=2).unwrap_err()), format!("field `n` {wanted} 2.5"));
        assert_eq!(said(field("w").count(1..=2).unwrap_err()), format!("field `w` {wanted} 3.0"));
        assert_eq!(said(field("s").count(1..=2).unwrap_err()), format!("field `s` {wanted} a string"));
        assert_eq!(said(field("n").text().unwrap_err()), "field `n` must be a string, found a number");
        assert_eq!(
            said(field("big").number().unwrap_err()),
            "field `big` must fit a 32-bit float, found 1e39"
        );
        assert_eq!(
            said(field("n").number_that("below 1", |x| x < 1.0).unwrap_err()),
            "field `n` must be below 1, found 2.5"
        );
        assert_eq!(said(field("l").numbers(3, "d").unwrap_err()), "field `l` must have 3 items (d), found 2");
        assert_eq!(
            said(field("l").numbers(2, "d").unwrap_err()),
            "field `l[1]` must be a finite number, found a list"
        );
        assert_eq!(said(field("l").rows(1, "d").unwrap_err()), "field `l[0]` must be a list, found a number");
    }
}
