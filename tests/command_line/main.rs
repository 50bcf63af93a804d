//! The built programs on tiny studies: the same results however they were run, and a clear word for every bad request.

mod bad_input;
mod conditions;
mod documents;
mod fleet;
mod guards;
mod inspect;
mod live;
mod pages;
mod studies;
mod tune;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A new folder, and the programs run in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn csv(&self, name: &str) -> Csv {
        let text = self.read(name);
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut rows = lines.map(|line| line.split(',').map(String::from).collect());
        Csv { columns: rows.next().expect("a header"), rows: rows.collect() }
    }

    /// A folder with a problem and what measures it.
    fn with(problem: &str, measure: &str) -> Self {
        let folder = Self::new();
        folder.write("p.toml", problem);
        folder.write("measure.sh", measure);
        folder
    }

    /// A program with its words, split as a shell would; `foretune` may be left out.
    fn command(&self, line: &str) -> Command {
        let words = shlex::split(line).expect("quotes in pairs");
        let (program, arguments) = match words.split_first() {
            Some((first, rest)) if first == PAPER => (env!("CARGO_BIN_EXE_foretune-paper-tested"), rest),
            _ => (env!("CARGO_BIN_EXE_foretune-tested"), &words[..]),
        };
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    fn spawn(&self, line: &str) -> Child {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs a program with this on its standard input.
    fn fed(&self, line: &str, input: &str) -> String {
        let mut child = self.spawn(line);
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        stdout(&output)
    }

    fn succeed(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        stdout(&output)
    }

    /// Runs a program, which must fail with the code and one line, which is returned.
    fn fail(&self, line: &str, code: i32) -> String {
        let output = self.command(line).output().unwrap();
        let error = stderr(&output);
        let name = if line.starts_with(PAPER) { PAPER } else { "foretune" };
        assert_eq!(output.status.code(), Some(code), "{line}: {error}");
        let one_line = error.starts_with(&format!("{name}: ")) && error.trim_end().lines().count() == 1;
        assert!(one_line && !error.contains("panicked"), "{line}: {error}");
        error
    }

    /// As [`Folder::fail`]; the line must have these words.
    fn fails(&self, line: &str, code: i32, words: &str) {
        let error = self.fail(line, code);
        assert!(error.contains(words), "{line}: {words}: {error}");
    }

    /// All files below a folder but `timing.json`, by relative name.
    fn files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let (root, mut found) = (self.path(name), BTreeMap::new());
        collect(&root, &root, &mut found);
        found
    }
}

/// A file of comma-separated values, without its comments: what its columns are called, and its rows.
#[derive(Debug)]
struct Csv {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Csv {
    fn cell<'a>(&self, row: &'a [String], column: &str) -> &'a str {
        &row[self.columns.iter().position(|own| own == column).unwrap_or_else(|| panic!("{column}"))]
    }

    fn number(&self, row: &[String], column: &str) -> f64 {
        self.cell(row, column).parse().unwrap_or_else(|_| panic!("{column}: {self:?}"))
    }
}

/// What the command line of the paper's program begins with here.
const PAPER: &str = "foretune-paper";

/// The value of a parameter in what is recommended.
fn recommended(said: &str, name: &str) -> f64 {
    let (_, best) = said.split_once("Recommended: ").unwrap_or_else(|| panic!("{said}"));
    let (_, value) = best.split_once(&format!("{name} = ")).unwrap_or_else(|| panic!("{name}: {said}"));
    value.split([',', ' ', '\n']).next().unwrap().parse().unwrap()
}

/// What each line of `serve` is: the first word in it.
fn kinds(lines: &str) -> Vec<&str> {
    lines.lines().map(|line| line.split('"').nth(1).unwrap()).collect()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(root, &path, found);
        } else if path.file_name().unwrap() != "timing.json" {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.insert(name, fs::read(path).unwrap());
        }
    }
}
