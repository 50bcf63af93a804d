//! A study gives the same bytes whole, interrupted, sharded, with one thread or several; opponents do what their names say, and
//! benchmarks are solved to a stated regret.

use std::time::Duration;
use std::{fs, thread};

use foretune_core::Settings;

use super::{Folder, stderr};

/// Tiny: five methods, two experiments, three tasks of a handful of queries.
const TINY: &str = "run hartmann6 --method random,lattice,continual,mft-mes,two-phase --experiments 2 --tasks 3 \
    --budget 75 --set candidates=16 --set particles=3 --quiet";

#[test]
fn threads_and_shards_change_nothing() {
    let folder = Folder::new();
    let table = folder.succeed(&format!("{TINY} --out whole --jobs 1"));
    assert!(table.contains("MFT-MES") && table.contains("Random search"), "{table}");
    folder.succeed(&format!("{TINY} --out threads --jobs 3"));
    let whole = folder.files("whole");
    assert_eq!(whole.len(), 2 + 10);
    assert_eq!(folder.files("threads"), whole);
    for shard in 1..=3 {
        folder.succeed(&format!("{TINY} --out shard-{shard} --shard {shard}/3"));
    }
    folder.succeed("foretune-paper merge shard-3 shard-1 shard-2 --out merged");
    assert_eq!(folder.files("merged"), whole);
    folder.fails("foretune-paper merge shard-1 shard-2 --out partial", 1, "lack");
    folder.succeed("report merged --out page.html");
    assert!(folder.read("page.html").contains("</html>"));
}

/// Runs a study whose folder is `o`, cuts every unit as a crash would (of so many bytes, unit i of n), and resumes it.
pub fn cut_and_resumed(study: &str, cut: fn(usize, usize, usize) -> usize) {
    let folder = Folder::new();
    folder.succeed(study);
    let whole = folder.files("o");
    let units: Vec<_> = whole.keys().filter(|name| name.starts_with("units/")).collect();
    for (i, name) in units.iter().enumerate() {
        let bytes = &whole[*name];
        fs::write(folder.path("o").join(name), &bytes[..cut(bytes.len(), i, units.len())]).unwrap();
    }
    folder.fails(study, 1, "resume");
    folder.succeed(&format!("{study} --resume"));
    assert_eq!(folder.files("o"), whole);
}

#[test]
fn a_damaged_study_resumes_to_the_same_bytes() {
    cut_and_resumed(&format!("{TINY} --out o"), |length, unit, units| length * unit / units);
}

/// A study is interrupted again and again, by Ctrl-C or at once, each time once it has closed one more task.
#[test]
#[cfg(unix)]
fn a_study_that_is_interrupted_again_and_again_ends_with_the_same_bytes() {
    let folder = Folder::new();
    let study =
        "run gas --tasks 4 --method continual,mft-mes --jobs 1 --set candidates=64 --budget 300 --quiet";
    folder.succeed(&format!("{study} --out whole"));
    let mut closed = 0;
    for signal in ["-INT", "-KILL"].into_iter().cycle() {
        let more = if closed == 0 { "" } else { "--resume" };
        let mut child = folder.spawn(&format!("{study} --out part {more}"));
        while child.try_wait().unwrap().is_none() && closed_tasks(&folder) <= closed {
            thread::sleep(Duration::from_millis(1));
        }
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).output().unwrap();
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => break,
            Some(code) => assert!(code == 130 && stderr(&output).contains("--resume"), "{}", stderr(&output)),
            None => {}
        }
        closed = closed_tasks(&folder);
    }
    assert_eq!(folder.files("part"), folder.files("whole"));
}

/// Closed tasks in the files of the study; 0 before there are any.
#[cfg(unix)]
fn closed_tasks(folder: &Folder) -> usize {
    let Ok(units) = fs::read_dir(folder.path("part/units")) else { return 0 };
    let texts = units.filter_map(|unit| fs::read_to_string(unit.ok()?.path()).ok());
    texts.map(|text| text.matches("\n#task ").count()).sum()
}

