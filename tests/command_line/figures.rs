//! `reproduce` on figures made tiny: whole, sharded, interrupted.

use std::fs;
use std::path::Path;

use foretune_core::Settings;

use super::program::{fail, files, succeed};

fn reproduce(folder: &Path, out: &str, more: &[&str]) -> String {
    let tiny = ["--experiments", "2", "--tasks", "2", "--budget", "30", "--preset", "default"];
    let small = ["--set", "candidates=16", "--set", "steps_per_round=1", "--set", "steps_per_task=2"];
    let figures = ["foretune-paper", "reproduce", "fig9", "fig3", "fig7", "--out", out, "--quiet"];
    succeed(folder, &[&figures[..], &tiny, &small, more].concat())
}

#[test]
fn figures_are_the_same_whole_and_in_shards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let table = reproduce(path, "whole", &[]);
    let place = |words: &str| table.find(words).unwrap_or_else(|| panic!("{words}: {table}"));
    assert!(place("fig3,") < place("fig7,") && place("fig7,") < place("fig9,"));
    let beta = Settings::DEFAULT.beta;
    assert!(table.contains(&format!("β = {beta} ({} printed)", 2.0 * beta)), "{table}");
    let whole = files(&path.join("whole"));
    for shard in ["1", "2", "3"] {
        reproduce(path, &format!("s{shard}"), &["--shard", &format!("{shard}/3")]);
    }
    succeed(path, &["foretune-paper", "merge", "s1", "s2", "s3", "--out", "merged"]);
    assert_eq!(files(&path.join("merged")), whole);
    let page = succeed(path, &["foretune-paper", "report", "merged", "--out", "page.html"]);
    assert!(page.contains("3 studies, 3 figures"), "{page}");
    // What two figures share is the same bytes, whoever ran it.
    assert_eq!(whole["fig3/units/mf-mes-1.csv"], whole["fig7/units/mf-mes-1.csv"]);
    // A lost study is made again, the shared units without running them.
    fs::remove_dir_all(path.join("whole/fig7")).unwrap();
    reproduce(path, "whole", &["--resume"]);
    assert_eq!(files(&path.join("whole")), whole);
}

#[test]
fn estimates_come_without_running_anything() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "foretune-paper",
        "reproduce",
        "fig9",
        "fig10",
        "--preset",
        "default",
        "--experiments",
        "1",
        "--estimate",
    ];
    let text = succeed(folder.path(), &arguments);
    assert!(text.contains("fig9") && text.contains("all"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let error = fail(folder.path(), &["foretune-paper", "reproduce", "fig2"], 2);
    assert!(error.contains("fig2") && error.contains("fig10"), "{error}");
}
