//! Few choices and much noise: repeated measurements share rows of the model, so that its slots do not end a task.

use crate::support::{Draws, PROBLEM, next, snapshot, start_with};
use foretune_core::profile::{COMPACT, Compact};
use foretune_core::{Block, Capacities, Dimension, Fidelity, Optimizer, Problem, Settings, Stop};

const SLOTS: usize = 24;
/// Twelve choices, measured with a deviation of 2, 70 times at most.
const NOISY: Problem<'static> = Problem {
    dimensions: &[
        Dimension::Grid { low: 0.0, high: 2.0, levels: 3 },
        Dimension::Levels(&[0.0, 1.0, 2.0, 3.0]),
    ],
    fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 4.0 }],
    budget: 70.0,
    ..PROBLEM
};

/// What the choices are worth under a seed, and their measurements.
struct Choices {
    worth: Vec<f32>,
    draws: Draws,
}

impl Choices {
    fn new(seed: u64) -> Choices {
        // The first draws of neighbouring seeds are alike.
        let mut draws = Draws((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Choices { worth: (0..12).map(|_| draws.normal()).collect(), draws }
    }

    fn of(&self, x: &[f32]) -> f32 {
        self.worth[x[0] as usize + 3 * x[1] as usize]
    }

    /// Answers until `count` are told or the task ends; why it did.
    fn answer(&mut self, tuner: &mut Optimizer<'_>, count: usize) -> Option<Stop> {
        while tuner.status().observations < count {
            match next(tuner, &[]).unwrap() {
                Err(stop) => return Some(stop),
                Ok(query) => {
                    let y = self.of(query.point()) + 2.0 * self.draws.normal();
                    tuner.tell(query, y).unwrap();
                }
            }
        }
        None
    }
}

fn tuner(slots: usize, repeats: bool, seed: u64) -> Optimizer<'static> {
    let settings = Settings { initial: 6, particles: 4, ..Settings::DEFAULT };
    let capacities = Capacities::of(&NOISY, &settings, slots);
    let capacities = Capacities { repeats: repeats && capacities.repeats, ..capacities };
    Block::new(vec![0; capacities.words()].leak(), capacities).start(NOISY, settings, seed).unwrap()
}

#[test]
fn slots_do_not_end_the_search_for_the_best_of_a_few_noisy_choices() {
    let seeds = 16;
    let [alone, shared, roomy] = [(SLOTS, false), (SLOTS, true), (80, false)].map(|(slots, repeats)| {
        let (mut loss, mut told) = (0.0, 0);
        for seed in 0..seeds {
            let (mut choices, mut tuner) = (Choices::new(seed), tuner(slots, repeats, seed));
            let stop = choices.answer(&mut tuner, usize::MAX).unwrap();
            assert_eq!(stop, if slots == SLOTS && !repeats { Stop::Capacity } else { Stop::Budget });
            let best = choices.worth.iter().fold(f32::MIN, |best, worth| best.max(*worth));
            loss += (best - choices.of(tuner.recommendation().unwrap().point())) / seeds as f32;
            told += tuner.status().observations;
        }
        (loss, told as f32 / seeds as f32)
    });
    println!(
        "mean loss, measurements: {alone:?} with 24 slots, {shared:?} if repeats share them, {roomy:?} with 80"
    );
    assert_eq!([alone.1, shared.1, roomy.1], [24.0, 70.0, 70.0]);
    assert!((shared.0 - roomy.0).abs() < 0.1, "{shared:?} {roomy:?}");
    assert!(shared.0 < 0.5 * alone.0, "{shared:?} {alone:?}");
}

#[test]
fn a_restart_among_repeats_goes_on_bit_for_bit() {
    let (mut choices, mut straight) = (Choices::new(1), tuner(SLOTS, true, 1));
    choices.answer(&mut straight, 50);
    let mut restarted = tuner(SLOTS, true, 9);
    restarted.load(&snapshot(&straight)).unwrap();
    assert_eq!(restarted.status().to_replay, 50);
    let mut same = Choices { worth: choices.worth.clone(), draws: Draws(choices.draws.0) };
    assert_eq!(choices.answer(&mut straight, 999), same.answer(&mut restarted, 999));
    assert!(snapshot(&straight) == snapshot(&restarted), "the same knowledge");
}

#[test]
fn only_a_space_with_a_row_for_everything_has_them() {
    let settings = Settings { initial: 6, ..Settings::DEFAULT };
    let four = [Fidelity { cost: 1.0, samples: 1, noise: 1.0 }; 4];
    for (problem, slots, repeats) in [
        (NOISY, SLOTS, true),
        (NOISY, 12, true),
        (NOISY, 11, false),
        (Problem { fidelities: &four, ..NOISY }, 48, true),
        (Problem { fidelities: &four, ..NOISY }, 47, false),
        (PROBLEM, SLOTS, false),
    ] {
        assert_eq!(Capacities::of(&problem, &settings, slots).repeats, repeats, "{problem:?} {slots}");
    }
}

#[test]
fn a_small_device_has_room_for_them_where_the_problem_needs_less_of_it() {
    let mut memory = Box::new(Compact::new());
    let problem = Problem { budget: 150.0, ..NOISY };
    let mut tuner = memory.start(problem, Settings { particles: 2, ..COMPACT }, 1).unwrap();
    assert_eq!(tuner.status().room, 3 * 64);
    let mut choices = Choices::new(1);
    assert_eq!(choices.answer(&mut tuner, usize::MAX), Some(Stop::Budget));
    assert_eq!(tuner.status().observations, 150);
}

/// Nobody keeps a floor, so that nobody looks for it: the answers are averaged.
#[test]
fn a_change_of_the_world_among_repeats_ends_no_task() {
    let problem = Problem { budget: 60.0, deployed: Some(&[1.0, 2.0]), ..NOISY };
    let settings = Settings { initial: 6, particles: 4, kept: 8, ..Settings::DEFAULT };
    for seed in 0..6 {
        let mut tuner = start_with(SLOTS, problem, settings, seed);
        let mut choices = Choices::new(seed);
        for drop in [0.0, 30.0] {
            choices.answer(&mut tuner, 40);
            choices.worth.iter_mut().for_each(|worth| *worth -= drop);
            assert_eq!(choices.answer(&mut tuner, usize::MAX), Some(Stop::Budget));
            tuner.next_task().unwrap();
        }
    }
}
