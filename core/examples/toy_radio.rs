//! Tunes a toy radio over three tasks: two parameters, two fidelities, the best point drifts from task to task.
//!
//! `cargo run --release -p foretune-core --example toy_radio`

use foretune_core::{Dimension, Fidelity, Goal, Problem, Settings, memory};

/// Room for 40 observations.
type Radio = memory!(problem: PROBLEM, settings: Settings::DEFAULT, observations: 40);

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
    ..Problem::PLAIN
};

/// What the users get, in bit/s/Hz: a ridge, with its top at some power and compensation.
fn measure(task: u32, point: &[f32], fidelity: usize) -> f32 {
    let (power, compensation) = (point[0], point[1]);
    let off_ridge = (power + 80.0 * compensation - 4.0 * task as f32) / 20.0;
    let along = (compensation - 0.8) / 0.5;
    let ripple = [0.2, 0.02][fidelity] * (power * 1.7).sin();
    5.0 * (-off_ridge * off_ridge - along * along).exp() + ripple
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut memory = Box::new(Radio::new());
    let mut tuner = memory.start(PROBLEM, Settings::DEFAULT, 2026)?;
    for task in 1..=3 {
        tuner.run_task(|query| Some(measure(task, query.point(), query.fidelity())))?;
        let best = tuner.recommendation().ok_or("nothing was measured")?;
        println!(
            "task {task}: {} measurements, then P0 = {} dBm, alpha = {}: {:.2} expected, {:.2} measured",
            tuner.status().observations,
            best.point()[0],
            best.point()[1],
            best.mean,
            measure(task, best.point(), 1)
        );
        tuner.next_task()?;
    }
    Ok(())
}
