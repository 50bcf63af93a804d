//! Runs the program and looks at what it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// What the command line of the paper's program begins with here; that of `foretune` begins with its command.
const PAPER: &str = "foretune-paper";

/// The program in a folder.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let (program, arguments) = match arguments {
        [PAPER, arguments @ ..] => (env!("CARGO_BIN_EXE_foretune-paper-tested"), arguments),
        _ => (env!("CARGO_BIN_EXE_foretune-tested"), arguments),
    };
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments);
    command
}

/// Runs the program; it must succeed.
pub fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the program; it must fail with the code and one line, which is returned.
pub fn fail(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = command(folder, arguments).output().unwrap();
    let error = stderr(&output);
    let name = if arguments[0] == PAPER { PAPER } else { "foretune" };
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(
        error.starts_with(&format!("{name}: ")) && error.trim_end().lines().count() == 1,
        "{arguments:?}: {error}"
    );
    assert!(!error.contains("panicked"), "{error}");
    error
}

/// What the program said on its error output.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// All files below a folder but `timing.json`, by relative name.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    collect(folder, folder, &mut found);
    found
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
