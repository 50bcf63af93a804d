//! A compiler for the boards' processor: rustup's, or Debian's with the core library built from source.
//!
//! rustup downloads a ready-made core library. Where it cannot (no rustup, no network, a mirror without it), Debian's
//! packaged compiler builds that library itself, which the compiler allows under `RUSTC_BOOTSTRAP`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::Error;
use crate::shell::{cargo, cargo_home, find, read, root, run_within, target_dir, tool_path};
use crate::tools::{debian, install};

/// Set to `debian` to take the fallback although rustup would do.
const CHOICE: &str = "FORETUNE_BOARD_TOOLCHAIN";

const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// The compiler that was found for a target.
#[derive(Debug, Clone)]
pub struct BoardToolchain {
    target: &'static str,
    source: Source,
}

/// Where it comes from.
#[derive(Debug, Clone)]
enum Source {
    /// The compiler in use, with the target that rustup added.
    Rustup,
    /// Debian's compiler, its core library built from source; the folder holds its linker under the usual name.
    Debian { linker_folder: PathBuf },
}

impl fmt::Display for BoardToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Rustup => "rustup's, with the target's own core library",
            Source::Debian { .. } => "Debian's, building the core library from source",
        };
        write!(f, "{}: {source}", self.target)
    }
}

impl BoardToolchain {
    /// Looks for one; installs what is missing.
    pub fn find_or_install(target: &'static str) -> Result<Self, Error> {
        let forced = std::env::var(CHOICE).is_ok_and(|choice| choice == "debian");
        let source = match !forced && (has_target(target) || add_target(target)) {
            true => Source::Rustup,
            false => Self::debian(target)?,
        };
        Ok(BoardToolchain { target, source })
    }

    fn debian(target: &str) -> Result<Source, Error> {
        if !has_debian_sources() {
            install(&DEBIAN_PACKAGES)?;
        }
        if !has_debian_sources() {
            return Err(Error::missing(format!("no compiler for {target}: rustup target add {target}")));
        }
        let linker = debian("ld.lld", &["lld"])?;
        let linker_folder = target_dir().join("debian-linker");
        std::fs::create_dir_all(&linker_folder)?;
        // flip-link looks for the linker by the name that it has in rustup's toolchains.
        let name = linker_folder.join("rust-lld");
        std::fs::remove_file(&name).ok();
        std::os::unix::fs::symlink(linker, name)?;
        Ok(Source::Debian { linker_folder })
    }

    /// `cargo <subcommand>` for the board's processor.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = match self.source {
            Source::Rustup => cargo(),
            Source::Debian { .. } => Command::new(DEBIAN_CARGO),
        };
        command.current_dir(root()).args([subcommand, "--target", self.target]);
        command.args(short_paths(&registries()));
        match &self.source {
            Source::Rustup => command.env("PATH", tool_path(&[])),
            Source::Debian { linker_folder } => command
                .args(["-Zbuild-std=core", "--target-dir"])
                .arg(target_dir().join("debian"))
                .env("PATH", tool_path(&[linker_folder, Path::new("/usr/bin")]))
                .env("RUSTC", DEBIAN_RUSTC)
                .env("RUSTC_BOOTSTRAP", "1")
                .env_remove("RUSTUP_TOOLCHAIN"),
        };
        command
    }

    /// Where it puts what it builds.
    pub fn output(&self) -> PathBuf {
        match self.source {
            Source::Rustup => target_dir().join(self.target),
            Source::Debian { .. } => target_dir().join("debian").join(self.target),
        }
    }

    pub fn compiler(&self) -> String {
        let compiler = match self.source {
            Source::Rustup => "rustc",
            Source::Debian { .. } => DEBIAN_RUSTC,
        };
        read(Command::new(compiler).arg("--version")).unwrap_or_else(|| "an unknown compiler".to_owned())
    }

    pub fn can_lint(&self) -> bool {
        matches!(self.source, Source::Rustup)
    }
}

/// Where cargo keeps the sources of crates: a folder per registry.
fn registries() -> Vec<PathBuf> {
    let folders = cargo_home().and_then(|home| std::fs::read_dir(home.join("registry/src")).ok());
    let mut folders: Vec<_> =
        folders.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    folders
}

/// Has the compiler write `~` for these folders. The places of panics stand in a device's flash: with their whole paths a
/// kilobyte more, and a number that depends on the user's name.
fn short_paths(folders: &[PathBuf]) -> [String; 2] {
    let flags = folders.iter().map(|folder| format!("'--remap-path-prefix={}=~'", folder.display()));
    let flags = flags.collect::<Vec<_>>().join(",");
    // Not under the target's name: cargo does not find those with a dot.
    ["--config".into(), format!("target.'cfg(target_os = \"none\")'.rustflags=[{flags}]")]
}

/// Whether the compiler in use has the target's core library.
fn has_target(target: &str) -> bool {
    let folder = read(Command::new("rustc").args(["--print", "target-libdir", "--target", target]));
    folder.is_some_and(|folder| Path::new(&folder).is_dir())
}

fn add_target(target: &str) -> bool {
    let limit = Duration::from_secs(300);
    find("rustup").is_some()
        && run_within(Command::new("rustup").args(["target", "add", target]), limit).is_ok()
        && has_target(target)
}

/// Whether Debian's compiler and the sources of its core library are there.
fn has_debian_sources() -> bool {
    let sysroot = read(Command::new(DEBIAN_RUSTC).args(["--print", "sysroot"]));
    let sources = sysroot.map(|sysroot| Path::new(&sysroot).join("lib/rustlib/src/rust/library/core"));
    Path::new(DEBIAN_CARGO).is_file() && sources.is_some_and(|sources| sources.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_crates_are_short_whatever_the_folder_is_called() {
        let [_, config] = short_paths(&["/home/a b/src/index-1".into(), "/c".into()]);
        let flags = "['--remap-path-prefix=/home/a b/src/index-1=~','--remap-path-prefix=/c=~']";
        assert_eq!(config, format!("target.'cfg(target_os = \"none\")'.rustflags={flags}"));
    }
}
