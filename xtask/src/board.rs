//! The boards as these commands see them: how to build for one, emulate it, flash it, and what memory the chip has.

use std::ops::Range;
use std::path::PathBuf;

use crate::error::Error;
use crate::shell::{run, target_dir};
use crate::tools::Tools;

/// A board that the firmware is built for.
#[derive(Debug)]
pub struct Board {
    /// Its name: also its Cargo feature and the name of its layout in `firmware/boards/`.
    pub name: &'static str,
    /// How it is reached.
    pub reach: Reach,
    /// The chip's memory, from its manual; what the linker did is checked against it.
    pub memory: &'static [Memory],
    /// Interrupts of the chip: so many vectors follow the processor's sixteen.
    pub interrupts: usize,
}

/// How a board is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// QEMU emulates it, under this machine name.
    Emulated(&'static str),
    /// `probe-rs` flashes it, under this chip name.
    Probed(&'static str),
}

/// A piece of a chip's memory.
#[derive(Debug)]
pub struct Memory {
    /// Its name in the manual.
    pub name: &'static str,
    /// What may lie there.
    pub kind: Kind,
    /// Its addresses.
    pub span: Range<u64>,
}

/// What may lie in a piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Code and constants.
    Code,
    /// The app's data that survives power failure, in sectors of 8 KB.
    Storage,
    /// Variables and the stack.
    Ram,
}

const fn memory(name: &'static str, kind: Kind, start: u64, kilobytes: u64) -> Memory {
    Memory { name, kind, span: start..start + kilobytes * 1024 }
}

/// The machines of QEMU are FPGA boards: 4 MB of RAM play the flash, 4 MB more are RAM and data flash. What a layout
/// takes of it is its own choice.
const MPS2_MEMORY: &[Memory] = &[
    memory("ZBT SSRAM 1", Kind::Code, 0, 4096),
    memory("ZBT SSRAM 2", Kind::Ram, 0x2000_0000, 2048),
    memory("ZBT SSRAM 3", Kind::Storage, 0x2020_0000, 1024),
];

/// STM32H7A3xI, reference manual RM0455, memory map.
const H7A3_MEMORY: &[Memory] = &[
    memory("flash bank 1", Kind::Code, 0x0800_0000, 1024),
    memory("flash bank 2", Kind::Storage, 0x0810_0000, 1024),
    memory("DTCM", Kind::Ram, 0x2000_0000, 128),
    memory("AXI SRAM 1-3", Kind::Ram, 0x2400_0000, 1024),
];

/// All boards.
pub const BOARDS: [Board; 3] = [
    Board { name: "mps2-an500", reach: Reach::Emulated("mps2-an500"), memory: MPS2_MEMORY, interrupts: 32 },
    Board { name: "mps2-an386", reach: Reach::Emulated("mps2-an386"), memory: MPS2_MEMORY, interrupts: 32 },
    Board {
        name: "nucleo-h7a3zi",
        reach: Reach::Probed("STM32H7A3ZITxQ"),
        memory: H7A3_MEMORY,
        interrupts: 155,
    },
];

/// The board of that name.
pub fn find(name: &str) -> Result<&'static Board, Error> {
    let names = || BOARDS.map(|board| board.name).join(", ");
    let found = BOARDS.iter().find(|board| board.name == name);
    found.ok_or_else(|| Error::failed(format!("no board is called `{name}`; there are {}", names())))
}

impl Board {
    /// Builds a program of the firmware for this board; returns where its ELF file lies.
    pub fn build(&self, tools: &Tools, program: &str) -> Result<PathBuf, Error> {
        self.build_with_steps(tools, program, None)
    }

    /// The same, with another number of learning steps at the end of a task: those of the deep profile take minutes.
    pub fn build_with_steps(
        &self,
        tools: &Tools,
        program: &str,
        steps: Option<&str>,
    ) -> Result<PathBuf, Error> {
        let toolchain = tools.board_toolchain()?;
        let mut cargo = toolchain.cargo("build");
        let profile = profile(program);
        cargo.args(["--package", "foretune-firmware", "--profile", profile, "--features", self.name]);
        cargo.args(["--bin", program]).env_remove("FORETUNE_STEPS");
        cargo.envs(steps.map(|steps| ("FORETUNE_STEPS", steps)));
        run(&mut cargo)?;
        // Cargo builds all boards into one place, so this one's is put aside before the next board's comes.
        let built = toolchain.output().join(profile).join(program);
        let kept = target_dir().join("boards").join(self.name).join(program);
        std::fs::create_dir_all(kept.parent().expect("a folder"))?;
        std::fs::copy(built, &kept)?;
        Ok(kept)
    }

    /// Builds an example of the firmware with one of Cargo's profiles; returns where its ELF file lies.
    pub fn build_example(&self, tools: &Tools, example: &str, profile: &str) -> Result<PathBuf, Error> {
        let toolchain = tools.board_toolchain()?;
        let mut cargo = toolchain.cargo("build");
        cargo.args(["--package", "foretune-firmware", "--profile", profile, "--features", self.name]);
        run(cargo.args(["--example", example]))?;
        Ok(toolchain.output().join(profile).join("examples").join(example))
    }

    /// QEMU's name for it, when there is one.
    pub fn machine(&self) -> Option<&'static str> {
        match self.reach {
            Reach::Emulated(machine) => Some(machine),
            Reach::Probed(_) => None,
        }
    }
}

/// Cargo's profile for a program: `Cargo.toml` says why there are two.
fn profile(program: &str) -> &'static str {
    if program == "compact" { "firmware-small" } else { "firmware" }
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
    fn every_board_has_a_layout_and_a_feature() {
        let manifest = std::fs::read_to_string(root().join("firmware/Cargo.toml")).unwrap();
        for board in &BOARDS {
            assert!(
                root().join("firmware/boards").join(board.name).with_extension("x").is_file(),
                "{}",
                board.name
            );
            assert!(manifest.contains(&format!("\n{} = [", board.name)), "{}", board.name);
        }
    }

    #[test]
    fn memory_of_a_chip_does_not_overlap() {
        for board in &BOARDS {
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
        assert!(find("toaster").unwrap_err().why().contains("mps2-an386"));
        assert_eq!(find("mps2-an500").unwrap().machine(), Some("mps2-an500"));
    }
}
