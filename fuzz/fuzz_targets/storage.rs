//! `cargo +nightly fuzz run --features libfuzzer storage`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::storage::run(bytes));
