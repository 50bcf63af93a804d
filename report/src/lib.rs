//! Plots, tables and one self-contained HTML page from the results of any number of studies.
//!
//! The page depends on the results alone, so that the same results give the same page. Another package may make it
//! ([`Maker`]) where it has more to say about some studies.
#![allow(
    missing_docs,
    reason = "a comment stands where a name does not say it: this package is part of a program"
)]

pub mod charts;
pub mod html;
mod load;
pub mod page;
pub mod plot;
mod samples;
pub mod stats;
pub mod table;
pub mod tables;

use std::path::{Path, PathBuf};

use host_sim::error::Error;
use host_sim::results::{Manifest, check_writable, write_atomically};
use host_sim::words::counted;

use crate::plot::Theme;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;

pub use charts::POINTS;
pub use load::{StudyData, Trail};
pub use samples::{Metric, Point, Samples, Sweep, Term, View, Who, same, setting};

#[derive(Clone, Copy)]
pub struct Maker {
    /// Whether it shows how the tasks of a study went, query by query.
    pub trails: fn(&Manifest) -> bool,
    /// The page on the studies and on what could not be read, which loads itself again after so many seconds; and what
    /// a terminal says of it.
    pub page: MakePage,
}

/// From studies, errors and seconds to a page and words.
pub type MakePage = fn(&[StudyData], &[Error], Option<u32>) -> (String, String);

/// Makes the page that treats all studies alike.
pub const PLAIN: Maker = Maker {
    trails: |_| true,
    page: |studies, unreadable, reload| {
        (page::page(studies, unreadable, reload), counted(studies.len(), "study"))
    },
};

/// What a report contains, for a last line on the terminal.
#[derive(Debug, Default)]
pub struct Outcome {
    pub studies: usize,
    pub words: String,
    pub running: bool,
    /// What is unfinished or was repaired in the studies shown, one line each.
    pub notes: Vec<String>,
    /// Studies that could not be read, and are missing.
    pub unreadable: Vec<Error>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Page,
    Picture,
}

impl Form {
    /// By the end of the file's name.
    pub fn of(out: &Path) -> Result<Self, Error> {
        match out.extension().and_then(|ending| ending.to_str()) {
            Some("html" | "htm") => Ok(Self::Page),
            Some("svg") => Ok(Self::Picture),
            _ => Err(Error::refused(out, "a report ends in .html (a page) or .svg (a picture of one study)")),
        }
    }
}

const PICTURE: f64 = 960.0;

/// Writes the report on the studies in `folders` (or one level below them) to the file `out`; if its name ends in
/// `.svg`, only a picture of the curves of one study. With `reload`, an open page loads itself again after so many seconds.
pub fn write(maker: Maker, folders: &[PathBuf], out: &Path, reload: Option<u32>) -> Result<Outcome, Error> {
    let form = Form::of(out)?;
    check_writable(out)?;
    let (studies, mut unreadable) = load::load(folders, maker.trails)?;
    if studies.is_empty() && !unreadable.is_empty() {
        return Err(unreadable.remove(0));
    }
    let (text, words) = match (form, studies.as_slice()) {
        (Form::Page, _) => (maker.page)(&studies, &unreadable, reload),
        (Form::Picture, [one]) => {
            (charts::lines(one).svg(PICTURE, Theme::Standalone), "a picture of the study".into())
        }
        (Form::Picture, several) => {
            let problem = format!("a picture shows one study, and there are {}: name one", several.len());
            return Err(Error::refused(out, problem));
        }
    };
    write_atomically(out, text.as_bytes())?;
    let running = studies.iter().any(|study| study.finished().0 < study.manifest.experiments as usize);
    let notes = studies.iter().flat_map(|study| study.notes.iter().cloned()).collect();
    Ok(Outcome { studies: studies.len(), words, running, notes, unreadable })
}

#[cfg(test)]
mod tests {
    use super::{write as write_with, *};
    use host_sim::results::fixture::whole_study;

    fn write(folders: &[PathBuf], out: &Path) -> Result<Outcome, Error> {
        write_with(PLAIN, folders, out, None)
    }

    #[test]
    fn writes_the_same_page_from_units_and_from_the_summary() {
        let folder = tempfile::tempdir().unwrap();
        let study = folder.path().join("study");
        whole_study(&study);
        let [first, second] = ["a.html", "b.html"].map(|name| folder.path().join(name));
        let outcome = write(std::slice::from_ref(&study), &first).unwrap();
        assert_eq!((outcome.studies, outcome.words.as_str(), outcome.notes.len()), (1, "1 study", 0));
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
    fn a_name_of_another_kind_is_refused_and_so_is_a_picture_of_two() {
        let folder = tempfile::tempdir().unwrap();
        whole_study(&folder.path().join("a"));
        whole_study(&folder.path().join("b"));
        for (name, words) in [("x.png", ".html"), ("x", ".html"), ("x.svg", "one study")] {
            let out = folder.path().join(name);
            let error = write(&[folder.path().to_owned()], &out).unwrap_err().to_string();
            assert!(error.contains(words) && !out.exists(), "{name}: {error}");
        }
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
