//! Errors as stated, bits as promised.

extern crate std;
use super::normal::{FARTHEST, TRUNCATION_MAX};
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
    let bits = |x: &[f32]| x.iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect::<Vec<u32>>();
    for length in (0..=40).chain([inputs.len()]) {
        for start in [0, 1, 7, inputs.len() / 3, inputs.len() - length].map(|s| s.min(inputs.len() - length))
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

#[test]
fn what_branches_leave_out_changes_no_bit() {
    // On Cortex-M, decay_slice neither cuts nor looks at the floor up to one bound, and takes 0 beyond another.
    for x in patterns(1e-9, DECAY_SEEN, 997).chain([0.0, DECAY_SEEN]) {
        let (k, r) = exp_reduce(-x);
        assert_eq!(exp_assemble(k, r).to_bits(), exp(-x).to_bits(), "{x}");
        assert!(exp(-x) >= DECAY_FLOOR, "{x}");
    }
    for x in patterns(DECAY_UNSEEN, f32::MAX, 997).chain([f32::INFINITY]) {
        assert!(exp(-x) < DECAY_FLOOR, "{x}");
    }
    for x in patterns(f32::MIN_POSITIVE, f32::MAX, 9973).chain([1.0, f32::MAX]) {
        assert_eq!(ln_normal(x).to_bits(), ln(x).to_bits(), "{x}");
    }
    for g in patterns(14.0, f32::MAX, 9973) {
        assert_eq!(normal_pdf(g), 0.0, "{g}");
    }
}

#[test]
fn decay_is_scaled_and_cut_at_its_floor() {
    let mut some: Vec<f32> = patterns(1e-6, 100.0, 9973).chain([0.0, 20.5, 20.7, 20.8, f32::NAN]).collect();
    let plain = some.clone();
    decay_slice(&mut some, 0.7);
    for (x, decay) in plain.iter().zip(&some) {
        let y = exp(-x);
        let expected = if y < 1e-9 { 0.0 } else { y * 0.7 };
        assert!(decay.to_bits() == expected.to_bits() || x.is_nan() && decay.is_nan(), "{x}: {decay}");
    }
    assert!(some.contains(&0.0) && some.contains(&0.7));
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
