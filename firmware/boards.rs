//! The boards, one row each. The firmware's `build.rs` takes the memory layout from here, the tests of the storage the
//! flash's geometry, `cargo xtask` everything else. `firmware/README.md` says how to add one.

use core::ops::Range;

/// A board that the firmware is built for.
#[derive(Debug)]
pub struct Board {
    /// Its name: also its Cargo feature.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Its chip and processor.
    pub chip: &'static str,
    /// What the compiler builds for.
    pub target: &'static str,
    /// How it is reached.
    pub reach: Reach,
    /// Its memory layout for the linker, in the firmware's folder.
    pub layout: &'static str,
    /// The chip's memory, from its manual; what the linker did is checked against it.
    pub memory: &'static [Memory],
    /// Interrupts of the chip: so many vectors follow the processor's sixteen.
    pub interrupts: usize,
    /// The flash that keeps the app's data.
    pub flash: DataFlash,
    /// Programs that fit it.
    pub programs: &'static [&'static str],
    /// Whether these programs have run on the real thing.
    pub silicon: Silicon,
}

/// How a board is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// QEMU emulates it.
    Emulated {
        /// Its name there.
        machine: &'static str,
        /// Its clock.
        megahertz: u64,
    },
    /// `probe-rs` flashes it, under this chip name.
    Probed(&'static str),
}

/// Whether a program has run on the real thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silicon {
    /// There is no real thing: the test command runs it in the emulator.
    Emulated,
    /// Nobody had one at hand: it is built and its memory map checked, and that is all.
    Never,
}

/// The flash that keeps the app's data, as the app sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataFlash {
    /// Bytes that are erased together.
    pub sector: usize,
    /// Bytes that are written together.
    pub word: usize,
    /// Whether a torn word faults when read; without error correction it reads as something.
    pub ecc: bool,
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
    /// The app's data that survives power failure.
    Storage,
    /// Variables and the stack.
    Ram,
}

const fn memory(name: &'static str, kind: Kind, start: u64, kilobytes: u64) -> Memory {
    Memory { name, kind, span: start..start + kilobytes * 1024 }
}

/// Cortex-M4F and Cortex-M7.
pub const V7: &str = "thumbv7em-none-eabihf";
/// Cortex-M33.
pub const V8: &str = "thumbv8m.main-none-eabihf";

/// The emulated boards model the flash of the STM32H7A3.
const MODEL: DataFlash = DataFlash { sector: 8192, word: 32, ecc: true };

/// The machines of QEMU are FPGA boards: 4 MB of RAM play the flash, 4 MB more are RAM and data flash. What a layout
/// takes of it is its own choice.
const MPS2_MEMORY: &[Memory] = &[
    memory("ZBT SSRAM 1", Kind::Code, 0, 4096),
    memory("ZBT SSRAM 2", Kind::Ram, 0x2000_0000, 2048),
    memory("ZBT SSRAM 3", Kind::Storage, 0x2020_0000, 1024),
];

/// The same with TrustZone, at its secure addresses.
const AN505_MEMORY: &[Memory] = &[
    memory("SSRAM 1", Kind::Code, 0x1000_0000, 4096),
    memory("SSRAM 2, 3", Kind::Ram, 0x3800_0000, 2048),
    memory("PSRAM", Kind::Storage, 0x8000_0000, 1024),
];

/// STM32H7A3xI, reference manual RM0455, memory map.
const H7A3_MEMORY: &[Memory] = &[
    memory("flash bank 1", Kind::Code, 0x0800_0000, 1024),
    memory("flash bank 2", Kind::Storage, 0x0810_0000, 1024),
    memory("DTCM", Kind::Ram, 0x2000_0000, 128),
    memory("AXI SRAM 1-3", Kind::Ram, 0x2400_0000, 1024),
];

/// STM32F446xE, reference manual RM0390, embedded flash and memory map.
const F446_MEMORY: &[Memory] = &[
    memory("flash sector 0", Kind::Code, 0x0800_0000, 16),
    memory("flash sectors 1 to 4", Kind::Storage, 0x0800_4000, 112),
    memory("flash sectors 5 to 7", Kind::Code, 0x0802_0000, 384),
    memory("SRAM 1, 2", Kind::Ram, 0x2000_0000, 128),
];

