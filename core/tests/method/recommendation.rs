//! The recommendation is the point with the highest mean at the truth's fidelity.

use foretune_core::{Recommend, SearchSettings, Settings};

use crate::oracle::{Point, Posterior, mean};
use crate::queries::hill;
use crate::tuner::{PROBLEM, SEED, SETTINGS, Task, models, space, tune};

/// Mean over particles at the truth's fidelity.
fn mean_at(task: &Task, settings: &Settings, x: Point) -> f64 {
    let models = models(&task.particles, settings);
    mean(models.iter().map(|model| Posterior::new(model, &task.known).at(x, 1, 1).mean))
}

#[test]
fn the_recommendation_is_what_the_particles_think_best_at_the_truths_fidelity() {
    for recommend in [Recommend::Anywhere, Recommend::Queried] {
        let settings = Settings { search: SearchSettings { recommend, ..SETTINGS.search }, ..SETTINGS };
        for task in &tune(PROBLEM, settings, SEED, 3, hill) {
            let among = match recommend {
                Recommend::Queried => task.known.iter().map(|o| o.point).collect(),
                _ => space(),
            };
            let best = among.iter().map(|x| mean_at(task, &settings, *x)).fold(f64::MIN, f64::max);
            let own = mean_at(task, &settings, task.best);
            assert!(best - own < 1e-3, "{recommend:?}, task {}: {own}, but {best}", task.number);
            assert!((task.best_mean - own).abs() < 1e-3, "it says {}, but is {own}", task.best_mean);
        }
    }
}

/// The cheap fidelity is best on the left, the truth on the right.
#[test]
fn a_cheap_fidelity_that_misleads_does_not_decide_the_recommendation() {
    for seed in 1..=5 {
        let sides = |_: u32, x: Point, fidelity: usize| if fidelity == 1 { x[0] } else { 1.0 - x[0] };
        let settings = Settings { search: SearchSettings { initial: 12, ..SETTINGS.search }, ..SETTINGS };
        let [task] = &tune(PROBLEM, settings, seed, 1, sides)[..] else { unreachable!("one task") };
        assert!(task.best[0] > 0.7, "seed {seed}: {:?}", task.best);
    }
}
