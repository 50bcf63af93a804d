//! The scene of `tune.c` by the Rust library: what it prints is what every build of the C program must print.

use foretune_core::{Dimension, Fidelity, Goal, Problem, Query, profile};

const PROBLEM: Problem<'static> = Problem {
    dimensions: &[
        Dimension::Grid { low: -100.0, high: 24.0, levels: 63 },
        Dimension::Levels(&[0.0, 1.0, 2.0, 3.0, 4.0, 6.0]),
    ],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 10, noise: 0.04 },
        Fidelity { cost: 4.0, samples: 100, noise: 0.004 },
    ],
    budget: 30.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};

type Room = foretune_core::memory!(problem: PROBLEM, settings: profile::COMPACT, observations: 40);

fn measure(query: &Query) -> Option<f32> {
    let best = if query.task() == 1 { -40.0 } else { -30.0 };
    let (power, margin) = ((query.point()[0] - best) / 30.0, (query.point()[1] - 2.0) / 4.0);
    let y = 1.0 - power * power - margin * margin + 0.01 * query.fidelity() as f32;
    (query.round() != 5).then_some(y)
}

fn mix(digest: u32, words: &[u32]) -> u32 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.fold(digest, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(16_777_619))
}

fn main() -> Result<(), foretune_core::Error> {
    let mut memory = Box::new(Room::new());
    let mut tuner = memory.start(PROBLEM, profile::COMPACT, 7)?;
    let mut digest = 2_166_136_261;
    for task in 1..=2 {
        tuner.run_task(|query| {
            digest = mix(digest, &[query.task(), query.round(), query.fidelity() as u32]);
            for (point, unit) in query.point().iter().zip(query.unit()) {
                digest = mix(digest, &[point.to_bits(), unit.to_bits()]);
            }
            measure(query)
        })?;
        let found = tuner.recommendation().map_or(0.0, |best| best.point()[0]);
        println!("task {task:08x}\nqueries {digest:08x}\nfound {:08x}", found.to_bits());
        tuner.next_task()?;
    }
    Ok(())
}
