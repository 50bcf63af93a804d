//! Bits that no shape of tile may change, and sums that must agree with plain ones.

use super::pairs::{squared_distances_tile, weighted_differences_tile};
use super::products::{WIDTH, multiply_add_any_tile, product_tile};
use super::tiles::{Columns, Rows, in_tiles};
use super::triangular::{solve_lower_one_tile, solve_lower_tile, solve_upper_tile};
use super::*;
use crate::error::Error;
use crate::kernels::PART;
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
    let mut matrix = MatrixMut::from_slice(&mut l, n, n);
    for t in upto {
        let first = (t - 1) / LANES * LANES;
        let mut panel = vec![[0.0; LANES]; first + LANES];
        for (j, lanes) in panel.iter_mut().enumerate().take(t) {
            for lane in 0..t - first {
                lanes[lane] = k[j * n + first + lane];
            }
        }
        assert_eq!(factor_block(&mut matrix, first, t - first, &mut panel, 1e-6), Ok(0));
    }
    l
}

/// All that works in tiles, in tiles of `HEIGHT` rows: `n × n` numbers and as many columns as a panel has.
fn all_in_tiles_of<const HEIGHT: usize>(n: usize, values: &[f32]) -> Vec<Lane> {
    let l = factor(&positive_definite(n, values), n, (LANES..n).step_by(LANES).chain([n]));
    let (panel, _) = values[..n * LANES].as_chunks::<LANES>();
    let (l, a) = (Matrix::from_slice(&l, n, n), Matrix::from_slice(values, n, n));
    let right = Matrix::from_slice(panel.as_flattened(), LANES, n);
    let mut results = [(); 7].map(|()| panel.to_vec());
    let [lower, upper, sum, product, transposed, distances, differences] = &mut results;
    in_tiles!(HEIGHT, n, solve_lower_tile(Rows(&l), lower, LANES));
    in_tiles!(HEIGHT, n, solve_upper_tile(&l, upper));
    let mut sum = MatrixMut::from_slice(sum.as_flattened_mut(), LANES, n);
    for row in (0..LANES).step_by(PART) {
        in_tiles!(HEIGHT, n, multiply_add_any_tile(&mut sum, Columns(&a), &right, row));
    }
    in_tiles!(HEIGHT, n, product_tile(product, Rows(&a), panel));
    in_tiles!(HEIGHT, n, product_tile(transposed, Columns(&a), panel));
    in_tiles!(HEIGHT, n, squared_distances_tile(distances, Rows(&a), panel, LANES));
    in_tiles!(HEIGHT, n, weighted_differences_tile(differences, panel, panel, &a));
    let mut one: Vec<f32> = panel.iter().map(|row| row[0]).collect();
    in_tiles!(HEIGHT, n, solve_lower_one_tile(Rows(&l), &mut one));
    results.concat().into_iter().chain(one.into_iter().map(|x| [x; LANES])).collect()
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
        let l = Matrix::from_slice(&l, n, n);
        solve_lower(&l, &mut panel, LANES);
        let mut one: Vec<f32> = wanted.iter().map(|row| row[3]).collect();
        solve_lower_one(&l, &mut one);
        for (panel, one) in panel.iter().zip(&one) {
            prop_assert!((panel[3] - one).abs() < 1e-5);
        }
        solve_upper(&l, &mut panel);
        solve_upper_one(&l, &mut one);
        for i in 0..n {
            prop_assert!((panel[i][3] - one[i]).abs() < 1e-5);
            for c in 0..LANES {
                let product: f32 = (0..n).map(|j| k[i * n + j] * panel[j][c]).sum();
                prop_assert!((product - wanted[i][c]).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn fewer_lanes_have_the_bits_of_all(
        n in 1usize..40, lanes in 1..=LANES, values in prop::collection::vec(-1.0f32..1.0, 1600)
    ) {
        let l = factor(&positive_definite(n, &values), n, (LANES..n).step_by(LANES).chain([n]));
        let (l, a) = (Matrix::from_slice(&l, n, n), Matrix::from_slice(&values, n, n));
        let panel = &values.as_chunks::<LANES>().0[..n];
        let all = |lanes: usize| {
            let (mut solved, mut distances) = (panel.to_vec(), panel.to_vec());
            solve_lower(&l, &mut solved, lanes);
            squared_distances(&mut distances, &a, panel, lanes);
            let sums = Sums::of(&solved, panel, &values, lanes);
            let rows = solved.into_iter().chain(distances).chain([sums.weighted, sums.square, sums.product]);
            rows.flat_map(|row| row.map(f32::to_bits)).collect::<Vec<_>>()
        };
        for (some, all) in all(lanes).chunks(LANES).zip(all(LANES).chunks(LANES)) {
            prop_assert_eq!(&some[..lanes], &all[..lanes]);
        }
    }

    #[test]
    fn sums_down_a_panel_are_those_of_its_columns(
        n in 1usize..40, values in prop::collection::vec(-1.0f32..1.0, 700)
    ) {
        let (v, rest) = values.split_at(40 * LANES);
        let (v, u, w) = (&v.as_chunks::<LANES>().0[..n], rest.as_chunks::<LANES>().0, &values[600..]);
        let sums = Sums::of(v, u, w, LANES);
        for l in 0..LANES {
            let sum = |by: &dyn Fn(usize) -> f32| (0..n).fold(0.0, |sum, i| sum + v[i][l] * by(i));
            prop_assert_eq!(sums.weighted[l], sum(&|i| w[i]));
            prop_assert_eq!(sums.square[l], sum(&|i| v[i][l]));
            prop_assert_eq!(sums.product[l], sum(&|i| u[i][l]));
        }
    }

    #[test]
    fn products_agree_with_plain_sums_for_all_shapes(
        points in 1usize..20, inner in 1usize..20, units in prop_oneof![1usize..20, Just(WIDTH)],
        values in prop::collection::vec(-1.0f32..1.0, 400 + 20 * WIDTH)
    ) {
        let (a, b) = values.split_at(400);
        let (rows, columns) = (Matrix::from_slice(a, inner, points), Matrix::from_slice(a, points, inner));
        let b = &b[..inner * units];
        let mut c = vec![0.0; points * units];
        let mut transposed = vec![0.5; points * units];
        affine(&mut MatrixMut::from_slice(&mut c, units, points), &rows, b, &vec![0.5; units]);
        multiply_add(&mut transposed, units, &columns, b);
        for r in 0..points {
            for j in 0..units {
                let plain = |a: &dyn Fn(usize) -> f32| {
                    (0..inner).fold(0.5, |sum, k| sum + a(k) * b[k * units + j])
                };
                prop_assert_eq!(c[r * units + j], plain(&|k| rows[(k, r)]));
                prop_assert_eq!(transposed[r * units + j], plain(&|k| columns[(r, k)]));
            }
        }
    }
}

#[test]
fn counts_raised_pivots_and_refuses_nan_unchanged() {
    let mut l = [0.0; 4];
    let mut matrix = MatrixMut::from_slice(&mut l, 2, 2);
    let mut panel = [[0.0; LANES]; LANES];
    panel[0][..2].copy_from_slice(&[1.0, 1.0]);
    panel[1][..2].copy_from_slice(&[1.0, 1.0]);
    assert_eq!(factor_block(&mut matrix, 0, 2, &mut panel, 1e-4), Ok(1));
    assert!(matrix.iter().eq(&[1.0, 0.0, 1.0, 0.01]));
    panel[1][1] = f32::NAN;
    let refused = factor_block(&mut matrix, 0, 2, &mut panel, 1e-4);
    assert_eq!(refused, Err(Error::NotPositiveDefinite { row: 1 }));
    assert_eq!(l, [1.0, 0.0, 1.0, 0.01]);
}
