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
//! Cost in instructions of one call on a Cortex-M7 (M4F): `tanh` 35 (46), `exp` 44 (55), `ln` 82 (99), `truncation` 104
//! (127), and 48 (56) for `g ≤ 0`, `ln_normal_cdf` at most 139 (174). In a slice on an x86-64 server processor with AVX2, a
//! `tanh` takes 0.4 ns and an `exp` 0.5 ns.

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
const SQRT_2_PI: f32 = 2.506_628_3;
const INV_SQRT_2_PI: f32 = 0.398_942_3;
/// `|g|` from which the normal functions stay as they are: a little below `√f32::MAX`.
const FARTHEST: f32 = 1.8e19;
/// Largest value of [`truncation`], `1 − 2⁻²⁴`.
const TRUNCATION_MAX: f32 = 1.0 - f32::EPSILON / 2.0;

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

/// `eˣ`, from 0 (below −87.336 54, where it would be subnormal) to `f32::MAX` (above 88.722 83, in place of infinity).
#[cfg_attr(target_arch = "arm", inline(never))]
#[cfg_attr(not(target_arch = "arm"), inline)]
pub fn exp(x: f32) -> f32 {
    exp_here(x)
}

#[inline(always)]
fn exp_here(x: f32) -> f32 {
    let (k, r) = exp_reduce(x);
    exp_cut(x, exp_assemble(k, r))
}

