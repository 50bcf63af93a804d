//! All arrays of an optimizer, in one block of words, and the views that everything else works on.

use heapless::Vec;

use super::candidates::Candidates;
use super::trials::{Start, Watched};
use crate::block::{self, Cut};
use crate::data::Data;
use crate::error::Error;
use crate::features::{Map, Maps};
use crate::gp::{Fallbacks, Workspace};
use crate::kernel::{MAX_FIDELITIES, Model};
use crate::kernels::VECTORS;
use crate::linalg::MatrixMut;
use crate::live::MAX_GUARDS;
use crate::max_value::MAX_SAMPLES;
use crate::prior::MAX_PARTICLES;
use crate::settings::{MAX_CARRIED, Settings};
use crate::space::{self, MAX_DIMENSIONS, MAX_VALUES, Problem};
use crate::svgd::{Pairs, Step};

/// The linear map in a type's numbers, where a deep one has its width.
const LINEAR: usize = 0xffff;

/// Parts that are told apart when it is asked what takes how much.
const PARTS: usize = 8;

/// How much there is room for; what [`memory!`](crate::memory) is given, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// [`Optimizer::advance_with`](crate::Optimizer::advance_with).
    pub keeps_particles: bool,
    /// Whether the particles' factors are kept while a search refines what it found, which saves time: no unless said. Only on
    /// a host, which has the memory for it.
    pub keeps_factors: bool,
    /// Whether there is room for what a [`Fleet`](crate::Fleet) says of the observations: 28 bytes for each. No unless said.
    pub fleet: bool,
    /// Guards that there is room for, 0 unless said, to 4.
    pub guards: usize,
    /// Whether there is room for repeated measurements, twice as many as observations: no unless said. The model has no row for
    /// them: their mean counts in that of the first. A task has them where there are rows for every choice at every fidelity and
    /// nothing is guarded; also without this room, if other parts of the memory are larger than the problem needs.
    pub repeats: bool,
    /// Features of categories beyond one for each, 0 unless said: `n − 1` for a category of `n > 2` values.
    pub categories: usize,
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
        keeps_factors: false,
        fleet: false,
        guards: 0,
        repeats: false,
        categories: 0,
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
            keeps_factors: false,
            fleet: false,
            guards: problem.guards.len(),
            repeats: !problem.is_guarded() && fits_whole(problem, observations),
            categories: problem.features() - problem.dimensions.len(),
        }
    }

    /// The same, if they can be had: with all that [`Block::start`] could refuse.
    ///
    /// # Errors
    /// As there.
    pub fn checked(
        problem: &Problem<'_>,
        settings: &Settings,
        observations: usize,
    ) -> Result<Capacities, Error> {
        let settings = &settings.checked()?;
        let capacities = Capacities::of(problem, settings, observations);
        capacities.check(problem, settings)?;
        Start::new(problem, settings.details.method)?;
        Ok(capacities)
    }

    /// Whether the problem is sound, and there is room for it with these settings.
    // Not inlined, here and elsewhere: it takes less flash.
    #[inline(never)]
    fn check(&self, problem: &Problem<'_>, settings: &Settings) -> Result<(), Error> {
        let problem = problem.checked()?;
        let (remembers, fidelities) = (settings.remembers(), problem.fidelities.len());
        let needed = Capacities::of(&problem, settings, self.observations);
        if needed.categories > 0 && settings.map.is_deep() {
            return Err(Error::Setting { name: "map", allowed: "ARD or linear with a category" });
        }
        for (what, needed, available) in [
            ("dimensions", needed.dimensions, self.dimensions),
            ("fidelities", fidelities, self.fidelities),
            ("fidelities", fidelities + usize::from(remembers > 0), MAX_FIDELITIES),
            (
                "observations",
                settings.initial.saturating_add(1 + remembers + settings.kept),
                self.observations,
            ),
            ("observations", self.observations, usize::from(u16::MAX)),
            ("particles", needed.particles, self.particles),
            ("features", needed.features(), self.features()),
            ("parameters", needed.parameters(), self.parameters()),
            ("moments of the steps", needed.moments(), self.moments()),
            ("candidates", needed.candidates, self.candidates),
            ("guards", needed.guards, self.guards),
        ] {
            if needed > available {
                return Err(Error::Capacity { what, needed, available });
            }
        }
        Ok(())
    }

    const fn features(&self) -> usize {
        self.map.features(self.dimensions + self.categories)
    }

    const fn parameters(&self) -> usize {
        Model::plain(self.map, self.dimensions, Settings::DEFAULT.details.prior.offsets()).parameters()
    }

    /// Columns for the moments of the steps.
    const fn moments(&self) -> usize {
        self.step.rows(self.particles)
    }

    /// Observations that a fleet may describe.
    const fn described(&self) -> usize {
        if self.fleet { self.observations } else { 0 }
    }

    /// Slots beyond the rows of the model.
    const fn repeated(&self) -> usize {
        if self.repeats { 2 * self.observations } else { 0 }
    }

    /// Columns for the last task's particles.
    const fn centres(&self) -> usize {
        if self.keeps_particles { self.particles } else { 0 }
    }

    /// Particles whose factors are kept.
    const fn factors(&self) -> usize {
        if VECTORS && self.keeps_factors { self.particles } else { 0 }
    }

    /// Words of four bytes that an optimizer takes: the only formula of its size. [`usize::MAX`] where so many cannot be
    /// counted.
    pub const fn words(&self) -> usize {
        let mut words = [0; PARTS];
        let (parts, mut i) = (self.parts(), 0);
        while i < PARTS {
            words[i] = parts[i].1;
            i += 1;
        }
        block::sum(&words)
    }

    /// What takes how many words.
    pub const fn parts(&self) -> [(&'static str, usize); PARTS] {
        let Capacities { dimensions: d, fidelities: m, observations: n, particles: v, candidates: q, .. } =
            *self;
        let g = self.guards;
        let columns = v.saturating_mul(self.parameters());
        let others = (self.centres() + self.moments()).saturating_mul(self.parameters());
        let tables = v * (MAX_PARTICLES + MAX_SAMPLES);
        let design = if crate::PAPER { n * d + block::words::<u8>(n) } else { 0 };
        [
            ("observations", Data::words(d, [n, self.repeated()], g, self.described())),
            ("Gaussian process", Workspace::words(n, self.features())),
            ("particles", columns),
            ("gradients", columns),
            ("last task's particles, moments of steps", others),
            ("candidates", Candidates::words(d, m, g, q)),
            (
                "carried points, tables, batch design",
                d * MAX_CARRIED + tables + design + block::words::<Watched>(g),
            ),
            ("particles' factors", Kept::words(self.factors(), n, self.features())),
        ]
    }

    /// All in one number, since a structure cannot be part of a type. What is impossible does not compile.
    #[doc(hidden)]
    pub const fn packed(self) -> u128 {
        let Capacities { dimensions: d, fidelities: m, observations: n, particles: v, candidates: q, .. } =
            self;
        let width = match self.map {
            Map::Ard => 0,
            Map::Linear => LINEAR,
            Map::Deep { width: 0 } => panic!("`map` must have a width of 1 or more"),
            Map::Deep { width } => width,
        };
        assert!(d >= 1 && d <= MAX_DIMENSIONS, "`dimensions` must be 1 to 16");
        assert!(m >= 1 && m <= MAX_FIDELITIES, "`fidelities` must be 1 to 8");
        assert!(n >= 1 && n < 1 << 16, "`observations` must be 1 to 65535");
        assert!(v >= 1 && v <= MAX_PARTICLES, "`particles` must be 1 to 16");
        assert!(!self.map.is_deep() || width < LINEAR, "`map` must have a width of at most 65534");
        assert!(q >= n, "`candidates` must be at least as many as `observations`");
        assert!(q < 1 << 16, "`candidates` must be at most 65535");
        assert!(self.guards <= MAX_GUARDS, "`guards` must be at most 4");
        assert!(self.categories < MAX_DIMENSIONS * MAX_VALUES, "`categories` must be at most 127");
        let switches = [self.moments() > 0, self.keeps_particles, self.keeps_factors, self.fleet];
        let switches = switches[0] as usize
            | (switches[1] as usize) << 1
            | (switches[2] as usize) << 2
            | (switches[3] as usize) << 3
            | self.guards << 4
            | (self.repeats as usize) << 8;
        let fields = [d, m, n, v, width, q, switches, self.categories];
        let (mut packed, mut i) = (0, fields.len());
        while i > 0 {
            i -= 1;
            packed = packed << u16::BITS | fields[i] as u128;
        }
        packed
    }

    const fn unpacked(packed: u128) -> Capacities {
        const fn field(packed: u128, index: u32) -> usize {
            (packed >> (index * u16::BITS)) as u16 as usize
        }
        let (width, switches) = (field(packed, 4), field(packed, 6));
        Capacities {
            dimensions: field(packed, 0),
            fidelities: field(packed, 1),
            observations: field(packed, 2),
            particles: field(packed, 3),
            map: match width {
                0 => Map::Ard,
                LINEAR => Map::Linear,
                width => Map::Deep { width },
            },
            candidates: field(packed, 5),
            step: if switches & 1 > 0 { Step::Adam { rate: 1.0 } } else { Step::Plain { rate: 1.0 } },
            keeps_particles: switches & 2 > 0,
            keeps_factors: switches & 4 > 0,
            fleet: switches & 8 > 0,
            guards: switches >> 4 & 15,
            repeats: switches >> 8 > 0,
            categories: field(packed, 7),
        }
    }
}

