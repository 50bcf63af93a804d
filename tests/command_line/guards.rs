//! Guarded KPIs: in studies, in problem files, measured by a command or told over `serve`.

use super::{Folder, recommended};

const PROBLEM: &str = r#"goal = "maximise"
budget = 40
[[parameter]]
name = "x"
low = 0
high = 1
[[fidelity]]
name = "only"
cost = 1
noise = 0.0001
[deployed]
x = 0.2
[[guard]]
name = "edge"
share = 0.5
noise = 0.0001
scale = "log"
[[guard]]
name = "power"
at_most = 7
risk = 0.1
noise = 0
"#;

/// More is better, but the edge falls to half of what it is in use at x = 0.6.
const MEASURE: &str = r#"awk -v x="$1" 'BEGIN { printf "{\"value\": %.6f, \"edge\": %.6f, \"power\": %.6f}\n", x, exp(-1.733 * x), 10 * x }'"#;

const TUNE: &str = "tune p.toml --command 'sh measure.sh {x}' --state s --set candidates=64";

#[test]
#[cfg(unix)]
fn a_command_is_tuned_as_far_as_its_kpis_allow_and_goes_on_where_it_was() {
    let folder = Folder::with(PROBLEM, MEASURE);
    let printed = folder.succeed(TUNE);
    let x = recommended(&printed, "x");
    assert!((0.5..=0.61).contains(&x), "{x}: {printed}");
    folder.succeed(TUNE);
    let changed = PROBLEM.replace("at_most = 7", "at_most = 4");
    folder.write("p.toml", &changed);
    let printed = folder.succeed(TUNE);
    assert!(printed.contains("x = 0."), "a guard may change between tasks: {printed}");
    let explained = folder.succeed("explain s --task 3");
    assert!(explained.contains("nothing is allowed: the safest, or within"), "{explained}");
    folder.write("p.toml", &PROBLEM.replace("share = 0.5", "at_least = 5"));
    let printed = folder.succeed(&TUNE.replace("--state s", "--state t --deployed x=0.3"));
    let said = "Recommended: x = 0.3\nNo setting keeps floor and guards as surely as asked for: this is the one in use.\n";
    assert!(printed.contains(said), "{printed}");
}

/// The edge is measured five times in use, at 1 to 5 times what it is: a noise of its logarithm that is far from what it was given.
#[test]
#[cfg(unix)]
fn noise_of_a_kpi_is_estimated_where_it_is_not_given() {
    let folder = Folder::new();
    folder.write("p.toml", &PROBLEM.replace("share = 0.5\nnoise = 0.0001\n", "share = 0.5\n"));
    let counted = MEASURE
        .replace("exp(-1.733 * x)", "(n < 6 ? n : 3) * exp(-1.733 * x)")
        .replace("-v x", "-v n=\"$n\" -v x");
    folder.write("measure.sh", &format!("echo >> calls; n=$(wc -l < calls); {counted}"));
    let printed = folder.succeed(TUNE);
    assert_eq!(printed.matches("to learn the noise").count(), 5, "{printed}");
    let state = folder.read("s");
    let json = &state[state.find('{').unwrap()..=state.rfind('}').unwrap()];
    let state: serde_json::Value = serde_json::from_str(json).unwrap();
    // The variance of the logarithms of 1 to 5.
    let found = state["kpi_noise"]["edge"][0].as_f64().unwrap();
    assert!((found - 0.4039).abs() < 1e-3, "{found}");
    assert!(!folder.succeed(TUNE).contains("to learn the noise"));
    folder.fails("hil p.toml --connect tcp:127.0.0.1:1 --command 'echo {x}'", 2, "guard `edge` has no noise");
}

