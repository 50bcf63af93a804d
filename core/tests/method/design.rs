//! The batch design takes the points that tell most about the parameters, one after the other.

use foretune_core::{Method, Problem, Settings};

use crate::oracle::{Model, Point, cholesky, dot, mean, solve};
use crate::queries::hill;
use crate::tuner::{FIDELITIES, PROBLEM, SEED, SETTINGS, models, space, tune};

const TRUTH: usize = 1;

/// Variance at `x` given noisy values at some points, under some kernel.
fn variance(chosen: &[Point], x: Point, noise: f64, kernel: impl Fn(Point, Point) -> f64) -> f64 {
    let matrix = |i: usize, j: usize| kernel(chosen[i], chosen[j]) + if i == j { noise } else { 0.0 };
    let factor = cholesky(chosen.len(), matrix);
    let whitened = solve(&factor, chosen.iter().map(|c| kernel(*c, x)).collect());
    kernel(x, x) - dot(&whitened, &whitened)
}

/// What `x` adds to the information about `θ`: `½ ln(s̄² + σ²) − ½ meanᵥ ln(sᵥ² + σ²)`.
fn gain(models: &[Model], chosen: &[Point], x: Point) -> f64 {
    let noise = f64::from(FIDELITIES[TRUTH].noise);
    let of = |model: &Model, a, b| model.kernel((a, TRUTH), (b, TRUTH));
    let together = variance(chosen, x, noise, |a, b| mean(models.iter().map(|model| of(model, a, b))));
    let each = models.iter().map(|model| (variance(chosen, x, noise, |a, b| of(model, a, b)) + noise).ln());
    0.5 * ((together + noise).ln() - mean(each))
}

#[test]
fn every_point_of_the_design_tells_more_about_the_parameters_than_any_other_would() {
    // The design is made once, from the particles at the time, without data; nothing is learnt in between.
    let settings = Settings { initial: 0, steps_per_round: 0, ..SETTINGS };
    let problem = Problem { budget: 24.0, ..PROBLEM };
    for method in [Method::Myopic { c: 0.0 }, Method::TwoPhase { c: 0.0 }] {
        let tasks = tune(problem, settings.with_method(method), SEED, 2, hill);
        for task in &tasks {
            let mut chosen: Vec<Point> = Vec::new();
            for asked in &task.asked {
                let models = models(&asked.particles, &settings);
                assert_eq!(asked.fidelity, TRUTH);
                if !chosen.is_empty() {
                    let others = space().into_iter().filter(|x| !chosen.iter().any(|c| near(*c, *x)));
                    let best = others.map(|x| gain(&models, &chosen, x)).fold(f64::MIN, f64::max);
                    let own = gain(&models, &chosen, asked.point);
                    assert!(best - own < 1e-3, "point {}: {own}, but {best}", chosen.len());
                }
                chosen.push(asked.point);
            }
            assert_eq!(chosen.len(), 12);
        }
    }
}

fn near(a: Point, b: Point) -> bool {
    (a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-6
}
