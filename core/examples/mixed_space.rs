//! A custom space: tunes a coffee machine, whose taste is expensive to measure. Smaller is better.
//!
//! Four kinds of parameters (any value, evenly spaced levels, a list of levels, a category), a quick sip or a whole cup.
//!
//! `cargo run --release -p foretune-core --example mixed_space`

use foretune_core::{Dimension, Fidelity, Goal, Problem, Settings, memory};

const MACHINE: Problem<'static> = Problem {
    dimensions: &[
        Dimension::Interval { low: 88.0, high: 96.0 },         // °C
        Dimension::Grid { low: 10.0, high: 40.0, levels: 31 }, // seconds
        Dimension::Levels(&[7.0, 9.0, 14.0, 18.0, 20.0]),      // grams: the baskets there are
        Dimension::Category { count: 3 },                      // beans
    ],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 1, noise: 0.25 }, // a sip
        Fidelity { cost: 3.0, samples: 1, noise: 0.04 }, // a cup; the last one is the truth
    ],
    budget: 75.0,
    goal: Goal::Minimise,
    ..Problem::PLAIN
};

/// In no order: the values of the category.
const BEANS: [&str; 3] = ["robusta", "arabica", "blend"];

/// How far from perfect, in points; a sip misses some of the bitterness.
fn complaint(point: &[f32], fidelity: usize) -> f32 {
    let (heat, seconds, dose) = (point[0] - 93.0, point[1] - 27.0, point[2] - 18.0);
    let bitter = if fidelity == 0 { 0.8 } else { 1.0 };
    let beans = [2.0, 0.0, 1.0][point[3] as usize];
    bitter * (heat / 2.0).powi(2) + (seconds / 6.0 - dose / 4.0).powi(2) + (dose / 6.0).powi(2) + beans
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    type Tuner = memory!(problem: MACHINE, settings: Settings::DEFAULT, observations: 64);
    let mut memory = Box::new(Tuner::new());
    let mut tuner = memory.start(MACHINE, Settings::DEFAULT, 7)?;
    let stop = tuner.run_task(|query| Some(complaint(query.point(), query.fidelity())))?;
    let best = tuner.recommendation().ok_or("nothing was measured")?;
    let [heat, seconds, dose, beans] = best.point() else { unreachable!("four dimensions") };
    let beans = BEANS[*beans as usize];
    println!("{} tastings, then: {stop:?}", tuner.status().observations);
    println!("{heat:.1} °C, {seconds} s, {dose} g of {beans}:");
    println!("{:.2} ± {:.2} points expected", best.mean, best.deviation);
    println!("really: {:.2}", complaint(best.point(), 1));
    assert!(complaint(best.point(), 1) < 0.5, "a good coffee");
    Ok(())
}
