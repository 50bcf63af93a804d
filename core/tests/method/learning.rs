//! Learning ends where its equations say, in cases where that can be written down: where the noise drowns all values the
//! likelihood is flat, and what is left is the prior. Values remembered of earlier tasks take part in the model, with the
//! standard deviation that is set; particles go on where they are to.

use foretune_core::{
    Bandwidth, Details, Fidelity, LogNormal, Map, Method, Prior, Problem, Settings, Step, Weights,
};

use crate::oracle::{Observation, Posterior, mean};
use crate::queries::hill;
use crate::tuner::{PROBLEM, SEED, SETTINGS, Task, models, tune};

const NOISE: Fidelity = Fidelity { cost: 1.0, samples: 1, noise: 1e6 };
const DROWNED: Problem<'static> = Problem { fidelities: &[NOISE], budget: 2.0, ..PROBLEM };
/// Of all parameters' priors in `SETTINGS`.
const VARIANCE: f64 = 0.7 * 0.7;

/// Particles that do not feel each other, and learn from nothing but their prior.
const APART: Settings = Settings {
    particles: 1,
    steps_per_round: 0,
    details: Details { bandwidth: Bandwidth::Fixed(1e9), ..SETTINGS.with_method(Method::Continual).details },
    ..SETTINGS.with_method(Method::Continual)
};

fn learn(settings: Settings, tasks: u32) -> Vec<Task> {
    tune(DROWNED, settings, SEED, tasks, |_, _, _| 0.0)
}

/// Parameters of all particles before the first query of a task, and at its end.
fn before_and_after(task: &Task) -> Vec<(f64, f64)> {
    let before = task.asked[0].particles.iter().flatten().copied();
    before.zip(task.particles.iter().flatten().copied()).collect()
}

/// `θ ← θ + η ∇ log p(θ)` with `∇ log p(θ) = −θ/σ²`: as often as is set, at the end of a task and after each of two answers.
#[test]
fn the_particles_take_as_many_steps_up_the_prior_as_are_set() {
    let rate = 0.02;
    let plain = Settings { details: Details { step: Step::Plain { rate }, ..APART.details }, ..APART };
    let at_the_end = [1, 5, 25].map(|steps| (steps, Settings { steps_per_task: steps, ..plain }));
    let after_answers = [1, 4].map(|steps| {
        (2 * steps, Settings { steps_per_round: steps, steps_per_task: 0, initial: 0, ..plain })
    });
    for (steps, settings) in at_the_end.into_iter().chain(after_answers) {
        let factor = (1.0 - f64::from(rate) / VARIANCE).powi(steps as i32);
        let tasks = learn(settings, 1);
        assert!(settings.initial > 0 || tasks[0].asked.len() == 2, "two answers");
        for (before, after) in before_and_after(&tasks[0]) {
            let gap = (after - before * factor).abs();
            assert!(gap < 1e-3 * before.abs() + 1e-5, "{steps} of {settings:?}: {before} {after}");
        }
    }
}

/// With its moments corrected for having begun at zero, Adam goes at its full rate from the first step on: the slope
/// hardly changes on so short a way.
#[test]
fn adams_steps_have_their_full_size_from_the_first_on_and_no_more() {
    let rate = 1e-3;
    for steps in [1, 2, 6] {
        let settings = Settings {
            steps_per_task: steps,
            details: Details { step: Step::Adam { rate }, ..APART.details },
            ..APART
        };
        let way = f64::from(rate) * f64::from(steps);
        let moved = before_and_after(&learn(settings, 1)[0]);
        assert!(moved.iter().any(|(before, _)| before.abs() > 0.1));
        for (before, after) in moved.into_iter().filter(|(before, _)| before.abs() > 0.1) {
            let towards = (before.abs() - after.abs()) / way;
            assert!((towards - 1.0).abs() < 0.02, "{steps} steps: {towards} of the way");
        }
    }
}

/// The prior of a later task is a density around the particles that the last one left.
#[test]
fn a_narrow_density_keeps_the_particles_apart_and_a_wide_one_draws_them_together() {
    // A prior so wide that the first task leaves the particles apart.
    let wide = LogNormal { mean: 0.0, deviation: 3.0 };
    let share = |kde_bandwidth: f32| {
        let settings = Settings {
            particles: 2,
            steps_per_task: 200,
            details: Details {
                prior: Prior { length: wide, signal: wide, gamma: wide, ..SETTINGS.details.prior },
                step: Step::Plain { rate: 0.1 },
                kde_bandwidth,
                ..APART.details
            },
            ..APART
        };
        let task = &learn(settings, 2)[1];
        let gap = |p: &[Vec<f64>]| p[0].iter().zip(&p[1]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let before = gap(&task.asked[0].particles);
        assert!(before > 1.0 && before < 6.0, "{before}");
        gap(&task.particles) / before
    };
    let (narrow, wide) = (share(0.2), share(3.0));
    assert!(narrow > 0.95 && narrow < 1.05, "{narrow}");
    assert!(wide < 0.6, "{wide}");
}

/// Steps that sample stay where the prior's mass is: the particles' mean square is the prior's variance, at the end of
/// every task, while steps up the density go to the mode, where all parameters are zero.
#[test]
fn steps_with_noise_sample_the_prior_where_plain_ones_collapse_to_its_mode() {
    let mean_square = |step: Step| {
        let settings = Settings {
            particles: 4,
            map: Map::Deep { width: 16 },
            steps_per_task: 400,
            details: Details {
                prior: Prior { weights: Weights::PerInput(3.0), ..SETTINGS.details.prior },
                step,
                ..APART.details
            },
            ..APART
        };
        let tasks = learn(settings, 1);
        let pairs = before_and_after(&tasks[0]);
        let square = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).map(|x| x * x).sum::<f64>();
        square(|pair| pair.1) / square(|pair| pair.0)
    };
    let sampled = mean_square(Step::Langevin { rate: 0.02 });
    assert!((0.8..1.25).contains(&sampled), "{sampled}");
    let climbed = mean_square(Step::Plain { rate: 0.02 });
    assert!(climbed < 0.3, "{climbed}");
}

/// Steps that sample are in units of the task's prior: in a later task as narrow as the density estimate.
#[test]
fn steps_with_noise_are_as_wide_as_the_tasks_prior_allows() {
    let (rate, kde_bandwidth) = (0.2, 0.05);
    let settings = Settings {
        steps_per_task: 1,
        details: Details { step: Step::Langevin { rate }, kde_bandwidth, ..APART.details },
        ..APART
    };
    let tasks = learn(settings, 2);
    let widths = [VARIANCE.sqrt(), f64::from(kde_bandwidth)];
    for (task, width) in tasks.iter().zip(widths) {
        let noise = (2.0 * f64::from(rate)).sqrt() * width;
        for (before, after) in before_and_after(task) {
            let moved = (after - before).abs();
            // The noise, and a pull of the prior that is smaller than five times it.
            assert!(moved < 6.0 * noise, "task {}: {moved} with a noise of {noise}", task.number);
        }
        let most =
            before_and_after(task).iter().map(|(before, after)| (after - before).abs()).fold(0.0, f64::max);
        assert!(most > 0.5 * noise, "task {}: {most} with a noise of {noise}", task.number);
    }
}

#[test]
fn nothing_is_learnt_at_the_end_of_a_task_where_nothing_is_carried_on() {
    let alone = APART.with_method(Method::MfMes);
    assert!(alone.steps_per_task > 0);
    for (before, after) in before_and_after(&learn(alone, 1)[0]) {
        assert_eq!(before, after);
    }
}

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
