//! A system in service: from the point in use, above a floor, within limits, no longer than it pays.

use super::Folder;
use super::tune::PROBLEM;

fn study(out: &str, more: &str) -> String {
    format!("run rrm --experiments 1 --tasks 2 --budget 600 --quiet --out {out} {more}")
}

/// The cells of all rows of a unit's queries: task, fidelity, cost, point, truth, deployed, floor, answer.
fn queries(folder: &Folder, unit: &str) -> Vec<Vec<String>> {
    let table = folder.csv(&format!("o/units/{unit}-1.csv"));
    let wanted = ["task", "fidelity", "cost", "x", "truth", "deployed", "floor", "y"];
    let queries = table.rows.iter().filter(|row| table.cell(row, "kind") != "recommend");
    queries.map(|row| wanted.map(|column| table.cell(row, column).to_string()).to_vec()).collect()
}

#[test]
fn tasks_start_from_the_point_in_use_and_every_trial_is_charged() {
    let folder = Folder::new();
    let methods = ["never", "random", "hill-climbing", "safe-opt", "mft-mes"];
    let more = format!("--method {} --floor share:0.9 --risk 0.1", methods.join(","));
    let printed = folder.succeed(&study("o", &more));
    assert!(printed.contains("time below the floor  trials below"), "{printed}");
    let number = |text: &String| text.parse::<f64>().unwrap();
    for unit in methods {
        let rows = queries(&folder, unit);
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
    let [ours, random] = ["mft-mes", "random"].map(|unit| {
        let rows = queries(&folder, unit);
        let below = rows.iter().filter(|row| number(&row[4]) < number(&row[6])).count();
        below as f64 / rows.len() as f64
    });
    assert!(ours < 0.5 * random, "{ours} against {random}");
}

/// Nobody knows the true value of a command's settings: the point in use is measured once more, and an answer is what users got.
#[test]
#[cfg(unix)]
fn a_study_of_a_command_in_service_says_what_its_users_got() {
    let folder = Folder::new();
    folder.write("p.toml", &problem().replace("risk = 0.05", "risk = 0.2"));
    let run = TUNE.replace("tune", "run") + " --method mft-mes,random --tasks 2 --out o --quiet --budget 30";
    folder.succeed(&run);
    let table = folder.csv("o/tasks.csv");
    let mut fallen = 0.0;
    let tasks = [("mft-mes", "1"), ("mft-mes", "2"), ("random", "1"), ("random", "2")];
    assert_eq!(table.rows.len(), tasks.len());
    for (row, (unit, task)) in table.rows.iter().zip(tasks) {
        assert_eq!(row[..3], [unit, "1", task], "{table:?}");
        let number = |text: &String| text.parse::<f64>().unwrap();
        let queries: Vec<Vec<String>> =
            queries(&folder, unit).into_iter().filter(|row| row[0] == task).collect();
        let (deployed, floor) = (number(&queries[0][5]), number(&queries[0][6]));
        assert!(task == "2" || (deployed + 2.0 + 0.1 / 64.0).abs() < 1e-5, "{deployed}");
        assert!((floor - (deployed - 1.0)).abs() < 1e-5, "{floor}");
        let got: Vec<(f64, f64)> = queries.iter().map(|row| (number(&row[2]), number(&row[7]))).collect();
        let time: f64 = got.iter().map(|(time, _)| time).sum();
        let low: Vec<f64> = got.iter().filter(|(_, y)| *y < floor).map(|(time, _)| *time).collect();
        let close = |name: &str, value: f64| {
            let found = table.number(row, name);
            assert!((found - value).abs() < 1e-5, "{name}: {found} and {value}");
        };
        close("deployed", deployed);
        close("meanwhile", got.iter().map(|(time, y)| time * y).sum::<f64>() / time);
        close("worst", got.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min));
        close("below", low.len() as f64 / got.len() as f64);
        close("below_time", low.iter().sum::<f64>() / time);
        fallen += table.number(row, "below");
    }
    assert!(fallen > 0.0, "nothing fell below the floor, which says nothing: {table:?}");
}

