//! The inner loops: register tiles, and a Cholesky factor that grows.
//!
//! Everything heavy in this library is one line, in `step`: a row of numbers in registers, plus a number times another
//! row. A *tile* of a few such rows is kept in registers while a sum runs, and each number loaded serves a whole row or
//! column of it. Each output is summed in ascending order of the inner index, whatever the tile's shape, so the shape may
//! differ between machines and the bits do not: 8 rows of 8 (an AVX register each) on the host; on Cortex-M 4 rows of 4,
//! which with both factors fit its 32 registers. Product and sum are rounded separately (no fused multiply-add; a
//! Cortex-M's `VMLA` rounds twice, in one instruction).
//!
//! The loops are written such that the compiler sees that no index can be out of bounds: what is read is cut to the
//! length of the loop before it starts. A check in the loop would cost a third of it.
//!
//! Matrices are row-major slices with a stride. A *panel* is a tall matrix of 8 columns, `[[f32; 8]]`.
//!
//! Cost in multiply-adds: `solve_lower`, `solve_upper` `4 t²` (8 columns), `factor_block` `4 t²` for 8 rows, so a
//! whole factor costs `t³/4`.

#![allow(clippy::needless_range_loop, reason = "one index runs through several slices of the same length")]

use crate::error::Error;
use crate::math;

/// Columns of a panel.
pub const LANES: usize = 8;

/// One row of a panel.
pub type Lane = [f32; LANES];

const CORTEX_M: bool = cfg!(target_arch = "arm");

/// Columns of a register tile.
const PART: usize = if CORTEX_M { 4 } else { LANES };
/// Tiles beside each other in a panel.
const PARTS: usize = LANES / PART;
/// Rows of a register tile.
const ROWS: usize = if CORTEX_M { 4 } else { 8 };
/// Steps of the inner loop that are written out one after the other: on Cortex-M, counting is a quarter of a short loop.
const GROUP: usize = if CORTEX_M { 2 } else { 1 };
/// Rows of a tile where two are kept in registers.
const ROWS_OF_TWO: usize = ROWS / 2;

/// One row of a register tile.
type Part = [f32; PART];

/// Width of the matrices for which the loops are made on Cortex-M; others are slow there. It is that of the paper's map.
const WIDTH: usize = 64;

/// Below this, a solution counts as zero. Nothing that can be seen is that small, but the products of such numbers are
/// subnormal, which a desktop processor computes up to a hundred times more slowly: they made a step of learning with
/// the paper's prior, under which far points are all but unrelated, ten times slower.
const SMALLEST: f32 = 1e-18;

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

/// `$body` for `$i` from 0 to `$count`, at most 8: a loop where it becomes vector operations; written out on Cortex-M, where
/// a compiler that is told to save space would keep the loop, and with it the tile in memory.
macro_rules! each {
    ($i:ident < $count:ident, $body:expr) => {
        if CORTEX_M {
            each!(@ $i $count $body; 0 1 2 3 4 5 6 7)
        } else {
            for $i in 0..$count {
                $body
            }
        }
    };
    (written out: $i:ident < $count:ident, $body:expr) => {
        each!(@ $i $count $body; 0 1 2 3 4 5 6 7)
    };
    (@ $i:ident $count:ident $body:expr; $($number:literal)*) => {
        {
            $(if $number < $count {
                let $i = $number;
                $body
            })*
        }
    };
}

/// The left factor of a product.
trait Left: Copy {
    /// Whether columns follow each other in memory, so that groups of them are quicker to read.
    const GROUPS: bool;

    /// Its rows `first..first + R` and columns `columns.0..columns.1`, as a function of row and column from there.
    fn tile<const R: usize>(self, first: usize, columns: (usize, usize)) -> impl Fn(usize, usize) -> f32;

    /// The same from the first column on, in groups: as a function of row, group and place in the group.
    fn groups<const R: usize>(self, first: usize, groups: usize) -> impl Fn(usize, usize, usize) -> f32;
}

