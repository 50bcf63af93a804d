//! The multi-fidelity kernel, Eq. (12), (15), (16), and the layout of `θ`.
//!
//! `k((x,m),(x',m')) = s · exp(−‖ψ(x) − ψ(x')‖²) · κ(m, m')`, `κ(m, m') = exp(−γ (m − m')²)`.
//!
//! `θ` = parameters of the [`Map`], then `ln s` (not in the deep map, where it is the offset, 0 in the paper), then `ln γ`, then
//! the linear map's shears.
//! Positive quantities are `exp(θᵢ + offset)`, so that the prior of `θ` can be centred at zero.

use crate::features::Map;
use crate::math;
use crate::space::{Dimension, MAX_DIMENSIONS};

/// Most fidelities that a problem may have.
pub const MAX_FIDELITIES: usize = 8;

/// Offsets of the positive parameters: their logarithms at `θ = 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Offsets {
    /// `ln ℓ`.
    pub length: f32,
    /// `ln s`.
    pub signal: f32,
    /// `ln γ`.
    pub gamma: f32,
}

/// Shape of the model: which numbers `θ` holds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Model {
    /// The feature map.
    pub map: Map,
    /// Dimensions of the input.
    pub dimensions: usize,
    /// How many features each dimension has in the ARD map: 1, but of categories of more than two values as many.
    pub widths: [u8; MAX_DIMENSIONS],
    /// Their sum.
    pub width: usize,
    /// Offsets of the positive parameters.
    pub offsets: Offsets,
}

/// What the parameters behind the map come to: `s`, `γ` and `κ`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyper {
    /// Signal variance `s`.
    pub signal: f32,
    /// Fidelity decay `γ`.
    pub gamma: f32,
    /// `exp(−γ g²)` of gaps `g` between fidelities.
    pub by_gap: [f32; MAX_FIDELITIES],
    /// How many fidelities there are.
    pub levels: usize,
    /// The last fidelity of its own; what lies beyond is like it.
    pub last: usize,
}

impl Hyper {
    /// Makes everything beyond the fidelity `truth` like it: the place of values remembered from earlier tasks.
    pub(crate) fn end_at(&mut self, truth: usize) {
        (self.last, self.levels) = (truth, truth + 2);
    }

    /// `κ(m, m')`.
    #[inline(always)]
    pub fn kappa(&self, m: usize, other: usize) -> f32 {
        self.by_gap[m.min(self.last).abs_diff(other.min(self.last))]
    }
}

/// `∂/∂ ln k` summed over pairs of observations, by their fidelities; see [`Model::finish_gradient`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PairSums(pub [[f32; MAX_FIDELITIES]; MAX_FIDELITIES]);

impl Model {
    /// Of so many dimensions, none of them a category.
    pub const fn plain(map: Map, dimensions: usize, offsets: Offsets) -> Model {
        Model { map, dimensions, widths: [1; MAX_DIMENSIONS], width: dimensions, offsets }
    }

