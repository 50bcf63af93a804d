//! The numbers behind the charts, and the settings behind the numbers.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::html::{table, text};
use super::{StudyData, samples};
use crate::plot::{decimals_for, fixed_number, short_number};
use crate::stats::Estimate;
use crate::{Metric, Point, Samples};
use host_sim::results::Variant;
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
    use super::super::fixture::study;
    use super::*;

    #[test]
    fn every_variant_has_its_row() {
        let html = achieved(&study("fig7", 3));
        assert_eq!(html.matches("<tr>").count(), 1 + 6);
        assert!(html.contains("Separation, myopic") && html.contains("±"));
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
