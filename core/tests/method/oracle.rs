//! The model and what queries are worth, once more: in `f64`, straight from the equations, with no thought of speed.

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

pub type Point = [f64; 2];

#[derive(Clone, Copy, Debug)]
pub struct Observation {
    pub point: Point,
    pub fidelity: usize,
    /// Variance.
    pub noise: f64,
    pub y: f64,
}

/// Logarithms of the parameters at `θ = 0`.
#[derive(Clone, Copy)]
pub struct Offsets {
    pub length: f32,
    pub signal: f32,
    pub gamma: f32,
}

/// What one particle stands for: `s exp(−Σⱼ Δⱼ²/(2ℓⱼ²)) exp(−γ Δm²)`.
pub struct Model {
    lengths: [f64; 2],
    pub signal: f64,
    gamma: f64,
}

impl Model {
    pub fn new(theta: &[f64], offsets: Offsets) -> Model {
        let exp = |i: usize, offset: f32| (theta[i] + f64::from(offset)).exp();
        let lengths = [exp(0, offsets.length), exp(1, offsets.length)];
        Model { lengths, signal: exp(2, offsets.signal), gamma: exp(3, offsets.gamma) }
    }

    pub fn kernel(&self, (x, m): (Point, usize), (x2, m2): (Point, usize)) -> f64 {
        let scaled = |j: usize| (x[j] - x2[j]) / self.lengths[j];
        let gap = m.abs_diff(m2) as f64;
        self.signal * (-0.5 * (scaled(0).powi(2) + scaled(1).powi(2)) - self.gamma * gap * gap).exp()
    }
}

/// What is believed of one fidelity at one point.
#[derive(Clone, Copy, Debug)]
pub struct Belief {
    pub mean: f64,
    pub variance: f64,
    /// With the truth at the same point.
    pub covariance: f64,
}

/// A Gaussian process with its data: `K + σ²I = LLᵀ`.
pub struct Posterior<'a> {
    model: &'a Model,
    known: &'a [Observation],
    factor: Vec<Vec<f64>>,
    whitened: Vec<f64>,
}

impl<'a> Posterior<'a> {
    pub fn new(model: &'a Model, known: &'a [Observation]) -> Self {
        let at = |o: &Observation| (o.point, o.fidelity);
        let matrix = |i: usize, j: usize| {
            let noise = if i == j { known[i].noise } else { 0.0 };
            model.kernel(at(&known[i]), at(&known[j])) + noise
        };
        let factor = cholesky(known.len(), matrix);
        let whitened = solve(&factor, known.iter().map(|o| o.y).collect());
        Posterior { model, known, factor, whitened }
    }

    fn whiten(&self, at: (Point, usize)) -> Vec<f64> {
        let kernel = |o: &Observation| self.model.kernel((o.point, o.fidelity), at);
        solve(&self.factor, self.known.iter().map(kernel).collect())
    }

    /// Eq. (18).
    pub fn at(&self, point: Point, fidelity: usize, truth: usize) -> Belief {
        let (own, true_one) = (self.whiten((point, fidelity)), self.whiten((point, truth)));
        Belief {
            mean: dot(&own, &self.whitened),
            variance: self.model.signal - dot(&own, &own),
            covariance: self.model.kernel((point, fidelity), (point, truth)) - dot(&own, &true_one),
        }
    }
}

/// The lower factor of a positive definite matrix.
pub fn cholesky(n: usize, matrix: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    let mut factor: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        let mut row: Vec<f64> = Vec::new();
        for (j, above) in factor.iter().enumerate() {
            let known = dot(&row, &above[..j]);
            row.push((matrix(i, j) - known) / above[j]);
        }
        let pivot = matrix(i, i) - dot(&row, &row);
        assert!(pivot > 0.0, "not positive definite");
        row.push(pivot.sqrt());
        factor.push(row);
    }
    factor
}

/// `L⁻¹ b`.
pub fn solve(factor: &[Vec<f64>], mut b: Vec<f64>) -> Vec<f64> {
    for (i, row) in factor.iter().enumerate() {
        b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
    }
    b
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Eq. (36), with the noise in both terms: what an observation tells about which of the particles is right.
pub fn transfer(beliefs: &[Belief], noise: f64) -> f64 {
    let of = |part: fn(&Belief) -> f64| mean(beliefs.iter().map(part));
    let middle = of(|b| b.mean);
    let mixture = of(|b| b.variance + b.mean * b.mean) - middle * middle;
    let each = mean(beliefs.iter().map(|b| (b.variance + noise).ln()));
    (0.5 * ((mixture + noise).ln() - each)).clamp(0.0, (beliefs.len() as f64).ln())
}

/// The correlated form: what an observation tells about the value of the optimum, of which `maxima` are samples.
pub fn information(belief: &Belief, truth: &Belief, noise: f64, maxima: &[f64]) -> f64 {
    let share = belief.covariance.powi(2) / ((belief.variance + noise) * truth.variance);
    let of = |maximum: &f64| {
        let g = (maximum - truth.mean) / truth.variance.sqrt();
        let r = density(g) / cdf(g);
        -0.5 * (1.0 - share * r * (g + r)).ln()
    };
    mean(maxima.iter().map(of))
}

fn density(g: f64) -> f64 {
    (-0.5 * g * g).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

fn cdf(g: f64) -> f64 {
    0.5 * libm::erfc(-g * std::f64::consts::FRAC_1_SQRT_2)
}

/// Samples of the optimum's value: a Gumbel distribution through the quartiles of the largest of all beliefs at the
/// target fidelity, and no sample below the best mean.
pub fn maxima(truths: &[Belief], uniform: &[f64]) -> Vec<f64> {
    let ln_probability =
        |z: f64| truths.iter().map(|b| cdf((z - b.mean) / b.variance.sqrt()).ln()).sum::<f64>();
    let quantile = |p: f64| {
        let (mut low, mut high) = (-20.0, 20.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if ln_probability(middle) < p.ln() { low = middle } else { high = middle }
        }
        low
    };
    let twice_ln = |p: f64| (-p.ln()).ln();
    let [lower, median, upper] = [0.25, 0.5, 0.75].map(quantile);
    let scale = (upper - lower) / (twice_ln(0.25) - twice_ln(0.75));
    let location = median + scale * twice_ln(0.5);
    let least = truths.iter().map(|b| b.mean).fold(f64::NEG_INFINITY, f64::max);
    uniform.iter().map(|p| (location - scale * twice_ln(*p)).max(least)).collect()
}

/// What a stream of random numbers is for.
#[derive(Clone, Copy)]
pub enum Purpose {
    MaxValues = 4,
    Coin = 5,
}

/// The uniform numbers that a round of a task draws for a purpose, as documented: the same on every machine.
pub fn uniform(count: usize, seed: u64, (task, round): (u32, u32), purpose: Purpose, index: u32) -> Vec<f64> {
    let mut state = mix(seed);
    for part in [task, round, purpose as u32, index] {
        state = mix(state ^ (u64::from(part) << 1 | 1));
    }
    let first = mix(state);
    let bytes = [first.to_le_bytes(), mix(first).to_le_bytes()].concat();
    let mut random = XorShiftRng::from_seed(bytes.try_into().expect("16 bytes"));
    (0..count).map(|_| f64::from(random.next_u32() >> 8) / 16_777_216.0).collect()
}

/// The finaliser of SplitMix64.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
