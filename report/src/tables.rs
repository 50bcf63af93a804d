//! The numbers behind the charts, and the settings behind the numbers.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::html::{table, text};
use super::{StudyData, samples};
use crate::plot::{decimals_for, fixed_number, short_number};
use crate::stats::Estimate;
use crate::{Metric, Point, Samples};
use host_sim::results::{TaskSummary, Variant};
use host_sim::words::{counted, spell};

/// What each variant achieved, in one row each.
pub fn achieved(study: &StudyData) -> String {
    let metric = match study.metric() {
        Metric::Regret => "regret",
        Metric::Ratio => "ratio",
        Metric::Value => "value",
    };
    let last = study.manifest.tasks;
    // The first task and the last, which may be the same.
    let shown = if last == 1 { vec![1] } else { vec![1, last] };
    let mut headings = vec!["Method".to_string()];
    headings.extend(shown.iter().map(|task| format!("Task {task}, best {metric}")));
    headings.extend([
        format!("All tasks, best {metric}"),
        format!("All tasks, recommended {metric}"),
        format!("All tasks, {metric} while tuning"),
        "Queries per task".to_string(),
    ]);
    let points = [Point::Best, Point::Recommended, Point::Tried].map(|p| study.samples(p));
    let row = |(i, variant): (usize, &Variant)| {
        let [best, recommended, tried] = &points;
        let rows = study.rows.iter().filter(|r| r.variant == i);
        let queries: Vec<f64> = rows.map(|r| f64::from(r.queries)).collect();
        let mut cells = vec![text(&variant.label)];
        cells.extend(shown.iter().map(|task| estimate(best.estimate(i, *task))));
        cells.extend([best, recommended, tried].map(|point| estimate(over_tasks(point, i, last))));
        cells.push(Estimate::of(&queries).map_or("–".into(), |e| format!("{:.1}", e.mean)));
        cells
    };
    table("numbers", &headings, &study.manifest.variants.iter().enumerate().map(row).collect::<Vec<_>>())
}

/// What users got while tuning went on, and how floor and guards were kept; nothing where no point is in use.
pub fn service(study: &StudyData) -> String {
    if study.rows.iter().all(|row| row.deployed.is_none()) {
        return String::new();
    }
    let metric = study.metric();
    let value = |of: Option<f64>, row: &TaskSummary| of.map(|value| metric.measure(value, row.optimum));
    let columns: [(&str, &Told<'_>); 5] = [
        ("Point in use", &|row| value(row.deployed, row)),
        ("In service", &|row| value(row.meanwhile, row)),
        ("Worst trial", &|row| value(row.worst, row)),
        ("Below the floor, of the time", &|row| row.below_time),
        ("Below the floor, of the trials", &|row| row.below),
    ];
    let all = columns_of(study, "", &columns);
    let guard = |(i, name): (usize, String)| {
        let of = |row: &TaskSummary| row.guards.get(i).copied();
        columns_of(
            study,
            &name,
            &[
                ("Broken, of the time", &|row| Some(of(row)?.broken_time)),
                ("Broken, of the trials", &|row| Some(of(row)?.broken)),
                ("Kept by what is recommended", &|row| Some(of(row)?.recommended)),
                ("In service", &|row| Some(of(row)?.meanwhile)),
            ],
        )
    };
    let guards: String = study.manifest.guards().into_iter().enumerate().map(guard).collect();
    format!("<h3>In service, over all tasks</h3>\n{all}{guards}")
}

/// A number of a task, where it has one.
type Told<'a> = dyn Fn(&TaskSummary) -> Option<f64> + 'a;

/// A table of what the methods came to, without the columns that no task has a number for.
fn columns_of(study: &StudyData, title: &str, columns: &[(&str, &Told<'_>)]) -> String {
    let there = |told: &Told<'_>| study.rows.iter().any(|row| told(row).is_some());
    let columns: Vec<_> = columns.iter().filter(|(_, told)| there(told)).collect();
    let cell = |i: usize, told: &Told<'_>| {
        let mean = |experiment: u32| {
            let own = study.rows.iter().filter(|row| (row.variant, row.experiment) == (i, experiment));
            Estimate::of(&own.filter_map(told).collect::<Vec<_>>()).map(|e| e.mean)
        };
        estimate(Estimate::of(&(1..=study.manifest.experiments).filter_map(mean).collect::<Vec<_>>()))
    };
    let row = |(i, variant): (usize, &Variant)| {
        [text(&variant.label)].into_iter().chain(columns.iter().map(|(_, told)| cell(i, told))).collect()
    };
    let rows: Vec<Vec<String>> = study.manifest.variants.iter().enumerate().map(row).collect();
    let first = if title.is_empty() { "Method".into() } else { format!("Guard {title}") };
    let headings: Vec<String> =
        [first].into_iter().chain(columns.iter().map(|(name, _)| (*name).to_string())).collect();
    table("numbers", &headings, &rows)
}

/// The mean over tasks of each experiment, then over experiments.
fn over_tasks(samples: &Samples, variant: usize, last: u32) -> Option<Estimate> {
    let mean = |e: usize| {
        let values: Vec<f64> = (1..=last).filter_map(|t| *samples.at(variant, t).get(e)?).collect();
        Estimate::of(&values).map(|m| m.mean)
    };
    Estimate::of(&(0..samples.experiments()).filter_map(mean).collect::<Vec<_>>())
}

/// A mean and its interval as a cell.
pub fn estimate(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".into(),
        Some(Estimate { mean, half_width: None, .. }) => short_number(mean),
        Some(Estimate { mean, half_width: Some(half), .. }) => {
            let [mean, half] = [mean, half].map(|v| fixed_number(v, decimals_for(half)));
            format!("{mean}&nbsp;<small>±&nbsp;{half}</small>")
        }
    }
}

/// One line about a study: how much of it was run, from which seed, how long it took.
pub fn facts(study: &StudyData) -> String {
    let m = &study.manifest;
    let (least, most) = study.finished();
    let all = counted(m.experiments as usize, "experiment");
    let experiments = match least as u32 == m.experiments {
        true => all,
        false if least == most => format!("{least} of {all}"),
        false => format!("{least} to {most} of {all}"),
    };
    let mut facts = vec![
        format!("{experiments} of {}", counted(m.tasks as usize, "task")),
        format!("problem {}", m.problem),
        format!("seed {}", m.seed),
        format!("version {}", m.version),
    ];
    if let Some(t) = study.timing {
        facts.push(format!(
            "took {} with {} on {}",
            spell(Duration::from_secs_f64(t.wall_seconds.clamp(0.0, 1e9))),
            counted(t.jobs as usize, "job"),
            counted(t.cores as usize, "core")
        ));
    }
    text(&facts.join(" · "))
}

/// All settings: first what all variants share, then what sets them apart.
pub fn settings(study: &StudyData) -> String {
    let variants = &study.manifest.variants;
    let names: BTreeSet<&String> = variants.iter().flat_map(|v| v.settings.keys()).collect();
    let shared =
        |name: &&String| variants.iter().all(|v| v.settings.get(*name) == variants[0].settings.get(*name));
    let (common, different): (Vec<&String>, Vec<&String>) = names.into_iter().partition(shared);
    let pair = |name: &str, value: &Value| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>", text(name), text(&plain(value)))
    };
    let mut list: Vec<String> =
        study.manifest.options.iter().map(|(n, v)| pair(&format!("problem: {n}"), v)).collect();
    list.extend(common.iter().map(|n| pair(n, &variants[0].settings[*n])));
    let headings: Vec<String> = ["Variant", "Method"]
        .iter()
        .map(|h| h.to_string())
        .chain(different.iter().map(|n| n.to_string()))
        .collect();
    let row = |v: &Variant| {
        let cell = |n: &&String| v.settings.get(*n).map_or("–".into(), |value| text(&plain(value)));
        [text(&v.label), text(&v.method)].into_iter().chain(different.iter().map(cell)).collect()
    };
    let rows: Vec<Vec<String>> = variants.iter().map(row).collect();
    format!(
        "<details><summary>Settings and command</summary>\n<p>Command: <code>{}</code></p>\n\
         <dl class=\"settings\">{}</dl>\n{}</details>\n",
        text(&study.manifest.command),
        list.concat(),
        table("variants", &headings, &rows)
    )
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Number(n) if n.is_f64() => n.as_f64().map_or(n.to_string(), setting),
        other => other.to_string(),
    }
}

