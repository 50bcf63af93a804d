//! Every target on what once failed, on its seeds, and on a fixed number of inputs: `FUZZ_INPUTS` for another number.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use foretune_fuzz::mutate::Inputs;
use foretune_fuzz::{capi, inspect, link, optimizer, seal, settings, snapshot, storage};

/// Longest that one input may take, with all the patience that a busy machine deserves.
const SLOWEST: Duration = Duration::from_secs(20);

fn timed(run: fn(&[u8]), input: &[u8]) {
    let start = Instant::now();
    run(input);
    let took = start.elapsed();
    assert!(took < SLOWEST, "{took:?} for {input:?}");
}

/// Inputs kept in a folder beside this package's manifest.
fn kept(folder: &str, target: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn fuzz(target: &str, run: fn(&[u8]), seeds: Vec<Vec<u8>>, usual: u64) {
    kept("findings", target).iter().chain(&seeds).for_each(|input| timed(run, input));
    let count = std::env::var("FUZZ_INPUTS").map_or(usual, |text| text.parse().expect("a number"));
    let seed = std::env::var("FUZZ_SEED").map_or(1, |text| text.parse().expect("a number"));
    let mut inputs = Inputs::new(seeds, seed);
    let start = Instant::now();
    for number in 0..count {
        let input = inputs.next_input();
        // So that a hang or an abort leaves its input behind.
        if std::env::var_os("FUZZ_KEEP").is_some() {
            fs::write(std::env::temp_dir().join(format!("foretune-fuzz-{target}")), &input).unwrap();
        }
        let ran = std::panic::catch_unwind(|| timed(run, &input));
        assert!(ran.is_ok(), "input {number} of {target}, {} bytes: {}", input.len(), hex(&input));
    }
    println!("{target}: {count} inputs in {:.1} s", start.elapsed().as_secs_f32());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn optimizer_does_what_a_plain_model_says() {
    fuzz("optimizer", optimizer::run, optimizer::seeds(), 15_000);
}

#[test]
fn snapshots_are_refused_or_usable() {
    fuzz("snapshot", snapshot::run, snapshot::seeds(), 10_000);
}

#[test]
fn storage_keeps_what_it_acknowledged_and_invents_nothing() {
    fuzz("storage", storage::run, storage::seeds(), 30_000);
}

#[test]
fn the_link_lets_only_sound_events_through() {
    fuzz("link", link::run, link::seeds(), 50_000);
}

#[test]
fn with_a_key_nothing_is_forged_or_played_again() {
    fuzz("seal", seal::run, seal::seeds(), 5_000);
}

#[test]
fn inspect_answers_or_says_why_not() {
    fuzz("inspect", inspect::run, inspect::seeds(), 40_000);
}

#[test]
fn settings_are_accepted_or_named() {
    fuzz("settings", settings::run, settings::seeds(), 4_000);
}

#[test]
fn from_c_a_refusal_changes_nothing() {
    fuzz("capi", capi::run, capi::seeds(), 5_000);
}
