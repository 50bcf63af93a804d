//! The page: what was found at a glance, then every figure with its claims, then everything else.

use foretune_report::html::{live_document, prose, table, text};
use foretune_report::page::{self, charts_of, other_section, problem_section};
use foretune_report::{Maker, Point, StudyData, View, tables};
use host_sim::error::Error;
use host_sim::results::Manifest;
use host_sim::words::counted;

use crate::claims::{Claim, of_study};
use crate::figures::{FIGURES, Figure};
use crate::verdict::{Finding, Verdict, judge};

/// Makes the page with the paper's figures and claims.
pub const MAKER: Maker = Maker {
    trails: |manifest| !is_figure(manifest),
    page: |studies, unreadable, reload| {
        let (html, outcome) = page(studies, unreadable, reload);
        (html, outcome.words())
    },
};

#[derive(Debug, Default)]
struct Outcome {
    studies: usize,
    /// Figures of the paper that have at least one study.
    figures: usize,
    /// Claims of the paper that hold, do not hold, and are undecided, over all studies.
    verdicts: [usize; 3],
}

impl Outcome {
    fn words(&self) -> String {
        let (studies, figures) = (counted(self.studies, "study"), counted(self.figures, "figure"));
        let [hold, fail, open] = self.verdicts;
        format!(
            "{studies}, {figures} of the paper; claims of the paper: {hold} hold, {fail} fail, {open} open"
        )
    }
}

/// Whether a study is one of the paper's figures.
fn is_figure(manifest: &Manifest) -> bool {
    Figure::named(&manifest.study).is_some()
}

/// The page on the studies, and on what could not be read.
fn page(studies: &[StudyData], unreadable: &[Error], reload: Option<u32>) -> (String, Outcome) {
    let mut outcome = Outcome { studies: studies.len(), ..Outcome::default() };
    if !studies.is_empty() && !studies.iter().any(|study| is_figure(&study.manifest)) {
        return (page::page(studies, unreadable, reload), outcome);
    }
    let figures: String = FIGURES.iter().map(|f| figure_section(f, studies, &mut outcome)).collect();
    let others: Vec<&StudyData> =
        studies.iter().filter(|s| FIGURES.iter().all(|f| f.name != s.manifest.study)).collect();
    let others: String = others.into_iter().map(other_section).collect();
    let content = format!(
        "<header>\n<h1>Foretune: the paper’s figures, made anew</h1>\n\
         <p class=\"lead\">Multi-fidelity Bayesian optimization with transferable max-value entropy search \
         (MFT-MES), run by the same core that runs on the microcontroller. The paper’s claims stand beside what came \
         out.</p>\n</header>\n<main>\n{}{}{}{figures}{others}</main>\n<footer>Foretune {}</footer>\n",
        problem_section(unreadable, studies),
        glance(studies),
        HOW_TO_READ,
        env!("CARGO_PKG_VERSION"),
    );
    (live_document("Foretune report", &content, reload), outcome)
}

const HOW_TO_READ: &str = "<section class=\"reading\" id=\"reading\"><h2>How to read this</h2><ul>\n\
    <li>Curves are means over experiments, bands and ± are 90 % confidence intervals (Student’s t). Comparisons \
    are paired: methods share the tasks of an experiment.</li>\n\
    <li>The <em>best point tried</em> is the paper’s measure; only a simulator knows it. The <em>recommended point</em> \
    is what a user gets: the one that the model believes to be best.</li>\n\
    <li><em>Simple regret</em> is the optimum minus the value; the <em>optimality ratio</em> is the value over the \
    optimum.</li>\n\
    <li>β is ours: half of the printed one, because the paper’s information term lacks a factor ½. \
    The printed value stands in brackets.</li>\n\
    <li>A claim <em>holds</em> when the whole interval of the difference lies on its side, \
    <em>does not hold</em> when it lies on the other, and is <em>undecided</em> in between. \
    A claimed factor holds when our interval reaches it and at least half of the gain is certain, and does not \
    hold when our interval stays below it.</li>\n</ul></section>\n";

fn of_figure<'a>(figure: &Figure, studies: &'a [StudyData]) -> Vec<&'a StudyData> {
    studies.iter().filter(|s| s.manifest.study == figure.name).collect()
}

