//! Triangular systems, and a Cholesky factor that grows by blocks of 8 rows.

#![allow(clippy::needless_range_loop, reason = "one index runs through several slices of the same length")]

use nalgebra::{Const, Dyn};

use super::tiles::{
    Blank, Columns, Left, PARTS, Part, Rows, accumulator, in_tiles, load, parts_mut, parts_of, store,
    subtract,
};
use super::{LANES, Lane, Matrix, MatrixMut, column, column_mut, product_of_panels};
use crate::error::Error;
use crate::kernels::{PART, ROWS, ROWS_OF_ONE, apart, each, is_below};
use crate::math;

/// Below this, a solution counts as zero. Nothing that can be seen is that small, but the products of such numbers are
/// subnormal, which a desktop processor computes up to a hundred times more slowly: they made a step of learning with
/// the paper's prior, under which far points are all but unrelated, ten times slower.
const SMALLEST: f32 = 1e-18;

/// The rows of a tile among themselves, once what is solved already has been subtracted: `DOWN` or upwards.
///
/// By one over the diagonal, which needs not wait for the row above as a division would.
#[inline(always)]
fn solve_corner<const HEIGHT: usize, const DOWN: bool>(
    mut tile: [Part; HEIGHT],
    corner: impl Fn(usize, usize) -> f32,
    inverse: &[f32; HEIGHT],
) -> [Part; HEIGHT] {
    each!(written out: j < HEIGHT, {
        let j = if DOWN { j } else { HEIGHT - 1 - j };
        scale(&mut tile[j], inverse[j]);
        let solved = tile[j];
        each!(written out: i < HEIGHT, if (i > j) == DOWN && i != j { subtract(&mut tile[i], corner(i, j), &solved) });
    });
    tile
}

/// One over each number of the diagonal.
#[inline(always)]
fn inverse<const HEIGHT: usize>(corner: impl Fn(usize, usize) -> f32) -> [f32; HEIGHT] {
    let mut inverse = Blank::<HEIGHT>::COLUMN;
    each!(written out: i < HEIGHT, inverse[i] = 1.0 / corner(i, i));
    inverse
}

#[inline(always)]
fn scale(row: &mut Part, by: f32) {
    each!(l < PART, {
        row[l] = visible(row[l] * by);
    });
}

/// 0 in place of what is too small to matter.
#[inline(always)]
fn visible(x: f32) -> f32 {
    if is_below(x, SMALLEST) { 0.0 } else { x }
}

/// Solves `L X = B` in place for the first `lanes` of 8 right-hand sides; what becomes of the others is not said. Row `i` of
/// `L` is column `i` of the matrix, here and below; `panel.len()` of them are used.
///
/// Row by row downwards, each sum in ascending order of the column. What is below 10⁻¹⁸ becomes 0.
pub fn solve_lower(l: &Matrix<'_>, panel: &mut [Lane], lanes: usize) {
    in_tiles!(ROWS, panel.len(), solve_lower_tile(Rows(l), panel, lanes));
}

/// Rows from `first` of [`solve_lower`], those above being solved.
#[inline(always)]
pub(super) fn solve_lower_tile<const HEIGHT: usize>(
    l: impl Left,
    panel: &mut [Lane],
    lanes: usize,
    first: usize,
) {
    let (done, rest) = parts_mut(panel).split_at_mut(first);
    let reduce = accumulator::<HEIGHT, _, _>(subtract, l, first, done);
    let corner = l.tile::<HEIGHT>(first, (first, first + HEIGHT));
    let inverse = inverse(corner);
    for part in 0..parts_of(lanes) {
        let tile = reduce(load::<HEIGHT, _>(rest, part), part);
        store(apart(|| solve_corner::<HEIGHT, true>(tile, corner, &inverse)), rest, part);
    }
}

/// Solves `Lᵀ X = B` in place for 8 right-hand sides.
///
/// Row by row upwards, each sum in descending order of the row of `L`. What is below 10⁻¹⁸ becomes 0.
pub fn solve_upper(l: &Matrix<'_>, panel: &mut [Lane]) {
    in_tiles!(ROWS, panel.len(), solve_upper_tile(l, panel));
}

