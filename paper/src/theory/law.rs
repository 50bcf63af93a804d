//! The law that functions are drawn from, a Gaussian process of variance 1 on a grid of the unit cube, in `f64`; and the
//! core's optimizer on that grid, told θ or not.

use foretune_core::{
    Dimension, Error, Fidelity, Goal, Information, LogNormal, Method, Optimizer, Prior, Problem, Scaling,
    Settings,
};
use host_sim::problems::random::Random;
use host_sim::shapes::Room;

/// Added to the diagonal, so that the kernel of a fine grid can be factored; functions are rougher by this.
const JITTER: f64 = 1e-9;

/// `exp(−‖x − x'‖² / 2ℓ²)` on a grid: at most 1, as the bound demands.
#[derive(Clone, Debug)]
pub struct Law {
    pub d: usize,
    pub side: usize,
    /// Lengthscale, the same for all dimensions.
    pub lengthscale: f64,
    /// The points, one after the other, as the core sees them.
    pub points: Vec<f32>,
    covariance: Vec<f64>,
    factor: Vec<f64>,
}

impl Law {
    /// The law on `side` points along each of `d` dimensions.
    pub fn new(d: usize, side: usize, lengthscale: f64) -> Self {
        let size = side.pow(d as u32);
        // The first dimension runs fastest.
        let level = |i: usize, j: usize| i / side.pow(j as u32) % side;
        let points: Vec<f32> =
            (0..size).flat_map(|i| (0..d).map(move |j| level(i, j) as f32 / (side - 1) as f32)).collect();
        let mut covariance = vec![0.0; size * size];
        for (i, a) in points.chunks(d).enumerate() {
            for (j, b) in points.chunks(d).enumerate() {
                let square: f64 = a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
                covariance[i * size + j] = libm::exp(-0.5 * square / (lengthscale * lengthscale));
            }
        }
        let factor = cholesky(&covariance, size);
        Self { d, side, lengthscale, points, covariance, factor }
    }

    pub fn size(&self) -> usize {
        self.points.len() / self.d
    }

    /// Prior covariance, row by row.
    pub fn covariance(&self) -> Spread {
        Spread { size: self.size(), values: self.covariance.clone() }
    }

    pub(super) fn draw(&self, random: &mut Random) -> Vec<f64> {
        let size = self.size();
        let white: Vec<f64> = (0..size).map(|_| random.normal()).collect();
        (0..size).map(|i| dot(&self.factor[i * size..][..=i], &white[..=i])).collect()
    }

    /// The point with these unit coordinates.
    pub fn index(&self, x: &[f32]) -> usize {
        let level = |x: f32| (x * (self.side - 1) as f32).round() as usize;
        x.iter().rev().fold(0, |index, &x| index * self.side + level(x))
    }
}

/// A covariance over the grid that observations shrink.
#[derive(Clone, Debug)]
pub struct Spread {
    size: usize,
    values: Vec<f64>,
}

impl Spread {
    pub fn variance(&self, i: usize) -> f64 {
        self.values[i * self.size + i].max(0.0)
    }

    /// How much every point's mean moves per unit of surprise at point `i`; then the covariance given that
    /// observation.
    pub fn observe(&mut self, i: usize, noise: f64) -> Vec<f64> {
        let row = self.values[i * self.size..][..self.size].to_vec();
        let total = row[i].max(0.0) + noise;
        let gain: Vec<f64> = row.iter().map(|k| k / total).collect();
        for (values, gain) in self.values.chunks_mut(self.size).zip(&gain) {
            for (value, k) in values.iter_mut().zip(&row) {
                *value -= gain * k;
            }
        }
        gain
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Lower factor of a covariance with [`JITTER`] on its diagonal.
fn cholesky(covariance: &[f64], size: usize) -> Vec<f64> {
    let mut l = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            let sum = covariance[i * size + j] - dot(&l[i * size..][..j], &l[j * size..][..j]);
            l[i * size + j] = if i == j { (sum + JITTER).max(JITTER).sqrt() } else { sum / l[j * size + j] };
        }
    }
    l
}

const CERTAIN: f32 = 1e-6;

