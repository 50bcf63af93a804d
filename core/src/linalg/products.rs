//! Products of matrices: the deep map's layers, forward and backward.

#![allow(clippy::needless_range_loop, reason = "one index runs through several slices of the same length")]

use super::tiles::{
    CORTEX_M, Left, PART, PARTS, Part, ROWS, accumulator, add, each, in_tiles, load, parts, parts_mut, store,
};
use super::{Columns, LANES, Lane, Rows};

/// Width of the matrices for which the loops are made on Cortex-M; others are slow there. It is that of the paper's map.
pub(super) const WIDTH: usize = 64;

/// `c[r][j] = bias[j] + Σₖ a(r, k) · b[k][j]` for `rows × width`, `b` and `c` row-major with their strides.
///
/// Fast where width and strides are 64, on the host also where the stride of `b` is another multiple of 8.
pub fn affine(
    c: &mut [f32],
    c_stride: usize,
    shape: (usize, usize, usize),
    a: Rows<'_>,
    b: &[f32],
    b_stride: usize,
    bias: &[f32],
) {
    let (rows, inner, width) = shape;
    if (width, b_stride, c_stride) == (WIDTH, WIDTH, WIDTH) {
        let bias = bias.as_chunks().0.first_chunk().expect("as wide as said");
        in_tiles!(ROWS, rows, affine_tile(wide_mut(c), a, &wide(b)[..inner], bias));
    } else {
        for row in c.chunks_mut(c_stride).take(rows) {
            row[..width].copy_from_slice(&bias[..width]);
        }
        multiply_add_any(c, c_stride, shape, a, b, b_stride);
    }
}

/// `c[r][j] += Σₖ a(r, k) · b[k][j]`, with the left factor by columns, of which there are at most 8. Fast as [`affine`].
pub fn multiply_add(
    c: &mut [f32],
    c_stride: usize,
    shape: (usize, usize, usize),
    a: Columns<'_>,
    b: &[f32],
    b_stride: usize,
) {
    let (rows, inner, width) = shape;
    if (width, b_stride, c_stride) == (WIDTH, WIDTH, WIDTH) && inner <= LANES {
        in_tiles!(ROWS, rows, multiply_add_tile(wide_mut(c), a, &wide(b)[..inner]));
    } else {
        multiply_add_any(c, c_stride, shape, a, b, b_stride);
    }
}

/// One row of a matrix of that width.
type Wide = [Part; WIDTH / PART];

#[inline(always)]
fn wide(matrix: &[f32]) -> &[Wide] {
    matrix.as_chunks().0.as_chunks().0
}

#[inline(always)]
fn wide_mut(matrix: &mut [f32]) -> &mut [Wide] {
    matrix.as_chunks_mut().0.as_chunks_mut().0
}

/// Rows from `first` of [`affine`].
#[inline(always)]
fn affine_tile<const R: usize>(c: &mut [Wide], a: impl Left, b: &[Wide], bias: &Wide, first: usize) {
    let sum = accumulator::<R, _, _>(add, a, first, b);
    for part in 0..WIDTH / PART {
        store(sum([bias[part]; R], part), &mut c[first..], part);
    }
}

/// Rows from `first` of [`multiply_add`]: the few columns are copied to where they need no looking for.
#[inline(always)]
fn multiply_add_tile<const R: usize>(c: &mut [Wide], a: impl Left, b: &[Wide], first: usize) {
    let b = &b[..b.len().min(LANES)];
    let left = a.tile::<R>(first, (0, b.len()));
    let mut few = [[0.0; R]; LANES];
    for (k, few) in few[..b.len()].iter_mut().enumerate() {
        each!(i < R, few[i] = left(i, k));
    }
    for part in 0..WIDTH / PART {
        let mut acc = load::<R, _>(&c[first..], part);
        for k in 0..b.len() {
            each!(i < R, add(&mut acc[i], few[k][i], &b[k][part]));
        }
        store(acc, &mut c[first..], part);
    }
}

#[inline(always)]
fn multiply_add_any(
    c: &mut [f32],
    c_stride: usize,
    (rows, inner, width): (usize, usize, usize),
    a: impl Left,
    b: &[f32],
    b_stride: usize,
) {
    if rows == 0 || inner == 0 {
        return;
    }
    let mut done = 0;
    if !CORTEX_M && b_stride.is_multiple_of(PART) {
        let (b, _) = b.as_chunks();
        for part in 0..width / PART {
            let (b, c) = (&b[part..], &mut c[part * PART..]);
            let row = |k| &b[k * (b_stride / PART)];
            in_tiles!(ROWS, rows, multiply_add_any_tile(c, c_stride, a, inner, row));
        }
        done = width - width % PART;
    }
    for r in 0..rows {
        for j in done..width {
            let element = a.tile::<1>(r, (0, inner));
            for k in 0..inner {
                c[r * c_stride + j] += element(0, k) * b[k * b_stride + j];
            }
        }
    }
}

/// Rows from `first` and the first columns of a product of any width.
#[inline(always)]
pub(super) fn multiply_add_any_tile<'b, const R: usize>(
    c: &mut [f32],
    stride: usize,
    a: impl Left,
    inner: usize,
    b: impl Fn(usize) -> &'b Part,
    first: usize,
) {
    let mut acc = [[0.0; PART]; R];
    each!(i < R, acc[i] = *c[(first + i) * stride..].first_chunk().expect("as wide as said"));
    let a = a.tile::<R>(first, (0, inner));
    for k in 0..inner {
        let b = b(k);
        each!(i < R, add(&mut acc[i], a(i, k), b));
    }
    each!(i < R, c[(first + i) * stride..][..PART].copy_from_slice(&acc[i]));
}

/// `c[r] = Σₖ a(r, k) · b[k]`.
pub fn product(c: &mut [Lane], a: Rows<'_>, b: &[Lane]) {
    in_tiles!(ROWS, c.len(), product_tile(c, a, b));
}

/// [`product`] with the left factor by columns.
pub fn product_transposed(c: &mut [Lane], a: Columns<'_>, b: &[Lane]) {
    in_tiles!(ROWS, c.len(), product_tile(c, a, b));
}

#[inline(always)]
pub(super) fn product_tile<const R: usize>(c: &mut [Lane], a: impl Left, b: &[Lane], first: usize) {
    let sum = accumulator::<R, _, _>(add, a, first, parts(b));
    for part in 0..PARTS {
        store(sum([[0.0; PART]; R], part), &mut parts_mut(c)[first..], part);
    }
}