/// `HEIGHT` rows of [`solve_upper`] above the last `from_end`, which are solved.
#[inline(always)]
pub(super) fn solve_upper_tile<const HEIGHT: usize>(l: &Matrix<'_>, panel: &mut [Lane], from_end: usize) {
    let end = panel.len() - from_end;
    let first = end - HEIGHT;
    let (head, done) = parts_mut(panel).split_at_mut(end);
    let rest = &mut head[first..];
    let below = l.generic_view((first, end), (Const::<HEIGHT>, Dyn(done.len())));
    let corner = Columns(l).tile::<HEIGHT>(first, (first, end));
    let inverse = inverse(corner);
    for part in 0..PARTS {
        let mut tile = load::<HEIGHT, _>(rest, part);
        for k in (0..done.len()).rev() {
            let below = below.column(k).data.into_slice();
            each!(i < HEIGHT, subtract(&mut tile[i], below[i], &done[k][part]));
        }
        store(apart(|| solve_corner::<HEIGHT, false>(tile, corner, &inverse)), rest, part);
    }
}

/// Solves `L x = b` in place for one right-hand side.
pub fn solve_lower_one(l: &Matrix<'_>, x: &mut [f32]) {
    in_tiles!(ROWS_OF_ONE, x.len(), solve_lower_one_tile(Rows(l), x));
}

/// Numbers from `first` of [`solve_lower_one`]: sums that need not wait for each other.
pub(super) fn solve_lower_one_tile<const HEIGHT: usize>(l: impl Left, x: &mut [f32], first: usize) {
    let (done, rest) = x.split_at_mut(first);
    let rest: &mut [f32; HEIGHT] = rest.first_chunk_mut().expect("so many rows");
    let (before, corner) =
        (l.tile::<HEIGHT>(first, (0, first)), l.tile::<HEIGHT>(first, (first, first + HEIGHT)));
    let mut sums = *rest;
    for (j, done) in done.iter().enumerate() {
        for i in 0..HEIGHT {
            sums[i] -= before(i, j) * done;
        }
    }
    for i in 0..HEIGHT {
        for j in 0..i {
            sums[i] -= corner(i, j) * sums[j];
        }
        sums[i] /= corner(i, i);
    }
    *rest = sums;
}

/// Solves `Lᵀ x = b` in place for one right-hand side.
pub fn solve_upper_one(l: &Matrix<'_>, x: &mut [f32]) {
    for i in (0..x.len()).rev() {
        let (row, (above, [own, ..])) = (column(l, i), x.split_at_mut(i)) else { return };
        *own /= row[i];
        for (above, l) in above.iter_mut().zip(&row[..i]) {
            *above -= l * *own;
        }
    }
}

/// Appends rows `first..first + rows` (at most 8) to a Cholesky factor.
///
/// `panel[j][lane]` holds `K̃(j, first + lane)` for `j < first + rows`, noise on the diagonal included; it is
/// overwritten. The rows of the factor are written to the heads of the columns of `l`. `first` is a multiple of 8, so that
/// a factor grown row by row (each time redoing its last block) has the same bits as one built at once.
///
/// A pivot below `floor` is raised to it, which amounts to a noisier observation; the number of such pivots is
/// returned. Deviation from plain Cholesky: stated here, counted, never silent.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] if a pivot is not finite; `l` is then unchanged.
pub fn factor_block(
    l: &mut MatrixMut<'_>,
    first: usize,
    rows: usize,
    panel: &mut [Lane],
    floor: f32,
) -> Result<u32, Error> {
    let (above, block) = panel.split_at_mut(first);
    solve_lower(&l.as_view(), above, rows);
    // A constant is filled in at once, an array of arrays row by row.
    const ZEROS: [Lane; LANES] = [[0.0; LANES]; LANES];
    let mut products = ZEROS;
    product_of_panels(&mut products, above, above);
    let mut raised = 0;
    let mut factor = ZEROS;
    for i in 0..rows {
        for j in 0..=i {
            let mut sum = block[j][i] - products[j][i];
            for (a, b) in factor[i][..j].iter().zip(&factor[j]) {
                sum -= a * b;
            }
            if i != j {
                factor[i][j] = visible(sum / factor[j][j]);
            } else if !sum.is_finite() {
                return Err(Error::NotPositiveDefinite { row: first + i });
            } else {
                raised += u32::from(sum < floor);
                factor[i][i] = math::sqrt(if sum < floor { floor } else { sum });
            }
        }
    }
    for i in 0..rows {
        let row = &mut column_mut(l, first + i)[..=first + i];
        for (value, above) in row.iter_mut().zip(above.iter()) {
            *value = above[i];
        }
        row[first..].copy_from_slice(&factor[i][..=i]);
    }
    Ok(raised)
}
