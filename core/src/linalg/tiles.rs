//! Register tiles: shapes, how their factors are read, and the one line that everything is made of.

#![allow(clippy::needless_range_loop, reason = "one index runs through several slices of the same length")]

use super::{LANES, Lane, Matrix, column};
use crate::kernels::{GROUP, PART, ROWS, each};

/// Tiles beside each other in a panel.
pub(super) const PARTS: usize = LANES / PART;
/// Rows of a tile where two are kept in registers.
pub(super) const ROWS_OF_TWO: usize = ROWS / 2;

/// One row of a register tile.
pub(super) type Part = [f32; PART];

/// What tiles begin as. Constants, since a compiler that is told to save space fills an array in a loop, and then keeps it in
/// memory.
pub(super) struct Blank<const HEIGHT: usize>;

impl<const HEIGHT: usize> Blank<HEIGHT> {
    /// Zeros.
    pub const TILE: [Part; HEIGHT] = [[0.0; PART]; HEIGHT];
    /// A zero for each row.
    pub const COLUMN: [f32; HEIGHT] = [0.0; HEIGHT];
    const ROWS: [&[f32]; HEIGHT] = [&[]; HEIGHT];
    const GROUPS: [&[[f32; GROUP]]; HEIGHT] = [&[]; HEIGHT];
}

/// The left factor of a product.
pub(super) trait Left: Copy {
    /// Whether columns follow each other in memory, so that groups of them are quicker to read.
    const GROUPS: bool;

    /// Its rows `first..first + HEIGHT` and columns `columns.0..columns.1`, as a function of row and column from there.
    fn tile<const HEIGHT: usize>(
        self,
        first: usize,
        columns: (usize, usize),
    ) -> impl Fn(usize, usize) -> f32 + Copy;

    /// The same rows from the first column on, in groups, where columns follow each other in memory.
    fn groups<'m, const HEIGHT: usize>(self, first: usize, groups: usize) -> [&'m [[f32; GROUP]]; HEIGHT]
    where
        Self: 'm;
}

/// A factor whose rows are the columns of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Rows<'m, 'a>(pub &'m Matrix<'a>);

/// A matrix as it is.
#[derive(Clone, Copy)]
pub(super) struct Columns<'m, 'a>(pub &'m Matrix<'a>);

impl Left for Rows<'_, '_> {
    const GROUPS: bool = true;

    #[inline(always)]
    fn tile<const HEIGHT: usize>(
        self,
        first: usize,
        (from, to): (usize, usize),
    ) -> impl Fn(usize, usize) -> f32 + Copy {
        let mut rows = Blank::<HEIGHT>::ROWS;
        each!(i < HEIGHT, rows[i] = &column(self.0, first + i)[from..to]);
        move |r, k| rows[r][k]
    }

    #[inline(always)]
    fn groups<'m, const HEIGHT: usize>(self, first: usize, groups: usize) -> [&'m [[f32; GROUP]]; HEIGHT]
    where
        Self: 'm,
    {
        let mut rows = Blank::<HEIGHT>::GROUPS;
        each!(i < HEIGHT, rows[i] = &column(self.0, first + i).as_chunks().0[..groups]);
        rows
    }
}

impl Left for Columns<'_, '_> {
    const GROUPS: bool = false;

    #[inline(always)]
    fn tile<const HEIGHT: usize>(
        self,
        first: usize,
        (from, _): (usize, usize),
    ) -> impl Fn(usize, usize) -> f32 + Copy {
        move |r, k| {
            let column: &[f32; HEIGHT] =
                column(self.0, from + k)[first..].first_chunk().expect("so many rows");
            column[r]
        }
    }

    #[inline(always)]
    fn groups<'m, const HEIGHT: usize>(self, _: usize, _: usize) -> [&'m [[f32; GROUP]]; HEIGHT]
    where
        Self: 'm,
    {
        Blank::<HEIGHT>::GROUPS
    }
}

/// `acc + a · b`.
#[inline(always)]
pub(super) fn add(acc: &mut Part, a: f32, b: &Part) {
    each!(l < PART, acc[l] += a * b[l]);
}

