//! What tests of several problems need: random queries and averages.

use super::random::{Purpose, Random};
use super::{DimensionSpec, Problem, ProblemSpec, Task};

pub(super) fn query(spec: &ProblemSpec, random: &mut Random) -> Vec<f64> {
    let coordinate = |dimension: &DimensionSpec| match dimension {
        DimensionSpec::Interval { low, high, .. } => random.uniform(*low, *high),
        DimensionSpec::Levels { values, .. } => values[random.below(values.len())],
    };
    spec.dimensions.iter().map(coordinate).collect()
}

pub(super) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// `[seed][count]`: regret (on radio the ratio) of the best of so many random queries at the truth in the first task of every seed,
/// averaged over repetitions.
pub(super) fn random_search(
    problem: &str,
    seeds: u64,
    repetitions: usize,
    counts: &[usize],
) -> Vec<Vec<f64>> {
    let problem: Problem = problem.parse().unwrap();
    let spec = problem.spec();
    let truth = spec.fidelities.len() - 1;
    let of_seed = |seed| {
        let task = problem.tasks(seed).task(0);
        let optimum = task.optimum();
        let mut random = Random::new(seed, Purpose::Queries, 0);
        let mut sums = vec![0.0; counts.len()];
        for _ in 0..repetitions {
            let mut best = f64::NEG_INFINITY;
            for done in 1..=counts[counts.len() - 1] {
                best = best.max(task.value(truth, &query(&spec, &mut random)));
                if let Some(place) = counts.iter().position(|&count| count == done) {
                    sums[place] += if spec.name == "rrm" { best / optimum } else { optimum - best };
                }
            }
        }
        sums.iter().map(|sum| sum / repetitions as f64).collect()
    };
    (0..seeds).map(of_seed).collect()
}

/// Correlation of every fidelity with the truth over uniform points, averaged over the first tasks of some seeds.
pub(super) fn correlations(problem: &str, seeds: u64, points: usize) -> Vec<f64> {
    let problem: Problem = problem.parse().unwrap();
    let spec = problem.spec();
    let mut means = vec![0.0; spec.fidelities.len()];
    for seed in 0..seeds {
        let task = problem.tasks(seed).task(0);
        let mut random = Random::new(seed, Purpose::Queries, 0);
        let points: Vec<_> = (0..points).map(|_| query(&spec, &mut random)).collect();
        let values = |fidelity| points.iter().map(|x| Task::value(&*task, fidelity, x)).collect::<Vec<f64>>();
        let truth = values(spec.fidelities.len() - 1);
        for (fidelity, mean) in means.iter_mut().enumerate() {
            *mean += correlation(&values(fidelity), &truth) / seeds as f64;
        }
    }
    means
}

pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean_and_error(a).0, mean_and_error(b).0);
    let product = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
    };
    product(a, mean_a, b, mean_b) / (product(a, mean_a, a, mean_a) * product(b, mean_b, b, mean_b)).sqrt()
}