#[test]
fn a_study_can_grow_by_experiments_but_not_change() {
    let folder = Folder::new();
    let study = |experiments, seed, out| {
        format!(
            "run gas --method random --tasks 2 --quiet --resume --experiments {experiments} --seed {seed} --out {out}"
        )
    };
    for (experiments, out) in [(2, "grown"), (3, "grown"), (3, "whole")] {
        folder.succeed(&study(experiments, 1, out));
    }
    assert_eq!(folder.files("grown"), folder.files("whole"));
    folder.fails(&study(3, 2, "grown"), 1, "differs in its seed");
}

#[test]
fn methods_are_paired_and_experiments_differ() {
    let folder = Folder::new();
    folder.succeed(&format!("{TINY} --out o"));
    // The initial rows without the variant's name: points, fidelities, noise and truth.
    let initial = |name: &str| -> Vec<String> {
        let text = folder.read(&format!("o/units/{name}.csv"));
        let rows = text.lines().filter(|line| line.contains(",initial,"));
        rows.map(|line| line.split_once(',').unwrap().1.to_string()).collect()
    };
    assert_eq!(initial("random-1").len(), 3 * 14);
    for other in ["lattice-1", "continual-1", "mft-mes-1", "two-phase-1"] {
        assert_eq!(initial("random-1"), initial(other));
    }
    assert_ne!(initial("random-1"), initial("random-2"));
}

/// A setting from a file, from the command line and from a sweep is the same setting.
#[test]
fn settings_come_from_files_and_arguments_alike() {
    let folder = Folder::new();
    folder.write("s.toml", "beta = 0.25\nparticles = 2\ncandidates = 32\n");
    let run = |more: &str| {
        folder.succeed(&format!("run hartmann6 --tasks 2 --budget 50 --quiet --out o {more}"));
        let found = ["o/study.json", "o/tasks.csv"].map(|name| folder.read(name));
        fs::remove_dir_all(folder.path("o")).unwrap();
        found
    };
    let [_, from_file] = run("--settings s.toml");
    let [_, from_arguments] = run("--set beta=0.25 --set candidates=32 --set particles=2");
    assert_eq!(from_file, from_arguments);
    let [overridden, _] = run("--settings s.toml --set beta=0.5");
    assert!(overridden.contains("\"beta\": 0.5"), "{overridden}");
    let [_, swept] = run("--settings s.toml --sweep beta=0.25,0.5");
    assert_eq!(swept.lines().filter(|line| line.starts_with("mft-mes-beta-0.5,")).count(), 2);
    let row = |text: &str| text.lines().nth(1).unwrap().split_once(',').unwrap().1.to_string();
    assert_eq!(row(&swept), row(&from_file));
}

#[test]
fn a_report_on_damaged_files_takes_the_units_or_fails_with_the_file() {
    let folder = Folder::new();
    let sound = folder.succeed(&format!("{TINY} --out sound"));
    assert!(sound.contains("best tried, task 1 ") && sound.contains("best tried, task 3"), "{sound}");
    folder.succeed(&format!("{TINY} --out hurt"));
    folder.succeed("report hurt --out whole.html");

    let text = folder.read("hurt/tasks.csv");
    folder.write("hurt/tasks.csv", &text.replacen("random,1,1", "random,1,2", 1));
    let output = folder.command("report hurt --out again.html").output().unwrap();
    assert!(output.status.success());
    assert!(stderr(&output).contains("hurt/tasks.csv, line "), "{}", stderr(&output));
    let figures = |page: String| page[page.find("<svg").unwrap()..].to_string();
    assert_eq!(
        figures(folder.read("again.html")),
        figures(folder.read("whole.html")),
        "the units say the same"
    );

    fs::remove_dir_all(folder.path("hurt/units")).unwrap();
    folder.fails("report hurt --out none.html", 1, "hurt/tasks.csv, line ");

    folder.write("hurt/study.json", "{");
    folder.fails("report sound hurt --out both.html", 1, "hurt/study.json, line 1");
    assert!(folder.read("both.html").contains("hurt/study.json"), "the sound one is shown, the other named");
}

