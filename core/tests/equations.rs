//! The table of equations in `lib.rs` is true: each equation is mentioned where the table says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Equations of the paper up to (43) that have no code: regrets, which only a simulator can know.
const WITHOUT_CODE: [u32; 2] = [40, 41];

/// One line of the table: the equations, and the files of the items.
struct Row {
    equations: BTreeSet<u32>,
    files: Vec<PathBuf>,
}

#[test]
fn every_equation_is_mentioned_where_the_table_says() {
    for Row { equations, files } in table() {
        assert!(!files.is_empty(), "no item beside {equations:?}");
        let mentioned: BTreeSet<u32> = files.iter().flat_map(|file| mentions(&comments(file))).collect();
        let missing: Vec<&u32> = equations.difference(&mentioned).collect();
        assert!(missing.is_empty(), "equations {missing:?} are not mentioned in {files:?}");
    }
}

#[test]
fn no_equation_with_code_is_left_out() {
    let listed: BTreeSet<u32> = table().into_iter().flat_map(|row| row.equations).collect();
    let wanted = (1..=43).chain([59, 60]).filter(|equation| !WITHOUT_CODE.contains(equation));
    assert_eq!(listed, wanted.collect());
}

#[test]
fn modules_use_only_earlier_ones() {
    let lib = fs::read_to_string(source().join("lib.rs")).expect("lib.rs is there");
    let names: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for (position, name) in names.iter().enumerate() {
        for later in &names[position + 1..] {
            for file in files_of(name) {
                let code = fs::read_to_string(&file).expect("a module's file");
                let code = code.split("#[cfg(test)]").next().unwrap_or_default();
                let uses = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                let found = uses.filter(|line| line.contains(&format!("crate::{later}"))).collect::<Vec<_>>();
                assert!(found.is_empty(), "{name} comes before {later} and uses it: {found:?}");
            }
        }
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn table() -> Vec<Row> {
    let lib = fs::read_to_string(source().join("lib.rs")).expect("lib.rs is there");
    let rows: Vec<Row> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("//! | (")?.split_once(" | "))
        .map(|(equations, items)| Row {
            equations: mentions(&format!("({equations}")),
            files: items.split('`').skip(1).step_by(2).map(file_of).collect(),
        })
        .collect();
    assert!(rows.len() > 10, "the table has moved");
    rows
}

/// Where an item such as `gp::Workspace::posterior` lies.
fn file_of(item: &str) -> PathBuf {
    files_of(item.split("::").next().unwrap()).remove(0)
}

fn files_of(module: &str) -> Vec<PathBuf> {
    let file = source().join(format!("{module}.rs"));
    if file.is_file() {
        return vec![file];
    }
    let folder = fs::read_dir(source().join(module)).unwrap_or_else(|_| panic!("no module `{module}`"));
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|path| (!path.ends_with("mod.rs"), path.clone()));
    files
}

fn comments(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a module's file");
    text.lines().filter(|line| line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Numbers in brackets, `(7)`, and ranges of them, `(7)-(9)`.
fn mentions(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut last: Option<(u32, &str)> = None;
    for part in text.split('(').skip(1) {
        let Some((inside, after)) = part.split_once(')') else { continue };
        let Ok(number) = inside.parse::<u32>() else {
            last = None;
            continue;
        };
        let first = last.filter(|(_, between)| *between == "-").map_or(number, |(first, _)| first);
        found.extend(first..=number);
        last = Some((number, after));
    }
    found
}
