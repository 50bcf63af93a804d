//! The tables of the documents, made of `results/`.
//!
//! A document has a table between `<!-- table: NAME -->` and `<!-- end -->`. Differences are paired over experiments;
//! *significant* means that their 90 % interval does not contain 0.

mod data;
mod default;
mod deep;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
pub use data::{Results, difference, mean};
#[cfg(test)]
use deep::summary;
use foretune_report::table::Table;
use host_sim::error::Error;

/// Print the tables of the documents from the results, compare documents with them, or renew them.
#[derive(Debug, Args)]
pub(crate) struct TablesArguments {
    /// Tables to print [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Refuse a document whose tables are not those of the results.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    check: Vec<PathBuf>,
    /// Renew the tables of a document.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    write: Vec<PathBuf>,
    /// Take finished studies into the results, as GROUP/FOLDER.
    #[arg(long, value_names = ["GROUP", "DIR"], num_args = 2..)]
    add: Vec<PathBuf>,
    /// Where the results are.
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

pub(crate) fn run(arguments: &TablesArguments, out: &mut dyn Write) -> Result<(), Error> {
    let mut results = Results::read(&arguments.results)?;
    if let Some((group, folders)) = arguments.add.split_first() {
        return results.add(&group.to_string_lossy(), folders);
    }
    for file in &arguments.check {
        check(&read(file)?, file, &results)?;
    }
    for file in &arguments.write {
        let text = renewed(&read(file)?, file, &results)?;
        fs::write(file, text).map_err(Error::io("write", file))?;
    }
    if arguments.check.is_empty() && arguments.write.is_empty() {
        let all = TABLES.iter().map(|(name, _)| (*name).to_string());
        let names = if arguments.names.is_empty() { all.collect() } else { arguments.names.clone() };
        for name in names {
            writeln!(out, "{name}\n\n{}", named(&name, &results)?)?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file).map_err(Error::io("read", file))
}

type Made = Result<Table, Error>;
/// How a table is made of the results.
type Make = fn(&Results) -> Made;

pub const TABLES: &[(&str, Make)] = &[
    ("works", default::works),
    ("families", default::families),
    ("families-best", default::families_best),
    ("families-more", default::families_more),
    ("problems", default::problems),
    ("changed-task", default::changed_task),
    ("parts", default::parts),
    ("one", default::one),
    ("service", default::service),
    ("guards", default::guards),
    ("guards-pid", default::guards_pid),
    ("day", |results| crate::day::table(&results.folder().join("day.csv"))),
    ("deep", deep::deep),
    ("deep-parts", deep::parts),
    ("interpretations", deep::interpretations),
    ("weights", deep::weights),
    ("claims", deep::claims),
    ("findings", deep::findings),
];

pub fn named(name: &str, results: &Results) -> Made {
    let made = TABLES.iter().find(|(known, _)| *known == name).map(|(_, make)| make(results));
    made.unwrap_or_else(|| {
        let names: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
        Err(Error::refused(Path::new(name), format!("is no table: there are {}", names.join(", "))))
    })
}

const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end -->";

pub fn renewed(text: &str, path: &Path, results: &Results) -> Result<String, Error> {
    let mut parts = text.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let unfinished = || Error::refused(path, format!("a table's `{BEGIN}NAME -->` lacks its `{END}`"));
        let (name, rest) = part.split_once(" -->").ok_or_else(unfinished)?;
        let (_, rest) = rest.split_once(END).ok_or_else(unfinished)?;
        out += &format!("{BEGIN}{name} -->\n{}{END}{rest}", named(name, results)?);
    }
    Ok(out)
}

/// Refuses a document whose tables are not those of the results.
pub fn check(text: &str, path: &Path, results: &Results) -> Result<(), Error> {
    let right = renewed(text, path, results)?;
    let differs = text.lines().zip(right.lines()).position(|(is, should)| is != should);
    match differs {
        Some(line) => {
            let should = right.lines().nth(line).unwrap_or_default();
            Err(Error::damaged(path, line + 1, format!("the results say `{should}`: renew it with --write")))
        }
        None if text == right => Ok(()),
        None => Err(Error::refused(path, "a table is shorter or longer: renew it with --write")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn results() -> Results {
        Results::read(&root().join("results")).unwrap()
    }

    const DOCUMENTS: [&str; 3] = ["README.md", "results/README.md", "docs/guide/reproduce.md"];

    #[test]
    fn the_tables_of_the_documents_are_those_of_the_results() {
        let (results, mut shown) = (results(), String::new());
        for document in DOCUMENTS {
            let path = root().join(document);
            let text = fs::read_to_string(&path).unwrap();
            check(&text, &path, &results).unwrap_or_else(|error| panic!("{error}"));
            shown += &text;
        }
        for (name, _) in TABLES {
            let is_shown = shown.contains(&format!("{BEGIN}{name} -->"));
            assert!(
                is_shown || shown.contains(&format!("`foretune-paper tables {name}`")),
                "{name} is nowhere"
            );
        }
        assert!(shown.contains(&summary(&results).unwrap()), "{}", summary(&results).unwrap());
    }

    #[test]
    fn an_altered_cell_a_missing_end_and_an_unknown_table_are_refused() {
        let results = results();
        let of = |table: &str| format!("# T\n\n{BEGIN}changed-task -->\n{table}{END}\n\nText.\n");
        let right = of(&named("changed-task", &results).unwrap().to_string());
        let refused = |text: &str| check(text, Path::new("d.md"), &results).unwrap_err().to_string();
        assert!(check(&right, Path::new("d.md"), &results).is_ok());
        assert!(
            refused(&right.replacen("0.608", "0.607", 1)).contains("line 6: the results say `| all that")
        );
        assert!(refused(&of("")).contains("--write"));
        assert!(refused(&right.replace(END, "")).contains("lacks its"));
        assert!(refused(&right.replace("changed-task", "changed")).contains("there are works, families"));
        assert_eq!(renewed(&of(""), Path::new("d.md"), &results).unwrap(), right);
    }
}
