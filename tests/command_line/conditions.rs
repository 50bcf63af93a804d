//! Conditions that are known: printed by a command, or told over `serve`.

use super::Folder;

const PROBLEM: &str = r#"goal = "maximise"
budget = 30
[[parameter]]
name = "x"
low = 0
high = 1
[[condition]]
name = "load"
unit = "%"
low = 0
high = 100
[[fidelity]]
name = "only"
cost = 1
noise = 0.0001
[deployed]
x = 0.5
[floor]
share = 0.8
risk = 0.1
"#;

/// The best x is 0.2 without load and 0.8 with all of it. The load goes up and down, whatever was asked for.
const MEASURE: &str = r#"echo >>log; awk -v x="$1" -v n="$(wc -l <log)" 'BEGIN {
    load = (37 * n) % 101; gap = x - 0.2 - 0.006 * load
    printf "{\"value\": %.6f, \"load\": %.1f}\n", 1 - gap * gap, load
}'"#;

const TUNE: &str = "tune p.toml --command 'sh measure.sh {x} {load}' --state s --set candidates=64";

#[test]
#[cfg(unix)]
fn a_command_says_under_which_condition_it_measured_and_what_is_best_is_known_for_any() {
    let folder = Folder::new();
    folder.write("p.toml", PROBLEM);
    folder.write("measure.sh", MEASURE);
    let printed = folder.succeed(&format!("{TUNE} --csv t.csv"));
    assert!(printed.contains("It begins at the setting in use given in p.toml: x = 0.5.\n"), "{printed}");
    assert!(printed.contains("Recommended: x = ") && printed.contains(", load = "), "{printed}");
    let table = folder.read("t.csv");
    assert_eq!(table.lines().next(), Some("task,why,x,load,fidelity,cost,value"));
    assert_eq!(table.lines().nth(2).and_then(|row| row.split(',').nth(3)), Some("74"), "{table}");
    let at = |load: &str| folder.succeed(&format!("{TUNE} --at load={load}"));
    assert!(
        at("10").starts_with("Recommended: x = 0.") && at("90").contains(", load = 90 %\nExpected of it: ")
    );
    assert!(folder.fail(&format!("{TUNE} --at x=1"), 2).contains("--at: no condition is called `x`"));
    assert_eq!(folder.read("log").lines().count(), 30, "nothing was measured for that");
    // The same state over `serve`: asked by whom is all the same.
    let lines = "{\"recommend_at\":{\"load\":10}}\n{\"recommend_at\":{\"load\":90}}\n{\"recommend_at\":{\"load\":101}}\n\
        {\"next_task\":{}}\n{\"ask_at\":{\"load\":25}}\n{\"ask_at\":{\"lod\":25}}\n{\"ask_at\":{}}\n\
        {\"tell\":{\"id\":31,\"value\":0.9,\"conditions\":{\"load\":26}}}\n{\"recommend_at\":{\"load\":10}}\n";
    let text = folder.fed("serve p.toml --state s --set candidates=64", lines);
    let kinds: Vec<&str> = text.lines().map(|line| line.split('"').nth(1).unwrap()).collect();
    let expected = ["foretune", "recommendation", "recommendation", "recommendation", "error", "ask", "ask"];
    assert_eq!(kinds, [&expected[..], &["error", "error", "ask", "error"]].concat(), "{text}");
    let of = |line: usize, name: &str| -> f64 {
        let text = text.lines().nth(line).unwrap().split(&format!("\"{name}\":")).nth(1).unwrap();
        text.split([',', '}']).next().unwrap().parse().unwrap()
    };
    for (line, load) in [(2, 10.0), (3, 90.0)] {
        assert!((of(line, "load") - load).abs() < 1e-3, "{text}");
        let gap = of(line, "x") - 0.2 - 0.006 * load;
        assert!(gap.abs() < 0.2, "{text}");
    }
    assert!((of(6, "load") - 25.0).abs() < 1e-3 && (of(9, "load") - 26.0).abs() < 1e-3, "{text}");
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("\"error\"")).collect();
    for (error, words) in errors.iter().zip([
        "parameter `load` takes a number from 0 to 100, not 101",
        "no condition is called `lod`",
        "ask_at takes a value for every [[condition]]",
        "query 32 is outstanding: the task has not ended",
    ]) {
        assert!(error.contains(words), "{error}");
    }
}

