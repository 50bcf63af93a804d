//! Ctrl-C and termination: finish the query at hand, keep what is finished, leave.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use host_sim::words::say;

static STOP: AtomicBool = AtomicBool::new(false);
static LISTENING: OnceLock<bool> = OnceLock::new();

/// A flag that is set when the user wants the program to stop; what becomes of the work is said then. A second Ctrl-C ends
/// it at once, which loses nothing that is kept.
pub fn stop_flag(kept: &'static str) -> &'static AtomicBool {
    let requested = move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        say(&format!("stopping; {kept}"));
    };
    // Without a handler, Ctrl-C ends the program at once: as safe, only less polite.
    LISTENING.get_or_init(|| ctrlc::set_handler(requested).is_ok());
    &STOP
}
