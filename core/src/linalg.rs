//! The inner loops: tiles of 8 columns, and a Cholesky factor that grows.
//!
//! Everything heavy in this library is one loop, `add_product`: a tile of rows times 8 columns, kept in registers,
//! updated by one row of the right factor at a time. Each output is summed in ascending order of the inner index,
//! whatever the tile's height, so the height may differ between machines and the bits do not. The 8 columns are one
//! AVX register or eight single-precision registers of a Cortex-M. Product and sum are rounded separately (no fused
//! multiply-add).
//!
//! Matrices are row-major slices with a stride. A *panel* is a tall matrix of 8 columns, `[[f32; 8]]`.
//!
//! Cost in multiply-adds: `solve_lower`, `solve_upper` `4 t²` (8 columns), `factor_block` `4 t²` for 8 rows, so a
//! whole factor costs `t³/4`.

use crate::error::Error;
use crate::math;

/// Columns of a panel.
pub const LANES: usize = 8;

/// One row of a panel.
pub type Lane = [f32; LANES];

/// Rows of a register tile: 8 vector registers on the host; on Cortex-M two rows of 8 scalars leave room for the factors.
const ROWS: usize = if cfg!(target_arch = "arm") { 2 } else { 8 };

/// `acc[r] += a(r, k) · b[k]` for every `(k, b[k])` that comes, in that order.
#[inline(always)]
fn add_product<'b, const R: usize>(
    acc: &mut [Lane; R],
    a: View<'_>,
    b: impl Iterator<Item = (usize, &'b Lane)>,
) {
    for (k, b) in b {
        for (r, acc) in acc.iter_mut().enumerate() {
            let a = a.data[r * a.row + k * a.column];
            for l in 0..LANES {
                acc[l] += a * b[l];
            }
        }
    }
}

/// The same with `-=`: the sums below must run on from the right-hand side, term by term, to keep one order.
#[inline(always)]
fn subtract_product<'b, const R: usize>(
    acc: &mut [Lane; R],
    a: View<'_>,
    b: impl Iterator<Item = (usize, &'b Lane)>,
) {
    for (k, b) in b {
        for (r, acc) in acc.iter_mut().enumerate() {
            let a = a.data[r * a.row + k * a.column];
            for l in 0..LANES {
                acc[l] -= a * b[l];
            }
        }
    }
}

/// Calls `$tile::<R>(…, first)` for all rows: in tiles of `R = $height`, then one by one.
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

/// The 8 columns from `column` of a row-major matrix, row by row.
#[inline(always)]
fn columns(
    matrix: &[f32],
    stride: usize,
    column: usize,
    rows: usize,
) -> impl Iterator<Item = (usize, &Lane)> {
    matrix.chunks(stride.max(1)).take(rows).map(move |row| lane(&row[column..])).enumerate()
}

#[inline(always)]
fn lane(slice: &[f32]) -> &Lane {
    slice.first_chunk().expect("eight columns are there")
}

/// A matrix seen with its two strides: element `(r, k)` is `data[r · row + k · column]`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The elements.
    pub data: &'a [f32],
    /// Distance between rows.
    pub row: usize,
    /// Distance between columns.
    pub column: usize,
}

impl<'a> View<'a> {
    #[inline(always)]
    fn rows_from(self, first: usize) -> Self {
        View { data: self.data.get(first * self.row..).unwrap_or(&[]), ..self }
    }
}

/// `c[r][j] += Σₖ a(r, k) · b[k][j]` for `rows × width`, `b` and `c` row-major with their strides.
pub fn multiply_add(
    c: &mut [f32],
    c_stride: usize,
    (rows, inner, width): (usize, usize, usize),
    a: View<'_>,
    b: &[f32],
    b_stride: usize,
) {
    let whole = width - width % LANES;
    for column in (0..whole).step_by(LANES) {
        let b = || columns(b, b_stride, column, inner);
        in_tiles!(ROWS, rows, multiply_add_tile(&mut c[column..], c_stride, a, b()));
    }
    for r in 0..rows {
        for j in whole..width {
            for k in 0..inner {
                c[r * c_stride + j] += a.data[r * a.row + k * a.column] * b[k * b_stride + j];
            }
        }
    }
}

