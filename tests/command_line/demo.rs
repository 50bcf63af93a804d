//! The demonstration, made small.

use std::fs;

use super::program::{fail, succeed};

#[test]
fn the_demo_tells_its_story_and_draws_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let text = succeed(folder.path(), &["demo", "--systems", "1", "--tasks", "2", "--out", "d.svg"]);
    for words in [
        "Two base stations",
        "never tuned",
        "tuned by hand",
        "Foretune",
        "below the floor",
        "All in all",
        "next",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let picture = fs::read_to_string(folder.path().join("d.svg")).unwrap();
    assert!(picture.starts_with("<svg"));
    for curve in ["best possible", "floor", "never tuned", "hour"] {
        assert!(picture.contains(curve), "{curve}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing but the picture is left");
}

#[test]
fn an_unwritable_picture_is_told_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let error = fail(folder.path(), &["demo", "--out", "nowhere/d.svg"], 1);
    assert!(error.contains("nowhere/d.svg"), "{error}");
}
