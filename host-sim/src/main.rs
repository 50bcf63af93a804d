//! `foretune`: the host simulator. Everything is in the library; see [`host_sim::cli`].

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(advice) = host_sim::processor::missing() {
        std::io::stderr().write_all(advice.as_bytes()).ok();
        return ExitCode::FAILURE;
    }
    host_sim::cli::main()
}
