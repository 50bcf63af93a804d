//! Library behind the `foretune` program.

pub mod problems;
pub mod results;
