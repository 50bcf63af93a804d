//! A settings file with any content: what it sets is what the core accepts, and reads back as it is printed.

use std::cell::OnceCell;
use std::fs;

use arbitrary::{Result, Unstructured};
use host_sim::method::Method;
use host_sim::problems::Problem;
use host_sim::settings::{Assignment, Preset, Setup, keys, read_file};
use tempfile::TempDir;

use crate::case::number;

/// Seeds: files as people write them.
pub fn seeds() -> Vec<Vec<u8>> {
    let ours = "# ours\nbeta = 0.6\nmap = \"deep:8\"\nparticles = 5\ncarry_particles = false\nstep = \"adam:0.05\"\n";
    let more = "length = \"-0.7:0.7\"\nscaling = \"fixed:18.6:11\"\nbandwidth = \"median\"\ncapacity = 64\nc = 0.25\n";
    let wrong = "[table]\nbeta = 1\n";
    [ours, more, wrong]
        .map(|text| text.as_bytes().to_vec())
        .into_iter()
        .chain(crate::optimizer::seeds())
        .collect()
}

/// Runs an input.
pub fn run(bytes: &[u8]) {
    check(bytes);
    if let Ok(text) = file(&mut Unstructured::new(bytes)) {
        check(text.as_bytes());
    }
    let _ = String::from_utf8_lossy(bytes).parse::<Assignment>();
}

fn check(bytes: &[u8]) {
    thread_local!(static FOLDER: OnceCell<TempDir> = const { OnceCell::new() });
    let read = FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| tempfile::tempdir().expect("a temporary folder"));
        let path = folder.path().join("settings.toml");
        fs::write(&path, bytes).expect("a small file");
        read_file(&path)
    });
    let assignments = match read {
        Ok(assignments) => assignments,
        Err(error) => return check_words(&error.to_string()),
    };
    for preset in [Preset::Paper, Preset::Default] {
        apply(preset, &assignments);
    }
}

fn apply(preset: Preset, assignments: &[Assignment]) {
    let problem: Problem = "gas".parse().expect("a problem");
    let mut setup = Setup::new(preset, &problem.spec());
    for Assignment { key, value, .. } in assignments {
        let before = setup;
        if let Err(error) = setup.set(key, value) {
            check_words(&error.to_string());
            assert_eq!(setup, before, "a refusal changes nothing");
        }
    }
    for key in keys() {
        let value = key.value(&setup);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let mut copy = setup;
        copy.set(key.name(), &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(key.value(&copy), value, "{}", key.name());
    }
    for method in Method::all() {
        match setup.for_method(method) {
            Ok(settings) => assert!(settings.checked().is_ok()),
            Err(error) => check_words(&error.to_string()),
        }
        setup.describe(method);
    }
}

/// One line that says something. (What the user wrote is repeated in it, so its line ends do not count.)
fn check_words(said: &str) {
    assert!(!said.trim().is_empty());
}

/// A file of known keys with values that may fit.
fn file(u: &mut Unstructured<'_>) -> Result<String> {
    let words =
        ["ard", "deep", "median", "running", "initial", "paper", "correlated", "queried", "anywhere", "true"];
    let heads = ["deep:", "adam:", "plain:", "fixed:", "per-input:", ""];
    let mut text = String::new();
    for _ in 0..u.int_in_range(1..=8)? {
        let key = u.choose_iter(keys().collect::<Vec<_>>())?.name();
        let (head, word) = (u.choose(&heads)?, u.choose(&words)?);
        let (a, b) = (number(u, &[0.0, 1.0, 16.0, 256.0])?, number(u, &[0.1, 10.0])?);
        let line = match u.int_in_range(0..=4)? {
            0 => format!("{key} = {}\n", a as i64),
            1 => format!("{key} = \"{head}{a}\"\n"),
            2 => format!("{key} = \"{head}{a}:{b}\"\n"),
            3 => format!("{key} = \"{word}\"\n"),
            _ => format!("{key} = {a:?}\n"),
        };
        text.push_str(&line);
    }
    Ok(text)
}
