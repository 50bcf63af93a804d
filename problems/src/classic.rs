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

use core::f64::consts::PI;

use super::random::{Purpose, Random};
use super::{DimensionSpec, FidelitySpec, ProblemSpec, Task};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Classic {
    Forrester,
    Branin,
    Himmelblau,
    Rosenbrock,
    Levy,
}

/// Everything about one of them. Functions are minimised here, as printed.
struct Family {
    name: &'static str,
    /// Lowest and highest value of every coordinate.
    domain: &'static [(f64, f64)],
    /// The largest shift of every coordinate, either way.
    reach: f64,
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
    pub const ALL: [Self; 5] =
        [Self::Forrester, Self::Branin, Self::Himmelblau, Self::Rosenbrock, Self::Levy];

    pub fn name(self) -> &'static str {
        self.family().name
    }

    fn family(self) -> &'static Family {
        match self {
            Self::Forrester => &FORRESTER,
            Self::Branin => &BRANIN,
            Self::Himmelblau => &HIMMELBLAU,
            Self::Rosenbrock => &ROSENBROCK,
            Self::Levy => &LEVY,
        }
    }

    pub(super) fn spec(self, name: String) -> ProblemSpec {
        let family = self.family();
        let (scale_mean, scale_deviation) = family.scale;
        let noise_variance = (0.02 * scale_deviation) * (0.02 * scale_deviation);
        let dimension = |(j, &(low, high)): (usize, &(f64, f64))| {
            DimensionSpec::interval(format!("x{}", j + 1), "", low, high)
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
            free_start: true,
            scale_mean,
            scale_deviation,
            tasks: 10,
            deployed: family.deployed.to_vec(),
        }
    }

    /// A task; one unlike the others is the same draw, every coordinate reflected at the middle of its range.
    pub(super) fn task(self, seed: u64, task: usize, unlike: bool) -> Function {
        let family = self.family();
        let mut random = Random::new(seed, Purpose::Classic, task);
        let shift = family.domain.iter().map(|_| random.uniform(-family.reach, family.reach)).collect();
        let weights = (0..family.weights).map(|_| random.uniform(0.8, 1.2)).collect();
        Function { family, shift, weights, reflected: unlike }
    }
}

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

/// Forrester, one dimension, three fidelities.
///
/// `f(x) = (6x − 2)² sin(12x − 4)` on [0, 1], lowest −6.0207 at 0.7572, with a second dip at 0.14. Below it
/// `(5.5x − 2.5)² sin(12x − 4)`, which bends it, and below that `f/2 + 10(x − ½) − 5`, whose lowest point is in the
/// wrong dip. One weight, on all of it. A shift of at most 0.1 keeps the fall beyond x = 1.13 out of the domain.
///
/// Source: Forrester, Sóbester, Keane, *Multi-fidelity optimization via surrogate modelling* (2007); the fidelities as in
/// Mainini et al., *Analytical benchmark problems for multifidelity optimization methods* (2022), numbers 4, 2 and 1.
const FORRESTER: Family = Family {
    name: "forrester",
    domain: &[(0.0, 1.0)],
    reach: 0.1,
    weights: 1,
    costs: &[1.0, 10.0, 20.0],
    budget: 200.0,
    scale: (-0.6, 4.7),
    deployed: &[0.69],
    function: forrester_at,
    lowest: |weights| (vec![0.757_248_757_841_856], -6.020_740_055_767_083 * weights[0]),
};

fn forrester_at(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    let x = x[0];
    let wave = |root: f64| weights[0] * root * root * libm::sin(12.0 * x - 4.0);
    match fidelity {
        0 => 0.5 * wave(6.0 * x - 2.0) + 10.0 * (x - 0.5) - 5.0,
        1 => wave(5.5 * x - 2.5),
        _ => wave(6.0 * x - 2.0),
    }
}