/// Rows from `first` of the first 8 columns of [`multiply_add`].
#[inline(always)]
fn multiply_add_tile<'b, const R: usize>(
    c: &mut [f32],
    stride: usize,
    a: View<'_>,
    b: impl Iterator<Item = (usize, &'b Lane)>,
    first: usize,
) {
    let mut acc: [Lane; R] = core::array::from_fn(|r| *lane(&c[(first + r) * stride..]));
    add_product(&mut acc, a.rows_from(first), b);
    for (r, acc) in acc.iter().enumerate() {
        c[(first + r) * stride..][..LANES].copy_from_slice(acc);
    }
}

/// Panel form of [`multiply_add`]: `c[r] += Σₖ a(r, k) · b[k]`.
pub fn multiply_add_panel(c: &mut [Lane], a: View<'_>, b: &[Lane]) {
    in_tiles!(ROWS, c.len(), multiply_add_panel_tile(c, a, b));
}

#[inline(always)]
fn multiply_add_panel_tile<const R: usize>(c: &mut [Lane], a: View<'_>, b: &[Lane], first: usize) {
    multiply_add_tile::<R>(c.as_flattened_mut(), LANES, a, b.iter().enumerate(), first);
}

#[inline(always)]
fn divide(row: &mut Lane, by: f32) {
    for value in row {
        *value /= by;
    }
}

#[inline(always)]
fn subtract_scaled(row: &mut Lane, factor: f32, other: &Lane) {
    for l in 0..LANES {
        row[l] -= factor * other[l];
    }
}

/// Solves `L X = B` in place for 8 right-hand sides; `panel.len()` rows of `l` are used.
///
/// Row by row downwards, each sum in ascending order of the column.
pub fn solve_lower(l: &[f32], stride: usize, panel: &mut [Lane]) {
    in_tiles!(ROWS, panel.len(), solve_lower_tile(l, stride, panel));
}

/// Rows from `first` of [`solve_lower`], those above being solved.
#[inline(always)]
fn solve_lower_tile<const R: usize>(l: &[f32], stride: usize, panel: &mut [Lane], first: usize) {
    let (done, rest) = panel.split_at_mut(first);
    let rows = View { data: &l[first * stride..], row: stride, column: 1 };
    let mut tile: [Lane; R] = core::array::from_fn(|r| rest[r]);
    subtract_product(&mut tile, rows, done.iter().enumerate());
    for i in 0..R {
        for j in 0..i {
            let solved = tile[j];
            subtract_scaled(&mut tile[i], rows.data[i * stride + first + j], &solved);
        }
        divide(&mut tile[i], rows.data[i * stride + first + i]);
    }
    rest[..R].copy_from_slice(&tile);
}

/// Solves `Lᵀ X = B` in place for 8 right-hand sides.
///
/// Row by row upwards, each sum in descending order of the row of `L`.
pub fn solve_upper(l: &[f32], stride: usize, panel: &mut [Lane]) {
    in_tiles!(ROWS, panel.len(), solve_upper_tile(l, stride, panel));
}