impl Left for Rows<'_> {
    const GROUPS: bool = true;

    #[inline(always)]
    fn tile<const R: usize>(self, first: usize, (from, to): (usize, usize)) -> impl Fn(usize, usize) -> f32 {
        let mut rows = [&[][..]; R];
        if from < to {
            each!(i < R, rows[i] = &self.data[(first + i) * self.stride + from..][..to - from]);
        }
        move |r, k| rows[r][k]
    }

    #[inline(always)]
    fn groups<const R: usize>(self, first: usize, groups: usize) -> impl Fn(usize, usize, usize) -> f32 {
        let mut rows = [&[][..]; R];
        if groups > 0 {
            each!(i < R, rows[i] = &self.data[(first + i) * self.stride..].as_chunks::<GROUP>().0[..groups]);
        }
        move |r, group, k| rows[r][group][k]
    }
}

impl Left for Columns<'_> {
    const GROUPS: bool = false;

    #[inline(always)]
    fn tile<const R: usize>(self, first: usize, (from, _): (usize, usize)) -> impl Fn(usize, usize) -> f32 {
        move |r, k| {
            let column: &[f32; R] =
                self.data[(from + k) * self.stride + first..].first_chunk().expect("so many rows");
            column[r]
        }
    }

    #[inline(always)]
    fn groups<const R: usize>(self, first: usize, _: usize) -> impl Fn(usize, usize, usize) -> f32 {
        let tile = self.tile::<R>(first, (0, 0));
        move |r, group, k| tile(r, group * GROUP + k)
    }
}

/// `acc ± a · b`.
#[inline(always)]
fn step<const SUBTRACT: bool>(acc: &mut Part, a: f32, b: &Part) {
    each!(l < PART, acc[l] = if SUBTRACT { acc[l] - a * b[l] } else { acc[l] + a * b[l] });
}

/// Adds, or subtracts, `Σₖ a(first + r, k) · b[k][part]`, term by term; a function of the tile and the part.
///
/// What does not depend on the part is done once.
#[inline(always)]
fn accumulator<'b, const R: usize, const W: usize, const SUBTRACT: bool, A: Left + 'b>(
    a: A,
    first: usize,
    b: &'b [[Part; W]],
) -> impl Fn([Part; R], usize) -> [Part; R] {
    // Single rows are few: for them, shorter code is better.
    let grouped = GROUP > 1 && R > 1 && A::GROUPS;
    let groups = if grouped { b.as_chunks::<GROUP>().0 } else { &[] };
    let rest = groups.len() * GROUP;
    let left = a.groups::<R>(first, groups.len());
    let last = a.tile::<R>(first, (rest, b.len()));
    let b = &b[rest..];
    move |mut acc, part| {
        for group in 0..groups.len() {
            each!(k < GROUP, {
                let b = &groups[group][k][part];
                each!(i < R, step::<SUBTRACT>(&mut acc[i], left(i, group, k), b));
            });
        }
        for k in 0..b.len() {
            each!(i < R, step::<SUBTRACT>(&mut acc[i], last(i, k), &b[k][part]));
        }
        acc
    }
}

/// Calls `$tile::<R>(…, first)` for all rows: in tiles of `R = $height`, then one by one.
///
/// The height is a parameter for the sake of the tests alone: they compare the bits of several.
macro_rules! in_tiles {
    ($height:expr, $rows:expr, $tile:ident($($argument:expr),*)) => {{
        let (rows, mut first): (usize, usize) = ($rows, 0);
        while first + $height <= rows {
            $tile::<{ $height }, _>($($argument,)* first);
            first += $height;
        }
        while first < rows {
            $tile::<1, _>($($argument,)* first);
            first += 1;
        }
    }};
}

/// A panel with its columns in parts.
#[inline(always)]
fn parts(panel: &[Lane]) -> &[[Part; PARTS]] {
    panel.as_flattened().as_chunks().0.as_chunks().0
}

#[inline(always)]
fn parts_mut(panel: &mut [Lane]) -> &mut [[Part; PARTS]] {
    panel.as_flattened_mut().as_chunks_mut().0.as_chunks_mut().0
}

/// `R` rows of one part of the columns, copied to registers.
#[inline(always)]
fn load<const R: usize, const W: usize>(rows: &[[Part; W]], part: usize) -> [Part; R] {
    let rows: &[[Part; W]; R] = rows.first_chunk().expect("so many rows");
    let mut tile = [[0.0; PART]; R];
    each!(i < R, tile[i] = rows[i][part]);
    tile
}

