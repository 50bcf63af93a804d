//! The library for C: built, tried from C and C++ on this host and on a bare emulated board, and put together for a release.
//!
//! Every program runs the same scene (`capi/examples/tune.c`), and must print what `capi/examples/reference.rs`, the same scene
//! by the Rust library, prints: a digest of all queries.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::board::{PROFILE, V7, V8, find};
use crate::error::{Error, Verdict, ensure};
use crate::hil::{self, Plan};
use crate::map::Elf;
use crate::qemu;
use crate::shell::{host_built, read, root, run, target_dir};
use crate::tools::Tools;

/// Targets that a release is made for.
pub const TARGETS: [&str; 2] = [V7, V8];

pub const LIBRARY: &str = "libforetune_c.a";
/// What Rust's standard library wants of this host.
pub const NATIVE: [&str; 3] = ["-lpthread", "-ldl", "-lm"];
pub const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
/// A Cortex-M4F, and no C library.
pub const BARE: [&str; 9] = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfloat-abi=hard",
    "-mfpu=fpv4-sp-d16",
    "-Os",
    "-ffreestanding",
    "-nostdlib",
    "-ffunction-sections",
    "-fdata-sections",
];

/// The same as static library only: with another kind beside it, there would be no link-time optimisation.
pub const KIND: [&str; 5] = ["--package", "foretune-c", "--lib", "--crate-type", "staticlib"];

/// `cargo xtask c --target <target>`: leaves header, library and licences in `target/c/<target>`.
pub fn release(target: &'static str) -> Result<(), Error> {
    let folder = release_with(&Tools::default(), target)?;
    println!("{}", folder.display());
    Ok(())
}

pub fn release_with(tools: &Tools, target: &'static str) -> Result<PathBuf, Error> {
    let toolchain = tools.board_toolchain(target)?;
    run(toolchain.cargo("rustc").args(KIND).args(["--profile", PROFILE]))?;
    let folder = target_dir().join("c").join(target);
    std::fs::create_dir_all(&folder)?;
    std::fs::copy(toolchain.output().join(PROFILE).join(LIBRARY), folder.join(LIBRARY))?;
    for file in ["capi/foretune.h", "LICENSE-MIT", "LICENSE-APACHE"] {
        let (from, name) = (root().join(file), Path::new(file).file_name().expect("a file"));
        std::fs::copy(from, folder.join(name))?;
    }
    Ok(folder)
}

/// The step: from C, from C++ and on a bare board, the queries are those of the Rust library.
pub fn check(tools: &Tools) -> Verdict {
    let expected = reference()?;
    let library = host_built(LIBRARY)?;
    for (compiler, standard) in [("cc", &["-std=c11"][..]), ("c++", &["-std=c++17", "-x", "c++"])] {
        same(compiler, &expected, &on_host(tools, compiler, standard, &library)?)?;
    }
    let elf = on_board(tools, &["tune.c", "sizes.c", "board/main.c"], "main")?;
    let said = qemu::output(&tools.qemu()?, find("mps2-an386")?, &elf, 300, &[])?;
    same("the board", &format!("{expected}\ntwo resets"), &said)?;
    let [c, rust] = flash(tools)?;
    Ok(format!("flash of the minimal program: {c} bytes in C, {rust} in Rust"))
}

pub fn same(what: &str, expected: &str, said: &str) -> Result<(), Error> {
    println!("{what}:\n{said}");
    ensure!(said == expected, "{what} says\n{said}\nbut the Rust library\n{expected}");
    Ok(())
}

pub fn reference() -> Result<String, Error> {
    let mut reference = Command::new(host_built("examples/reference")?);
    read(&mut reference).ok_or_else(|| Error::failed("the reference did not run"))
}

pub fn examples() -> PathBuf {
    root().join("capi/examples")
}

/// Builds the scene on this host and runs it.
fn on_host(
    tools: &Tools,
    compiler: &'static str,
    standard: &[&str],
    library: &Path,
) -> Result<String, Error> {
    let folder = target_dir().join("c").join("host");
    std::fs::create_dir_all(&folder)?;
    let program = folder.join(format!("tune-{compiler}"));
    let mut compile = Command::new(tools.host_compiler(compiler)?);
    compile
        .current_dir(examples())
        .args(standard)
        .args(WARNINGS)
        .args(["-I", "..", "tune.c", "sizes.c", "host.c"]);
    // What follows is no source.
    compile.args(["-x", "none"]).arg(library).args(NATIVE).arg("-o").arg(&program);
    run(&mut compile)?;
    read(&mut Command::new(&program)).ok_or_else(|| Error::failed(format!("{compiler}: the program failed")))
}

