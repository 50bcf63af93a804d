//! A page with pictures about what was tuned: how the best answer grew with what was spent, what was measured, and what the
//! model believes. While the last task goes on, the page loads itself again.

use foretune_core::Goal;
use host_sim::problems::DimensionSpec;

use super::belief::{Belief, Slice};
use super::state::{State, TaskState, Told};
use crate::why::VALUE;
use crate::{Target, Why};
use foretune_report::html::{chart, live_document, table, text};
use foretune_report::plot::{
    Axis, Curve, Dash, HeatMap, HeatRow, LineChart, Panel, Sample, ScaleKind, Style, Theme, Tick,
    short_number,
};

const WIDE: f64 = 1080.0;
const NARROW: f64 = 360.0;
/// A picture beside another.
const HALF: f64 = 520.0;
/// Seconds after which the page of a running task loads itself again.
const RELOAD: u32 = 2;
/// Tasks that are drawn: the last ones.
const DRAWN: usize = 8;

/// The page on a target and all its tasks.
pub fn page(target: &Target, state: &State) -> String {
    let goal = match target.goal {
        Goal::Maximise => "higher is better",
        Goal::Minimise => "lower is better",
    };
    let names: Vec<&str> = target.names().collect();
    let tasks = match state.tasks.len() {
        1 => "one task".into(),
        count => format!("{count} tasks"),
    };
    let (picture, trials) = (growth(target, state), trials(target, state.tasks.last()));
    let belief = state.belief.as_ref().map_or_else(String::new, |belief| beliefs(target, belief));
    let content = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"lead\">{} tuned over {tasks}; {goal}.</p>\n</header>\n<main>\n\
         <section id=\"glance\"><h2>Task {}</h2>\n{}</section>\n\
         <section class=\"figure\" id=\"growth\"><h2>The best answer against what was spent</h2>\n{}</section>\n\
         <section class=\"figure\" id=\"trials\"><h2>Measurements of task {}</h2>\n{}</section>\n{belief}\
         <section id=\"tasks\"><h2>Tasks</h2>\n{}</section>\n\
         <section id=\"answers\"><h2>Answers of task {}</h2>\n{}</section>\n</main>\n<footer>Foretune {}</footer>\n",
        text(&target.name),
        text(&names.join(", ")),
        state.task(),
        glance(target, state.tasks.last()),
        chart(|width| picture.svg(width, Theme::Page), WIDE, NARROW),
        state.task(),
        chart(|width| trials.svg(width, Theme::Page), WIDE, NARROW),
        task_table(target, state),
        state.task(),
        answer_table(target, state.tasks.last()),
        env!("CARGO_PKG_VERSION"),
    );
    let runs = state.current().is_some_and(|task| task.ended.is_none());
    live_document(&format!("{}: what was tuned", target.name), &content, runs.then_some(RELOAD))
}

/// Where the task stands.
fn glance(target: &Target, task: Option<&TaskState>) -> String {
    let Some(task) = task else { return String::new() };
    let in_use = task.measured_in_use(target, VALUE);
    let found = match &task.ended {
        Some(ended) => {
            ended.point.as_ref().map(|_| ("Expected of the recommendation", f64::from(ended.mean)))
        }
        None => task.best(target).and_then(|told| Some(("Best answer so far", f64::from(told.value?)))),
    };
    let share = |part: f64, whole: f64| format!("{:+.1} %", 100.0 * (part - whole) / whole.abs().max(1e-30));
    let mut rows = vec![vec![
        "Spent".into(),
        format!("{} of {}", short_number(task.spent()), short_number(task.begun.budget)),
    ]];
    rows.extend(in_use.map(|value| vec!["Measured of the setting in use".into(), short_number(value)]));
    rows.extend(found.map(|(name, value)| {
        let gain = in_use.map_or(String::new(), |in_use| format!(" ({} against that)", share(value, in_use)));
        vec![name.into(), short_number(value) + &gain]
    }));
    for (name, [count, all]) in task.broken(target) {
        let what = if name == VALUE { "the floor".into() } else { format!("the bound on {}", text(&name)) };
        rows.push(vec![format!("Measured beyond {what}"), format!("{count} of {all} trials")]);
    }
    table("numbers", &[String::new(), String::new()], &rows)
}

