//! A page with pictures about what was tuned: how the best answer grew with what was spent, task by task.

use foretune_core::Goal;

use super::state::{State, TaskState, Told};
use crate::{Target, Why};
use foretune_report::html::{chart, document, table, text};
use foretune_report::plot::{Axis, Curve, Dash, LineChart, Panel, Sample, Style, Theme, short_number};

const WIDE: f64 = 1080.0;
const NARROW: f64 = 360.0;
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
    let content = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"lead\">{} tuned over {tasks}; {goal}.</p>\n</header>\n<main>\n\
         <section class=\"figure\" id=\"growth\"><h2>The best answer against what was spent</h2>\n{}</section>\n\
         <section class=\"figure\" id=\"trials\"><h2>Measurements of task {}</h2>\n{}</section>\n\
         <section id=\"tasks\"><h2>Tasks</h2>\n{}</section>\n\
         <section id=\"answers\"><h2>Answers of task {}</h2>\n{}</section>\n</main>\n<footer>Foretune {}</footer>\n",
        text(&target.name),
        text(&names.join(", ")),
        chart(|width| picture.svg(width, Theme::Page), WIDE, NARROW),
        state.task(),
        chart(|width| trials.svg(width, Theme::Page), WIDE, NARROW),
        task_table(target, state),
        state.task(),
        answer_table(target, state.tasks.last()),
        env!("CARGO_PKG_VERSION"),
    );
    document(&format!("{}: what was tuned", target.name), &content)
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
    let panel = |name: &str, measured: &dyn Fn(&Told) -> Option<f64>| {
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
            curve("measured", Style::default(), &|told| Some((measured(told)?, 0.0))),
            curve("bound", plain(1, Dash::Long), &|told| Some((expected(told)?.bound?.into(), 0.0))),
        ];
        curves.retain(|curve| !curve.points.is_empty());
        let y = Some(Axis { title: name.into(), ..Axis::default() });
        Panel { title: String::new(), curves, y }
    };
    let value = panel("value", &|told| told.value.map(f64::from));
    let kpis = target
        .guards
        .iter()
        .enumerate()
        .map(|(g, guard)| panel(&guard.name, &|told| told.kpis.get(g).copied()));
    LineChart {
        name: "What was measured in the last task, what was expected, and what must be kept to".into(),
        x: Axis { title: "measurement".into(), whole: true, ..Axis::default() },
        panels: [value].into_iter().chain(kpis).collect(),
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
