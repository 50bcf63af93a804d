//! One number per variant, task and experiment: the measure of success that figures and claims work on.

use std::ops::RangeInclusive;

use host_sim::results::{Manifest, TaskSummary};

use crate::stats::Estimate;

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
            "rrm" => Self::Ratio,
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

    /// The measure of a value.
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
    /// The weight in the sum.
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
    /// Measures the summary rows of a study.
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

    /// How the values are measured.
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

    /// Mean and interval of a variant's task.
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

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::results::fixture::manifest;

    fn row(variant: usize, experiment: u32, task: u32, best: f64) -> TaskSummary {
        TaskSummary {
            variant,
            experiment,
            task,
            queries: 1,
            spent: 1.0,
            best,
            recommended: best - 1.0,
            optimum: 4.0,
            mean_tried: None,
            meanwhile: None,
            below: None,
            worst: None,
            deployed: None,
        }
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
}
