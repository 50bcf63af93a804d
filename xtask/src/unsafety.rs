//! `unsafe` is counted: none but in the boards' files, where it talks to hardware, and in the library for C, where pointers
//! come from outside. That each block has its `SAFETY:` is clippy's affair.

use std::path::Path;

use crate::error::Error;
use crate::shell::root;
use crate::step::Verdict;
use crate::tools::Tools;

/// Packages, by their folders.
const PACKAGES: [&str; 10] =
    ["core", "link", "capi", "firmware", "host-sim", "report", "foretune", "paper", "xtask", "fuzz"];

/// Where it is allowed.
const ALLOWED: [&str; 2] = ["firmware/src/boards/", "capi/"];

/// The step: counts, and finds none elsewhere.
pub fn check(_: &Tools) -> Verdict {
    let mut counts = [0; ALLOWED.len()];
    for package in PACKAGES {
        walk(&root().join(package), &mut |path| {
            let name = path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned();
            let found = uses(&std::fs::read_to_string(path)?);
            match ALLOWED.iter().position(|allowed| name.starts_with(allowed)) {
                Some(place) => counts[place] += found,
                None if found > 0 => return Err(Error::failed(format!("{name} has {found} `unsafe`"))),
                None => {}
            }
            Ok(())
        })?;
    }
    let places: Vec<_> =
        ALLOWED.iter().zip(counts).map(|(place, count)| format!("{count} in {place}")).collect();
    Ok(format!("{}, none elsewhere", places.join(", ")))
}

/// All source files below a folder, but for what was built.
fn walk(folder: &Path, look: &mut dyn FnMut(&Path) -> Result<(), Error>) -> Result<(), Error> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            walk(&path, look)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            look(&path)?;
        }
    }
    Ok(())
}

/// The keyword, outside comments and texts.
fn uses(source: &str) -> usize {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or(""));
    // What stands between quotes is text, if they are on one line.
    let bare = code.flat_map(|line| line.split('"').step_by(2));
    let words = bare.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|word| *word == "unsafe").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_texts_and_lints_do_not_count() {
        let quiet = "// unsafe\nunsafe_code = 1; let a = \"unsafe\"; /// unsafe { }";
        assert_eq!(uses(quiet), 0);
        assert_eq!(uses("unsafe { a() }\nunsafe impl B for C {} // unsafe"), 2);
    }
}
