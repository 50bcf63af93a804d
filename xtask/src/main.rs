//! `cargo xtask <chore>`: finds the chore and runs it.

use std::process::ExitCode;

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
        println!("  {:<24} {}", chore.usage, chore.about);
    }
    println!("\nSteps of `test`:");
    xtask::test::list();
    true
}
