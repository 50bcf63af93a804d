//! Fuzz targets: plain functions of some bytes that panic when a promise is broken.
//!
//! | target | what the bytes mean | what must hold |
//! |---|---|---|
//! | [`optimizer`] | problem, settings and calls | every call does what a plain model says; a restored copy goes on alike |
//! | [`snapshot`] | bytes to load, raw or with a right checksum | refused with the state unchanged, or usable |
//! | [`storage`] | calls, power cuts, restarts and rot | what was acknowledged is there; nothing is invented |
//! | [`link`] | what comes over the line, both ways | only sound events, answers that can be read |
//! | [`seal`] | a line with a key, and somebody on it who has none | the device acts on what a plain model allows, the station takes an answer once |
//! | [`inspect`] | a JSON file | an answer in finite numbers, or an error in one line |
//! | [`capi`] | calls of the functions for C, with any arguments | what is refused changes nothing; queries are sound |
//! | [`settings`] | a TOML file | settings that the core accepts and that read back, or an error in one line |
//!
//! They run in two ways: [`mutate`] feeds a fixed number of inputs as an ordinary test (`cargo test`, so that continuous
//! integration needs nothing special; `FUZZ_INPUTS=100000 cargo test --release` for more), and libFuzzer looks for new
//! paths (`cargo +nightly fuzz run --features libfuzzer <target>`). Inputs that once failed lie in `findings/<target>/`
//! and are run first, always.

pub mod capi;
pub mod case;
pub mod inspect;
pub mod link;
pub mod mutate;
pub mod optimizer;
pub mod seal;
pub mod settings;
pub mod snapshot;
pub mod storage;
