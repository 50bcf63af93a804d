//! A page that shows a fleet's prior: mean and modes over every two parameters, through the first typical point.

use foretune_core::Fleet;
use foretune_report::html;
use foretune_report::plot::{HeatMap, HeatRow, Theme};

/// Places along a parameter.
const PLACES: usize = 15;

/// The page. `x` is where the parameters lie that are not varied.
pub fn page(fleet: &Fleet<'_>, x: &[f32]) -> String {
    let header = fleet.header();
    let [sites, tasks, answers] = header.learnt_from;
    let mut content = format!(
        "<h1>What {sites} sites have in common</h1>\n<p>{}</p>\n",
        html::prose(&format!(
            "Learnt from {tasks} tasks, {answers} answers. The mean is what a new site expects before its first answer. A mode is \
             added to it with a weight that is the site's own, most often between -1 and 1: that is how sites differ. All \
             parameters go from their lowest value, 0, to their highest, 1; those that are not varied lie at {}.",
            x.iter().map(|x| format!("{x:.2}")).collect::<Vec<_>>().join(", ")
        ))
    );
    for mode in 0..=header.modes {
        let title = if mode == 0 { "Mean".to_owned() } else { format!("Mode {mode}") };
        content += &format!("<h2>{title}</h2>\n");
        for (a, b) in pairs(header.dimensions) {
            let map = map(fleet, x, mode, a, b, &title);
            content += &html::chart(|width| map.svg(width, Theme::Page), 640.0, 340.0);
        }
    }
    html::document("Fleet", &content)
}

fn pairs(dimensions: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dimensions.max(2)).flat_map(move |a| (a + 1..dimensions.max(2)).map(move |b| (a, b)))
}

/// The mean, in units of the answers, or what a mode adds to it, over two parameters.
fn map(fleet: &Fleet<'_>, x: &[f32], mode: usize, a: usize, b: usize, title: &str) -> HeatMap {
    let header = fleet.header();
    let at = |place: usize| place as f32 / (PLACES - 1) as f32;
    let label =
        |place: usize| if place.is_multiple_of(7) { format!("{:.1}", at(place)) } else { String::new() };
    let value = |i: usize, j: usize| {
        let mut x = x.to_vec();
        x[a] = at(i);
        // Of one parameter all rows are alike.
        if let Some(x) = x.get_mut(b) {
            *x = at(j);
        }
        let term = fleet.at(&x, header.fidelities - 1)[mode];
        Some(f64::from(header.deviation * term + if mode == 0 { header.mean } else { 0.0 }))
    };
    let row = |j: usize| HeatRow {
        label: label(j),
        cells: (0..PLACES).map(|i| value(i, j)).collect(),
        apart: false,
    };
    HeatMap {
        name: format!("{title} over parameters {} and {}", a + 1, b + 1),
        title: title.into(),
        x_title: format!("parameter {}", a + 1),
        y_title: format!("parameter {}", b + 1),
        value_title: "value".into(),
        columns: (0..PLACES).map(label).collect(),
        rows: (0..PLACES).rev().map(row).collect(),
        stars: vec![None; PLACES],
        low_is_better: false,
        log: false,
    }
}