#[test]
fn one_task_has_one_column_and_one_study_is_singular() {
    let folder = Folder::new();
    let table = folder.succeed("run gas -m random --tasks 1 --budget 50 --out one --quiet");
    assert_eq!(table.matches("best tried, task 1").count(), 1, "{table}");
    let said = folder.succeed("report one");
    assert!(said.ends_with("1 study\n"), "{said}");
    let page = folder.read("report.html");
    assert!(page.contains("1 experiment of 1 task ") || page.contains("1 experiment of 1 task<"), "{page}");
}

/// A page that is watched loads itself again as long as tasks are missing, and is left for good when none is.
#[test]
fn a_watched_page_is_renewed_until_the_study_is_finished() {
    let folder = Folder::new();
    let study = "run forrester --method random --tasks 2 --quiet --resume --out study --experiments";
    folder.succeed(&format!("{study} 1"));
    let text = folder.read("study/study.json").replace("\"experiments\": 1", "\"experiments\": 2");
    folder.write("study/study.json", &text);
    fs::remove_file(folder.path("study/tasks.csv")).unwrap();
    let page = || fs::read_to_string(folder.path("page.html")).unwrap_or_default();
    let child = folder.spawn("report study --watch --out page.html");
    while !page().contains("http-equiv=\"refresh\"") {
        thread::sleep(Duration::from_millis(20));
    }
    folder.succeed(&format!("{study} 2"));
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(page().contains("2 experiments of 2 tasks") && !page().contains("refresh"));
}

#[test]
fn figures_are_the_same_whole_and_in_shards() {
    let folder = Folder::new();
    let reproduce = |out: &str, more: &str| {
        folder.succeed(&format!(
            "foretune-paper reproduce fig9 fig3 fig7 --experiments 2 --tasks 2 --budget 30 --preset default --quiet \
             --set candidates=16 --set steps_per_round=1 --set steps_per_task=2 --out {out} {more}"
        ))
    };
    let table = reproduce("whole", "");
    let place = |words: &str| table.find(words).unwrap_or_else(|| panic!("{words}: {table}"));
    assert!(place("fig3,") < place("fig7,") && place("fig7,") < place("fig9,"));
    let beta = Settings::DEFAULT.beta;
    assert!(table.contains(&format!("β = {beta} ({} printed)", 2.0 * beta)), "{table}");
    let whole = folder.files("whole");
    for shard in 1..=3 {
        reproduce(&format!("s{shard}"), &format!("--shard {shard}/3"));
    }
    folder.succeed("foretune-paper merge s1 s2 s3 --out merged");
    assert_eq!(folder.files("merged"), whole);
    let page = folder.succeed("foretune-paper report merged --out page.html");
    assert!(page.contains("3 studies, 3 figures"), "{page}");
    // What two figures share is the same bytes, whoever ran it.
    assert_eq!(whole["fig3/units/mf-mes-1.csv"], whole["fig7/units/mf-mes-1.csv"]);
    // A lost study is made again, the shared units without running them.
    fs::remove_dir_all(folder.path("whole/fig7")).unwrap();
    reproduce("whole", "--resume");
    assert_eq!(folder.files("whole"), whole);
}

#[test]
fn estimates_come_without_running_anything() {
    let folder = Folder::new();
    let text =
        folder.succeed("foretune-paper reproduce fig9 fig10 --preset default --experiments 1 --estimate");
    assert!(text.contains("fig9") && text.contains("all"), "{text}");
    assert!(folder.files("").is_empty());
}

/// What a user would do instead of tuning, in the same study.
const OPPONENTS: &str = "run hartmann6 --method never,kept,hill-climbing,random-cheapest,mf-mes-ten,warm-start \
    --set candidates=16 --experiments 1 --tasks 3 --budget 120 --quiet --out o";

