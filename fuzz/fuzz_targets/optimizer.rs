//! `cargo +nightly fuzz run --features libfuzzer optimizer`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::optimizer::run(bytes));
