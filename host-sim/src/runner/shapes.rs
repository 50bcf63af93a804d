//! The shapes of optimizer that the simulator has compiled in, and how one is started.
//!
//! Capacities are upper bounds and change no bit, except one: the room for observations is a budget beside the money
//! (see [`foretune_core::optimizer`]), so it is a setting.

use foretune_core::{Error, Map, Memory, Problem, Settings};

use super::tuner::{Asking, Tuner};

/// Room for observations that can be chosen.
pub const CAPACITIES: [usize; 4] = [32, 64, 128, 256];
/// Units per layer of the deep map.
pub const MAX_WIDTH: usize = 64;
/// Candidates of the search.
pub const MAX_CANDIDATES: usize = 1024;
/// Stack of a thread that starts an optimizer: its memory of some megabytes is made there before it is boxed.
pub const STACK: usize = 64 << 20;

const DIMENSIONS: usize = 8;
const FIDELITIES: usize = 8;
const PARTICLES: usize = 16;
/// The last task's particles, and Adam's two moments.
const ROWS: usize = 3 * PARTICLES;
/// A lengthscale per dimension, signal variance, fidelity decay.
const ARD: usize = Map::Ard.parameters(DIMENSIONS) + 2;
/// All weights and biases, fidelity decay.
const DEEP: usize = Map::Deep { width: MAX_WIDTH }.parameters(DIMENSIONS) + 1;

type Shape<const N: usize, const F: usize, const P: usize> =
    Memory<DIMENSIONS, FIDELITIES, N, PARTICLES, F, P, ROWS, MAX_CANDIDATES>;

/// Calls `work` with an optimizer for the problem, at the start of its first task.
///
/// # Errors
/// What [`foretune_core::Optimizer::new`] says.
pub(crate) fn with_optimizer<R>(
    problem: Problem<'_>,
    settings: Settings,
    capacity: usize,
    seed: u64,
    work: impl FnOnce(&mut dyn Tuner) -> R,
) -> Result<R, Error> {
    match (settings.map, capacity) {
        (Map::Ard, ..=32) => start::<32, DIMENSIONS, ARD, R>(problem, settings, seed, work),
        (Map::Ard, ..=64) => start::<64, DIMENSIONS, ARD, R>(problem, settings, seed, work),
        (Map::Ard, ..=128) => start::<128, DIMENSIONS, ARD, R>(problem, settings, seed, work),
        (Map::Ard, _) => start::<256, DIMENSIONS, ARD, R>(problem, settings, seed, work),
        (Map::Deep { .. }, ..=32) => start::<32, MAX_WIDTH, DEEP, R>(problem, settings, seed, work),
        (Map::Deep { .. }, ..=64) => start::<64, MAX_WIDTH, DEEP, R>(problem, settings, seed, work),
        (Map::Deep { .. }, ..=128) => start::<128, MAX_WIDTH, DEEP, R>(problem, settings, seed, work),
        (Map::Deep { .. }, _) => start::<256, MAX_WIDTH, DEEP, R>(problem, settings, seed, work),
    }
}

fn start<const N: usize, const F: usize, const P: usize, R>(
    problem: Problem<'_>,
    settings: Settings,
    seed: u64,
    work: impl FnOnce(&mut dyn Tuner) -> R,
) -> Result<R, Error> {
    let mut memory = Box::new(Shape::<N, F, P>::new());
    let optimizer = memory.start(problem, settings, seed)?;
    Ok(work(&mut Asking::new(optimizer)))
}
