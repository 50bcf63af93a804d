//! A custom space: tunes a coffee machine, whose taste is dear to measure. Smaller is better.
//!
//! Three kinds of parameters (any value, evenly spaced levels, a list of levels), a quick sip or a whole cup.
//!
//! `cargo run --release -p foretune-core --example mixed_space`

use foretune_core::{Dimension, Fidelity, Goal, Memory, Problem, Settings};

const MACHINE: Problem<'static> = Problem {
    dimensions: &[
        Dimension::Interval { low: 88.0, high: 96.0 },         // °C
        Dimension::Grid { low: 10.0, high: 40.0, levels: 31 }, // seconds
        Dimension::Levels(&[7.0, 9.0, 14.0, 18.0, 20.0]),      // grams: the baskets there are
    ],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 1, noise: 0.25 }, // a sip
        Fidelity { cost: 3.0, samples: 1, noise: 0.04 }, // a cup; the last one is the truth
    ],
    budget: 75.0,
    goal: Goal::Minimise,
};

/// How far from perfect, in points; a sip misses some of the bitterness.
fn complaint(setting: &[f32], fidelity: usize) -> f32 {
    let (heat, seconds, dose) = (setting[0] - 93.0, setting[1] - 27.0, setting[2] - 18.0);
    let bitter = if fidelity == 0 { 0.8 } else { 1.0 };
    bitter * (heat / 2.0).powi(2) + (seconds / 6.0 - dose / 4.0).powi(2) + (dose / 6.0).powi(2)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Dimensions, fidelities, observations, particles, features, parameters (dimensions + 2), auxiliary rows (three
    // per particle), candidates.
    let mut memory = Box::new(Memory::<3, 2, 64, 8, 3, 5, 24, 128>::new());
    let settings = Settings { particles: 8, ..Settings::DEFAULT };
    let mut tuner = memory.start(MACHINE, settings, 7)?;
    let stop = loop {
        match tuner.ask() {
            Some(Ok(query)) => {
                let points = complaint(query.setting(), query.fidelity());
                tuner.tell(query, points)?;
            }
            Some(Err(stop)) => break stop,
            None => unreachable!("every query was answered"),
        }
    };
    let best = tuner.recommendation().ok_or("nothing was measured")?;
    let [heat, seconds, dose] = best.setting() else { unreachable!("three dimensions") };
    println!("{} tastings, then: {stop:?}", tuner.data().len());
    println!("{heat:.1} °C, {seconds} s, {dose} g: {:.2} ± {:.2} points expected", best.mean, best.deviation);
    println!("really: {:.2}", complaint(best.setting(), 1));
    assert!(complaint(best.setting(), 1) < 0.5, "a good coffee");
    Ok(())
}
