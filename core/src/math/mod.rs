//! Elementary and normal-distribution functions with the same bits everywhere.
//!
//! Only `+ − × ÷ √` in `f32`, integer operations and comparisons, in a fixed order and never fused: x86-64 at any
//! vector width and a Cortex-M return the same bits ([`digest`] compares them; which NaN a NaN becomes is not promised).
//! `exp`, `ln` and `tanh` select instead of branching, so that a loop over a slice is vectorised. `√` is
//! ours, too: see [`sqrt`].
//!
//! | function | form | largest error |
//! |---|---|---|
//! | [`exp`] | `2ⁿ eʳ`, `n = ⌊x/ln 2⌉`, `\|r\| ≤ ½ ln 2`; polynomial of degree 6 in `r` | 1.01 ulp |
//! | [`ln`] | `n ln 2 + ln(1 + f)`, `√½ ≤ 1 + f < √2`; polynomial of degree 10 in `f` | 0.89 ulp |
//! | [`tanh`] | `x P(x²)/Q(x²)`, both of degree 4, held from `\|x\| = 8.6` and cut at ±1 | 5.8 ulp (3.5·10⁻⁷) |
//! | [`normal_pdf`], [`normal_cdf`], [`ln_normal_cdf`], [`hazard`] | `c(t)`, below | 5·10⁻⁷ relative |
//! | [`truncation`] | `c(t)`, below | 6·10⁻⁷ absolute, for `g > 0` also 10⁻⁶ relative |
//!
//! The first three over every `f32` (`cargo test -p foretune-core --lib math -- --ignored --nocapture`), the others over
//! every 997th. All coefficients are our own minimax fits, rounded to `f32` and then searched for the least error.
//!
//! The normal functions rest on the excess hazard `c(t) = φ(t)/Φ(−t) − t`, `t ≥ 0`, which falls from `√(2/π)` to `1/t`: a
//! rational function of degree 4 over 5 gives it within 8·10⁻⁸, and the rest follows without cancellation. With `t = |g|`
//! and `h = t + c(t)`: `Φ(−t) = φ(t)/h`; for `g ≤ 0` the hazard is `r = h`, and `r(g + r) = h c`; for `g > 0` it is
//! `r = φ h/(h − φ)`.
//!
//! On Cortex-M they are functions to be called, for the sake of its flash; on a host they are inlined, for vectors.
//! Cost in instructions of one call on a Cortex-M, in the compact profile: `exp` 48, `ln` 61, `normal_pdf` 56, `truncation` 109
//! and half of that for `g ≤ 0`, `ln_normal_cdf` at most 150; `tanh` 35 in the deep profile. In a slice on an x86-64 server
//! processor with AVX2, a `tanh` takes 0.4 ns and an `exp` 0.5 ns.

use crate::kernels::{function, shortcut};

mod normal;

#[cfg(any(test, feature = "internals"))]
pub use normal::{hazard, normal_cdf, normal_pdf};
pub use normal::{ln_normal_cdf, truncation};

/// No observation is larger, nor is what a measurement cost: squares of what is standardised, and sums, stay finite.
pub const LARGEST_VALUE: f32 = 1e30;

/// `x` above which [`exp`] would overflow: the largest `f32` below `ln(f32::MAX)`.
const EXP_HIGH: f32 = 88.722_83;
/// `x` below which [`exp`] would be subnormal: the smallest `f32` above `ln(f32::MIN_POSITIVE)`.
const EXP_LOW: f32 = -87.336_54;
/// Adding and subtracting this rounds to the nearest integer, and leaves it in the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;
/// `ln 2` in two parts; the first has few enough bits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// `ln` of the smallest positive `f32`, 2⁻¹⁴⁹.
const LN_SMALLEST: f32 = -103.278_93;
const SQRT_HALF: f32 = core::f32::consts::FRAC_1_SQRT_2;

