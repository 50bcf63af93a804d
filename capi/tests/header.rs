//! The header is what `cbindgen` makes of the source, but for the order of types that do not need each other: that is
//! by chance, another one from run to run. And a panic goes to the user's hook: here, since the hook holds for a whole program,
//! and nothing else panics in this one.

use std::ffi::c_char;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use foretune_c::foretune_on_panic;

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

static LENGTH: AtomicUsize = AtomicUsize::new(0);
static LINE: AtomicU32 = AtomicU32::new(0);

extern "C" fn hook(file: *const c_char, length: usize, line: u32) {
    assert!(!file.is_null());
    LENGTH.store(length, Ordering::Relaxed);
    LINE.store(line, Ordering::Relaxed);
}

#[test]
fn the_hook_learns_where_it_was_and_can_be_taken_back() {
    foretune_on_panic(Some(hook));
    let here = line!() + 1;
    assert!(std::panic::catch_unwind(|| panic!("on purpose")).is_err());
    assert_eq!((LENGTH.load(Ordering::Relaxed), LINE.load(Ordering::Relaxed)), (file!().len(), here));
    foretune_on_panic(None);
    assert!(std::panic::catch_unwind(|| panic!("on purpose again")).is_err());
    assert_eq!(LINE.load(Ordering::Relaxed), here, "not called any more");
}
