//! Library behind the program `foretune-paper`.
#![allow(
    missing_docs,
    reason = "a comment stands where a name does not say it: this package is part of a program"
)]

mod bench;
mod evaluate;
mod claims;
mod day;
pub mod cli;
mod figures;
pub mod inspect;
mod merge;
mod page;
mod reproduce;
mod tables;
mod theory;
mod trace;
mod verdict;
mod work;