/// `√x`, correctly rounded; NaN for `x < 0`.
///
/// Two Newton steps from a parabola leave at most a unit in the last place, which integers then decide. (`libm` has a
/// longer loop on Cortex-M; on x86-64 it has one instruction, but of a kind that stalls the vector code around it for
/// more than a hundred cycles, and the language has no other way to it without `std` or `unsafe`.)
pub fn sqrt(x: f32) -> f32 {
    if !(x > 0.0 && x < f32::INFINITY) {
        return if x < 0.0 { f32::NAN } else { x };
    }
    let tiny = x < f32::MIN_POSITIVE;
    let bits = if tiny { x * 16_777_216.0 } else { x }.to_bits();
    // x = m 2ⁿ with n even and 1 ≤ m < 4.
    let n = ((bits >> 23) as i32 - 127) & !1;
    let m = f32::from_bits(bits.wrapping_sub((n as u32) << 23));
    let y = 0.518_5 + (0.526 - 0.039_5 * m) * m;
    let y = 0.5 * (y + m / y);
    let y = 0.5 * (y + m / y);
    // The 24 digits of the root, and what they leave of m, both as integers: s² ≈ m 2⁴⁶.
    let s = i64::from((y * 8_388_608.0) as i32);
    let left = (i64::from((m * 8_388_608.0) as i32) << 23) - s * s;
    let s = s + i64::from(left > s) - i64::from(left <= -s);
    let exponent = n / 2 - if tiny { 12 } else { 0 };
    f32::from_bits(((s as u32) & 0x007f_ffff) | (((exponent + 127) as u32) << 23))
}

/// `x` within `low..=high`; NaN stays NaN.
///
/// Unlike [`f32::clamp`], does not check its bounds: the panic's message would bring the formatting of floats, some 15 KB,
/// into every firmware.
pub(crate) fn clamp(x: f32, low: f32, high: f32) -> f32 {
    match x {
        x if x < low => low,
        x if x > high => high,
        x => x,
    }
}

/// The larger of two numbers, the second where they cannot be compared: [`f32::max`] is a call on Cortex-M.
#[inline(always)]
pub(crate) fn larger(x: f32, other: f32) -> f32 {
    if x > other { x } else { other }
}

function! {
    /// `eˣ`, from 0 (below −87.336 54, where it would be subnormal) to `f32::MAX` (above 88.722 83, in place of infinity).
    pub fn exp(x: f32) -> f32 {
        let (k, r) = exp_reduce(x);
        exp_cut(x, exp_assemble(k, r))
    }
}

/// `eˣ` in place, bit for bit as [`exp`].
#[cfg(any(test, feature = "internals"))]
pub fn exp_slice(x: &mut [f32]) {
    for v in x {
        *v = exp(*v);
    }
}

/// `scale · e⁻ˣ` in place for `x ≥ 0`, and 0 where `e⁻ˣ` is below [`DECAY_FLOOR`]; bit for bit as with [`exp`].
pub fn decay_slice(x: &mut [f32], scale: f32) {
    for v in x {
        *v = decay(*v, scale);
    }
}

#[inline(always)]
fn decay(x: f32, scale: f32) -> f32 {
    shortcut!(x <= DECAY_SEEN => {
        let (k, r) = exp_reduce(-x);
        exp_assemble(k, r) * scale
    });
    shortcut!(x > DECAY_UNSEEN => 0.0);
    let y = exp(-x);
    if y < DECAY_FLOOR { 0.0 } else { y * scale }
}

/// What is smaller counts as none.
pub const DECAY_FLOOR: f32 = 1e-9;
/// Up to here `e⁻ˣ` is well above the floor, and from there on well below it.
const DECAY_SEEN: f32 = 20.0;
const DECAY_UNSEEN: f32 = 21.0;

/// `(n + ROUNDER, r)` with `x = n ln 2 + r`.
#[inline(always)]
fn exp_reduce(x: f32) -> (f32, f32) {
    let k = x * core::f32::consts::LOG2_E + ROUNDER;
    let n = k - ROUNDER;
    (k, (x - n * LN_2_HIGH) - n * LN_2_LOW)
}

/// `2ⁿ eʳ`; the exponent is added as an integer, right for every normal result.
#[inline(always)]
fn exp_assemble(k: f32, r: f32) -> f32 {
    let r2 = r * r;
    let high = (0.041_668_393 + 0.008_368_865 * r) + 0.001_381_500_3 * r2;
    let p = (0.499_999_94 + 0.166_665_2 * r) + high * r2;
    let y = 1.0 + (r + p * r2);
    f32::from_bits(y.to_bits().wrapping_add(k.to_bits() << 23))
}

/// Replaces `y` where `eˣ` leaves the normal numbers, or is none.
#[inline(always)]
fn exp_cut(x: f32, y: f32) -> f32 {
    let y = if x < EXP_LOW { 0.0 } else { y };
    let y = if x > EXP_HIGH { f32::MAX } else { y };
    if x.is_nan() { f32::NAN } else { y }
}

