//! One number per variant, task and experiment: the measure of success that figures and claims work on; and which variants
//! a chart or a claim speaks of.

use std::ops::RangeInclusive;

use crate::stats::Estimate;
use host_sim::results::{Manifest, TaskSummary, Variant};

/// How a value is compared with the task's optimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Simple regret, Eq. (53): optimum minus value; less is better.
    Regret,
    /// Optimality ratio, Eq. (54): value over optimum; more is better.
    Ratio,
    /// The value itself, where no optimum is known; more is better.
    Value,
}

impl Metric {
    /// The paper's choice for a study's problem; the value for one that a command measures.
    pub fn of(manifest: &Manifest) -> Self {
        match manifest.problem.as_str() {
            _ if manifest.options.contains_key("command") => Self::Value,
            "rrm" | "pid" => Self::Ratio,
            _ => Self::Regret,
        }
    }

    /// By how much `a` is better than `b`, if it is.
    pub fn gain(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Regret => b - a,
            Self::Ratio | Self::Value => a - b,
        }
    }

    pub fn measure(self, value: f64, optimum: f64) -> f64 {
        match self {
            Self::Regret => optimum - value,
            Self::Ratio => value / optimum,
            Self::Value => value,
        }
    }
}

/// Which value of a task is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The best point tried: what the paper reports, and only a simulator knows.
    Best,
    /// The recommended point: what a user gets.
    Recommended,
    /// The mean over the charged queries: what users suffer while the tuning goes on.
    Tried,
}

/// One part of a contrast: a variant, averaged over tasks, with a weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Index of the variant.
    pub variant: usize,
    /// The tasks averaged over, from 1.
    pub tasks: RangeInclusive<u32>,
    pub weight: f64,
}

/// A measure of success for every variant, task and experiment that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    metric: Metric,
    experiments: usize,
    tasks: usize,
    values: Vec<Option<f64>>,
}

impl Samples {
    pub fn new(manifest: &Manifest, rows: &[TaskSummary], metric: Metric, point: Point) -> Self {
        let (experiments, tasks) = (manifest.experiments as usize, manifest.tasks as usize);
        let values = vec![None; manifest.variants.len() * tasks * experiments];
        let mut samples = Self { metric, experiments, tasks, values };
        for row in rows {
            let value = match point {
                Point::Best => Some(row.best),
                Point::Recommended => Some(row.recommended),
                Point::Tried => row.mean_tried,
            };
            let at = samples.index(row.variant, row.task) + row.experiment as usize - 1;
            samples.values[at] = value.map(|v| metric.measure(v, row.optimum)).filter(|v| v.is_finite());
        }
        samples
    }

    /// Measured values by variant, experiment and task; all variants have the same experiments and tasks.
    pub fn of(metric: Metric, series: &[&[Vec<f64>]]) -> Self {
        let experiments = series.first().map_or(0, |one| one.len());
        let tasks = series.first().and_then(|one| one.first()).map_or(0, Vec::len);
        let mut values = Vec::with_capacity(series.len() * tasks * experiments);
        for one in series {
            values
                .extend((0..tasks).flat_map(|task| one.iter().map(move |values| values.get(task).copied())));
        }
        Self { metric, experiments, tasks, values }
    }

    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Number of experiments, done or not.
    pub fn experiments(&self) -> usize {
        self.experiments
    }

    fn index(&self, variant: usize, task: u32) -> usize {
        (variant * self.tasks + task as usize - 1) * self.experiments
    }

    /// The values of a variant's task by experiment; empty for a task that the study does not have.
    pub fn at(&self, variant: usize, task: u32) -> &[Option<f64>] {
        if task == 0 || task as usize > self.tasks {
            return &[];
        }
        let start = self.index(variant, task);
        self.values.get(start..start + self.experiments).unwrap_or(&[])
    }

    pub fn estimate(&self, variant: usize, task: u32) -> Option<Estimate> {
        let values: Vec<f64> = self.at(variant, task).iter().flatten().copied().collect();
        Estimate::of(&values)
    }