/// What the model believes around the best point.
fn beliefs(target: &Target, belief: &Belief) -> String {
    let all: f32 = belief.slices.iter().map(Slice::spread).sum();
    let slices: String = target
        .parameters
        .iter()
        .zip(&belief.slices)
        .map(|(parameter, slice)| {
            let share = 100.0 * slice.spread() / all.max(f32::MIN_POSITIVE);
            let picture = along(target, belief, (parameter, slice));
            format!(
                "<div><h3>{}: {share:.0}\u{a0}% of the change</h3>\n{}</div>\n",
                text(parameter.name()),
                chart(|width| picture.svg(width, Theme::Page), HALF, NARROW)
            )
        })
        .collect();
    let map = belief.map.as_ref().map_or_else(String::new, |_| {
        let picture = map(target, belief);
        format!(
            "<section class=\"figure\" id=\"map\"><h2>The two that matter most</h2>\n{}</section>\n",
            chart(|width| picture.svg(width, Theme::Page), WIDE, NARROW)
        )
    });
    format!(
        "<section class=\"figure\" id=\"belief\"><h2>What the model believes along each parameter</h2>\n\
         <p>Through {}; all other parameters stay as they are there. The band is one deviation.</p>\n\
         <div class=\"pairs\">\n{slices}</div></section>\n{map}",
        text(&target.words(&belief.through))
    )
}

/// Value and KPIs along one parameter.
fn along(target: &Target, belief: &Belief, (parameter, slice): (&DimensionSpec, &Slice)) -> LineChart {
    let flat = |x: f64, y: f64| Sample { x, mean: y, low: y, high: y };
    let panel = |kpi: &str| {
        let sample = |(x, [mean, deviation]): (&f64, &[f32; 2])| {
            let (mean, deviation) = (f64::from(*mean), f64::from(*deviation));
            Sample { x: *x, mean, low: mean - deviation, high: mean + deviation }
        };
        let points: Vec<Sample> =
            slice.at.iter().zip(slice.expected.get(kpi).into_iter().flatten()).map(sample).collect();
        let ends = [slice.at.first(), slice.at.last()];
        let style = |ink: usize, dash: Dash| Style { ink, dash, plain: true, ..Style::default() };
        let mut curves = vec![Curve { label: "expected".into(), style: style(0, Dash::Solid), points }];
        if let Some(bound) = belief.bounds.get(kpi) {
            let points = ends.into_iter().flatten().map(|x| flat(*x, f64::from(*bound))).collect();
            curves.push(Curve { label: "bound".into(), style: style(1, Dash::Long), points });
        }
        Panel { title: String::new(), curves, y: Some(Axis { title: kpi.into(), ..Axis::default() }) }
    };
    let kpis = [VALUE].into_iter().chain(target.guards.iter().map(|guard| guard.name.as_str()));
    let scale = if parameter.notation().log { ScaleKind::Log } else { ScaleKind::Linear };
    let tick = |at: &f64| Tick { at: *at, label: parameter.shown(*at), note: String::new() };
    let named = matches!(parameter, DimensionSpec::Category { .. });
    let ticks = slice.at.iter().filter(|_| named).map(tick).collect();
    let name = parameter.name();
    LineChart {
        name: format!("What is expected along {name}"),
        x: Axis { title: name.into(), scale, ticks, ..Axis::default() },
        panels: kpis.map(panel).collect(),
        ..LineChart::default()
    }
}

