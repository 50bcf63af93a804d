//! Gives the linker the memory layout of the chosen board.
//!
//! `memory.x` in the repository's root says `INCLUDE board.x`; this puts the layout of the board whose feature is on
//! into `OUT_DIR/board.x` and adds the linker scripts of `cortex-m-rt` and `defmt`.

use std::path::PathBuf;
use std::{env, fs};

const BOARDS: [&str; 3] = ["mps2-an500", "mps2-an386", "nucleo-h7a3zi"];

fn main() {
    println!("cargo::rerun-if-changed=boards");
    println!("cargo::rerun-if-changed=../memory.x");
    let chosen: Vec<_> = BOARDS.into_iter().filter(|board| is_chosen(board)).collect();
    match chosen[..] {
        [] => {}
        [board] => lay_out(board),
        _ => panic!("a program is for one board, but the features choose {chosen:?}"),
    }
}

fn is_chosen(board: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", board.to_uppercase().replace('-', "_"))).is_some()
}

fn lay_out(board: &str) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let layout = PathBuf::from("boards").join(board).with_extension("x");
    fs::copy(&layout, out.join("board.x")).unwrap_or_else(|error| panic!("{}: {error}", layout.display()));
    println!("cargo::rustc-link-search={}", out.display());
    // The root's `memory.x`, so that the linker finds it whatever folder it is started in.
    println!("cargo::rustc-link-search={}", fs::canonicalize("..").expect("the repository").display());
    for argument in ["--nmagic", "-Tlink.x", "-Tdefmt.x"] {
        println!("cargo::rustc-link-arg={argument}");
    }
}
