//! Stein variational gradient descent: moves the particles towards the posterior of `θ`, Eq. (30), (31).
//!
//! Eq. (39), sign corrected: `Ω(θᵥ) = 1/V Σᵤ [k̃(θᵤ,θᵥ) ∇(log p(z|θᵤ) + log pₙ(θᵤ)) + ∇ᵤ k̃(θᵤ,θᵥ)]` with
//! `k̃ = exp(−h‖θᵤ − θᵥ‖²)`, so `∇ᵤ k̃ = 2h (θᵥ − θᵤ) k̃`; Eq. (38): `θ ← θ + η Ω`.
//! MAP estimation, Eq. (27), is the same with `V = 1`.
//!
//! The paper's `h = 1/1.326` makes `k̃` exactly zero between particles of thousands of numbers; the median heuristic
//! keeps them coupled. Cost: `O(V² P)` a step. `Ω` overwrites the gradients, so two buffers suffice.

use heapless::Vec;

use crate::kernels::{BLOCK, in_blocks};
use crate::linalg::{Matrix, MatrixMut, column, column_mut};
use crate::math;
use crate::prior::{self, MAX_PARTICLES};
use crate::random::Random;

/// Width of the kernel between particles.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Bandwidth {
    /// This `h`; above 0.
    Fixed(f32),
    /// `h = ln(V + 1) / med²`, `med²` the lower median of the squared distances between particles.
    Median,
}

/// How a particle follows `Ω`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Step {
    /// `θ + η Ω`, Eq. (38).
    Plain {
        /// `η`; above 0.
        rate: f32,
    },
    /// Adam, with decays 0.9 and 0.99; needs two more rows of memory per particle.
    Adam {
        /// Step size; above 0.
        rate: f32,
    },
    /// A step that samples: `θ + η σ² Ω ± σ √(2η/V)`, `σ²` the variance of that number under the task's prior, the sign by the toss of a
    /// coin, the first at most five times the second. Stein drift with Langevin noise: the particles stay where the prior's mass is, which in
    /// thousands of dimensions is not where its mode is. In units of the prior, wide and narrow layers mix alike.
    Langevin {
        /// `η`; above 0, at most about V.
        rate: f32,
    },
}

impl Step {
    /// Rows of memory that this needs for `v` particles.
    pub const fn rows(&self, v: usize) -> usize {
        match self {
            Step::Plain { .. } | Step::Langevin { .. } => 0,
            Step::Adam { .. } => 2 * v,
        }
    }

    pub(crate) const fn rate(&self) -> f32 {
        let (Step::Plain { rate } | Step::Langevin { rate } | Step::Adam { rate }) = *self;
        rate
    }
}

/// Decay of Adam's first moment.
const FIRST_DECAY: f32 = 0.9;
/// Decay of the second moment; 0.99 rather than 0.999, since a task has tens of steps, not thousands.
const SECOND_DECAY: f32 = 0.99;
/// Added to the root of the second moment.
const EPSILON: f32 = 1e-8;
/// No drift is larger: its square is finite.
const LARGEST_DRIFT: f32 = 1e18;

/// A Langevin step's drift is at most so many times its noise: where the likelihood is steep, it would overshoot.
const LARGEST_PULL: f32 = 5.0;

/// A square table over particles: a row for each.
pub type Pairs = [[f32; MAX_PARTICLES]];

/// `‖θᵤ − θᵥ‖²` beyond which `k̃` is exactly zero, so that it need not be known better.
pub fn far(kind: Bandwidth) -> f32 {
    match kind {
        Bandwidth::Fixed(h) => 90.0 / h,
        Bandwidth::Median => f32::INFINITY,
    }
}

/// Adds the squared distances of the particles, which are columns, in some of their coordinates, which are rows; not to
/// those that are `far` already.
#[allow(clippy::needless_range_loop, reason = "pairs of columns, and a table of pairs")]
pub fn add_distances(particles: &Matrix<'_>, far: f32, distances: &mut Pairs) {
    for a in 0..particles.ncols() {
        for b in 0..a {
            if distances[a][b] > far {
                continue;
            }
            let (x, y) = (column(particles, a), column(particles, b));
            // Eight sums side by side, so that it vectorises and the order is the same everywhere.
            let mut sums = [0.0; BLOCK];
            let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<BLOCK>(), y.as_chunks::<BLOCK>());
            for (x, y) in x.iter().zip(y) {
                for l in 0..BLOCK {
                    sums[l] += (x[l] - y[l]) * (x[l] - y[l]);
                }
            }
            let rest = x_rest.iter().zip(y_rest).fold(0.0, |sum, (x, y)| sum + (x - y) * (x - y));
            distances[a][b] += sums.iter().fold(rest, |sum, part| sum + part);
            distances[b][a] = distances[a][b];
        }
    }
}