/// Builds a program for a bare Cortex-M4F.
pub fn on_board(tools: &Tools, sources: &[&str], name: &str) -> Result<PathBuf, Error> {
    let release = release_with(tools, V7)?;
    let program = target_dir().join("c").join(format!("{name}.elf"));
    let mut compile = Command::new(tools.arm_compiler()?);
    compile.current_dir(examples()).arg("-std=c11").args(WARNINGS).args(BARE).arg("-I").arg(&release);
    compile.args(sources).args(["board/board.c", "-T", "board/board.ld", "-Wl,--gc-sections,-z,noexecstack"]);
    run(compile.arg(release.join(LIBRARY)).arg("-o").arg(&program))?;
    Ok(program)
}

/// Most that the program in C may take of flash beyond the one in Rust.
const MORE_FLASH: u64 = 4096;

/// Bytes of flash of the minimal program: in C, in Rust.
pub fn flash(tools: &Tools) -> Result<[u64; 2], Error> {
    let board = find("mps2-an386")?;
    let c = on_board(tools, &["minimal.c"], "minimal")?;
    let said = qemu::output(&tools.qemu()?, board, &c, 300, &[])?;
    let found = said.lines().filter(|line| line.contains("found")).count();
    ensure!(found == 2, "the minimal program in C: {said}");
    let rust = Elf::read(&board.build_example(tools, "minimal", &[])?)?.flash();
    let c = Elf::read(&c)?.flash();
    ensure!(c <= rust + MORE_FLASH, "the minimal program takes {c} bytes in C, {rust} in Rust");
    Ok([c, rust])
}

/// Where the example of control loops is built.
pub fn pid_program() -> PathBuf {
    target_dir().join("c/host/pid")
}

/// The step `pid`: the example of control loops prints the same trials in C and in Rust, its table stands in the guide, and an
/// emulated board tunes one.
pub fn pid(tools: &Tools) -> Verdict {
    let (library, program) = (host_built(LIBRARY)?, pid_program());
    let mut compile = Command::new(tools.host_compiler("cc")?);
    compile.current_dir(root()).args(["-std=c11", "-O2", "-ffp-contract=off"]).args(WARNINGS);
    compile.args(["-I", "capi", "examples/pid.c"]).arg(library).args(NATIVE).arg("-o").arg(&program);
    std::fs::create_dir_all(target_dir().join("c/host"))?;
    run(&mut compile)?;
    let [c, rust] = [program, target_dir().join("debug/examples/pid")].map(|program| {
        let said = read(Command::new(&program).env("PID_TRIALS", "1"));
        said.ok_or_else(|| Error::failed(format!("{} failed", program.display())))
    });
    let (c, rust) = (c?, rust?);
    let other = c.lines().zip(rust.lines()).find(|(c, rust)| c != rust);
    ensure!(c == rust, "C and Rust part at {other:?}");
    let (trials, table) = c.lines().partition::<Vec<_>, _>(|line| line.starts_with("trial"));
    let table = table.join("\n");
    let page = std::fs::read_to_string(root().join("docs/guide/c.md"))?;
    ensure!(page.contains(&table), "docs/guide/c.md does not have\n{table}");
    let plan = Plan { pid: true, ..Plan::new("mps2-an386", "compact", 1, 40) };
    let board = hil::play(tools, &plan, &hil::station()?)?;
    Ok(format!("{} trials in C as in Rust; {board}", trials.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page has the very commands: word for word what this runs.
    #[test]
    fn the_guide_has_the_options_that_are_tested() {
        let page = std::fs::read_to_string(root().join("docs/guide/c.md")).unwrap();
        for words in [&WARNINGS[..], &BARE, &NATIVE] {
            assert!(page.contains(&words.join(" ")), "{words:?}");
        }
        for word in ["-std=c11", "-std=c++17", "-Wl,--gc-sections,-z,noexecstack", LIBRARY, V7] {
            assert!(page.contains(word), "{word}");
        }
    }

    /// What the page shows of a program is in the program.
    #[test]
    fn the_guides_program_is_the_one_that_is_run() {
        let page = std::fs::read_to_string(root().join("docs/guide/c.md")).unwrap();
        let program = std::fs::read_to_string(examples().join("minimal.c")).unwrap();
        let shown = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        assert!(program.contains(shown), "{shown}");
    }
}
