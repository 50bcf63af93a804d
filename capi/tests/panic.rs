//! A panic goes to the user's hook. Alone in its program: the hook holds for all of it.

use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use foretune_c::foretune_on_panic;

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
