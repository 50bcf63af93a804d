//! Commands of the project: tests, emulated boards, sizes. `cargo xtask help` lists them.

pub mod audit;
pub mod board;
pub mod c;
pub mod count;
pub mod device;
pub mod disturbed;
pub mod elf;
pub mod error;
pub mod fuzz;
pub mod hil;
pub mod install;
pub mod map;
pub mod minimal;
pub mod mutants;
pub mod panics;
pub mod proxy;
pub mod qemu;
pub mod selftest;
pub mod shell;
pub mod size;
pub mod soak;
pub mod step;
pub mod test;
pub mod toolchain;
pub mod tools;
pub mod unsafety;
