//! The page: every study with its charts, tables and settings.

use std::collections::BTreeSet;

use crate::Point;
use host_sim::results::Error;

use crate::charts::{self, POINTS};
use crate::html::{chart, live_document, text};
use crate::plot::Theme;
use crate::select::{Sweep, View};
use crate::{StudyData, own};

const WIDE: f64 = 1080.0;
const HALF: f64 = 530.0;
const NARROW: f64 = 360.0;

/// The page on the studies, and on what could not be read.
pub fn page(studies: &[StudyData], unreadable: &[Error], reload: Option<u32>) -> String {
    let mut names: Vec<&str> = studies.iter().map(|study| study.manifest.problem.as_str()).collect();
    names.dedup();
    let labels: BTreeSet<&str> = studies
        .iter()
        .flat_map(|study| &study.manifest.variants)
        .map(|variant| variant.label.as_str())
        .collect();
    let labels: Vec<&str> = labels.into_iter().collect();
    let sections: String = studies.iter().map(other_section).collect();
    let content = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"lead\">Tuned by {}.</p>\n</header>\n<main>\n{}{sections}{}</main>\n\
         <footer>Foretune {}</footer>\n",
        text(&names.join(", ")),
        text(&labels.join(", ")),
        problem_section(unreadable, studies),
        own::READING,
        env!("CARGO_PKG_VERSION"),
    );
    live_document(&format!("Foretune: {}", names.join(", ")), &content, reload)
}

/// What could not be read, or is unfinished.
pub fn problem_section(unreadable: &[Error], studies: &[StudyData]) -> String {
    let unfinished = studies.iter().flat_map(|s| s.notes.iter().cloned());
    let lines: Vec<String> = unreadable
        .iter()
        .map(Error::to_string)
        .chain(unfinished)
        .take(20)
        .map(|p| format!("<li>{}</li>", text(&p)))
        .collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!(
            "<section class=\"problems\"><h2>Not read whole</h2><ul>{}</ul></section>\n",
            lines.concat()
        ),
    }
}

/// A study that is no figure of the paper; where a setting is varied, with its surface.
pub fn other_section(study: &StudyData) -> String {
    let swept = |s: Sweep| s.members(&study.manifest).len() >= 3;
    let sweep = [Sweep::Beta, Sweep::Share].into_iter().find(|&s| swept(s));
    let surface = sweep.map(|s| charts_of(study, View::Surface(s))).unwrap_or_default();
    own::section(study, &surface)
}

/// A study's charts.
pub fn charts_of(study: &StudyData, view: View) -> String {
    match view {
        View::Lines => {
            let lines = charts::lines(study);
            chart(|width| lines.svg(width, Theme::Page), WIDE, NARROW)
        }
        View::Surface(sweep) => {
            let one = |point| {
                let map = charts::surface(study, sweep, point);
                chart(|width| map.svg(width, Theme::Page), HALF, NARROW)
            };
            format!("<div class=\"pair\">{}</div>\n", POINTS.map(one).concat())
        }
        View::Slices(sweep, wanted) => {
            let last = study.manifest.tasks;
            let tasks = if wanted[1] <= last { wanted } else { [last.div_ceil(2), last] };
            let one = |point: (Point, &str)| {
                let slices = charts::slices(study, sweep, &tasks, point);
                let drawn = chart(|width| slices.svg(width, Theme::Page), WIDE, NARROW);
                format!("<h4>{}</h4>\n{drawn}", text(point.1))
            };
            POINTS.map(one).concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::study;
    use crate::load::Trail;

    #[test]
    fn a_study_of_one_s_own_has_nothing_of_the_paper_s_figures() {
        let mut own = study("fig3", 4);
        own.manifest.study = "run".into();
        own.manifest.problem = "pump".into();
        let trail = |variant, task| Trail {
            variant,
            task,
            steps: vec![(0.0, 1.0), (10.0, 2.0), (35.0, 3.0)],
            counts: vec![3, 1],
            optimum: 3.5,
        };
        own.trails = (0..own.manifest.variants.len()).flat_map(|v| [trail(v, 1), trail(v, 10)]).collect();
        let html = page(&[own], &[], Some(5));
        assert!(html.contains("<h1>pump</h1>") && html.contains("http-equiv=\"refresh\" content=\"5\""));
        for absent in ["Fig.", "Not run yet", "The paper says", "NaN"] {
            assert!(!html.contains(absent), "{absent}");
        }
        for there in [
            "cost within the task",
            "Paired differences",
            "Shares of fidelities",
            "75 %",
            "fidelity 2, the truth",
        ] {
            assert!(html.contains(there), "{there}");
        }
        let body = &html[html.find("<body>").unwrap()..html.find("</html>").unwrap()];
        roxmltree::Document::parse(&body.replace("&nbsp;", "&#160;")).unwrap();
    }
}