fn map(target: &Target, belief: &Belief) -> HeatMap {
    let Some(map) = &belief.map else { return HeatMap::default() };
    let names: Vec<&str> = target.names().collect();
    let labels = [0, 1].map(|side: usize| {
        let label = |x: &f64| match &target.parameters[map.over[side]] {
            category @ DimensionSpec::Category { .. } => category.shown(*x),
            _ => short_number(*x),
        };
        map.at[side].iter().map(label).collect::<Vec<_>>()
    });
    let [columns, rows] = labels;
    let row = |(label, mean): (String, &Vec<f32>)| HeatRow {
        label,
        cells: mean.iter().map(|mean| Some(f64::from(*mean))).collect(),
        apart: false,
    };
    let sign = if target.goal == Goal::Minimise { -1.0 } else { 1.0 };
    let best = |column: usize| {
        let mean = |row: &usize| sign * map.mean[*row][column];
        let row = (0..map.mean.len()).max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
        Some(map.mean.len() - 1 - row)
    };
    HeatMap {
        name: format!("What is expected over {} and {}", names[map.over[0]], names[map.over[1]]),
        x_title: names[map.over[0]].into(),
        y_title: names[map.over[1]].into(),
        value_title: "expected".into(),
        stars: (0..columns.len()).map(best).collect(),
        columns,
        rows: rows.into_iter().zip(&map.mean).rev().map(row).collect(),
        low_is_better: target.goal == Goal::Minimise,
        ..HeatMap::default()
    }
}

/// The best answer at the fidelity that counts, against what was spent; a curve for each of the last tasks.
fn growth(target: &Target, state: &State) -> LineChart {
    let first = state.tasks.len().saturating_sub(DRAWN);
    let curve = |(i, task): (usize, &TaskState)| Curve {
        label: format!("task {}", first + i + 1),
        style: Style { ink: i, plain: true, ..Style::default() },
        points: best_so_far(target, task),
    };
    let curves: Vec<Curve> = state.tasks[first..].iter().enumerate().map(curve).collect();
    let name = &target.fidelities[target.truth()].name;
    LineChart {
        name: "Best answer so far against what was spent, one curve per task".into(),
        x: Axis { title: "spent".into(), ..Axis::default() },
        y: Axis { title: format!("best answer at fidelity “{name}”"), ..Axis::default() },
        panels: vec![Panel { curves, ..Panel::default() }],
    }
}

/// The objective and every guarded KPI over a task's measurements, with what was expected and the bound.
fn trials(target: &Target, task: Option<&TaskState>) -> LineChart {
    let answers = task.map_or(&[][..], |task| &task.answers);
    let panel = |name: &str| {
        let curve = |label: &str, style: Style, of: &dyn Fn(&Told) -> Option<(f64, f64)>| {
            let sample = |(i, told): (usize, &Told)| {
                let (mean, deviation) = of(told)?;
                Some(Sample { x: (i + 1) as f64, mean, low: mean - deviation, high: mean + deviation })
            };
            let points = answers.iter().enumerate().filter_map(sample).collect();
            Curve { label: label.into(), style, points }
        };
        let plain = |ink: usize, dash: Dash| Style { ink, dash, plain: true, ..Style::default() };
        let expected = |told: &Told| told.because.as_ref()?.expected.get(name).copied();
        let mut curves = vec![
            curve("expected ± a deviation", plain(2, Dash::Short), &|told| {
                expected(told).map(|e| (e.mean.into(), e.deviation.into()))
            }),
            curve("measured", Style::default(), &|told| Some((told.measured(target, name)?, 0.0))),
            curve("bound", plain(1, Dash::Long), &|told| Some((expected(told)?.bound?.into(), 0.0))),
        ];
        curves.retain(|curve| !curve.points.is_empty());
        let y = Some(Axis { title: name.into(), ..Axis::default() });
        Panel { title: String::new(), curves, y }
    };
    let kpis = [VALUE].into_iter().chain(target.guards.iter().map(|guard| guard.name.as_str()));
    LineChart {
        name: "What was measured in the last task, what was expected, and what must be kept to".into(),
        x: Axis { title: "measurement".into(), whole: true, ..Axis::default() },
        panels: kpis.map(panel).collect(),
        ..LineChart::default()
    }
}

