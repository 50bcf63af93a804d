//! All arrays of an optimizer, in one value that can be a `static`, and the views that everything else works on.

use heapless::Vec;
use nalgebra::SMatrix;

use super::Optimizer;
use super::candidates::{Candidates, CandidatesMemory};
use crate::data::{Data, DataMemory};
use crate::error::Error;
use crate::features::{Map, Maps};
use crate::gp::{self, Workspace};
use crate::kernel::{MAX_FIDELITIES, Model};
use crate::linalg::{MatrixMut, part, zeros};
use crate::max_value::MAX_SAMPLES;
use crate::prior::MAX_PARTICLES;
use crate::settings::{MAX_CARRIED, Settings};
use crate::space::{MAX_DIMENSIONS, Problem};
use crate::svgd::{Pairs, Step};

/// All memory of an optimizer: zeros at first, so that a `static` lies in `.bss`. Write its type with
/// [`memory!`](crate::memory).
///
/// Larger capacities than needed change no bit of what an optimizer does, but for the observations: free slots are a
/// budget.
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
    data: DataMemory<D, N>,
    gp: gp::Memory<N, F>,
    particles: SMatrix<f32, P, V>,
    gradients: SMatrix<f32, P, V>,
    /// The last task's particles, if there is room; then the moments of the steps.
    auxiliary: SMatrix<f32, P, A>,
    pairs: Pairs,
    candidates: CandidatesMemory<D, M, Q>,
    maxima: SMatrix<f32, MAX_SAMPLES, V>,
    #[cfg(feature = "paper")]
    design: SMatrix<f32, D, N>,
    #[cfg(feature = "paper")]
    design_fidelity: [u8; N],
    carried: SMatrix<f32, D, MAX_CARRIED>,
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
    /// Most dimensions of a problem.
    pub const DIMENSIONS: usize = D;
    /// Most fidelities of a problem.
    pub const FIDELITIES: usize = M;
    /// The code for those maps whose parameters have room.
    const MAPS: Maps = if P < Maps::LEAST_DEEP { Maps::ARD } else { Maps::ALL };
    /// Columns for the last task's particles.
    const CENTRES: usize = if A >= V { V } else { 0 };

    /// All zeros.
    #[allow(
        clippy::new_without_default,
        reason = "a default would be made on the stack, which it may not fit"
    )]
    pub const fn new() -> Self {
        const {
            assert!(D >= 1 && D <= MAX_DIMENSIONS, "`dimensions` must be 1 to 16");
            assert!(M >= 1 && M <= MAX_FIDELITIES, "`fidelities` must be 1 to 8");
            assert!(N >= 1 && N < 1 << 16, "`observations` must be 1 to 65535");
            assert!(V >= 1 && V <= MAX_PARTICLES, "`particles` must be 1 to 16");
            assert!(Q >= N, "`candidates` must be at least as many as `observations`");
            assert!(P > 0 && F > 0, "`map` has no parameters");
        };
        Memory {
            data: DataMemory::new(),
            gp: gp::Memory::new(),
            particles: zeros(),
            gradients: zeros(),
            auxiliary: zeros(),
            pairs: [[0.0; MAX_PARTICLES]; MAX_PARTICLES],
            candidates: CandidatesMemory::new(),
            maxima: zeros(),
            #[cfg(feature = "paper")]
            design: zeros(),
            #[cfg(feature = "paper")]
            design_fidelity: [0; N],
            carried: zeros(),
        }
    }

    /// What takes how many bytes; the rest of the memory's size is padding.
    pub const fn sizes() -> [(&'static str, usize); 7] {
        let column = size_of::<[f32; P]>();
        let small = size_of::<Pairs>() + size_of::<SMatrix<f32, MAX_SAMPLES, V>>();
        let design = if cfg!(feature = "paper") { size_of::<SMatrix<f32, D, N>>() + N } else { 0 };
        let points = design + size_of::<SMatrix<f32, D, MAX_CARRIED>>();
        [
            ("observations", size_of::<DataMemory<D, N>>()),
            ("Gaussian process", size_of::<gp::Memory<N, F>>()),
            ("particles", V * column),
            ("gradients", V * column),
            ("last task's particles, moments of steps", A * column),
            ("candidates", size_of::<CandidatesMemory<D, M, Q>>()),
            ("carried points, tables, batch design", small + points),
        ]
    }

    /// Starts the first task.
    ///
    /// # Errors
    /// What [`Problem::checked`] and [`Settings::checked`] say, or [`Error::Capacity`] naming what does not fit.
    pub fn start<'a>(
        &'a mut self,
        problem: Problem<'a>,
        settings: Settings,
        seed: u64,
    ) -> Result<Optimizer<'a>, Error> {
        let (problem, settings) = (problem.checked()?, settings.checked()?);
        let model = settings.model(problem.dimensions.len());
        let remembers = settings.remembers();
        for (what, needed, available) in [
            ("dimensions", problem.dimensions.len(), D),
            ("fidelities", problem.fidelities.len(), M),
            ("fidelities", problem.fidelities.len() + usize::from(remembers > 0), MAX_FIDELITIES),
            ("observations", settings.initial.saturating_add(1 + remembers), N),
            ("particles", settings.particles, V),
            ("features", model.features(), F),
            ("parameters", model.parameters(), P),
            ("moments of the steps", settings.details.step.rows(settings.particles), A - Self::CENTRES),
            ("candidates", settings.candidates, Q),
        ] {
            if needed > available {
                return Err(Error::Capacity { what, needed, available });
            }
        }
        Optimizer::new(self.buffers(&problem, &settings, &model), problem, settings, model, seed)
    }

    fn buffers(&mut self, problem: &Problem<'_>, settings: &Settings, model: &Model) -> Buffers<'_> {
        let (d, p, v) = (problem.dimensions.len(), model.parameters(), settings.particles);
        let (centres, moments) = self.auxiliary.as_mut_slice().split_at_mut(P * Self::CENTRES);
        Buffers {
            data: self.data.view(d),
            gp: self.gp.workspace(),
            particles: part(self.particles.as_mut_slice(), P, p, v),
            gradients: part(self.gradients.as_mut_slice(), P, p, v),
            centres: (Self::CENTRES > 0).then(|| part(centres, P, p, v)),
            moments: part(moments, P, p, A - Self::CENTRES),
            pairs: &mut self.pairs,
            candidates: self.candidates.view(d, problem.fidelities.len()),
            maxima: part(self.maxima.as_mut_slice(), MAX_SAMPLES, settings.details.max_values, v),
            #[cfg(feature = "paper")]
            design: part(self.design.as_mut_slice(), D, d, N),
            #[cfg(feature = "paper")]
            design_fidelity: &mut self.design_fidelity,
            carried: Carried {
                points: part(self.carried.as_mut_slice(), D, d, MAX_CARRIED),
                values: Vec::new(),
            },
            maps: Self::MAPS,
        }
    }
}

