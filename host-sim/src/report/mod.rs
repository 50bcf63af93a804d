//! One self-contained HTML page from the results of any number of studies.
//!
//! Studies named `fig3` to `fig10` become the paper's figures, with its claims ([`claims`]) judged on our numbers
//! ([`verdict`]); all others are shown after them. Figures that were not run say so. The page depends on the results
//! alone, so that the same results give the same page.

mod charts;
pub mod claims;
mod figures;
mod html;
mod load;
mod page;
mod select;
mod tables;
pub mod verdict;

use std::path::{Path, PathBuf};

use crate::plot::Theme;
use crate::results::Error;

#[cfg(test)]
mod fixture;

pub use load::StudyData;
pub use select::{Sweep, Who};

/// What a report contains, for a last line on the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of studies shown.
    pub studies: usize,
    /// Figures of the paper that have at least one study.
    pub figures: usize,
    /// Claims of the paper that hold, do not hold, and are undecided, over all studies.
    pub verdicts: [usize; 3],
    /// Studies that could not be read, and what is unfinished in the others, one line each.
    pub problems: Vec<String>,
}

/// Width of a picture.
const PICTURE: f64 = 960.0;

/// Writes the report on the studies in `folders` (or one level below them) to the file `out`; if its name ends in
/// `.svg`, only a picture of the first study's curves.
pub fn write(folders: &[PathBuf], out: &Path) -> Result<Outcome, Error> {
    let (studies, problems) = load::load(folders)?;
    if let (Some(first), true) = (studies.first(), out.extension().is_some_and(|name| name == "svg")) {
        let picture = charts::lines(first).svg(PICTURE, Theme::Standalone);
        std::fs::write(out, picture).map_err(Error::io("write", out))?;
        return Ok(Outcome { studies: 1, problems, ..Outcome::default() });
    }
    let (text, mut outcome) = page::page(&studies, &problems);
    std::fs::write(out, text).map_err(Error::io("write", out))?;
    outcome.problems = problems;
    outcome.problems.extend(studies.iter().flat_map(|s| s.notes.iter().cloned()));
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::fixture::whole_study;

    #[test]
    fn writes_the_same_page_from_units_and_from_the_summary() {
        let folder = tempfile::tempdir().unwrap();
        let study = folder.path().join("study");
        whole_study(&study);
        let [first, second] = ["a.html", "b.html"].map(|name| folder.path().join(name));
        let outcome = write(std::slice::from_ref(&study), &first).unwrap();
        assert_eq!((outcome.studies, outcome.figures, outcome.problems.len()), (1, 0, 0));
        std::fs::remove_file(study.join("tasks.csv")).unwrap();
        write(&[study], &second).unwrap();
        let read = |path| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(first), read(second));
    }

    #[test]
    fn a_name_that_ends_in_svg_makes_a_picture() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(&folder.path().join("study"));
        let out = folder.path().join("picture.svg");
        assert_eq!(write(&[folder.path().to_owned()], &out).unwrap().studies, 1);
        let picture = std::fs::read_to_string(out).unwrap();
        assert!(picture.starts_with("<svg") && !picture.contains("var(--"), "{picture}");
    }

    #[test]
    fn an_unwritable_page_is_an_error_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(&folder.path().join("study"));
        let out = folder.path().join("missing/page.html");
        let error = write(&[folder.path().to_owned()], &out).unwrap_err().to_string();
        assert!(error.contains("missing/page.html"), "{error}");
    }
}
