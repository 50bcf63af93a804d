//! What the source says of itself is true: each equation is mentioned where the table in `lib.rs` says, modules stand in an
//! order in which each uses only those before it, and the examples run and end well.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "../examples/mixed_space.rs"]
mod mixed_space;
#[path = "../examples/save_restore.rs"]
mod save_restore;
#[path = "../examples/sizes.rs"]
mod sizes;
#[path = "../examples/toy_radio.rs"]
mod toy_radio;

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

/// In the crate, and among the files of the optimizer: there is no circle.
#[test]
fn modules_use_only_earlier_ones() {
    for (list, prefix) in [("lib.rs", "crate::"), ("optimizer/mod.rs", "super::")] {
        let (list, folder) = (source().join(list), source().join(list).with_file_name(""));
        let text = fs::read_to_string(list).expect("a list of modules");
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        assert!(names.len() > 12, "{names:?}");
        for (position, name) in names.iter().enumerate() {
            for file in files_of(&folder, name) {
                let code = fs::read_to_string(&file).expect("a module's file");
                let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                for used in code.split(prefix).skip(1).flat_map(first_names) {
                    // What the list exports is its module's.
                    let module = if names.contains(&used) { Some(used) } else { exporter(&text, used) };
                    let later = names[position + 1..].iter().find(|later| Some(**later) == module);
                    assert_eq!(later, None, "{} comes before it and has `{prefix}{used}`", file.display());
                }
            }
        }
    }
}

/// `a` of `a::b`, and `a`, `c` of `{a::{b}, c}`.
fn first_names(path: &str) -> Vec<&str> {
    let word = |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let Some(list) = path.strip_prefix('{') else { return vec![&path[..word(path)]] };
    let (mut depth, mut names, mut start) = (0, Vec::new(), 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                let name = list[start..at].trim();
                names.push(&name[..word(name)]);
                start = at + 1;
                if letter == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    names
}

/// The module that `lib.rs` exports a name of.
fn exporter<'a>(lib: &'a str, name: &str) -> Option<&'a str> {
    let exports = lib.split("\npub use ").skip(1).filter_map(|text| text.split_once(';')?.0.split_once("::"));
    let mut exports =
        exports.map(|(module, names)| (module, names.split(|c: char| !c.is_alphanumeric() && c != '_')));
    exports.find_map(|(module, mut names)| names.any(|own| own == name).then_some(module))
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
    files_of(&source(), item.split("::").next().unwrap()).remove(0)
}

fn files_of(folder: &Path, module: &str) -> Vec<PathBuf> {
    let file = folder.join(format!("{module}.rs"));
    let entries = fs::read_dir(folder.join(module)).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file() && !path.ends_with("tests.rs"));
    files.sort_by_key(|path| (!path.ends_with("mod.rs"), path.clone()));
    files.splice(..0, file.is_file().then_some(file));
    assert!(!files.is_empty(), "no module `{module}`");
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

#[test]
fn uses_are_read_with_and_without_braces() {
    assert_eq!(first_names("gp::{Memory, Particle};"), ["gp"]);
    assert_eq!(first_names("{Error, gp::{Memory, Particle}, math};"), ["Error", "gp", "math"]);
    assert_eq!(exporter("\npub use data::{Kind, Point};\npub use gp::Fallbacks;", "Point"), Some("data"));
    assert_eq!(exporter("\npub use data::{Kind, Point};", "Poin"), None);
}

#[test]
fn mixed_space_finds_a_good_coffee() {
    mixed_space::main().unwrap();
}

#[test]
fn save_restore_continues_bit_for_bit() {
    save_restore::main().unwrap();
}

#[test]
fn sizes_are_printed() {
    sizes::main();
}

#[test]
fn toy_radio_tunes_three_tasks() {
    toy_radio::main().unwrap();
}
