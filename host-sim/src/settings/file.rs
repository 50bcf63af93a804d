//! Settings from a TOML file: `key = value` lines, the keys of `--set`.

use std::fs;
use std::path::Path;

use crate::error::Error;

/// Reads a settings file as assignments, in the order of the file.
///
/// # Errors
/// [`Error::Usage`] naming the file, and the line or the key that is wrong.
pub fn read_file(path: &Path) -> Result<Vec<(String, String)>, Error> {
    let bad = |problem: String| Error::usage(format!("{}: {problem}", path.display()));
    let text = fs::read_to_string(path)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| bad(describe(&text, &error)))?;
    table
        .into_iter()
        .map(|(key, value)| match scalar(&value) {
            Some(value) => Ok((key, value)),
            None => Err(bad(format!("setting `{key}` takes a single value, not a {}", value.type_str()))),
        })
        .collect()
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn describe(text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
    format!("line {line}: {}", error.message().replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        fs::write(&path, text).unwrap();
        read_file(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn scalars_of_all_kinds_become_text() {
        let found =
            read("# ours\nbeta = 0.6\nmap = \"deep\"\nparticles = 5\ncarry_particles = false\n").unwrap();
        let expected = [("beta", "0.6"), ("carry_particles", "false"), ("map", "deep"), ("particles", "5")];
        let mut found: Vec<(&str, &str)> = found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_wrong_is_named_in_one_line() {
        for (text, words) in [
            ("beta = 1\nmap = deep\n", "line 2"),
            ("beta = 1\nbeta = 2\n", "line 2"),
            ("[prior]\nx = 1\n", "`prior`"),
            ("beta = [1, 2]\n", "`beta`"),
            ("\u{0}", "line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words) && error.contains("s.toml") && !error.contains('\n'), "{error}");
        }
        assert!(read_file(Path::new("/nowhere/s.toml")).unwrap_err().to_string().contains("nowhere"));
    }
}
