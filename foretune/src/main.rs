//! The program `foretune`. Everything is in the library; see [`foretune::cli`].

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(advice) = foretune::processor::missing() {
        std::io::stderr().write_all(advice.as_bytes()).ok();
        return ExitCode::FAILURE;
    }
    ExitCode::from(foretune::cli::run(std::env::args_os().collect()))
}
