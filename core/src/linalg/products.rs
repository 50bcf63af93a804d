//! Products of matrices: the deep map's layers, forward and backward.

#![allow(clippy::needless_range_loop, reason = "one index runs through several slices of the same length")]

use nalgebra::{Const, Dyn, MatrixView, MatrixViewMut};

use super::tiles::{
    Blank, Columns, Left, PARTS, Part, Rows, accumulator, add, in_tiles, load, parts, parts_mut, parts_of,
    store,
};
use super::{LANES, Lane, Matrix, MatrixMut, column, column_mut};
use crate::kernels::{ANY_WIDTH, PART, ROWS, each};

/// Width of the matrices for which the loops are made on Cortex-M; others are slow there. It is that of the paper's map.
pub(super) const WIDTH: usize = 64;

/// `c(j, r) = bias[j] + Σₖ a(k, r) · b(j, k)`: a layer of units `j` with weights `b`, for points `r`.
///
/// The weights follow each other; fast for 64 units.
pub fn affine(c: &mut MatrixMut<'_>, a: &Matrix<'_>, b: &[f32], bias: &[f32]) {
    let (units, points) = c.shape();
    if let (WIDTH, Some(bias)) = (units, bias.as_chunks().0.first_chunk()) {
        let b = MatrixView::<f32, Const<WIDTH>, Dyn>::from_slice(b, b.len() / WIDTH);
        in_tiles!(ROWS, points, affine_tile(c, Rows(a), wide(b.data.into_slice()), bias));
    } else {
        for mut column in c.column_iter_mut() {
            column.copy_from_slice(bias);
        }
        multiply_add_any(c, Rows(a), &Matrix::from_slice(b, units, b.len() / units));
    }
}

/// `c(j, r) += Σₖ a(r, k) · b(j, k)`, with at most 8 columns `k`; both `c` and `b` follow each other. Fast as [`affine`].
pub fn multiply_add(c: &mut [f32], units: usize, a: &Matrix<'_>, b: &[f32]) {
    let (rows, inner) = a.shape();
    if units == WIDTH && inner <= LANES {
        let c = MatrixViewMut::<f32, Const<WIDTH>, Dyn>::from_slice(c, rows);
        let b = MatrixView::<f32, Const<WIDTH>, Dyn>::from_slice(b, inner);
        let (c, b) = (wide_mut(c.data.into_slice_mut()), wide(b.data.into_slice()));
        in_tiles!(ROWS, rows, multiply_add_tile(c, Columns(a), b));
    } else {
        let mut c = MatrixMut::from_slice(c, units, rows);
        multiply_add_any(&mut c, Columns(a), &Matrix::from_slice(b, units, inner));
    }
}

/// One column of a matrix of that width.
type Wide = [Part; WIDTH / PART];

#[inline(always)]
fn wide(matrix: &[f32]) -> &[Wide] {
    matrix.as_chunks().0.as_chunks().0
}

#[inline(always)]
fn wide_mut(matrix: &mut [f32]) -> &mut [Wide] {
    matrix.as_chunks_mut().0.as_chunks_mut().0
}

/// Columns from `first` of [`affine`].
#[inline(always)]
fn affine_tile<const HEIGHT: usize>(
    c: &mut MatrixMut<'_>,
    a: impl Left,
    b: &[Wide],
    bias: &Wide,
    first: usize,
) {
    let sum = accumulator::<HEIGHT, _, _>(add, a, first, b);
    let mut c = c.columns_mut(first, HEIGHT);
    let mut columns = c.column_iter_mut();
    let columns: [&mut Wide; HEIGHT] = core::array::from_fn(|_| {
        let column = columns.next().expect("so many points").data.into_slice_mut();
        wide_mut(column).first_mut().expect("as wide as said")
    });
    for part in 0..WIDTH / PART {
        let tile = sum([bias[part]; HEIGHT], part);
        each!(i < HEIGHT, columns[i][part] = tile[i]);
    }
}

/// Columns from `first` of [`multiply_add`]: the few factors are copied to where they need no looking for.
#[inline(always)]
fn multiply_add_tile<const HEIGHT: usize>(c: &mut [Wide], a: impl Left, b: &[Wide], first: usize) {
    let b = &b[..b.len().min(LANES)];
    let left = a.tile::<HEIGHT>(first, (0, b.len()));
    let mut few = [[0.0; HEIGHT]; LANES];
    for (k, few) in few[..b.len()].iter_mut().enumerate() {
        each!(i < HEIGHT, few[i] = left(i, k));
    }
    for part in 0..WIDTH / PART {
        let mut acc = load::<HEIGHT, _>(&c[first..], part);
        for k in 0..b.len() {
            each!(i < HEIGHT, add(&mut acc[i], few[k][i], &b[k][part]));
        }
        store(acc, &mut c[first..], part);
    }
}