/// `h` for the given distances. One particle, or particles in one place, have no scale: `h = 1`.
pub fn bandwidth(kind: Bandwidth, distances: &Pairs, v: usize) -> f32 {
    if let Bandwidth::Fixed(h) = kind {
        return h;
    }
    let median = lower_median(distances, v);
    if median > 0.0 && median.is_finite() { math::ln(v as f32 + 1.0) / median } else { 1.0 }
}

/// The lower median of the distances of all pairs; 0 if there is none. Counts instead of sorting: `O(V⁴)`, `V ≤ 16`; but only
/// what lies between the values that are known to be too small and too large.
fn lower_median(distances: &Pairs, v: usize) -> f32 {
    let pairs = || (0..v).flat_map(move |a| (0..a).map(move |b| (a, b)));
    let rank = pairs().count().saturating_sub(1) / 2;
    let (mut small, mut large) = (f32::NAN, f32::NAN);
    for (a, b) in pairs() {
        let value = distances[a][b];
        if value <= small || value >= large {
            continue;
        }
        let (mut below, mut equal) = (0, 0);
        for (a, b) in pairs() {
            below += usize::from(distances[a][b] < value);
            equal += usize::from(distances[a][b] == value);
        }
        match rank {
            _ if rank < below => large = value,
            _ if rank < below + equal => return value,
            _ => small = value,
        }
    }
    0.0
}

/// Turns distances into `k̃`.
pub fn kernel(distances: &mut Pairs, h: f32, v: usize) {
    for row in distances[..v].iter_mut() {
        row[..v].iter_mut().for_each(|value| *value = math::exp(-h * *value));
    }
}

/// Overwrites the gradients by `Ω`, Eq. (39), in some coordinates; particles and gradients are columns.
pub fn drift(particles: &Matrix<'_>, gradients: &mut MatrixMut<'_>, kernel: &Pairs, h: f32) {
    let (coordinates, v) = particles.shape();
    let at: Vec<&[f32], MAX_PARTICLES> = (0..v).map(|u| column(particles, u)).collect();
    let mut pulls: Vec<&mut [f32], MAX_PARTICLES> =
        gradients.column_iter_mut().map(|column| column.data.into_slice_mut()).collect();
    // Most particles of thousands of numbers are too far apart to feel each other: their sum has one term.
    let mut together: Vec<usize, MAX_PARTICLES> = Vec::new();
    for (own, pull) in pulls.iter_mut().enumerate() {
        if (0..v).any(|u| u != own && kernel[u][own] != 0.0) {
            let _ = together.push(own);
        } else {
            share_all(pull, kernel[own][own], v);
        }
    }
    for from in (0..coordinates).step_by(BLOCK) {
        let some = from..coordinates.min(from + BLOCK);
        let mut pull = [[0.0f32; BLOCK]; MAX_PARTICLES];
        for &u in &together {
            pull[u] = load(&pulls[u][some.clone()]);
        }
        for &own in &together {
            let here = load(&at[own][some.clone()]);
            let mut sum = [0.0f32; BLOCK];
            for &u in &together {
                let (k, other) = (kernel[u][own], load(&at[u][some.clone()]));
                for l in 0..BLOCK {
                    sum[l] += k * (pull[u][l] + 2.0 * h * (here[l] - other[l]));
                }
            }
            store(sum.map(|sum| share(sum, v)), &mut pulls[own][some.clone()]);
        }
    }
}

/// Up to 8 numbers, the rest zero.
#[inline(always)]
fn load(from: &[f32]) -> [f32; BLOCK] {
    from.first_chunk().copied().unwrap_or_else(|| {
        let mut some = [0.0; BLOCK];
        some.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        some
    })
}

/// As many of the numbers as there is room for.
#[inline(always)]
fn store(from: [f32; BLOCK], to: &mut [f32]) {
    match to.first_chunk_mut() {
        Some(to) => *to = from,
        None => to.iter_mut().zip(from).for_each(|(to, from)| *to = from),
    }
}

