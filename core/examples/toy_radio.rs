//! Tunes a toy radio over three tasks: two parameters, two fidelities, the best setting drifts from task to task.
//!
//! `cargo run --release -p foretune-core --example toy_radio`

use foretune_core::{Dimension, Fidelity, Goal, Memory, Problem, Settings};

/// Capacities: 2 dimensions, 2 fidelities, 40 observations, 6 particles, 2 features, 4 parameters (a lengthscale per
/// dimension, signal variance, fidelity decay), 18 auxiliary rows (6 carried particles, 12 for Adam), 64 candidates.
type Radio = Memory<2, 2, 40, 6, 2, 4, 18, 64>;

const PROBLEM: Problem<'static> = Problem {
    dimensions: &[
        Dimension::Grid { low: -120.0, high: 24.0, levels: 73 }, // target power in dBm
        Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]), // path loss compensation
    ],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 10, noise: 0.05 }, // a short, noisy measurement
        Fidelity { cost: 5.0, samples: 100, noise: 0.005 }, // a long one
    ],
    budget: 60.0,
    goal: Goal::Maximise,
};

/// What the users get, in bit/s/Hz: a ridge, with its top at some power and compensation.
fn measure(task: u32, setting: &[f32], fidelity: usize) -> f32 {
    let (power, compensation) = (setting[0], setting[1]);
    let off_ridge = (power + 80.0 * compensation - 4.0 * task as f32) / 20.0;
    let along = (compensation - 0.8) / 0.5;
    let ripple = [0.2, 0.02][fidelity] * (power * 1.7).sin();
    5.0 * (-off_ridge * off_ridge - along * along).exp() + ripple
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings { particles: 6, candidates: 64, initial: 8, ..Settings::DEFAULT };
    let mut memory = Box::new(Radio::new());
    let mut tuner = memory.start(PROBLEM, settings, 2026)?;
    for task in 1..=3 {
        while let Some(Ok(query)) = tuner.ask() {
            let y = measure(task, query.setting(), query.fidelity());
            tuner.tell(query, y)?;
        }
        let best = tuner.recommendation().ok_or("nothing was measured")?;
        println!(
            "task {task}: {} measurements, then P0 = {} dBm, alpha = {}: {:.2} expected, {:.2} measured",
            tuner.data().len(),
            best.setting()[0],
            best.setting()[1],
            best.mean,
            measure(task, best.setting(), 1)
        );
        tuner.next_task()?;
    }
    Ok(())
}
