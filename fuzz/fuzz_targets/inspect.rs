//! `cargo +nightly fuzz run --features libfuzzer inspect`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::inspect::run(bytes));
