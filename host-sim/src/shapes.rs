//! An optimizer's memory on the heap, as large as a run needs.

use foretune_core::{Block, Capacities, Error, Optimizer, Problem, Settings};

/// Room for observations that can be chosen.
pub const CAPACITIES: [usize; 4] = [32, 64, 128, 256];
/// Units per layer of the deep map.
pub const MAX_WIDTH: usize = 64;
/// Units per layer of the deep map, for those who only measure how long it takes.
pub const WIDEST: usize = 128;
pub const MAX_CANDIDATES: usize = 1024;

/// Memory for so many observations: the free ones are a budget, so their number is a setting.
#[derive(Debug)]
pub struct Room {
    observations: usize,
    words: Vec<u32>,
}

impl Room {
    /// For so many observations.
    pub fn new(observations: usize) -> Self {
        Room { observations, words: Vec::new() }
    }

    /// Starts the first task.
    ///
    /// # Errors
    /// What the optimizer has against problem or settings.
    pub fn start<'a>(
        &'a mut self,
        problem: Problem<'a>,
        settings: Settings,
        seed: u64,
    ) -> Result<Optimizer<'a>, Error> {
        let capacities = Capacities::checked(&problem, &settings, self.observations)?;
        let capacities = Capacities { keeps_factors: true, fleet: true, ..capacities };
        self.words.resize(capacities.words(), 0);
        Block::new(&mut self.words, capacities).start(problem, settings, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_core::{Dimension, Fidelity, Goal, MAX_DIMENSIONS, Map};

    #[test]
    fn slots_are_as_many_as_were_asked_for_with_either_map_in_as_many_dimensions_as_the_core_takes() {
        let problem = Problem {
            dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; MAX_DIMENSIONS],
            fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
            budget: 4.0,
            goal: Goal::Maximise,
            ..Problem::PLAIN
        };
        for map in [Map::Ard, Map::Linear, Map::Deep { width: MAX_WIDTH }] {
            for capacity in CAPACITIES {
                let mut room = Room::new(capacity);
                let optimizer = room.start(problem, Settings { map, ..Settings::DEFAULT }, 1).unwrap();
                assert_eq!(optimizer.status().room, capacity);
            }
        }
    }
}
