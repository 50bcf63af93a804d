//! The multi-fidelity Gaussian process for one `θ`: factor, posterior, likelihood and its gradient.
//!
//! The prior of Eq. (17); with one fidelity it is that of Eq. (10), (11), and the posterior that of Eq. (13), (14).
//!
//! Eq. (18), with `K̃ = K + σ²I = LLᵀ`: `μ⁽ᵐ⁾(x) = kᵀK̃⁻¹z`, `[σ⁽ᵐ⁾(x)]² = k(x,x) − kᵀK̃⁻¹k`, and the covariance of
//! `f⁽ᵐ⁾(x)` with the truth `f⁽ᴹ⁾(x)`, from `v_m = L⁻¹k_m`: `μ = v_m · L⁻¹z`, `σ² = sκ_mm − v_m·v_m`,
//! `cov = sκ_mM − v_m·v_M`.
//!
//! Eq. (26) with its signs corrected: `log p(z|θ) = −½ (t ln 2π + ln|K̃| + zᵀK̃⁻¹z)`; gradient from
//! `∂/∂K̃ = ½(ααᵀ − K̃⁻¹)`, `α = K̃⁻¹z`, back through kernel, distances and feature map. Rows of `K̃⁻¹` are taken
//! 8 at a time, so the inverse is never stored.
//!
//! One [`Workspace`] serves all particles in turn. Column `i` of its matrix holds row `i` of `L` up to the diagonal, and
//! row `i` of `K` (without noise; after the gradient, what replaced it) beyond it. All work comes in blocks of 8 observations or candidates; none costs more than
//! `8 (F(D + 2F) · 3 + t F · 2 + t² M/2)` multiply-adds.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::block::{self, Cut};
use crate::error::Error;
use crate::features::{Backward, Forward, LAYERS, Maps};
use crate::fleet::{self, Fleet, Terms};
use crate::kernel::{Hyper, MAX_FIDELITIES, Model, PairSums};
use crate::linalg::{self, LANES, Lane, Matrix, MatrixMut, Sums, column, column_mut};
use crate::math;

/// Least `σ²/s`: below it, `f32` can no longer tell a badly conditioned matrix from a good one.
///
/// Chosen from the table `tests/golden/conditioning.txt` of the repository, which
/// `cargo test -p foretune-tests --test golden -- --nocapture` prints: up to 128 observations, however long the
/// lengthscales, the mean stays within 5·10⁻³ deviations of the signal (and 0.2 of the posterior's) and the likelihood
/// within 10⁻³ of itself. At 10⁻⁴ the mean can be off by more than the posterior's deviation. Rounding the kernel to
/// `f32` costs that much by itself, so no better factorisation would help.
pub const NOISE_FLOOR: f32 = 3e-4;

/// Pivots are at least this times `s`; smaller ones are raised and counted.
const PIVOT_FLOOR: f32 = 0.25 * NOISE_FLOOR;

/// Least variance returned, relative to the prior's: what rounding leaves.
pub const VARIANCE_FLOOR: f32 = 1e-6;

/// What the model believes of `f⁽ᵐ⁾(x)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Posterior {
    /// Mean.
    pub mean: f32,
    /// Variance, without observation noise; above 0.
    pub variance: f32,
    /// Covariance with the truth `f⁽ᴹ⁾(x)`.
    pub covariance: f32,
}

/// The observations that the model is conditioned on.
#[derive(Clone, Copy)]
pub struct Observations<'a> {
    /// Points in the unit cube, each a column.
    pub points: Matrix<'a>,
    /// Fidelity of each.
    pub fidelity: &'a [u8],
    /// Standardised observations; not needed for variances alone.
    pub z: &'a [f32],
    /// Measurements that each is the mean of; one, where nothing is said.
    pub counts: &'a [f32],
    /// What other sites say of them, if anything does.
    pub common: Option<Common<'a>>,
}