/// And back.
#[inline(always)]
fn store<const R: usize, const W: usize>(tile: [Part; R], rows: &mut [[Part; W]], part: usize) {
    let rows: &mut [[Part; W]; R] = rows.first_chunk_mut().expect("so many rows");
    each!(i < R, rows[i][part] = tile[i]);
}

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
fn affine_tile<const R: usize, A: Left>(c: &mut [Wide], a: A, b: &[Wide], bias: &Wide, first: usize) {
    let add = accumulator::<R, _, false, _>(a, first, b);
    for part in 0..WIDTH / PART {
        store(add([bias[part]; R], part), &mut c[first..], part);
    }
}

/// Rows from `first` of [`multiply_add`]: the few columns are copied to where they need no looking for.
#[inline(always)]
fn multiply_add_tile<const R: usize, A: Left>(c: &mut [Wide], a: A, b: &[Wide], first: usize) {
    let b = &b[..b.len().min(LANES)];
    let left = a.tile::<R>(first, (0, b.len()));
    let mut few = [[0.0; R]; LANES];
    for (k, few) in few[..b.len()].iter_mut().enumerate() {
        each!(i < R, few[i] = left(i, k));
    }
    for part in 0..WIDTH / PART {
        let mut acc = load::<R, _>(&c[first..], part);
        for k in 0..b.len() {
            each!(i < R, step::<false>(&mut acc[i], few[k][i], &b[k][part]));
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
fn multiply_add_any_tile<'b, const R: usize, A: Left>(
    c: &mut [f32],
    stride: usize,
    a: A,
    inner: usize,
    b: impl Fn(usize) -> &'b Part,
    first: usize,
) {
    let mut acc = [[0.0; PART]; R];
    each!(i < R, acc[i] = *c[(first + i) * stride..].first_chunk().expect("as wide as said"));
    let a = a.tile::<R>(first, (0, inner));
    for k in 0..inner {
        let b = b(k);
        each!(i < R, step::<false>(&mut acc[i], a(i, k), b));
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
fn product_tile<const R: usize, A: Left>(c: &mut [Lane], a: A, b: &[Lane], first: usize) {
    let add = accumulator::<R, _, false, _>(a, first, parts(b));
    for part in 0..PARTS {
        store(add([[0.0; PART]; R], part), &mut parts_mut(c)[first..], part);
    }
}

/// The rows of a tile among themselves, once what is solved already has been subtracted: `DOWN` or upwards.
///
/// Apart on the host, where the compiler would otherwise mix it into the loop before, for the worse. By one over the
/// diagonal, which needs not wait for the row above as a division would.
#[cfg_attr(target_arch = "arm", inline(always))]
#[cfg_attr(not(target_arch = "arm"), inline(never))]
fn solve_corner<const R: usize, const DOWN: bool>(
    mut tile: [Part; R],
    corner: impl Fn(usize, usize) -> f32,
) -> [Part; R] {
    let mut inverse = [0.0; R];
    each!(written out: i < R, inverse[i] = 1.0 / corner(i, i));
    each!(written out: j < R, {
        let j = if DOWN { j } else { R - 1 - j };
        scale(&mut tile[j], inverse[j]);
        let solved = tile[j];
        each!(written out: i < R, if (i > j) == DOWN && i != j { step::<true>(&mut tile[i], corner(i, j), &solved) });
    });
    tile
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
    if x.abs() < SMALLEST { 0.0 } else { x }
}

/// Solves `L X = B` in place for 8 right-hand sides; `panel.len()` rows of `l` are used.
///
/// Row by row downwards, each sum in ascending order of the column. What is below 10⁻¹⁸ becomes 0.
pub fn solve_lower(l: &[f32], stride: usize, panel: &mut [Lane]) {
    in_tiles!(ROWS, panel.len(), solve_lower_tile(Rows { data: l, stride }, panel));
}

/// Rows from `first` of [`solve_lower`], those above being solved.
#[inline(always)]
fn solve_lower_tile<const R: usize, A: Left>(l: A, panel: &mut [Lane], first: usize) {
    let (done, rest) = parts_mut(panel).split_at_mut(first);
    let subtract = accumulator::<R, _, true, _>(l, first, done);
    let corner = l.tile::<R>(first, (first, first + R));
    for part in 0..PARTS {
        let tile = subtract(load::<R, _>(rest, part), part);
        store(solve_corner::<R, true>(tile, &corner), rest, part);
    }
}

/// Solves `Lᵀ X = B` in place for 8 right-hand sides.
///
/// Row by row upwards, each sum in descending order of the row of `L`. What is below 10⁻¹⁸ becomes 0.
pub fn solve_upper(l: &[f32], stride: usize, panel: &mut [Lane]) {
    in_tiles!(ROWS, panel.len(), solve_upper_tile(Columns { data: l, stride }, panel));
}

/// `R` rows of [`solve_upper`] above the last `from_end`, which are solved.
#[inline(always)]
fn solve_upper_tile<const R: usize, A: Left>(l: A, panel: &mut [Lane], from_end: usize) {
    let end = panel.len() - from_end;
    let first = end - R;
    let (head, done) = parts_mut(panel).split_at_mut(end);
    let rest = &mut head[first..];
    let below = l.tile::<R>(first, (end, end + done.len()));
    let corner = l.tile::<R>(first, (first, end));
    for part in 0..PARTS {
        let mut tile = load::<R, _>(rest, part);
        for k in (0..done.len()).rev() {
            each!(i < R, step::<true>(&mut tile[i], below(i, k), &done[k][part]));
        }
        store(solve_corner::<R, false>(tile, &corner), rest, part);
    }
}

/// Solves `L x = b` in place for one right-hand side.
pub fn solve_lower_one(l: &[f32], stride: usize, x: &mut [f32]) {
    for i in 0..x.len() {
        let mut sum = x[i];
        for j in 0..i {
            sum -= l[i * stride + j] * x[j];
        }
        x[i] = sum / l[i * stride + i];
    }
}

/// Solves `Lᵀ x = b` in place for one right-hand side.
pub fn solve_upper_one(l: &[f32], stride: usize, x: &mut [f32]) {
    for i in (0..x.len()).rev() {
        x[i] /= l[i * stride + i];
        let solved = x[i];
        for j in 0..i {
            x[j] -= l[i * stride + j] * solved;
        }
    }
}

/// Appends rows `first..first + rows` (at most 8) to a Cholesky factor.
///
/// `panel[j][lane]` holds `K̃(j, first + lane)` for `j < first + rows`, noise on the diagonal included; it is
/// overwritten. The rows of the factor are written to the lower triangle of `l`. `first` is a multiple of 8, so that
/// a factor grown row by row (each time redoing its last block) has the same bits as one built at once.
///
/// A pivot below `floor` is raised to it, which amounts to a noisier observation; the number of such pivots is
/// returned. Deviation from plain Cholesky: stated here, counted, never silent.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] if a pivot is not finite; `l` is then unchanged.
pub fn factor_block(
    l: &mut [f32],
    stride: usize,
    first: usize,
    rows: usize,
    panel: &mut [Lane],
    floor: f32,
) -> Result<u32, Error> {
    let (above, block) = panel.split_at_mut(first);
    solve_lower(l, stride, above);
    let mut products = [[0.0; LANES]; LANES];
    product_transposed(&mut products, Columns { data: above.as_flattened(), stride: LANES }, above);
    let mut raised = 0;
    let mut factor = [[0.0f32; LANES]; LANES];
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
        let row = &mut l[(first + i) * stride..][..first + i + 1];
        for (value, above) in row.iter_mut().zip(above.iter()) {
            *value = above[i];
        }
        row[first..].copy_from_slice(&factor[i][..=i]);
    }
    Ok(raised)
}

/// `out[j][l] = Σ_f (a(j, f) − b[f][l])²`: squared distances of rows to 8 points.
pub fn squared_distances(out: &mut [Lane], a: Rows<'_>, b: &[Lane]) {
    in_tiles!(ROWS, out.len(), squared_distances_tile(out, a, b));
}

#[inline(always)]
fn squared_distances_tile<const R: usize, A: Left>(out: &mut [Lane], a: A, b: &[Lane], first: usize) {
    let (a, b) = (a.tile::<R>(first, (0, b.len())), parts(b));
    for part in 0..PARTS {
        let mut acc = [[0.0; PART]; R];
        for f in 0..b.len() {
            let b = &b[f][part];
            each!(i < R, {
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
pub fn weighted_differences(out: &mut [Lane], weights: &[Lane], own: &[Lane], a: Columns<'_>) {
    in_tiles!(ROWS_OF_TWO, out.len(), weighted_differences_tile(out, weights, own, a));
}

#[inline(always)]
fn weighted_differences_tile<const R: usize, A: Left>(
    out: &mut [Lane],
    weights: &[Lane],
    own: &[Lane],
    a: A,
    first: usize,
) {
    let (a, weights) = (a.tile::<R>(first, (0, weights.len())), parts(weights));
    for part in 0..PARTS {
        let own = load::<R, _>(&parts(own)[first..], part);
        let mut acc = [[0.0; PART]; R];
        for j in 0..weights.len() {
            let weight = &weights[j][part];
            each!(i < R, {
                let a = a(i, j);
                each!(l < PART, acc[i][l] += weight[l] * (own[i][l] - a));
            });
        }
        store(acc, &mut parts_mut(out)[first..], part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    /// `A Aᵀ / n + I`, row-major.
    fn positive_definite(n: usize, values: &[f32]) -> Vec<f32> {
        let mut k = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let dot: f32 = (0..n).map(|c| values[i * n + c] * values[j * n + c]).sum();
                k[i * n + j] = dot / n as f32 + if i == j { 1.0 } else { 0.0 };
            }
        }
        k
    }

    fn factor(k: &[f32], n: usize, upto: impl Iterator<Item = usize>) -> Vec<f32> {
        let mut l = vec![0.0; n * n];
        for t in upto {
            let first = (t - 1) / LANES * LANES;
            let mut panel = vec![[0.0; LANES]; first + LANES];
            for (j, lanes) in panel.iter_mut().enumerate().take(t) {
                for lane in 0..t - first {
                    lanes[lane] = k[j * n + first + lane];
                }
            }
            assert_eq!(factor_block(&mut l, n, first, t - first, &mut panel, 1e-6), Ok(0));
        }
        l
    }

    /// All that works in tiles, in tiles of `T` rows: `n × n` numbers and as many columns as a panel has.
    fn all_in_tiles_of<const T: usize>(n: usize, values: &[f32]) -> Vec<Lane> {
        let l = factor(&positive_definite(n, values), n, (LANES..n).step_by(LANES).chain([n]));
        let (panel, _) = values[..n * LANES].as_chunks::<LANES>();
        let (data, stride) = (values, n);
        let (rows, columns) = (Rows { data, stride }, Columns { data, stride });
        let mut results = [(); 7].map(|()| panel.to_vec());
        let [lower, upper, sum, product, transposed, distances, differences] = &mut results;
        in_tiles!(T, n, solve_lower_tile(Rows { data: &l, stride }, lower));
        in_tiles!(T, n, solve_upper_tile(Columns { data: &l, stride }, upper));
        let right = parts(panel);
        in_tiles!(T, n, multiply_add_any_tile(sum.as_flattened_mut(), LANES, columns, n, |k| &right[k][0]));
        in_tiles!(T, n, product_tile(product, rows, panel));
        in_tiles!(T, n, product_tile(transposed, columns, panel));
        in_tiles!(T, n, squared_distances_tile(distances, rows, panel));
        in_tiles!(T, n, weighted_differences_tile(differences, panel, panel, columns));
        results.concat()
    }

    proptest! {
        #[test]
        fn the_height_of_the_tiles_changes_no_bit(
            n in 1usize..40, values in prop::collection::vec(-1.0f32..1.0, 2000)
        ) {
            let bits = |results: Vec<Lane>| results.as_flattened().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let one = bits(all_in_tiles_of::<1>(n, &values));
            prop_assert_eq!(&one, &bits(all_in_tiles_of::<2>(n, &values)));
            prop_assert_eq!(&one, &bits(all_in_tiles_of::<3>(n, &values)));
            prop_assert_eq!(&one, &bits(all_in_tiles_of::<4>(n, &values)));
            prop_assert_eq!(&one, &bits(all_in_tiles_of::<8>(n, &values)));
        }

        #[test]
        fn factor_grown_row_by_row_has_the_bits_of_one_built_in_blocks(
            n in 1usize..40, values in prop::collection::vec(-1.0f32..1.0, 1600)
        ) {
            let k = positive_definite(n, &values);
            let grown = factor(&k, n, 1..=n);
            let built = factor(&k, n, (LANES..n).step_by(LANES).chain([n]));
            prop_assert_eq!(&grown, &built);
            for i in 0..n {
                for j in 0..=i {
                    let product: f32 = (0..=j).map(|c| grown[i * n + c] * grown[j * n + c]).sum();
                    prop_assert!((product - k[i * n + j]).abs() < 1e-5);
                }
            }
        }

        #[test]
        fn solves_undo_products(n in 1usize..40, values in prop::collection::vec(-1.0f32..1.0, 1600)) {
            let k = positive_definite(n, &values);
            let l = factor(&k, n, (LANES..n).step_by(LANES).chain([n]));
            let mut panel: Vec<Lane> = (0..n).map(|i| core::array::from_fn(|c| values[i * LANES + c])).collect();
            let wanted = panel.clone();
            solve_lower(&l, n, &mut panel);
            let mut one: Vec<f32> = wanted.iter().map(|row| row[3]).collect();
            solve_lower_one(&l, n, &mut one);
            for (panel, one) in panel.iter().zip(&one) {
                prop_assert!((panel[3] - one).abs() < 1e-5);
            }
            solve_upper(&l, n, &mut panel);
            solve_upper_one(&l, n, &mut one);
            for i in 0..n {
                prop_assert!((panel[i][3] - one[i]).abs() < 1e-5);
                for c in 0..LANES {
                    let product: f32 = (0..n).map(|j| k[i * n + j] * panel[j][c]).sum();
                    prop_assert!((product - wanted[i][c]).abs() < 1e-4);
                }
            }
        }

        #[test]
        fn products_agree_with_plain_sums_for_all_shapes(
            rows in 0usize..20, inner in 0usize..20,
            (width, b_stride) in prop_oneof![(0usize..20, prop::sample::select(vec![20, 24])), (Just(WIDTH), Just(WIDTH))],
            values in prop::collection::vec(-1.0f32..1.0, 400 + 20 * WIDTH)
        ) {
            let (a, b) = values.split_at(400);
            let c_stride = width.max(1);
            let mut c = vec![0.5; rows * c_stride];
            let mut transposed = c.clone();
            let shape = (rows, inner, width);
            let bias = vec![0.5; width];
            affine(&mut c, c_stride, shape, Rows { data: a, stride: 20 }, b, b_stride, &bias);
            multiply_add(&mut transposed, c_stride, shape, Columns { data: a, stride: 20 }, b, b_stride);
            for r in 0..rows {
                for j in 0..width {
                    let plain = |a: &dyn Fn(usize) -> f32| {
                        (0..inner).fold(0.5, |sum, k| sum + a(k) * b[k * b_stride + j])
                    };
                    prop_assert_eq!(c[r * c_stride + j], plain(&|k| a[r * 20 + k]));
                    prop_assert_eq!(transposed[r * c_stride + j], plain(&|k| a[r + k * 20]));
                }
            }
        }
    }

    #[test]
    fn counts_raised_pivots_and_refuses_nan_unchanged() {
        let mut l = [0.0; 4];
        let mut panel = [[0.0; LANES]; LANES];
        panel[0][..2].copy_from_slice(&[1.0, 1.0]);
        panel[1][..2].copy_from_slice(&[1.0, 1.0]);
        assert_eq!(factor_block(&mut l, 2, 0, 2, &mut panel, 1e-4), Ok(1));
        assert_eq!(l, [1.0, 0.0, 1.0, 0.01]);
        panel[1][1] = f32::NAN;
        assert_eq!(
            factor_block(&mut l, 2, 0, 2, &mut panel, 1e-4),
            Err(Error::NotPositiveDefinite { row: 1 })
        );
        assert_eq!(l, [1.0, 0.0, 1.0, 0.01]);
    }
}
