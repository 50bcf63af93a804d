//! `cargo xtask test`: every test there is, in the order in which a failure is cheapest to learn of.

use crate::board::{BOARDS, V7, V8};
use crate::error::Error;
use crate::selftest::selftest;
use crate::shell::{cargo, is_ci, run};
use crate::step::{Report, Step, Verdict};
use crate::tools::Tools;
use crate::{
    c, count, disturbed, fuzz, hil, keyed, map, minimal, panics, python_station, size, tasks, unsafety,
};

/// All steps. A new one is a line here and a function below.
pub const STEPS: &[Step] = &[
    Step { name: "format", about: "the code is formatted", run: format },
    Step { name: "lint", about: "clippy has nothing to say", run: lint },
    Step {
        name: "unsafe",
        about: "no `unsafe` but in the boards' files and the library for C",
        run: unsafety::check,
    },
    Step { name: "host", about: "tests of core, link and simulator", run: host },
    Step { name: "bench", about: "the benchmarks run, each once: no time is judged", run: bench },
    Step { name: "firmware", about: "the firmware's own tests, on mock hardware", run: firmware },
    Step { name: "fuzz", about: "every fuzz target on a fixed number of inputs", run: fuzz::check },
    Step { name: "xtask", about: "tests of these commands", run: xtask },
    Step { name: "doc", about: "the documentation builds without warnings", run: doc },
    Step { name: "core", about: "the core builds for a board, without std and without allocator", run: core },
    Step {
        name: "boards",
        about: "the firmware builds for every board, and clippy has nothing to say",
        run: boards,
    },
    Step { name: "map", about: "every memory map fits its chip", run: map::check_all },
    Step { name: "size", about: "every program is within its budget", run: size::check_all },
    Step { name: "panics", about: "every place that could panic is accounted for", run: panics::check },
    Step {
        name: "selftest",
        about: "line, clock, flash, faults and power cuts on emulated boards",
        run: selftest,
    },
    Step {
        name: "minimal",
        about: "the core in a bare program of sixty lines, emulated",
        run: minimal::check,
    },
    Step {
        name: "tasks",
        about: "the core beside other tasks of an executor, emulated and for a real board",
        run: tasks::check,
    },
    Step {
        name: "c",
        about: "from C, from C++ and on a bare board: the queries of the Rust library",
        run: c::check,
    },
    Step {
        name: "count",
        about: "no count of instructions on the Cortex-M7 has grown by more than 5 %",
        run: count::check,
    },
    Step {
        name: "hil",
        about: "emulated boards tune tasks, bit for bit as this host would",
        run: hil::check_all,
    },
    Step {
        name: "key",
        about: "an emulated board with a key: another key and a recording are refused",
        run: keyed::check,
    },
    Step {
        name: "station",
        about: "a station in Python recommends what ours does, on an emulated board and on this host",
        run: python_station::check,
    },
    Step { name: "power", about: "power failures while an emulated board tunes", run: disturbed::power },
    Step { name: "line", about: "a bad line and restarts of either side meanwhile", run: disturbed::line },
];

/// Runs all steps, or those named.
pub fn test(names: &[String]) -> Result<(), Error> {
    let chosen = STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name));
    let report = Report::of(chosen, &Tools::default());
    println!("\n{}\n{}", report.table(), report.summary());
    match report.is_good(is_ci()) {
        true => Ok(()),
        false => Err(Error::failed("not all is well")),
    }
}

/// The steps' names and what they show, a line each.
pub fn list() -> String {
    STEPS.iter().map(|step| format!("  {:<10} {}\n", step.name, step.about)).collect()
}

fn format(tools: &Tools) -> Verdict {
    tools.component("rustfmt", "fmt")?;
    run(cargo().args(["fmt", "--all", "--check"]))?;
    Ok(String::new())
}

fn lint(tools: &Tools) -> Verdict {
    tools.component("clippy", "clippy")?;
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    Ok(String::new())
}

fn host(_: &Tools) -> Verdict {
    run(cargo().arg("test"))?;
    Ok(String::new())
}

fn bench(_: &Tools) -> Verdict {
    run(cargo().args(["bench", "--package", "foretune-core", "--", "--test"]))?;
    run(cargo().args(["run", "--release", "--package", "foretune-paper", "--", "bench", "--patience", "0"]))?;
    Ok(String::new())
}

fn firmware(_: &Tools) -> Verdict {
    run(cargo().args(["test", "--package", "foretune-firmware", "--features", "key"]))?;
    Ok(String::new())
}

fn xtask(_: &Tools) -> Verdict {
    run(cargo().args(["test", "--package", "xtask"]))?;
    Ok(String::new())
}

fn doc(_: &Tools) -> Verdict {
    // In the workspace the core has its internals; alone, links to them are broken.
    for packages in [&["--workspace"][..], &["--package", "foretune-core"]] {
        run(cargo().env("RUSTDOCFLAGS", "-D warnings").args(["doc", "--no-deps"]).args(packages))?;
    }
    Ok(String::new())
}

fn core(tools: &Tools) -> Verdict {
    let mut remarks = Vec::new();
    for target in [V7, V8] {
        let toolchain = tools.board_toolchain(target)?;
        run(toolchain.cargo("build").args(["--package", "foretune-core", "--profile", "firmware-small"]))?;
        remarks.push(toolchain.to_string());
    }
    Ok(remarks.join("; "))
}

/// Linking any of these programs also shows that nothing in them wants an allocator: none is given.
fn boards(tools: &Tools) -> Verdict {
    let mut linted = true;
    for board in BOARDS {
        let toolchain = tools.board_toolchain(board.target)?;
        board.build(tools, "selftest")?;
        linted &= toolchain.can_lint();
        if toolchain.can_lint() {
            tools.component("clippy", "clippy")?;
            let mut clippy = toolchain.cargo("clippy");
            clippy.args([
                "--package",
                "foretune-firmware",
                "--profile",
                "firmware-small",
                "--features",
                board.name,
            ]);
            run(clippy.args(["--no-deps", "--lib", "--bins", "--", "-D", "warnings"]))?;
        }
    }
    Ok(if linted { String::new() } else { "without clippy, which this toolchain lacks".into() })
}
