//! How far a study is and how long it will take: a live bar on a terminal, a line now and then elsewhere.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::plan::{Plan, Variant};
use crate::error::Error;
use crate::results::{Study, UnitId};
use crate::words::{say, spell};

const STEPS: u64 = 1000;
/// Least time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(20);

/// The state of a running study, for people.
pub(super) struct Progress {
    name: String,
    /// Estimated work of one task, by variant.
    work: Vec<f64>,
    state: Mutex<State>,
    bar: Option<ProgressBar>,
    quiet: bool,
}

struct State {
    started: Instant,
    last_line: Instant,
    /// All work of the shard, and what was done before this run.
    total: f64,
    before: f64,
    /// Work of the tasks that this run finished.
    done: f64,
    /// Share of the tasks at work, by unit.
    running: HashMap<UnitId, f64>,
    tasks: (u64, u64),
}

impl Progress {
    pub fn new(plan: &Plan, study: &Study, units: &[UnitId], quiet: bool) -> Result<Self, Error> {
        let work: Vec<f64> = (0..plan.variants().len()).map(|v| task_work(plan, v)).collect();
        let tasks = u64::from(plan.manifest().tasks);
        let (mut total, mut before, mut closed) = (0.0, 0.0, 0);
        for unit in units {
            total += work[unit.variant] * tasks as f64;
            if let Some(found) = study.read_unit(*unit)? {
                closed += found.tasks.len() as u64;
                before += work[unit.variant] * found.tasks.len() as f64;
            }
        }
        let now = Instant::now();
        let state = State {
            started: now,
            last_line: now,
            total,
            before,
            done: 0.0,
            running: HashMap::new(),
            tasks: (closed, units.len() as u64 * tasks),
        };
        let live = !quiet && std::io::stderr().is_terminal();
        let name = plan.manifest().study.clone();
        Ok(Self { name, work, state: Mutex::new(state), bar: live.then(bar), quiet })
    }

    /// Part of the current task's budget is spent, from 0 to 1.
    pub fn advanced(&self, unit: UnitId, share: f64) {
        self.update(|state| {
            state.running.insert(unit, share.clamp(0.0, 1.0));
        });
    }

    /// A task is finished and on the disk.
    pub fn finished(&self, unit: UnitId) {
        self.update(|state| {
            state.running.remove(&unit);
            state.done += self.work[unit.variant];
            state.tasks.0 += 1;
        });
    }

    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(&format!("note: {text}"))),
            None => say(&format!("note: {text}")),
        }
    }

    pub fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if self.quiet {
            return;
        }
        let (share, text) = self.describe(&state);
        match &self.bar {
            Some(bar) => {
                bar.set_message(text);
                bar.set_position((share * STEPS as f64) as u64);
            }
            None if state.last_line.elapsed() >= BETWEEN_LINES => {
                state.last_line = Instant::now();
                say(&text);
            }
            None => {}
        }
    }

    fn describe(&self, state: &State) -> (f64, String) {
        let running: f64 = state.running.iter().map(|(unit, share)| self.work[unit.variant] * share).sum();
        let now = state.done + running;
        let share = ((state.before + now) / state.total).clamp(0.0, 1.0);
        let (done, all) = state.tasks;
        let text =
            format!("{}: {done} of {all} tasks, {:.0} %{}", self.name, 100.0 * share, left(state, now));
        (share, text)
    }
}

/// The time that is left, once there is something to tell it from.
fn left(state: &State, now: f64) -> String {
    let elapsed = state.started.elapsed();
    let rest = state.total - state.before - now;
    if now <= 0.0 || elapsed < Duration::from_secs(1) || rest <= 0.0 {
        return String::new();
    }
    format!(", about {} left", spell(elapsed.mul_f64((rest / now).min(1e9))))
}

/// Roughly what a task of a variant takes, beside the others: its queries, and what a search and the learning after it grow
/// with.
fn task_work(plan: &Plan, variant: usize) -> f64 {
    let (spec, settings) = (plan.benchmark().spec(), plan.settings(variant));
    let Variant { method, setup, .. } = &plan.variants()[variant];
    let cheapest = if method.only_truth() { spec.fidelities.len() - 1 } else { 0 };
    let queries = spec.budget / spec.fidelities[cheapest].cost;
    if method.core(0.0).is_none() {
        return queries;
    }
    let t = (settings.initial as f64 + queries).min(setup.capacity as f64);
    let search = (settings.candidates * spec.fidelities.len()) as f64 * t * t;
    let steps = queries * f64::from(settings.steps_per_round) + f64::from(settings.steps_per_task);
    queries + settings.particles as f64 * (queries * search + steps * t * t * t) / 1e5
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    // The template is fixed; were it ever wrong, the default bar would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
