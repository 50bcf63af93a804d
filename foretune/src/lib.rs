//! Library behind the program `foretune`.
#![allow(
    missing_docs,
    reason = "a comment stands where a name does not say it: this package is part of a program"
)]

pub mod cli;
pub mod conversation;
mod fleet;
mod hil;
pub mod processor;