fn setting(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        samples::setting(value)
    } else {
        short_number(value)
    }
}

#[cfg(test)]
mod tests {
    use host_sim::results::GuardSummary;

    use super::super::fixture::study;
    use super::*;

    #[test]
    fn every_variant_has_its_row() {
        let html = achieved(&study("fig7", 3));
        assert_eq!(html.matches("<tr>").count(), 1 + 6);
        assert!(html.contains("Separation, myopic") && html.contains("±"));
    }

    #[test]
    fn what_users_got_is_told_where_a_point_is_in_use() {
        let mut data = study("fig5", 3);
        assert_eq!(service(&data), "");
        let guards = ["edge:share:0.9", "power:at-most:drop:3", "edge:value:1"];
        data.manifest.options.insert("guards".into(), guards.as_slice().into());
        for row in &mut data.rows {
            let guard = |broken_time| GuardSummary { broken_time, ..GuardSummary::default() };
            row.guards = [0.125, 0.25, 0.375].map(guard).to_vec();
            (row.deployed, row.meanwhile, row.below_time) = (Some(23.0), Some(34.5), Some(0.875));
        }
        let html = service(&data);
        for there in [
            "0.500",
            "0.750",
            "0.875",
            "Guard edge<",
            "0.125",
            "Guard power<",
            "0.250",
            "Guard edge_2<",
            "0.375",
        ] {
            assert!(html.contains(there), "{there} is missing in {html}");
        }
        assert!(!html.contains("Worst"), "no task has one: {html}");
    }

    #[test]
    fn unfinished_studies_say_how_far_they_are() {
        let mut data = study("fig3", 4);
        assert!(facts(&data).starts_with("4 experiments of 10 tasks"));
        data.rows.retain(|r| r.variant != 1 || r.experiment < 3);
        assert!(facts(&data).starts_with("2 to 4 of 4 experiments"), "{}", facts(&data));
        data.rows.clear();
        assert!(facts(&data).starts_with("0 of 4 experiments"));
        assert!(achieved(&data).contains("–"));
    }

    #[test]
    fn settings_part_the_shared_from_the_different() {
        let html = settings(&study("fig3", 1));
        assert!(html.contains("<dt>kernel</dt><dd>deep</dd>"));
        assert!(html.contains("<th scope=\"col\">particles</th>"));
        assert!(html.contains("foretune-paper reproduce fig3"));
    }
}
