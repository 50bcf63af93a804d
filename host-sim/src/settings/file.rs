//! Settings from a TOML file: `key = value` lines, the keys of `--set`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::Spanned;

use super::Assignment;
use crate::error::Error;

/// Reads a settings file as assignments, in the order of the file.
///
/// # Errors
/// [`Error::Usage`] naming the file, and the line or the key that is wrong.
pub fn read_file(path: &Path) -> Result<Vec<Assignment>, Error> {
    let text = fs::read_to_string(path)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let place = |offset: usize| format!("{}, line {}", path.display(), line_of(&text, offset));
    let table: BTreeMap<Spanned<String>, toml::Value> = toml::from_str(&text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        Error::usage(format!("{}: {}", place(start), error.message().replace('\n', " ")))
    })?;
    let mut lines: Vec<(Spanned<String>, toml::Value)> = table.into_iter().collect();
    lines.sort_by_key(|(key, _)| key.span().start);
    let assignment = |(key, value): (Spanned<String>, toml::Value)| {
        let place = place(key.span().start);
        match scalar(&value) {
            Some(value) => Ok(Assignment { key: key.into_inner(), value, place: Some(place) }),
            None => {
                let (key, kind) = (key.into_inner(), value.type_str());
                Err(Error::usage(format!("{place}: setting `{key}` takes a single value, not a {kind}")))
            }
        }
    };
    lines.into_iter().map(assignment).collect()
}

/// The line of a byte, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Assignment>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        fs::write(&path, text).unwrap();
        read_file(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn scalars_of_all_kinds_become_text() {
        let found =
            read("# ours\nbeta = 0.6\nmap = \"deep\"\nparticles = 5\ncarry_particles = false\n").unwrap();
        let expected = [("beta", "0.6"), ("map", "deep"), ("particles", "5"), ("carry_particles", "false")];
        let pairs: Vec<_> = found.iter().map(|a| (a.key.as_str(), a.value.as_str())).collect();
        assert_eq!(pairs, expected, "in the order of the file");
        assert!(found[3].place.as_ref().unwrap().ends_with("s.toml, line 5"), "{:?}", found[3]);
    }

    #[test]
    fn what_is_wrong_is_named_in_one_line() {
        for (text, words) in [
            ("beta = 1\nmap = deep\n", "line 2"),
            ("beta = 1\nbeta = 2\n", "line 2"),
            ("beta = 1\n[prior]\nx = 1\n", "line 2: setting `prior`"),
            ("beta = [1, 2]\n", "line 1: setting `beta`"),
            ("\u{0}", "line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words) && error.contains("s.toml") && !error.contains('\n'), "{error}");
        }
        let mut setup = crate::settings::Setup::new(
            crate::settings::Preset::Default,
            &"gas".parse::<crate::problems::Problem>().unwrap().spec(),
        );
        for (text, words) in [("beta = 1\n\nbetta = 2\n", "line 3"), ("kde_mix = 7\n", "line 1")] {
            let error = setup.assign(&read(text).unwrap()).unwrap_err().to_string();
            assert!(error.contains("s.toml") && error.contains(words), "{error}");
        }
        assert!(read_file(Path::new("/nowhere/s.toml")).unwrap_err().to_string().contains("nowhere"));
    }
}
