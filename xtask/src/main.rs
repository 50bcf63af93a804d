//! `cargo xtask <chore>`: finds the chore and runs it.

use std::process::ExitCode;

use xtask::board::BOARDS;

struct Chore {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&[String]) -> bool,
}

/// All chores. A new one is a line here and a module beside this file.
const CHORES: &[Chore] = &[
    Chore {
        name: "test",
        usage: "test [step ...]",
        about: "runs every test (or the named steps), installing what is missing; fails in CI if a step cannot run",
        run: xtask::test::test,
    },
    Chore {
        name: "hil",
        usage: "hil [--board B] [--profile P] [--tasks N] [--budget N] [--steps N] [--count] [--travel]",
        about: "the tuner on an emulated board with `foretune hil` as its base station, compared bit for bit with this host",
        run: xtask::hil::hil,
    },
    Chore {
        name: "campaign",
        usage: "campaign [storage | line | life | board]",
        about: "the long tests: storage, line and life on this host, then power failures and bad lines on emulated boards",
        run: xtask::campaign::campaign,
    },
    Chore {
        name: "soak",
        usage: "soak properties [--seeds N]",
        about: "the property tests of the workspace on fresh seeds, 50 unless told; says which seed failed",
        run: xtask::soak::soak,
    },
    Chore {
        name: "fuzz",
        usage: "fuzz [seconds] [target ...]",
        about: "libFuzzer on every fuzz target (or those named), 100 seconds each; wants a nightly compiler",
        run: xtask::fuzz::fuzz,
    },
    Chore {
        name: "audit",
        usage: "audit [licences | advisories | miri | addresses]",
        about: "what wants more tools: licences and sources, Miri, sanitizers; half an hour and a nightly compiler",
        run: xtask::audit::audit,
    },
    Chore {
        name: "emulate",
        usage: "emulate <board> <program>",
        about: "runs a program of the firmware in the emulator, its log here, its serial line on a local port",
        run: xtask::device::emulate,
    },
    Chore {
        name: "flash",
        usage: "flash [program]",
        about: "builds for the real board, flashes it with probe-rs and shows its log",
        run: xtask::device::flash,
    },
    Chore {
        name: "size",
        usage: "size [--write]",
        about: "what the programs take on the boards, against their budgets; --write keeps the table in firmware/sizes.md",
        run: xtask::size::size,
    },
    Chore {
        name: "count",
        usage: "count [--write]",
        about: "instructions on the emulated Cortex-M7, against the table in firmware/instructions.md; --write renews it",
        run: xtask::count::count,
    },
    Chore {
        name: "panics",
        usage: "panics [--write]",
        about: "every place in the released firmware that could panic; --write keeps their numbers in firmware/panics.md",
        run: xtask::panics::panics,
    },
    Chore {
        name: "map",
        usage: "map <board> <program>",
        about: "a program's memory map, checked against the chip's",
        run: xtask::map::map,
    },
    Chore { name: "help", usage: "help", about: "says all this", run: help },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = words.split_first().map_or(("help", &[][..]), |(name, rest)| (name.as_str(), rest));
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprintln!("no chore is called `{name}`\n");
        help(&[]);
        return ExitCode::FAILURE;
    };
    match (chore.run)(rest) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn help(_: &[String]) -> bool {
    println!("cargo xtask <chore>\n");
    for chore in CHORES {
        println!("  {:<27} {}", chore.usage, chore.about);
    }
    println!("\nBoards: {}", BOARDS.map(|board| board.name).join(", "));
    println!("\nSteps of `test`:");
    xtask::test::list();
    true
}