#[test]
fn a_study_in_service_goes_on_where_it_was() {
    let more = "--method mft-mes --floor drop:5 --deployed random --tolerance 0.02";
    super::studies::cut_and_resumed(&study("o", more), |length, _, _| length * 2 / 3);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_is_allowed() {
    let folder = Folder::new();
    for (more, words) in [
        ("--floor 0.9", "share:0.9"),
        ("--floor share:1.2", "below 1"),
        ("--floor share:0.9 --risk 0.7", "0.001 to 0.5"),
        ("--risk 0.1", "--floor"),
        ("--tolerance 2", "0 to 1"),
        ("--deployed here", "default, random"),
        ("--deployed=-80,0.8", "4 numbers"),
        ("--deployed=-81,0.8,-80,0.8", "nearest"),
        ("--floor share:0.9 --method two-phase", "batches"),
        ("--method safe-opt", "needs a floor"),
    ] {
        folder.fails(&study("o", more), 2, words);
    }
    assert!(folder.files("").is_empty());
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
const TUNE: &str = "tune p.toml --command \
    'awk \"BEGIN {{ print ({x} - 2) * ({x} - 2) / 4 + ({y} - 2) * ({y} - 2) / 4 + 0.1 / {samples} }}\"'";

#[test]
fn a_problem_file_has_its_floor_limits_and_tolerance_kept() {
    let folder = Folder::new();
    folder.write("p.toml", &problem());
    let printed = folder.succeed(&format!("{TUNE} --json"));
    let mut asked = 0;
    for line in printed.lines().filter(|line| line.contains("\"setting\"")) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let setting = line.pointer("/ask/setting").or(line.pointer("/recommendation/setting")).unwrap();
        let [x, y] = ["x", "y"].map(|name| setting[name].as_f64().unwrap());
        assert!(x + y <= 2.0 + 1e-6, "{line}");
        let fidelity = line["ask"]["fidelity"].as_str();
        assert!(asked > 0 || (x, y, fidelity) == (0.0, 0.0, Some("long")), "the point in use: {line}");
        asked += 1;
    }
    assert!(asked > 5, "{printed}");
    let line = folder.succeed(&format!("{TUNE} --state other"));
    assert!(line.contains("expected of the best") && !line.contains("not charged"), "{line}");
}

#[test]
fn without_a_point_in_use_a_tolerance_is_kept_and_a_limit_refused() {
    let folder = Folder::new();
    let budget = PROBLEM.replace("budget = 40.0", "budget = 400.0");
    folder.write("p.toml", &format!("tolerance = 0.5\n{budget}"));
    let ended = folder.succeed("tune p.toml --command 'echo 10'");
    assert!(ended.contains("ended because going on is not expected to pay"), "{ended}");
    folder.write("p.toml", &format!("{budget}[[limit]]\nsum = {{ x = 1.0 }}\nat_most = 2.0\n"));
    for command in ["tune", "run"] {
        let words = "[[limit]] needs the setting in use";
        folder.fails(&format!("{command} p.toml --command 'echo {{x}}'"), 2, words);
    }
    folder.succeed("tune p.toml --command 'echo {x}' --deployed x=1,y=1");
}

#[test]
fn a_floor_may_change_between_tasks_and_not_within_one() {
    let folder = Folder::new();
    folder.write("p.toml", &problem());
    // A program that cannot be started leaves the task open.
    folder.fail("tune p.toml --command 'no-such-program {x} {y}'", 2);
    folder.write("p.toml", &problem().replace("drop = 1.0", "drop = 2.0"));
    folder.fails(TUNE, 2, "floor was drop:1 at a risk of 0.05, and is drop:2");
}

/// Once after its first answer, and once in the end.
#[test]
#[cfg(unix)]
fn a_setting_in_use_that_breaks_a_bound_itself_is_told_and_stays_in_use() {
    let folder = Folder::new();
    for (i, (goal, bound, sign, line)) in [
        ("maximise", "[floor]\nvalue = 8", "-", "The setting in use gives 5, below the floor of 8.\n"),
        ("minimise", "[floor]\nvalue = 3", "+", "The setting in use gives 5, above the floor of 3.\n"),
        (
            "maximise",
            "[[guard]]\nname = \"heat\"\nat_most = 2\nnoise = 0",
            "-",
            "The setting in use gives 7 of `heat`, above the bound of 2.\n",
        ),
        ("maximise", "[[guard]]\nname = \"heat\"\nat_most = 8\nnoise = 0", "-", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let problem = WATCHED.replace("maximise", goal).replace("high = 1\n", "high = 1\nlevels = 11\n");
        folder.write("p.toml", &format!("{problem}{bound}\n"));
        let print =
            r#"BEGIN { printf "{\"value\": %g, \"heat\": 7}", 5 SIGN (x - 0.2) ^ 2 }"#.replace("SIGN", sign);
        folder.write("measure.sh", &format!("awk -v x=$1 '{print}'"));
        let said = folder.succeed(&format!("tune p.toml --state {i} --command 'sh measure.sh {{x}}'"));
        assert!(said.contains("In use: x = 0.2, measured 5; it stays in use\n"), "{said}");
        let (count, shown) = (
            |said: &str| said.matches("The setting in use gives").count(),
            folder.succeed(&format!("show {i}")),
        );
        assert!(said.contains(line) && shown.contains(line), "{said}");
        assert_eq!((count(&said), count(&shown)), if line.is_empty() { (0, 0) } else { (2, 1) }, "{said}");
    }
}

const WATCHED: &str = "goal = \"maximise\"\nbudget = 12\nfailures = 3\nrun_length = 1000\n\
    [[parameter]]\nname = \"x\"\nlow = 0\nhigh = 1\n[[fidelity]]\nname = \"only\"\ncost = 1\nnoise = 0.001\n\
    [deployed]\nx = 0.2\n";

/// A world that loses 3 at the 50th measurement, and breaks at the 110th.
const CHANGING: &str = r#"echo >> calls; n=$(wc -l < calls); [ "$n" -lt 110 ] || exit 7
awk -v x="$1" -v n="$n" 'BEGIN { print 5 + x * (1 - x) - (n >= 50) * 3 + (n * 37 % 101) / 1000 }'"#;

#[test]
#[cfg(unix)]
fn a_change_is_noticed_and_the_next_task_begins_by_itself() {
    let folder = Folder::with(WATCHED, CHANGING);
    let tune = "tune p.toml --command 'sh measure.sh {x}' --watch 0.001";
    let broken = || {
        let output = folder.spawn(tune).wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let wanted = "3 measurements in a row failed, the last: exit status: 7";
        assert!(output.status.code() == Some(1) && error.contains(wanted), "{error}");
        String::from_utf8(output.stdout).unwrap()
    };
    let said = broken();
    let (before, after) = said.split_once("Changed after ").unwrap_or_else(|| panic!("{said}"));
    let readings: u32 = after.split(' ').next().unwrap().parse().unwrap();
    assert!(before.contains("Watching x = ") && (38..=50).contains(&readings), "{said}");
    assert!(
        after.contains("`value` is lower than it was, usually 5.") && after.contains("Task 2 of p."),
        "{said}"
    );
    // Started again it goes on watching, with what it has seen.
    folder.write("calls", "");
    folder.write("measure.sh", &CHANGING.replace(">= 50", "> 0").replace("110", "5"));
    assert!(broken().starts_with("Watching x = "));
    let state = folder.read("p.state");
    assert_eq!(state.matches("\"begun\"").count(), 2, "no third task: {state}");
}

/// From the 22nd measurement on everything gives a fifth less.
#[test]
#[cfg(unix)]
fn a_change_in_the_middle_of_a_task_is_said_and_the_recommendation_suits_it() {
    const FIFTH_LESS: &str = r#"echo >> calls; n=$(wc -l < calls)
awk -v x="$1" -v n="$n" 'BEGIN { print (n >= 22 ? 0.8 : 1) * (10 - 12 * (x - 0.8) ^ 2) + (n * 37 % 101) / 1000 }'"#;
    let problem = WATCHED.replace("budget = 12", "budget = 40") + "[floor]\nshare = 0.9\n";
    assert!(problem.contains("budget = 40"));
    let folder = Folder::with(&problem, FIFTH_LESS);
    let said = folder.succeed("tune p.toml --command 'sh measure.sh {x}' -v");
    let line = "The setting in use no longer gives what it gave: what was measured before counts less.";
    let (before, after) = said.split_once(line).unwrap_or_else(|| panic!("{said}"));
    assert!((22..27).contains(&before.matches("  →  ").count()), "{said}");
    assert!(after.contains("the world has changed since the task began: 1 time"), "{said}");
    let expected = after.split("Expected of it: ").nth(1).and_then(|text| text.split(' ').next()).unwrap();
    assert!((expected.parse::<f64>().unwrap() - 8.05).abs() < 0.3, "{said}");
}

#[test]
fn readings_over_serve_say_steady_until_something_changes() {
    let folder = Folder::new();
    folder.write("p.toml", WATCHED);
    let watch = |value: f64| format!("{{\"watch\":{{\"value\":{value}}}}}\n");
    let noise = |i: u32| f64::from(i * 37 % 101) / 1000.0;
    let mut lines = watch(5.0);
    (1..=12).for_each(|id| lines += &format!("{{\"tell\":{{\"id\":{id},\"value\":{}}}}}\n", 5.0 + noise(id)));
    (0..60).for_each(|i| lines += &watch(5.0 + noise(i)));
    lines += &watch(1e300);
    lines += "{\"watch\":{\"value\":1e999}}\n";
    (0..20).for_each(|i| lines += &watch(6.0 + noise(i)));
    let said = folder.fed("serve p.toml", &lines);
    let count = |word: &str| said.matches(&format!("{{\"{word}\":")).count();
    let found = count("steady") - 60;
    assert!((2..12).contains(&found) && count("changed") == 1, "{said}");
    assert!(said.contains("{\"changed\":{\"of\":\"value\",\"change\":\"higher\",\"usual\":5.0"), "{said}");
    assert!(said.contains("{\"ask\":{\"id\":13,"), "{said}");
    // Before the first task's end, too large, of no number, and after the next task has begun.
    assert_eq!(count("error"), 3 + 19 - found, "{said}");
}
