//! The law that functions are drawn from: a Gaussian process of variance 1 on a grid of the unit cube, in `f64`.

use host_sim::problems::random::Random;

/// Added to the diagonal, so that the kernel of a fine grid can be factored; functions are rougher by this.
const JITTER: f64 = 1e-9;

/// `exp(−‖x − x'‖² / 2ℓ²)` on a grid: at most 1, as the bound demands.
#[derive(Clone, Debug)]
pub struct Law {
    /// Dimensions.
    pub d: usize,
    /// Points along each dimension.
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

    /// Number of points.
    pub fn size(&self) -> usize {
        self.points.len() / self.d
    }

    /// Prior covariance, row by row.
    pub fn covariance(&self) -> Spread {
        Spread { size: self.size(), values: self.covariance.clone() }
    }

    /// One function.
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
    /// Variance at a point.
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