/// nRF52840, product specification, memory.
const NRF52840_MEMORY: &[Memory] = &[
    memory("flash pages 0 to 239", Kind::Code, 0, 960),
    memory("flash pages 240 to 255", Kind::Storage, 0x000F_0000, 64),
    memory("RAM", Kind::Ram, 0x2000_0000, 256),
];

/// RP2350, datasheet, address map; the flash is the Pico 2's own.
const RP2350_MEMORY: &[Memory] = &[
    memory("external flash, first MB", Kind::Code, 0x1000_0000, 1024),
    memory("external flash, the rest", Kind::Storage, 0x1010_0000, 3072),
    memory("SRAM", Kind::Ram, 0x2000_0000, 520),
];

/// All boards.
pub const BOARDS: &[Board] = &[
    Board {
        name: "mps2-an500",
        title: "QEMU's mps2-an500",
        chip: "Cortex-M7",
        target: V7,
        reach: Reach::Emulated { machine: "mps2-an500", megahertz: 25 },
        layout: "src/boards/mps2/an500.x",
        memory: MPS2_MEMORY,
        interrupts: 32,
        flash: MODEL,
        programs: &["compact", "deep", "selftest"],
        silicon: Silicon::Emulated,
    },
    Board {
        name: "mps2-an386",
        title: "QEMU's mps2-an386",
        chip: "Cortex-M4F",
        target: V7,
        reach: Reach::Emulated { machine: "mps2-an386", megahertz: 25 },
        layout: "src/boards/mps2/an386.x",
        memory: MPS2_MEMORY,
        interrupts: 32,
        flash: MODEL,
        programs: &["compact", "selftest"],
        silicon: Silicon::Emulated,
    },
    Board {
        name: "mps2-an505",
        title: "QEMU's mps2-an505",
        chip: "Cortex-M33",
        target: V8,
        reach: Reach::Emulated { machine: "mps2-an505", megahertz: 20 },
        layout: "src/boards/mps2/an505.x",
        memory: AN505_MEMORY,
        interrupts: 124,
        flash: MODEL,
        programs: &["compact", "selftest"],
        silicon: Silicon::Emulated,
    },
    Board {
        name: "nucleo-h7a3zi",
        title: "ST NUCLEO-H7A3ZI-Q",
        chip: "STM32H7A3ZI, Cortex-M7",
        target: V7,
        reach: Reach::Probed("STM32H7A3ZITxQ"),
        layout: "src/boards/nucleo_h7a3zi/layout.x",
        memory: H7A3_MEMORY,
        interrupts: 155,
        flash: DataFlash { sector: 8192, word: 32, ecc: true },
        programs: &["compact", "deep", "selftest"],
        silicon: Silicon::Never,
    },
    Board {
        name: "nucleo-f446re",
        title: "ST NUCLEO-F446RE",
        chip: "STM32F446RE, Cortex-M4F",
        target: V7,
        reach: Reach::Probed("STM32F446RETx"),
        layout: "src/boards/nucleo_f446re/layout.x",
        memory: F446_MEMORY,
        interrupts: 97,
        flash: DataFlash { sector: 16384, word: 4, ecc: false },
        programs: &["compact", "selftest"],
        silicon: Silicon::Never,
    },
    Board {
        name: "nrf52840-dk",
        title: "Nordic nRF52840-DK",
        chip: "nRF52840, Cortex-M4F",
        target: V7,
        reach: Reach::Probed("nRF52840_xxAA"),
        layout: "src/boards/nrf52840_dk/layout.x",
        memory: NRF52840_MEMORY,
        interrupts: 48,
        flash: DataFlash { sector: 4096, word: 4, ecc: false },
        programs: &["compact", "selftest"],
        silicon: Silicon::Never,
    },
    Board {
        name: "pico2",
        title: "Raspberry Pi Pico 2",
        chip: "RP2350, Cortex-M33",
        target: V8,
        reach: Reach::Probed("RP235x"),
        layout: "src/boards/pico2/layout.x",
        memory: RP2350_MEMORY,
        interrupts: 52,
        flash: DataFlash { sector: 4096, word: 64, ecc: false },
        programs: &["compact", "selftest"],
        silicon: Silicon::Never,
    },
];
