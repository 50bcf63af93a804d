//! What this machine can do at most: a dense multiply-then-add over numbers that stay in the first-level cache.
//!
//! A tile of accumulators in registers is updated by one row of 8 numbers at a time, all from 16 KB of memory. The
//! compiler vectorises it to the width that it was told of, and never fuses the two operations: as in the core, whose
//! results must not depend on the machine. The best of several tiles counts, and the best of many tries.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rows of the right factor: 16 KB.
const ROWS: usize = 512;
type Lane = [f32; 8];

/// Floating-point operations per second at the peak; looks for it that long.
pub fn peak(patience: Duration) -> f64 {
    let factors = Factors { right: [[1e-3; 8]; ROWS], left: [[1e-3; 12]; ROWS] };
    let start = Instant::now();
    let mut best = 0.0f64;
    loop {
        for rate in [rate::<6>(&factors), rate::<8>(&factors), rate::<10>(&factors), rate::<12>(&factors)] {
            best = best.max(rate);
        }
        if start.elapsed() >= patience {
            return best;
        }
    }
}

struct Factors {
    right: [Lane; ROWS],
    left: [[f32; 12]; ROWS],
}

/// Operations per second in tiles of `HEIGHT` rows, over some tens of microseconds.
fn rate<const HEIGHT: usize>(factors: &Factors) -> f64 {
    const PASSES: usize = 20;
    let start = Instant::now();
    for _ in 0..PASSES {
        black_box(multiply_add::<HEIGHT>(black_box(factors)));
    }
    (2 * 8 * HEIGHT * ROWS * PASSES) as f64 / start.elapsed().as_secs_f64()
}

#[inline(never)]
fn multiply_add<const HEIGHT: usize>(factors: &Factors) -> [Lane; HEIGHT] {
    let mut sums = [[0.0; 8]; HEIGHT];
    for (left, right) in factors.left.iter().zip(&factors.right) {
        for (sum, left) in sums.iter_mut().zip(left) {
            for (sum, right) in sum.iter_mut().zip(right) {
                *sum += left * right;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_computes_what_it_is_said_to() {
        let factors = Factors { right: [[2.0; 8]; ROWS], left: [[0.5; 12]; ROWS] };
        assert_eq!(multiply_add::<6>(&factors), [[ROWS as f32; 8]; 6]);
    }

    #[test]
    fn the_peak_is_a_believable_number() {
        let peak = peak(Duration::ZERO);
        assert!((1e6..1e13).contains(&peak), "{peak}");
    }
}
