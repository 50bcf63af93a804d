//! Elementary and normal-distribution functions with the same bits everywhere.
//!
//! Only `+ − × ÷ √` in `f32`, integer operations and comparisons, in a fixed order and never fused: x86-64 at any
//! vector width and a Cortex-M return the same bits (which NaN a NaN becomes is not promised). Bodies select instead
//! of branching, so that a loop over a slice is vectorised. This module is the only user of `libm`, for `√`.
//!
//! | function | form |
//! |---|---|
//! | [`exp`] | `2ⁿ eʳ`, `n = ⌊x/ln 2⌉`, `\|r\| ≤ ½ ln 2`; `eʳ` by a polynomial of degree 6 |
//! | [`ln`] | `n ln 2 + ln(1 + f)`, `√½ ≤ 1 + f < √2`; polynomial of degree 10 |
//! | [`tanh`] | `x P(x²)/Q(x²)`, both of degree 4, held at `\|x\| = 8.6` and cut at ±1 |
//! | normal distribution | excess hazard `c(t) = φ(t)/Φ(−t) − t` by a rational of degree 4 over 5, `t ≥ 0` |
//!
//! The normal functions follow from `c` without cancellation, with `t = |g|` and `h = t + c(t)`: `Φ(−t) = φ(t)/h`; for
//! `g ≤ 0` the hazard is `r = h` and `r(g + r) = h c`; for `g > 0` it is `r = φ h/(h − φ)`.

/// `x` above which [`exp`] would overflow: the largest `f32` below `ln(f32::MAX)`.
const EXP_HIGH: f32 = 88.722_83;
/// `x` below which [`exp`] would be subnormal: the smallest `f32` above `ln(f32::MIN_POSITIVE)`.
const EXP_LOW: f32 = -87.336_54;
/// Adding and subtracting this rounds to the nearest integer, and leaves it in the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;
/// `ln 2` in two parts; the first has few enough bits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// `ln` of the smallest positive `f32`, 2⁻¹⁴⁹.
const LN_SMALLEST: f32 = -103.278_93;
const SQRT_HALF: f32 = core::f32::consts::FRAC_1_SQRT_2;
const SQRT_2_PI: f32 = 2.506_628_3;
const INV_SQRT_2_PI: f32 = 0.398_942_3;
/// Largest value of [`truncation`], `1 − 2⁻²⁴`.
const TRUNCATION_MAX: f32 = 1.0 - f32::EPSILON / 2.0;

/// `√x`, correctly rounded; NaN for `x < 0`.
pub fn sqrt(x: f32) -> f32 {
    libm::sqrtf(x)
}

/// `eˣ`, from 0 (below −87.336 54, where it would be subnormal) to `f32::MAX` (above 88.722 83, in place of infinity).
#[inline]
pub fn exp(x: f32) -> f32 {
    let (k, r) = exp_reduce(x);
    exp_cut(x, exp_assemble(k, r))
}

/// `eˣ` in place, bit for bit as [`exp`].
pub fn exp_slice(x: &mut [f32]) {
    for v in x {
        *v = exp(*v);
    }
}

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

/// `ln x` for `x > 0`, subnormal numbers included; `ln 0 = −103.278 93`, that of the smallest positive number, in place
/// of minus infinity; `ln ∞ = ∞`; NaN for `x < 0`.
#[inline]
pub fn ln(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * 8_388_608.0 } else { x };
    let shift = if tiny { -23 } else { 0 };
    let from_sqrt_half = (scaled.to_bits() as i32).wrapping_sub(SQRT_HALF.to_bits() as i32);
    let m = (from_sqrt_half & 0x007f_ffff).wrapping_add(SQRT_HALF.to_bits() as i32);
    let y = ln_assemble(f32::from_bits(m as u32) - 1.0, ((from_sqrt_half >> 23) + shift) as f32);
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x == 0.0 { LN_SMALLEST } else { y };
    if x < 0.0 { f32::NAN } else { y }
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

