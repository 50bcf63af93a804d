//! Library behind the `foretune` program.

pub mod bench;
pub mod checksum;
pub mod cli;
pub mod demo;
pub mod error;
pub mod figures;
pub mod hil;
pub mod inspect;
pub mod method;
pub mod own;
pub mod plot;
pub mod problems;
pub mod processor;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod runner;
pub mod settings;
pub mod shapes;
mod table;
pub mod theory;
pub mod trace;
pub mod tune;
pub mod words;
pub mod work;