/// A step at every better answer.
fn best_so_far(target: &Target, task: &TaskState) -> Vec<Sample> {
    let (mut spent, mut best, mut points) = (0.0, None::<f64>, Vec::<Sample>::new());
    let flat = |x: f64, mean: f64| Sample { x, mean, low: mean, high: mean };
    for told in &task.answers {
        spent += told.cost;
        let value = told.value.map(f64::from).filter(|_| told.fidelity == target.truth());
        let better = value.filter(|&value| match (target.goal, best) {
            (_, None) => true,
            (Goal::Maximise, Some(best)) => value > best,
            (Goal::Minimise, Some(best)) => value < best,
        });
        if let Some(value) = better {
            points.extend(best.map(|best| flat(spent, best)));
            points.push(flat(spent, value));
            best = Some(value);
        }
    }
    points.extend(best.map(|best| flat(spent, best)));
    points
}

fn task_table(target: &Target, state: &State) -> String {
    let mut headings: Vec<String> =
        ["Task", "Measurements", "Failed", "Outliers", "Spent"].map(String::from).to_vec();
    headings.extend(target.fidelities.iter().map(|rung| format!("Of these “{}”", rung.name)));
    headings.extend(["Recommended", "Expected of it", "Why it ended"].map(String::from));
    let row = |(i, task): (usize, &TaskState)| {
        let count = |keep: &dyn Fn(&&Told) -> bool| task.answers.iter().filter(keep).count().to_string();
        let mut cells = vec![
            (i + 1).to_string(),
            task.answers.len().to_string(),
            count(&|told| told.value.is_none()),
            task.ended.as_ref().map_or("–".into(), |ended| ended.outliers.to_string()),
            short_number(task.spent()),
        ];
        cells.extend((0..target.fidelities.len()).map(|m| count(&|told| told.fidelity == m)));
        cells.extend(match &task.ended {
            None => ["–".into(), "–".into(), "still running".to_string()],
            Some(ended) => [
                ended.point.as_ref().map_or("–".into(), |point| text(&target.words(point))),
                ended.point.as_ref().map_or("–".into(), |_| {
                    format!("{} ± {}", short_number(ended.mean.into()), short_number(ended.deviation.into()))
                }),
                text(&ended.reason.to_string()),
            ],
        });
        cells
    };
    let rows: Vec<Vec<String>> = state.tasks.iter().enumerate().map(row).collect();
    table("numbers", &headings, &rows)
}

fn answer_table(target: &Target, task: Option<&TaskState>) -> String {
    let mut headings = ["", "Why", "Setting", "Fidelity", "Cost", "Answer"].map(String::from).to_vec();
    headings.extend(target.guards.iter().map(|guard| text(&guard.name)));
    let row = |(i, told): (usize, &Told)| {
        let why = match told.why {
            Why::Noise => "to learn the noise",
            Why::Initial => "initial",
            Why::Carried => "carried from an earlier task",
            Why::Search => "search",
        };
        let mut cells = vec![
            (i + 1).to_string(),
            why.into(),
            text(&target.words(&told.point)),
            text(&target.fidelities[told.fidelity].name),
            short_number(told.cost),
            told.value.map_or("failed".into(), |value| short_number(value.into())),
        ];
        let kpi = |g: usize| told.kpis.get(g).map_or("–".into(), |kpi| short_number(*kpi));
        cells.extend((0..target.guards.len()).map(kpi));
        cells
    };
    let answers = task.map_or(&[][..], |task| &task.answers);
    table("numbers", &headings, &answers.iter().enumerate().map(row).collect::<Vec<_>>())
}