/// One line per figure: what was run, and how its claims fared.
fn glance(studies: &[StudyData]) -> String {
    let headings = ["Figure", "What it shows", "Runs", "The paper’s claims"].map(String::from);
    let row = |figure: &Figure| {
        let found = of_figure(figure, studies);
        let run = |s: &&StudyData| {
            let (experiments, tasks) = (s.finished().1, s.manifest.tasks as usize);
            let (experiments, tasks) = (counted(experiments, "experiment"), counted(tasks, "task"));
            format!("{}: {experiments} of {tasks}", text(&s.manifest.preset))
        };
        let runs: Vec<String> = found.iter().map(run).collect();
        let claims = |s: &&StudyData| {
            let chips: String =
                of_study(figure.name).map(|c| chip(finding(c, s, Point::Best).verdict, false)).collect();
            match found.len() {
                1 => format!("<span class=\"run\">{chips}</span>"),
                _ => format!("<span class=\"run\">{} {chips}</span>", text(&s.manifest.preset)),
            }
        };
        let (link, title) = (figure.name, text(figure.title));
        vec![
            format!("<a href=\"#{link}\">Fig. {}</a>", figure.number),
            title,
            if runs.is_empty() { "not run".into() } else { runs.join(", ") },
            if found.is_empty() { chip(Verdict::NoData, true) } else { found.iter().map(claims).collect() },
        ]
    };
    let rows: Vec<Vec<String>> = FIGURES.iter().map(row).collect();
    format!("<section id=\"glance\"><h2>At a glance</h2>\n{}</section>\n", table("glance", &headings, &rows))
}

fn figure_section(figure: &Figure, studies: &[StudyData], outcome: &mut Outcome) -> String {
    let found = of_figure(figure, studies);
    outcome.figures += usize::from(!found.is_empty());
    let body: String = found.iter().map(|s| study_part(s, figure.view)).collect();
    let missing = format!(
        "<p class=\"missing\">Not run yet. <code>foretune-paper reproduce {}</code> makes it.</p>\n",
        figure.name
    );
    format!(
        "<section class=\"figure\" id=\"{}\">\n<h2><span class=\"tag\">Fig. {}</span> {}</h2>\n<p>{}</p>\n{}{}</section>\n",
        figure.name,
        figure.number,
        text(figure.title),
        prose(figure.about),
        claim_table(figure, &found, outcome),
        if found.is_empty() { missing } else { body },
    )
}

fn study_part(study: &StudyData, view: View) -> String {
    format!(
        "<article>\n<h3>Preset “{}”</h3>\n<p class=\"facts\">{}</p>\n{}{}{}</article>\n",
        text(&study.manifest.preset),
        tables::facts(study),
        charts_of(study, view),
        tables::achieved(study),
        tables::settings(study),
    )
}

fn finding(claim: &Claim, study: &StudyData, point: Point) -> Finding {
    judge(&claim.test, &study.manifest, &study.samples(point))
}

/// The paper's claims beside ours, a column per study.
fn claim_table(figure: &Figure, studies: &[&StudyData], outcome: &mut Outcome) -> String {
    let ours = studies.iter().map(|s| format!("We measured, preset “{}”", s.manifest.preset));
    let headings: Vec<String> = ["The paper says".to_string()].into_iter().chain(ours).collect();
    let mut cell = |claim: &Claim, study: &StudyData| {
        let best = finding(claim, study, Point::Best);
        match best.verdict {
            Verdict::Holds => outcome.verdicts[0] += 1,
            Verdict::Fails => outcome.verdicts[1] += 1,
            Verdict::Undecided => outcome.verdicts[2] += 1,
            Verdict::NoData => {}
        }
        let figures = prose(&best.figures);
        let mut html = format!("{} <span class=\"figures\">{figures}</span>", chip(best.verdict, true));
        let user = finding(claim, study, Point::Recommended);
        if user.verdict != Verdict::NoData {
            let (word, figures) = (user.verdict.word(), prose(&user.figures));
            html += &format!(
                "<details class=\"user\"><summary>recommended point: {word}</summary>{figures}</details>"
            );
        }
        html
    };
    let mut rows = Vec::new();
    for claim in of_study(figure.name) {
        let cells = studies.iter().map(|s| cell(claim, s));
        rows.push([prose(claim.text)].into_iter().chain(cells).collect());
    }
    table("claims", &headings, &rows)
}

