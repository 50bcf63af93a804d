//! Values remembered of earlier tasks take part in the model, with the standard deviation that is set; particles go on where they are to.

use foretune_core::{Details, Problem, Settings};

use crate::oracle::{Observation, Posterior, mean};
use crate::queries::hill;
use crate::tuner::{PROBLEM, SEED, SETTINGS, Task, models, tune};

/// Three tasks, in each of which the recommendations of those before are remembered.
fn three_tasks(memory_deviation: f32) -> (Vec<Task>, Settings) {
    // Few answers of its own, so that what is remembered weighs.
    let settings = Settings {
        carried: 2,
        initial: 2,
        details: Details { memory_deviation, ..SETTINGS.details },
        ..SETTINGS
    };
    let problem = Problem { budget: 6.0, ..PROBLEM };
    (tune(problem, settings, SEED, 3, hill), settings)
}

/// Mean at the last recommendation, if what is remembered has this variance; none: it is not remembered at all.
fn mean_with(tasks: &[Task], settings: &Settings, variance: Option<f64>) -> f64 {
    let [first, second, last] = tasks else { unreachable!("three tasks") };
    let mut known = last.known.clone();
    // Of a point that was the best twice, the last value.
    let earlier = [second, first].into_iter().enumerate();
    for (_, task) in earlier.filter(|(i, task)| *i == 0 || task.best != second.best) {
        if let Some(noise) = variance {
            known.push(Observation { point: task.best, fidelity: 1, noise, y: task.best_mean });
        }
    }
    let models = models(&last.particles, settings);
    mean(models.iter().map(|model| Posterior::new(model, &known).at(last.best, 1, 1).mean))
}

#[test]
fn remembered_values_count_as_measurements_with_the_deviation_that_is_set() {
    for set in [0.3, 0.6] {
        let (tasks, settings) = three_tasks(set);
        let said = tasks[2].best_mean;
        let deviation = f64::from(set);
        let expected = mean_with(&tasks, &settings, Some(deviation * deviation));
        assert!((said - expected).abs() < 1e-3, "set {set}: {said}, but {expected}");
        // And it matters: neither without them, nor were they exact, nor were this their variance.
        for other in [None, Some(0.02), Some(deviation)] {
            let gap = (mean_with(&tasks, &settings, other) - expected).abs();
            assert!(gap > 3e-3, "set {set}, {other:?}: {gap}");
        }
    }
}

/// What the second task's particles are before its first answer, if the first task's answers are so many times the hill's.
fn second_start(settings: Settings, times: f64) -> Vec<Vec<f64>> {
    let answers = |task, x, fidelity| times * hill(task, x, fidelity);
    tune(PROBLEM, settings, SEED, 2, answers)[1].asked[0].particles.clone()
}

#[test]
fn particles_of_one_task_are_the_start_of_the_next_unless_they_are_drawn_anew() {
    for carry_particles in [true, false] {
        let settings = Settings { carry_particles, ..SETTINGS };
        let same = second_start(settings, 1.0) == second_start(settings, -1.0);
        assert_eq!(same, !carry_particles, "carried: {carry_particles}");
    }
}
