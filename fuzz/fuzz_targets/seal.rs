//! `cargo +nightly fuzz run --features libfuzzer seal`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::seal::run(bytes));
