//! `cargo +nightly fuzz run --features libfuzzer link`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::link::run(bytes));