/// `tanh x`: odd, exactly ±1 from `|x| = 8.6` on.
#[inline]
pub fn tanh(x: f32) -> f32 {
    let square = x * x;
    let z = if square < 73.96 { square } else { 73.96 };
    let z2 = z * z;
    let p = (1.0 + 0.134_305_22 * z) + ((0.003_554_525_3 + 2.158_774_3e-5 * z) + 1.473_472_6e-8 * z2) * z2;
    let q = (1.0 + 0.467_638_52 * z) + ((0.026_100_78 + 3.382_36e-4 * z) + 8.335_861e-7 * z2) * z2;
    let y = x * p / q;
    let y = if y > 1.0 { 1.0 } else { y };
    if y < -1.0 { -1.0 } else { y }
}

/// `tanh` in place, bit for bit as [`tanh`].
pub fn tanh_slice(x: &mut [f32]) {
    for v in x {
        *v = tanh(*v);
    }
}

/// `φ(g) = exp(−g²/2)/√(2π)`, 0 where the exponential would be subnormal, from `|g| = 13.216`.
#[inline]
pub fn normal_pdf(g: f32) -> f32 {
    let t = g.abs();
    let t = if t > 14.0 { 14.0 } else { t };
    // The rounding of g² would cost digits in the tail; the square of the first 12 bits is exact.
    let first = f32::from_bits(t.to_bits() & 0xffff_f000);
    let high = -0.5 * (first * first);
    let low = -0.5 * ((t - first) * (t + first));
    let (k, r) = exp_reduce(high);
    INV_SQRT_2_PI * exp_cut(high + low, exp_assemble(k, r + low))
}

/// `Φ(g)`; in the left tail the relative accuracy is kept until [`normal_pdf`] is 0.
#[inline]
pub fn normal_cdf(g: f32) -> f32 {
    let t = g.abs();
    let tail = normal_pdf(t) / (t + excess(t));
    if g > 0.0 { 1.0 - tail } else { tail }
}

/// `ln Φ(g)`: `−g²/2 − ln(−g) − ln √(2π)` in the far left tail, held from `g = −1.8·10¹⁹`; in the right tail `−Φ(−g)`
/// until that underflows to 0.
#[inline]
pub fn ln_normal_cdf(g: f32) -> f32 {
    let t = g.abs();
    let t = if t > 1.8e19 { 1.8e19 } else { t };
    let h = t + excess(t);
    if g > 0.0 {
        let tail = normal_pdf(t) / h;
        let low = tail > 1.0 - SQRT_HALF;
        ln_assemble(if low { 1.0 - 2.0 * tail } else { -tail }, if low { -1.0 } else { 0.0 })
    } else {
        -(0.5 * (t * t) + ln(SQRT_2_PI * h))
    }
}

/// `r = φ(g)/Φ(g)`, about `−g` in the left tail.
#[inline]
pub fn hazard(g: f32) -> f32 {
    let t = g.abs();
    let h = t + excess(t);
    if g > 0.0 { hazard_right(t, h) } else { h }
}

/// `r (g + r)` with `r = φ(g)/Φ(g)`: the share of its variance that a normal variable loses when it is cut off above
/// `g` deviations. Falls from 1 to 0 in `g`; about `1 − 1/g²` in the left tail, and held at `1 − 2⁻²⁴` there, so that
/// `1 − truncation(g) > 0` always.
#[inline]
pub fn truncation(g: f32) -> f32 {
    let t = g.abs();
    let c = excess(t);
    if g > 0.0 {
        let r = hazard_right(t, t + c);
        r * (t + r)
    } else {
        let share = (t + c) * c;
        if share > TRUNCATION_MAX { TRUNCATION_MAX } else { share }
    }
}

/// `φ/Φ` at `t > 0` from `h = φ(t)/Φ(−t)`.
#[inline(always)]
fn hazard_right(t: f32, h: f32) -> f32 {
    let phi = normal_pdf(t);
    phi * h / (h - phi)
}

/// `c(t) = φ(t)/Φ(−t) − t` for `t ≥ 0`, held from `t = 10⁵`, where it is `1/t`.
#[inline(always)]
fn excess(t: f32) -> f32 {
    let t = if t > 1e5 { 1e5 } else { t };
    let t2 = t * t;
    let t4 = t2 * t2;
    let p = (0.797_884_64 + 0.595_771_2 * t) + (0.219_865_7 + 0.045_049_496 * t) * t2 + 0.004_522_987_6 * t4;
    let q = (1.0 + 1.202_122 * t)
        + (0.686_392_55 + 0.228_895_1 * t) * t2
        + (0.045_049_693 + 0.004_522_987 * t) * t4;
    p / q
}
