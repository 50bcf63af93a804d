//! SafeOpt (Sui, Gotovos, Burdick, Krause, 2015): an opponent that keeps to a floor, too.
//!
//! A Gaussian process at the truth's fidelity, with the kernel of the optimizer at the middle of its prior and the same
//! scale. A point is allowed where the lower confidence bound is above the floor. Among the allowed points that may be
//! the best (*maximisers*) and those whose measurement may allow another one (*expanders*) the one with the widest
//! interval is asked. Nothing is carried on but the recommendation: the observed point with the highest mean.

use foretune_core::{Dimension, Problem, Settings};

use crate::problems::random::{Purpose, Random};

/// Half of a confidence interval, in standard deviations.
const BETA: f64 = 2.0;
/// Candidates looked at for a query.
const CANDIDATES: usize = 300;
/// How far from points that were asked candidates lie, in the unit cube.
const DISTANCES: [f64; 4] = [0.3, 0.1, 0.03, 0.01];

pub(super) struct SafeOpt {
    start: Vec<f32>,
    points: Vec<Vec<f32>>,
    answers: Vec<f64>,
    asked: Option<Vec<f32>>,
    random: Random,
}

impl SafeOpt {
    pub fn new(start: Vec<f32>, seed: u64, task: usize) -> Self {
        let random = Random::new(seed, Purpose::Baseline, task);
        Self { start, points: Vec::new(), answers: Vec::new(), asked: None, random }
    }

    /// The next point to try: at first the one in use.
    pub fn next(&mut self, problem: &Problem<'_>) -> Vec<f32> {
        let point = if self.answers.is_empty() { None } else { self.widest(problem) };
        let point = point.unwrap_or_else(|| self.start.clone());
        self.asked = Some(point.clone());
        point
    }

    /// A measurement that failed teaches nothing.
    pub fn tell(&mut self, y: Option<f32>) {
        if let (Some(point), Some(y)) = (self.asked.take(), y) {
            self.points.push(point);
            self.answers.push(f64::from(y));
        }
    }

    /// The observed point with the highest mean, and that mean.
    pub fn best(&self, problem: &Problem<'_>) -> Option<(Vec<f32>, f32)> {
        let process = Process::new(self, problem)?;
        let means = self.points.iter().map(|x| process.posterior(x).mean);
        let (i, mean) = means.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((self.points[i].clone(), process.natural(mean) as f32))
    }

    fn widest(&mut self, problem: &Problem<'_>) -> Option<Vec<f32>> {
        let candidates = self.candidates(problem.dimensions);
        let process = Process::new(self, problem)?;
        let beliefs: Vec<Belief> = candidates.iter().map(|x| process.posterior(x)).collect();
        let (allowed, others): (Vec<usize>, Vec<usize>) =
            (0..candidates.len()).partition(|&i| beliefs[i].low() >= process.floor);
        let best = allowed.iter().map(|&i| beliefs[i].low()).fold(f64::NEG_INFINITY, f64::max);
        let mut order = allowed;
        order.sort_by(|&a, &b| beliefs[b].deviation.total_cmp(&beliefs[a].deviation));
        let useful = |&i: &usize| {
            let expands = |&j: &usize| process.low_after(&beliefs[i], &beliefs[j]) >= process.floor;
            beliefs[i].high() >= best || others.iter().any(expands)
        };
        order.into_iter().find(useful).map(|i| candidates[i].clone())
    }

    /// The points that were asked, and others around them.
    fn candidates(&mut self, dimensions: &[Dimension<'_>]) -> Vec<Vec<f32>> {
        let mut candidates = self.points.clone();
        let mut pick = 0;
        while candidates.len() < CANDIDATES {
            let (centre, distance) = (
                &self.points[pick % self.points.len()],
                DISTANCES[pick / self.points.len() % DISTANCES.len()],
            );
            let moved = |(x, dimension): (&f32, &Dimension<'_>)| {
                let by = self.random.uniform(-distance, distance) as f32;
                dimension.snap((x + by).clamp(0.0, 1.0))
            };
            let point = centre.iter().zip(dimensions).map(moved).collect();
            candidates.push(point);
            pick += 1;
        }
        candidates
    }
}

/// What is believed of a point, standardised.
struct Belief {
    mean: f64,
    deviation: f64,
    /// `L⁻¹ k`, for covariances with other points.
    whitened: Vec<f64>,
    point: Vec<f32>,
}

impl Belief {
    fn low(&self) -> f64 {
        self.mean - BETA * self.deviation
    }

    fn high(&self) -> f64 {
        self.mean + BETA * self.deviation
    }
}

struct Process<'a> {
    points: &'a [Vec<f32>],
    /// Rows of the Cholesky factor of `K + σ² I`.
    factor: Vec<Vec<f64>>,
    /// `L⁻¹ z`.
    whitened: Vec<f64>,
    floor: f64,
    noise: f64,
    mean: f64,
    unit: f64,
}