/// What sites have in common: a fleet's prior, and what it says of each observation.
#[derive(Clone, Copy)]
pub struct Common<'a> {
    /// The prior.
    pub fleet: Fleet<'a>,
    /// Mean and modes at each observation.
    pub terms: &'a [Terms],
}

/// How often numerics had to help themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(C)]
pub struct Fallbacks {
    /// Times that `σ²` was raised to `NOISE_FLOOR · s`.
    pub noise: u32,
    /// Pivots that were raised.
    pub pivots: u32,
    /// Times that a particle had no say in a step or a search, because its likelihood or gradient was not finite.
    pub particles: u32,
}

impl Fallbacks {
    /// Those of both.
    pub(crate) fn and(&self, other: &Fallbacks) -> Fallbacks {
        Fallbacks {
            noise: self.noise.saturating_add(other.noise),
            pivots: self.pivots.saturating_add(other.pivots),
            particles: self.particles.saturating_add(other.particles),
        }
    }

    /// What came after some of them.
    pub(crate) fn since(&self, before: &Fallbacks) -> Fallbacks {
        Fallbacks {
            noise: self.noise - before.noise,
            pivots: self.pivots - before.pivots,
            particles: self.particles - before.particles,
        }
    }
}

/// Arrays of one Gaussian process. Shapes are run-time numbers here, so the code below exists once.
pub struct Workspace<'a> {
    pub(crate) matrix: MatrixMut<'a>,
    pub(crate) features: MatrixMut<'a>,
    pub(crate) hidden: [MatrixMut<'a>; LAYERS - 1],
    pub(crate) whitened: &'a mut [f32],
    pub(crate) alpha: &'a mut [f32],
    pub(crate) panels: [&'a mut [Lane]; 3],
    /// Room for activations of up to 8 points.
    pub(crate) block: [&'a mut [f32]; LAYERS],
    pub(crate) own: &'a mut [Lane],
    pub(crate) delta: [&'a mut [Lane]; 2],
}

impl<'a> Workspace<'a> {
    /// Words that up to `n` observations with `f` features take.
    pub const fn words(n: usize, f: usize) -> usize {
        let of_observations = n.saturating_mul(n + LAYERS * f + 3 * LANES + 2);
        block::sum(&[of_observations, (LAYERS + 3).saturating_mul(LANES * f)])
    }

    /// In a block of so many words.
    #[cfg(any(test, feature = "internals"))]
    pub fn new(words: &'a mut [u32], n: usize, f: usize) -> Self {
        Self::cut(&mut Cut::new(words), n, f)
    }

    /// In the next so many words of a block.
    pub(crate) fn cut(cut: &mut Cut<'a>, n: usize, f: usize) -> Self {
        Workspace {
            matrix: cut.matrix(n, n),
            features: cut.matrix(f, n),
            hidden: [cut.matrix(f, n), cut.matrix(f, n)],
            whitened: cut.slice(n),
            alpha: cut.slice(n),
            panels: [cut.slice(n), cut.slice(n), cut.slice(n)],
            block: [cut.slice(LANES * f), cut.slice(LANES * f), cut.slice(LANES * f)],
            own: cut.slice(f),
            delta: [cut.slice(f), cut.slice(f)],
        }
    }
}

/// One particle with what it implies: everything that the functions below need to know about `θ`.
#[derive(Clone, Copy)]
pub struct Particle<'a> {
    /// Shape of the model.
    pub model: &'a Model,
    /// The parameters.
    pub theta: &'a [f32],
    /// Signal variance and fidelity table.
    pub hyper: Hyper,
    /// Noise variance per fidelity, floored.
    pub noise: [f32; MAX_FIDELITIES],
    /// Observations of a world that has changed since, the first so many, and the variance that this adds to their noise.
    older: (usize, f32),
    maps: Maps,
}

impl<'a> Particle<'a> {
    /// Reads `θ`; `noise` is the standardised noise variance per fidelity. Counts where the floor acts.
    #[cfg(any(test, feature = "internals"))]
    pub fn new(model: &'a Model, theta: &'a [f32], noise: &[f32], fallbacks: &mut Fallbacks) -> Self {
        let particle = Self::with(Maps::ALL, model, theta, noise, fallbacks);
        Particle { hyper: model.hyper(theta), ..particle }
    }

    /// The same with the code for some maps only, and for as many fidelities as have a noise.
    pub(crate) fn with(
        maps: Maps,
        model: &'a Model,
        theta: &'a [f32],
        noise: &[f32],
        fallbacks: &mut Fallbacks,
    ) -> Self {
        let hyper = model.hyper_of(theta, noise.len());
        let floor = NOISE_FLOOR * hyper.signal;
        let mut floored = [floor; MAX_FIDELITIES];
        for (floored, &noise) in floored.iter_mut().zip(noise) {
            fallbacks.noise = fallbacks.noise.saturating_add(u32::from(noise < floor));
            *floored = noise.max(floor);
        }
        Particle { model, theta, hyper, noise: floored, older: (0, 0.0), maps }
    }

    /// Raises the noise's floor to what suits a kernel with a fleet's modes, whose sum of squares is about `spread`.
    pub(crate) fn with_modes(mut self, spread: f32) -> Self {
        let floor = NOISE_FLOOR * (self.hyper.signal + spread);
        self.noise.iter_mut().for_each(|noise| *noise = noise.max(floor));
        self
    }

    /// Adds a level behind the truth's: the same function, seen with another noise variance.
    pub(crate) fn with_memory(mut self, truth: usize, noise: f32) -> Self {
        self.hyper.end_at(truth);
        if let Some(level) = self.noise.get_mut(truth + 1) {
            *level = noise.max(NOISE_FLOOR * self.hyper.signal);
        }
        self
    }

    /// Adds noise to the first so many observations.
    pub(crate) fn with_older(self, older: (usize, f32)) -> Self {
        Particle { older, ..self }
    }

    /// Noise variance at a fidelity of the mean of so many measurements.
    fn noise_of(&self, fidelity: usize, count: Option<&f32>) -> f32 {
        let noise = self.noise[fidelity];
        count.map_or(noise, |count| (noise / count).max(NOISE_FLOOR * self.hyper.signal))
    }

    fn forward(&self, block: Forward<'_>) {
        let Model { map, offsets, .. } = *self.model;
        (self.maps.forward)(map, self.model.widths(), offsets.length, self.theta, block);
    }

    /// `s exp(−‖ψ − ψ'‖²)` of all rows of `features` with 8 points, given squared distances.
    ///
    /// Correlations below [`DECAY_FLOOR`](math::DECAY_FLOOR) count as none. They could not be seen beside
    /// [`NOISE_FLOOR`], and their products in the factor become subnormal, which a desktop processor computes up to a
    /// hundred times more slowly.
    fn base(&self, panel: &mut [Lane]) {
        math::decay_slice(panel.as_flattened_mut(), self.hyper.signal);
    }
}

impl Workspace<'_> {
    /// Adds the block of observations that starts at `first` (a multiple of 8) to the factor.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if the kernel is not finite.
    pub fn factor(
        &mut self,
        particle: &Particle<'_>,
        data: &Observations<'_>,
        first: usize,
        fallbacks: &mut Fallbacks,
    ) -> Result<(), Error> {
        let count = LANES.min(data.fidelity.len() - first);
        let (features, end) = (particle.model.features(), first + count);
        self.features_of(particle, data.points.columns(first, count), first);
        let own = &mut self.own[..features];
        transpose(own, &self.features.view((0, first), (features, count)));
        let panel = &mut self.panels[0][..end];
        linalg::squared_distances(panel, &self.features.rows(0, features), own, count);
        particle.base(panel);
        // κ of every fidelity with those of the block.
        let mut kappas = [[1.0; LANES]; MAX_FIDELITIES];
        for (m, kappas) in kappas.iter_mut().enumerate().take(particle.hyper.levels) {
            for (kappa, &n) in kappas.iter_mut().zip(&data.fidelity[first..end]) {
                *kappa = particle.hyper.kappa(m, usize::from(n));
            }
        }
        for (j, (lanes, &m)) in panel.iter_mut().zip(data.fidelity).enumerate() {
            linalg::multiply_row(lanes, &kappas[usize::from(m)]);
            let row = &mut column_mut(&mut self.matrix, j)[first..end];
            match j.checked_sub(first) {
                None => copy(row, lanes),
                Some(own) => {
                    row.iter_mut().zip(&*lanes).skip(own + 1).for_each(|(k, lane)| *k = *lane);
                    lanes[own] += particle.noise_of(usize::from(m), data.counts.get(j));
                    if j < particle.older.0 {
                        lanes[own] += particle.older.1;
                    }
                }
            }
        }
        if let Some(Common { terms, fleet }) = data.common {
            fleet.add_products(panel, terms, &fleet::lanes(&terms[first..end]));
        }
        let floor = PIVOT_FLOOR * particle.hyper.signal;
        let raised = linalg::factor_block(&mut self.matrix, first, count, panel, floor)?;
        fallbacks.pivots = fallbacks.pivots.saturating_add(raised);
        Ok(())
    }

    /// Features of some points, kept as those of observations `first` and on.
    pub(crate) fn features_of(&mut self, particle: &Particle<'_>, points: Matrix<'_>, first: usize) {
        let shape = (particle.model.features(), points.ncols());
        let [h0, h1] = &mut self.hidden;
        let hidden = [h0.view_mut((0, first), shape), h1.view_mut((0, first), shape)];
        let features = self.features.view_mut((0, first), shape);
        particle.forward(Forward { points, hidden, features });
    }

    /// `s exp(−‖ψ − ψ'‖²)` of the first `t` kept features with up to 8 points, into the first panel.
    pub(crate) fn base_kernel(&mut self, particle: &Particle<'_>, points: Matrix<'_>, t: usize) {
        let (features, count) = (particle.model.features(), points.ncols());
        let [h0, h1, psi] = self.block.each_mut().map(|block| MatrixMut::from_slice(block, features, count));
        particle.forward(Forward { points, hidden: [h0, h1], features: psi });
        let own = &mut self.own[..features];
        transpose(own, &Matrix::from_slice(self.block[LAYERS - 1], features, count));
        linalg::squared_distances(&mut self.panels[0][..t], &self.features.rows(0, features), own, count);
        particle.base(&mut self.panels[0][..t]);
    }

    /// After all blocks of observations: `L⁻¹z` and the log marginal likelihood, Eq. (26).
    pub fn condition(&mut self, data: &Observations<'_>) -> f32 {
        let t = data.fidelity.len();
        let whitened = &mut self.whitened[..t];
        whitened.copy_from_slice(data.z);
        if let Some(Common { terms, .. }) = data.common {
            whitened.iter_mut().zip(terms).for_each(|(z, terms)| *z -= terms[0]);
        }
        linalg::solve_lower_one(&self.matrix.as_view(), whitened);
        let mut sum = t as f32 * LN_2_PI;
        for (i, w) in whitened.iter().enumerate() {
            sum += 2.0 * math::ln(self.matrix[(i, i)]) + w * w;
        }
        -0.5 * sum
    }

    /// Sum of squares of `L⁻¹z`: `t` of them on average where the model is right about how far the values spread; after
    /// [`condition`](Self::condition).
    pub(crate) fn misfit(&self, t: usize) -> f32 {
        self.whitened[..t].iter().fold(0.0, |sum, w| sum + w * w)
    }

    /// By how much the last observation lay above what the others let expect, in deviations of that and as it is; after
    /// [`condition`](Self::condition).
    pub(crate) fn surprise(&self, t: usize) -> [f32; 2] {
        let by = self.whitened[..t].last().copied().unwrap_or(0.0);
        [by, by * self.matrix[(t - 1, t - 1)]]
    }

    /// `α = K̃⁻¹z`, which the gradient needs; after [`condition`](Self::condition).
    pub fn solve(&mut self, t: usize) {
        self.alpha[..t].copy_from_slice(&self.whitened[..t]);
        linalg::solve_upper_one(&self.matrix.as_view(), &mut self.alpha[..t]);
    }

    /// Adds to `gradient` and `sums` what the block of observations at `first` contributes to `∂ log p(z|θ)/∂θ`.
    pub fn gradient(
        &mut self,
        particle: &Particle<'_>,
        data: &Observations<'_>,
        first: usize,
        gradient: &mut [f32],
        sums: &mut PairSums,
    ) {
        let (t, features) = (data.fidelity.len(), particle.model.features());
        let count = LANES.min(t - first);
        self.inverse_columns(t, first, count);
        self.weigh(particle, data, first, count, sums);
        let shape = (features, count);
        let own = &mut self.own[..features];
        transpose(own, &self.features.view((0, first), shape));
        let [delta, other] = &mut self.delta;
        let all = self.features.rows(0, features);
        linalg::weighted_differences(&mut delta[..features], &self.panels[0][..t], own, &all);
        delta[..features].as_flattened_mut().iter_mut().for_each(|d| *d *= -4.0);
        let [h0, h1] = &self.hidden;
        let block = Backward {
            points: data.points.columns(first, count),
            activations: [
                h0.view((0, first), shape),
                h1.view((0, first), shape),
                self.features.view((0, first), shape),
            ],
            delta,
            other,
            rows: self.block[0],
        };
        let Particle { model, theta, maps, .. } = *particle;
        (maps.backward)(model.map, model.widths(), model.offsets.length, theta, gradient, block);
    }

    /// Columns `first..first + count` of `K̃⁻¹` into the first panel, from row `first` on: the rest is symmetric.
    fn inverse_columns(&mut self, t: usize, first: usize, count: usize) {
        let panel = &mut self.panels[0][first..t];
        panel.fill([0.0; LANES]);
        for (lane, row) in panel[..count].iter_mut().enumerate() {
            row[lane] = 1.0;
        }
        let corner = self.matrix.view((first, first), (t - first, t - first));
        linalg::solve_lower(&corner, panel, count);
        linalg::solve_upper(&corner, panel);
    }

    /// `K̃⁻¹ → ½(ααᵀ − K̃⁻¹) ∘ K` in the first panel: the gradient in `ln k`, summed up by fidelities.
    ///
    /// It takes the place of `K` in the matrix, for the blocks that follow.
    fn weigh(
        &mut self,
        particle: &Particle<'_>,
        data: &Observations<'_>,
        first: usize,
        count: usize,
        sums: &mut PairSums,
    ) {
        let t = data.fidelity.len();
        let (above, below) = self.panels[0][..t].split_at_mut(first);
        for (j, lanes) in above.iter_mut().enumerate() {
            *lanes = padded(&column_mut(&mut self.matrix, j)[first..first + count]);
        }
        for lane in 0..count {
            let i = first + lane;
            let (alpha, later) = (self.alpha[i], &self.alpha[i + 1..t]);
            let of_pairs = &mut column_mut(&mut self.matrix, i)[i + 1..t];
            let (done, below) = below.split_at_mut(lane + 1);
            let (own, others) = done[lane][lane..count].split_first_mut().expect("as many as the block has");
            *own = weight(alpha, alpha, *own, particle.hyper.signal);
            for ((value, k), other) in others.iter_mut().zip(&*of_pairs).zip(later) {
                *value = weight(alpha, *other, *value, *k);
            }
            for ((lanes, of_pair), other) in below.iter_mut().zip(of_pairs).zip(later) {
                lanes[lane] = weight(*other, alpha, lanes[lane], *of_pair);
                *of_pair = lanes[lane];
            }
        }
        // By the row's fidelity first, so that 8 columns are summed up side by side.
        let mut by_row = [[0.0; LANES]; MAX_FIDELITIES];
        for (lanes, &m) in self.panels[0][..t].iter().zip(data.fidelity) {
            linalg::add_row(&mut by_row[usize::from(m)], lanes);
        }
        for (row, sum) in sums.0.iter_mut().zip(&by_row) {
            for (&n, sum) in data.fidelity[first..first + count].iter().zip(sum) {
                row[usize::from(n)] += sum;
            }
        }
    }

    /// Posterior at up to 8 points and all fidelities: `out[point · fidelities + m]`; Eq. (18).
    pub fn posterior(
        &mut self,
        particle: &Particle<'_>,
        data: &Observations<'_>,
        points: Matrix<'_>,
        fidelities: usize,
        out: &mut [Posterior],
    ) {
        self.posterior_from(0, particle, data, points, fidelities, out);
    }

    /// The same at the fidelities from `least` on; the others are left as they are.
    pub(crate) fn posterior_from(
        &mut self,
        least: usize,
        particle: &Particle<'_>,
        data: &Observations<'_>,
        points: Matrix<'_>,
        fidelities: usize,
        out: &mut [Posterior],
    ) {
        let (t, truth) = (data.fidelity.len(), fidelities - 1);
        let count = points.ncols();
        self.base_kernel(particle, points, t);
        let factor = self.matrix.as_view();
        let [base, of_truth, work] = &mut self.panels;
        let base = &base[..t];
        let mut of_fleet = data.common.map(|common| [common.fleet.lanes(points, truth); 2]);
        for m in (least..fidelities).rev() {
            let panel = if m == truth { &mut of_truth[..t] } else { &mut work[..t] };
            let (signal, mut kappas) = (particle.hyper.signal, [1.0; MAX_FIDELITIES]);
            for (n, kappa) in kappas.iter_mut().enumerate().take(particle.hyper.levels) {
                *kappa = particle.hyper.kappa(m, n);
            }
            for ((panel, base), &n) in panel.iter_mut().zip(base.iter()).zip(data.fidelity) {
                linalg::scale_row(panel, base, kappas[usize::from(n)]);
            }
            if let (Some(Common { fleet, terms }), Some([_, own])) = (data.common, &mut of_fleet) {
                if m < truth && fleet.set(m) != fleet.set(m + 1) {
                    *own = fleet.lanes(points, m);
                }
                fleet.add_products(panel, terms, own);
            }
            linalg::solve_lower(&factor, panel, count);
            let panel = if m == truth { &of_truth[..t] } else { &work[..t] };
            let sums = Sums::of(panel, &of_truth[..t], self.whitened, count);
            for (lane, out) in out.chunks_exact_mut(fidelities).enumerate().take(count.min(LANES)) {
                out[m] = Posterior {
                    mean: sums.weighted[lane],
                    variance: math::larger(signal - sums.square[lane], signal * VARIANCE_FLOOR),
                    covariance: signal * kappas[truth] - sums.product[lane],
                };
                if let Some([at_truth, own]) = &of_fleet {
                    let (prior, with_truth) = fleet::variance(own, at_truth, lane);
                    out[m] = Posterior {
                        mean: out[m].mean + own[0][lane],
                        variance: math::larger(
                            signal + prior - sums.square[lane],
                            (signal + prior) * VARIANCE_FLOOR,
                        ),
                        covariance: signal * kappas[truth] + with_truth - sums.product[lane],
                    };
                }
            }
        }
    }
}

/// What a posterior needs of one particle can be kept, so that another has the workspace meanwhile: the factor, the features and
/// `L⁻¹z`.
impl Workspace<'_> {
    /// Numbers that this is, for `n` observations with `f` features.
    pub(crate) const fn kept(n: usize, f: usize) -> usize {
        n.saturating_mul(n + 1) / 2 + n.saturating_mul(f + 1)
    }

    fn parts_kept(&mut self, t: usize) -> impl Iterator<Item = &mut [f32]> {
        let rows = self.matrix.column_iter_mut().take(t).enumerate();
        let rows = rows.map(|(i, row)| &mut row.data.into_slice_mut()[..=i]);
        let features = self.features.column_iter_mut().take(t).map(|column| column.data.into_slice_mut());
        rows.chain(features).chain([&mut self.whitened[..t]])
    }

    /// Keeps it, of `t` observations, after [`condition`](Self::condition).
    pub(crate) fn keep(&mut self, t: usize, kept: &mut [f32]) {
        let mut first = 0;
        for part in self.parts_kept(t) {
            kept[first..first + part.len()].copy_from_slice(part);
            first += part.len();
        }
    }

    /// And has it back.
    pub(crate) fn recall(&mut self, t: usize, kept: &[f32]) {
        let mut first = 0;
        for part in self.parts_kept(t) {
            part.copy_from_slice(&kept[first..first + part.len()]);
            first += part.len();
        }
    }
}

