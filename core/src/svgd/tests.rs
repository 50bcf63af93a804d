use super::*;
use crate::random::Purpose;
extern crate std;
use std::vec::Vec;

/// A matrix of these columns, each of `rows` numbers.
fn matrix(columns: &mut [f32], rows: usize) -> MatrixMut<'_> {
    let count = columns.len() / rows;
    MatrixMut::from_slice(columns, rows, count)
}

#[test]
fn the_median_is_that_of_the_sorted_distances() {
    let mut random = Random::new(7, 0, 0, Purpose::Prior, 0);
    for v in 1..=MAX_PARTICLES {
        // Few values, so that many are equal; and many.
        for values in [3, 1000] {
            let mut pairs = [[0.0; MAX_PARTICLES]; MAX_PARTICLES];
            let mut sorted = Vec::new();
            for (a, row) in pairs.iter_mut().enumerate().take(v) {
                row[..a].fill_with(|| random.below(values) as f32);
                sorted.extend_from_slice(&row[..a]);
            }
            sorted.sort_by(f32::total_cmp);
            let median = sorted.len().checked_sub(1).map_or(0.0, |last| sorted[last / 2]);
            assert_eq!(lower_median(&pairs, v), median, "{v} {values}");
        }
    }
}

/// Runs SVGD on a two-dimensional density given by its gradient.
fn run(gradient_of: impl Fn([f32; 2]) -> [f32; 2], steps: u32, step: Step) -> Vec<[f32; 2]> {
    const V: usize = 16;
    let mut random = Random::new(5, 0, 0, Purpose::Prior, 0);
    let mut theta: Vec<f32> = (0..2 * V).map(|_| random.normal()).collect();
    let mut moments = std::vec![0.0; 4 * V];
    for count in 1..=steps {
        let mut gradient: Vec<f32> = theta.chunks(2).flat_map(|x| gradient_of([x[0], x[1]])).collect();
        let mut pairs = [[0.0; MAX_PARTICLES]; MAX_PARTICLES];
        let (mut theta, mut gradient) = (matrix(&mut theta, 2), matrix(&mut gradient, 2));
        add_distances(&theta.as_view(), f32::INFINITY, &mut pairs);
        let h = bandwidth(Bandwidth::Median, &pairs, V);
        kernel(&mut pairs, h, V);
        drift(&theta.as_view(), &mut gradient, &pairs, h);
        let (gradient, mut moments) = (gradient.as_view(), matrix(&mut moments, 2));
        match step {
            Step::Plain { rate } => plain(rate, &mut theta, &gradient),
            Step::Adam { rate } => adam(rate, &mut theta, &gradient, &mut moments, count),
            Step::Langevin { .. } => unreachable!("its noise is not tested here"),
        }
    }
    theta.chunks(2).map(|x| [x[0], x[1]]).collect()
}

#[test]
fn recovers_mean_and_covariance_of_a_correlated_gaussian() {
    // Mean (1, −0.5), variances 1 and 0.5, covariance 0.4.
    let determinant = 1.0 * 0.5 - 0.4 * 0.4;
    let gradient = |x: [f32; 2]| {
        let (a, b) = (x[0] - 1.0, x[1] + 0.5);
        [-(0.5 * a - 0.4 * b) / determinant, -(-0.4 * a + b) / determinant]
    };
    for step in [Step::Plain { rate: 0.3 }, Step::Adam { rate: 0.03 }] {
        let particles = run(gradient, 2000, step);
        let n = particles.len() as f32;
        let mean = |f: &dyn Fn(&[f32; 2]) -> f32| particles.iter().map(f).sum::<f32>() / n;
        let (m0, m1) = (mean(&|x| x[0]), mean(&|x| x[1]));
        assert!((m0 - 1.0).abs() < 0.05 && (m1 + 0.5).abs() < 0.05, "{step:?} {m0} {m1}");
        let c00 = mean(&|x| (x[0] - m0) * (x[0] - m0));
        let c11 = mean(&|x| (x[1] - m1) * (x[1] - m1));
        let c01 = mean(&|x| (x[0] - m0) * (x[1] - m1));
        // 16 particles under-disperse by a few per cent.
        assert!((c00 - 1.0).abs() < 0.25 && (c11 - 0.5).abs() < 0.15, "{step:?} {c00} {c11}");
        assert!((c01 - 0.4).abs() < 0.1, "{step:?} {c01}");
    }
}

