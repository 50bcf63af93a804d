//! Ctrl-C and termination: finish the query at hand, keep what is finished, leave.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use host_sim::words::say;

static STOP: AtomicBool = AtomicBool::new(false);
static LISTENING: OnceLock<bool> = OnceLock::new();

/// A flag that is set when the user wants the program to stop. A second Ctrl-C ends it at once, which loses no
/// finished task either.
pub fn stop_flag() -> &'static AtomicBool {
    // Without a handler, Ctrl-C ends the program at once: as safe, only less polite.
    LISTENING.get_or_init(|| ctrlc::set_handler(requested).is_ok());
    &STOP
}

fn requested() {
    if STOP.swap(true, Ordering::Relaxed) {
        std::process::exit(130);
    }
    say("stopping; finished tasks are kept");
}
