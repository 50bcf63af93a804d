//! Every target on what once failed, on its seeds, and on a fixed number of inputs: `FUZZ_INPUTS` for another number.

use std::fs;
use std::time::{Duration, Instant};

use foretune_fuzz::mutate::Inputs;
use foretune_fuzz::{TARGETS, Target, find};

/// Longest that one input may take, with all the patience that a busy machine deserves.
const SLOWEST: Duration = Duration::from_secs(20);

fn timed(target: &Target, input: &[u8]) {
    let start = Instant::now();
    target.run(input);
    let took = start.elapsed();
    assert!(took < SLOWEST, "{took:?} for {input:?}");
}

/// What once failed: target, name and bytes in hexadecimal, as a failure below prints them.
fn findings(target: &str) -> Vec<Vec<u8>> {
    let of = |line: &str| {
        let [_, hex] = line.strip_prefix(target)?.strip_prefix(' ')?.split(' ').collect::<Vec<_>>()[..]
        else {
            panic!("no finding: {line}");
        };
        Some((0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect())
    };
    include_str!("../findings.txt").lines().filter_map(of).collect()
}

fn fuzz(target: &'static Target) {
    let (name, seeds) = (target.name, (target.seeds)());
    findings(name).iter().chain(&seeds).for_each(|input| timed(target, input));
    let count = std::env::var("FUZZ_INPUTS").map_or(target.inputs, |text| text.parse().expect("a number"));
    let seed = std::env::var("FUZZ_SEED").map_or(1, |text| text.parse().expect("a number"));
    let mut inputs = Inputs::new(seeds, seed);
    let start = Instant::now();
    for number in 0..count {
        let input = inputs.next_input();
        // So that a hang or an abort leaves its input behind.
        if std::env::var_os("FUZZ_KEEP").is_some() {
            fs::write(std::env::temp_dir().join(format!("foretune-fuzz-{name}")), &input).unwrap();
        }
        let ran = std::panic::catch_unwind(|| timed(target, &input));
        assert!(ran.is_ok(), "input {number} of {name}, {} bytes: {}", input.len(), hex(&input));
    }
    println!("{name}: {count} inputs in {:.1} s", start.elapsed().as_secs_f32());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

macro_rules! targets {
    ($($name:literal: $promise:ident,)*) => {
        $(#[test]
        fn $promise() {
            fuzz(find($name));
        })*

        #[test]
        fn no_target_is_left_out() {
            assert_eq!(TARGETS.map(|target| target.name), [$($name),*]);
        }
    };
}

targets! {
    "optimizer": optimizer_does_what_a_plain_model_says,
    "snapshot": snapshots_are_refused_or_usable,
    "storage": storage_keeps_what_it_acknowledged_and_invents_nothing,
    "link": the_link_lets_only_sound_events_through,
    "seal": with_a_key_nothing_is_forged_or_played_again,
    "inspect": inspect_answers_or_says_why_not,
    "settings": settings_are_accepted_or_named,
    "capi": from_c_a_refusal_changes_nothing,
}
