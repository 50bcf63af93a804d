//! Feature maps `ψ_θ(x)` of Eq. (12): the paper's deep map, ARD, and a linear one; forward and backward.
//!
//! - **deep**: three layers of `H` tanh units, `a ← tanh(Wᵀa + b)`. `θ` holds, layer by layer, `W` (inputs × outputs,
//!   row-major) and `b`.
//! - **ARD**: `ψ_j(x) = x_j / (√2 ℓ_j)`, `ℓ_j = exp(θ_j + offset)`, which makes Eq. (12) the usual squared
//!   exponential kernel with a lengthscale per dimension. A category of `n > 2` values has `n` features: `1/(2ℓ_j)` for its value,
//!   0 for the others, so that any two values are as far apart as the ends of an interval.
//! - **linear**: the same after a shear, `x_j + Σ_{i>j} n_ji x_i` in place of `x_j`, which makes every squared exponential kernel: one
//!   whose ridges need not lie along an axis. `θ` holds the `n_ji` row by row behind `ln ℓ_j`, `ln s` and `ln γ`, so that what ARD
//!   learns is its beginning. Categories are not sheared.
//!
//! Points come in blocks of at most 8, each a column of a matrix. Cost per point in multiply-adds: deep `DH + 2H²` forward, twice that
//! backward; ARD `D`, linear `D²/2`.

use core::f32::consts::FRAC_1_SQRT_2;

use crate::linalg::{LANES, Lane, Matrix, MatrixMut, affine, column, multiply_add, product};
use crate::math;
use crate::space::MAX_DIMENSIONS;

/// Layers of the deep map.
pub const LAYERS: usize = 3;

/// Which features the kernel sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Map {
    /// One lengthscale per dimension.
    Ard,
    /// One lengthscale per dimension after a shear: for ridges that do not lie along an axis.
    Linear,
    /// Three tanh layers, as in the paper.
    Deep {
        /// Units per layer.
        width: usize,
    },
}

impl Map {
    /// Whether it is the paper's.
    pub const fn is_deep(self) -> bool {
        matches!(self, Map::Deep { .. })
    }

    /// Number of features, if the ARD map has so many.
    pub const fn features(self, of_ard: usize) -> usize {
        match self {
            Map::Ard | Map::Linear => of_ard,
            Map::Deep { width } => width,
        }
    }

    /// Number of parameters.
    pub const fn parameters(self, d: usize) -> usize {
        match self {
            Map::Ard => d,
            Map::Linear => d * (d + 1) / 2,
            Map::Deep { width } => (d + 1) * width + (LAYERS - 1) * (width + 1) * width,
        }
    }
}

/// Where the linear map's shears lie in `θ`.
pub(crate) const fn shears_at(d: usize) -> usize {
    d + 2
}

/// Where one layer's parameters lie in `θ`.
#[derive(Clone, Copy)]
struct Layer {
    inputs: usize,
    weights: usize,
    biases: usize,
}

fn layer(index: usize, d: usize, width: usize) -> Layer {
    let inputs = if index == 0 { d } else { width };
    let weights = if index == 0 { 0 } else { (d + 1) * width + (index - 1) * (width + 1) * width };
    Layer { inputs, weights, biases: weights + inputs * width }
}

