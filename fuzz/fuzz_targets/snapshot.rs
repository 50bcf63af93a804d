//! `cargo +nightly fuzz run --features libfuzzer snapshot`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::snapshot::run(bytes));
