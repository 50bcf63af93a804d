//! Library behind the program `foretune-paper`.

pub mod bench;
pub mod claims;
pub mod cli;
pub mod figures;
pub mod inspect;
pub mod merge;
pub mod page;
pub mod reproduce;
pub mod tables;
pub mod theory;
pub mod trace;
pub mod verdict;
