//! Pairs of points: their distances, and what pulls them towards each other.

#![allow(clippy::needless_range_loop, reason = "one index runs through several slices of the same length")]

use super::tiles::{
    Blank, Left, PARTS, ROWS_OF_TWO, Rows, in_tiles, load, parts, parts_mut, parts_of, store,
};
use super::{Lane, Matrix};
use crate::kernels::{PART, ROWS, each};

/// `out[j][l] = Σ_f (a(f, j) − b[f][l])²`: squared distances of the first columns of `a` to the first `lanes` of 8 points;
/// what becomes of the others is not said.
pub fn squared_distances(out: &mut [Lane], a: &Matrix<'_>, b: &[Lane], lanes: usize) {
    in_tiles!(ROWS, out.len(), squared_distances_tile(out, Rows(a), b, lanes));
}

#[inline(always)]
pub(super) fn squared_distances_tile<const HEIGHT: usize>(
    out: &mut [Lane],
    a: impl Left,
    b: &[Lane],
    lanes: usize,
    first: usize,
) {
    let (a, b) = (a.tile::<HEIGHT>(first, (0, b.len())), parts(b));
    for part in 0..parts_of(lanes) {
        let mut acc = Blank::<HEIGHT>::TILE;
        for f in 0..b.len() {
            let b = &b[f][part];
            each!(i < HEIGHT, {
                let a = a(i, f);
                each!(l < PART, {
                    let gap = a - b[l];
                    acc[i][l] += gap * gap;
                });
            });
        }
        store(acc, &mut parts_mut(out)[first..], part);
    }
}

/// `out[f][l] = Σ_j weights[j][l] · (own[f][l] − a(f, j))`: what pulls 8 points towards the others.
///
/// The differences are taken first: points may lie close together and have large weights of opposite signs.
pub fn weighted_differences(out: &mut [Lane], weights: &[Lane], own: &[Lane], a: &Matrix<'_>) {
    in_tiles!(ROWS_OF_TWO, out.len(), weighted_differences_tile(out, weights, own, a));
}

#[inline(always)]
pub(super) fn weighted_differences_tile<const HEIGHT: usize>(
    out: &mut [Lane],
    weights: &[Lane],
    own: &[Lane],
    a: &Matrix<'_>,
    first: usize,
) {
    // Said once, so that it need not be looked at in the loop.
    assert!(first + HEIGHT <= a.nrows());
    for part in 0..PARTS {
        let own = load::<HEIGHT, _>(&parts(own)[first..], part);
        let mut acc = Blank::<HEIGHT>::TILE;
        for (weights, column) in parts(weights).iter().zip(a.column_iter()) {
            let column = column.data.into_slice();
            let (weights, a) =
                (&weights[part], column[first..].first_chunk::<HEIGHT>().expect("so many rows"));
            each!(i < HEIGHT, each!(l < PART, acc[i][l] += weights[l] * (own[i][l] - a[i])));
        }
        store(acc, &mut parts_mut(out)[first..], part);
    }
}
