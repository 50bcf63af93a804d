//! Five classic multi-fidelity functions, each as a family of tasks whose optimum moves.
//!
//! Task n of a family is the printed function seen from elsewhere, with other weights:
//! `value⁽ᵐ⁾ₙ(x) = −f⁽ᵐ⁾(x − sₙ; wₙ)`, shift `sₙ` uniform within the family's reach, weights `wₙ ~ U(0.8, 1.2)`, one
//! for every term of the function. The minimum of every `f` is known whatever the weights, and lies in the domain
//! wherever the shift puts it, so the optimum of a task is known exactly.
//!
//! | item | value | origin |
//! |---|---|---|
//! | functions and lower fidelities | see the families | from a source, except Levy's lower fidelities: our choice |
//! | shifts, weights, costs, budgets | see the families | our choice |
//! | noise | standard deviation 2 % of the truth's over uniform points, at all fidelities | our choice |
//! | initial points | 2D + 2 | as in the paper |
//!
//! They are there to keep us honest: no setting of ours was chosen on them.

mod branin;
mod forrester;
mod himmelblau;
mod levy;
mod rosenbrock;

use super::random::{Purpose, Random};
use super::{DimensionSpec, FidelitySpec, Measure, ProblemSpec, Task};

/// One of the classic functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Classic {
    /// Forrester, one dimension.
    Forrester,
    /// Branin, two dimensions.
    Branin,
    /// Himmelblau, two dimensions.
    Himmelblau,
    /// Rosenbrock, four dimensions.
    Rosenbrock,
    /// Levy, eight dimensions.
    Levy,
}

/// Everything about one of them. Functions are minimised here, as printed.
struct Family {
    name: &'static str,
    /// Lowest and highest value of every coordinate.
    domain: &'static [(f64, f64)],
    /// The largest shift of every coordinate, either way.
    reach: f64,
    /// Number of weights.
    weights: usize,
    /// Costs from the cheapest fidelity to the truth.
    costs: &'static [f64],
    budget: f64,
    /// Mean and standard deviation of the truth, as maximised, over uniform points of many tasks.
    scale: (f64, f64),
    /// A point in use before anything was tuned.
    deployed: &'static [f64],
    /// The function at a fidelity, unshifted.
    function: fn(fidelity: usize, x: &[f64], weights: &[f64]) -> f64,
    /// Where it is lowest at the truth, unshifted, and what it is there.
    lowest: fn(weights: &[f64]) -> (Vec<f64>, f64),
}

impl Classic {
    /// All of them, by dimension.
    pub const ALL: [Self; 5] =
        [Self::Forrester, Self::Branin, Self::Himmelblau, Self::Rosenbrock, Self::Levy];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.family().name
    }

    fn family(self) -> &'static Family {
        match self {
            Self::Forrester => &forrester::FAMILY,
            Self::Branin => &branin::FAMILY,
            Self::Himmelblau => &himmelblau::FAMILY,
            Self::Rosenbrock => &rosenbrock::FAMILY,
            Self::Levy => &levy::FAMILY,
        }
    }

    pub(super) fn spec(self, name: String) -> ProblemSpec {
        let family = self.family();
        let (scale_mean, scale_deviation) = family.scale;
        let noise_variance = (0.02 * scale_deviation) * (0.02 * scale_deviation);
        let dimension = |(j, &(low, high)): (usize, &(f64, f64))| DimensionSpec::Interval {
            name: format!("x{}", j + 1),
            unit: String::new(),
            low,
            high,
        };
        ProblemSpec {
            name,
            dimensions: family.domain.iter().enumerate().map(dimension).collect(),
            fidelities: family
                .costs
                .iter()
                .map(|&cost| FidelitySpec { cost, samples: 1, noise_variance })
                .collect(),
            budget: family.budget,
            initial: 2 * family.domain.len() + 2,
            scale_mean,
            scale_deviation,
            measure: Measure::SimpleRegret,
            tasks: 10,
            deployed: family.deployed.to_vec(),
        }
    }

    pub(super) fn task(self, seed: u64, task: usize) -> Function {
        let family = self.family();
        let mut random = Random::new(seed, Purpose::Classic, task);
        let shift = family.domain.iter().map(|_| random.uniform(-family.reach, family.reach)).collect();
        let weights = (0..family.weights).map(|_| random.uniform(0.8, 1.2)).collect();
        Function { family, shift, weights, reflected: false }
    }

    /// The same draw, every coordinate reflected at the middle of its range.
    pub(super) fn unlike_task(self, seed: u64, task: usize) -> Function {
        Function { reflected: true, ..self.task(seed, task) }
    }
}

