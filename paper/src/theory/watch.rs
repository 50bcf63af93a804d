//! What is known of a function while it is queried, under the true θ, and the regret of a query.

use foretune_core::Map;
use foretune_core::internals::gp::{Observations, Particle, Posterior, Workspace};
use foretune_core::internals::kernel::{Model, Offsets};
use foretune_core::internals::linalg::{LANES, Matrix};

use super::MAX_ROUNDS;
use super::law::{Law, Spread};
use host_sim::problems::random::Random;

const MODEL_OFFSETS: Offsets = Offsets { length: 0.0, signal: 0.0, gamma: 0.0 };

/// One query, judged by what was known before it was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Expected regret, Eq. (40): `m̂ − μ(x)`.
    pub regret: f64,
    /// Least normalised expected regret over all points: `ν_t`.
    pub least: f64,
    /// What the query's normalised expected regret has over the least: `Δ_t`.
    pub excess: f64,
    /// Posterior deviation at the query.
    pub deviation: f64,
    /// What is lost in truth: `f* − f(x)`.
    pub loss: f64,
}

/// A function, the observations of it so far, and the posterior under the true θ.
pub struct Watch<'a> {
    law: &'a Law,
    function: &'a [f64],
    noise: f64,
    random: Random,
    spread: Spread,
    mean: Vec<f64>,
    paths: Vec<Vec<f64>>,
    words: Vec<u32>,
    points: Vec<f32>,
    y: Vec<f32>,
    beliefs: Vec<Posterior>,
    expected_maximum: f64,
    rounding: f64,
}

impl<'a> Watch<'a> {
    /// Nothing observed yet; `random` draws the paths, of which there are `samples`.
    pub(super) fn new(
        law: &'a Law,
        function: &'a [f64],
        noise: f64,
        samples: usize,
        mut random: Random,
    ) -> Self {
        let paths = (0..samples).map(|_| law.draw(&mut random)).collect();
        let mut watch = Self {
            law,
            function,
            noise,
            random,
            spread: law.covariance(),
            mean: vec![0.0; law.size()],
            paths,
            words: vec![0; Workspace::words(MAX_ROUNDS, 2)],
            points: Vec::new(),
            y: Vec::new(),
            beliefs: vec![Posterior::default(); law.size()],
            expected_maximum: 0.0,
            rounding: 0.0,
        };
        watch.renew();
        watch
    }

    /// The normalised expected regret of a point, `(m̂ − μ)/σ`.
    pub fn normalised(&self, i: usize) -> f64 {
        let Posterior { mean, variance, .. } = self.beliefs[i];
        (self.expected_maximum - f64::from(mean)) / f64::from(variance).sqrt()
    }

    /// The query of Eq. (63): the least normalised expected regret.
    pub fn best(&self) -> usize {
        let by_regret = |&a: &usize, &b: &usize| self.normalised(a).total_cmp(&self.normalised(b));
        (0..self.law.size()).min_by(by_regret).unwrap_or(0)
    }

    /// What a query of point `i` amounts to.
    pub fn round(&self, i: usize) -> Round {
        let Posterior { mean, variance, .. } = self.beliefs[i];
        let least = self.normalised(self.best());
        let greatest = self.function.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Round {
            regret: self.expected_maximum - f64::from(mean),
            least,
            excess: self.normalised(i) - least,
            deviation: f64::from(variance).sqrt(),
            loss: greatest - self.function[i],
        }
    }

    /// Takes an observation of point `i`.
    pub fn observe(&mut self, i: usize, y: f64) {
        let deviation = self.noise.sqrt();
        let gain = self.spread.observe(i, self.noise);
        let surprise = y - self.mean[i];
        move_by(&mut self.mean, &gain, surprise);
        for path in &mut self.paths {
            let surprise = y - path[i] - deviation * self.random.normal();
            move_by(path, &gain, surprise);
        }
        let d = self.law.d;
        self.points.extend(&self.law.points[i * d..][..d]);
        self.y.push(y as f32);
        self.renew();
    }

