//! What is believed of `θ` before a task's first observation.
//!
//! All tasks' objectives come from a process with the same `θ`, Eq. (1). Task 1: independent Gaussians, Eq. (2). The
//! paper's `N(0, 0.5)` on every weight saturates the tanh layers, so a variance per fan-in is offered beside it. Task
//! n > 1: a Gaussian kernel density estimate on the particles that task n−1 left (Sec. IV-B of the paper), which stand
//! for the data of Eq. (8): `p_n(θ) = 1/V Σ_c N(θ; c, b²I)`, mixed with the first prior so that a wrong belief can be
//! left: `(1 − ε) KDE + ε p(θ)`, `ε = 0` in the paper.

use core::array;
use core::ops::Range;

use crate::features::{LAYERS, Map, shears_at};
use crate::kernel::{Model, Offsets};
use crate::kernels::SIDE;
use crate::linalg::{Matrix, column};
use crate::math;
use crate::random::Random;

/// Variance of the deep map's weights and biases, and of the linear map's shears; 10⁻¹² to 10⁶.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Weights {
    /// The same for all.
    Fixed(f32),
    /// This, divided by the number of inputs of the layer.
    PerInput(f32),
}

impl Weights {
    fn variance(self, inputs: usize) -> f32 {
        match self {
            Weights::Fixed(variance) => variance,
            Weights::PerInput(variance) => variance / inputs as f32,
        }
    }
}

/// Prior of a positive parameter: its logarithm is Gaussian.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LogNormal {
    /// Mean of the logarithm; −20 to 20.
    pub mean: f32,
    /// Standard deviation of the logarithm; 10⁻⁶ to 10.
    pub deviation: f32,
}

/// Prior of `θ` for the first task.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Prior {
    /// Weights and biases of the deep map, shears of the linear one.
    pub weights: Weights,
    /// Lengthscales of the ARD map, in the unit cube.
    pub length: LogNormal,
    /// Signal variance, in squared deviations of the observations; in the deep map that of the mean, 1 in the paper.
    pub signal: LogNormal,
    /// Fidelity decay `γ`.
    pub gamma: LogNormal,
}

impl Prior {
    /// Logarithms of the positive parameters at `θ = 0`.
    pub const fn offsets(&self) -> Offsets {
        Offsets { length: self.length.mean, signal: self.signal.mean, gamma: self.gamma.mean }
    }

    pub(crate) const fn is_valid(&self) -> bool {
        let (Weights::Fixed(weights) | Weights::PerInput(weights)) = self.weights;
        let mut good = weights >= 1e-12 && weights <= 1e6;
        let all = [self.length, self.signal, self.gamma];
        let mut i = 0;
        while i < all.len() {
            good = good && all[i].mean.abs() <= 20.0;
            good = good && all[i].deviation >= 1e-6 && all[i].deviation <= 10.0;
            i += 1;
        }
        good
    }

    /// Calls `each` with every run of parameters that share a variance.
    pub(crate) fn runs(&self, model: &Model, mut each: impl FnMut(Range<usize>, f32)) {
        match model.map {
            Map::Ard | Map::Linear => each(0..model.dimensions, square(self.length.deviation)),
            Map::Deep { width } => {
                let mut from = 0;
                for layer in 0..LAYERS {
                    let inputs = if layer == 0 { model.dimensions } else { width };
                    let to = from + (inputs + 1) * width;
                    each(from..to, self.weights.variance(inputs));
                    from = to;
                }
            }
        }
        if let Some(i) = model.signal() {
            each(i..i + 1, square(self.signal.deviation));
        }
        each(model.gamma()..model.gamma() + 1, square(self.gamma.deviation));
        if model.map == Map::Linear {
            let shears = shears_at(model.dimensions)..model.parameters();
            each(shears, self.weights.variance(model.dimensions));
        }
    }

    /// Draws `θ`, no number beyond [`LARGEST_PARAMETER`].
    pub(crate) fn sample(&self, model: &Model, random: &mut Random, theta: &mut [f32]) {
        self.runs(model, |run, variance| {
            let deviation = math::sqrt(variance);
            theta[run].iter_mut().for_each(|value| *value = bounded(deviation * random.normal()));
        });
    }

    /// `log p(θ)`.
    fn log_density(&self, model: &Model, theta: &[f32]) -> f32 {
        let mut sum = 0.0;
        self.runs(model, |run, variance| {
            let count = run.len() as f32;
            let squares = theta[run].iter().fold(0.0, |sum, value| sum + value * value);
            sum += count * math::ln(TWO_PI * variance) + squares / variance;
        });
        -0.5 * sum
    }

    /// Adds `weight · ∇ log p(θ)`.
    fn add_gradient(&self, model: &Model, theta: &[f32], weight: f32, gradient: &mut [f32]) {
        self.runs(model, |run, variance| {
            for (gradient, value) in gradient[run.clone()].iter_mut().zip(&theta[run]) {
                *gradient -= weight * value / variance;
            }
        });
    }
}

