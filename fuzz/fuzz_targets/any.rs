//! The target that `FUZZ_TARGET` names, for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foretune_fuzz::chosen().run(bytes));
