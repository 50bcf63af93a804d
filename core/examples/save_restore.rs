//! Power fails in the middle of a task: what was saved continues as if nothing had happened, bit for bit.
//!
//! `cargo run --release -p foretune-core --example save_restore`

use foretune_core::{Ask, Dimension, Fidelity, Goal, Optimizer, Problem, Settings, memory};

type Room = memory!(problem: PROBLEM, settings: SETTINGS, observations: 24);

const PROBLEM: Problem<'static> = Problem {
    dimensions: &[Dimension::Interval { low: 0.0, high: 10.0 }],
    fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
    budget: 12.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};
const SETTINGS: Settings = Settings { particles: 4, candidates: 64, initial: 4, ..Settings::DEFAULT };

/// Answers up to `count` queries, and returns the points asked for.
fn tune(tuner: &mut Optimizer<'_>, count: usize) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let mut asked = Vec::new();
    while asked.len() < count
        && let Ask::Query(query) = tuner.ask()
    {
        let x = query.point()[0];
        asked.push(x);
        tuner.tell(query, (x - 7.0).sin() / (1.0 + (x - 7.0).abs()) + 0.1 * x)?;
    }
    Ok(asked)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A task that nobody interrupts.
    let mut memory = Box::new(Room::new());
    let mut tuner = memory.start(PROBLEM, SETTINGS, 7)?;
    let whole = tune(&mut tuner, usize::MAX)?;
    let wanted = tuner.recommendation();

    // The same task, saved after nine answers, and the tuner gone.
    let mut saved = Vec::new();
    {
        let mut memory = Box::new(Room::new());
        let mut tuner = memory.start(PROBLEM, SETTINGS, 7)?;
        let asked = tune(&mut tuner, 9)?;
        assert_eq!(asked, whole[..9]);
        tuner.snapshot(|piece| saved.extend_from_slice(piece))?;
    }
    println!("{} bytes saved", saved.len());

    // Restored elsewhere: the answers are replayed, then it goes on.
    let mut memory = Box::new(Room::new());
    let mut tuner = memory.start(PROBLEM, SETTINGS, 0)?;
    saved[80] ^= 1;
    println!("damaged bytes: {}", tuner.load(&saved).expect_err("a flipped bit does not go unnoticed"));
    saved[80] ^= 1;
    tuner.load(&saved)?;
    let rest = tune(&mut tuner, usize::MAX)?;
    assert_eq!(rest, whole[9..]);
    assert_eq!(tuner.recommendation(), wanted);
    println!("after the restore: {} more queries, each the same as without the interruption", rest.len());
    Ok(())
}
