//! Commands of the project: tests, emulated boards, sizes. `cargo xtask help` lists them.

pub mod audit;
pub mod board;
pub mod c;
pub mod count;
pub mod device;
pub mod disturbed;
pub mod elf;
pub mod error;
pub mod examples;
pub mod fuzz;
pub mod hil;
pub mod install;
pub mod keyed;
pub mod map;
pub mod panics;
pub mod proxy;
pub mod python_station;
pub mod qemu;
pub mod selftest;
pub mod shell;
pub mod size;
pub mod soak;
pub mod test;
pub mod toolchain;
pub mod tools;