    /// Gives each of these dimensions its features.
    // On a device, a copy of this would be unrolled.
    #[inline(never)]
    pub fn widen(&mut self, dimensions: &[Dimension<'_>]) {
        self.width = 0;
        for (width, dimension) in self.widths.iter_mut().zip(dimensions) {
            *width = dimension.features();
            self.width += usize::from(*width);
        }
    }

    /// Length of `θ`: `P` of the memory's type.
    pub const fn parameters(&self) -> usize {
        self.map.parameters(self.dimensions) + self.own_signal() as usize + 1
    }

    /// Number of features: `F` of the memory's type.
    pub const fn features(&self) -> usize {
        self.map.features(self.width)
    }

    /// The widths of its dimensions.
    pub fn widths(&self) -> &[u8] {
        &self.widths[..self.dimensions.min(MAX_DIMENSIONS)]
    }

    const fn own_signal(&self) -> bool {
        !self.map.is_deep()
    }

    /// Whether particles of so many parameters mean the same here: of the ARD map, or of a linear one, whose shears come last.
    pub(crate) fn takes(&self, parameters: usize) -> bool {
        let [ard, linear] = [Map::Ard, Map::Linear].map(|map| Model { map, ..*self }.parameters());
        parameters == self.parameters() || self.own_signal() && (parameters == ard || parameters == linear)
    }

    /// Index of `ln γ`.
    pub const fn gamma(&self) -> usize {
        if self.own_signal() { self.dimensions + 1 } else { self.parameters() - 1 }
    }

    /// Index of `ln s`, if there is one.
    pub const fn signal(&self) -> Option<usize> {
        if self.own_signal() { Some(self.dimensions) } else { None }
    }

    /// The kernel's parameters behind the map.
    #[cfg(any(test, feature = "internals"))]
    pub fn hyper(&self, theta: &[f32]) -> Hyper {
        self.hyper_of(theta, MAX_FIDELITIES)
    }

    /// The same for so many fidelities.
    pub(crate) fn hyper_of(&self, theta: &[f32], fidelities: usize) -> Hyper {
        let signal = math::exp(self.signal().map_or(0.0, |i| theta[i]) + self.offsets.signal);
        let gamma = math::exp(theta[self.gamma()] + self.offsets.gamma);
        let mut by_gap = [1.0; MAX_FIDELITIES];
        for (gap, kappa) in by_gap.iter_mut().enumerate().take(fidelities).skip(1) {
            *kappa = math::exp(-gamma * squared_gap(gap, 0));
        }
        Hyper { signal, gamma, by_gap, levels: fidelities, last: MAX_FIDELITIES - 1 }
    }

    /// Turns sums over pairs of `∂/∂ ln k` into `∂/∂ ln s` and `∂/∂ ln γ`.
    pub fn finish_gradient(&self, hyper: &Hyper, sums: &PairSums, gradient: &mut [f32]) {
        let (mut signal, mut gamma) = (0.0, 0.0);
        for (m, row) in sums.0.iter().enumerate() {
            for (n, sum) in row.iter().enumerate() {
                signal += sum;
                gamma -= sum * squared_gap(m.min(hyper.last), n.min(hyper.last)) * hyper.gamma;
            }
        }
        gradient[self.gamma()] += gamma;
        if let Some(i) = self.signal() {
            gradient[i] += signal;
        }
    }
}

fn squared_gap(m: usize, n: usize) -> f32 {
    let gap = m.abs_diff(n);
    (gap * gap) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSETS: Offsets = Offsets { length: 0.0, signal: 0.0, gamma: -2.3 };

    #[test]
    fn theta_has_the_sizes_of_the_design() {
        let deep = Model::plain(Map::Deep { width: 64 }, 6, OFFSETS);
        assert_eq!((deep.parameters(), deep.features(), deep.signal()), (8769, 64, None));
        let ard = Model::plain(Map::Ard, 4, OFFSETS);
        assert_eq!((ard.parameters(), ard.features(), ard.signal(), ard.gamma()), (6, 4, Some(4), 5));
        let linear = Model::plain(Map::Linear, 4, OFFSETS);
        assert_eq!((linear.parameters(), linear.signal(), linear.gamma()), (12, Some(4), 5));
        assert!(
            [6, 12].iter().all(|&p| ard.takes(p) && linear.takes(p)) && !linear.takes(8) && !deep.takes(6)
        );
    }

    #[test]
    fn fidelities_correlate_less_with_their_distance() {
        let ard = Model::plain(Map::Ard, 1, OFFSETS);
        let hyper = ard.hyper(&[0.0, 0.5, 0.0]);
        assert!((hyper.signal - 1.6487213).abs() < 1e-6);
        assert!((hyper.kappa(0, 2) - (-0.4 * 1.00258).exp_approx()).abs() < 1e-3);
        assert_eq!(hyper.kappa(3, 3), 1.0);
        // Beyond the last of its own, all are alike; and fewer fidelities have the same bits.
        let mut few = ard.hyper_of(&[0.0, 0.5, 0.0], 3);
        few.end_at(2);
        assert_eq!((few.levels, few.kappa(3, 2), few.kappa(3, 0)), (4, 1.0, hyper.kappa(2, 0)));
    }

    trait Approx {
        fn exp_approx(self) -> f32;
    }
    impl Approx for f32 {
        fn exp_approx(self) -> f32 {
            math::exp(self)
        }
    }
}
