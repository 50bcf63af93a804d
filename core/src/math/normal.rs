//! The normal distribution: density, distribution, its logarithm, hazard, and what cutting it off leaves.

use super::{SQRT_HALF, exp_assemble, exp_cut, exp_reduce, ln, ln_assemble};
use crate::kernels::{either, function, shortcut};

const SQRT_2_PI: f32 = 2.506_628_3;
const INV_SQRT_2_PI: f32 = 0.398_942_3;
/// `|g|` from which the normal functions stay as they are: a little below `√f32::MAX`.
pub(super) const FARTHEST: f32 = 1.8e19;
/// Largest value of [`truncation`], `1 − 2⁻²⁴`.
pub(super) const TRUNCATION_MAX: f32 = 1.0 - f32::EPSILON / 2.0;

function! {
    /// `φ(g) = exp(−g²/2)/√(2π)`, 0 where the exponential would be subnormal, from `|g| = 13.216`.
    pub fn normal_pdf(g: f32) -> f32 {
        let t = g.abs();
        shortcut!(t >= 14.0 => 0.0);
        let t = if t > 14.0 { 14.0 } else { t };
        // The rounding of g² would cost digits in the tail; the square of the first 12 bits is exact.
        let first = f32::from_bits(t.to_bits() & 0xffff_f000);
        let high = -0.5 * (first * first);
        let low = -0.5 * ((t - first) * (t + first));
        let (k, r) = exp_reduce(high);
        let y = exp_assemble(k, r + low);
        shortcut!(t < 13.0 => INV_SQRT_2_PI * y);
        INV_SQRT_2_PI * exp_cut(high + low, y)
    }
}

/// `Φ(g)`; in the left tail the relative accuracy is kept until [`normal_pdf`] is 0.
#[inline]
#[cfg(any(test, feature = "internals"))]
pub fn normal_cdf(g: f32) -> f32 {
    let (t, c) = magnitude_and_excess(g);
    let tail = normal_pdf(t) / (t + c);
    if g > 0.0 { 1.0 - tail } else { tail }
}

function! {
    /// `ln Φ(g)`: `−g²/2 − ln(−g) − ln √(2π)` in the far left tail, held from `g = −1.8·10¹⁹`; in the right tail `−Φ(−g)`
    /// until that underflows to 0.
    pub fn ln_normal_cdf(g: f32) -> f32 {
        let (t, c) = magnitude_and_excess(g);
        let h = t + c;
        either!(g > 0.0, ln_one_minus(normal_pdf(t) / h), -(0.5 * (t * t) + ln(SQRT_2_PI * h)))
    }
}

/// `ln(1 − q)` for `0 ≤ q ≤ ½`.
#[inline(always)]
fn ln_one_minus(q: f32) -> f32 {
    // Here q² is beyond the last digit; and its powers would be subnormal, which is slow on some processors.
    let tiny = q < 1e-8;
    shortcut!(tiny => -q);
    let seen = if tiny { 0.0 } else { q };
    let halved = q > 1.0 - SQRT_HALF;
    let ln = ln_assemble(if halved { 1.0 - 2.0 * q } else { -seen }, if halved { -1.0 } else { 0.0 });
    if tiny { -q } else { ln }
}

/// `r = φ(g)/Φ(g)`, about `−g` in the left tail, held from `g = −1.8·10¹⁹`.
#[inline]
#[cfg(any(test, feature = "internals"))]
pub fn hazard(g: f32) -> f32 {
    let (t, c) = magnitude_and_excess(g);
    let h = t + c;
    if g > 0.0 { hazard_right(t, h) } else { h }
}

function! {
    /// `r (g + r)` with `r = φ(g)/Φ(g)`: the share of its variance that a normal variable loses when it is cut off above
    /// `g` deviations. Falls from 1 to 0 in `g`; about `1 − 1/g²` in the left tail, and held at `1 − 2⁻²⁴` there, so that
    /// `1 − truncation(g) > 0` always.
    pub fn truncation(g: f32) -> f32 {
        let (t, c) = magnitude_and_excess(g);
        either!(
            g > 0.0,
            {
                let r = hazard_right(t, t + c);
                r * (t + r)
            },
            {
                let share = (t + c) * c;
                if share > TRUNCATION_MAX { TRUNCATION_MAX } else { share }
            }
        )
    }
}

/// `t = |g|`, held where its square would overflow, and `c(t)`, held from `t = 10⁵`, where it is `1/t`.
#[inline(always)]
fn magnitude_and_excess(g: f32) -> (f32, f32) {
    let t = g.abs();
    let (t, near) = if t > 1e5 { (if t > FARTHEST { FARTHEST } else { t }, 1e5) } else { (t, t) };
    (t, excess(near))
}

/// `φ/Φ` at `t > 0` from `h = φ(t)/Φ(−t)`.
#[inline(always)]
fn hazard_right(t: f32, h: f32) -> f32 {
    let phi = normal_pdf(t);
    phi * h / (h - phi)
}

/// `c(t) = φ(t)/Φ(−t) − t` for `0 ≤ t ≤ 10⁵`.
#[inline(always)]
fn excess(t: f32) -> f32 {
    let t2 = t * t;
    let p =
        0.797_884_6 + (0.595_771_1 * t + ((0.219_865_66 + 0.045_049_492 * t) + 0.004_522_988_6 * t2) * t2);
    let q = 1.0
        + (1.202_121_4 * t
            + ((0.686_392_8 + 0.228_895_01 * t) + (0.045_049_693 + 0.004_522_988 * t) * t2) * t2);
    p / q
}