impl<'a> Process<'a> {
    /// None without an answer or a floor.
    fn new(task: &'a SafeOpt, problem: &Problem<'_>) -> Option<Self> {
        let (v, level) = (*task.answers.first()?, problem.floor?.level);
        let floor = f64::from(level.at(v as f32, 1.0));
        let variance = f64::from(problem.fidelities[problem.truth()].noise);
        // The optimizer's own scale: 2.5 times what the floor leaves, and little expected of what is not known.
        let unit = (2.5 * (v - floor).abs()).max(4.0 * variance.sqrt()).max(1e-9);
        let mean = v - 2.0 * unit;
        let mut process = Self {
            points: &task.points,
            factor: Vec::new(),
            whitened: Vec::new(),
            floor: (floor - mean) / unit,
            noise: (variance / unit / unit).max(1e-6),
            mean,
            unit,
        };
        for (x, y) in task.points.iter().zip(&task.answers) {
            process.push(x, (y - mean) / unit);
        }
        Some(process)
    }

    fn push(&mut self, x: &[f32], z: f64) {
        let mut row = self.solve(x);
        let pivot = (kernel(x, x) + self.noise - dot(&row, &row)).max(1e-9).sqrt();
        self.whitened.push((z - dot(&row, &self.whitened)) / pivot);
        row.push(pivot);
        self.factor.push(row);
    }

    /// `L⁻¹ k(x)`.
    fn solve(&self, x: &[f32]) -> Vec<f64> {
        let mut solution: Vec<f64> = Vec::new();
        for (row, other) in self.factor.iter().zip(self.points) {
            let (known, pivot) = (dot(row, &solution), row[solution.len()]);
            solution.push((kernel(x, other) - known) / pivot);
        }
        solution
    }

    fn posterior(&self, x: &[f32]) -> Belief {
        let whitened = self.solve(x);
        let variance = (kernel(x, x) - dot(&whitened, &whitened)).max(0.0);
        let mean = dot(&whitened, &self.whitened);
        Belief { mean, deviation: variance.sqrt(), whitened, point: x.to_vec() }
    }

    /// The lower bound of `other` if `asked` gave its upper bound, without noise.
    fn low_after(&self, asked: &Belief, other: &Belief) -> f64 {
        let covariance = kernel(&asked.point, &other.point) - dot(&asked.whitened, &other.whitened);
        let gain = covariance / (asked.deviation * asked.deviation).max(1e-9);
        let mean = other.mean + gain * BETA * asked.deviation;
        let variance = (other.deviation * other.deviation - gain * covariance).max(0.0);
        mean - BETA * variance.sqrt()
    }

    fn natural(&self, z: f64) -> f64 {
        self.mean + self.unit * z
    }
}

/// The optimizer's kernel at the middle of its prior: `s exp(−‖x − x'‖² / ℓ²)`.
fn kernel(a: &[f32], b: &[f32]) -> f64 {
    let prior = Settings::DEFAULT.details.prior;
    let (length, signal) = (libm::exp(f64::from(prior.length.mean)), libm::exp(f64::from(prior.signal.mean)));
    let square: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a - b) * f64::from(a - b)).sum();
    signal * libm::exp(-square / length / length)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_core::{Fidelity, Floor, Level};

    const PROBLEM: Problem<'static> = Problem {
        dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
        fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 1e-4 }],
        budget: 30.0,
        deployed: Some(&[0.2, 0.2]),
        floor: Some(Floor { level: Level::Drop(1.0), risk: 0.05 }),
        ..Problem::PLAIN
    };

    fn hill(x: &[f32]) -> f32 {
        10.0 - 20.0 * ((x[0] - 0.6) * (x[0] - 0.6) + (x[1] - 0.4) * (x[1] - 0.4))
    }

    #[test]
    fn it_climbs_a_hill_and_keeps_above_the_floor() {
        let mut task = SafeOpt::new(vec![0.2, 0.2], 1, 1);
        let mut below = 0;
        for _ in 0..30 {
            let x = task.next(&PROBLEM);
            below += u32::from(hill(&x) < hill(&[0.2, 0.2]) - 1.0);
            task.tell(Some(hill(&x)));
        }
        let (best, mean) = task.best(&PROBLEM).unwrap();
        assert!(hill(&best) > 9.0 && (mean - hill(&best)).abs() < 0.2, "{best:?} {mean}");
        assert!(below <= 2, "{below} trials below");
    }

    #[test]
    fn the_posterior_interpolates_and_widens() {
        let mut task = SafeOpt::new(vec![0.2, 0.2], 1, 1);
        task.next(&PROBLEM);
        task.tell(None);
        assert!(task.best(&PROBLEM).is_none(), "a failure teaches nothing");
        for y in [5.0, 5.1] {
            task.asked = Some(vec![0.2, 0.2]);
            task.tell(Some(y));
        }
        let process = Process::new(&task, &PROBLEM).unwrap();
        let [near, far] = [[0.2, 0.2], [0.9, 0.9]].map(|x| process.posterior(&x));
        assert!((process.natural(near.mean) - 5.05).abs() < 0.02 && near.deviation < 0.01);
        assert!(far.deviation > 1.9 && far.low() < process.floor);
    }
}
