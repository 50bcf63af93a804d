//! Conditions that are known: printed by a command, or told over `serve`. And parameters without an order: people see and give
//! names, wherever a setting is.

use super::{Folder, kinds, recommended};

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
    let folder = Folder::with(PROBLEM, MEASURE);
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
    folder.fails(&format!("{TUNE} --at x=1"), 2, "--at: no condition is called `x`");
    assert_eq!(folder.read("log").lines().count(), 30, "nothing was measured for that");
    // The same state over `serve`: asked by whom is all the same.
    let lines = "{\"recommend_at\":{\"load\":10}}\n{\"recommend_at\":{\"load\":90}}\n{\"recommend_at\":{\"load\":101}}\n{\"recommend_at\":{}}\n\
        {\"next_task\":{}}\n{\"ask_at\":{\"load\":25}}\n{\"ask_at\":{\"load\":25}}\n{\"ask_at\":{\"lod\":25}}\n{\"ask_at\":{}}\n\
        {\"tell\":{\"id\":31,\"value\":0.9,\"conditions\":{\"load\":26}}}\n{\"recommend_at\":{\"load\":10}}\n";
    let text = folder.fed("serve p.toml --state s --set candidates=64", lines);
    let expected =
        ["foretune", "recommendation", "recommendation", "recommendation", "error", "error", "ask"];
    let expected = [&expected[..], &["ask", "ask", "error", "error", "ask", "error"]].concat();
    assert_eq!(kinds(&text), expected, "{text}");
    let asks: Vec<&str> = text.lines().filter(|line| line.contains("{\"ask\"")).collect();
    assert!(asks[1] == asks[2], "under the condition that is known already the query stands: {text}");
    let of = |line: usize, name: &str| -> f64 {
        let text = text.lines().nth(line).unwrap().split(&format!("\"{name}\":")).nth(1).unwrap();
        text.split([',', '}']).next().unwrap().parse().unwrap()
    };
    for (line, load) in [(2, 10.0), (3, 90.0)] {
        assert!((of(line, "load") - load).abs() < 1e-3, "{text}");
        let gap = of(line, "x") - 0.2 - 0.006 * load;
        assert!(gap.abs() < 0.2, "{text}");
    }
    assert!((of(7, "load") - 25.0).abs() < 1e-3 && (of(11, "load") - 26.0).abs() < 1e-3, "{text}");
    // What was asked under a condition that somebody has said is asked under it again after a restart.
    let serve = "serve p.toml --state s --set candidates=64";
    let asked = folder.fed(serve, "{\"ask_at\":{\"load\":75}}\n");
    assert!(asked.lines().last() == folder.fed(serve, "").lines().last(), "{asked}");
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("\"error\"")).collect();
    for (error, words) in errors.iter().zip([
        "parameter `load` takes a number from 0 to 100, not 101",
        "recommend_at takes a value for every [[condition]]",
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
    folder.fails(&TUNE.replace("p.toml", "q.toml"), 2, "differs in its parameters");
}

#[test]
#[cfg(unix)]
fn a_condition_out_of_its_range_is_a_failure_that_names_it_and_studies_have_none() {
    let folder = Folder::new();
    folder.write("p.toml", &format!("failures = 2\n{PROBLEM}"));
    let words = "parameter `load` takes a number from 0 to 100, not 200";
    folder.fails(r#"tune p.toml --command "echo '{{\"value\": 1, \"load\": 200}}'" --state t"#, 1, words);
    folder.fails("run p.toml --command 'echo 1' --method random --tasks 1 --quiet", 2, "has no conditions");
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
    // They look farther around than the new one may.
    folder.write("site.toml", &PROBLEM.replace("share = 0.8", "share = 0.5"));
    for site in ["-4", "-3", "-2", "-1", "1", "2", "3", "4"] {
        folder.succeed(&format!("tune site.toml --state s{site} {}", tune.replace("SITE", site)));
    }
    folder.succeed("fleet learn s-4 s-3 s-2 s-1 s1 s2 s3 s4 --problem p.toml -o f.fleet");
    // A new site that has only been measured without load, at the setting in use and twice more.
    folder.write("measure.sh", &MEASURE.replace("(37 * n) % 101", "0"));
    let short = PROBLEM.replace("budget = 30", "budget = 3");
    folder.write("alone.toml", &short);
    folder.write("fleet.toml", &format!("fleet = \"f.fleet\"\n{short}"));
    let best = |file: &str| {
        let tune = format!("tune {file}.toml --state {file} {}", tune.replace("SITE", "0"));
        folder.succeed(&tune);
        recommended(&folder.succeed(&format!("{tune} --at load=90")), "x")
    };
    let [alone, fleet] = ["alone", "fleet"].map(|file| (best(file) - 0.74).abs());
    assert!(fleet < 0.08 && alone > 0.15, "x is off by {fleet} with a fleet, by {alone} without");
}

/// The evening's load is no change of the world, for who knows it.
#[test]
#[cfg(unix)]
fn a_reading_is_compared_with_what_is_expected_under_its_condition() {
    let folder = Folder::with(PROBLEM, MEASURE);
    let text = folder.succeed(TUNE);
    let x = recommended(&text, "x");
    let readings = |knows: bool, lost: f64| {
        let reading = |i: usize| {
            let load = if i < 40 { 20.0 } else { 80.0 };
            let noise = 0.002 * ((i * 37 % 11) as f64 - 5.0);
            let value = 1.0 - (x - 0.2 - 0.006 * load).powi(2) + noise - if i < 60 { 0.0 } else { lost };
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

const NAMED: &str = "\
goal = \"minimise\"
budget = 30.0
[[parameter]]
name = \"mode\"
values = [\"slow\", \"fast\", \"very fast\", \"off\"]
[[parameter]]
name = \"x\"
low = 0.0
high = 1.0
[[fidelity]]
name = \"run\"
cost = 1.0
noise = 0.0001
[deployed]
mode = \"off\"
x = 0.5
";

/// The third is best; the environment says the same as the argument.
const BY_NAME: &str = "[ \"$1\" = \"$FORETUNE_MODE\" ] || exit 1; case $1 in 'very fast') w=0;; slow) w=1;; *) w=2;; esac; \
    awk -v w=$w -v x=$2 'BEGIN { printf \"%.17g\", w + (x - 0.25) * (x - 0.25) }'\n";
const TUNE_NAMED: &str = "tune p.toml --state s --command 'sh measure.sh {mode} {x}'";

#[test]
fn names_go_to_the_command_into_the_state_and_back() {
    let folder = Folder::with(NAMED, BY_NAME);
    let said = folder.succeed(&format!("{TUNE_NAMED} --seed 3 --csv past.csv"));
    assert!(said.contains("Recommended: mode = very fast, x = 0.2"), "{said}");
    assert!(said.contains("In use: mode = off, x = 0.5, measured 2.06"), "{said}");
    let shown = folder.succeed("show s --report page.html");
    for name in ["slow", "fast", "very fast", "off"] {
        assert!(shown.contains(name), "{name} is in none of the measurements: {shown}");
    }
    folder.fails("fleet learn s --problem p.toml --out f.fleet", 2, "the values of `mode` have none");
    assert!(folder.succeed("explain s").contains("mode = off, x = 0.5"));
    let page = folder.read("page.html");
    assert!(page.contains("mode = very fast, x = 0.2"));
    assert!(page.matches(">very fast</text>").count() >= 2, "at the ticks of a slice and of the map");
    let table = folder.read("past.csv");
    assert!(table.starts_with("task,why,mode,x,") && table.contains(",off,0.5,run,1,"), "{table}");
    let again = "tune p.toml --state t --seed 4 --command 'sh measure.sh {mode} {x}' --past past.csv";
    folder.succeed(&format!("{again} --deployed 'mode=slow,x=0.5'"));
    assert!(folder.succeed("show t").contains("In use: mode = slow"));
}

#[test]
fn names_that_there_are_not_are_refused_with_those_that_there_are() {
    let folder = Folder::with(NAMED, BY_NAME);
    let known = "parameter `mode` has no value `1`: there are slow, fast, very fast, off";
    folder.fails(&format!("{TUNE_NAMED} --deployed mode=1,x=0"), 2, known);
    folder.write("past.csv", "mode,x,value\n1,0.5,3\n");
    let said = folder.fail(&format!("{TUNE_NAMED} --past past.csv"), 2);
    assert!(said.contains("line 2: column `mode`: ") && said.contains(known), "{said}");
    folder.write("p.toml", &format!("{NAMED}[[limit]]\nsum = {{ mode = 1.0 }}\nat_most = 2\n"));
    folder.fails(TUNE_NAMED, 2, "the values of parameter `mode` are names");
    folder.write("p.toml", NAMED);
    let said = folder.fail(&format!("{TUNE_NAMED} --set map=deep:8"), 1);
    assert!(said.contains("map") && said.contains("category"), "{said}");
}

#[test]
fn other_names_are_another_problem() {
    let folder = Folder::with(NAMED, BY_NAME);
    folder.succeed(&format!("{TUNE_NAMED} --seed 3"));
    folder.write("p.toml", &NAMED.replace("\"slow\", \"fast\"", "\"fast\", \"slow\""));
    let words = "parameter `mode` was one of slow, fast, very fast, off, and is one of fast, slow";
    folder.fails(TUNE_NAMED, 2, words);
}

#[test]
fn serve_takes_and_gives_names() {
    let folder = Folder::with(NAMED, BY_NAME);
    let tell = |id: u32| format!("{{\"tell\":{{\"id\":{id},\"value\":1}}}}\n");
    let past = "{\"past\":[{\"setting\":{\"mode\":\"fast\",\"x\":0.1},\"value\":2.0}]}\n";
    let wrong = past.replace("fast", "none");
    let next = "{\"stop\":{}}\n{\"next_task\":{\"deployed\":{\"mode\":\"slow\",\"x\":0.25}}}\n";
    let heard = folder.fed("serve p.toml --state s", &[past, &wrong, &tell(1), next, past].concat());
    // The same measurement counts in the second task, too.
    assert_eq!(folder.read("s").matches("\"past\":[{").count(), 2, "{heard}");
    assert!(heard.contains("\"setting\":{\"mode\":\"off\",\"x\":0.5}"), "{heard}");
    assert!(heard.contains("no value `none`: there are slow, fast, very fast, off"), "{heard}");
    assert!(heard.contains("\"setting\":{\"mode\":\"slow\",\"x\":0.25}"), "{heard}");
}