/// A [`Memory`] of any size, for code that does not know which: `&mut dyn AnyMemory`.
pub trait AnyMemory {
    /// As [`Memory::start`].
    ///
    /// # Errors
    /// As there.
    fn start<'a>(
        &'a mut self,
        problem: Problem<'a>,
        settings: Settings,
        seed: u64,
    ) -> Result<Optimizer<'a>, Error>;
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
> AnyMemory for Memory<D, M, N, V, F, P, A, Q>
{
    fn start<'a>(
        &'a mut self,
        problem: Problem<'a>,
        settings: Settings,
        seed: u64,
    ) -> Result<Optimizer<'a>, Error> {
        Memory::start(self, problem, settings, seed)
    }
}

/// The views of a [`Memory`]: shapes are run-time numbers from here on, cut to what problem and settings need.
pub(super) struct Buffers<'a> {
    pub data: Data<'a>,
    pub gp: Workspace<'a>,
    /// Each a column, as are the next two.
    pub particles: MatrixMut<'a>,
    pub gradients: MatrixMut<'a>,
    /// The last task's particles, unless they lie elsewhere.
    pub centres: Option<MatrixMut<'a>>,
    pub moments: MatrixMut<'a>,
    pub pairs: &'a mut Pairs,
    pub candidates: Candidates<'a>,
    /// Samples of the optimum's value, a column for each particle.
    pub maxima: MatrixMut<'a>,
    #[cfg(feature = "paper")]
    pub design: MatrixMut<'a>,
    #[cfg(feature = "paper")]
    pub design_fidelity: &'a mut [u8],
    pub carried: Carried<'a>,
    pub maps: Maps,
}

/// Points carried from earlier tasks, newest first, with the values remembered of them, in units of the observations.
pub(super) struct Carried<'a> {
    pub points: MatrixMut<'a>,
    pub values: Vec<f32, MAX_CARRIED>,
}

