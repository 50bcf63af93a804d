//! `cargo xtask test`: every test there is, in the order in which a failure is cheapest to learn of.

use std::io::{BufRead, BufReader, Write};
use std::iter::repeat;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::board::{BOARDS, PROFILE, V7, V8, Variant, find};
use crate::error::{Error, Verdict, ensure};
use crate::qemu::{self, Device};
use crate::selftest::{drivers, selftest};
use crate::shell::{cargo, host_built, is_ci, read, root, run};
use crate::tools::Tools;
use crate::{c, count, dist, disturbed, hil, map, panics, python, size, stations};

/// One thing that `cargo xtask test` does.
pub struct Step {
    /// Short name, also the word that selects it on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    about: &'static str,
    run: fn(&Tools) -> Verdict,
}

/// A row of the table of steps.
const fn step(name: &'static str, about: &'static str, run: fn(&Tools) -> Verdict) -> Step {
    Step { name, about, run }
}

/// All steps. A new one is a line here and a function below.
pub const STEPS: &[Step] = &[
    step("format", "the code is formatted", format),
    step("lint", "clippy has nothing to say", lint),
    step("unsafe", "no `unsafe` but in the boards' files, the library for C and what tries it", no_unsafe),
    step("host", "tests of core, link, simulator and programs", host),
    step("python", "the wheel, installed: the queries of the program, one call, Optuna", python::check),
    step("bench", "the benchmarks run, each once: no time is judged", bench),
    step("firmware", "the firmware's own tests, on mock hardware", firmware),
    step("fuzz", "every fuzz target on a fixed number of inputs", fuzz),
    step("xtask", "tests of these commands", xtask),
    step("doc", "the documentation builds without warnings", doc),
    step("package", "the guide's program compiles with the packaged crates alone", dist::package),
    step("core", "the core builds for a board, without std and without allocator", core),
    step("boards", "the firmware builds for every board, and clippy has nothing to say", boards),
    step("map", "every memory map fits its chip", map::check_all),
    step("size", "every program is within its budget", size::check_all),
    step("panics", "every place that could panic is accounted for", panics::check),
    step("selftest", "line, clock, flash, faults and power cuts on emulated boards", selftest),
    step("drivers", "the real boards' own drivers, where an emulator of their chips can be had", drivers),
    step("minimal", "the core in a bare program of sixty lines, emulated", minimal),
    step("tasks", "the core beside other tasks of an executor, emulated and for a real board", tasks),
    step("c", "from C, from C++ and on a bare board: the queries of the Rust library", c::check),
    step(
        "install",
        "CMake, pkg-config and an Arduino sketch with the library as it is installed",
        dist::check,
    ),
    step(
        "pid",
        "control loops tuned from C, from Rust and by an emulated board: the table in the guide",
        c::pid,
    ),
    step("count", "no count of instructions on the Cortex-M7 has grown by more than 5 %", count::check),
    step("hil", "emulated boards tune tasks, bit for bit as this host would", hil::check_all),
    step("key", "an emulated board with a key: another key and a recording are refused", stations::key),
    step(
        "station",
        "a station in Python recommends what ours does, on a board and on this host",
        stations::foreign,
    ),
    step("power", "power failures while an emulated board tunes", disturbed::power),
    step("line", "a bad line and restarts of either side meanwhile", disturbed::line),
];

/// Runs all steps, or those named, in order; one that fails does not stop the next. A step that could not run is a failure in
/// continuous integration only.
pub fn test(names: &[String]) -> Result<(), Error> {
    let tools = Tools::default();
    let (mut table, mut counts) = (String::new(), [0; 3]);
    for step in STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)) {
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let (which, word, remark) = match (step.run)(&tools) {
            Ok(remark) => (0, "ok", remark),
            Err(Error::Failed(why)) => (1, "FAILED", why),
            Err(Error::Missing(why)) => (2, "NOT RUN", why),
        };
        counts[which] += 1;
        let seconds = start.elapsed().as_secs_f32();
        let line = format!("{:<9} {word:<7} {seconds:>6.1} s  {remark}", step.name);
        table += &format!("{}\n", line.trim_end());
    }
    let [passed, failed, missing] = counts;
    println!("\n{table}\n{passed} passed, {failed} failed, {missing} could not run");
    ensure!(failed == 0 && (missing == 0 || !is_ci()), "not all is well");
    Ok(())
}