/// A product of any width.
#[inline(always)]
fn multiply_add_any(c: &mut MatrixMut<'_>, a: impl Left, b: &Matrix<'_>) {
    let (width, inner) = b.shape();
    let mut done = 0;
    if ANY_WIDTH && inner > 0 {
        for part in 0..width / PART {
            in_tiles!(ROWS, c.ncols(), multiply_add_any_tile(c, a, b, part * PART));
        }
        done = width - width % PART;
    }
    for r in 0..c.ncols() {
        let element = a.tile::<1>(r, (0, inner));
        let c = &mut column_mut(c, r)[done..];
        for (j, c) in c.iter_mut().enumerate() {
            for k in 0..inner {
                *c += element(0, k) * b[(done + j, k)];
            }
        }
    }
}

/// Columns from `first`, and rows from `row`, of a product of any width.
#[inline(always)]
pub(super) fn multiply_add_any_tile<const HEIGHT: usize>(
    c: &mut MatrixMut<'_>,
    a: impl Left,
    b: &Matrix<'_>,
    row: usize,
    first: usize,
) {
    let mut acc = Blank::<HEIGHT>::TILE;
    each!(i < HEIGHT, acc[i] = *part_of(column_mut(c, first + i), row));
    let inner = b.ncols();
    let a = a.tile::<HEIGHT>(first, (0, inner));
    for k in 0..inner {
        let b = column(b, k)[row..].first_chunk().expect("as wide as said");
        each!(i < HEIGHT, add(&mut acc[i], a(i, k), b));
    }
    each!(i < HEIGHT, *part_of(column_mut(c, first + i), row) = acc[i]);
}

#[inline(always)]
fn part_of(column: &mut [f32], row: usize) -> &mut Part {
    column[row..].first_chunk_mut().expect("as wide as said")
}

/// `c[r] = Σₖ a(k, r) · b[k]`.
pub fn product(c: &mut [Lane], a: &Matrix<'_>, b: &[Lane]) {
    in_tiles!(ROWS, c.len(), product_tile(c, Rows(a), b));
}

/// `c[r] = Σₖ a[k][r] · b[k]`: a panel's columns with each other.
pub fn product_of_panels(c: &mut [Lane], a: &[Lane], b: &[Lane]) {
    let a = Matrix::from_slice(a.as_flattened(), LANES, a.len());
    in_tiles!(ROWS, c.len(), product_tile(c, Columns(&a), b));
}

#[inline(always)]
pub(super) fn product_tile<const HEIGHT: usize>(c: &mut [Lane], a: impl Left, b: &[Lane], first: usize) {
    let sum = accumulator::<HEIGHT, _, _>(add, a, first, parts(b));
    for part in 0..PARTS {
        store(sum(Blank::<HEIGHT>::TILE, part), &mut parts_mut(c)[first..], part);
    }
}

/// `to = by · from`.
#[inline(always)]
pub fn scale_row(to: &mut Lane, from: &Lane, by: f32) {
    each!(l < LANES, to[l] = from[l] * by);
}

/// `to = to · by`, number by number.
#[inline(always)]
pub fn multiply_row(to: &mut Lane, by: &Lane) {
    each!(l < LANES, to[l] *= by[l]);
}

/// `to = to + by · from`.
pub fn add_scaled(to: &mut Lane, from: &Lane, by: f32) {
    each!(l < LANES, to[l] += by * from[l]);
}

/// `to = to + by`.
#[inline(always)]
pub fn add_row(to: &mut Lane, by: &Lane) {
    each!(l < LANES, to[l] += by[l]);
}

/// `Σ v·w`, `Σ v·v`, `Σ v·u` down the columns of a panel `v`, with one number `w` for each row and another panel `u`.
pub struct Sums {
    /// `Σ v·w`.
    pub weighted: Lane,
    /// `Σ v·v`.
    pub square: Lane,
    /// `Σ v·u`.
    pub product: Lane,
}

impl Sums {
    /// Of the first `lanes` columns. Apart, so that the compiler keeps each sum in a register of its own.
    #[inline(never)]
    pub fn of(v: &[Lane], u: &[Lane], w: &[f32], lanes: usize) -> Sums {
        let mut sums = Sums { weighted: [0.0; LANES], square: [0.0; LANES], product: [0.0; LANES] };
        for part in 0..parts_of(lanes) {
            let (mut weighted, mut square, mut product) = ([0.0; PART], [0.0; PART], [0.0; PART]);
            for ((v, u), w) in parts(v).iter().zip(parts(u)).zip(w) {
                let (v, u) = (&v[part], &u[part]);
                each!(l < PART, {
                    weighted[l] += v[l] * w;
                    square[l] += v[l] * v[l];
                    product[l] += v[l] * u[l];
                });
            }
            let Sums { weighted: w, square: s, product: p } = &mut sums;
            for (to, from) in [(w, weighted), (s, square), (p, product)] {
                to.as_chunks_mut().0[part] = from;
            }
        }
        sums
    }
}