function! {
    /// `ln x` for `x > 0`, subnormal numbers included; `ln 0 = −103.278 93`, that of the smallest positive number, in place
    /// of minus infinity; `ln ∞ = ∞`; NaN for `x < 0`.
    pub fn ln(x: f32) -> f32 {
        shortcut!((f32::MIN_POSITIVE..f32::INFINITY).contains(&x) => ln_normal(x));
        let tiny = x < f32::MIN_POSITIVE;
        let scaled = if tiny { x * 8_388_608.0 } else { x };
        let y = ln_scaled(scaled, if tiny { -23 } else { 0 });
        let y = if x < f32::INFINITY { y } else { x };
        let y = if x == 0.0 { LN_SMALLEST } else { y };
        if x < 0.0 { f32::NAN } else { y }
    }
}

/// [`ln`] of a normal number above 0.
#[inline(always)]
pub(crate) fn ln_normal(x: f32) -> f32 {
    ln_scaled(x, 0)
}

/// `ln x + n ln 2` for a normal `x > 0`.
#[inline(always)]
fn ln_scaled(x: f32, n: i32) -> f32 {
    let from_sqrt_half = (x.to_bits() as i32).wrapping_sub(SQRT_HALF.to_bits() as i32);
    let m = (from_sqrt_half & 0x007f_ffff).wrapping_add(SQRT_HALF.to_bits() as i32);
    ln_assemble(f32::from_bits(m as u32) - 1.0, ((from_sqrt_half >> 23) + n) as f32)
}

/// `n ln 2 + ln(1 + f)` for `√½ ≤ 1 + f ≤ √2`.
#[inline(always)]
fn ln_assemble(f: f32, n: f32) -> f32 {
    let f2 = f * f;
    let f4 = f2 * f2;
    let low = (0.333_333_3 - 0.250_008_2 * f) + (0.200_012_27 - 0.166_233_57 * f) * f2;
    let high = (0.142_017_6 - 0.131_601_91 * f) + (0.127_615_75 - 0.076_344_74 * f) * f2;
    let tail = (low + high * f4) * (f * f2) + n * LN_2_LOW;
    (f + (tail - 0.5 * f2)) + n * LN_2_HIGH
}

/// `tanh x`: odd, `|tanh x| ≤ |x|` up to rounding, exactly ±1 from `|x| = 8.61` on.
#[inline]
pub fn tanh(x: f32) -> f32 {
    // Here nothing can be cut.
    shortcut!(x.to_bits() & 0x7fff_ffff < TANH_UNCUT.to_bits() => tanh_quotient(x, x * x));
    let square = x * x;
    let z = if square < 74.109_9 { square } else { 74.109_9 };
    // Beyond the last z the quotient grows with x, and is cut.
    let y = tanh_quotient(x, z);
    let y = if y > 1.0 { 1.0 } else { y };
    if y < -1.0 { -1.0 } else { y }
}

/// `|x|` below which [`tanh`] is well within ±1.
const TANH_UNCUT: f32 = 7.0;

/// `x P(z)/Q(z)`.
#[inline(always)]
fn tanh_quotient(x: f32, z: f32) -> f32 {
    let z2 = z * z;
    let p = 1.0 + (0.134_305_21 * z + ((0.003_554_525 + 2.158_774e-5 * z) + 1.473_478_9e-8 * z2) * z2);
    let q = 1.0 + (0.467_638_5 * z + ((0.026_100_777 + 3.382_360_4e-4 * z) + 8.335_858e-7 * z2) * z2);
    x * p / q
}

/// `tanh` in place, bit for bit as [`tanh`].
pub fn tanh_slice(x: &mut [f32]) {
    for v in x {
        *v = tanh(*v);
    }
}

/// The functions of this module; the first two are not defined below zero.
#[cfg(any(test, feature = "internals"))]
const FUNCTIONS: [fn(f32) -> f32; 9] =
    [ln, sqrt, exp, tanh, normal_pdf, normal_cdf, ln_normal_cdf, hazard, truncation];

/// Checksum (FNV-1a) of the bits of every function on a fixed grid, the same number on every platform; NaNs count alike.
/// About 110 000 calls.
#[cfg(any(test, feature = "internals"))]
pub fn digest() -> u32 {
    let anywhere = (0..=u32::MAX).step_by(1_048_583);
    let of_interest = (0x3a80_0000..0x4300_0000).step_by(34_567).flat_map(|bits| [bits, bits | 0x8000_0000]);
    let fold =
        |sum: u32, y: f32| (sum ^ if y.is_nan() { f32::NAN } else { y }.to_bits()).wrapping_mul(0x0100_0193);
    anywhere
        .chain(of_interest)
        .map(f32::from_bits)
        .fold(0x811c_9dc5, |sum, x| FUNCTIONS.iter().fold(sum, |sum, f| fold(sum, f(x))))
}

#[cfg(test)]
mod tests;