/// The steps' names and what they show, a line each.
pub fn list() -> String {
    STEPS.iter().map(|step| format!("  {:<10} {}\n", step.name, step.about)).collect()
}

/// Runs cargo with these words.
fn with_cargo(words: &[&str]) -> Verdict {
    run(cargo().args(words)).map(|()| String::new())
}

fn format(tools: &Tools) -> Verdict {
    tools.component("rustfmt", "fmt")?;
    with_cargo(&["fmt", "--all", "--check"])
}

/// What the firmware can have on this host.
const FIRMWARE: &str = "foretune-firmware/key,foretune-firmware/sim";

fn lint(tools: &Tools) -> Verdict {
    tools.component("clippy", "clippy")?;
    with_cargo(&["clippy", "--workspace", "--all-targets", "--features", FIRMWARE, "--", "-D", "warnings"])
}

/// Where `unsafe` is allowed beside the library for C: what talks to hardware, and what tries that library.
const ALLOWED: [&str; 2] = ["firmware/src/boards/mod.rs", "fuzz/src/capi.rs"];

/// The compiler refuses `unsafe` in every package; here it is seen that nobody tells it otherwise.
fn no_unsafe(_: &Tools) -> Verdict {
    let grep = |words: &[&str]| {
        let found = read(Command::new("git").args(["grep", "-l"]).args(words).current_dir(root()));
        found.ok_or_else(|| Error::missing("git finds nothing: is this a clone?"))
    };
    for manifest in grep(&["^\\[package\\]", "--", "*/Cargo.toml", ":!capi"])?.lines() {
        let text = std::fs::read_to_string(root().join(manifest))?;
        let refusals = ["[lints]\nworkspace = true", "\nunsafe_code = \"deny\""];
        ensure!(refusals.iter().any(|words| text.contains(words)), "{manifest} does not refuse `unsafe`");
    }
    let allowed = grep(&["allow(unsafe_code", "--", "*.rs", ":!xtask"])?;
    ensure!(allowed.lines().eq(ALLOWED), "`unsafe` is allowed in {allowed:?}, not in {ALLOWED:?}");
    Ok(format!("allowed in capi, {}", ALLOWED.join(", ")))
}

fn host(_: &Tools) -> Verdict {
    with_cargo(&["test"])
}

/// As tests are built: nothing is compiled for this alone.
fn bench(_: &Tools) -> Verdict {
    with_cargo(&["test", "--bench", "time"])?;
    run(Command::new(host_built("foretune-paper")?).args(["bench", "--patience", "0"]))?;
    Ok(String::new())
}

fn firmware(_: &Tools) -> Verdict {
    run(firmware_and_fuzz("test").arg("--lib")).map(|()| String::new())
}

/// The step: what once failed, the seeds, and a fixed number of inputs for every target.
fn fuzz(_: &Tools) -> Verdict {
    run(firmware_and_fuzz("test").args(["--test", "fixed", "--", "--nocapture"])).map(|()| String::new())
}

/// Both together have the features of `cargo test`, so that nothing is compiled twice.
pub fn firmware_and_fuzz(subcommand: &str) -> Command {
    let mut command = cargo();
    command.args([subcommand, "--package", "foretune-firmware", "--package", "foretune-fuzz"]);
    command.args(["--features", FIRMWARE]);
    command
}

fn xtask(_: &Tools) -> Verdict {
    with_cargo(&["test", "--package", "xtask"])
}