/// One task.
pub(super) struct Function {
    family: &'static Family,
    shift: Vec<f64>,
    weights: Vec<f64>,
    reflected: bool,
}

impl Function {
    /// Between the coordinates of the task and those before reflection, in either direction.
    fn reflect(&self, x: &[f64]) -> Vec<f64> {
        let flip = |(x, (low, high)): (&f64, &(f64, f64))| if self.reflected { low + high - x } else { *x };
        x.iter().zip(self.family.domain).map(flip).collect()
    }
}

impl Task for Function {
    fn value(&self, fidelity: usize, x: &[f64]) -> f64 {
        assert!(x.len() == self.shift.len(), "as many coordinates as the function has");
        let unshifted: Vec<f64> =
            self.reflect(x).iter().zip(&self.shift).map(|(x, shift)| x - shift).collect();
        -(self.family.function)(fidelity, &unshifted, &self.weights)
    }

    fn optimum(&self) -> f64 {
        -(self.family.lowest)(&self.weights).1
    }

    fn optimum_at(&self) -> Vec<f64> {
        let (lowest, _) = (self.family.lowest)(&self.weights);
        let shifted: Vec<f64> = lowest.iter().zip(&self.shift).map(|(x, shift)| x + shift).collect();
        self.reflect(&shifted)
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial;
    use super::*;

    /// Halving steps along the coordinates: where it ends, no step of its last length leads higher.
    fn climb(task: &Function, truth: usize, mut x: Vec<f64>) -> f64 {
        let mut best = task.value(truth, &x);
        let mut length = 0.1;
        while length > 1e-6 {
            let before = best;
            for (j, &(low, high)) in task.family.domain.iter().enumerate() {
                for step in [-length, length] {
                    let mut moved = x.clone();
                    moved[j] = (moved[j] + step * (high - low)).clamp(low, high);
                    let value = task.value(truth, &moved);
                    if value > best {
                        (best, x) = (value, moved);
                    }
                }
            }
            length = if best > before { length } else { length / 2.0 };
        }
        best
    }

    #[test]
    fn nothing_is_higher_than_the_optimum_and_the_optimum_is_in_the_domain() {
        for classic in Classic::ALL {
            let spec = classic.spec(String::new());
            let truth = spec.fidelities.len() - 1;
            for n in 0..20 {
                for task in [classic.task(1, n), classic.unlike_task(1, n)] {
                    let (optimum, at) = (task.optimum(), task.optimum_at());
                    assert!((task.value(truth, &at) - optimum).abs() < 1e-9, "{classic:?} {n}");
                    let inside = |(x, d): (&f64, &DimensionSpec)| d.range().0 <= *x && *x <= d.range().1;
                    assert!(at.iter().zip(&spec.dimensions).all(inside), "{classic:?} {at:?}");
                    let mut random = Random::new(2, Purpose::Queries, n);
                    for _ in 0..10 {
                        let top = climb(&task, truth, trial::query(&spec, &mut random));
                        assert!(top < optimum + 1e-9, "{classic:?} {n}: {top} above {optimum}");
                    }
                }
            }
        }
    }
}
