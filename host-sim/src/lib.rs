//! The simulator: problems with known optima, the methods compared on them, studies and their results.
#![allow(
    missing_docs,
    reason = "a comment stands where a name does not say it: this package is part of a program"
)]

pub mod error;
pub mod method;
pub mod results;
pub mod runner;
pub mod settings;
pub mod shapes;

pub use foretune_problems as problems;
pub use foretune_problems::words;
