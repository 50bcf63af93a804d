//! Prints the memory of the ready-made profiles, part by part.
//!
//! `cargo run -p foretune-core --example sizes`

use foretune_core::Capacities;
use foretune_core::profile::{Compact, Deep};

fn print(name: &str, capacities: Capacities) {
    println!("{name}: {} bytes", 4 * capacities.words());
    for (part, words) in capacities.parts() {
        println!("  {:>7}  {part}", 4 * words);
    }
}

pub(crate) fn main() {
    print("compact", Compact::CAPACITIES);
    print("deep", Deep::CAPACITIES);
}