#[test]
fn finds_both_modes_of_a_bimodal_density() {
    // Equal mixture of unit Gaussians of deviation 0.5 at (±1.5, 0).
    let gradient = |x: [f32; 2]| {
        let weight = |c: f32| math::exp(-((x[0] - c) * (x[0] - c) + x[1] * x[1]) / 0.5);
        let (a, b) = (weight(-1.5) + 1e-20, weight(1.5) + 1e-20);
        let share = a / (a + b);
        [(share * (-1.5 - x[0]) + (1.0 - share) * (1.5 - x[0])) / 0.25, -x[1] / 0.25]
    };
    let particles = run(gradient, 1000, Step::Plain { rate: 0.05 });
    for side in [-1.0, 1.0] {
        let mode: Vec<f32> = particles.iter().map(|x| x[0] * side).filter(|&x| x > 0.0).collect();
        let mean = mode.iter().sum::<f32>() / mode.len() as f32;
        assert!(mode.len() >= 5 && (mean - 1.5).abs() < 0.2, "{side}: {} at {mean}", mode.len());
    }
}

#[test]
fn the_first_steps_of_running_means_have_their_full_length() {
    let (mut theta, mut moments) = ([0.0; 2], [0.0; 4]);
    for count in 1..=3 {
        let mut drift = [3.0, -3.0];
        let drift = matrix(&mut drift, 1);
        adam(0.1, &mut matrix(&mut theta, 1), &drift.as_view(), &mut matrix(&mut moments, 1), count);
        let length = 0.1 * count as f32;
        assert!((theta[0] - length).abs() < 1e-5 && (theta[1] + length).abs() < 1e-5, "{count}: {theta:?}");
    }
}

#[test]
fn what_is_far_has_a_kernel_of_exactly_zero() {
    for h in [0.1, 1.0 / 1.326, 3.0] {
        let far = far(Bandwidth::Fixed(h));
        assert_eq!(math::exp(-h * far), 0.0);
        assert!(math::exp(-h * 0.9 * far) > 0.0, "and not much nearer than need be");
    }
}

#[test]
fn one_particle_is_gradient_ascent() {
    let mut pairs = [[0.0; MAX_PARTICLES]; MAX_PARTICLES];
    let h = bandwidth(Bandwidth::Median, &pairs, 1);
    assert_eq!(h, 1.0);
    kernel(&mut pairs, h, 1);
    let mut gradient = [0.3, -0.7, 1.0];
    drift(&matrix(&mut [1.0, 2.0, 3.0], 3).as_view(), &mut matrix(&mut gradient, 3), &pairs, h);
    assert_eq!(gradient, [0.3, -0.7, 1.0]);
}

#[test]
fn what_is_not_finite_stays_where_it_was() {
    let mut theta = [1.0, 2.0];
    let mut drift = [f32::NAN, 1e9];
    plain(1.0, &mut matrix(&mut theta, 2), &matrix(&mut drift, 2).as_view());
    assert_eq!(theta, [1.0, prior::LARGEST_PARAMETER]);
}

#[test]
fn ranges_add_up_to_the_whole() {
    let mut theta: Vec<f32> = (0..60).map(|i| ((i * 7) % 13) as f32 * 0.1).collect();
    let (mut whole, mut parts) =
        ([[0.0; MAX_PARTICLES]; MAX_PARTICLES], [[0.0; MAX_PARTICLES]; MAX_PARTICLES]);
    let theta = matrix(&mut theta, 20);
    add_distances(&theta.rows(0, 16), f32::INFINITY, &mut whole);
    add_distances(&theta.rows(0, 8), f32::INFINITY, &mut parts);
    add_distances(&theta.rows(8, 8), f32::INFINITY, &mut parts);
    for a in 0..3 {
        for b in 0..3 {
            assert!((whole[a][b] - parts[a][b]).abs() < 1e-5);
        }
    }
}