/// Branin, two dimensions, three fidelities.
///
/// `f(x) = (x₂ − 5.1 x₁²/4π² + 5 x₁/π − 6)² + 10 (1 − 1/8π) cos x₁ + 10` on [−5, 10] × [0, 15]: three lowest points of
/// the same depth, 10/8π, at (−π, 12.275), (π, 2.275), (3π, 2.475). The middle fidelity is `10 √f(x − 2) + 2(x₁ − ½) −
/// 3(3x₂ − 1) − 1`, the cheapest that at `1.2(x + 2)`, minus `3x₂ − 1`. Two weights: of the square, and of the rest.
///
/// Source: Perdikaris et al., *Nonlinear information fusion algorithms for data-efficient multi-fidelity modelling* (2017).
const BRANIN: Family = Family {
    name: "branin",
    domain: &[(-5.0, 10.0), (0.0, 15.0)],
    reach: 1.5,
    weights: 2,
    costs: &[2.0, 8.0, 20.0],
    budget: 400.0,
    scale: (-56.0, 55.0),
    deployed: &[7.9, 1.7],
    function: branin_at,
    lowest: |weights| (vec![PI, 2.275], weights[1] * 10.0 / (8.0 * PI)),
};

fn branin_at(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    let [x1, x2] = [x[0], x[1]];
    match fidelity {
        0 => middle(1.2 * (x1 + 2.0), 1.2 * (x2 + 2.0), weights) - 3.0 * x2 + 1.0,
        1 => middle(x1, x2, weights),
        _ => branin(x1, x2, weights),
    }
}

fn branin(x1: f64, x2: f64, weights: &[f64]) -> f64 {
    let root = x2 - 5.1 * x1 * x1 / (4.0 * PI * PI) + 5.0 * x1 / PI - 6.0;
    weights[0] * root * root + weights[1] * (10.0 * (1.0 - 1.0 / (8.0 * PI)) * libm::cos(x1) + 10.0)
}

fn middle(x1: f64, x2: f64, weights: &[f64]) -> f64 {
    10.0 * branin(x1 - 2.0, x2 - 2.0, weights).sqrt() + 2.0 * (x1 - 0.5) - 3.0 * (3.0 * x2 - 1.0) - 1.0
}

/// Himmelblau, two dimensions, two fidelities.
///
/// `f(x) = (x₁² + x₂ − 11)² + (x₁ + x₂² − 7)²` on [−5, 5]²: zero at (3, 2) and at three points more, one in each quadrant. The
/// cheap fidelity, `f(x₁/2, 0.8 x₂) + x₂³ − (x₁ + 1)²`, has its low points elsewhere. Two weights, one for each square.
///
/// Source: Himmelblau, *Applied nonlinear programming* (1972); the cheap one from Dong et al., *Multi-fidelity information
/// fusion based on prediction of kriging* (2015).
const HIMMELBLAU: Family = Family {
    name: "himmelblau",
    domain: &[(-5.0, 5.0), (-5.0, 5.0)],
    reach: 1.0,
    weights: 2,
    costs: &[4.0, 20.0],
    budget: 400.0,
    scale: (-159.0, 160.0),
    deployed: &[2.3, 2.8],
    function: himmelblau_at,
    lowest: |_| (vec![3.0, 2.0], 0.0),
};

fn himmelblau_at(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    let [x1, x2] = [x[0], x[1]];
    match fidelity {
        0 => himmelblau(0.5 * x1, 0.8 * x2, weights) + x2 * x2 * x2 - (x1 + 1.0) * (x1 + 1.0),
        _ => himmelblau(x1, x2, weights),
    }
}

fn himmelblau(x1: f64, x2: f64, weights: &[f64]) -> f64 {
    let [first, second] = [x1 * x1 + x2 - 11.0, x1 + x2 * x2 - 7.0];
    weights[0] * first * first + weights[1] * second * second
}

