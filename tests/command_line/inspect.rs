//! Files to inspect, and the theory, through the built program.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::program::{command, fail, files, succeed};

fn example() -> Value {
    json!({
        "kernel": "ard", "d": 1, "M": 2, "x": [[0.2], [0.7]], "m": [1, 2], "y": [0.3, -1], "xc": [[0.5], [0.6]],
        "params": {"lengthscales": [0.3], "signal_variance": 1, "gamma": 0.1, "noise": 0.01},
    })
}

#[test]
fn a_file_and_the_standard_input_give_the_same_json() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("case.json"), example().to_string()).unwrap();
    let from_file = succeed(folder.path(), &["foretune-paper", "inspect", "case.json"]);
    let found: Value = serde_json::from_str(&from_file).unwrap();
    // By hand, with numpy in double precision.
    let mean = found["mean"][0][1].as_f64().unwrap();
    let likelihood = found["lml"].as_f64().unwrap();
    assert!((mean + 0.591_037).abs() < 1e-5 && (likelihood + 2.460_017).abs() < 1e-5, "{from_file}");
    let mut child = command(folder.path(), &["foretune-paper", "inspect", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(example().to_string().as_bytes()).unwrap();
    assert_eq!(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap(), from_file);
}

#[test]
fn a_bad_file_gets_one_line_that_names_it_and_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let mut input = example();
    input["y"][1] = json!("low");
    fs::write(folder.path().join("case.json"), input.to_string()).unwrap();
    let said = fail(folder.path(), &["foretune-paper", "inspect", "case.json"], 2);
    let expected =
        "foretune-paper: case.json: field `y[1]` invalid type: string \"low\", expected f64 at line 1";
    assert!(said.starts_with(expected), "{said}");
    assert!(
        fail(folder.path(), &["foretune-paper", "inspect", "none.json"], 2).contains("cannot read none.json")
    );
}

#[test]
fn the_theory_leaves_text_and_charts_and_repeats_itself() {
    let folder = tempfile::tempdir().unwrap();
    let size = ["--functions", "2", "--rounds", "4", "--experiments", "2", "--tasks", "2", "--queries", "4"];
    let told = succeed(
        folder.path(),
        &[&["foretune-paper", "theory", "--out", "a", "--noise", "0.1"], &size[..]].concat(),
    );
    assert!(told.contains("Where it holds") && told.contains("a/theory.txt"), "{told}");
    succeed(
        folder.path(),
        &[&["foretune-paper", "theory", "--out", "b", "--noise", "0.1"], &size[..]].concat(),
    );
    let left = files(&folder.path().join("a"));
    assert_eq!(left.len(), 6, "{:?}", left.keys());
    assert_eq!(left, files(&folder.path().join("b")));
    assert!(
        fail(folder.path(), &["foretune-paper", "theory", "--rounds", "100"], 2)
            .contains("rounds must be 1 to 64")
    );
    assert!(
        fail(folder.path(), &["foretune-paper", "theory", "--out", "/proc/nowhere"], 1)
            .contains("/proc/nowhere")
    );
}