/// What some of the observations leave unexplained of `K̃`, whose lower triangle takes the factor's place.
impl Workspace<'_> {
    /// Begins, after all blocks of the factor; what a fleet adds is left out.
    pub(crate) fn explain_nothing(&mut self, particle: &Particle<'_>, data: &Observations<'_>) {
        for (i, &m) in data.fidelity.iter().enumerate() {
            self.matrix[(i, i)] = particle.hyper.signal + particle.noise[usize::from(m)];
        }
    }

    /// Variance of observation `i`, given those so far.
    pub(crate) fn variance_of(&self, i: usize) -> f32 {
        self.matrix[(i, i)]
    }

    /// And given observation `i` of `t` too.
    pub(crate) fn explain(&mut self, i: usize, t: usize) {
        let (own, variance) = (&mut self.alpha[..t], self.matrix[(i, i)]);
        for (j, own) in own.iter_mut().enumerate() {
            *own = self.matrix[(i.max(j), i.min(j))];
        }
        for (j, column) in self.matrix.column_iter_mut().enumerate().take(t) {
            let share = own[j] / variance;
            let rest = column.data.into_slice_mut().iter_mut().zip(&*own).skip(j);
            rest.for_each(|(rest, own)| *rest -= share * own);
        }
    }
}

const LN_2_PI: f32 = 1.837_877_1;

/// `½(αⱼαᵢ − K̃⁻¹ⱼᵢ) kⱼᵢ`.
#[inline(always)]
fn weight(alpha: f32, other: f32, inverse: f32, k: f32) -> f32 {
    0.5 * (alpha * other - inverse) * k
}

/// As many numbers as there is room for, mostly eight: then in one go.
#[inline(always)]
fn copy(to: &mut [f32], from: &Lane) {
    match to.first_chunk_mut() {
        Some(to) => *to = *from,
        None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
    }
}

/// Up to 8 numbers, mostly as many; the rest zero.
#[inline(always)]
fn padded(from: &[f32]) -> Lane {
    from.first_chunk().copied().unwrap_or_else(|| {
        let mut some = [0.0; LANES];
        some.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        some
    })
}

/// Columns of up to 8 points into `[feature][lane]`; lanes without a point are zero.
fn transpose(out: &mut [Lane], points: &Matrix<'_>) {
    for lane in 0..LANES {
        if lane < points.ncols() {
            out.iter_mut().zip(column(points, lane)).for_each(|(lanes, value)| lanes[lane] = *value);
        } else {
            out.iter_mut().for_each(|lanes| lanes[lane] = 0.0);
        }
    }
}

#[cfg(test)]
mod tests;
