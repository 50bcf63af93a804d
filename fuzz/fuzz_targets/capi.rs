//! `cargo +nightly fuzz run --features libfuzzer capi`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::capi::run(bytes));
