//! The examples run, and end well.

#[path = "../examples/mixed_space.rs"]
mod mixed_space;
#[path = "../examples/save_restore.rs"]
mod save_restore;
#[path = "../examples/sizes.rs"]
mod sizes;
#[path = "../examples/toy_radio.rs"]
mod toy_radio;

#[test]
fn mixed_space_finds_a_good_coffee() {
    mixed_space::main().unwrap();
}

#[test]
fn save_restore_continues_bit_for_bit() {
    save_restore::main().unwrap();
}

#[test]
fn sizes_are_printed() {
    sizes::main();
}

#[test]
fn toy_radio_tunes_three_tasks() {
    toy_radio::main().unwrap();
}
