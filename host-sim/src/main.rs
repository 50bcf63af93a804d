//! `foretune`: the host simulator.

fn main() {}
