//! An optimizer whose sizes are known only at run time: its arrays come from an [`Arena`].

use heapless::Vec;

use super::Optimizer;
use super::candidates::Candidates;
use super::live::Start;
use super::memory::{Buffers, Capacities, Carried};
use crate::acquisition::ScoreSums;
use crate::data::{Answer, Data};
use crate::error::Error;
use crate::features::{LAYERS, Map, Maps};
use crate::gp::{Posterior, Workspace};
use crate::kernel::MAX_FIDELITIES;
use crate::linalg::{LANES, Lane, MatrixMut, part};
use crate::max_value::{self, MAX_SAMPLES};
use crate::prior::MAX_PARTICLES;
use crate::settings::{MAX_CARRIED, Settings};
use crate::space::Problem;
use crate::svgd::Pairs;

/// Where the arrays of an optimizer come from if their sizes are known only at run time: a piece of memory that is cut up,
/// or the heap.
///
/// ```
/// use foretune_core::{Arena, Error, Optimizer};
/// # use foretune_core::{Dimension, Fidelity, Goal, Problem, Settings};
/// # const PROBLEM: Problem = Problem {
/// #     dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }],
/// #     fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
/// #     budget: 20.0,
/// #     goal: Goal::Maximise,
/// #     ..Problem::PLAIN
/// # };
///
/// /// The heap, never given back: for what lives as long as the program.
/// struct Heap;
///
/// impl Arena<'static> for Heap {
///     fn slice<T: Copy>(&mut self, length: usize, value: T) -> Result<&'static mut [T], Error> {
///         Ok(vec![value; length].leak())
///     }
/// }
///
/// let observations = 40; // from a file, say
/// let tuner = Optimizer::start_in(&mut Heap, PROBLEM, Settings::DEFAULT, observations, 1)?;
/// assert_eq!(tuner.status().room, 40);
/// # Ok::<(), Error>(())
/// ```
pub trait Arena<'a> {
    /// Whether the deep map can be chosen: its code is some kilobytes.
    const DEEP: bool = true;

    /// So many copies of a value.
    ///
    /// # Errors
    /// [`Error::Capacity`] if there is no room.
    fn slice<T: Copy + 'a>(&mut self, length: usize, value: T) -> Result<&'a mut [T], Error>;
}

impl Capacities {
    /// What a problem and settings need for so many observations, if they can be had: [`of`](Self::of), with all that
    /// [`Optimizer::start_in`] could refuse.
    ///
    /// # Errors
    /// As [`Optimizer::start_in`].
    pub fn checked(
        problem: &Problem<'_>,
        settings: &Settings,
        observations: usize,
    ) -> Result<Capacities, Error> {
        let (problem, settings) = (problem.checked()?, settings.checked()?);
        let remembers = settings.remembers();
        for (what, needed, available) in [
            ("fidelities", problem.fidelities.len() + usize::from(remembers > 0), MAX_FIDELITIES),
            ("observations", settings.initial.saturating_add(1 + remembers), observations),
            ("observations", observations, usize::from(u16::MAX)),
        ] {
            if needed > available {
                return Err(Error::Capacity { what, needed, available });
            }
        }
        Start::new(&problem, settings.details.method)?;
        Ok(Capacities::of(&problem, &settings, observations))
    }

    /// Bytes that [`Optimizer::start_in`] takes of an arena where every slice begins at the next multiple of 4, a `u8` too;
    /// [`usize::MAX`] where so many candidates cannot be counted.
    pub const fn bytes(&self) -> usize {
        let Capacities { dimensions: d, fidelities: m, observations: n, particles: v, candidates: q, .. } =
            *self;
        let (f, p) = (self.features(), self.parameters());
        let words = [
            [n, n + 2 * d + LAYERS * f + 3 + 3 * LANES],
            [p, 2 * v + self.auxiliary()],
            [q, d],
            [LANES * f, LAYERS + 3],
            [v, MAX_SAMPLES],
            [d, MAX_CARRIED],
            [MAX_PARTICLES, MAX_PARTICLES],
        ];
        let others = [
            [n, size_of::<Answer>()],
            [n.next_multiple_of(4), 2],
            [q, size_of::<max_value::Candidate>()],
            [q.saturating_mul(m), size_of::<Posterior>() + size_of::<ScoreSums>()],
        ];
        let word = size_of::<f32>();
        sum(&words).saturating_mul(word).saturating_add(sum(&others))
    }
}

/// Sum of products, held where it would overflow.
const fn sum(products: &[[usize; 2]]) -> usize {
    let (mut sum, mut i) = (0usize, 0);
    while i < products.len() {
        let [a, b] = products[i];
        sum = sum.saturating_add(a.saturating_mul(b));
        i += 1;
    }
    sum
}

