//! Prints the memory of the ready-made profiles, part by part.
//!
//! `cargo run -p foretune-core --example sizes`

use foretune_core::profile::{Compact, Deep};

fn print(name: &str, size: usize, parts: &[(&str, usize)]) {
    println!("{name}: {size} bytes");
    for (part, bytes) in parts {
        println!("  {bytes:>7}  {part}");
    }
}

pub(crate) fn main() {
    print("compact", size_of::<Compact>(), &Compact::sizes());
    print("deep", size_of::<Deep>(), &Deep::sizes());
}
