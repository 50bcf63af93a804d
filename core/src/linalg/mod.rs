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
//! Matrices come as nalgebra's views; the loops run over the slices of their columns, since nalgebra's own products
//! change with features that other crates may switch on. A *panel* is a matrix of 8 rows, `[[f32; 8]]`.
//!
//! Cost in multiply-adds: `solve_lower`, `solve_upper` `4 t²` (8 columns), `factor_block` `4 t²` for 8 rows, so a
//! whole factor costs `t³/4`.

mod pairs;
mod products;
mod tiles;
mod triangular;

pub use crate::kernels::LANES;
pub use pairs::{squared_distances, weighted_differences};
pub use products::{
    Sums, add_row, add_scaled, affine, multiply_add, multiply_row, product, product_of_panels, scale_row,
};
pub use triangular::{factor_block, solve_lower, solve_lower_one, solve_upper, solve_upper_one};

/// One row of a panel.
pub type Lane = [f32; LANES];

/// A matrix to read: columns of contiguous numbers, at any distance from each other.
///
/// What the equations call a row (of points, of features, of the factor) is a column here, so that it is contiguous.
pub type Matrix<'a> = nalgebra::DMatrixView<'a, f32>;

/// A matrix to write.
pub type MatrixMut<'a> = nalgebra::DMatrixViewMut<'a, f32>;

/// A column as a slice.
#[inline(always)]
pub fn column<'m>(matrix: &'m Matrix<'_>, index: usize) -> &'m [f32] {
    matrix.column(index).data.into_slice()
}

/// A column as a slice to write.
#[inline(always)]
pub fn column_mut<'m>(matrix: &'m mut MatrixMut<'_>, index: usize) -> &'m mut [f32] {
    matrix.column_mut(index).data.into_slice_mut()
}

/// Exchanges two columns. Nalgebra's own way takes more flash, every time.
#[inline(never)]
pub fn swap_columns(matrix: &mut MatrixMut<'_>, a: usize, b: usize) {
    for row in 0..matrix.nrows() {
        let number = matrix[(row, a)];
        matrix[(row, a)] = matrix[(row, b)];
        matrix[(row, b)] = number;
    }
}

#[cfg(test)]
mod tests;