/// One of `v` parts of a sum; what overflowed must not stay in the moments for ever.
#[inline(always)]
fn share(sum: f32, v: usize) -> f32 {
    let drift = sum / v as f32;
    match drift {
        _ if drift.abs() <= LARGEST_DRIFT => drift,
        _ if drift > 0.0 => LARGEST_DRIFT,
        _ if drift < 0.0 => -LARGEST_DRIFT,
        _ => 0.0,
    }
}

/// [`share`] of `k` times each.
fn share_all(pulls: &mut [f32], k: f32, v: usize) {
    let (blocks, rest) = in_blocks(pulls);
    for block in blocks {
        let shares = block.map(|pull| k * pull / v as f32);
        match within(&shares, LARGEST_DRIFT) {
            true => *block = shares,
            false => share_each(block, k, v),
        }
    }
    share_each(rest, k, v);
}

/// One by one, apart: on a device its copies would take flash.
#[inline(never)]
fn share_each(pulls: &mut [f32], k: f32, v: usize) {
    pulls.iter_mut().for_each(|pull| *pull = share(k * *pull, v));
}

/// Whether eight numbers are surely within ±`limit`: the sum of their squares tells, in one instruction for each.
#[inline(always)]
fn within(numbers: &[f32; BLOCK], limit: f32) -> bool {
    numbers.iter().fold(0.0, |sum, x| sum + x * x) < limit * limit
}

/// Moves the particles along `Ω` in some coordinates, Eq. (38). In this and the following all matrices have a column for each
/// particle, the moments as many as [`Step::rows`] says. A value that would not be finite stays where it was, and none goes beyond ±30.
pub fn plain(rate: f32, particles: &mut MatrixMut<'_>, drifts: &Matrix<'_>) {
    for own in 0..particles.ncols() {
        let moved = column_mut(particles, own).iter_mut().zip(column(drifts, own));
        moved.for_each(|(theta, drift)| shift(theta, rate * drift));
    }
}

/// The same for [`Step::Adam`]; `count` is the number of this step, from 1.
pub fn adam(
    rate: f32,
    particles: &mut MatrixMut<'_>,
    drifts: &Matrix<'_>,
    moments: &mut MatrixMut<'_>,
    count: u32,
) {
    let v = particles.ncols();
    let corrections = (1.0 - power(FIRST_DECAY, count), 1.0 - power(SECOND_DECAY, count));
    let (mut first, mut second) = moments.columns_range_pair_mut(0..v, v..2 * v);
    for own in 0..v {
        let moments = column_mut(&mut first, own).iter_mut().zip(column_mut(&mut second, own));
        let moved = column_mut(particles, own).iter_mut().zip(column(drifts, own));
        for ((theta, drift), (first, second)) in moved.zip(moments) {
            *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * drift;
            *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * drift * drift;
            let root = math::sqrt(*second / corrections.1) + EPSILON;
            shift(theta, rate * (*first / corrections.0) / root);
        }
    }
}

/// A step of [`Step::Langevin`] in numbers of one particle that share a prior variance, `rate` being in its units: along `Ω`,
/// and up or down by the noise as the stream says. Two values have the mean and the variance of a normal one, which is all that
/// many small steps keep of it, and take one bit each.
pub(crate) fn sample(theta: &mut [f32], drift: &[f32], rate: f32, v: usize, random: &mut Random) {
    let noise = math::sqrt(2.0 * rate / v as f32);
    let most = LARGEST_PULL * noise;
    for (theta, drift) in theta.chunks_mut(u32::BITS as usize).zip(drift.chunks(u32::BITS as usize)) {
        let bits = random.bits();
        for (i, (theta, drift)) in theta.iter_mut().zip(drift).enumerate() {
            shift(theta, math::clamp(rate * drift, -most, most) + toss(noise, bits >> i));
        }
    }
}

/// Up or down, by the lowest bit.
#[inline(always)]
fn toss(noise: f32, bits: u32) -> f32 {
    f32::from_bits(noise.to_bits() | (bits << 31))
}

/// Without branches, so that loops are vectorised.
#[inline(always)]
fn shift(theta: &mut f32, by: f32) {
    let moved = *theta + by;
    let kept = math::clamp(moved, -prior::LARGEST_PARAMETER, prior::LARGEST_PARAMETER);
    *theta = if moved.is_finite() { kept } else { *theta };
}

/// `xⁿ` by repeated squaring: `powi` may differ between platforms.
fn power(mut x: f32, mut n: u32) -> f32 {
    let mut result = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            result *= x;
        }
        x *= x;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests;