    /// Largest difference of the core's means from those in `f64` so far.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    fn renew(&mut self) {
        self.renew_beliefs();
        let by_mean = |&a: &usize, &b: &usize| self.beliefs[a].mean.total_cmp(&self.beliefs[b].mean);
        let peak = (0..self.law.size()).max_by(by_mean).unwrap_or(0);
        // Relative to the point with the greatest mean: less noise than the mean of the maxima, and never below that
        // mean.
        let above = |path: &Vec<f64>| path.iter().copied().fold(f64::NEG_INFINITY, f64::max) - path[peak];
        let rise = self.paths.iter().map(above).sum::<f64>() / self.paths.len() as f64;
        self.expected_maximum = f64::from(self.beliefs[peak].mean) + rise;
        let difference = |(belief, mean): (&Posterior, &f64)| (f64::from(belief.mean) - mean).abs();
        self.rounding = self.beliefs.iter().zip(&self.mean).map(difference).fold(self.rounding, f64::max);
    }

    fn renew_beliefs(&mut self) {
        let d = self.law.d;
        let model = Model::plain(Map::Ard, d, MODEL_OFFSETS);
        let mut theta = vec![self.law.lengthscale.ln() as f32; d];
        theta.extend([0.0, 0.0]);
        let mut unused = Default::default();
        let particle = Particle::new(&model, &theta, &[self.noise as f32], &mut unused);
        let fidelity = vec![0; self.y.len()];
        let points = Matrix::from_slice(&self.points, d, self.y.len());
        let data = Observations { points, fidelity: &fidelity, z: &self.y, counts: &[], common: None };
        let mut workspace = Workspace::new(&mut self.words, MAX_ROUNDS, 2);
        for first in (0..self.y.len()).step_by(LANES) {
            // The kernel is finite: all its numbers are.
            let _ = workspace.factor(&particle, &data, first, &mut unused);
        }
        workspace.condition(&data);
        for (block, out) in self.law.points.chunks(LANES * d).zip(self.beliefs.chunks_mut(LANES)) {
            workspace.posterior(&particle, &data, Matrix::from_slice(block, d, out.len()), 1, out);
        }
    }
}

fn move_by(path: &mut [f64], gain: &[f64], surprise: f64) {
    for (value, gain) in path.iter_mut().zip(gain) {
        *value += gain * surprise;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::problems::random::Purpose;

    fn stream(purpose: Purpose) -> Random {
        Random::new(5, purpose, 1)
    }

    #[test]
    fn paths_are_samples_of_the_posterior_that_the_core_computes() {
        let law = Law::new(1, 24, 0.2);
        let function = law.draw(&mut stream(Purpose::TheoryFunction));
        let mut watch = Watch::new(&law, &function, 0.05, 4000, stream(Purpose::TheoryPaths));
        for i in [3, 20, 11, 3] {
            watch.observe(i, function[i] + 0.1);
        }
        assert!(watch.rounding() < 1e-4, "{}", watch.rounding());
        for i in 0..24 {
            let Posterior { mean, variance, .. } = watch.beliefs[i];
            let sampled = watch.paths.iter().map(|path| path[i]).sum::<f64>() / 4000.0;
            let square = watch.paths.iter().map(|path| (path[i] - sampled).powi(2)).sum::<f64>() / 4000.0;
            // Standard errors: 0.016 of the deviation, 0.022 of the variance.
            let deviation = f64::from(variance).sqrt();
            assert!((sampled - f64::from(mean)).abs() < 0.08 * deviation, "{i}: {sampled} instead of {mean}");
            assert!((square / f64::from(variance) - 1.0).abs() < 0.12, "{i}: {square} instead of {variance}");
        }
    }

    #[test]
    fn the_expected_maximum_of_independent_points_is_the_known_one() {
        // With a tiny lengthscale the points are independent: the mean of the greatest of 16 normals is 1.766.
        let law = Law::new(1, 16, 1e-3);
        let function = vec![0.0; 16];
        let watch = Watch::new(&law, &function, 0.1, 4000, stream(Purpose::TheoryPaths));
        assert!((watch.expected_maximum - 1.766).abs() < 0.05, "{}", watch.expected_maximum);
        assert_eq!(watch.round(3).deviation, 1.0);
    }

    #[test]
    fn regrets_are_never_negative_and_the_best_query_has_no_excess() {
        let law = Law::new(2, 6, 0.4);
        let function = law.draw(&mut stream(Purpose::TheoryFunction));
        let mut watch = Watch::new(&law, &function, 0.01, 50, stream(Purpose::TheoryPaths));
        for _ in 0..20 {
            let i = watch.best();
            for j in 0..law.size() {
                let round = watch.round(j);
                assert!(round.regret >= 0.0 && round.excess >= 0.0 && round.loss >= 0.0, "{round:?}");
                let same = (round.least + round.excess) * round.deviation;
                assert!((same - round.regret).abs() < 1e-9);
            }
            assert_eq!(watch.round(i).excess, 0.0);
            watch.observe(i, function[i]);
        }
    }
}
