//! `cargo +nightly fuzz run --features libfuzzer settings`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::settings::run(bytes));
