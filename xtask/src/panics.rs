//! What can still panic in the released firmware: every place, each with why it cannot happen.
//!
//! Every panic that the compiler could not rule out needs the place in the source to report, a `Location` among the
//! constants: file, line and column. The step finds them all in the linked program and compares, per file, with the
//! table in `firmware/panics.md`, where somebody has said why. A new one fails the step, as does a new way to panic (the
//! functions of the core library that are linked in).
//!
//! Another compiler rules out more or fewer places, so the table names the one that it was counted with. With any other a
//! file may have a quarter more, and two at least; what is in no line of the table still fails.

use std::collections::{BTreeMap, BTreeSet};

use crate::board::find;
use crate::error::{Error, Verdict};
use crate::map::{Elf, word};
use crate::shell::root;
use crate::tools::Tools;

/// The table.
const TABLE: &str = "firmware/panics.md";

/// The programs that are released.
const PROGRAMS: [&str; 2] = ["compact", "deep"];
const BOARD: &str = "nucleo-h7a3zi";

/// The ways to panic that may be linked in. Not among them: arithmetic that overflows (it wraps in a release, and the
/// tests and fuzz targets run with checks), shifts, `unreachable!`, slices of text.
const WAYS: [&str; 10] = [
    "panic_fmt",
    "panic",
    "panic_display",
    "panic_bounds_check",
    "slice_index_fail",
    "len_mismatch_fail",
    "expect_failed",
    "unwrap_failed",
    "panic_const_div_by_zero",
    "panic_const_rem_by_zero",
];

/// A place that can panic: file (as in the table), line, column.
type Place = (String, u32, u32);

/// The step: no place that the table does not account for.
pub fn check(tools: &Tools) -> Verdict {
    let places = all_places(tools)?;
    let table = Table::read()?;
    let compiler = tools.board_toolchain(find(BOARD)?.target)?.compiler();
    if let Some(error) = table.lacks(&places, &compiler) {
        return Err(error);
    }
    let files = count(&places).len();
    let remark = if table.compiler == compiler { "" } else { ", by the count of another compiler" };
    Ok(format!("{} places in {files} files, each accounted for{remark}", places.len()))
}

/// `cargo xtask panics [--write]`: lists them; with `--write` brings the counts of the table up to date, keeping the
/// reasons.
pub fn panics(write: bool) -> Result<(), Error> {
    let tools = Tools::default();
    let places = all_places(&tools)?;
    places.iter().for_each(|(file, line, column)| println!("{file}:{line}:{column}"));
    let mut table = Table::read().unwrap_or_default();
    table.compiler = tools.board_toolchain(find(BOARD)?.target)?.compiler();
    table.count(&places);
    if write {
        std::fs::write(root().join(TABLE), table.text())?;
    }
    Ok(())
}

fn all_places(tools: &Tools) -> Result<BTreeSet<Place>, Error> {
    let mut places = BTreeSet::new();
    for program in PROGRAMS {
        let elf = Elf::read(&find(BOARD)?.build(tools, program)?)?;
        check_ways(&elf)?;
        places.extend(places_in(&elf));
        places.extend(messages_in(&elf));
    }
    Ok(places)
}

fn count(places: &BTreeSet<Place>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (file, ..) in places {
        *counts.entry(file.clone()).or_default() += 1;
    }
    counts
}

/// No way to panic but those that are known.
fn check_ways(elf: &Elf) -> Result<(), Error> {
    let ways = elf.symbols.keys().filter_map(|symbol| way(symbol));
    match ways.into_iter().find(|way| !WAYS.contains(&way.as_str())) {
        Some(new) => Err(Error::failed(format!("a new way to panic is linked in: `{new}`"))),
        None => Ok(()),
    }
}

/// The last part of a mangled name, if it is a function of the core library that panics.
fn way(symbol: &str) -> Option<String> {
    let panics =
        symbol.contains("4core9panicking") || symbol.ends_with("_fail") || symbol.ends_with("_failed");
    if !symbol.starts_with("_R") || !panics || !symbol.contains("4core") {
        return None;
    }
    let start = symbol.rfind(|c: char| c.is_ascii_digit())? + 1;
    Some(symbol[start..].to_owned())
}

/// Every `Location` among the constants: address and length of a file's name, line, column.
fn places_in(elf: &Elf) -> BTreeSet<Place> {
    let contents = || elf.sections.iter().filter(|section| !section.content.is_empty());
    let text_at = |address: u64, length: usize| {
        let section = contents().find(|section| section.span.contains(&address))?;
        let start = (address - section.span.start) as usize;
        let bytes = section.content.get(start..start.checked_add(length)?)?;
        std::str::from_utf8(bytes)
            .ok()
            .filter(|text| text.ends_with(".rs") && !text.contains(char::is_control))
    };
    let mut places = BTreeSet::new();
    for section in contents() {
        for words in section.content.chunks_exact(4).map(word).collect::<Vec<_>>().windows(4) {
            let &[address, length, line, column] = words else { continue };
            if (4..400).contains(&length)
                && (1..100_000).contains(&line)
                && (1..1000).contains(&column)
                && let Some(file) = text_at(u64::from(address), length as usize)
            {
                places.insert((short(file), line, column));
            }
        }
    }
    places
}