fn doc(_: &Tools) -> Verdict {
    // As clippy saw them: what it has checked is not checked again. In the workspace the core has its internals; alone, links to
    // them are broken.
    let mut all = cargo();
    clippy_as_compiler(&mut all, "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    all.args(["doc", "--no-deps", "--workspace", "--features", FIRMWARE]);
    let mut core = cargo();
    core.args(["doc", "--no-deps", "--package", "foretune-core"]);
    for mut command in [all, core] {
        run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(String::new())
}

fn core(tools: &Tools) -> Verdict {
    let mut remarks = Vec::new();
    for target in [V7, V8] {
        let toolchain = tools.board_toolchain(target)?;
        run(toolchain.cargo("build").args(["--package", "foretune-core", "--profile", PROFILE]))?;
        remarks.push(toolchain.to_string());
    }
    Ok(remarks.join("; "))
}

/// Has clippy take the compiler's place for our packages, as `cargo clippy` does.
fn clippy_as_compiler(command: &mut Command, arguments: &str) {
    let sysroot = read(Command::new("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    command.env("RUSTC_WORKSPACE_WRAPPER", format!("{sysroot}/bin/clippy-driver"));
    command.env("CLIPPY_ARGS", arguments);
}

/// What clippy looks at need not be fast.
const NOT_OPTIMISED: &str = "-Dwarnings__CLIPPY_HACKERY__-Copt-level=0__CLIPPY_HACKERY__";

/// Linking any of these programs also shows that nothing in them wants an allocator: none is given.
fn boards(tools: &Tools) -> Verdict {
    let mut linted = true;
    for (board, programs) in BOARDS.iter().zip([&["--bins"][..]].into_iter().chain(repeat(&[][..]))) {
        board.build_all(tools, board.programs, &Variant::from_environment())?;
        let toolchain = tools.board_toolchain(board.target)?;
        linted &= toolchain.can_lint();
        if toolchain.can_lint() {
            tools.component("clippy", "clippy")?;
            // With `build`, so that it takes the libraries that were just built, where `check` would compile every driver again.
            // Programs are the same for all boards.
            let mut lint = toolchain.cargo("build");
            clippy_as_compiler(&mut lint, NOT_OPTIMISED);
            lint.args([
                "--package",
                "foretune-firmware",
                "--profile",
                PROFILE,
                "--features",
                board.name,
                "--lib",
            ]);
            run(lint.args(programs))?;
        }
    }
    Ok(if linted { String::new() } else { "without clippy, which this toolchain lacks".into() })
}

/// The step `minimal`: the core in a bare program finds what it should in both of its tasks.
fn minimal(tools: &Tools) -> Verdict {
    let board = find(TRIED[0])?;
    let said = qemu::output(&tools.qemu()?, board, &board.build_example(tools, "minimal", &[])?, 60, &[])?;
    println!("{said}");
    let found = said.lines().filter(|line| line.contains("found")).count();
    ensure!(found == 2, "{found} of 2 tasks came to an end");
    Ok(String::new())
}

/// The emulated board, and a real one that it is built for.
const TRIED: [&str; 2] = ["mps2-an386", "nucleo-f446re"];
/// How long the device may work without an echo: as long as a whole task in one go takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Fewest times that the LED must have been switched, and lines echoed, while the tuner worked.
const FEWEST: u32 = 10;

/// The step `tasks`: everybody goes on, and what the tuner learns is what it learns in one go.
fn tasks(tools: &Tools) -> Verdict {
    let build = |name| find(name)?.build_example(tools, "tasks", &["tasks"]);
    build(TRIED[1])?;
    let (elf, folder) = (build(TRIED[0])?, tempfile::tempdir()?);
    let mut device = Device::new(tools, find(TRIED[0])?, &elf, folder.path())?;
    // So that the watchdog's patience does not depend on how busy this machine is.
    device.count_instructions = true;
    let running = device.start()?;
    let mut line = running.connect()?;
    line.set_read_timeout(Some(PATIENCE))?;
    let mut answers = BufReader::new(line.try_clone()?).lines();
    let mut echoed = 0;
    let report = loop {
        writeln!(line, "{echoed}")?;
        match answers.next().ok_or_else(|| Error::failed("the line was closed"))?? {
            answer if answer == echoed.to_string() => echoed += 1,
            report => break report,
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    running.kill()?;
    judge(&report, echoed)?;
    Ok(format!("{report}, {echoed} lines echoed meanwhile; built for {}", TRIED[1]))
}

fn judge(report: &str, echoed: u32) -> Result<(), Error> {
    let value = |name: &str| {
        let word = report.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        word.ok_or_else(|| Error::failed(format!("no `{name}` in `{report}`")))
    };
    let switched: u32 = value("switched")?.parse().map_err(|_| Error::failed(format!("`{report}`?")))?;
    let same = value("learnt")? == value("in_one_go")?;
    ensure!(same, "slices and one go teach another thing: {report}");
    ensure!(switched.min(echoed) >= FEWEST, "the others had to wait: {report}, {echoed} lines echoed");
    Ok(())
}