type BackwardPass = fn(Map, &[u8], f32, &[f32], &mut [f32], Backward<'_>);

/// The code behind the maps. A program whose memory has no room for a deep map's parameters can leave out the code for
/// it, which is kilobytes of flash.
#[derive(Clone, Copy)]
pub(crate) struct Maps {
    /// Whether there is no code for a deep map.
    pub no_deep: bool,
    /// As [`forward`].
    pub forward: fn(Map, &[u8], f32, &[f32], Forward<'_>),
    /// As [`backward`].
    pub backward: BackwardPass,
}

impl Maps {
    /// For every map.
    pub const ALL: Maps = Maps { no_deep: false, forward, backward };
    /// For all but [`Map::Deep`].
    pub const NO_DEEP: Maps = Maps {
        no_deep: true,
        forward: |_, widths, offset, theta, block| forward_linear(widths, offset, theta, block),
        backward: |_, widths, offset, theta, gradient, block| {
            backward_linear(widths, offset, theta, gradient, block);
        },
    };
}

/// What the forward pass reads and writes for one block of points: matrices with a column for each point.
pub struct Forward<'a> {
    /// The points.
    pub points: Matrix<'a>,
    /// Takes the deep map's hidden layers.
    pub hidden: [MatrixMut<'a>; LAYERS - 1],
    /// Takes `ψ`.
    pub features: MatrixMut<'a>,
}

/// `ψ` of a block of points, whose dimensions have so many features each in the ARD map.
pub fn forward(map: Map, widths: &[u8], offset: f32, theta: &[f32], block: Forward<'_>) {
    match map {
        Map::Ard | Map::Linear => forward_linear(widths, offset, theta, block),
        Map::Deep { width } => forward_deep(widths.len(), width, theta, block),
    }
}

/// `1 / (√2 ℓ)` of every dimension.
#[inline(never)]
fn scales_of(widths: &[u8], offset: f32, theta: &[f32]) -> [f32; MAX_DIMENSIONS] {
    let mut scales = [0.0; MAX_DIMENSIONS];
    for ((scale, theta), _) in scales.iter_mut().zip(theta).zip(widths) {
        *scale = inverse_scale(theta + offset);
    }
    scales
}

/// With a shear or, where `θ` has none, without.
fn forward_linear(widths: &[u8], offset: f32, theta: &[f32], block: Forward<'_>) {
    let Forward { points, mut features, .. } = block;
    let shears = theta.get(shears_at(widths.len())..).unwrap_or_default();
    let scales = scales_of(widths, offset, theta);
    for (features, point) in features.column_iter_mut().zip(points.column_iter()) {
        let (features, point) = (features.data.into_slice_mut(), point.data.into_slice());
        let (mut first, mut shears) = (0, shears.iter());
        if features.len() > widths.len() {
            features.fill(0.0);
        }
        for (j, ((x, scale), &width)) in point.iter().zip(&scales).zip(widths).enumerate() {
            let mut sheared = *x;
            if !shears.as_slice().is_empty() {
                for ((x, &other), shear) in point.iter().zip(widths).skip(j + 1).zip(&mut shears) {
                    sheared += if other == 1 { shear * x } else { 0.0 };
                }
            }
            let (at, x) = match width {
                1 => (0, sheared),
                _ => ((x * f32::from(width - 1) + 0.5) as usize, FRAC_1_SQRT_2),
            };
            if let Some(feature) = features.get_mut(first + at) {
                *feature = x * scale;
            }
            first += usize::from(width);
        }
    }
}

fn forward_deep(d: usize, width: usize, theta: &[f32], block: Forward<'_>) {
    let Forward { points, hidden: [mut first, mut second], mut features } = block;
    forward_layer(layer(0, d, width), width, theta, &points, &mut first);
    forward_layer(layer(1, d, width), width, theta, &first.as_view(), &mut second);
    forward_layer(layer(2, d, width), width, theta, &second.as_view(), &mut features);
}

/// `1 / (√2 ℓ)` for `ln ℓ`.
fn inverse_scale(log_length: f32) -> f32 {
    math::exp(-log_length) * FRAC_1_SQRT_2
}

fn forward_layer(layer: Layer, width: usize, theta: &[f32], input: &Matrix<'_>, output: &mut MatrixMut<'_>) {
    let (weights, biases) = (&theta[layer.weights..layer.biases], &theta[layer.biases..][..width]);
    affine(output, input, weights, biases);
    for column in output.column_iter_mut() {
        math::tanh_slice(column.data.into_slice_mut());
    }
}

/// What the backward pass reads and scribbles on, for one block of points.
pub struct Backward<'a> {
    /// The points, each a column.
    pub points: Matrix<'a>,
    /// The activations that `forward` left, the features last.
    pub activations: [Matrix<'a>; LAYERS],
    /// `∂/∂ψ` as `[feature][point]`; overwritten.
    pub delta: &'a mut [Lane],
    /// As large as `delta`.
    pub other: &'a mut [Lane],
    /// 8 times as many numbers as there are features.
    pub rows: &'a mut [f32],
}

/// Adds `∂/∂θ` to `gradient`, given `∂/∂ψ` of a block of points.
pub fn backward(
    map: Map,
    widths: &[u8],
    offset: f32,
    theta: &[f32],
    gradient: &mut [f32],
    block: Backward<'_>,
) {
    match map {
        Map::Ard | Map::Linear => backward_linear(widths, offset, theta, gradient, block),
        Map::Deep { width } => backward_deep(widths.len(), width, theta, gradient, block),
    }
}

fn backward_linear(widths: &[u8], offset: f32, theta: &[f32], gradient: &mut [f32], block: Backward<'_>) {
    let features = &block.activations[LAYERS - 1];
    let Some((lengths, rest)) = gradient.split_at_mut_checked(widths.len()) else { return };
    let shears = rest.get_mut(shears_at(0)..).unwrap_or_default();
    let scales = if shears.is_empty() { [0.0; _] } else { scales_of(widths, offset, theta) };
    for p in 0..features.ncols() {
        let (mut each, mut shears) = (block.delta.iter().zip(column(features, p)), shears.iter_mut());
        for (j, ((gradient, &width), scale)) in lengths.iter_mut().zip(widths).zip(&scales).enumerate() {
            let mut slope = 0.0;
            for (_, (delta, feature)) in (0..width).zip(&mut each) {
                *gradient -= delta[p] * feature;
                slope = if width == 1 { delta[p] * scale } else { 0.0 };
            }
            if shears.len() > 0 {
                let others = column(&block.points, p).iter().zip(widths).skip(j + 1);
                for ((x, &other), shear) in others.zip(&mut shears) {
                    *shear += if other == 1 { slope * x } else { 0.0 };
                }
            }
        }
    }
}

fn backward_deep(d: usize, width: usize, theta: &[f32], gradient: &mut [f32], block: Backward<'_>) {
    let Backward { points, activations, mut delta, mut other, rows } = block;
    let count = points.ncols();
    for index in (0..LAYERS).rev() {
        let layer = layer(index, d, width);
        through_tanh(delta, &activations[index], rows);
        let input = if index == 0 { &points } else { &activations[index - 1] };
        let (weights, biases) =
            gradient[layer.weights..layer.biases + width].split_at_mut(layer.inputs * width);
        multiply_add(weights, width, input, &rows[..count * width]);
        for row in rows.chunks(width).take(count) {
            for (bias, delta) in biases.iter_mut().zip(row) {
                *bias += delta;
            }
        }
        if index > 0 {
            let weights = Matrix::from_slice(&theta[layer.weights..layer.biases], width, layer.inputs);
            product(&mut other[..layer.inputs], &weights, &delta[..width]);
            core::mem::swap(&mut delta, &mut other);
        }
    }
}

/// `δ ← δ (1 − a²)`, and the same transposed into `rows`; nothing for points that are not there.
fn through_tanh(delta: &mut [Lane], output: &Matrix<'_>, rows: &mut [f32]) {
    let (width, count) = output.shape();
    let delta = &mut delta[..width];
    for (p, row) in rows.chunks_exact_mut(width).take(LANES).enumerate() {
        if p >= count {
            row.fill(0.0);
            delta.iter_mut().for_each(|delta| delta[p] = 0.0);
            continue;
        }
        for ((row, a), delta) in row.iter_mut().zip(column(output, p)).zip(&mut *delta) {
            delta[p] *= 1.0 - a * a;
            *row = delta[p];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Dimension, MAX_VALUES};

    #[test]
    fn the_papers_map_has_8768_parameters_in_six_dimensions() {
        assert_eq!(Map::Deep { width: 64 }.parameters(6), 8768);
        assert_eq!((Map::Ard.parameters(6), Map::Linear.parameters(6)), (6, 21));
        assert_eq!(layer(2, 6, 64).biases + 64, 8768);
    }

    #[test]
    fn backward_agrees_with_central_differences() {
        const WIDTH: usize = 5;
        const PLAIN: [u8; 3] = [1; 3];
        for (map, widths) in [
            (Map::Deep { width: WIDTH }, PLAIN),
            (Map::Ard, PLAIN),
            (Map::Ard, [1, 3, 1]),
            (Map::Linear, PLAIN),
            (Map::Linear, [1, 3, 1]),
        ] {
            let d = 3;
            let p = map.parameters(d) + if map == Map::Linear { 2 } else { 0 };
            let theta: [f32; 128] = core::array::from_fn(|i| ((i * 37 % 101) as f32 / 101.0 - 0.5) * 1.2);
            let x: [f32; 6] = [0.1, 0.9, 0.4, 0.7, 0.3, 0.2];
            let points = Matrix::from_slice(&x, 3, 2);
            let weight = |point: usize, f: usize| ((point * 7 + f * 3) % 5) as f32 - 1.5;
            let features = map.features(widths.iter().sum::<u8>().into());
            let value = |theta: &[f32]| {
                let mut activations = [[0.0; 2 * WIDTH]; LAYERS];
                let [a, b, c] = activations.each_mut().map(|a| MatrixMut::from_slice(a, features, 2));
                forward(map, &widths, 0.1, theta, Forward { points, hidden: [a, b], features: c });
                let [.., psi] = activations;
                let sum: f32 = (0..2)
                    .map(|p| (0..features).map(|f| weight(p, f) * psi[p * features + f]).sum::<f32>())
                    .sum();
                (sum, activations)
            };
            let (_, activations) = value(&theta);
            let mut delta = [[0.0; LANES]; WIDTH];
            for (f, lanes) in delta.iter_mut().enumerate().take(features) {
                lanes[..2].copy_from_slice(&[weight(0, f), weight(1, f)]);
            }
            let mut gradient = [0.0; 128];
            let block = Backward {
                points,
                activations: activations.each_ref().map(|a| Matrix::from_slice(a, features, 2)),
                delta: &mut delta,
                other: &mut [[0.0; LANES]; WIDTH],
                rows: &mut [0.0; LANES * WIDTH],
            };
            backward(map, &widths, 0.1, &theta, &mut gradient, block);
            for i in 0..p {
                let mut moved = theta;
                moved[i] += 0.01;
                let up = value(&moved).0;
                moved[i] -= 0.02;
                let slope = (up - value(&moved).0) / 0.02;
                assert!((slope - gradient[i]).abs() < 2e-3, "{map:?} {i}: {slope} {}", gradient[i]);
            }
        }
    }

    #[test]
    fn any_two_values_of_a_category_are_as_far_apart_as_the_ends_of_an_interval() {
        for count in 2..=MAX_VALUES as u8 {
            let category = Dimension::Category { count };
            let (width, values) = (category.features(), usize::from(count));
            let x: [f32; MAX_VALUES] = core::array::from_fn(|i| category.unit_of_level(i));
            let features = usize::from(width);
            let mut psi = [0.0; MAX_VALUES * MAX_VALUES];
            let matrix = MatrixMut::from_slice(&mut psi, features, values);
            let [a, b] = [&mut [], &mut []].map(|none| MatrixMut::from_slice(none, 0, 0));
            let points = Matrix::from_slice(&x, 1, values);
            forward(Map::Ard, &[width], -0.4, &[0.3], Forward { points, hidden: [a, b], features: matrix });
            let of = |value: usize| &psi[value * features..][..features];
            let ends = inverse_scale(0.3 - 0.4) * inverse_scale(0.3 - 0.4);
            for (i, j) in (0..values).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let between: f32 = of(i).iter().zip(of(j)).map(|(a, b)| (a - b) * (a - b)).sum();
                assert!((between - ends).abs() < 1e-6 * ends, "{count}: {i}, {j}: {between} {ends}");
            }
        }
    }
}