/// Every setting that was measured is answered for, and what was measured is a table that another task takes.
#[test]
#[cfg(unix)]
fn reasons_tables_and_pages_have_every_kpi() {
    let folder = Folder::with(PROBLEM, MEASURE);
    let tuned = folder.succeed(&format!("{TUNE} -v --csv t.csv --report r.html"));
    let explained = folder.succeed("explain s");
    let searched = explained.matches("tells most for its price").count();
    assert!(searched > 3, "{explained}");
    for words in ["edge: ", "power: ", "at most 7 is to be kept by", "which ruled out", "one of the first"] {
        assert!(explained.contains(words) && tuned.contains(words), "{words}: {explained}");
    }
    // What was expected of the edge at the setting in use is half of what it gives there.
    assert!(explained.contains("; at least 0.35"), "{explained}");
    folder.fails("explain s --task 7", 2, "no task 7, of 1 task");
    let table = folder.read("t.csv");
    assert_eq!(table.lines().next(), Some("task,why,x,fidelity,cost,value,edge,power"));
    let page = folder.read("r.html");
    assert!(["edge", "power", "bound"].iter().all(|word| page.contains(&format!(">{word}<"))), "{page}");
    folder.write("t.csv", &table.lines().take(4).map(|line| format!("{line}\n")).collect::<String>());
    let again = folder.succeed(&TUNE.replace("--state s", "--state u --past t.csv"));
    assert!(again.contains("It knows 3 measurements from before."), "{again}");
    folder.write("t.csv", "x,value,edge\n0.2,0.2,0.7\n");
    folder.fails(&TUNE.replace("--state s", "--state v --past t.csv"), 2, "column `power` is missing");
}