/// What sites have in common is known over the conditions, too.
#[test]
#[cfg(unix)]
fn sites_under_conditions_make_a_fleet_for_the_next_one() {
    let folder = Folder::new();
    folder.write("p.toml", &PROBLEM.replace("budget = 30", "budget = 12"));
    for site in 1..=4 {
        folder.write(
            "measure.sh",
            &MEASURE.replace("0.2", &format!("0.2{site}")).replace("log", &format!("log{site}")),
        );
        folder.succeed(&TUNE.replace("--state s", &format!("--state {site}.state")));
    }
    let fit = "--centres 6 --modes 1 --passes 6 --starts 1";
    let learn = "fleet learn 1.state 2.state 3.state --problem p.toml -o own.fleet";
    assert!(folder.succeed(&format!("{learn} {fit}")).contains("3 sites, 3 tasks, 36 answers"));
    folder.write("q.toml", &format!("fleet = \"own.fleet\"\n{}", folder.read("p.toml")));
    let told = folder.succeed(&TUNE.replace("p.toml", "q.toml"));
    assert!(told.contains("Spent 12 of 12 in 12 measurements"), "{told}");
    let other = PROBLEM.replace("[[condition]]", "[[parameter]]").replace("x = 0.5", "x = 0.5\nload = 1");
    folder.write("q.toml", &format!("fleet = \"own.fleet\"\n{other}"));
    assert!(folder.fail(&TUNE.replace("p.toml", "q.toml"), 2).contains("its parameters differ"));
}

#[test]
#[cfg(unix)]
fn a_condition_out_of_its_range_is_a_failure_that_names_it_and_studies_have_none() {
    let folder = Folder::new();
    folder.write("p.toml", &format!("failures = 2\n{PROBLEM}"));
    let error = folder.fail(r#"tune p.toml --command "echo '{{\"value\": 1, \"load\": 200}}'" --state t"#, 1);
    assert!(error.contains("parameter `load` takes a number from 0 to 100, not 200"), "{error}");
    let error = folder.fail("run p.toml --command 'echo 1' --method random --tasks 1 --quiet", 2);
    assert!(error.contains("has no conditions"), "{error}");
}

/// What other sites learnt under all loads is known at a new one before it has seen them.
#[test]
#[cfg(unix)]
fn a_fleet_knows_what_is_best_under_conditions_that_a_site_has_not_seen() {
    let folder = Folder::new();
    folder.write("p.toml", PROBLEM);
    // Sites differ in where the best x lies.
    folder.write(
        "measure.sh",
        &MEASURE.replace("0.2 -", "0.2 - s / 100 -").replace("-v x=", "-v s=\"$2\" -v x="),
    );
    let tune = "--command 'sh measure.sh {x} SITE' --set candidates=64";
    for site in ["-4", "-2", "-1", "1", "2", "4"] {
        folder.succeed(&format!("tune p.toml --state s{site} {}", tune.replace("SITE", site)));
    }
    folder.succeed("fleet learn s-4 s-2 s-1 s1 s2 s4 --problem p.toml -o f.fleet");
    // A new site that has only been measured without load, at the setting in use and twice more.
    folder.write("measure.sh", &MEASURE.replace("(37 * n) % 101", "0"));
    let short = PROBLEM.replace("budget = 30", "budget = 3");
    folder.write("alone.toml", &short);
    folder.write("fleet.toml", &format!("fleet = \"f.fleet\"\n{short}"));
    let best = |file: &str| {
        let tune = format!("tune {file}.toml --state {file} {}", tune.replace("SITE", "0"));
        folder.succeed(&tune);
        let text = folder.succeed(&format!("{tune} --at load=90"));
        text.split("x = ").nth(1).unwrap().split(',').next().unwrap().parse::<f64>().unwrap()
    };
    let [alone, fleet] = ["alone", "fleet"].map(|file| (best(file) - 0.74).abs());
    assert!(fleet < 0.08 && alone > 0.15, "x is off by {fleet} with a fleet, by {alone} without");
}

/// The evening's load is no change of the world, for who knows it.
#[test]
#[cfg(unix)]
fn a_reading_is_compared_with_what_is_expected_under_its_condition() {
    let folder = Folder::new();
    folder.write("p.toml", PROBLEM);
    folder.write("measure.sh", MEASURE);
    let text = folder.succeed(TUNE);
    let x =
        text.split("Recommended: x = ").nth(1).and_then(|rest| rest.split(',').next()?.parse::<f64>().ok());
    let readings = |knows: bool, lost: f64| {
        let reading = |i: usize| {
            let load = if i < 40 { 20.0 } else { 80.0 };
            let noise = 0.002 * ((i * 37 % 11) as f64 - 5.0);
            let value =
                1.0 - (x.unwrap() - 0.2 - 0.006 * load).powi(2) + noise - if i < 60 { 0.0 } else { lost };
            let conditions =
                if knows { format!(",\"conditions\":{{\"load\":{load}}}") } else { String::new() };
            format!("{{\"watch\":{{\"value\":{value}{conditions}}}}}\n")
        };
        std::fs::copy(folder.path("s"), folder.path("copy")).unwrap();
        let lines: String = (0..100).map(reading).collect();
        let text = folder.fed("serve p.toml --state copy --set candidates=64", &lines);
        (text.matches("{\"steady\":").count(), text.contains("{\"changed\":"))
    };
    assert_eq!(readings(true, 0.0), (100, false));
    let [(blind, alarm), (found, change)] = [readings(false, 0.0), readings(true, 0.2)];
    assert!(
        alarm && (40..60).contains(&blind),
        "a load that nobody tells of looks like a change: after {blind}"
    );
    assert!(change && (60..70).contains(&found), "the change of the world after {found}");
}