impl<'a> Optimizer<'a> {
    /// Starts the first task with the arrays in an arena, each as large as the problem and the settings need: for sizes
    /// that are known only at run time. The last task's particles are kept there.
    ///
    /// It does the same as in a [`Memory`](crate::Memory), bit for bit.
    ///
    /// # Errors
    /// What [`Problem::checked`] and [`Settings::checked`] say, or [`Error::Capacity`] naming what does not fit. The arena
    /// is used only if there are none but its own.
    pub fn start_in<A: Arena<'a>>(
        arena: &mut A,
        problem: Problem<'a>,
        settings: Settings,
        observations: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let capacities = Capacities::checked(&problem, &settings, observations)?;
        if !A::DEEP && settings.map != Map::Ard {
            return Err(Error::Setting { name: "map", allowed: "ARD here" });
        }
        let (buffers, model) =
            (Buffers::in_arena(arena, &capacities, &settings)?, settings.model(problem.dimensions.len()));
        Optimizer::new(buffers, problem, settings, model, seed)
    }
}

impl<'a> Buffers<'a> {
    /// All arrays, just as large as said.
    fn in_arena<A: Arena<'a>>(
        arena: &mut A,
        capacities: &Capacities,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let Capacities { dimensions: d, observations: n, particles: v, .. } = *capacities;
        let p = capacities.parameters();
        Ok(Buffers {
            data: Data::new(
                d,
                matrix(arena, d, n)?,
                arena.slice(n, Answer::NONE)?,
                arena.slice(n, 0)?,
                arena.slice(n, 0.0)?,
            ),
            gp: Workspace::in_arena(arena, n, capacities.features())?,
            particles: matrix(arena, p, v)?,
            gradients: matrix(arena, p, v)?,
            centres: Some(matrix(arena, p, v)?),
            moments: matrix(arena, p, capacities.auxiliary() - v)?,
            pairs: pairs(arena)?,
            candidates: Candidates::in_arena(arena, capacities)?,
            maxima: part(arena.slice(MAX_SAMPLES * v, 0.0)?, MAX_SAMPLES, settings.details.max_values, v),
            #[cfg(feature = "paper")]
            design: matrix(arena, d, n)?,
            #[cfg(feature = "paper")]
            design_fidelity: arena.slice(n, 0)?,
            carried: Carried { points: matrix(arena, d, MAX_CARRIED)?, values: Vec::new() },
            maps: if A::DEEP { Maps::ALL } else { Maps::ARD },
        })
    }
}

impl<'a> Workspace<'a> {
    fn in_arena(arena: &mut impl Arena<'a>, n: usize, f: usize) -> Result<Self, Error> {
        let mut panel = |length: usize| arena.slice::<Lane>(length, [0.0; LANES]);
        Ok(Workspace {
            panels: [panel(n)?, panel(n)?, panel(n)?],
            own: panel(f)?,
            delta: [panel(f)?, panel(f)?],
            block: [panel(f)?, panel(f)?, panel(f)?].map(|block| block.as_flattened_mut()),
            matrix: matrix(arena, n, n)?,
            features: matrix(arena, f, n)?,
            hidden: [matrix(arena, f, n)?, matrix(arena, f, n)?],
            whitened: arena.slice(n, 0.0)?,
            alpha: arena.slice(n, 0.0)?,
        })
    }
}

impl<'a> Candidates<'a> {
    fn in_arena(arena: &mut impl Arena<'a>, capacities: &Capacities) -> Result<Self, Error> {
        let Capacities { dimensions: d, fidelities: m, candidates: q, .. } = *capacities;
        Ok(Candidates {
            points: matrix(arena, d, q)?,
            beliefs: arena.slice(q.saturating_mul(m), Posterior::default())?,
            sums: arena.slice(q.saturating_mul(m), ScoreSums::ZERO)?,
            truth: arena.slice(q, max_value::Candidate::default())?,
            fidelities: m,
            len: 0,
            best: Vec::new(),
        })
    }
}

fn matrix<'a>(arena: &mut impl Arena<'a>, rows: usize, columns: usize) -> Result<MatrixMut<'a>, Error> {
    Ok(MatrixMut::from_slice(arena.slice(rows.saturating_mul(columns), 0.0)?, rows, columns))
}

fn pairs<'a>(arena: &mut impl Arena<'a>) -> Result<&'a mut Pairs, Error> {
    let one = arena.slice(1, [[0.0; MAX_PARTICLES]; MAX_PARTICLES])?;
    one.first_mut().ok_or(Error::Capacity { what: "bytes", needed: size_of::<Pairs>(), available: 0 })
}
