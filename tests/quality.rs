//! How well benchmarks are solved after some tasks, in figures: a default that became worse would show here.
//!
//! Seeds are fixed, so the figures are always the same. Each bar lies well above what was measured (in brackets) and well
//! below what searching at random comes to.

use std::process::Command;

/// Mean regret of the recommendations in tasks 4 and 5, over four experiments.
fn regret(problem: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let study =
        ["--method", "mft-mes", "--experiments", "4", "--tasks", "5", "--seed", "1", "--out", "study"];
    let output = Command::new(env!("CARGO_BIN_EXE_foretune-tested"))
        .current_dir(folder.path())
        .args(["run", problem, "--quiet"])
        .args(study)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = std::fs::read_to_string(folder.path().join("study/tasks.csv")).unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|own| *own == name).expect("a column of the table");
    let number = |row: &[&str], name: &str| row[column(name)].parse::<f64>().expect("a number");
    let late = rows[1..].iter().filter(|row| number(row, "task") >= 4.0);
    let regrets: Vec<f64> = late.map(|row| number(row, "optimum") - number(row, "recommended")).collect();
    assert_eq!(regrets.len(), 2 * 4);
    regrets.iter().sum::<f64>() / 8.0
}

#[test]
fn hartmann_6_is_solved_to_less_than_half_a_unit_after_four_tasks() {
    let regret = regret("hartmann6");
    assert!(regret < 0.5, "mean regret {regret} (measured: 0.34; at random: 2.2)");
}

#[test]
fn the_gas_source_is_found_to_a_third_of_the_datas_energy_after_four_tasks() {
    let regret = regret("gas");
    assert!(regret < 0.33, "mean regret {regret} (measured: 0.11; at random: 0.73)");
}
