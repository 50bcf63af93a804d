//! The recommendation is the point with the highest mean at the target fidelity, and may be measured before.

use foretune_core::{Details, Problem, Recommend, Settings};

use crate::oracle::{Point, Posterior, mean};
use crate::queries::{hill, same};
use crate::tuner::{Asked, PROBLEM, SEED, SETTINGS, Task, models, space, tune};

/// Mean over particles at the target fidelity.
fn mean_at(task: &Task, settings: &Settings, x: Point) -> f64 {
    let models = models(&task.particles, settings);
    mean(models.iter().map(|model| Posterior::new(model, &task.known).at(x, 1, 1).mean))
}

#[test]
fn the_recommendation_is_what_the_particles_think_best_at_the_truths_fidelity() {
    for recommend in [Recommend::Anywhere, Recommend::Queried, Recommend::Measured] {
        let settings = Settings { details: Details { recommend, ..SETTINGS.details }, ..SETTINGS };
        for task in &tune(PROBLEM, settings, SEED, 3, hill) {
            let among = match recommend {
                Recommend::Queried => task.known.iter().map(|o| o.point).collect(),
                Recommend::Measured => {
                    task.known.iter().filter(|o| o.fidelity == 1).map(|o| o.point).collect()
                }
                Recommend::Anywhere => space(),
            };
            let best = among.iter().map(|x| mean_at(task, &settings, *x)).fold(f64::MIN, f64::max);
            let own = mean_at(task, &settings, task.best);
            assert!(best - own < 1e-3, "{recommend:?}, task {}: {own}, but {best}", task.number);
            assert!((task.best_mean - own).abs() < 1e-3, "it says {}, but is {own}", task.best_mean);
        }
    }
}

/// What is kept goes, measurement by measurement, to the point with the highest mean of those not measured yet.
#[test]
fn the_last_of_the_budget_measures_what_would_be_recommended() {
    let details = Details { recommend: Recommend::Measured, ..SETTINGS.details };
    let settings = Settings { verify: 0.4, details, ..SETTINGS };
    let kept = 0.4 * f64::from(PROBLEM.budget);
    let [cheapest, truth] = PROBLEM.fidelities else { unreachable!("two fidelities") };
    for task in &tune(PROBLEM, settings, SEED, 2, hill) {
        let last = |asked: &&Asked| asked.left < kept + f64::from(cheapest.cost);
        let verifying: Vec<_> =
            task.decided().filter(last).filter(|asked| asked.left >= f64::from(truth.cost)).collect();
        assert!(verifying.len() >= 2, "task {}: {}", task.number, verifying.len());
        for asked in verifying {
            assert_eq!(asked.fidelity, 1);
            let models = models(&asked.particles, &settings);
            let particles: Vec<_> = models.iter().map(|model| Posterior::new(model, &asked.known)).collect();
            let mean_at = |x: Point| mean(particles.iter().map(|particle| particle.at(x, 1, 1).mean));
            let new = |x: &Point| asked.known.iter().all(|o| o.fidelity != 1 || !same(o.point, *x));
            let best = space().into_iter().filter(new).map(mean_at).fold(f64::MIN, f64::max);
            let own = mean_at(asked.point);
            assert!(best - own < 1e-3, "task {}, round {}: {own}, but {best}", task.number, asked.round);
        }
    }
}

/// Too little budget for the target fidelity: what the model thinks best is better than the best of its initial points.
#[test]
fn without_a_chosen_measurement_at_the_truths_fidelity_the_recommendation_is_anywhere() {
    let details = Details { recommend: Recommend::Measured, ..SETTINGS.details };
    let (settings, problem) =
        (Settings { verify: 0.15, details, ..SETTINGS }, Problem { budget: 3.0, ..PROBLEM });
    for seed in 1..=5 {
        let [task] = &tune(problem, settings, seed, 1, hill)[..] else { unreachable!("one task") };
        assert!(task.decided().all(|asked| asked.fidelity == 0), "too dear");
        let best = space().iter().map(|x| mean_at(task, &settings, *x)).fold(f64::MIN, f64::max);
        let own = mean_at(task, &settings, task.best);
        assert!(best - own < 1e-3, "seed {seed}: {own}, but {best}");
    }
}

/// The cheap fidelity is best on the left, the truth on the right.
#[test]
fn a_cheap_fidelity_that_misleads_does_not_decide_the_recommendation() {
    for seed in 1..=5 {
        let sides = |_: u32, x: Point, fidelity: usize| if fidelity == 1 { x[0] } else { 1.0 - x[0] };
        let settings = Settings { initial: 12, ..SETTINGS };
        let [task] = &tune(PROBLEM, settings, seed, 1, sides)[..] else { unreachable!("one task") };
        assert!(task.best[0] > 0.7, "seed {seed}: {:?}", task.best);
    }
}
