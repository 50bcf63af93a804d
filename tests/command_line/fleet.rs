//! `foretune fleet`: learnt from studies and from states, the same bytes again, taken up by studies and problem files.

use super::{Folder, stderr, stdout};

const FIT: &str = "--centres 6 --modes 1 --passes 6 --starts 1";
const PROBLEM: &str = "
goal = \"minimise\"
budget = 8
[[parameter]]
name = \"x\"
low = 0.0
high = 10.0
[[fidelity]]
name = \"one\"
cost = 1
noise = 0.01
";

/// Three sites of a problem of one's own: parabolas, the lowest point of each somewhere else.
fn sites(folder: &Folder) {
    folder.write("p.toml", PROBLEM);
    (1..=3).for_each(|number| site(folder, "p.toml", number));
}

fn site(folder: &Folder, problem: &str, number: u32) {
    let measure = format!("awk 'BEGIN {{{{ print ({{x}} - 5.{number}) ^ 2 }}}}'");
    let line = format!("tune {problem} --command \"{measure}\" --state {number}.state --set initial=3");
    folder.succeed(&line);
}

#[test]
fn what_studies_have_in_common_is_learnt_shown_checked_and_used() {
    let folder = Folder::new();
    let tiny = "--method mft-mes --budget 20 --set capacity=32 --set particles=2";
    folder.succeed(&format!("run branin {tiny} --experiments 4 --tasks 2 --out sites"));
    let learnt = folder.succeed(&format!("fleet learn sites -o a.fleet {FIT}"));
    assert!(learnt.contains("4 sites, 8 tasks") && learnt.contains("bytes in a.fleet"), "{learnt}");
    folder.succeed(&format!("fleet learn sites -o b.fleet {FIT} --jobs 1"));
    assert_eq!(
        std::fs::read(folder.path("a.fleet")).unwrap(),
        std::fs::read(folder.path("b.fleet")).unwrap()
    );
    let guarded = "--floor drop:1 --guard overshoot:at-most:value:0.05 --tolerance 0.01";
    folder.succeed(&format!("run pid {tiny} {guarded} --experiments 3 --tasks 1 --out guarded"));
    folder.succeed(&format!("fleet learn guarded -o guarded.fleet {FIT}"));
    let shown = folder.succeed("fleet show a.fleet --page a.html");
    assert!(folder.read("a.html").contains("Mode 1 over parameters 1 and 2"));
    assert!(shown.contains("learnt from 4 sites") && shown.contains("mode 1"), "{shown}");
    assert!(folder.succeed("fleet check a.fleet sites").contains("with the fleet"));
    let line = format!("run branin {tiny} --tasks 1 --seed 9");
    folder.succeed(&format!("{line} --out without"));
    folder.succeed(&format!("{line} --fleet a.fleet --out with"));
    assert!(folder.read("with/study.json").contains("\"fleet\""));
    let rows = |of: &str| {
        folder
            .read(&format!("{of}/units/mft-mes-1.csv"))
            .lines()
            .skip(2)
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_ne!(rows("with"), rows("without"));
}

/// Of several methods one is learnt from: they measured the same world.
#[test]
fn an_experiment_of_a_study_is_one_site_however_many_methods_measured_it() {
    let folder = Folder::new();
    let tiny = "--budget 20 --set capacity=32 --set particles=2 --experiments 3 --tasks 1 --quiet";
    folder.succeed(&format!("run branin --method random,mft-mes {tiny} --out sites"));
    let learnt = folder.command(&format!("fleet learn sites -o a.fleet {FIT}")).output().unwrap();
    assert!(stdout(&learnt).contains("3 sites, 3 tasks"), "{}", stdout(&learnt));
    assert!(stderr(&learnt).contains("measured by 2 variants: learning from mft-mes"), "{}", stderr(&learnt));
}

/// Each with its own noise, estimated or given.
#[test]
fn sites_may_measure_at_other_costs_and_with_another_noise() {
    let folder = Folder::new();
    sites(&folder);
    let other = PROBLEM.replace("cost = 1\nnoise = 0.01", "cost = 0.5") + "[deployed]\nx = 5.0\n";
    folder.write("other.toml", &other);
    site(&folder, "other.toml", 4);
    for problem in ["p.toml", "other.toml"] {
        let line =
            format!("fleet learn 1.state 2.state 4.state --problem {problem} -o {problem}.fleet {FIT}");
        assert!(folder.succeed(&line).contains("3 sites"));
    }
    folder.write("renamed.toml", &PROBLEM.replace("\"one\"", "\"two\""));
    let line = "fleet learn 1.state 2.state --problem renamed.toml -o x.fleet";
    folder.fails(line, 2, "1.state: it is of another problem: the fidelities were one, and are two");
}

#[test]
fn a_site_without_answers_is_left_out_and_says_nothing() {
    let folder = Folder::new();
    sites(&folder);
    folder.fed("serve p.toml --state 4.state", "");
    let places = "1.state 2.state 3.state 4.state --problem p.toml";
    let learnt = folder.command(&format!("fleet learn {places} -o own.fleet {FIT}")).output().unwrap();
    assert!(stdout(&learnt).contains("3 sites, 3 tasks"), "{}", stdout(&learnt));
    assert!(stderr(&learnt).contains("4.state: left out"), "{}", stderr(&learnt));
    let checked = folder.succeed(&format!("fleet check own.fleet {places}"));
    let of = |site: &str| checked.lines().find(|line| line.contains(site)).unwrap().to_string();
    assert!(of("4.state").contains("nothing can be told") && !of("1.state").contains("nothing"), "{checked}");
    folder.fed("serve p.toml --state 5.state", "");
    let learnt =
        folder.command("fleet learn 1.state 4.state 5.state --problem p.toml -o x").output().unwrap();
    assert!(stderr(&learnt).contains("at least three sites") && learnt.status.code() == Some(2));
    folder.write("most.toml", &PROBLEM.replace("minimise", "maximise"));
    site(&folder, "most.toml", 6);
    let other = "fleet check own.fleet 6.state --problem most.toml";
    folder.fails(other, 2, "of another problem than the fleet: they have not its goal");
}

#[test]
fn sites_of_ones_own_make_a_fleet_for_the_next_problem_file() {
    let folder = Folder::new();
    sites(&folder);
    folder.succeed(&format!("fleet learn 1.state 2.state 3.state --problem p.toml -o own.fleet {FIT}"));
    folder.write("q.toml", &format!("fleet = \"own.fleet\"\n{PROBLEM}"));
    let told =
        folder.succeed("tune q.toml --command \"awk 'BEGIN {{ print ({x} - 5.2) ^ 2 }}'\" --set initial=3");
    assert!(told.contains("x = "), "{told}");
}

#[test]
fn what_is_no_fleet_or_another_problems_is_one_line() {
    let folder = Folder::new();
    sites(&folder);
    let learn = format!("fleet learn 1.state 2.state 3.state --problem p.toml -o own.fleet {FIT}");
    folder.fails("fleet learn 1.state -o x.fleet", 2, "--problem");
    folder.fails("fleet learn 1.state 2.state --problem p.toml -o x.fleet", 2, "three sites");
    let twice = "fleet learn 1.state 2.state ./1.state --problem p.toml -o x.fleet";
    folder.fails(twice, 2, "./1.state is given twice");
    std::fs::copy(folder.path("1.state"), folder.path("copy.state")).unwrap();
    let twice = twice.replace("./1.state", "copy.state");
    folder.fails(&twice, 2, "copy.state has the answers of 1.state: each site counts once");
    folder.succeed(&learn);
    folder.fails(
        "run branin --fleet own.fleet",
        2,
        "fleet file refused: learnt on a problem that differs in its parameters",
    );
    folder.fails("run branin --fleet none.fleet", 2, "cannot read none.fleet");
    let mut bytes = std::fs::read(folder.path("own.fleet")).unwrap();
    bytes[70] ^= 1;
    std::fs::write(folder.path("own.fleet"), bytes).unwrap();
    folder.fails("fleet show own.fleet", 2, "damaged");
    folder.write("q.toml", &format!("fleet = \"own.fleet\"\n{PROBLEM}"));
    let error = folder.fail("tune q.toml --command true", 2);
    assert!(error.contains("q.toml, line 1") && error.contains("damaged"), "{error}");
}