/// Whether a model of so many rows has one for every choice at every fidelity.
#[inline(never)]
const fn fits_whole(problem: &Problem<'_>, rows: usize) -> bool {
    match space::size(problem.dimensions, rows) {
        Some(choices) => choices * problem.fidelities.len() <= rows && problem.conditions() == 0,
        None => false,
    }
}

/// All memory of an optimizer: zeros at first, so that a `static` lies in `.bss`. Write its type with
/// [`memory!`](crate::memory).
///
/// Larger capacities than needed change no bit of what an optimizer does, but for the observations, since free slots are a
/// budget, and for a small grid with noise, which may find room for [repeats](Capacities::repeats).
pub struct Memory<const WORDS: usize, const CAPACITIES: u128>([u32; WORDS]);

impl<const WORDS: usize, const CAPACITIES: u128> Memory<WORDS, CAPACITIES> {
    /// What there is room for.
    pub const CAPACITIES: Capacities = Capacities::unpacked(CAPACITIES);
    /// The code for those maps that there is room for.
    const MAPS: Maps = if Self::CAPACITIES.map.is_deep() { Maps::ALL } else { Maps::NO_DEEP };

    /// All zeros.
    #[allow(
        clippy::new_without_default,
        reason = "a default would be made on the stack, which it may not fit"
    )]
    pub const fn new() -> Self {
        const { assert!(WORDS == Self::CAPACITIES.words(), "a memory's type is written by `memory!`") };
        Memory([0; WORDS])
    }

    /// The words, for an optimizer.
    pub const fn lend(&mut self) -> Block<'_> {
        Block { words: &mut self.0, capacities: Self::CAPACITIES, maps: Self::MAPS }
    }
}

