//! The functions for C in any order, with any arguments but dangling pointers.
//!
//! The calls themselves are in `foretune-c`, where `unsafe` is allowed.

/// Runs one input.
pub fn run(bytes: &[u8]) {
    foretune_c::fuzz::any_calls(bytes);
}

/// Inputs to start from: any bytes are calls.
pub fn seeds() -> Vec<Vec<u8>> {
    (1..=4u8)
        .map(|step| {
            (0..400u16).map(|i| (i.wrapping_mul(37) as u8).wrapping_mul(step) ^ (i >> 3) as u8).collect()
        })
        .collect()
}