    /// The weighted sum of the terms for one experiment (index from 0), if all of it was run.
    pub fn combined(&self, terms: &[Term], experiment: usize) -> Option<f64> {
        let term = |t: &Term| {
            let count = t.tasks.clone().count() as f64;
            let value = |task| self.at(t.variant, task).get(experiment).copied().flatten();
            Some(t.weight * t.tasks.clone().map(value).sum::<Option<f64>>()? / count)
        };
        terms.iter().map(term).sum()
    }

    /// The weighted sum of the terms, for each experiment that has them all.
    pub fn contrast(&self, terms: &[Term]) -> Vec<f64> {
        (0..self.experiments).filter_map(|e| self.combined(terms, e)).collect()
    }

    /// By how much `a` is better than `b` over the tasks, paired by experiment.
    pub fn paired_gain(&self, a: usize, b: usize, tasks: RangeInclusive<u32>) -> Option<Estimate> {
        let better = self.metric.gain(1.0, 0.0);
        let term = |variant, weight| Term { variant, tasks: tasks.clone(), weight };
        Estimate::of(&self.contrast(&[term(a, better), term(b, -better)]))
    }
}

/// A setting that is varied to see its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// The weight β of MFT-MES; Continual MF-MES is its β = 0.
    Beta,
    /// The share 1 − c of queries that two-phase MFT-MES spends on transferable knowledge.
    Share,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Lines,
    /// The swept setting against the tasks, as a heat map.
    Surface(Sweep),
    /// The swept setting at some tasks, as curves.
    Slices(Sweep, [u32; 2]),
}

/// A method, and where they matter its particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Who {
    /// The method as in `study.json`.
    pub method: &'static str,
    /// The number of particles, or any.
    pub particles: Option<u32>,
}

impl Who {
    /// The method with any number of particles.
    pub const fn any(method: &'static str) -> Self {
        Self { method, particles: None }
    }

    /// The method with `particles` particles.
    pub const fn with(method: &'static str, particles: u32) -> Self {
        Self { method, particles: Some(particles) }
    }

    pub fn find(&self, manifest: &Manifest) -> Option<usize> {
        let fits = |v: &Variant| {
            let particles = self.particles.is_none_or(|p| v.number("particles") == Some(f64::from(p)));
            v.method == self.method && particles
        };
        manifest.variants.iter().position(fits)
    }

    /// The words for it where it is missing.
    pub fn describe(&self) -> String {
        match self.particles {
            Some(particles) => format!("{} with {particles} particles", self.method),
            None => self.method.to_string(),
        }
    }
}

impl Sweep {
    /// The variants of the sweep with their values, from the least value on. Of equal values the first one counts.
    pub fn members(self, manifest: &Manifest) -> Vec<(f64, usize)> {
        let value = |v: &Variant| match (self, v.method.as_str()) {
            (Self::Beta, "mft-mes") => v.number("beta"),
            (Self::Beta, "continual") => Some(0.0),
            (Self::Share, "two-phase") => v.number("c").map(|c| 1.0 - c),
            _ => None,
        };
        let mut found: Vec<(f64, usize)> = Vec::new();
        for (i, variant) in manifest.variants.iter().enumerate() {
            if let Some(value) = value(variant)
                && !found.iter().any(|(v, _)| same(*v, value))
            {
                found.push((value, i));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Self::Beta => "β",
            Self::Share => "1 − c",
        }
    }

    /// The value with, for β, what the paper would print.
    pub fn label(self, value: f64) -> String {
        let text = setting(value);
        match self {
            Self::Beta if value != 0.0 => format!("{text} ({})", setting(2.0 * value)),
            _ => text,
        }
    }
}

/// A setting as people write it: settings come from `f32`, whose digits beyond the sixth mean nothing.
pub fn setting(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').replace('-', "−")
}

/// Whether two settings are the same number, up to the precision of `f32`.
pub fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::results::fixture::manifest;

