//! Multi-fidelity Bayesian optimization with transferable max-value entropy search, without an allocator.
#![no_std]

pub mod acquisition;
pub mod data;
pub mod error;
pub mod features;
pub mod gp;
pub mod kernel;
pub mod linalg;
pub mod math;
pub mod max_value;
pub mod prior;
mod random;
pub mod space;
pub mod svgd;

pub use error::{Error, SnapshotError};
