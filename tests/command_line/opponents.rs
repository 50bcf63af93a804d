//! What a user would do instead of tuning, in the same studies.

use std::fs;
use std::path::Path;

use super::program::{files, succeed};

const METHODS: &str = "never,kept,hill-climbing,random-cheapest,mf-mes-ten,warm-start";

fn study(out: &str) -> Vec<&str> {
    let size = ["--experiments", "1", "--tasks", "3", "--budget", "120", "--quiet", "--out", out];
    [&["run", "hartmann6", "--method", METHODS, "--set", "candidates=16"][..], &size].concat()
}

/// The cells of a column in all rows of a unit that pass, task by task.
fn column(path: &Path, unit: &str, column: usize, passes: fn(&str) -> bool) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path.join(format!("units/{unit}-1.csv"))).unwrap();
    let rows: Vec<Vec<String>> = text
        .lines()
        .filter(|line| line.starts_with(unit) && passes(line))
        .map(|line| line.split(',').map(String::from).collect())
        .collect();
    let of_task = |task: usize| rows.iter().filter(move |row| row[2] == task.to_string());
    (1..=3).map(|task| of_task(task).map(|row| row[column].clone()).collect()).collect()
}

fn is_query(line: &str) -> bool {
    !line.contains(",recommend,")
}

fn is_recommendation(line: &str) -> bool {
    !is_query(line)
}

#[test]
fn each_does_what_its_name_says() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), &study("o"));
    let path = folder.path().join("o");
    let [kind, fidelity, x] = [4, 5, 7];
    let queried = |unit| column(&path, unit, x, is_query);
    let recommended = |unit| column(&path, unit, x, is_recommendation);

    // Never tuned: the same point in all tasks, measured once.
    let never = [queried("never").concat(), recommended("never").concat()].concat();
    assert_eq!(never, vec![never[0].clone(); 6]);

    // Kept: many queries in the first task, then its recommendation for ever.
    let kept = recommended("kept");
    assert!(queried("kept")[0].len() > 10);
    assert_eq!(queried("kept")[1..], [kept[0].clone(), kept[0].clone()]);
    assert_eq!(kept[1..], [kept[0].clone(), kept[0].clone()]);

    // Hill climbing: from the point in use, later from the last recommendation; twelve trials at the cheapest fidelity.
    let climbed = queried("hill-climbing");
    assert!(climbed.iter().all(|task| task.len() == 12));
    assert_eq!(climbed[0][0], never[0]);
    let tops = recommended("hill-climbing");
    assert_eq!([&climbed[1][0], &climbed[2][0]], [&tops[0][0], &tops[1][0]]);
    assert!(column(&path, "hill-climbing", fidelity, is_query).concat().iter().all(|m| m == "1"));

    // Random search at the cheapest fidelity: all but the initial points there.
    let searched = column(&path, "random-cheapest", fidelity, |line| line.contains(",search,"));
    assert!(searched.iter().all(|task| task.len() == 12 && task.iter().all(|m| m == "1")));

    // Carried points are tried again by the warm start alone.
    let carries = |unit| column(&path, unit, kind, is_query).concat().contains(&"carried".to_string());
    assert!(carries("warm-start") && !carries("mf-mes-ten"));
}

#[test]
fn they_resume_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    succeed(path, &study("whole"));
    let whole = files(&path.join("whole"));
    succeed(path, &study("cut"));
    for (name, bytes) in whole.iter().filter(|(name, _)| name.starts_with("units/")) {
        fs::write(path.join("cut").join(name), &bytes[..bytes.len() / 2]).unwrap();
    }
    succeed(path, &[study("cut"), vec!["--resume"]].concat());
    assert_eq!(files(&path.join("cut")), whole);
}
