//! The header is what `cbindgen` makes of the source, but for the order of types that do not need each other: that is
//! by chance, another one from run to run.

use std::path::Path;

/// With `UPDATE_HEADER=1`, writes it.
#[test]
fn the_header_is_made_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::generate_with_config(folder, config).unwrap().write(&mut made);
    let (path, made) = (folder.join("foretune.h"), String::from_utf8(made).unwrap());
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(!made.contains("(null)"), "a constant that C cannot have: cbindgen:ignore");
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        declarations(&kept) == declarations(&made),
        "UPDATE_HEADER=1 cargo test -p foretune-c --test header"
    );
}

/// What stands between empty lines, sorted.
fn declarations(header: &str) -> Vec<&str> {
    let mut declarations: Vec<_> = header.split("\n\n").collect();
    declarations.sort_unstable();
    declarations
}
