//! Multi-fidelity Bayesian optimization with transferable max-value entropy search, without an allocator.
//!
//! Foretune tunes the parameters of something that is dear to measure (a base station on the air, say), one task after
//! the other. It picks the next setting *and* how long to measure it, and carries what it learnt into the next task.
//! The method is MFT-MES (Zhang, Park, Simeone: *Multi-Fidelity Bayesian Optimization With Across-Task Transferable
//! Max-Value Entropy Search*); where the paper errs, the modules say so and do otherwise.
//!
//! ```
//! use foretune_core::{Dimension, Fidelity, Goal, Memory, Problem, Settings};
//!
//! // Capacities: dimensions, fidelities, observations, particles, features, parameters, auxiliary rows, candidates.
//! type Radio = Memory<1, 2, 24, 4, 1, 3, 12, 64>;
//!
//! let problem = Problem {
//!     dimensions: &[Dimension::Grid { low: -100.0, high: 24.0, levels: 63 }],
//!     fidelities: &[
//!         Fidelity { cost: 1.0, samples: 10, noise: 0.04 },
//!         Fidelity { cost: 4.0, samples: 100, noise: 0.004 },
//!     ],
//!     budget: 30.0,
//!     goal: Goal::Maximise,
//! };
//! let settings = Settings { particles: 4, initial: 4, candidates: 64, ..Settings::DEFAULT };
//! let mut memory = Box::new(Radio::new());
//! let mut tuner = memory.start(problem, settings, 7).unwrap();
//! for task in 0..2 {
//!     let best_power = -40.0 + 10.0 * task as f32;
//!     while let Some(Ok(query)) = tuner.ask() {
//!         let measured = -((query.setting()[0] - best_power) / 30.0).powi(2);
//!         tuner.tell(query, measured).unwrap();
//!     }
//!     let best = tuner.recommendation().unwrap();
//!     assert!((best.setting()[0] - best_power).abs() < 10.0);
//!     tuner.next_task().unwrap();
//! }
//! ```
//!
//! What the eight capacities are is said at [`Memory`]; [`profile`] has two sets of them ready-made. [`Optimizer::ask`]
//! is a loop around [`Optimizer::advance`], which does one bounded slice of work: use that where a watchdog or a line
//! wants attention. [`Settings`] are plain values with two presets.
//!
//! `no_std`, no allocator, no I/O, no clock, no `unsafe`. Same seed, settings and answers give the same queries, bit
//! for bit, on every machine: one `f32`, one order of operations, no fused multiply-add.
//!
//! # Features
//!
//! - `defmt` (off by default): `defmt::Format` for errors, reasons and reports.
//!
//! Needs Rust 1.89.
//!
//! # Where the paper's equations are
//!
//! | equation | item |
//! |---|---|
//! | (1), (2) prior of `θ` | [`prior::Prior`] |
//! | (3), (4), (5), (9) problem, costs, budget | [`space::Problem`] |
//! | (6), (7) observations of a task | [`data::Data`] |
//! | (8) earlier tasks, kept as particles | [`prior::Kde`] |
//! | (10), (11), (13), (14) one fidelity: M = 1 of the next | [`gp`] |
//! | (12) feature maps | [`features`] |
//! | (15), (16) kernel | [`kernel`] |
//! | (17), (18) posterior | [`gp::Workspace::posterior`] |
//! | (19), (24), (25) MF-MES | [`settings::Method::MfMes`], [`acquisition::Tally::score`] |
//! | (20), (21), (22), (23) information about the optimum | [`acquisition::information`] |
//! | (26) log marginal likelihood and gradient | [`gp::Workspace::condition`], [`gp::Workspace::gradient`] |
//! | (27) MAP | [`svgd`] with one particle |
//! | (28), (29), (32), (37) MFT-MES | [`settings::Method::MftMes`], [`acquisition::Tally::score`] |
//! | (30), (31), (38), (39) learning `θ` | [`svgd::drift`], [`svgd::apply`] |
//! | (33), (34), (35), (36) information about `θ` | [`acquisition::Tally::transfer`] |
//! | (42) first phase of Two-phase | [`settings::Method::TwoPhase`] |
//! | (43) batch design | [`batch`] |
//! | (59) Separation | [`settings::Method::Separation`] |
//! | (60) myopic Separation | [`settings::Method::Myopic`] |
//!
//! (40), (41) are regrets, which only a simulator can know.
#![no_std]

// In the order in which to read them: each uses only those before it.
pub mod error;
pub mod math;
pub mod linalg;
pub mod space;
pub mod data;
mod random;
pub mod features;
pub mod kernel;
pub mod gp;
pub mod prior;
pub mod svgd;
pub mod max_value;
pub mod acquisition;
pub mod batch;
pub mod settings;
mod search;
pub mod snapshot;
pub mod optimizer;
pub mod profile;

pub use acquisition::Information;
pub use data::{Kind, Record, Scaling};
pub use error::{Error, SnapshotError};
pub use features::Map;
pub use gp::Fallbacks;
pub use optimizer::{Activity, Memory, Optimizer, Progress, Query, Recommendation, Refused, Status, Stop};
pub use prior::{LogNormal, Prior, Weights};
pub use settings::{Method, Recommend, Settings};
pub use space::{Dimension, Fidelity, Goal, Problem};
pub use svgd::{Bandwidth, Step};
