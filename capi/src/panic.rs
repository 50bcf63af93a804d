//! No panic crosses the border: it goes to a hook of the user's, and then nothing goes on.

use core::ffi::c_char;
use core::sync::atomic::{AtomicPtr, Ordering};

/// What is called on a panic, an error of the library that should not be possible: the file (not terminated by a zero), the
/// length of its name, and the line. It should not return: reset, or stop. If it does, the library stops.
pub type foretune_panic_hook = Option<unsafe extern "C" fn(file: *const c_char, length: usize, line: u32)>;

/// A [`foretune_panic_hook`], or null.
static HOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Says what is called on a panic; null: nothing. It holds for all tuners.
#[unsafe(no_mangle)]
pub extern "C" fn foretune_on_panic(hook: foretune_panic_hook) {
    HOOK.store(hook.map_or(core::ptr::null_mut(), |hook| hook as *mut ()), Ordering::Relaxed);
    #[cfg(not(target_os = "none"))]
    std::panic::set_hook(std::boxed::Box::new(|info| {
        let place = info.location();
        std::eprintln!("{info}");
        call(place.map_or("", |place| place.file()), place.map_or(0, |place| place.line()));
    }));
}

fn call(file: &str, line: u32) {
    let hook = HOOK.load(Ordering::Relaxed);
    if !hook.is_null() {
        // SAFETY: nothing but null and a function of this type is ever stored.
        let hook: unsafe extern "C" fn(*const c_char, usize, u32) = unsafe { core::mem::transmute(hook) };
        // SAFETY: the function is the user's, who said that it may be called; the pointer is good for `length` bytes.
        unsafe { hook(file.as_ptr().cast(), file.len(), line) };
    }
}

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let place = info.location();
    call(place.map_or("", |place| place.file()), place.map_or(0, |place| place.line()));
    loop {
        core::hint::spin_loop();
    }
}