/// `eˣ` in place, bit for bit as [`exp`].
pub fn exp_slice(x: &mut [f32]) {
    for v in x {
        *v = exp_here(*v);
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
#[cfg_attr(target_arch = "arm", inline(never))]
#[cfg_attr(not(target_arch = "arm"), inline(always))]
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

/// `tanh x`: odd, `|tanh x| ≤ |x|` up to rounding, exactly ±1 from `|x| = 8.61` on.
#[inline]
pub fn tanh(x: f32) -> f32 {
    // Here nothing can be cut; where there are no vectors, a branch takes less than all these selections.
    if cfg!(target_arch = "arm") && x.to_bits() & 0x7fff_ffff < TANH_UNCUT.to_bits() {
        return tanh_quotient(x, x * x);
    }
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

/// `φ(g) = exp(−g²/2)/√(2π)`, 0 where the exponential would be subnormal, from `|g| = 13.216`.
#[cfg_attr(target_arch = "arm", inline(never))]
#[cfg_attr(not(target_arch = "arm"), inline(always))]
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
    let t = magnitude(g);
    let tail = normal_pdf(t) / (t + excess(t));
    if g > 0.0 { 1.0 - tail } else { tail }
}

/// `ln Φ(g)`: `−g²/2 − ln(−g) − ln √(2π)` in the far left tail, held from `g = −1.8·10¹⁹`; in the right tail `−Φ(−g)`
/// until that underflows to 0.
#[cfg_attr(target_arch = "arm", inline(never))]
#[cfg_attr(not(target_arch = "arm"), inline(always))]
pub fn ln_normal_cdf(g: f32) -> f32 {
    let t = magnitude(g);
    let h = t + excess(t);
    either(g > 0.0, || ln_one_minus(normal_pdf(t) / h), || -(0.5 * (t * t) + ln(SQRT_2_PI * h)))
}

/// `ln Φ` in place, bit for bit as [`ln_normal_cdf`].
pub fn ln_normal_cdf_slice(g: &mut [f32]) {
    for v in g {
        *v = ln_normal_cdf(*v);
    }
}

/// One of two values: where vectors take both in one go, both are computed, so that a loop over many can be vectorised.
#[inline(always)]
fn either(first: bool, one: impl FnOnce() -> f32, other: impl FnOnce() -> f32) -> f32 {
    if cfg!(target_arch = "arm") {
        if first { one() } else { other() }
    } else {
        let (one, other) = (one(), other());
        if first { one } else { other }
    }
}

/// `ln(1 − q)` for `0 ≤ q ≤ ½`.
#[inline(always)]
fn ln_one_minus(q: f32) -> f32 {
    // Here q² is beyond the last digit; and its powers would be subnormal, which is slow on some processors.
    let tiny = q < 1e-8;
    let seen = if tiny { 0.0 } else { q };
    let halved = q > 1.0 - SQRT_HALF;
    let ln = ln_assemble(if halved { 1.0 - 2.0 * q } else { -seen }, if halved { -1.0 } else { 0.0 });
    if tiny { -q } else { ln }
}

/// `r = φ(g)/Φ(g)`, about `−g` in the left tail, held from `g = −1.8·10¹⁹`.
#[inline]
pub fn hazard(g: f32) -> f32 {
    let t = magnitude(g);
    let h = t + excess(t);
    if g > 0.0 { hazard_right(t, h) } else { h }
}

/// `r (g + r)` with `r = φ(g)/Φ(g)`: the share of its variance that a normal variable loses when it is cut off above
/// `g` deviations. Falls from 1 to 0 in `g`; about `1 − 1/g²` in the left tail, and held at `1 − 2⁻²⁴` there, so that
/// `1 − truncation(g) > 0` always.
#[cfg_attr(target_arch = "arm", inline(never))]
#[cfg_attr(not(target_arch = "arm"), inline(always))]
pub fn truncation(g: f32) -> f32 {
    let t = magnitude(g);
    let c = excess(t);
    let right = || {
        let r = hazard_right(t, t + c);
        r * (t + r)
    };
    let left = || {
        let share = (t + c) * c;
        if share > TRUNCATION_MAX { TRUNCATION_MAX } else { share }
    };
    either(g > 0.0, right, left)
}

/// `|g|`, held where its square would overflow.
#[inline(always)]
fn magnitude(g: f32) -> f32 {
    let t = g.abs();
    if t > FARTHEST { FARTHEST } else { t }
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
    let p =
        0.797_884_6 + (0.595_771_1 * t + ((0.219_865_66 + 0.045_049_492 * t) + 0.004_522_988_6 * t2) * t2);
    let q = 1.0
        + (1.202_121_4 * t
            + ((0.686_392_8 + 0.228_895_01 * t) + (0.045_049_693 + 0.004_522_988 * t) * t2) * t2);
    p / q
}

/// The functions of this module; the first two are not defined below zero.
const FUNCTIONS: [fn(f32) -> f32; 9] =
    [ln, sqrt, exp, tanh, normal_pdf, normal_cdf, ln_normal_cdf, hazard, truncation];

/// Checksum (FNV-1a) of the bits of every function on a fixed grid, the same number on every platform; NaNs count alike.
/// About 110 000 calls.
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
mod tests {
    extern crate std;
    use super::*;
    use std::{println, vec::Vec};

    /// Every `stride`-th bit pattern from `low` to `high`, of one sign.
    fn patterns(low: f32, high: f32, stride: usize) -> impl Iterator<Item = f32> {
        assert!(low.is_sign_negative() == high.is_sign_negative());
        (low.to_bits()..=high.to_bits()).step_by(stride).map(f32::from_bits)
    }

    fn everything(stride: usize) -> impl Iterator<Item = f32> {
        (0..=u32::MAX).step_by(stride).map(f32::from_bits)
    }

    /// Largest error over `inputs` and where it occurs.
    fn worst(inputs: impl Iterator<Item = f32>, error: impl Fn(f32) -> f64) -> (f64, f32) {
        inputs.fold((0.0, 0.0), |(most, at), x| {
            let e = error(x);
            // A NaN is the worst of all, and must not be passed over.
            if e <= most { (most, at) } else { (e, x) }
        })
    }

    fn ulps(value: f32, truth: f64) -> f64 {
        let exponent = ((truth as f32).abs().max(f32::MIN_POSITIVE).to_bits() >> 23) as i32 - 127;
        (f64::from(value) - truth).abs() / 2f64.powi(exponent - 23)
    }

    fn elementary_functions_keep_their_stated_errors(stride: usize) {
        let exp_error = |x| ulps(exp(x), f64::from(x).exp());
        let ln_error = |x| ulps(ln(x), f64::from(x).ln());
        let tanh_error = |x| ulps(tanh(x), f64::from(x).tanh());
        for (name, low, high, error, stated) in [
            ("exp", 0.0, EXP_HIGH, &exp_error as &dyn Fn(f32) -> f64, 1.01),
            ("exp", -0.0, EXP_LOW, &exp_error, 1.01),
            ("ln", f32::from_bits(1), f32::MAX, &ln_error, 0.89),
            ("tanh", 0.0, f32::MAX, &tanh_error, 5.8),
        ] {
            let (most, at) = worst(patterns(low, high, stride), error);
            println!("{name} from {low:e} to {high:e}: {most:.4} ulp at {at:e}");
            assert!(most <= stated, "{name}({at:e}) is {most} ulp off");
        }
    }

    #[test]
    fn elementary_functions_keep_their_stated_errors_on_a_stride() {
        elementary_functions_keep_their_stated_errors(251);
    }

    #[test]
    #[ignore = "minutes: every f32"]
    fn elementary_functions_keep_their_stated_errors_everywhere() {
        elementary_functions_keep_their_stated_errors(1);
    }

    fn roots_are_correctly_rounded(stride: usize) {
        for x in patterns(0.0, f32::INFINITY, stride) {
            assert_eq!(sqrt(x).to_bits(), libm::sqrtf(x).to_bits(), "{x:e}");
        }
        assert!(sqrt(-1.0).is_nan() && sqrt(f32::NAN).is_nan() && sqrt(f32::NEG_INFINITY).is_nan());
        assert_eq!(sqrt(-0.0).to_bits(), (-0.0f32).to_bits());
    }

    #[test]
    fn roots_are_correctly_rounded_on_a_stride() {
        roots_are_correctly_rounded(251);
    }

    #[test]
    #[ignore = "half a minute: every f32"]
    fn roots_are_correctly_rounded_everywhere() {
        roots_are_correctly_rounded(1);
    }

    #[test]
    fn exp_saturates_flushes_and_keeps_nan() {
        assert_eq!(exp(EXP_HIGH.next_up()), f32::MAX);
        assert_eq!(exp(f32::INFINITY), f32::MAX);
        assert!(exp(EXP_HIGH) < f32::MAX);
        assert!(exp(EXP_LOW) >= f32::MIN_POSITIVE);
        assert_eq!(exp(EXP_LOW.next_down()).to_bits(), 0);
        assert_eq!(exp(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!((exp(0.0), exp(-0.0)), (1.0, 1.0));
    }

    #[test]
    fn ln_is_finite_at_zero_and_nan_below() {
        assert_eq!((ln(0.0), ln(-0.0)), (LN_SMALLEST, LN_SMALLEST));
        assert_eq!(ln(f32::from_bits(1)), LN_SMALLEST);
        assert_eq!(ln(1.0).to_bits(), 0);
        assert_eq!(ln(f32::INFINITY), f32::INFINITY);
        assert!(ln(-f32::from_bits(1)).is_nan() && ln(-1.0).is_nan() && ln(f32::NEG_INFINITY).is_nan());
    }

    #[test]
    fn tanh_is_odd_bounded_and_saturates_exactly() {
        for x in everything(1009).filter(|x| !x.is_nan()) {
            assert_eq!(tanh(-x).to_bits(), (-tanh(x)).to_bits(), "{x:e}");
            assert!(tanh(x).abs() <= 1.0 && (x.abs() < 8.61 || tanh(x).abs() == 1.0), "{x:e}");
        }
        assert!(patterns(0.0, 1e-4, 251).all(|x| tanh(x).to_bits() == x.to_bits()), "tiny x stays itself");
    }

    #[test]
    fn not_a_number_stays_not_a_number_and_nothing_else_becomes_one() {
        for x in everything(4_093) {
            for (i, f) in FUNCTIONS.iter().enumerate() {
                let none = x.is_nan() || (i < 2 && x < 0.0);
                assert_eq!(f(x).is_nan(), none, "function {i} at {x:e}");
            }
        }
    }

    #[test]
    fn slices_equal_scalars_bit_for_bit() {
        let inputs: Vec<f32> = everything(104_729).collect();
        let bits =
            |x: &[f32]| x.iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect::<Vec<u32>>();
        for length in (0..=40).chain([inputs.len()]) {
            for start in
                [0, 1, 7, inputs.len() / 3, inputs.len() - length].map(|s| s.min(inputs.len() - length))
            {
                let input = &inputs[start..start + length];
                let (mut e, mut t) = (input.to_vec(), input.to_vec());
                exp_slice(&mut e);
                tanh_slice(&mut t);
                assert_eq!(bits(&e), bits(&input.iter().map(|&x| exp(x)).collect::<Vec<f32>>()));
                assert_eq!(bits(&t), bits(&input.iter().map(|&x| tanh(x)).collect::<Vec<f32>>()));
            }
        }
    }

    /// `φ(t)/Φ(−t)` for `t ≥ 0`, by the error function and far out by its asymptotic series.
    fn reference_h(t: f64) -> f64 {
        let asymptotic = |t: f64| {
            let (mut term, mut sum) = (1.0, 1.0);
            for k in 1..8 {
                term *= -f64::from(2 * k - 1) / (t * t);
                sum += term;
            }
            t / sum
        };
        let near = |t: f64| reference_pdf(t) / (0.5 * libm::erfc(t * core::f64::consts::FRAC_1_SQRT_2));
        if t > 30.0 { asymptotic(t) } else { near(t) }
    }

    fn reference_pdf(t: f64) -> f64 {
        (-0.5 * t * t).exp() / (2.0 * core::f64::consts::PI).sqrt()
    }

    fn reference_ln_cdf(g: f64) -> f64 {
        let h = reference_h(g.abs());
        let far = -0.5 * g * g - ((2.0 * core::f64::consts::PI).sqrt() * h).ln();
        if g > 0.0 { (-reference_pdf(g) / h).ln_1p() } else { far }
    }

    fn reference_hazard(g: f64) -> f64 {
        if g > 0.0 {
            reference_pdf(g) / libm::erfc(-g * core::f64::consts::FRAC_1_SQRT_2) * 2.0
        } else {
            reference_h(-g)
        }
    }

    fn relative(value: f32, truth: f64) -> f64 {
        (f64::from(value) - truth).abs() / truth.abs()
    }

    #[test]
    fn normal_functions_keep_their_stated_errors_on_a_stride() {
        let truth_of_truncation = |g: f64| reference_hazard(g) * (g + reference_hazard(g));
        let pdf = |g: f32| relative(normal_pdf(g), reference_pdf(g.into()));
        let cdf = |g: f32| relative(normal_cdf(g), reference_ln_cdf(g.into()).exp());
        let ln_cdf = |g: f32| relative(ln_normal_cdf(g), reference_ln_cdf(g.into()));
        let rate = |g: f32| relative(hazard(g), reference_hazard(g.into()));
        let share = |g: f32| (f64::from(truncation(g)) - truth_of_truncation(g.into())).abs();
        let small_share = |g: f32| relative(truncation(g), truth_of_truncation(g.into()));
        for (name, low, high, error, stated) in [
            ("pdf", 0.0, 13.0, &pdf as &dyn Fn(f32) -> f64, 5e-7),
            ("pdf", -0.0, -13.0, &pdf, 5e-7),
            ("cdf", 0.0, 1e6, &cdf, 5e-7),
            ("cdf", -0.0, -12.8, &cdf, 5e-7),
            ("ln cdf", 0.0, 12.8, &ln_cdf, 5e-7),
            ("ln cdf", -0.0, -1e18, &ln_cdf, 5e-7),
            ("hazard", 0.0, 12.8, &rate, 5e-7),
            ("hazard", -0.0, -1e19, &rate, 5e-7),
            ("truncation", 0.0, 12.8, &small_share, 1e-6),
            ("truncation", 0.0, 1e6, &share, 6e-7),
            ("truncation", -0.0, -1e4, &share, 6e-7),
        ] {
            let (most, at) = worst(patterns(low, high, 997), error);
            println!("{name} from {low:e} to {high:e}: {most:.3e} at {at:e}");
            assert!(most <= stated, "{name}({at:e}) is {most:e} off");
        }
    }

    /// `g, φ, Φ, ln Φ, hazard, truncation`. Python, `from mpmath import *; mp.dps = 60`, and for each `g`:
    /// `p = npdf(g); c = ncdf(g); r = p/c; print(g, *[nstr(v, 9) for v in (p, c, log(c) if g < 0 else log1p(-ncdf(-g)), r, r*(g+r))])`
    #[allow(clippy::approx_constant, reason = "ln 2 and 2/π are among the values")]
    const GOLDEN: [[f64; 6]; 14] = [
        [-10_000.0, 0.0, 0.0, -50_000_010.1, 10_000.000_1, 0.999_999_99],
        [-1_000.0, 0.0, 0.0, -500_007.827, 1_000.001, 0.999_999],
        [-12.5, 4.695_195_36e-35, 3.732_564_3e-36, -81.575_967_9, 12.579_007_3, 0.993_833_459],
        [-6.5, 2.669_556_61e-10, 4.016_000_58e-11, -23.938_149_5, 6.647_301_36, 0.979_156_539],
        [-3.25, 0.002_029_048_06, 0.000_577_025_042, -7.457_624_89, 3.516_395_14, 0.936_750_593],
        [-1.0, 0.241_970_725, 0.158_655_254, -1.841_021_65, 1.525_135_28, 0.800_902_334],
        [-0.125, 0.395_837_687, 0.450_261_775, -0.797_926_143, 0.879_127_896, 0.662_974_87],
        [0.0, 0.398_942_28, 0.5, -0.693_147_181, 0.797_884_561, 0.636_619_772],
        [0.312_5, 0.379_930_606, 0.622_669_718, -0.473_739_048, 0.610_163_936, 0.562_976_259],
        [0.562_5, 0.340_567_594, 0.713_112_298, -0.338_116_37, 0.477_579_191, 0.496_720_178],
        [1.0, 0.241_970_725, 0.841_344_746, -0.172_753_779, 0.287_599_971, 0.370_313_714],
        [2.5, 0.017_528_300_5, 0.993_790_335, -0.006_229_025_49, 0.017_637_825_5, 0.044_405_656_6],
        [6.25, 1.314_001_82e-9, 1.0, -2.052_263_43e-10, 1.314_001_82e-9, 8.212_511_37e-9],
        [11.5, 7.641_655_41e-30, 1.0, -6.595_771_45e-31, 7.641_655_41e-30, 8.787_903_72e-29],
    ];

    #[test]
    fn normal_functions_match_golden_values() {
        for [g, pdf, cdf, ln_cdf, rate, share] in GOLDEN {
            let x = g as f32;
            assert!(relative(normal_pdf(x), pdf) < 1e-6 || (pdf == 0.0 && normal_pdf(x) == 0.0), "pdf({g})");
            assert!(relative(normal_cdf(x), cdf) < 1e-6 || (cdf == 0.0 && normal_cdf(x) == 0.0), "cdf({g})");
            assert!(relative(ln_normal_cdf(x), ln_cdf) < 1e-6, "ln cdf({g})");
            assert!(relative(hazard(x), rate) < 1e-6, "hazard({g})");
            assert!((f64::from(truncation(x)) - share).abs() < 4e-7, "truncation({g})");
        }
    }

    #[test]
    fn normal_functions_stay_in_bounds_at_the_ends() {
        for g in everything(997).filter(|g| !g.is_nan()) {
            assert!((0.0..=1.0).contains(&normal_cdf(g)), "{g:e}");
            assert!((f32::MIN..=0.0).contains(&ln_normal_cdf(g)), "{g:e}");
            assert!((0.0..1.0).contains(&truncation(g)) && 1.0 - truncation(g) > 0.0, "{g:e}");
            assert!(hazard(g) >= 0.0 && hazard(g) >= (-g).min(FARTHEST), "{g:e}");
        }
        assert_eq!(
            (hazard(f32::INFINITY), truncation(f32::INFINITY), ln_normal_cdf(f32::INFINITY)),
            (0.0, 0.0, 0.0)
        );
        assert_eq!((truncation(f32::NEG_INFINITY), normal_cdf(f32::NEG_INFINITY)), (TRUNCATION_MAX, 0.0));
    }

    /// Checks that `f` never falls, beyond rounding, from each pattern to the next.
    fn rises(name: &str, low: f32, high: f32, slack: f32, f: impl Fn(f32) -> f32) {
        let mut highest = f32::NEG_INFINITY;
        let negative = patterns(-0.0, low, 1009).collect::<Vec<f32>>();
        for x in negative.into_iter().rev().chain(patterns(0.0, high, 1009)) {
            let y = f(x);
            assert!(y >= highest - slack * highest.abs(), "{name} falls at {x:e}: {y:e} after {highest:e}");
            highest = highest.max(y);
        }
    }

    #[test]
    fn functions_are_monotone_up_to_rounding() {
        rises("exp", f32::MIN, f32::MAX, 2e-7, exp);
        rises("ln", -0.0, f32::MAX, 2e-7, ln);
        rises("tanh", f32::MIN, f32::MAX, 6e-7, tanh);
        rises("cdf", f32::MIN, f32::MAX, 1e-6, normal_cdf);
        rises("ln cdf", f32::MIN, f32::MAX, 1e-6, ln_normal_cdf);
        rises("-hazard", f32::MIN, f32::MAX, 1e-6, |g| -hazard(g));
        rises("-truncation", f32::MIN, f32::MAX, 1e-6, |g| -truncation(g));
    }

    #[test]
    fn digest_is_the_same_on_every_platform() {
        assert_eq!(digest(), 2_809_075_250);
    }
}
