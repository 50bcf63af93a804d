//! A system in service: from the point in use, above a floor, within limits, no longer than it pays.

use std::fs;
use std::path::Path;

use super::program::{fail, files, succeed};
use super::tune::PROBLEM;

fn study<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let size = ["--experiments", "1", "--tasks", "2", "--budget", "600", "--quiet", "--out", out];
    [&["run", "rrm"][..], &size, more].concat()
}

/// The cells of all rows of a unit's queries: task, fidelity, cost, point, truth, deployed, floor.
fn queries(folder: &Path, unit: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join(format!("units/{unit}-1.csv"))).unwrap();
    let header = text.lines().find(|line| line.contains("deployed")).expect("a header");
    let index = |name: &str| header.split(',').position(|column| column == name).expect("a column");
    let wanted = ["task", "fidelity", "cost", "x", "truth", "deployed", "floor"].map(index);
    text.lines()
        .filter(|line| line.starts_with(unit) && !line.contains(",recommend,"))
        .map(|line| line.split(',').map(String::from).collect::<Vec<_>>())
        .map(|row| wanted.iter().map(|&i| row[i].clone()).collect())
        .collect()
}

#[test]
fn tasks_start_from_the_point_in_use_and_every_trial_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    let more =
        ["--method", "never,random,hill-climbing,safe-opt,mft-mes", "--floor", "share:0.9", "--risk", "0.1"];
    let printed = succeed(folder.path(), &study("o", &more));
    assert!(printed.contains("below the floor"), "{printed}");
    let path = folder.path().join("o");
    let number = |text: &String| text.parse::<f64>().unwrap();
    for unit in ["never", "random", "hill-climbing", "safe-opt", "mft-mes"] {
        let rows = queries(&path, unit);
        assert_eq!(rows[0][3], "-80 0.8 -80 0.8", "{unit}");
        for task in ["1", "2"] {
            let rows: Vec<_> = rows.iter().filter(|row| row[0] == task).collect();
            let spent: f64 = rows.iter().map(|row| number(&row[2])).sum();
            assert!(spent <= 600.0 && rows.iter().all(|row| number(&row[2]) > 0.0), "{unit}: {spent}");
            let (deployed, floor) = (number(&rows[0][5]), number(&rows[0][6]));
            assert!((floor - 0.9 * deployed).abs() < 1e-4 * deployed, "{unit}: {floor} of {deployed}");
            assert_eq!(number(&rows[0][4]), deployed, "{unit}: the point in use comes first");
        }
    }
    // Without a floor, far more would have been below it.
    let share = |unit: &str| {
        let rows = queries(&path, unit);
        let below = rows.iter().filter(|row| number(&row[4]) < number(&row[6])).count();
        below as f64 / rows.len() as f64
    };
    assert!(share("mft-mes") < 0.5 * share("random"), "{} against {}", share("mft-mes"), share("random"));
}

#[test]
fn a_study_in_service_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--method", "mft-mes", "--floor", "drop:5", "--deployed", "random", "--tolerance", "0.02"];
    let path = folder.path();
    succeed(path, &study("whole", &more));
    let whole = files(&path.join("whole"));
    succeed(path, &study("cut", &more));
    for (name, bytes) in whole.iter().filter(|(name, _)| name.starts_with("units/")) {
        fs::write(path.join("cut").join(name), &bytes[..bytes.len() * 2 / 3]).unwrap();
    }
    succeed(path, &[&study("cut", &more)[..], &["--resume"]].concat());
    assert_eq!(files(&path.join("cut")), whole);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    for (more, words) in [
        (&["--floor", "0.9"][..], "share:0.9"),
        (&["--floor", "share:1.2"], "below 1"),
        (&["--floor", "share:0.9", "--risk", "0.7"], "0.001 to 0.5"),
        (&["--risk", "0.1"], "--floor"),
        (&["--tolerance", "2"], "0 to 1"),
        (&["--deployed", "here"], "default, random"),
        (&["--deployed=-80,0.8"], "4 numbers"),
        (&["--deployed=-81,0.8,-80,0.8"], "nearest"),
        (&["--floor", "share:0.9", "--method", "two-phase"], "batches"),
        (&["--method", "safe-opt"], "needs a floor"),
    ] {
        let error = fail(folder.path(), &study("o", more), 2);
        assert!(error.contains(words), "{more:?}: {error}");
    }
    assert!(files(folder.path()).is_empty());
}

/// The problem of the tests of `tune`, in service.
fn problem() -> String {
    let anywhere = PROBLEM.replace("values = [0.0, 0.25, 0.5, 1.0, 3.0]", "low = -2.0\nhigh = 6.0");
    format!(
        "tolerance = 0.001\n{anywhere}[deployed]\nx = 0.0\ny = 0.0\n[floor]\ndrop = 1.0\nrisk = 0.05\n\
         [[limit]]\nsum = {{ x = 1.0, y = 1.0 }}\nat_most = 2.0\n"
    )
}

/// A bowl whose bottom lies beyond the limit.
const AWK: &str =
    "awk \"BEGIN {{ print ({x} - 2) * ({x} - 2) / 4 + ({y} - 2) * ({y} - 2) / 4 + 0.1 / {samples} }}\"";

#[test]
fn a_problem_file_has_its_floor_limits_and_tolerance_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("p.toml"), problem()).unwrap();
    let printed = succeed(path, &["tune", "p.toml", "--command", AWK, "--json"]);
    let mut asked = 0;
    for line in printed.lines().filter(|line| line.contains("\"setting\"")) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let setting = line.pointer("/ask/setting").or(line.pointer("/recommendation/setting")).unwrap();
        let [x, y] = ["x", "y"].map(|name| setting[name].as_f64().unwrap());
        assert!(x + y <= 2.0 + 1e-6, "{line}");
        if asked == 0 {
            assert_eq!(
                (x, y, line["ask"]["fidelity"].as_str()),
                (0.0, 0.0, Some("long")),
                "the point in use"
            );
        }
        asked += 1;
    }
    assert!(asked > 5, "{printed}");
    let line = succeed(path, &["tune", "p.toml", "--command", AWK, "--state", "other"]);
    assert!(line.contains("expected of the best") && !line.contains("not charged"), "{line}");
}

#[test]
fn a_floor_may_change_between_tasks_and_not_within_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("p.toml"), problem()).unwrap();
    // A program that cannot be started leaves the task open.
    fail(path, &["tune", "p.toml", "--command", "no-such-program {x} {y}"], 2);
    fs::write(path.join("p.toml"), problem().replace("drop = 1.0", "drop = 2.0")).unwrap();
    let error = fail(path, &["tune", "p.toml", "--command", AWK], 2);
    assert!(error.contains("floor was drop:1 at a risk of 0.05, and is drop:2"), "{error}");
}
