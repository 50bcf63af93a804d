//! A study gives the same bytes whole, interrupted, sharded, with one thread or several.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::program::{command, fail, files, stderr, succeed};

/// Tiny: three methods, two experiments, three tasks of a handful of queries.
const TINY: &[&str] = &[
    "run",
    "hartmann6",
    "--method",
    "random,lattice,continual,mft-mes,two-phase",
    "--experiments",
    "2",
    "--tasks",
    "3",
    "--budget",
    "75",
    "--set",
    "candidates=16",
    "--set",
    "particles=3",
    "--quiet",
];

fn run(folder: &Path, out: &str, more: &[&str]) -> String {
    succeed(folder, &[TINY, &["--out", out], more].concat())
}

#[test]
fn threads_and_shards_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let table = run(path, "whole", &["--jobs", "1"]);
    assert!(table.contains("MFT-MES") && table.contains("Random search"), "{table}");
    run(path, "threads", &["--jobs", "3"]);
    let whole = files(&path.join("whole"));
    assert_eq!(whole.len(), 2 + 10);
    assert_eq!(files(&path.join("threads")), whole);
    for shard in ["1/3", "2/3", "3/3"] {
        run(path, &format!("shard-{}", &shard[..1]), &["--shard", shard]);
    }
    succeed(path, &["foretune-paper", "merge", "shard-3", "shard-1", "shard-2", "--out", "merged"]);
    assert_eq!(files(&path.join("merged")), whole);
    let error = fail(path, &["foretune-paper", "merge", "shard-1", "shard-2", "--out", "partial"], 1);
    assert!(error.contains("lack"), "{error}");
    succeed(path, &["report", "merged", "--out", "page.html"]);
    assert!(fs::read_to_string(path.join("page.html")).unwrap().contains("</html>"));
}

/// Cuts every unit at another place, as a crash would, and loses some of the saved states.
#[test]
fn a_damaged_study_resumes_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    run(path, "whole", &[]);
    let whole = files(&path.join("whole"));
    run(path, "cut", &[]);
    let units: Vec<_> = whole.keys().filter(|name| name.starts_with("units/")).collect();
    for (i, name) in units.iter().enumerate() {
        let bytes = &whole[*name];
        fs::write(path.join("cut").join(name), &bytes[..bytes.len() * i / units.len()]).unwrap();
    }
    let error = fail(path, &[TINY, &["--out", "cut"]].concat(), 1);
    assert!(error.contains("resume"), "{error}");
    run(path, "cut", &["--resume"]);
    assert_eq!(files(&path.join("cut")), whole);
}

/// A study is interrupted again and again, by Ctrl-C or at once, each time once it has closed one more task.
#[test]
#[cfg(unix)]
fn a_study_that_is_interrupted_again_and_again_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let study = |out| {
        let all =
            ["run", "gas", "--tasks", "4", "--method", "continual,mft-mes", "--out", out, "--jobs", "1"];
        [&all[..], &["--set", "candidates=64", "--budget", "300", "--quiet"]].concat()
    };
    succeed(path, &study("whole"));
    let mut closed = 0;
    for signal in ["-INT", "-KILL"].into_iter().cycle() {
        let more: &[&str] = if closed == 0 { &[] } else { &["--resume"] };
        let mut child = command(path, &[&study("part")[..], more].concat());
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && closed_tasks(&path.join("part")) <= closed {
            thread::sleep(Duration::from_millis(1));
        }
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).output().unwrap();
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => break,
            Some(code) => assert!(code == 130 && stderr(&output).contains("--resume"), "{}", stderr(&output)),
            None => {}
        }
        closed = closed_tasks(&path.join("part"));
    }
    assert_eq!(files(&path.join("part")), files(&path.join("whole")));
}

/// Closed tasks in the files of a study; 0 before there are any.
#[cfg(unix)]
fn closed_tasks(study: &Path) -> usize {
    let Ok(units) = fs::read_dir(study.join("units")) else { return 0 };
    let texts = units.filter_map(|unit| fs::read_to_string(unit.ok()?.path()).ok());
    texts.map(|text| text.matches("\n#task ").count()).sum()
}

#[test]
fn a_study_can_grow_by_experiments_but_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let study = |experiments, seed, out| {
        let fixed = ["run", "gas", "--method", "random", "--tasks", "2", "--quiet", "--resume"];
        [&fixed[..], &["--experiments", experiments, "--seed", seed, "--out", out]].concat()
    };
    succeed(path, &study("2", "1", "grown"));
    succeed(path, &study("3", "1", "grown"));
    succeed(path, &study("3", "1", "whole"));
    assert_eq!(files(&path.join("grown")), files(&path.join("whole")));
    let error = fail(path, &study("3", "2", "grown"), 1);
    assert!(error.contains("seed"), "{error}");
}

