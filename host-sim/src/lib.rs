//! Library behind the `foretune` program.

pub mod plot;
pub mod problems;
pub mod results;
