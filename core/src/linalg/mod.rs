//! The inner loops: register tiles, and a Cholesky factor that grows.
//!
//! Everything heavy in this library is one line, `tiles::add`: a row of numbers in registers, plus a number times another
//! row. A *tile* of a few such rows is kept in registers while a sum runs, and each number loaded serves a whole row or
//! column of it. Each output is summed in ascending order of the inner index, whatever the tile's shape, so the shape may
//! differ between machines and the bits do not: 8 rows of 8 (an AVX register each) on the host; on Cortex-M 4 rows of 4,
//! which with both factors fit its 32 registers. Product and sum are rounded separately (no fused multiply-add; a
//! Cortex-M's `VMLA` rounds twice, in one instruction).
//!
//! The loops are written such that the compiler sees that no index can be out of bounds: what is read is cut to the
//! length of the loop before it starts. A check in the loop would cost a third of it.
//!
//! `tiles` has the tiles; what is made of them lies in `products` (the deep map), `triangular` (the Gaussian process) and
//! `pairs` (distances).
//!
//! Matrices are row-major slices with a stride. A *panel* is a tall matrix of 8 columns, `[[f32; 8]]`.
//!
//! Cost in multiply-adds: `solve_lower`, `solve_upper` `4 t²` (8 columns), `factor_block` `4 t²` for 8 rows, so a
//! whole factor costs `t³/4`.

mod pairs;
mod products;
mod tiles;
mod triangular;

pub use pairs::{squared_distances, weighted_differences};
pub use products::{affine, multiply_add, product, product_transposed};
pub use triangular::{factor_block, solve_lower, solve_lower_one, solve_upper, solve_upper_one};

/// Columns of a panel.
pub const LANES: usize = 8;

/// One row of a panel.
pub type Lane = [f32; LANES];

/// A matrix that is read by rows: element `(r, k)` is `data[r · stride + k]`.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The numbers.
    pub data: &'a [f32],
    /// Distance between rows.
    pub stride: usize,
}

/// A matrix that is read by columns: element `(r, k)` is `data[r + k · stride]`.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// The numbers.
    pub data: &'a [f32],
    /// Distance between columns.
    pub stride: usize,
}

#[cfg(test)]
mod tests;