#[test]
#[cfg(unix)]
fn an_answer_without_a_guarded_kpi_is_a_failure_that_names_it() {
    let folder = Folder::new();
    folder.write("p.toml", &format!("failures = 2\n{PROBLEM}"));
    for (prints, words) in [
        ("echo 0.3", "no `edge`, which is guarded"),
        (r#"echo '{"value": 1, "edge": 0.5}'"#, "no `power`, which is guarded"),
        (r#"echo '{"value": 1, "edge": -0.5, "power": 1}'"#, "-0.5 for `edge`, which has no logarithm"),
        (r#"echo '{"value": 1, "edge": 1e300, "power": 1}'"#, "no number within ±1e30"),
    ] {
        folder.write("measure.sh", prints);
        folder.fails(&TUNE.replace("--state s", "--state t"), 1, words);
        std::fs::remove_file(folder.path("t")).unwrap();
    }
}

#[test]
fn a_guard_in_a_file_is_refused_with_its_line() {
    let folder = Folder::new();
    for (from, to, words) in [
        ("share = 0.5", "share = 0.5\ndrop = 1", "line 13: guard `edge` takes one of"),
        ("share = 0.5", "drop = 1", "seen by its logarithm"),
        ("share = 0.5", "share = 0.5\nat_most = true\nat_least = 1", "takes one of"),
        ("name = \"power\"", "name = \"Edge\"", "alike"),
        ("name = \"power\"", "name = \"value\"", "cannot be the name of a guard"),
        ("noise = 0.0001\nscale", "noise = [0.1, 0.2]\nscale", "noise takes a variance, or a list of 1"),
        ("risk = 0.1", "risk = 0.9", "risk takes"),
        ("[deployed]\nx = 0.2\n", "", "a [[guard]] needs the setting in use"),
    ] {
        assert!(PROBLEM.contains(from));
        folder.write("p.toml", &PROBLEM.replacen(from, to, 1));
        folder.fails("tune p.toml --command 'echo {x}' --state s", 2, words);
    }
}

#[test]
#[cfg(unix)]
fn a_study_of_a_command_keeps_its_guards_and_has_their_columns() {
    let folder = Folder::with(PROBLEM, MEASURE);
    let study = "--method never,unguarded,mft-mes --experiments 1 --tasks 2 --budget 16 --set candidates=64";
    folder.succeed(&format!("run p.toml --command 'sh measure.sh {{x}}' {study} --quiet --out o"));
    let table = folder.csv("o/tasks.csv");
    let of = |method: &str, name: &str| {
        let rows = table.rows.iter().filter(|row| row[0] == method);
        rows.map(|row| table.number(row, name)).sum::<f64>() / 2.0
    };
    assert_eq!((of("never", "broken_edge"), of("never", "recommended_edge")), (0.0, 1.0), "{table:?}");
    assert_eq!(
        (of("mft-mes", "recommended_edge"), of("mft-mes", "recommended_power")),
        (1.0, 1.0),
        "{table:?}"
    );
    assert!(of("unguarded", "broken_time_edge") > of("mft-mes", "broken_time_edge"), "{table:?}");
    assert!(of("mft-mes", "recommended") > of("never", "recommended"), "{table:?}");
}

#[test]
fn a_study_has_columns_for_every_guard() {
    let folder = Folder::new();
    let guards = "--guard edge:share:0.9 --guard power:at-most:drop:3 --floor share:0.9";
    let study = "--method never,hill-climbing,mft-mes --experiments 1 --tasks 2 --budget 500 --quiet --out o";
    folder.succeed(&format!("run rrm {guards} {study}"));
    let table = folder.csv("o/tasks.csv");
    for row in &table.rows {
        let number = |name: &str| table.number(row, name);
        for kpi in ["edge", "power"] {
            for share in ["broken", "broken_time", "recommended"] {
                assert!((0.0..=1.0).contains(&number(&format!("{share}_{kpi}"))), "{row:?}");
            }
        }
        // What nobody touches breaks nothing, and the best that keeps all is no worse.
        if row[0] == "never" {
            assert_eq!((number("broken_edge"), number("recommended_power")), (0.0, 1.0), "{row:?}");
        }
        assert!(number("optimum") >= number("deployed"), "{row:?}");
    }
    for (wrong, words) in [
        ("run rrm --guard edge:share:0.9 --method relay-zn", "relay-zn is for problem pid"),
        ("run rrm --guard delay:share:0.9", "there is no KPI `delay`; there are edge, power"),
        ("run rrm --guard edge:drop:1", "seen by its logarithm"),
        ("run rrm --guard edge", "NAME:[at-most:]share:0.9"),
        ("run hartmann6 --guard edge:share:0.9", "has no KPIs to guard"),
        ("run rrm --guard edge:share:0.9 --method two-phase", "cannot keep to a floor or a guard"),
    ] {
        folder.fails(&format!("{wrong} --out p"), 2, words);
    }
}

/// All opponents on a loop: relay autotuning overshoots while it tries, and so does who knows no guard.
#[test]
fn overshoot_is_kept_on_a_loop_and_counted_for_those_who_do_not_keep_it() {
    let folder = Folder::new();
    let guards = "--guard overshoot:at-most:value:0.05 --guard effort:at-most:value:10";
    let methods = "never,hill-climbing,safe-opt,constrained-ei,relay-zn,relay-tl,unguarded,mft-mes";
    let study = "--experiments 1 --tasks 1 --quiet --out o --seed 7";
    folder.succeed(&format!("run pid:oven {guards} --method {methods} {study}"));
    let table = folder.csv("o/tasks.csv");
    let cell = |method: &str, name: &str| {
        table.number(table.rows.iter().find(|row| row[0] == method).expect("its row"), name)
    };
    assert!(methods.split(',').all(|method| cell(method, "spent") > 0.0), "{table:?}");
    assert_eq!(cell("never", "broken_overshoot"), 0.0, "{table:?}");
    assert!(["relay-zn", "relay-tl"].iter().all(|relay| cell(relay, "broken_overshoot") > 0.4), "{table:?}");
    let broken = |method| cell(method, "broken_time_overshoot") + cell(method, "broken_time_effort");
    assert!(broken("mft-mes") < 0.3 * broken("unguarded"), "{table:?}");
    assert!(cell("mft-mes", "recommended") > 1.2 * cell("never", "recommended"), "{table:?}");
}
