//! The page: every study with its charts, tables and settings.

use std::collections::BTreeSet;

use crate::charts::{self, POINTS, measure, sample, styles, y_axis};
use crate::html::{chart, live_document, table, text};
use crate::load::Trail;
use crate::plot::{Axis, Curve, LineChart, Panel, Sample, Theme, fixed_number};
use crate::samples::{Sweep, View};
use crate::stats::Estimate;
use crate::tables::{achieved, estimate, facts, service, settings};
use crate::{Point, StudyData};
use host_sim::error::Error;
use host_sim::results::Variant;

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
        READING,
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
    section(study, &surface)
}

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

/// Points of a curve within a task.
const STEPS: usize = 24;

/// How to read the page, without what belongs to the paper's claims.
pub const READING: &str = "<section class=\"reading\" id=\"reading\"><h2>How to read this</h2><ul>\n\
    <li>Curves are means over experiments, bands and ± are 90 % confidence intervals (Student’s t). Comparisons \
    are paired: methods share the tasks of an experiment.</li>\n\
    <li>The <em>best point tried</em> is known only where the truth is. The <em>recommended point</em> is what a \
    user gets: the one that the model believes to be best.</li>\n\
    <li>Cost is what was charged to a task's budget; in the paper's problems, unless a point is in use, not the initial points.</li>\n</ul></section>\n";

/// All that is told about one study, with more pictures if there are.
pub fn section(study: &StudyData, more: &str) -> String {
    let lines = charts::lines(study);
    let over_tasks = chart(|width| lines.svg(width, Theme::Page), WIDE, NARROW);
    format!(
        "<section class=\"figure\" id=\"study-{}\">\n<h2><span class=\"tag\">{}</span> {}</h2>\n\
         <p class=\"facts\">{}</p>\n{}<h3>Over the tasks</h3>\n{over_tasks}{more}{}{}{}{}{}</section>\n",
        text(&study.name),
        text(&study.manifest.problem),
        text(&study.manifest.study),
        facts(study),
        within(study),
        achieved(study),
        service(study),
        differences(study),
        shares(study),
        settings(study),
    )
}

/// The best point tried against the cost, within the first and the last task.
fn within(study: &StudyData) -> String {
    let last = study.manifest.tasks;
    let budget =
        study.trails.iter().filter_map(|trail| trail.steps.last()).map(|step| step.0).fold(0.0, f64::max);
    if budget == 0.0 {
        return String::new();
    }
    let styles = styles(&study.manifest.variants);
    let panel = |task: u32| {
        let curve = |(i, variant): (usize, &Variant)| Curve {
            label: variant.label.clone(),
            style: styles[i],
            points: (0..=STEPS)
                .filter_map(|step| at_cost(study, i, task, budget * step as f64 / STEPS as f64))
                .collect(),
        };
        let curves = study.manifest.variants.iter().enumerate().map(curve).collect();
        Panel { title: format!("Task {task}"), curves, y: None }
    };
    let tasks: Vec<u32> = if last > 1 { vec![1, last] } else { vec![1] };
    let picture = LineChart {
        name: format!(
            "{} of the best point tried against cost, one curve per method",
            measure(study.metric())
        ),
        x: Axis { title: "cost within the task".into(), ..Axis::default() },
        y: y_axis(study.metric()),
        panels: tasks.into_iter().map(panel).collect(),
    };
    let drawn = chart(|width| picture.svg(width, Theme::Page), WIDE, NARROW);
    format!("<h3>Within a task: the best point tried, against cost</h3>\n{drawn}")
}

/// Mean over experiments of what was reached at a cost.
fn at_cost(study: &StudyData, variant: usize, task: u32, cost: f64) -> Option<Sample> {
    let reached = |trail: &Trail| {
        let (_, best) = trail.steps.iter().take_while(|step| step.0 <= cost + 1e-9).last()?;
        Some(study.metric().measure(*best, trail.optimum))
    };
    let own = study.trails.iter().filter(|trail| trail.variant == variant && trail.task == task);
    let values: Vec<f64> = own.filter_map(reached).filter(|value| value.is_finite()).collect();
    sample(cost, Estimate::of(&values)?)
}

/// By how much every method is better than the first, paired by experiment.
fn differences(study: &StudyData) -> String {
    let variants = &study.manifest.variants;
    if variants.len() < 2 {
        return String::new();
    }
    let last = study.manifest.tasks;
    let headings = [
        format!("Better than {} by", variants[0].label),
        "First task, recommended".into(),
        format!("Task {last}, recommended"),
        "All tasks, recommended".into(),
        "All tasks, best tried".into(),
        "All tasks, while tuning".into(),
    ];
    let [recommended, best, tried] =
        [Point::Recommended, Point::Best, Point::Tried].map(|point| study.samples(point));
    let row = |(i, variant): (usize, &Variant)| {
        vec![
            text(&variant.label),
            estimate(recommended.paired_gain(i, 0, 1..=1)),
            estimate(recommended.paired_gain(i, 0, last..=last)),
            estimate(recommended.paired_gain(i, 0, 1..=last)),
            estimate(best.paired_gain(i, 0, 1..=last)),
            estimate(tried.paired_gain(i, 0, 1..=last)),
        ]
    };
    let rows: Vec<Vec<String>> = variants.iter().enumerate().skip(1).map(row).collect();
    format!("<h3>Paired differences</h3>\n{}", table("numbers", &headings, &rows))
}

/// Which fidelities the charged measurements used, and what they cost.
fn shares(study: &StudyData) -> String {
    let fidelities = study.trails.iter().map(|trail| trail.counts.len()).max().unwrap_or(0);
    if fidelities == 0 {
        return String::new();
    }
    let mut headings = vec!["Share of charged measurements".to_string()];
    headings.extend((1..=fidelities).map(|m| match m == fidelities {
        true => format!("fidelity {m}, the truth"),
        false => format!("fidelity {m}"),
    }));
    let row = |(i, variant): (usize, &Variant)| {
        let own: Vec<&Trail> = study.trails.iter().filter(|trail| trail.variant == i).collect();
        let count = |m: usize| own.iter().filter_map(|trail| trail.counts.get(m)).sum::<u32>();
        let total = (0..fidelities).map(count).sum::<u32>().max(1);
        let share = |m| format!("{} %", fixed_number(100.0 * f64::from(count(m)) / f64::from(total), 0));
        [text(&variant.label)].into_iter().chain((0..fidelities).map(share)).collect()
    };
    let rows: Vec<Vec<String>> = study.manifest.variants.iter().enumerate().map(row).collect();
    format!("<h3>Shares of fidelities</h3>\n{}", table("numbers", &headings, &rows))
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