/// Words lent to an optimizer: those of a [`Memory`], or any where sizes are known only at run time.
///
/// ```
/// use foretune_core::{Block, Capacities, Error};
/// # use foretune_core::{Dimension, Fidelity, Goal, Problem, Settings};
/// # const PROBLEM: Problem = Problem {
/// #     dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }],
/// #     fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
/// #     budget: 20.0,
/// #     goal: Goal::Maximise,
/// #     ..Problem::PLAIN
/// # };
/// let observations = 40; // from a file, say
/// let capacities = Capacities::checked(&PROBLEM, &Settings::DEFAULT, observations)?;
/// let mut words = vec![0; capacities.words()];
/// let tuner = Block::new(&mut words, capacities).start(PROBLEM, Settings::DEFAULT, 1)?;
/// assert_eq!(tuner.status().room, 40);
/// # Ok::<(), Error>(())
/// ```
pub struct Block<'a> {
    words: &'a mut [u32],
    capacities: Capacities,
    maps: Maps,
}

impl<'a> Block<'a> {
    /// Any words, of which a start takes as many as it needs.
    pub const fn new(words: &'a mut [u32], capacities: Capacities) -> Self {
        Block { words, capacities, maps: Maps::ALL }
    }

    /// The same without the code for the deep map, which is some kilobytes.
    pub const fn without_deep_map(words: &'a mut [u32], capacities: Capacities) -> Self {
        Block { words, capacities, maps: Maps::NO_DEEP }
    }