/// How much a [`Memory`] has room for; what [`memory!`](crate::memory) is given, by name.
#[derive(Clone, Copy, Debug)]
pub struct Capacities {
    /// Dimensions of a point, 1 to 16.
    pub dimensions: usize,
    /// Fidelities, 1 to 8.
    pub fidelities: usize,
    /// Observations of a task, values remembered of earlier ones included.
    pub observations: usize,
    /// Particles, 1 to 16.
    pub particles: usize,
    /// The feature map.
    pub map: Map,
    /// Candidates of the search, at least as many as observations.
    pub candidates: usize,
    /// The kind of step with the most moments that there is room for; [`Step::Adam`] unless said.
    pub step: Step,
    /// Whether the last task's particles are kept here: yes unless said. If not, they are read from elsewhere, see
    /// [`Optimizer::advance_with`].
    pub keeps_particles: bool,
}

impl Capacities {
    /// Nothing yet, for [`memory!`](crate::memory) to start from.
    pub const NONE: Capacities = Capacities {
        dimensions: 0,
        fidelities: 0,
        observations: 0,
        particles: 0,
        map: Map::Ard,
        candidates: 0,
        step: Step::Adam { rate: 1.0 },
        keeps_particles: true,
    };

    /// What a problem and settings need, for so many observations.
    pub const fn of(problem: &Problem<'_>, settings: &Settings, observations: usize) -> Capacities {
        let candidates = settings.candidates;
        Capacities {
            dimensions: problem.dimensions.len(),
            fidelities: problem.fidelities.len(),
            observations,
            particles: settings.particles,
            map: settings.map,
            candidates: if candidates > observations { candidates } else { observations },
            step: settings.details.step,
            keeps_particles: true,
        }
    }

    /// Features of a point.
    pub const fn features(&self) -> usize {
        self.map.features(self.dimensions)
    }

    /// Parameters of a particle.
    pub const fn parameters(&self) -> usize {
        Settings { map: self.map, ..Settings::DEFAULT }.model(self.dimensions).parameters()
    }

    /// Columns for the last task's particles and the moments of the steps.
    pub const fn auxiliary(&self) -> usize {
        self.step.rows(self.particles) + if self.keeps_particles { self.particles } else { 0 }
    }
}

/// The type of a [`Memory`](crate::Memory) by the sizes of what it is for.
///
/// ```
/// type Radio = foretune_core::memory!(
///     dimensions: 4, fidelities: 4, observations: 64, particles: 10, map: Ard, candidates: 80
/// );
/// static MEMORY: std::sync::Mutex<Radio> = std::sync::Mutex::new(Radio::new());
/// # drop(MEMORY.lock());
/// ```
///
/// The names are those of [`Capacities`], in any order. Or from a problem and settings that are constants:
///
/// ```
/// # use foretune_core::{Dimension, Fidelity, Goal, Problem, Settings};
/// const PROBLEM: Problem = Problem {
///     dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }],
///     fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
///     budget: 20.0,
///     goal: Goal::Maximise,
///     ..Problem::PLAIN
/// };
/// type Small = foretune_core::memory!(problem: PROBLEM, settings: Settings::DEFAULT, observations: 40);
/// # Box::new(Small::new()).start(PROBLEM, Settings::DEFAULT, 1).unwrap();
/// ```
///
/// What does not fit does not compile, and the message names the field:
///
/// ```compile_fail
/// type Wrong = foretune_core::memory!(
///     dimensions: 40, fidelities: 4, observations: 64, particles: 10, map: Ard, candidates: 80
/// );
/// let memory = Wrong::new(); // `dimensions` must be 1 to 16
/// ```
#[macro_export]
macro_rules! memory {
    (problem: $problem:expr, settings: $settings:expr, observations: $observations:expr $(,)?) => {
        $crate::memory!(@ { $crate::Capacities::of(&$problem, &$settings, $observations) })
    };
    (@ $capacities:block) => {
        $crate::Memory<
            { $capacities.dimensions },
            { $capacities.fidelities },
            { $capacities.observations },
            { $capacities.particles },
            { $capacities.features() },
            { $capacities.parameters() },
            { $capacities.auxiliary() },
            { $capacities.candidates },
        >
    };
    ($($name:ident: $value:expr),* $(,)?) => {
        $crate::memory!(@ {
            #[allow(unused_imports)]
            use $crate::{Map::{Ard, Deep}, Step::{Adam, Langevin, Plain}};
            #[allow(clippy::needless_update)]
            const CAPACITIES: $crate::Capacities =
                $crate::Capacities { $($name: $value,)* ..$crate::Capacities::NONE };
            CAPACITIES
        })
    };
}