/// Panics of packages that word them with `defmt`: these have a message among the symbols in place of a `Location`.
fn messages_in(elf: &Elf) -> BTreeSet<Place> {
    let package = |symbol: &str| {
        let (package, rest) = symbol.strip_prefix("{\"package\":\"")?.split_once('"')?;
        rest.contains("\"data\":\"panicked at ").then(|| format!("{package}: worded with defmt"))
    };
    let mut symbols: Vec<_> =
        elf.symbols.keys().filter_map(|symbol| Some((package(symbol)?, symbol))).collect();
    symbols.sort();
    symbols.into_iter().zip(1..).map(|((package, _), number)| (package, number, 0)).collect()
}

/// A file's name without what depends on the machine: the folders before a package or the compiler's library, and
/// versions.
fn short(file: &str) -> String {
    // `~` where the build wrote it for the folder of a registry.
    let registry = file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
    if let Some(inside) = file.strip_prefix("~/").or(registry.map(|(_, inside)| inside)) {
        let (package, path) = inside.split_once('/').unwrap_or((inside, ""));
        let name = package.rsplit_once('-').map_or(package, |(name, _)| name);
        let path = path.rsplit_once("../").map_or(path, |(_, path)| path);
        return format!("{name}: {path}");
    }
    match file.rsplit_once("/library/") {
        Some((_, path)) => format!("library: {path}"),
        None => file.to_owned(),
    }
}

/// What the table says of a file.
#[derive(Debug, Default, Clone, PartialEq)]
struct Row {
    sites: usize,
    why: String,
}

/// The table, and the compiler that it was counted with.
#[derive(Debug, Default, PartialEq)]
struct Table {
    compiler: String,
    rows: BTreeMap<String, Row>,
}

const HEADING: &str = "\
# What could panic, and why it does not

Places in the released programs (compact and deep on the NUCLEO-H7A3ZI-Q) where the compiler could not rule a panic
out, as `cargo xtask panics --write` found them in the linked code; the step `panics` fails when one is added. A panic
would be logged and noted; the device would restart and go on from its journal.
";
const COUNTED: &str = "Counted with ";

impl Table {
    fn read() -> Result<Self, Error> {
        Ok(Self::parse(&std::fs::read_to_string(root().join(TABLE))?))
    }

    fn parse(text: &str) -> Self {
        let mut rows = BTreeMap::new();
        for line in text.lines().filter(|line| line.starts_with("| `")) {
            let Some((files, why)) = line.trim_matches('|').split_once('|') else { continue };
            for (file, sites) in files.split(", `").filter_map(|file| file.rsplit_once("` ")) {
                let file = file.trim().trim_matches('`').to_owned();
                let sites = sites.trim().parse().unwrap_or(0);
                rows.insert(file, Row { sites, why: why.trim().to_owned() });
            }
        }
        let compiler = text.lines().find_map(|line| line.strip_prefix(COUNTED)?.strip_suffix('.'));
        Table { compiler: compiler.unwrap_or_default().to_owned(), rows }
    }

    /// A line for each reason, with the files that it holds for and their places; in the order of the first file.
    fn text(&self) -> String {
        let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
        for (file, Row { sites, why }) in &self.rows {
            let file = format!("`{file}` {sites}");
            match lines.iter_mut().find(|(reason, _)| reason == why && !why.is_empty()) {
                Some((_, files)) => files.push(file),
                None => lines.push((why, vec![file])),
            }
        }
        let line = |(why, files): &(&str, Vec<String>)| format!("| {} | {why} |\n", files.join(", "));
        let lines: String = lines.iter().map(line).collect();
        let (compiler, files) = (&self.compiler, self.rows.len());
        let all: usize = self.rows.values().map(|row| row.sites).sum();
        format!(
            "{HEADING}\n{COUNTED}{compiler}.\n\n| files and places | why it cannot happen |\n|---|---|\n{lines}\n\
             {all} places in {files} files.\n"
        )
    }

    /// Brings the counts up to date, keeping the reasons.
    fn count(&mut self, places: &BTreeSet<Place>) {
        let counts = count(places);
        self.rows.retain(|file, _| counts.contains_key(file));
        for (file, sites) in counts {
            self.rows.entry(file).or_default().sites = sites;
        }
    }

    /// Places of a file that a compiler may leave.
    fn allowed(&self, file: &str, compiler: &str) -> usize {
        match self.rows.get(file) {
            None => 0,
            Some(row) if self.compiler == compiler => row.sites,
            Some(row) => row.sites + (row.sites / 4).max(2),
        }
    }