    /// The same words for a while.
    pub const fn lend(&mut self) -> Block<'_> {
        Block { words: self.words, capacities: self.capacities, maps: self.maps }
    }

    /// The arrays that a problem and settings need, cut off.
    pub(super) fn buffers(self, problem: &Problem<'_>, settings: &Settings) -> Result<Buffers<'a>, Error> {
        let Capacities { observations, keeps_particles, keeps_factors, fleet, .. } = self.capacities;
        self.capacities.check(problem, settings)?;
        if self.maps.no_deep && settings.map.is_deep() {
            return Err(Error::Setting { name: "map", allowed: "ARD or linear here" });
        }
        let needed = Capacities::of(problem, settings, observations);
        let needed = Capacities { keeps_particles, keeps_factors, fleet, ..needed };
        let (available, mut cut) = (self.words.len(), Cut::new(self.words));
        let buffers = Buffers::cut(&mut cut, &needed, settings, self.maps);
        let needed = cut.asked;
        if needed > available {
            Err(Error::Capacity { what: "words", needed, available })
        } else {
            Ok(buffers)
        }
    }
}

/// The arrays: shapes are run-time numbers from here on, what problem and settings need.
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
    pub guards: &'a mut [Watched],
    pub kept: Kept<'a>,
    pub maps: Maps,
}

impl<'a> Buffers<'a> {
    fn cut(cut: &mut Cut<'a>, capacities: &Capacities, settings: &Settings, maps: Maps) -> Self {
        let Capacities { dimensions: d, fidelities: m, observations: n, particles: v, candidates: q, .. } =
            *capacities;
        let g = capacities.guards;
        let (p, samples) = (capacities.parameters(), settings.details.max_values);
        Buffers {
            gp: Workspace::cut(cut, n, capacities.features()),
            particles: cut.matrix(p, v),
            gradients: cut.matrix(p, v),
            centres: capacities.keeps_particles.then(|| cut.matrix(p, v)),
            moments: cut.matrix(p, capacities.moments()),
            pairs: cut.slice(v),
            candidates: Candidates::cut(cut, d, m, g, q),
            maxima: block::matrix(cut.slice(MAX_SAMPLES * v), samples, v),
            #[cfg(feature = "paper")]
            design: cut.matrix(d, n),
            #[cfg(feature = "paper")]
            design_fidelity: cut.slice(n),
            carried: Carried { points: cut.matrix(d, MAX_CARRIED), values: Vec::new() },
            guards: cut.slice(g),
            kept: Kept::cut(cut, capacities.factors(), n, capacities.features()),
            maps,
            // The last, since repeats may take what is left.
            data: Data::cut(cut, d, [n, capacities.repeated()], g, capacities.described()),
        }
    }
}

impl Buffers<'_> {
    /// Forgets what was thought of the candidates.
    pub fn clear_sums(&mut self) {
        self.candidates.clear_sums();
        for watched in self.guards.iter_mut() {
            (watched.used, watched.misfit) = (0, 0.0);
            watched.drift.look();
        }
    }
}

/// Points carried from earlier tasks, newest first, with the values remembered of them, in units of the observations.
pub(super) struct Carried<'a> {
    pub points: MatrixMut<'a>,
    pub values: Vec<f32, MAX_CARRIED>,
}

/// The particles' factors while a search refines what it found, where there is room for them.
pub(super) struct Kept<'a> {
    /// How often numerics had to help themselves with each; what they could not help has no factor.
    fallbacks: &'a mut [Fallbacks],
    factors: &'a mut [f32],
}

impl<'a> Kept<'a> {
    const fn words(v: usize, n: usize, f: usize) -> usize {
        let factors = v.saturating_mul(Workspace::kept(n, f));
        block::sum(&[block::words::<Fallbacks>(v), factors])
    }

    fn cut(cut: &mut Cut<'a>, v: usize, n: usize, f: usize) -> Self {
        Kept { fallbacks: cut.slice(v), factors: cut.slice(v.saturating_mul(Workspace::kept(n, f))) }
    }

    /// Of particle `v`; none where there is no room.
    pub fn of(&mut self, v: usize) -> Option<(&mut Fallbacks, &mut [f32])> {
        if !VECTORS || self.fallbacks.is_empty() {
            return None;
        }
        let length = self.factors.len() / self.fallbacks.len();
        Some((self.fallbacks.get_mut(v)?, self.factors.get_mut(v * length..(v + 1) * length)?))
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
        $crate::Memory<{ $capacities.words() }, { $capacities.packed() }>
    };
    ($($name:ident: $value:expr),* $(,)?) => {
        $crate::memory!(@ {
            #[allow(unused_imports)]
            use $crate::{Map::{Ard, Deep, Linear}, Step::{Adam, Langevin, Plain}};
            #[allow(clippy::needless_update)]
            const CAPACITIES: $crate::Capacities =
                $crate::Capacities { $($name: $value,)* ..$crate::Capacities::NONE };
            CAPACITIES
        })
    };
}
