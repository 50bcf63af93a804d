//! The boards as these commands see them: how to build for one, emulate it, flash it. What there is to know of each stands
//! in `firmware/boards.rs`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::error::{Error, fail};
use crate::qemu::Device;
use crate::shell::{self, run, target_dir};
use crate::toolchain::BoardToolchain;
use crate::tools::Tools;

#[allow(dead_code)] // the rest of a row is for others
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
        println!("{:<14} {}: {}; {tried}", board.name, board.title, board.programs.join(", "));
        let DataFlash { sector, word, ecc } = board.flash;
        let ecc = if ecc { "with ECC" } else { "no ECC" };
        let flash = format!("sectors of {} KB, words of {word} bytes, {ecc}", sector / 1024);
        println!("{:14} {}; {}; data flash: {flash}", "", board.chip, board.target);
    }
}

pub fn names() -> impl Iterator<Item = &'static str> {
    BOARDS.iter().map(|board| board.name)
}

/// The boards that `probe-rs` flashes.
pub fn probed() -> impl Iterator<Item = &'static Board> {
    BOARDS.iter().filter(|board| board.machine().is_none())
}

/// The boards that QEMU emulates.
pub fn emulated() -> impl Iterator<Item = &'static Board> {
    BOARDS.iter().filter(|board| board.machine().is_some())
}

pub fn find(name: &str) -> Result<&'static Board, Error> {
    let known = || names().collect::<Vec<_>>().join(", ");
    let found = BOARDS.iter().find(|board| board.name == name);
    found.ok_or_else(|| Error::failed(format!("no board is called `{name}`; there are {}", known())))
}

/// Cargo's profile of everything that is built for a board.
pub const PROFILE: &str = "firmware";

/// What speed is worth in the deep profile; `Cargo.toml` says why. All else stays as it is, so that drivers and libraries
/// are compiled once.
const FAST_CORE: [&str; 2] = ["--config", "profile.firmware.package.foretune-core.opt-level=2"];

fn is_fast(program: &str) -> bool {
    program.contains("deep")
}

/// Where the build looks for a device's key.
const KEY: &str = "FORETUNE_KEY";
/// Where it looks for the number of learning steps.
const STEPS: &str = "FORETUNE_STEPS";

/// Cortex-M4F and M7 without the hardware's floats.
const V7_SOFT: &str = "thumbv7em-none-eabi";

/// What a program can be built with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variant {
    /// Learning steps at the end of a task, if other than the profile's own: those of the deep profile take minutes.
    pub steps: Option<u32>,
    /// The device's key, 64 hexadecimal digits.
    pub key: Option<String>,
    /// Floats by software, for an emulator that lacks instructions of the hardware's; what is computed is the same.
    pub soft_float: bool,
}

impl Variant {
    /// As usual, with the key that the user's environment names.
    pub fn from_environment() -> Self {
        Variant { key: std::env::var(KEY).ok(), ..Variant::default() }
    }

    fn name_of(&self, program: &str) -> String {
        let steps = self.steps.map(|steps| format!("-{steps}")).unwrap_or_default();
        let key = if self.key.is_some() { "-key" } else { "" };
        let soft = if self.soft_float { "-soft" } else { "" };
        format!("{program}{steps}{key}{soft}")
    }
}

impl Board {
    /// Builds a program of the firmware for this board; returns where its ELF file lies.
    pub fn build(&self, tools: &Tools, program: &str) -> Result<PathBuf, Error> {
        self.build_with(tools, program, &Variant::from_environment())
    }

    /// The same, not as usual.
    pub fn build_with(&self, tools: &Tools, program: &str, variant: &Variant) -> Result<PathBuf, Error> {
        Ok(self.build_all(tools, &[program], variant)?.remove(0))
    }