    fn row(variant: usize, experiment: u32, task: u32, best: f64) -> TaskSummary {
        let (recommended, optimum) = (best - 1.0, 4.0);
        TaskSummary { variant, experiment, task, best, recommended, optimum, ..TaskSummary::default() }
    }

    #[test]
    fn measures_regret_and_ratio_of_each_point() {
        let rows = [row(1, 2, 3, 3.0)];
        let at = |metric, point| Samples::new(&manifest(), &rows, metric, point).at(1, 3).to_vec();
        assert_eq!(at(Metric::Regret, Point::Best), [None, Some(1.0)]);
        assert_eq!(at(Metric::Regret, Point::Recommended), [None, Some(2.0)]);
        assert_eq!(at(Metric::Ratio, Point::Best), [None, Some(0.75)]);
        assert_eq!(at(Metric::Ratio, Point::Tried), [None, None]);
    }

    #[test]
    fn gains_are_paired_by_experiment_and_positive_when_better() {
        let rows =
            [row(0, 1, 1, 1.0), row(0, 2, 1, 3.0), row(1, 1, 1, 1.5), row(1, 2, 1, 3.7), row(1, 1, 2, 0.0)];
        for (metric, scale) in [(Metric::Regret, 1.0), (Metric::Ratio, 0.25)] {
            let samples = Samples::new(&manifest(), &rows, metric, Point::Best);
            let gain = samples.paired_gain(1, 0, 1..=1).unwrap();
            // Differences 0.5 and 0.7: mean 0.6, standard error 0.1, t(1) = 6.314.
            assert_eq!(gain.n, 2);
            assert!((gain.mean - 0.6 * scale).abs() < 1e-12);
            assert!((gain.half_width.unwrap() - 0.6314 * scale).abs() < 1e-4);
            assert_eq!(samples.paired_gain(1, 0, 1..=2), None, "no experiment has both tasks of both");
        }
    }

    #[test]
    fn tasks_outside_the_study_are_empty() {
        let samples = Samples::new(&manifest(), &[], Metric::Regret, Point::Best);
        assert!(samples.at(0, 0).is_empty() && samples.at(0, 4).is_empty() && samples.at(9, 1).is_empty());
        assert_eq!(samples.estimate(0, 1), None);
        assert_eq!(samples.paired_gain(0, 1, 1..=99), None);
    }

    fn study() -> Manifest {
        let mut m = manifest();
        let base = m.variants[1].clone();
        let variant = |key: &str, method: &str, setting: &str, value: f64| {
            let mut v = Variant { key: key.into(), method: method.into(), ..base.clone() };
            v.settings.insert(setting.into(), value.into());
            v
        };
        m.variants.push(variant("b-big", "mft-mes", "beta", 1.2));
        m.variants.push(variant("b-single", "mft-mes", "beta", f64::from(0.3f32)));
        m.variants.push(variant("cont", "continual", "particles", 5.0));
        m.variants.push(variant("two", "two-phase", "c", 0.6));
        m
    }

    #[test]
    fn sweeps_are_sorted_and_continual_is_beta_zero() {
        let members = Sweep::Beta.members(&study());
        let (values, variants): (Vec<f64>, Vec<usize>) = members.into_iter().unzip();
        assert_eq!(variants, [4, 3, 1, 2]);
        assert!(same(values[1], 0.3) && values[0] == 0.0);
        assert_eq!(Sweep::Share.members(&study()).len(), 1);
    }

    #[test]
    fn variants_are_found_by_method_and_particles() {
        assert_eq!(Who::with("mft-mes", 10).find(&study()), Some(1));
        assert_eq!(Who::with("continual", 10).find(&study()), None);
        assert_eq!(Who::any("continual").find(&study()), Some(4));
    }

    #[test]
    fn labels_show_both_betas() {
        assert_eq!(Sweep::Beta.label(f64::from(0.6f32)), "0.6 (1.2)");
        assert_eq!(Sweep::Beta.label(0.0), "0");
        assert_eq!(Sweep::Share.label(0.4), "0.4");
    }
}