/// What a law looks like to an optimizer.
pub struct Bench {
    dimensions: Vec<Dimension<'static>>,
    fidelities: [Fidelity; 1],
    queries: usize,
}

impl Bench {
    /// A number of queries, each of cost 1, with this noise.
    pub fn new(law: &Law, noise: f64, queries: usize) -> Self {
        let levels = Dimension::Grid { low: 0.0, high: 1.0, levels: law.side as u16 };
        Self {
            dimensions: vec![levels; law.d],
            fidelities: [Fidelity { cost: 1.0, samples: 1, noise: noise as f32 }],
            queries,
        }
    }

    pub fn start<'a>(
        &'a self,
        memory: &'a mut Room,
        settings: Settings,
        seed: u64,
    ) -> Result<Optimizer<'a>, Error> {
        let problem = Problem {
            dimensions: &self.dimensions,
            fidelities: &self.fidelities,
            budget: self.queries as f32,
            goal: Goal::Maximise,
            ..Problem::PLAIN
        };
        memory.start(problem, settings, seed)
    }
}

/// Settings for functions of variance 1 that are looked at point by point, without any initial points.
fn plain(law: &Law, length: LogNormal) -> Settings {
    let known = LogNormal { mean: 0.0, deviation: CERTAIN };
    let mut settings = Settings::DEFAULT;
    settings.details.prior = Prior { length, signal: known, gamma: known, ..settings.details.prior };
    settings.details.scaling = Scaling::Fixed { mean: 0.0, deviation: 1.0 };
    settings.steps_per_round = 0;
    settings.details.kde_mix = 0.0;
    settings.carried = 0;
    settings.initial = 0;
    settings.details.information = Information::Paper;
    settings.candidates = law.size().max(16);
    settings
}

/// Max-value entropy search by an optimizer that is told the lengthscale.
pub fn told(law: &Law) -> Settings {
    let length = LogNormal { mean: law.lengthscale.ln() as f32, deviation: CERTAIN };
    let mut settings = plain(law, length).with_method(Method::MfMes);
    settings.steps_per_task = 0;
    settings
}

/// Two-phase by an optimizer that must learn the lengthscale, from a prior.
pub fn learning(law: &Law, length: LogNormal, c: f64, particles: usize, bandwidth: f64) -> Settings {
    let mut settings = plain(law, length).with_method(Method::TwoPhase { c: c as f32 });
    settings.particles = particles;
    settings.steps_per_task = 60;
    settings.details.kde_bandwidth = bandwidth as f32;
    settings
}

/// `⌈cT⌉`, as the optimizer counts it.
pub fn first_phase(c: f64, queries: usize) -> usize {
    (c as f32 * queries as f32).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::problems::random::Purpose;

    #[test]
    fn points_and_indices_agree() {
        let law = Law::new(2, 5, 0.3);
        assert_eq!(law.size(), 25);
        for (i, x) in law.points.chunks(2).enumerate() {
            assert_eq!(law.index(x), i);
        }
        assert_eq!(law.points[2..4], [0.25, 0.0], "the first dimension runs fastest");
    }

    #[test]
    fn functions_have_the_covariance_of_the_law() {
        let law = Law::new(1, 12, 0.25);
        let mut random = Random::new(3, Purpose::TheoryFunction, 0);
        let draws: Vec<Vec<f64>> = (0..4000).map(|_| law.draw(&mut random)).collect();
        for (i, j) in [(0, 0), (3, 5), (0, 11), (6, 7)] {
            let product = draws.iter().map(|f| f[i] * f[j]).sum::<f64>() / 4000.0;
            let wanted = law.covariance[i * 12 + j];
            // The standard error is at most √(2/4000) = 0.022.
            assert!((product - wanted).abs() < 0.08, "{i}, {j}: {product} instead of {wanted}");
        }
    }

    #[test]
    fn an_observation_without_noise_leaves_nothing_to_know_there() {
        let law = Law::new(1, 9, 0.3);
        let mut spread = law.covariance();
        let gain = spread.observe(4, 1e-12);
        assert!(spread.variance(4) < 1e-9 && (gain[4] - 1.0).abs() < 1e-9);
        assert!(spread.variance(0) > 0.5 && gain[0] < gain[3]);
    }
}