    /// Builds several programs at a time; what was built before in this run is not looked at again.
    pub fn build_all(
        &self,
        tools: &Tools,
        programs: &[&str],
        variant: &Variant,
    ) -> Result<Vec<PathBuf>, Error> {
        if let Some(program) = programs.iter().find(|program| !self.programs.contains(program)) {
            fail!("no program `{program}` for {}; there are {}", self.name, self.programs.join(", "));
        }
        let folder = target_dir().join("boards").join(self.name);
        let kept = |program: &str| folder.join(variant.name_of(program));
        for fast in [false, true] {
            let wanted =
                |program: &&str| is_fast(program) == fast && !tools.has_built(&kept(program), variant);
            let wanted: Vec<_> = programs.iter().copied().filter(wanted).collect();
            if wanted.is_empty() {
                continue;
            }
            let toolchain = tools.board_toolchain(if variant.soft_float { V7_SOFT } else { self.target })?;
            let mut cargo = self.cargo(&toolchain, fast);
            cargo.args(wanted.iter().flat_map(|program| ["--bin", program]));
            cargo.envs(variant.steps.map(|steps| (STEPS, steps.to_string())));
            if let Some(key) = &variant.key {
                cargo.args(["--features", "key"]).env(KEY, key);
            }
            run(&mut cargo)?;
            // Cargo builds all boards into one place, so this one's are put aside before the next board's come.
            std::fs::create_dir_all(&folder)?;
            for program in wanted {
                std::fs::copy(toolchain.output().join(PROFILE).join(program), kept(program))?;
                tools.note_built(kept(program), variant);
            }
        }
        Ok(programs.iter().map(|program| kept(program)).collect())
    }

    /// Builds an example of the firmware with further features; returns where its ELF file lies.
    pub fn build_example(&self, tools: &Tools, example: &str, features: &[&str]) -> Result<PathBuf, Error> {
        let toolchain = tools.board_toolchain(self.target)?;
        let mut cargo = self.cargo(&toolchain, is_fast(example));
        cargo.args(features.iter().flat_map(|feature| ["--features", feature]));
        run(cargo.args(["--example", example]))?;
        Ok(toolchain.output().join(PROFILE).join("examples").join(example))
    }

    /// What builds the firmware for this board.
    fn cargo(&self, toolchain: &BoardToolchain, fast: bool) -> Command {
        let mut cargo = toolchain.cargo("build");
        cargo.args(["--package", "foretune-firmware", "--profile", PROFILE, "--features", self.name]);
        cargo.args(FAST_CORE.iter().filter(|_| fast)).env_remove(STEPS).env_remove(KEY);
        cargo
    }

    /// QEMU's name for it, when there is one.
    pub fn machine(&self) -> Option<&'static str> {
        match self.reach {
            Reach::Emulated { machine, .. } => Some(machine),
            Reach::Probed(_) => None,
        }
    }
}

/// A day: an emulated board runs until it ends or is interrupted.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// `cargo xtask emulate <board> <program>`: its serial line on a local port, its flash kept from run to run.
pub fn emulate(board: &str, program: &str) -> Result<(), Error> {
    let tools = Tools::default();
    let board = find(board)?;
    let elf = board.build(&tools, program)?;
    let folder = target_dir().join("boards").join(board.name);
    let mut device = Device::new(&tools, board, &elf, &folder)?;
    device.show_log = true;
    let running = device.start()?;
    println!("{} runs; its serial line is at 127.0.0.1:{}", board.name, running.port);
    println!("its flash is {}; delete that for a new device", device.flash().display());
    match running.wait(DAY)?.0 {
        0 => Ok(()),
        code => Err(Error::failed(format!("the program ended with exit code {code}"))),
    }
}

/// `cargo xtask flash <program> --board NAME`: builds for a real board, flashes it and shows its log.
pub fn flash(program: &str, board: &str) -> Result<(), Error> {
    let board = find(board)?;
    let Reach::Probed(chip) = board.reach else {
        return Err(Error::failed(format!("{} is emulated: cargo xtask emulate {0} {program}", board.name)));
    };
    // Looked for first: the build takes minutes.
    let probe = shell::find("probe-rs")
        .ok_or_else(|| Error::missing("probe-rs is missing: cargo install probe-rs-tools --locked"))?;
    let elf = board.build(&Tools::default(), program)?;
    run(Command::new(probe).args(["run", "--chip", chip]).arg(elf))
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
            assert!(config.contains(board.target), "{name}: no linker for its target in .cargo/config.toml");
            let row = readme.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("{name}: no row in firmware/README.md"));
            let never = board.silicon == Silicon::Never;
            assert_eq!(row.contains("never on silicon"), never, "{row}");
            assert_eq!(board.machine().is_none(), never, "{name}");
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
}