/// `acc − a · b`.
#[inline(always)]
pub(super) fn subtract(acc: &mut Part, a: f32, b: &Part) {
    each!(l < PART, acc[l] -= a * b[l]);
}

/// Takes the `step` with `a(first + r, k)` and `b[k][part]`, for one `k` after the other; a function of the tile and the
/// part.
///
/// What does not depend on the part is done once.
#[inline(always)]
pub(super) fn accumulator<'b, const HEIGHT: usize, const PER_ROW: usize, A: Left + 'b>(
    step: impl Fn(&mut Part, f32, &Part),
    a: A,
    first: usize,
    b: &'b [[Part; PER_ROW]],
) -> impl Fn([Part; HEIGHT], usize) -> [Part; HEIGHT] {
    // Single rows are few: for them, shorter code is better.
    let grouped = GROUP > 1 && HEIGHT == ROWS && A::GROUPS;
    let groups = if grouped { b.as_chunks::<GROUP>().0 } else { &[] };
    let rest = groups.len() * GROUP;
    let rows = a.groups::<HEIGHT>(first, groups.len());
    let last = a.tile::<HEIGHT>(first, (rest, b.len()));
    let b = &b[rest..];
    move |mut acc, part| {
        // Side by side, so that the compiler sees without looking that they are of one length.
        if let ([r0, r1, r2, r3], [acc0, acc1, acc2, acc3]) = (&rows[..], &mut acc[..]) {
            for ((((b, r0), r1), r2), r3) in groups.iter().zip(*r0).zip(*r1).zip(*r2).zip(*r3) {
                each!(k < GROUP, {
                    step(acc0, r0[k], &b[k][part]);
                    step(acc1, r1[k], &b[k][part]);
                    step(acc2, r2[k], &b[k][part]);
                    step(acc3, r3[k], &b[k][part]);
                });
            }
        }
        for k in 0..b.len() {
            each!(i < HEIGHT, step(&mut acc[i], last(i, k), &b[k][part]));
        }
        acc
    }
}

/// Calls `$tile::<HEIGHT>(…, first)` for all rows: in tiles of `HEIGHT = $height`, then one by one.
///
/// The height is a parameter for the sake of the tests alone: they compare the bits of several.
macro_rules! in_tiles {
    ($height:expr, $rows:expr, $tile:ident($($argument:expr),*)) => {{
        let (rows, mut first): (usize, usize) = ($rows, 0);
        while first + $height <= rows {
            $tile::<{ $height }>($($argument,)* first);
            first += $height;
        }
        while first < rows {
            $tile::<1>($($argument,)* first);
            first += 1;
        }
    }};
}

/// How many parts hold so many columns.
#[inline(always)]
pub(super) fn parts_of(lanes: usize) -> usize {
    if PARTS == 1 { 1 } else { lanes.div_ceil(PART).min(PARTS) }
}

/// A panel with its columns in parts.
#[inline(always)]
pub(super) fn parts(panel: &[Lane]) -> &[[Part; PARTS]] {
    panel.as_flattened().as_chunks().0.as_chunks().0
}

#[inline(always)]
pub(super) fn parts_mut(panel: &mut [Lane]) -> &mut [[Part; PARTS]] {
    panel.as_flattened_mut().as_chunks_mut().0.as_chunks_mut().0
}

/// `HEIGHT` rows of one part of the columns, copied to registers.
#[inline(always)]
pub(super) fn load<const HEIGHT: usize, const PER_ROW: usize>(
    rows: &[[Part; PER_ROW]],
    part: usize,
) -> [Part; HEIGHT] {
    let rows: &[[Part; PER_ROW]; HEIGHT] = rows.first_chunk().expect("so many rows");
    let mut tile = Blank::<HEIGHT>::TILE;
    each!(i < HEIGHT, tile[i] = rows[i][part]);
    tile
}

/// And back.
#[inline(always)]
pub(super) fn store<const HEIGHT: usize, const PER_ROW: usize>(
    tile: [Part; HEIGHT],
    rows: &mut [[Part; PER_ROW]],
    part: usize,
) {
    let rows: &mut [[Part; PER_ROW]; HEIGHT] = rows.first_chunk_mut().expect("so many rows");
    each!(i < HEIGHT, rows[i][part] = tile[i]);
}

pub(super) use in_tiles;
