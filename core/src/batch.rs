//! The batch design of Eq. (43): points that tell most about `θ`, chosen greedily without data.
//!
//! `I(θ; y_X)` is bounded as in Eq. (34): `½ ln det(meanᵥ Kᵥ(X) + σ²I) − meanᵥ ½ ln det(Kᵥ(X) + σ²I)`. Adding a point
//! adds `½ ln(s̄² + σ²) − meanᵥ ½ ln(sᵥ² + σ²)`, with the variances of that point given the ones chosen before, under
//! the mean kernel and under each particle. Without any point the gain is the same for all, so the first point is the
//! first candidate. Everything at the target fidelity.
//!
//! Cost per chosen point: one posterior per candidate and particle, and once more the kernel for the mean.

use crate::error::Error;
use crate::gp::{Particle, VARIANCE_FLOOR, Workspace};
use crate::linalg::{self, LANES, Lane, Matrix};
use crate::math;

/// What a point with these variances adds to the information: `½ ln(s̄² + σ²) − ½ meanᵥ ln(sᵥ² + σ²)`.
pub fn gain(mean_variance: f32, noise: f32, log_sum: f32, v: usize) -> f32 {
    0.5 * (math::ln(mean_variance + noise) - log_sum / v as f32)
}

impl Workspace<'_> {
    /// Mean over particles of the kernel between chosen points and a block of at most 8 others, without noise.
    #[cfg(any(test, feature = "internals"))]
    pub fn mean_kernel<'p>(
        &mut self,
        particles: impl ExactSizeIterator<Item = Particle<'p>>,
        chosen: Matrix<'_>,
        others: Matrix<'_>,
    ) {
        let weight = 1.0 / particles.len() as f32;
        for (v, particle) in particles.enumerate() {
            self.add_kernel(&particle, v == 0, weight, chosen, others);
        }
    }

    /// What one particle adds to [`mean_kernel`](Self::mean_kernel), where it is the `first` or not.
    pub fn add_kernel(
        &mut self,
        particle: &Particle<'_>,
        first: bool,
        weight: f32,
        chosen: Matrix<'_>,
        others: Matrix<'_>,
    ) {
        let t = chosen.ncols();
        if first {
            self.panels[1][..t].fill([0.0; LANES]);
        }
        for from in (0..t).step_by(LANES) {
            self.features_of(particle, chosen.columns(from, LANES.min(t - from)), from);
        }
        self.base_kernel(particle, others, t);
        let [base, mean, _] = &mut self.panels;
        for (mean, base) in mean[..t].iter_mut().zip(base.iter()) {
            for l in 0..LANES {
                mean[l] += weight * base[l];
            }
        }
    }

    /// After [`mean_kernel`](Self::mean_kernel) of the chosen points with a block of themselves: adds that block to
    /// the factor of the mean kernel.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if the kernel is not finite.
    pub fn factor_mean(&mut self, first: usize, count: usize, noise: f32) -> Result<(), Error> {
        let panel = &mut self.panels[1][..first + count];
        for lane in 0..count {
            panel[first + lane][lane] += noise;
        }
        linalg::factor_block(&mut self.matrix, first, count, panel, 0.5 * noise).map(|_| ())
    }

    /// After [`mean_kernel`](Self::mean_kernel) of the `t` chosen points with others: the others' variances given the
    /// chosen ones.
    pub fn mean_variances(&mut self, t: usize, signal: f32) -> Lane {
        let panel = &mut self.panels[1][..t];
        linalg::solve_lower(&self.matrix.as_view(), panel, LANES);
        let mut variances = [signal; LANES];
        for row in panel {
            for l in 0..LANES {
                variances[l] -= row[l] * row[l];
            }
        }
        variances.map(|variance| variance.max(signal * VARIANCE_FLOOR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Map;
    use crate::gp::{Fallbacks, Observations, Posterior};
    use crate::kernel::{Model, Offsets};

    const OFFSETS: Offsets = Offsets { length: 0.0, signal: 0.0, gamma: 0.0 };
    const MODEL: Model = Model::plain(Map::Ard, 1, OFFSETS);

    /// Of a point at `x`, with some points chosen before.
    fn gain_at(x: f32, thetas: &[[f32; 3]]) -> f32 {
        let (chosen, fidelity, count) = ([0.1f32, 0.5, 0.6], [0u8; 3], &mut Fallbacks::default());
        let chosen = Matrix::from_slice(&chosen, 1, 3);
        let data = Observations { points: chosen, fidelity: &fidelity, z: &[], counts: &[], common: None };
        let mut words = [0; Workspace::words(8, 1)];
        let mut gp = Workspace::new(&mut words, 8, 1);
        let particles =
            || thetas.iter().map(|theta| Particle::new(&MODEL, theta, &[0.1], &mut Fallbacks::default()));
        let x = [x];
        let other = Matrix::from_slice(&x, 1, 1);
        let log_sum = particles().fold(0.0, |sum, particle| {
            let mut belief = [Posterior::default()];
            gp.factor(&particle, &data, 0, count).unwrap();
            gp.posterior(&particle, &data, other, 1, &mut belief);
            sum + math::ln(belief[0].variance + 0.1)
        });
        gp.mean_kernel(particles(), chosen, chosen);
        gp.factor_mean(0, 3, 0.1).unwrap();
        gp.mean_kernel(particles(), chosen, other);
        let [variance, ..] = gp.mean_variances(3, 1.0);
        gain(variance, 0.1, log_sum, thetas.len())
    }

    #[test]
    fn one_particle_has_nothing_to_learn_and_two_that_differ_have() {
        let (long, short) = ([0.0, 0.0, 0.0], [-2.0, 0.0, 0.0]);
        for x in [0.0, 0.3, 0.9] {
            assert!(gain_at(x, &[short]).abs() < 1e-5, "{x}");
            assert!(gain_at(x, &[long, long]).abs() < 1e-5, "{x}");
        }
        let gains = [0.1, 0.3, 0.9].map(|x| gain_at(x, &[long, short]));
        assert!(gains.iter().all(|gain| *gain > 1e-3), "{gains:?}");
        assert!(gains[2] > 2.0 * gains[0], "far from the chosen points they differ more: {gains:?}");
    }
}
