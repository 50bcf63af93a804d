//! Library behind the program `foretune`.

pub mod cli;
pub mod demo;
pub mod hil;
pub mod own;
pub mod processor;
pub mod tune;
