//! The boards as these commands see them: how to build for one, emulate it, flash it. What there is to know of each stands
//! in `firmware/boards.rs`.

use std::path::PathBuf;

use crate::error::Error;
use crate::shell::{run, target_dir};
use crate::tools::Tools;

#[path = "../../firmware/boards.rs"]
mod table;

pub use table::{BOARDS, Board, DataFlash, Kind, Memory, Reach, Silicon, V7, V8};

/// `cargo xtask boards`: lists them.
pub fn list() {
    for board in BOARDS {
        let tried = match board.silicon {
            Silicon::Emulated => "emulated; every test run tries it",
            Silicon::Never => "built and its memory map checked, but never run on silicon",
        };
        println!("{:<14} {}: {}; {}", board.name, board.title, board.programs.join(", "), tried);
        let DataFlash { sector, word, ecc } = board.flash;
        let ecc = if ecc { "with ECC" } else { "no ECC" };
        println!(
            "{:14} {}; {}; data flash: sectors of {} KB, words of {word} bytes, {ecc}",
            "",
            board.chip,
            board.target,
            sector / 1024
        );
    }
}

/// Names of all boards.
pub fn names() -> impl Iterator<Item = &'static str> {
    BOARDS.iter().map(|board| board.name)
}

/// The boards that `probe-rs` flashes.
pub fn probed() -> impl Iterator<Item = &'static Board> {
    BOARDS.iter().filter(|board| board.machine().is_none())
}

/// The board of that name.
pub fn find(name: &str) -> Result<&'static Board, Error> {
    let known = || names().collect::<Vec<_>>().join(", ");
    let found = BOARDS.iter().find(|board| board.name == name);
    found.ok_or_else(|| Error::failed(format!("no board is called `{name}`; there are {}", known())))
}

/// Where the build looks for a device's key.
const KEY: &str = "FORETUNE_KEY";

/// What a program can be built with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variant {
    /// Learning steps at the end of a task, if other than the profile's own: those of the deep profile take minutes.
    pub steps: Option<u32>,
    /// The device's key, 64 hexadecimal digits.
    pub key: Option<String>,
}

impl Variant {
    /// As usual, with the key that the user's environment names.
    pub fn from_environment() -> Self {
        Variant { steps: None, key: std::env::var(KEY).ok() }
    }

    fn name_of(&self, program: &str) -> String {
        let key = if self.key.is_some() { "-key" } else { "" };
        format!("{program}{key}")
    }
}

impl Board {
    /// Builds a program of the firmware for this board; returns where its ELF file lies.
    pub fn build(&self, tools: &Tools, program: &str) -> Result<PathBuf, Error> {
        self.build_with(tools, program, &Variant::from_environment())
    }

    /// The same, not as usual.
    pub fn build_with(&self, tools: &Tools, program: &str, variant: &Variant) -> Result<PathBuf, Error> {
        if !self.programs.contains(&program) {
            let fitting = self.programs.join(", ");
            return Err(Error::failed(format!(
                "no program `{program}` for {}; there are {fitting}",
                self.name
            )));
        }
        let toolchain = tools.board_toolchain(self.target)?;
        let mut cargo = toolchain.cargo("build");
        let profile = profile(program);
        cargo.args(["--package", "foretune-firmware", "--profile", profile, "--features", self.name]);
        cargo.args(["--bin", program]).env_remove("FORETUNE_STEPS").env_remove(KEY);
        cargo.envs(variant.steps.map(|steps| ("FORETUNE_STEPS", steps.to_string())));
        if let Some(key) = &variant.key {
            cargo.args(["--features", "key"]).env(KEY, key);
        }
        run(&mut cargo)?;
        // Cargo builds all boards into one place, so this one's is put aside before the next board's comes.
        let built = toolchain.output().join(profile).join(program);
        let kept = target_dir().join("boards").join(self.name).join(variant.name_of(program));
        std::fs::create_dir_all(kept.parent().expect("a folder"))?;
        std::fs::copy(built, &kept)?;
        Ok(kept)
    }

    /// Builds an example of the firmware with one of Cargo's profiles; returns where its ELF file lies.
    pub fn build_example(&self, tools: &Tools, example: &str, profile: &str) -> Result<PathBuf, Error> {
        self.build_example_with(tools, example, profile, &[])
    }

    /// The same, with further features.
    pub fn build_example_with(
        &self,
        tools: &Tools,
        example: &str,
        profile: &str,
        features: &[&str],
    ) -> Result<PathBuf, Error> {
        let toolchain = tools.board_toolchain(self.target)?;
        let mut cargo = toolchain.cargo("build");
        cargo.args(["--package", "foretune-firmware", "--profile", profile, "--features", self.name]);
        cargo.args(features.iter().flat_map(|feature| ["--features", feature]));
        run(cargo.args(["--example", example]))?;
        Ok(toolchain.output().join(profile).join("examples").join(example))
    }

    /// QEMU's name for it, when there is one.
    pub fn machine(&self) -> Option<&'static str> {
        match self.reach {
            Reach::Emulated { machine, .. } => Some(machine),
            Reach::Probed(_) => None,
        }
    }
}

/// Cargo's profile for a program: `Cargo.toml` says why there are two. Whatever is not large takes the same one, so that a
/// board's drivers are compiled once.
fn profile(program: &str) -> &'static str {
    if program == "deep" { "firmware" } else { "firmware-small" }
}

/// The boards that QEMU emulates.
pub fn emulated() -> impl Iterator<Item = &'static Board> {
    BOARDS.iter().filter(|board| board.machine().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn every_board_has_all_that_the_checklist_names() {
        let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
        let (manifest, modules) = (read("firmware/Cargo.toml"), read("firmware/src/boards/mod.rs"));
        let (readme, config) = (read("firmware/README.md"), read(".cargo/config.toml"));
        for board in BOARDS {
            let name = board.name;
            assert!(root().join("firmware").join(board.layout).is_file(), "{name}: {}", board.layout);
            assert!(manifest.contains(&format!("\n{name} = [")), "{name}: no feature in firmware/Cargo.toml");
            let module = board.layout.split('/').nth(2).unwrap();
            assert!(modules.contains(&format!("pub mod {module};")), "{name}: not in src/boards/mod.rs");
            assert!(readme.contains(&format!("| `{name}` |")), "{name}: no row in firmware/README.md");
            assert!(config.contains(board.target), "{name}: no linker for its target in .cargo/config.toml");
        }
    }

    #[test]
    fn what_has_not_run_on_silicon_says_so() {
        let readme = std::fs::read_to_string(root().join("firmware/README.md")).unwrap();
        for board in BOARDS {
            let row = readme.lines().find(|line| line.starts_with(&format!("| `{}` |", board.name))).unwrap();
            let never = board.silicon == Silicon::Never;
            assert_eq!(row.contains("never on silicon"), never, "{row}");
            assert_eq!(board.machine().is_none(), never, "{}", board.name);
        }
    }

    #[test]
    fn memory_of_a_chip_does_not_overlap() {
        for board in BOARDS {
            for (index, one) in board.memory.iter().enumerate() {
                for other in &board.memory[index + 1..] {
                    let apart = one.span.end <= other.span.start || other.span.end <= one.span.start;
                    assert!(apart, "{}: {} and {}", board.name, one.name, other.name);
                }
            }
        }
    }

    #[test]
    fn an_unknown_board_is_refused_with_the_known_ones() {
        let why = find("toaster").unwrap_err().why().to_owned();
        assert!(names().all(|name| why.contains(name)), "{why}");
        assert_eq!(find("mps2-an500").unwrap().machine(), Some("mps2-an500"));
    }
}
