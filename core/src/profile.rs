//! Ready-made shapes: memories that fit a small and a large microcontroller, with settings that fit them.
//!
//! | profile | dimensions | fidelities | observations | map | particles | candidates | fits, with its stack, in |
//! |---|---|---|---|---|---|---|---|
//! | [`Compact`] | 4 | 4 | 64 | linear | 10 | 80 | 61 KB |
//! | [`Deep`] | 6 | 4 | 128 | deep, 64 × 3 | 10 | 256 | 1 MB |
//!
//! `cargo run -p foretune-core --example sizes` prints what takes how much. All of it is zero at first, so a `static`
//! lies in `.bss`. Beside it, a slice of work takes 5 KB of stack on a Cortex-M, and the function in which it is
//! started, with the optimizer, 13 KB for that moment (frames as disassembled, summed along the deepest chain of calls).

use crate::memory;
use crate::settings::Settings;

/// Memory for four dimensions and the linear map, or ARD; keeps the last task's particles, and has room for Adam, a fleet and 2 guards.
pub type Compact = memory!(
    dimensions: 4, fidelities: 4, observations: 64, particles: 10, map: Linear, candidates: 80, fleet: true, guards: 2
);

/// [`Settings::DEFAULT`] with as many candidates as [`Compact`] has room for.
pub const COMPACT: Settings = Settings { candidates: 80, ..Settings::DEFAULT };

/// Memory for six dimensions and the paper's deep map. The last task's particles are read from elsewhere
/// ([`Optimizer::advance_with`](crate::Optimizer::advance_with)); of the steps, there is room for
/// [`Plain`](crate::Step::Plain) and [`Langevin`](crate::Step::Langevin).
pub type Deep = memory!(
    dimensions: 6, fidelities: 4, observations: 128, particles: 10, map: Deep { width: 64 }, candidates: 256,
    step: Langevin { rate: 1.0 }, keeps_particles: false, guards: 2
);

/// [`Settings::DEEP`], whose candidates [`Deep`] has room for.
pub const DEEP: Settings = Settings::DEEP;

const _: () = assert!(COMPACT.checked().is_ok() && DEEP.checked().is_ok());
const _: () = assert!(size_of::<Compact>() <= 49_000, "49 KB must be enough");
const _: () = assert!(size_of::<Deep>() <= 990_000, "1 MB must be enough, stack included");

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula of `docs/guide/settings.md`.
    fn formula([d, m, n, v, f, p, a, q]: [usize; 8]) -> usize {
        let observations = 4 * n * n + n * (8 * d + 12 * f + 122);
        let parameters = 4 * p * (2 * v + a);
        let candidates = q * (4 * d + 28 * m + 8);
        observations + parameters + candidates + 192 * f + 128 * v + 32 * d
    }

    fn guards([g, n, q]: [usize; 3]) -> usize {
        4 * n * (g + 1) + 8 * q * g + 96 * g
    }

    #[test]
    fn the_guides_formula_gives_the_size() {
        type Small = memory!(
            dimensions: 3, fidelities: 2, observations: 48, particles: 8, map: Ard, candidates: 64
        );
        for (size, capacities) in [
            (size_of::<Compact>() - 28 * 64 - guards([2, 64, 80]), [4, 4, 64, 10, 4, 12, 30, 80]),
            (size_of::<Deep>() - guards([2, 128, 256]), [6, 4, 128, 10, 64, 8769, 0, 256]),
            (size_of::<Small>(), [3, 2, 48, 8, 3, 5, 24, 64]),
        ] {
            assert!(size.abs_diff(formula(capacities)) <= 4, "{size}, not {}", formula(capacities));
        }
    }
}