/// No weight and no logarithm of a parameter goes beyond this: `e³⁰` and its square are far from overflow.
pub const LARGEST_PARAMETER: f32 = 30.0;

pub(crate) fn bounded(value: f32) -> f32 {
    value.clamp(-LARGEST_PARAMETER, LARGEST_PARAMETER)
}

const TWO_PI: f32 = 2.0 * core::f32::consts::PI;

/// Most centres of a kernel density estimate: the most particles.
pub const MAX_PARTICLES: usize = 16;

/// Parameter vectors: in memory, or as little-endian bytes, for instance in flash.
#[derive(Clone, Copy)]
pub enum Centres<'a> {
    /// Columns in memory.
    Floats(Matrix<'a>),
    /// Little-endian `f32`, one vector after the other.
    Bytes(&'a [u8]),
}

/// A number of a centre.
trait Number: Copy {
    fn value(self) -> f32;
}

impl Number for f32 {
    fn value(self) -> f32 {
        self
    }
}

impl Number for [u8; 4] {
    fn value(self) -> f32 {
        f32::from_le_bytes(self)
    }
}

impl Centres<'_> {
    /// `‖c − θ‖²` of `COUNT` centres from `first`.
    fn distances<const COUNT: usize>(&self, first: usize, theta: &[f32]) -> [f32; COUNT] {
        match self {
            Centres::Floats(matrix) => distances(array::from_fn(|c| column(matrix, first + c)), theta),
            Centres::Bytes(bytes) => {
                distances(array::from_fn(|c| vector(bytes, first + c, theta.len())), theta)
            }
        }
    }

    /// Adds `weight (c − θ)` of centre `c`.
    fn add_pull(&self, c: usize, weight: f32, theta: &[f32], gradient: &mut [f32]) {
        match self {
            Centres::Floats(matrix) => add_pull(column(matrix, c), weight, theta, gradient),
            Centres::Bytes(bytes) => add_pull(vector(bytes, c, theta.len()), weight, theta, gradient),
        }
    }
}

/// Vector `c` of bytes.
fn vector(bytes: &[u8], c: usize, len: usize) -> &[[u8; 4]] {
    &bytes.as_chunks().0[c * len..][..len]
}

/// Each sum waits for itself: several side by side take as long as one.
fn distances<const COUNT: usize>(centres: [&[impl Number]; COUNT], theta: &[f32]) -> [f32; COUNT] {
    let (mut sums, centres) = ([0.0; COUNT], centres.map(|centre| &centre[..theta.len()]));
    for (i, value) in theta.iter().enumerate() {
        sums.iter_mut().zip(centres).for_each(|(sum, centre)| *sum += square(centre[i].value() - value));
    }
    sums
}

fn add_pull(centre: &[impl Number], weight: f32, theta: &[f32], gradient: &mut [f32]) {
    for ((gradient, centre), theta) in gradient.iter_mut().zip(centre).zip(theta) {
        *gradient += weight * (centre.value() - theta);
    }
}

/// The density estimate on the last task's particles.
#[derive(Clone, Copy)]
pub struct Kde<'a> {
    /// The particles.
    pub centres: Centres<'a>,
    /// How many; at most [`MAX_PARTICLES`].
    pub count: usize,
    /// Standard deviation `b` around each; above 0.
    pub bandwidth: f32,
    /// Weight `ε` of the first task's prior, in `[0, 1]`.
    pub mix: f32,
}

/// Adds `∇ log p_n(θ)`: of the first prior, or of the density estimate if there is one. The first prior comes with `θ`
/// relative to its centre.
pub fn add_gradient(
    (prior, relative): (&Prior, &[f32]),
    model: &Model,
    kde: Option<&Kde<'_>>,
    theta: &[f32],
    gradient: &mut [f32],
) {
    let Some(kde) = kde else {
        return prior.add_gradient(model, relative, 1.0, gradient);
    };
    let (shares, of_prior) = kde.responsibilities((prior, relative), model, theta);
    if of_prior > 0.0 {
        prior.add_gradient(model, relative, of_prior, gradient);
    }
    let precision = 1.0 / square(kde.bandwidth);
    for (c, share) in shares[..kde.count].iter().enumerate() {
        if *share > 0.0 {
            kde.centres.add_pull(c, share * precision, theta, gradient);
        }
    }
}

