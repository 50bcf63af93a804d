//! Gives the linker the memory layout of the chosen board.
//!
//! `memory.x` in the repository's root says `INCLUDE board.x`; this puts the layout of the board whose feature is on
//! into `OUT_DIR/board.x` and adds the linker scripts of `cortex-m-rt` and `defmt`. The boards stand in `boards.rs`.

use std::path::PathBuf;
use std::{env, fs};

#[allow(dead_code)] // the rest of a row is for others
#[path = "boards.rs"]
mod boards;

use boards::{BOARDS, Board};

fn main() {
    println!("cargo::rerun-if-changed=boards.rs");
    println!("cargo::rerun-if-changed=../memory.x");
    println!("cargo::rustc-check-cfg=cfg(armv8m)");
    let chosen: Vec<_> = BOARDS.iter().filter(|board| is_chosen(board)).collect();
    match chosen[..] {
        [] => {}
        [board] => lay_out(board),
        _ => {
            let names: Vec<_> = chosen.iter().map(|board| board.name).collect();
            panic!("a program is for one board, but the features choose {names:?}");
        }
    }
}

fn is_chosen(board: &Board) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", board.name.to_uppercase().replace('-', "_"))).is_some()
}

fn lay_out(board: &Board) {
    let target = env::var("TARGET").expect("cargo sets TARGET");
    // Or without the hardware's floats.
    let fits = [board.target, board.target.trim_end_matches("hf")].contains(&target.as_str());
    assert!(fits, "{} wants `--target {}`, not {target}", board.name, board.target);
    if board.target == boards::V8 {
        println!("cargo::rustc-cfg=armv8m");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed={}", board.layout);
    fs::copy(board.layout, out.join("board.x")).unwrap_or_else(|error| panic!("{}: {error}", board.layout));
    println!("cargo::rustc-link-search={}", out.display());
    // The root's `memory.x`, so that the linker finds it whatever folder it is started in.
    println!("cargo::rustc-link-search={}", fs::canonicalize("..").expect("the repository").display());
    for argument in ["--nmagic", "-Tlink.x", "-Tdefmt.x"] {
        println!("cargo::rustc-link-arg={argument}");
    }
}
