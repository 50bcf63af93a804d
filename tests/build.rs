//! Cuts the Rust snippets out of the guides and read-mes, for `guides.rs` to compile and run.
//!
//! The n-th of `docs/guide/firmware.md` becomes `firmware_n.rs`, as it stands, and `firmware_n.block.rs`, in braces.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut names = String::new();
    for file in pages() {
        println!("cargo::rerun-if-changed={}", file.display());
        let text = fs::read_to_string(&file).expect("a page that was just listed");
        for (snippet, number) in snippets(&text).iter().zip(1..) {
            let name = format!("{}_{number}", stem(&file));
            fs::write(out.join(format!("{name}.rs")), snippet).expect("a file in OUT_DIR");
            fs::write(out.join(format!("{name}.block.rs")), format!("{{\n{snippet}}}\n")).expect("the same");
            names += &format!("{name}\n");
        }
    }
    fs::write(out.join("snippets.txt"), names).expect("a file in OUT_DIR");
}

/// All pages that users read, in a fixed order.
fn pages() -> Vec<PathBuf> {
    let root = Path::new("..");
    let mut pages: Vec<PathBuf> =
        ["", "core", "firmware", "link"].map(|p| root.join(p).join("README.md")).into();
    for folder in ["docs", "docs/guide"].map(|folder| root.join(folder)) {
        println!("cargo::rerun-if-changed={}", folder.display());
        let entries = fs::read_dir(folder).expect("a folder of the repository");
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
        found.sort();
        pages.extend(found);
    }
    pages
}

/// `firmware` of `docs/guide/firmware.md`, `core_readme` of `core/README.md`.
fn stem(file: &Path) -> String {
    let parts: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().to_lowercase()).collect();
    match &parts[..] {
        [.., folder, name] if name == "readme" && folder != ".." => format!("{folder}_{name}"),
        [.., name] => name.clone(),
        [] => String::new(),
    }
}

/// What lies between "```rust" and "```".
fn snippets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line.starts_with("```rust")) {
        found
            .push(lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect());
    }
    found
}
