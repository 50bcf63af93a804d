//! `cargo xtask dist`: all of a release in one folder, where CMake and pkg-config find the library, too; and what goes to the
//! registry, tried in an empty folder outside the workspace.

use std::fs::{copy, create_dir_all, read_to_string, write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::board::{V7, Variant, find, probed};
use crate::c::{self, BARE, KIND, LIBRARY, NATIVE, TARGETS, WARNINGS, examples, reference, same};
use crate::error::{Error, Verdict, ensure};
use crate::shell::{cargo, host_built, plain_cargo, read, root, run, target_dir};
use crate::tools::{Tools, crates_io};
use crate::{python, qemu};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The Arduino folders of the library for Cortex-M4F and M7, which is the same: its floats are of single precision.
const ARDUINO: [[&str; 2]; 2] = [["cortex-m4", "fpv4-sp-d16"], ["cortex-m7", "fpv5-d16"]];

/// The command: program, library for C with this host and the boards, Arduino library, wheel, firmware, checksums.
pub fn dist() -> Result<(), Error> {
    let tools = Tools::default();
    let folder = target_dir().join("dist").join(format!("foretune-{VERSION}"));
    std::fs::remove_dir_all(&folder).ok();
    run(cargo().args(["build", "--release", "--package", "foretune"]))?;
    put(&target_dir().join("release/foretune"), &folder.join("bin/foretune"))?;
    run(cargo().arg("rustc").args(KIND).arg("--release"))?;
    install(&folder, &target_dir().join("release").join(LIBRARY))?;
    for target in TARGETS {
        board_library(&tools, target, &folder)?;
    }
    arduino(&folder)?;
    python::wheel("release", &folder.join("wheel"))?;
    for board in probed() {
        // Without the key that the environment may name.
        let images = board.build_all(&tools, board.programs, &Variant::default())?;
        for (image, program) in images.iter().zip(board.programs) {
            put(image, &folder.join(format!("firmware/{}-{program}.elf", board.name)))?;
        }
    }
    let sums = "find . -type f ! -name SHA256SUMS | sort | xargs sha256sum > SHA256SUMS";
    run(Command::new("sh").args(["-c", sums]).current_dir(&folder))?;
    println!("{}", folder.display());
    Ok(())
}

/// Copies a file to where a folder may have to be made; in what stands in `capi/package`, the version is filled in.
fn put(from: &Path, to: &Path) -> Result<(), Error> {
    create_dir_all(to.parent().expect("a file"))?;
    if from.starts_with(root().join("capi/package")) {
        write(to, read_to_string(from)?.replace("@VERSION@", VERSION))?;
    } else {
        copy(from, to)?;
    }
    Ok(())
}

/// Header, this host's library, and what CMake and pkg-config look for.
fn install(folder: &Path, library: &Path) -> Result<(), Error> {
    put(library, &folder.join("lib").join(LIBRARY))?;
    for (from, to) in [
        ("capi/foretune.h", "include/foretune.h"),
        ("capi/package/ForetuneConfig.cmake", "lib/cmake/Foretune/ForetuneConfig.cmake"),
        ("capi/package/ForetuneConfigVersion.cmake", "lib/cmake/Foretune/ForetuneConfigVersion.cmake"),
        ("capi/package/foretune.pc", "lib/pkgconfig/foretune.pc"),
        ("LICENSE-MIT", "share/foretune/LICENSE-MIT"),
        ("LICENSE-APACHE", "share/foretune/LICENSE-APACHE"),
    ] {
        put(&root().join(from), &folder.join(to))?;
    }
    Ok(())
}

fn board_library(tools: &Tools, target: &'static str, folder: &Path) -> Result<(), Error> {
    put(&c::release_with(tools, target)?.join(LIBRARY), &folder.join("lib").join(target).join(LIBRARY))
}

/// The Arduino library, from what is installed already; what its boards say is the folder's name.
fn arduino(folder: &Path) -> Result<PathBuf, Error> {
    let (arduino, package) = (folder.join("arduino/Foretune"), root().join("capi/package"));
    put(&package.join("library.properties"), &arduino.join("library.properties"))?;
    put(&package.join("Tune/Tune.ino"), &arduino.join("examples/Tune/Tune.ino"))?;
    put(&folder.join("include/foretune.h"), &arduino.join("src/foretune.h"))?;
    for [mcu, fpu] in ARDUINO {
        let library = arduino.join(format!("src/{mcu}/{fpu}-hard")).join(LIBRARY);
        put(&folder.join("lib").join(V7).join(LIBRARY), &library)?;
    }
    Ok(arduino)
}

/// The step: the examples built by CMake and with pkg-config, and the sketch, from an installed folder and nothing else.
pub fn check(tools: &Tools) -> Verdict {
    let folder = tempfile::tempdir()?;
    let prefix = folder.path().join("installed");
    install(&prefix, &host_built(LIBRARY)?)?;
    board_library(tools, V7, &prefix)?;
    let expected = reference()?;
    same("CMake", &expected, &with_cmake(tools, folder.path(), &prefix)?)?;
    same("pkg-config", &expected, &with_pkg_config(tools, folder.path(), &prefix)?)?;
    let arduino = arduino(&prefix)?;
    for (cpu, board) in ARDUINO.into_iter().zip(["mps2-an386", "mps2-an500"]) {
        let elf = sketch(tools, &arduino, cpu, folder.path())?;
        let said = qemu::output(&tools.qemu()?, find(board)?, &elf, 120, &[])?;
        let near = said.parse().is_ok_and(|duty: i32| (130..=150).contains(&duty));
        ensure!(near, "the sketch on {board} says {said}, not some 140");
    }
    Ok(String::new())
}

/// Builds for a board, which is only linked, and for this host; what the latter says.
fn with_cmake(tools: &Tools, folder: &Path, prefix: &Path) -> Result<String, Error> {
    let cmake = tools.debian("cmake", "cmake")?;
    let board = [
        "-DCMAKE_SYSTEM_NAME=Generic".into(),
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY".into(),
        format!("-DCMAKE_C_COMPILER={}", tools.arm_compiler()?.display()),
        format!("-DCMAKE_C_FLAGS={}", BARE.join(" ")),
        format!("-DFORETUNE_TARGET={V7}"),
    ];
    for (name, options) in [("board", &board[..]), ("host", &[])] {
        let (build, at) = (folder.join(name), format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
        run(Command::new(&cmake).arg("-S").arg(examples()).arg("-B").arg(&build).arg(at).args(options))?;
        run(Command::new(&cmake).arg("--build").arg(&build))?;
    }
    read(&mut Command::new(folder.join("host/tune"))).ok_or_else(|| Error::failed("CMake's program failed"))
}

fn with_pkg_config(tools: &Tools, folder: &Path, prefix: &Path) -> Result<String, Error> {
    let mut ask = Command::new(tools.debian("pkg-config", "pkg-config")?);
    ask.args(["--cflags", "--libs", "foretune"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let words = read(&mut ask).ok_or_else(|| Error::failed("pkg-config does not find foretune"))?;
    ensure!(words.ends_with(&NATIVE.join(" ")), "pkg-config says {words}");
    let mut compile = Command::new(tools.host_compiler("cc")?);
    compile.current_dir(examples()).args(WARNINGS).args(["tune.c", "sizes.c", "host.c"]);
    run(compile.args(words.split_whitespace()).arg("-o").arg(folder.join("tune")))?;
    read(&mut Command::new(folder.join("tune"))).ok_or_else(|| Error::failed("pkg-config's program failed"))
}

/// Compiles the sketch as the boards' cores do, against a few lines in place of Arduino's own.
fn sketch(tools: &Tools, arduino: &Path, cpu: [&str; 2], folder: &Path) -> Result<PathBuf, Error> {
    let ([mcu, fpu], stub) = (cpu, root().join("capi/tests/support/Arduino.h"));
    let (elf, object) = (folder.join(format!("{mcu}.elf")), folder.join("sketch.o"));
    let compiler = || -> Result<Command, Error> {
        let mut compile = Command::new(tools.arm_compiler()?);
        compile.current_dir(examples()).args(WARNINGS).args(BARE);
        compile.args([format!("-mcpu={mcu}"), format!("-mfpu={fpu}")]);
        Ok(compile)
    };
    let mut compile = compiler()?;
    compile.args(["-x", "c++", "-std=gnu++17", "-fno-exceptions", "-fno-rtti", "-include"]).arg(stub);
    compile.arg("-I").arg(arduino.join("src")).arg("-c").arg(arduino.join("examples/Tune/Tune.ino"));
    run(compile.arg("-o").arg(&object))?;
    let mut link = compiler()?;
    link.args(["board/board.c", "-T", "board/board.ld", "-Wl,--gc-sections,-z,noexecstack"]).arg(object);
    link.arg("-L").arg(arduino.join(format!("src/{mcu}/{fpu}-hard")));
    run(link.args(["-lforetune_c", "-o"]).arg(&elf))?;
    Ok(elf)
}

/// The crates for the registry.
pub const CRATES: [&str; 2] = ["foretune-core", "foretune-link"];

/// The step. Cargo before 1.90 cannot package a crate along with one that it needs.
pub fn package(_: &Tools) -> Verdict {
    let mut package = cargo();
    package.args(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    run(package.args(CRATES.iter().flat_map(|name| ["--package", name])))?;
    let folder = tempfile::tempdir()?;
    for name in CRATES {
        let file = target_dir().join(format!("package/{name}-{VERSION}.crate"));
        run(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(folder.path()))?;
    }
    let examples = folder.path().join(format!("foretune-core-{VERSION}/examples"));
    run(Command::new("cp").arg("-r").arg(examples).arg(folder.path()))?;
    project(folder.path())?;
    // Options and profile as here, so that no dependency is compiled twice.
    let mut check = cargo();
    for config in ["Cargo.toml", ".cargo/config.toml"] {
        check.arg("--config").arg(root().join(config));
    }
    check.current_dir(folder.path()).env("CARGO_TARGET_DIR", target_dir());
    run(check.args(["check", "--quiet", "--bins", "--examples"]))?;
    Ok(String::new())
}

/// A program of its own, with the versions of dependencies that everything else here is tested with.
fn project(folder: &Path) -> Result<(), Error> {
    let used = CRATES.map(|name| format!("{name} = \"{VERSION}\"\n")).concat();
    let from = CRATES.map(|name| format!("{name}.path = \"{name}-{VERSION}\"\n")).concat();
    let package = "[package]\nname = \"first\"\nedition = \"2024\"\n";
    let manifest = format!("{package}[dependencies]\n{used}[patch.crates-io]\n{from}");
    let page = std::fs::read_to_string(root().join("docs/guide/rust.md"))?;
    let program = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let program = program.ok_or_else(|| Error::failed("docs/guide/rust.md has no program"))?;
    std::fs::create_dir(folder.join("src"))?;
    std::fs::write(folder.join("src/main.rs"), program)?;
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}

/// `cargo xtask audit semver`: whether the version says what has changed since the last tag.
pub fn semver() -> Result<(), Error> {
    let tag = read(Command::new("git").args(["describe", "--tags", "--abbrev=0"]).current_dir(root()));
    let Some(tag) = tag else {
        println!("semver: there is no tag yet, so nothing to compare with");
        return Ok(());
    };
    crates_io("cargo-semver-checks", &[])?;
    let packages = CRATES.iter().flat_map(|name| ["--package", name]);
    run(plain_cargo().args(["semver-checks", "--baseline-rev", &tag]).args(packages))
}