#[test]
fn methods_are_paired_and_experiments_differ() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    run(path, "whole", &[]);
    let files = files(&path.join("whole"));
    // The initial rows without the variant's name: points, fidelities, noise and truth.
    let initial = |name: &str| -> Vec<String> {
        let text = String::from_utf8(files[&format!("units/{name}.csv")].clone()).unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("s.toml"), "beta = 0.25\nparticles = 2\ncandidates = 32\n").unwrap();
    let base = ["run", "hartmann6", "--tasks", "2", "--budget", "50", "--quiet"];
    let run = |out: &str, more: &[&str]| {
        succeed(path, &[&base[..], &["--out", out], more].concat());
        let text = fs::read_to_string(path.join(out).join("study.json")).unwrap();
        (text, fs::read_to_string(path.join(out).join("tasks.csv")).unwrap())
    };
    let from_file = run("file", &["--settings", "s.toml"]);
    let from_arguments =
        run("arguments", &["--set", "beta=0.25", "--set", "candidates=32", "--set", "particles=2"]);
    assert_eq!(from_file.1, from_arguments.1);
    let overridden = run("over", &["--settings", "s.toml", "--set", "beta=0.5"]);
    assert!(overridden.0.contains("\"beta\": 0.5"), "{}", overridden.0);
    let swept = run("swept", &["--settings", "s.toml", "--sweep", "beta=0.25,0.5"]);
    assert_eq!(swept.1.lines().filter(|line| line.starts_with("mft-mes-beta-0.5,")).count(), 2);
    let row = |text: &str| text.lines().nth(1).unwrap().split_once(',').unwrap().1.to_string();
    assert_eq!(row(&swept.1), row(&from_file.1));
}

#[test]
fn a_report_on_damaged_files_takes_the_units_or_fails_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let sound = run(path, "sound", &[]);
    assert!(sound.contains("best tried, task 1 ") && sound.contains("best tried, task 3"), "{sound}");
    run(path, "hurt", &[]);
    succeed(path, &["report", "hurt", "--out", "whole.html"]);
    let page = |name: &str| fs::read_to_string(path.join(name)).unwrap();

    let summary = path.join("hurt/tasks.csv");
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, text.replacen("random,1,1", "random,1,2", 1)).unwrap();
    let output = command(path, &["report", "hurt", "--out", "again.html"]).output().unwrap();
    assert!(output.status.success());
    assert!(stderr(&output).contains("hurt/tasks.csv, line "), "{}", stderr(&output));
    let figures = |page: String| page[page.find("<svg").unwrap()..].to_string();
    assert_eq!(figures(page("again.html")), figures(page("whole.html")), "the units say the same");

    fs::remove_dir_all(path.join("hurt/units")).unwrap();
    let error = fail(path, &["report", "hurt", "--out", "none.html"], 1);
    assert!(error.contains("hurt/tasks.csv, line "), "{error}");

    fs::write(path.join("hurt/study.json"), "{").unwrap();
    let error = fail(path, &["report", "sound", "hurt", "--out", "both.html"], 1);
    assert!(error.contains("hurt/study.json, line 1"), "{error}");
    assert!(page("both.html").contains("hurt/study.json"), "the sound one is shown, the other named");
}

#[test]
fn one_task_has_one_column_and_one_study_is_singular() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = ["run", "gas", "-m", "random", "--tasks", "1", "--budget", "50", "--out", "one", "--quiet"];
    let table = succeed(folder.path(), &tiny);
    assert_eq!(table.matches("best tried, task 1").count(), 1, "{table}");
    let said = succeed(folder.path(), &["report", "one"]);
    assert!(said.ends_with("1 study\n"), "{said}");
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("1 experiment of 1 task ") || page.contains("1 experiment of 1 task<"), "{page}");
    let error = fail(folder.path(), &[&tiny[..], &["--seed", "7", "--resume"]].concat(), 1);
    assert!(error.contains("differs in its seed"), "{error}");
}

/// A page that is watched loads itself again as long as tasks are missing, and is left for good when none is.
#[test]
fn a_watched_page_is_renewed_until_the_study_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let study = |experiments| {
        let fixed = ["run", "forrester", "--method", "random", "--tasks", "2", "--quiet", "--resume"];
        [&fixed[..], &["--experiments", experiments, "--out", "study"]].concat()
    };
    succeed(path, &study("1"));
    let manifest = path.join("study/study.json");
    let text = fs::read_to_string(&manifest).unwrap().replace("\"experiments\": 1", "\"experiments\": 2");
    fs::write(&manifest, text).unwrap();
    fs::remove_file(path.join("study/tasks.csv")).unwrap();
    let page = || fs::read_to_string(path.join("page.html")).unwrap_or_default();
    let watch = ["report", "study", "--watch", "--out", "page.html"];
    let child = command(path, &watch).stdout(Stdio::piped()).spawn().unwrap();
    while !page().contains("http-equiv=\"refresh\"") {
        thread::sleep(Duration::from_millis(20));
    }
    succeed(path, &study("2"));
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(page().contains("2 experiments of 2 tasks") && !page().contains("refresh"));
}
