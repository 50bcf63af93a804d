//! `foretune`: the host simulator. Everything is in the library; see [`host_sim::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    host_sim::cli::main()
}
