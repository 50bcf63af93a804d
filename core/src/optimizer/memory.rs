//! All arrays of an optimizer, in one value that can be a `static`.

use super::Optimizer;
use super::candidates::Candidates;
use crate::data::Data;
use crate::error::Error;
use crate::gp;
use crate::kernel::MAX_FIDELITIES;
use crate::prior::MAX_PARTICLES;
use crate::settings::{MAX_CARRIED, MAX_SAMPLES, Settings};
use crate::space::{MAX_DIMENSIONS, Problem};
use crate::svgd::Pairs;

/// All memory of an optimizer: zeros at first, so that a `static` lies in `.bss`.
///
/// Capacities, in this order: `D` dimensions, `M` fidelities, `N` observations, `V` particles, `F` features
/// ([`Map::features`](crate::features::Map::features)), `P` parameters
/// ([`Model::parameters`](crate::kernel::Model::parameters)), `A` auxiliary rows of parameters (`V` to keep the last
/// task's particles here rather than outside, plus [`Step::rows`](crate::svgd::Step::rows)), `Q` candidates, at least
/// `N`.
///
/// Larger capacities than needed change no bit of what an optimizer does, but for `N`: free slots are a budget.
pub struct Memory<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> {
    pub(super) data: Data<D, N>,
    pub(super) gp: gp::Memory<N, F>,
    pub(super) particles: [[f32; P]; V],
    pub(super) gradients: [[f32; P]; V],
    /// The last task's particles, if `A ≥ V`; then the moments of the steps.
    pub(super) rows: [[f32; P]; A],
    pub(super) pairs: Pairs,
    pub(super) candidates: Candidates<D, M, Q>,
    pub(super) maxima: [[f32; MAX_SAMPLES]; V],
    pub(super) design: [[f32; D]; N],
    pub(super) design_fidelity: [u8; N],
    pub(super) carried: [[f32; D]; MAX_CARRIED],
    /// Values remembered of the carried points, in units of the observations.
    pub(super) remembered: [f32; MAX_CARRIED],
}

impl<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> Memory<D, M, N, V, F, P, A, Q>
{
    /// All zeros.
    pub const fn new() -> Self {
        const {
            assert!(
                D <= MAX_DIMENSIONS && M <= MAX_FIDELITIES && V <= MAX_PARTICLES && N < 1 << 16,
                "beyond the library's limits"
            );
            assert!(M > 0 && V > 0 && P > 0, "capacities must not be zero");
            assert!(Q >= N, "all observations must fit among the candidates: Q >= N");
        };
        Memory {
            data: Data::new(),
            gp: gp::Memory::new(),
            particles: [[0.0; P]; V],
            gradients: [[0.0; P]; V],
            rows: [[0.0; P]; A],
            pairs: [[0.0; MAX_PARTICLES]; MAX_PARTICLES],
            candidates: Candidates::new(),
            maxima: [[0.0; MAX_SAMPLES]; V],
            design: [[0.0; D]; N],
            design_fidelity: [0; N],
            carried: [[0.0; D]; MAX_CARRIED],
            remembered: [0.0; MAX_CARRIED],
        }
    }

    /// What takes how many bytes; the rest of the memory's size is padding.
    pub const fn sizes() -> [(&'static str, usize); 7] {
        let row = size_of::<[f32; P]>();
        let small = size_of::<Pairs>() + size_of::<[[f32; MAX_SAMPLES]; V]>();
        let points = size_of::<[[f32; D]; N]>() + N + size_of::<[[f32; D]; MAX_CARRIED]>() + 4 * MAX_CARRIED;
        [
            ("observations", size_of::<Data<D, N>>()),
            ("Gaussian process", size_of::<gp::Memory<N, F>>()),
            ("particles", V * row),
            ("gradients", V * row),
            ("auxiliary rows", A * row),
            ("candidates", size_of::<Candidates<D, M, Q>>()),
            ("batch design, carried points, tables", small + points),
        ]
    }

    /// Starts the first task: [`Optimizer::new`], without spelling the capacities again.
    ///
    /// # Errors
    /// As [`Optimizer::new`].
    pub fn start<'a>(
        &'a mut self,
        problem: Problem<'a>,
        settings: Settings,
        seed: u64,
    ) -> Result<Optimizer<'a, D, M, N, V, F, P, A, Q>, Error> {
        Optimizer::new(self, problem, settings, seed)
    }
}

impl<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> Default for Memory<D, M, N, V, F, P, A, Q>
{
    fn default() -> Self {
        Self::new()
    }
}
