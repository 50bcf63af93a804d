//! Project chores: tests, emulated boards, sizes. `cargo xtask help` lists them.

pub mod shell;
pub mod step;
pub mod test;
pub mod tools;