impl Kde<'_> {
    /// Which part of the density at `θ` comes from each centre, and which from the first prior.
    fn responsibilities(
        &self,
        (prior, relative): (&Prior, &[f32]),
        model: &Model,
        theta: &[f32],
    ) -> ([f32; MAX_PARTICLES], f32) {
        let variance = square(self.bandwidth);
        let mut logs = [f32::NEG_INFINITY; MAX_PARTICLES];
        let constant = math::ln((1.0 - self.mix).max(f32::MIN_POSITIVE) / self.count as f32)
            - 0.5 * theta.len() as f32 * math::ln(TWO_PI * variance);
        for (block, logs) in logs[..self.count].chunks_mut(SIDE).enumerate() {
            let first = block * SIDE;
            let mut distances = [0.0; SIDE];
            if logs.len() == SIDE {
                distances = self.centres.distances(first, theta);
            } else {
                for (c, distance) in distances[..logs.len()].iter_mut().enumerate() {
                    [*distance] = self.centres.distances(first + c, theta);
                }
            }
            for (log, distance) in logs.iter_mut().zip(distances) {
                *log = constant - 0.5 * distance / variance;
            }
        }
        let mut of_prior = f32::NEG_INFINITY;
        if self.mix > 0.0 {
            of_prior = math::ln(self.mix) + prior.log_density(model, relative);
        }
        let largest = logs.iter().fold(of_prior, |largest, &log| largest.max(log));
        let share = |log: f32| if log == f32::NEG_INFINITY { 0.0 } else { math::exp(log - largest) };
        let mut shares = logs.map(share);
        let mut of_prior = share(of_prior);
        let sum = shares.iter().fold(of_prior, |sum, share| sum + share);
        shares.iter_mut().for_each(|share| *share /= sum);
        of_prior /= sum;
        (shares, of_prior)
    }
}

fn square(x: f32) -> f32 {
    x * x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const LOG: LogNormal = LogNormal { mean: -0.5, deviation: 0.8 };
    const PRIOR: Prior = Prior { weights: Weights::PerInput(0.5), length: LOG, signal: LOG, gamma: LOG };

    fn ard() -> Model {
        Model::plain(Map::Ard, 2, PRIOR.offsets())
    }

    #[test]
    fn samples_have_the_stated_variances() {
        let model = Model::plain(Map::Deep { width: 16 }, 2, PRIOR.offsets());
        let mut theta = [0.0f32; 1024];
        let mut random = Random::new(3, 0, 0, Purpose::Prior, 0);
        let (mut first, mut second) = (0.0, 0.0);
        for _ in 0..50 {
            PRIOR.sample(&model, &mut random, &mut theta);
            first += theta[..48].iter().map(|x| x * x).sum::<f32>() / 48.0 / 50.0;
            second += theta[48..320].iter().map(|x| x * x).sum::<f32>() / 272.0 / 50.0;
        }
        assert!((first - 0.25).abs() < 0.02, "{first}");
        assert!((second - 0.5 / 16.0).abs() < 0.002, "{second}");
    }

    /// Central differences of a log density in `f64`-free arithmetic need a generous step.
    #[test]
    fn gradients_agree_with_central_differences_of_the_density() {
        let model = ard();
        let centres = [0.3f32, -0.2, 0.5, 0.1, -0.6, 0.4, 0.0, 0.9];
        let bytes: std::vec::Vec<u8> = centres.iter().flat_map(|x| x.to_le_bytes()).collect();
        let theta = [0.1f32, 0.2, 0.3, -0.1];
        for mix in [0.0, 0.3] {
            let floats = Centres::Floats(Matrix::from_slice(&centres, 4, 2));
            let kde = Kde { centres: floats, count: 2, bandwidth: 0.55, mix };
            let log_density = |theta: &[f32]| {
                let p = |c: &[f32]| {
                    let d: f32 = c.iter().zip(theta).map(|(a, b)| (a - b) * (a - b)).sum();
                    math::exp(-0.5 * d / 0.3025) / square(TWO_PI * 0.3025)
                };
                let kde = 0.5 * (p(&centres[..4]) + p(&centres[4..]));
                math::ln((1.0 - mix) * kde + mix * math::exp(PRIOR.log_density(&model, theta)))
            };
            let mut gradient = [0.0; 4];
            add_gradient((&PRIOR, &theta), &model, Some(&kde), &theta, &mut gradient);
            for i in 0..4 {
                let (mut up, mut down) = (theta, theta);
                up[i] += 0.01;
                down[i] -= 0.01;
                let slope = (log_density(&up) - log_density(&down)) / 0.02;
                assert!((slope - gradient[i]).abs() < 3e-3, "mix {mix}, {i}: {slope} {}", gradient[i]);
            }
            let mut from_bytes = [0.0; 4];
            let kde = Kde { centres: Centres::Bytes(&bytes), ..kde };
            add_gradient((&PRIOR, &theta), &model, Some(&kde), &theta, &mut from_bytes);
            assert_eq!(gradient, from_bytes);
        }
        let mut gradient = [0.0; 4];
        add_gradient((&PRIOR, &theta), &model, None, &theta, &mut gradient);
        assert_eq!(gradient[0], -0.1 / square(0.8));
    }

    #[test]
    fn far_from_all_centres_the_first_prior_takes_over() {
        let model = ard();
        let centres = [50.0f32; 4];
        let kde = Kde {
            centres: Centres::Floats(Matrix::from_slice(&centres, 4, 1)),
            count: 1,
            bandwidth: 0.1,
            mix: 1e-3,
        };
        let theta = [0.5f32; 4];
        let mut gradient = [0.0; 4];
        add_gradient((&PRIOR, &theta), &model, Some(&kde), &theta, &mut gradient);
        assert!((gradient[0] + 0.5 / square(0.8)).abs() < 1e-4);
    }

    extern crate std;
}