/// A verdict as a coloured sign, with its word beside it or under the pointer.
fn chip(verdict: Verdict, worded: bool) -> String {
    let (class, sign) = match verdict {
        Verdict::Holds => ("holds", "✓"),
        Verdict::Fails => ("fails", "✗"),
        Verdict::Undecided => ("undecided", "?"),
        Verdict::NoData => ("nodata", "–"),
    };
    let word = verdict.word();
    match worded {
        true => format!("<span class=\"chip {class}\">{sign} {word}</span>"),
        false => format!("<span class=\"chip {class}\" title=\"{word}\" aria-label=\"{word}\">{sign}</span>"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use foretune_report::fixture::{all, study};
    use foretune_report::plot::{LineChart, Theme};
    use foretune_report::{POINTS, Sweep, charts};

    use super::*;

    #[test]
    fn all_figures_are_there_with_their_charts() {
        let studies = all(5);
        let (html, outcome) = page(&studies, &[], None);
        assert_eq!((outcome.studies, outcome.figures), (10, 8));
        for figure in FIGURES {
            let start = html.find(&format!("<section class=\"figure\" id=\"{}\"", figure.name)).unwrap();
            let section = &html[start..start + html[start..].find("</section>").unwrap()];
            assert!(section.matches("<svg ").count() >= 2, "{}", figure.name);
            assert!(!section.contains("Not run yet"));
        }
        assert!(html.contains("id=\"study-fig8-fixture\"") && html.contains("my-own-study"));
        assert!(outcome.verdicts.iter().sum::<usize>() > 20, "{:?}", outcome.verdicts);
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let (html, _) = page(&all(3), &[], None);
        for outside in ["src=", "@import", "url(", "<link", "<script"] {
            assert!(!html.contains(outside), "{outside}");
        }
        let addresses = html.matches("http").count();
        assert_eq!(addresses, html.matches("http://www.w3.org/2000/svg").count(), "only the name of SVG");
    }

    #[test]
    fn the_page_is_well_formed() {
        let (html, _) = page(&all(3), &[Error::refused(Path::new("a < b"), "c & d")], None);
        let body = &html[html.find("<body>").unwrap()..html.find("</html>").unwrap()];
        let body = body.replace("&nbsp;", "&#160;");
        let document = roxmltree::Document::parse(&body).unwrap();
        let mut ids: Vec<&str> = document.descendants().filter_map(|n| n.attribute("id")).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "no id occurs twice");
    }

    #[test]
    fn missing_figures_say_so() {
        let (html, outcome) = page(&[study("fig5", 3)], &[], None);
        assert_eq!((outcome.studies, outcome.figures), (1, 1));
        assert_eq!(html.matches("Not run yet").count(), 7);
        let (html, outcome) = page(&[], &[], None);
        assert_eq!(html.matches("Not run yet").count(), 8);
        assert_eq!((outcome.studies, outcome.figures, outcome.verdicts), (0, 0, [0; 3]));
    }

    #[test]
    fn partial_data_never_fails() {
        let mut studies = all(3);
        for (i, study) in studies.iter_mut().enumerate() {
            study
                .rows
                .retain(|r| !(r.task as usize + r.variant + r.experiment as usize).is_multiple_of(2 + i % 4));
            study.notes.push("units/x-1.csv, line 3: the file is cut off".into());
        }
        let (html, _) = page(&studies, &[], None);
        assert!(html.contains("the file is cut off") && !html.contains("NaN"));
        for study in &mut studies {
            study.rows.clear();
        }
        assert!(!page(&studies, &[], None).0.contains("NaN"));
    }

    #[test]
    fn hostile_names_stay_text() {
        let hostile = "\"><script>alert(1)</script>&'";
        let mut data = study("fig3", 2);
        data.name = hostile.into();
        let m = &mut data.manifest;
        for field in [&mut m.study, &mut m.preset, &mut m.problem, &mut m.version, &mut m.command] {
            *field = hostile.into();
        }
        m.options.insert(hostile.into(), hostile.into());
        for variant in &mut m.variants {
            variant.label = hostile.into();
            variant.method = hostile.into();
            variant.settings.insert(hostile.into(), hostile.into());
        }
        let mut figure = data.clone();
        figure.manifest.study = "fig3".into();
        let (html, _) = page(&[data, figure], &[Error::refused(Path::new(hostile), hostile)], None);
        assert!(!html.contains("<script"));
        let body = &html[html.find("<body>").unwrap()..html.find("</html>").unwrap()];
        roxmltree::Document::parse(&body.replace("&nbsp;", "&#160;")).unwrap();
    }

    #[test]
    #[ignore = "writes a page and charts of made-up numbers to the folder SAMPLE_FOLDER, to look at"]
    fn writes_a_sample_to_look_at() {
        let folder =
            std::path::PathBuf::from(std::env::var("SAMPLE_FOLDER").expect("SAMPLE_FOLDER names a folder"));
        let mut studies = all(20);
        let lines = charts::lines(&studies[4]);
        let one_panel = LineChart { panels: lines.panels[..1].to_vec(), ..lines };
        let map = charts::surface(&studies[1], Sweep::Beta, POINTS[0]);
        std::fs::write(folder.join("lines.svg"), one_panel.svg(760.0, Theme::Standalone)).unwrap();
        std::fs::write(folder.join("map.svg"), map.svg(640.0, Theme::Standalone)).unwrap();
        studies.retain(|s| s.manifest.study != "fig9");
        std::fs::write(folder.join("page.html"), page(&studies, &[], None).0).unwrap();
    }
}