/// Rosenbrock, four dimensions, three fidelities.
///
/// `f(x) = Σᵢ 100 (xᵢ₊₁ − xᵢ²)² + (1 − xᵢ)²` on [−2, 2]⁴: zero at (1, 1, 1, 1), at the end of a long bent valley. The middle
/// fidelity, `Σᵢ 50 (xᵢ₊₁ − xᵢ²)² + (−2 − xᵢ)² − Σⱼ xⱼ/2`, slopes the other way along the valley; the cheapest,
/// `(f − 4 − Σⱼ xⱼ/2) / (10 + Σⱼ xⱼ/4)`, is flatter. Two weights: of the valley's walls and of its floor.
///
/// Source: Rosenbrock (1960); the fidelities from Mainini et al., *Analytical benchmark problems for multifidelity
/// optimization methods* (2022), numbers 3, 2 and 1.
const ROSENBROCK: Family = Family {
    name: "rosenbrock",
    domain: &[(-2.0, 2.0); 4],
    reach: 0.8,
    weights: 2,
    costs: &[2.0, 10.0, 20.0],
    budget: 400.0,
    scale: (-2000.0, 2030.0),
    deployed: &[-1.05, -0.45, -0.16, -0.23],
    function: rosenbrock_at,
    lowest: |_| (vec![1.0; 4], 0.0),
};

fn rosenbrock_at(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    let total: f64 = x.iter().sum();
    match fidelity {
        0 => (valley(100.0, 1.0, x, weights) - 4.0 - 0.5 * total) / (10.0 + 0.25 * total),
        1 => valley(50.0, -2.0, x, weights) - 0.5 * total,
        _ => valley(100.0, 1.0, x, weights),
    }
}

/// `Σᵢ steepness (xᵢ₊₁ − xᵢ²)² + (end − xᵢ)²`.
fn valley(steepness: f64, end: f64, x: &[f64], weights: &[f64]) -> f64 {
    let term = |pair: &[f64]| {
        let [wall, floor] = [pair[1] - pair[0] * pair[0], end - pair[0]];
        weights[0] * steepness * wall * wall + weights[1] * floor * floor
    };
    x.windows(2).map(term).sum()
}

/// Levy, eight dimensions, three fidelities.
///
/// With `wⱼ = 1 + (xⱼ − 1)/4`, `f(x) = sin²(πw₁) + Σ_{j<8} (wⱼ − 1)² (1 + 10 sin²(πwⱼ + 1)) + (w₈ − 1)² (1 + sin²(2πw₈))` on
/// [−10, 10]⁸: a bowl with many dents, zero at (1, …, 1). The lower fidelities are ours: the middle one has half the dents
/// and lies 0.5 further in every coordinate, the cheapest has none and lies 1.5 further. Eight weights, one for each
/// coordinate.
///
/// Source: Levy, Montalvo, *The tunneling algorithm for the global minimization of functions* (1985), in the form of
/// Laguna, Martí (2005).
const LEVY: Family = Family {
    name: "levy",
    domain: &[(-10.0, 10.0); 8],
    reach: 3.0,
    weights: 8,
    costs: &[2.0, 8.0, 20.0],
    budget: 400.0,
    scale: (-102.0, 49.0),
    deployed: &[5.3, 4.6, 1.4, 9.6, 7.3, -2.2, 3.6, 0.0],
    function: levy_at,
    lowest: |_| (vec![1.0; 8], 0.0),
};

fn levy_at(fidelity: usize, x: &[f64], weights: &[f64]) -> f64 {
    match fidelity {
        0 => levy(0.0, 1.5, x, weights),
        1 => levy(0.5, 0.5, x, weights),
        _ => levy(1.0, 0.0, x, weights),
    }
}

/// The function with a share of its dents, moved by `offset`.
pub(super) fn levy(dents: f64, offset: f64, x: &[f64], weights: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let last = x.len() - 1;
    let term = |(j, x): (usize, &f64)| {
        let w = 1.0 + (x - offset - 1.0) / 4.0;
        let dent =
            if j < last { 10.0 * square(libm::sin(PI * w + 1.0)) } else { square(libm::sin(2.0 * PI * w)) };
        let first = if j == 0 { dents * square(libm::sin(PI * w)) } else { 0.0 };
        weights[j] * (first + square(w - 1.0) * (1.0 + dents * dent))
    };
    x.iter().enumerate().map(term).sum()
}
