//! Files to inspect, the theory, days and traces, through the built program.

use serde_json::{Value, json};

use super::Folder;

fn example() -> Value {
    json!({
        "kernel": "ard", "d": 1, "M": 2, "x": [[0.2], [0.7]], "m": [1, 2], "y": [0.3, -1], "xc": [[0.5], [0.6]],
        "params": {"lengthscales": [0.3], "signal_variance": 1, "gamma": 0.1, "noise": 0.01},
    })
}

#[test]
fn a_file_and_the_standard_input_give_the_same_json() {
    let folder = Folder::new();
    folder.write("case.json", &example().to_string());
    let from_file = folder.succeed("foretune-paper inspect case.json");
    let found: Value = serde_json::from_str(&from_file).unwrap();
    // By hand, with numpy in double precision.
    let mean = found["mean"][0][1].as_f64().unwrap();
    let likelihood = found["lml"].as_f64().unwrap();
    assert!((mean + 0.591_037).abs() < 1e-5 && (likelihood + 2.460_017).abs() < 1e-5, "{from_file}");
    assert_eq!(folder.fed("foretune-paper inspect -", &example().to_string()), from_file);
}

#[test]
fn a_bad_file_gets_one_line_that_names_it_and_the_field() {
    let folder = Folder::new();
    let mut input = example();
    input["y"][1] = json!("low");
    folder.write("case.json", &input.to_string());
    let said = folder.fail("foretune-paper inspect case.json", 2);
    let expected = "foretune-paper: case.json: field `y[1]` invalid type: string \"low\", expected f64\n";
    assert_eq!(said, expected);
}

#[test]
fn the_theory_leaves_text_and_charts_and_repeats_itself() {
    let folder = Folder::new();
    let size = "--functions 2 --rounds 4 --experiments 2 --tasks 2 --queries 4 --noise 0.1";
    let told = folder.succeed(&format!("foretune-paper theory --out a {size}"));
    assert!(told.contains("Where it holds") && told.contains("a/theory.txt"), "{told}");
    folder.succeed(&format!("foretune-paper theory --out b {size}"));
    let left = folder.files("a");
    assert_eq!(left.len(), 6, "{:?}", left.keys());
    assert_eq!(left, folder.files("b"));
}

#[test]
fn a_town_is_run_once_with_a_fleet_and_anew_with_another() {
    let folder = Folder::new();
    let fleet = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/radio.fleet");
    let day = "foretune-paper day --towns 1 --days 1 --way never,fleet --out d --fleet";
    let first = folder.succeed(&format!("{day} {fleet}"));
    assert!(first.contains("| oracle | 1.000 |") && first.contains("first day; nothing happens"), "{first}");
    assert_eq!(folder.succeed(&format!("{day} {fleet}")), first);
    folder.write("other.fleet", "");
    folder.fails(&format!("{day} other.fleet"), 2, "other.fleet: fleet file refused");
    let file = folder.files("d").into_keys().find(|name| name.starts_with("never")).unwrap();
    folder.write(&format!("d/{file}"), "value\n1\n");
    let said = folder.fail(&format!("{day} {fleet}"), 1);
    assert!(said.contains("is no step of a town"), "{said}");
}

const TRACE: &str = "foretune-paper trace gas --budget 60 --set candidates=32 --set particles=4";

#[test]
fn a_trace_repeats_itself_and_follows_its_seed() {
    let folder = Folder::new();
    let first = folder.succeed(TRACE);
    assert_eq!(first, folder.succeed(TRACE));
    assert_ne!(first, folder.succeed(&format!("{TRACE} --seed 2")));
    let digest = folder.succeed(&format!("{TRACE} --digest"));
    assert!(first.ends_with(&digest), "{first}{digest}");
    let count = |word: &str| first.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!(count("end "), 2);
    assert!(count("query ") > 2 * 10 && count("query 2 0 initial ") == 1);
}

/// Room for observations changes nothing as long as it is not scarce.
#[test]
fn capacity_matters_only_when_it_is_scarce() {
    let folder = Folder::new();
    let with = |capacity| folder.succeed(&format!("{TRACE} --set capacity={capacity}"));
    assert_eq!(with(64), with(256));
    let scarce = |capacity| {
        let line = "foretune-paper trace gas --set particles=2 --budget 750 --tasks 1";
        folder.succeed(&format!("{line} --set capacity={capacity}"))
    };
    let small = scarce(32);
    assert!(small.lines().count() <= 32 + 2);
    assert_ne!(small, scarce(128));
}
