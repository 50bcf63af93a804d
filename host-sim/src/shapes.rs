//! The memories that the simulator has compiled in, and which one a run takes.
//!
//! Capacities are upper bounds and change no bit, except one: the room for observations is a second budget
//! (see [`foretune_core::Memory`]), so it is a setting.

use foretune_core::{AnyMemory, MAX_DIMENSIONS, MAX_FIDELITIES, MAX_PARTICLES, Map};

/// Room for observations that can be chosen.
pub const CAPACITIES: [usize; 4] = [32, 64, 128, 256];
/// Units per layer of the deep map.
pub const MAX_WIDTH: usize = 64;
/// Units per layer of the deep map, for those who only measure how long it takes.
pub const WIDEST: usize = 128;
/// Candidates of the search.
pub const MAX_CANDIDATES: usize = 1024;
/// Stack of a thread that starts an optimizer: its memory of some megabytes is made there before it is boxed.
pub const STACK: usize = 64 << 20;

/// A memory on the heap. A function of its own, so that a stack has room for one of them at a time.
#[inline(never)]
fn boxed<M: AnyMemory + 'static>(new: fn() -> M) -> Box<dyn AnyMemory> {
    Box::new(new())
}

/// Defines [`room`]: the first row that has the map and enough slots counts, else the last.
macro_rules! rooms {
    ($($name:ident: $map:pat => $largest:expr, $observations:literal;)*) => {
        $(
            type $name = foretune_core::memory!(
                dimensions: MAX_DIMENSIONS,
                fidelities: MAX_FIDELITIES,
                observations: $observations,
                particles: MAX_PARTICLES,
                map: $largest,
                candidates: MAX_CANDIDATES
            );

        )*

        /// A memory for a map and at least so many observations, or the largest.
        pub fn room(map: Map, observations: usize) -> Box<dyn AnyMemory> {
            match map {
                $($map if observations <= $observations => boxed($name::new),)*
                Map::Ard => boxed(Ard256::new),
                Map::Deep { .. } => boxed(Widest::new),
            }
        }
    };
}

rooms! {
    Ard32: Map::Ard => Ard, 32;
    Ard64: Map::Ard => Ard, 64;
    Ard128: Map::Ard => Ard, 128;
    Ard256: Map::Ard => Ard, 256;
    Deep32: Map::Deep { width: ..=MAX_WIDTH } => Deep { width: MAX_WIDTH }, 32;
    Deep64: Map::Deep { width: ..=MAX_WIDTH } => Deep { width: MAX_WIDTH }, 64;
    Deep128: Map::Deep { width: ..=MAX_WIDTH } => Deep { width: MAX_WIDTH }, 128;
    Deep256: Map::Deep { width: ..=MAX_WIDTH } => Deep { width: MAX_WIDTH }, 256;
    Widest: Map::Deep { .. } => Deep { width: WIDEST }, 256;
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_core::{Dimension, Fidelity, Goal, Problem, Settings};

    #[test]
    fn as_many_dimensions_as_the_core_takes_fit_with_either_map() {
        let problem = Problem {
            dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; MAX_DIMENSIONS],
            fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
            budget: 4.0,
            goal: Goal::Maximise,
            ..Problem::PLAIN
        };
        for map in [Map::Ard, Map::Deep { width: MAX_WIDTH }] {
            let mut settings = Settings::DEFAULT;
            settings.map = map;
            assert!(room(map, 32).start(problem, settings, 1).is_ok());
        }
    }

    #[test]
    fn slots_are_as_many_as_were_asked_for() {
        let problem = Problem {
            dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }],
            fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
            budget: 4.0,
            goal: Goal::Maximise,
            ..Problem::PLAIN
        };
        for map in [Map::Ard, Map::Deep { width: 8 }] {
            for capacity in CAPACITIES {
                let mut settings = Settings::DEFAULT;
                settings.map = map;
                let mut room = room(map, capacity);
                let optimizer = room.start(problem, settings, 1).unwrap();
                assert_eq!(optimizer.status().room, capacity);
            }
        }
    }
}
