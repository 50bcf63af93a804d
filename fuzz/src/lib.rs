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
//! They run in two ways: [`mutate`] feeds a fixed number of inputs as an ordinary test (`cargo test -p foretune-fuzz`, so that
//! continuous integration needs nothing special; `FUZZ_INPUTS=100000 cargo test --release -p foretune-fuzz` for more), and
//! libFuzzer looks for new paths (`cargo xtask fuzz <target>`). Inputs that once failed stand in `findings.txt` and are run
//! first, always.

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

/// A fuzz target.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    run: fn(&[u8]),
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Inputs of the fixed test.
    pub inputs: u64,
}

impl Target {
    /// Runs one input.
    pub fn run(&self, bytes: &[u8]) {
        (self.run)(bytes);
    }
}

/// All targets.
pub const TARGETS: [Target; 8] = [
    Target { name: "optimizer", run: optimizer::run, seeds: optimizer::seeds, inputs: 15_000 },
    Target { name: "snapshot", run: snapshot::run, seeds: snapshot::seeds, inputs: 10_000 },
    Target { name: "storage", run: storage::run, seeds: optimizer::seeds, inputs: 30_000 },
    Target { name: "link", run: link::run, seeds: link::seeds, inputs: 50_000 },
    Target { name: "seal", run: seal::run, seeds: seal::seeds, inputs: 5_000 },
    Target { name: "inspect", run: inspect::run, seeds: inspect::seeds, inputs: 40_000 },
    Target { name: "settings", run: settings::run, seeds: settings::seeds, inputs: 4_000 },
    Target { name: "capi", run: capi::run, seeds: capi::seeds, inputs: 5_000 },
];

/// The target of that name.
pub fn find(name: &str) -> &'static Target {
    const ALL: &[Target] = &TARGETS;
    ALL.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no target is called `{name}`"))
}

/// The target that `FUZZ_TARGET` names.
pub fn chosen() -> &'static Target {
    static CHOSEN: std::sync::OnceLock<&Target> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| find(&std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target")))
}
