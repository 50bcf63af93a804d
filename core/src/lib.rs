//! Multi-fidelity Bayesian optimization with transferable max-value entropy search, without an allocator.
//!
//! Foretune tunes the parameters of something that is expensive to measure (a base station on the air, say), one task after
//! the other. It picks the next point *and* how long to measure it, and carries what it learnt into the next task.
//! The method is MFT-MES (Zhang, Park, Simeone: *Multi-Fidelity Bayesian Optimization With Across-Task Transferable
//! Max-Value Entropy Search*); where the paper errs, the modules say so and do otherwise.
//!
//! ```
//! use foretune_core::{Dimension, Fidelity, Goal, Problem, Settings};
//!
//! let problem = Problem {
//!     dimensions: &[Dimension::Grid { low: -100.0, high: 24.0, levels: 63 }],
//!     fidelities: &[
//!         Fidelity { cost: 1.0, samples: 10, noise: 0.04 },
//!         Fidelity { cost: 4.0, samples: 100, noise: 0.004 },
//!     ],
//!     budget: 30.0,
//!     goal: Goal::Maximise,
//!     ..Problem::PLAIN
//! };
//! let settings = Settings { particles: 4, initial: 4, ..Settings::DEFAULT };
//! type Radio = foretune_core::memory!(
//!     dimensions: 1, fidelities: 2, observations: 24, particles: 4, map: Ard, candidates: 128
//! );
//! let mut memory = Box::new(Radio::new());
//! let mut tuner = memory.start(problem, settings, 7)?;
//! for task in 0..2 {
//!     let best_power = -40.0 + 10.0 * task as f32;
//!     tuner.run_task(|query| Some(-((query.point()[0] - best_power) / 30.0).powi(2)))?;
//!     let best = tuner.recommendation().unwrap();
//!     assert!((best.point()[0] - best_power).abs() < 10.0);
//!     tuner.next_task()?;
//! }
//! # Ok::<(), foretune_core::Error>(())
//! ```
//!
//! [`memory!`] makes the type of all arrays; [`profile`] has two ready-made. [`Optimizer::run_task`] is a loop around
//! [`Optimizer::ask`] and [`Optimizer::tell`], and `ask` one around [`Optimizer::advance`], which does one bounded slice
//! of work: use that where a watchdog or a serial line wants attention. [`Settings`] are plain values with four presets.
//!
//! `no_std`, no allocator, no I/O, no clock, no `unsafe`. Same seed, settings and answers give the same queries, bit
//! for bit, on every machine: one `f32`, one order of operations, no fused multiply-add.
//!
//! # Features
//!
//! - `defmt` (off by default): `defmt::Format` for every public type.
//! - `paper` (off by default): the methods that only the paper compares, with their batch design.
//! - `parallel` (off by default): several measurements at once, `ask_beside` and `observe`.
//! - `internals` (off by default): the parts, as the module `internals`, for those who check them. No promise holds for it.
//!
//! Needs Rust 1.89.
//!
//! # Where the paper's equations are
//!
//! | equation | item |
//! |---|---|
//! | (1), (2) prior of `θ` | `prior::Prior` |
//! | (3), (4), (5), (9) problem, costs, budget | `space::Problem` |
//! | (6), (7) observations of a task | `data::Data` |
//! | (8) earlier tasks, kept as particles | `prior::Kde` |
//! | (10), (11), (13), (14) one fidelity: M = 1 of the next | `gp` |
//! | (12) feature maps | `features` |
//! | (15), (16) kernel | `kernel` |
//! | (17), (18) posterior | `gp::Workspace::posterior` |
//! | (19), (24), (25) MF-MES | `settings::Method::MfMes`, `acquisition::ScoreSums::score` |
//! | (20), (21), (22), (23) information about the optimum | `acquisition::information` |
//! | (26) log marginal likelihood and gradient | `gp::Workspace::condition`, `gp::Workspace::gradient` |
//! | (27) MAP | `svgd` with one particle |
//! | (28), (29), (32), (37) MFT-MES | `settings::Method::MftMes`, `acquisition::ScoreSums::score` |
//! | (30), (31), (38), (39) learning `θ` | `svgd::drift`, `svgd::plain` |
//! | (33), (34), (35), (36) information about `θ` | `acquisition::ScoreSums::transfer` |
//! | (42) first phase of Two-phase | `settings::Method::TwoPhase` |
//! | (43) batch design | `batch` |
//! | (59) Separation | `settings::Method::Separation` |
//! | (60) myopic Separation | `settings::Method::Myopic` |
//!
//! (40), (41) are regrets, which only a simulator can know.
#![no_std]

// In the order in which to read them: each uses only those before it.
mod error;
mod kernels;
mod math;
mod linalg;
mod block;
mod live;
mod space;
mod checksum;
mod random;
mod features;
mod kernel;
pub mod fleet;
mod gp;
mod outlier;
mod scale;
mod data;
mod prior;
mod svgd;
mod max_value;
mod acquisition;
#[cfg(feature = "paper")]
mod batch;
mod settings;
mod search;
pub mod snapshot;
mod optimizer;
mod watch;
pub mod profile;

pub use acquisition::Information;
pub use data::{Kind, Kpis, Point, Record};
pub use error::{Error, ProblemPart, SnapshotError};
pub use features::Map;
pub use fleet::Fleet;
pub use gp::Fallbacks;
pub use kernel::MAX_FIDELITIES;
pub use live::{Floor, Guard, Level, Limit, MAX_GUARDS, Predicate, Side};
pub use math::LARGEST_VALUE;
pub use max_value::MAX_SAMPLES;
pub use optimizer::{
    Activity, Ask, Belief, Block, Capacities, FleetStatus, GuardStatus, LiveStatus, Memory, Optimizer,
    Progress, Query, Reasons, Recommendation, Refused, Score, Status, Stop,
};
pub use prior::{LogNormal, MAX_PARTICLES, Prior, Weights};
pub use scale::Scaling;
pub use settings::{Checked, Details, Field, MAX_CARRIED, Method, Recommend, Settings, Value};
pub use space::{Dimension, Fidelity, Goal, MAX_DIMENSIONS, MAX_VALUES, Problem};
pub use svgd::{Bandwidth, Step};
pub use watch::{Baseline, Change, Reading, Watch, WatchStatus};

/// Whether the methods that only the paper compares are built in: they need more memory.
#[doc(hidden)]
pub const PAPER: bool = cfg!(feature = "paper");

/// The parts, for tests and tools that check them one by one. No promise holds for what is in here.
#[cfg(feature = "internals")]
pub mod internals {
    macro_rules! parts {
        ($($part:ident)*) => {
            $(#[doc(hidden)]
            pub mod $part {
                pub use crate::$part::*;
            })*
        };
    }
    #[cfg(feature = "paper")]
    parts!(batch);
    parts!(acquisition data features gp kernel linalg math max_value prior svgd);
}