/// The cells of a column in all rows of a unit whose kind passes, task by task.
fn column(folder: &Folder, unit: &str, column: &str, passes: fn(&str) -> bool) -> Vec<Vec<String>> {
    let table = folder.csv(&format!("o/units/{unit}-1.csv"));
    let of_task = |task: &str| {
        let rows = table.rows.iter().filter(|row| row[2] == task && passes(table.cell(row, "kind")));
        rows.map(|row| table.cell(row, column).to_string()).collect()
    };
    ["1", "2", "3"].map(of_task).into()
}

fn is_query(kind: &str) -> bool {
    kind != "recommend"
}

#[test]
fn each_does_what_its_name_says() {
    let folder = &Folder::new();
    folder.succeed(OPPONENTS);
    let queried = |unit| column(folder, unit, "x", is_query);
    let recommended = |unit| column(folder, unit, "x", |kind| !is_query(kind));

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
    assert!(column(folder, "hill-climbing", "fidelity", is_query).concat().iter().all(|m| m == "1"));

    // Random search at the cheapest fidelity: all but the initial points there.
    let searched = column(folder, "random-cheapest", "fidelity", |kind| kind == "search");
    assert!(searched.iter().all(|task| task.len() == 12 && task.iter().all(|m| m == "1")));

    // Carried points are tried again by the warm start alone.
    let carries = |unit| column(folder, unit, "kind", is_query).concat().contains(&"carried".to_string());
    assert!(carries("warm-start") && !carries("mf-mes-ten"));
}

#[test]
fn they_resume_to_the_same_bytes() {
    cut_and_resumed(OPPONENTS, |length, _, _| length / 2);
}

#[test]
fn another_program_can_tune_what_a_study_tunes() {
    let folder = &Folder::new();
    folder.succeed("run one:hartmann3 --method random --experiments 1 --tasks 1 --budget 10 --quiet --out o");
    let table = folder.csv("o/units/random-1.csv");
    let row = table.rows.iter().find(|row| table.cell(row, "kind") == "search").unwrap();
    let point = table.cell(row, "x");
    let said = folder.fed("foretune-paper evaluate one:hartmann3", &format!("1 1 {point}\n"));
    let (facts, answer) = said.split_once('\n').unwrap();
    assert!(facts.contains("\"budget\":30.0") && facts.contains("\"low\":0.0"), "{facts}");
    let numbers: Vec<f64> = answer.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let expected = ["truth", "optimum"].map(|column| table.number(row, column));
    assert!(numbers.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{answer}: {expected:?}");
    assert_eq!(numbers.len(), 2);
    // Every measurement is charged, the first ones included.
    assert_eq!(table.rows.iter().filter(|row| is_query(table.cell(row, "kind"))).count(), 10);
}

/// A default that became worse would show here. Seeds are fixed, so the figures are always the same. Each bar lies well above
/// what was measured and well below what searching at random comes to.
#[test]
fn benchmarks_are_solved_to_a_stated_regret_after_four_tasks() {
    for (problem, bar, measured, at_random) in [("hartmann6", 0.5, 0.34, 2.2), ("gas", 0.33, 0.11, 0.73)] {
        let folder = Folder::new();
        let study = "--method mft-mes --experiments 4 --tasks 5 --seed 1 --quiet --out study";
        folder.succeed(&format!("run {problem} {study}"));
        let table = folder.csv("study/tasks.csv");
        let late = table.rows.iter().filter(|row| table.number(row, "task") >= 4.0);
        let regrets: Vec<f64> =
            late.map(|row| table.number(row, "optimum") - table.number(row, "recommended")).collect();
        assert_eq!(regrets.len(), 2 * 4);
        let regret = regrets.iter().sum::<f64>() / 8.0;
        assert!(
            regret < bar,
            "{problem}: mean regret {regret} (measured: {measured}; at random: {at_random})"
        );
    }
}