    /// The first thing that is not accounted for.
    fn lacks(&self, places: &BTreeSet<Place>, compiler: &str) -> Option<Error> {
        for (file, sites) in count(places) {
            let allowed = self.allowed(&file, compiler);
            if sites > allowed {
                let lines: Vec<_> =
                    places.iter().filter(|place| place.0 == file).map(|place| place.1).collect();
                return Some(Error::failed(format!(
                    "{file} has {sites} places that can panic, {allowed} are accounted for in {TABLE}; lines {lines:?}. \
                     If none of them can happen, say why there: cargo xtask panics --write"
                )));
            }
        }
        let (file, _) = self.rows.iter().find(|(_, row)| row.why.is_empty())?;
        Some(Error::failed(format!("{TABLE} does not say why nothing in {file} can panic")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Section;

    #[test]
    fn places_are_found_among_constants() {
        let mut content = b"....core/src/gp.rs".to_vec();
        content.resize(20, 0);
        for number in [0x1004u32, 14, 209, 52] {
            content.extend(number.to_le_bytes());
        }
        let span = 0x1000..0x1000 + content.len() as u64;
        let elf = Elf { sections: vec![Section { name: ".rodata".into(), span, content }], ..Elf::default() };
        assert_eq!(places_in(&elf), BTreeSet::from([("core/src/gp.rs".to_owned(), 209, 52)]));
    }

    #[test]
    fn messages_of_defmt_count_by_package() {
        let mut elf = Elf::default();
        for (package, data) in
            [("hal", "panicked at 'a'"), ("hal", "panicked at 'b'"), ("app", "all is well")]
        {
            let symbol = format!("{{\"package\":\"{package}\",\"tag\":\"defmt_error\",\"data\":\"{data}\"}}");
            elf.symbols.insert(symbol, 0);
        }
        let counts = count(&messages_in(&elf));
        assert_eq!(counts, BTreeMap::from([("hal: worded with defmt".to_owned(), 2)]));
    }

    #[test]
    fn names_do_not_depend_on_the_machine() {
        let registry = "/home/me/.cargo/registry/src/index.crates.io-0123/embassy-stm32-0.6.0/src/time.rs";
        assert_eq!(short(registry), "embassy-stm32: src/time.rs");
        assert_eq!(short("~/embassy-stm32-0.6.0/src/time.rs"), "embassy-stm32: src/time.rs");
        let library = "/rustc/59807616e1fa/library/core/src/slice/mod.rs";
        assert_eq!(short(library), "library: core/src/slice/mod.rs");
        assert_eq!(short("core/src/gp.rs"), "core/src/gp.rs");
    }

    #[test]
    fn ways_to_panic_are_told_by_their_symbols() {
        let bounds = "_RNvNtCs7ldSeZOOJos_4core9panicking18panic_bounds_check";
        assert_eq!(way(bounds).as_deref(), Some("panic_bounds_check"));
        assert_eq!(way("_RNvNtCs7ldSeZOOJos_4core6option13unwrap_failed").as_deref(), Some("unwrap_failed"));
        assert_eq!(way("_ZN13foretune_link5tuner5Tuner6failed17h5aeaffabbc96ba3aE"), None);
        let mut elf = Elf::default();
        elf.symbols.insert(bounds.into(), 0);
        assert!(check_ways(&elf).is_ok());
        elf.symbols.insert("_RNvNtNtCs7_4core9panicking11panic_const24panic_const_add_overflow".into(), 0);
        assert!(check_ways(&elf).is_err());
    }

    fn table(rows: [(&str, usize, &str); 2]) -> Table {
        let row = |(file, sites, why): (&str, usize, &str)| (file.into(), Row { sites, why: why.into() });
        Table { compiler: "rustc 1.95.0 (59807616e 2026-04-14)".into(), rows: rows.map(row).into() }
    }

    #[test]
    fn the_table_survives_being_written() {
        let table = table([("a.rs", 2, "because"), ("b: c.rs", 1, "")]);
        assert_eq!(Table::parse(&table.text()), table);
        let table = self::table([("a.rs", 2, "because"), ("b: c.rs", 1, "because")]);
        assert!(table.text().contains("| `a.rs` 2, `b: c.rs` 1 | because |"));
        assert_eq!(Table::parse(&table.text()), table);
    }

    #[test]
    fn a_new_place_fails_with_the_same_compiler_and_a_few_pass_with_another() {
        let table = table([("a.rs", 2, "because"), ("b.rs", 40, "so")]);
        let places = |file: &str, count: u32| (0..count).map(|line| (file.to_owned(), line, 1)).collect();
        let passes = |file, count, compiler: &str| table.lacks(&places(file, count), compiler).is_none();
        let (same, other) = (table.compiler.clone(), "rustc 1.96.0");
        assert!(passes("a.rs", 2, &same) && !passes("a.rs", 3, &same));
        assert!(passes("a.rs", 4, other) && !passes("a.rs", 5, other));
        assert!(passes("b.rs", 50, other) && !passes("b.rs", 51, other));
        assert!(!passes("new.rs", 1, &same) && !passes("new.rs", 1, other));
    }
}