/// `R` rows of [`solve_upper`] above the last `from_end`, which are solved.
#[inline(always)]
fn solve_upper_tile<const R: usize>(l: &[f32], stride: usize, panel: &mut [Lane], from_end: usize) {
    let end = panel.len() - from_end;
    let first = end - R;
    let (head, done) = panel.split_at_mut(end);
    let rest = &mut head[first..];
    let mut tile: [Lane; R] = core::array::from_fn(|r| rest[r]);
    let below = View { data: l.get(end * stride + first..).unwrap_or(&[]), row: 1, column: stride };
    subtract_product(&mut tile, below, done.iter().enumerate().rev());
    for i in (0..R).rev() {
        for j in (i + 1..R).rev() {
            let solved = tile[j];
            subtract_scaled(&mut tile[i], l[(first + j) * stride + first + i], &solved);
        }
        divide(&mut tile[i], l[(first + i) * stride + first + i]);
    }
    rest.copy_from_slice(&tile);
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
    let flat = above.as_flattened();
    multiply_add_panel(&mut products, View { data: flat, row: 1, column: LANES }, above);
    let mut raised = 0;
    let mut factor = [[0.0f32; LANES]; LANES];
    for i in 0..rows {
        for j in 0..=i {
            let mut sum = block[j][i] - products[j][i];
            for (a, b) in factor[i][..j].iter().zip(&factor[j]) {
                sum -= a * b;
            }
            if i != j {
                factor[i][j] = sum / factor[j][j];
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
pub fn squared_distances(out: &mut [Lane], a: View<'_>, b: &[Lane]) {
    in_tiles!(ROWS, out.len(), squared_distances_tile(out, a, b));
}

#[inline(always)]
fn squared_distances_tile<const R: usize>(out: &mut [Lane], a: View<'_>, b: &[Lane], first: usize) {
    let rows = a.rows_from(first);
    let mut acc = [[0.0; LANES]; R];
    for (f, b) in b.iter().enumerate() {
        for (r, acc) in acc.iter_mut().enumerate() {
            let a = rows.data[r * rows.row + f * rows.column];
            for l in 0..LANES {
                let gap = a - b[l];
                acc[l] += gap * gap;
            }
        }
    }
    out[first..first + R].copy_from_slice(&acc);
}

/// `out[f][l] = Σ_j weights[j][l] · (own[f][l] − a(f, j))`: what pulls 8 points towards the others.
pub fn weighted_differences(out: &mut [Lane], weights: &[Lane], own: &[Lane], a: View<'_>) {
    in_tiles!(ROWS, out.len(), weighted_differences_tile(out, weights, own, a));
}

#[inline(always)]
fn weighted_differences_tile<const R: usize>(
    out: &mut [Lane],
    weights: &[Lane],
    own: &[Lane],
    a: View<'_>,
    first: usize,
) {
    let rows = a.rows_from(first);
    let own: &[Lane; R] = own[first..].first_chunk().expect("as long as out");
    let mut acc = [[0.0; LANES]; R];
    for (j, weight) in weights.iter().enumerate() {
        for (r, acc) in acc.iter_mut().enumerate() {
            let a = rows.data[r * rows.row + j * rows.column];
            for l in 0..LANES {
                acc[l] += weight[l] * (own[r][l] - a);
            }
        }
    }
    out[first..first + R].copy_from_slice(&acc);
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
        let matrix = View { data: &values[n * LANES..], row: 1, column: n };
        let mut results = [(); 6].map(|()| panel.to_vec());
        let [lower, upper, product, in_panel, distances, differences] = &mut results;
        in_tiles!(T, n, solve_lower_tile(&l, n, lower));
        in_tiles!(T, n, solve_upper_tile(&l, n, upper));
        let rows = || columns(values, n.max(LANES), 0, n);
        in_tiles!(T, n, multiply_add_tile(product.as_flattened_mut(), LANES, matrix, rows()));
        in_tiles!(T, n, multiply_add_panel_tile(in_panel, matrix, panel));
        in_tiles!(T, n, squared_distances_tile(distances, matrix, panel));
        in_tiles!(T, n, weighted_differences_tile(differences, panel, panel, matrix));
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
            rows in 0usize..20, inner in 0usize..20, width in 0usize..20,
            values in prop::collection::vec(-1.0f32..1.0, 800)
        ) {
            let (a, b) = values.split_at(400);
            let mut c = vec![0.5; rows * width];
            let view = View { data: a, row: 1, column: 20 };
            multiply_add(&mut c, width, (rows, inner, width), view, b, 20);
            for r in 0..rows {
                for j in 0..width {
                    let mut sum = 0.5;
                    for k in 0..inner {
                        sum += a[r + k * 20] * b[k * 20 + j];
                    }
                    prop_assert_eq!(c[r * width + j], sum);
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
