//! `cargo xtask hil`: the tuner on an emulated board, with `foretune hil` as its base station; both sides are shown, and
//! what the device did is compared bit for bit with the same core on this host.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::board::{Board, Variant, emulated, find};
use crate::error::{Error, Verdict, ensure};
use crate::qemu::{Device, instructions_per_tick};
use crate::shell::{host_built, root, run};
use crate::size::budget;
use crate::tools::Tools;

/// A run: which program on which board, and what it tunes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Plan {
    /// The board.
    #[arg(long, value_name = "BOARD", default_value = "mps2-an500", value_parser = PossibleValuesParser::new(emulated().map(|board| board.name)))]
    pub board: String,
    /// The profile.
    #[arg(long, value_name = "PROFILE", default_value = "compact", value_parser = ["compact", "deep"])]
    pub profile: String,
    /// Number of tasks.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub tasks: u32,
    /// What a task's queries may cost; the ten initial ones are free.
    #[arg(long, value_name = "COST", default_value_t = 200)]
    pub budget: u32,
    /// Learning steps at the end of a task, if other than the profile's own.
    #[arg(long, value_name = "N")]
    pub steps: Option<u32>,
    /// Count instructions: slower, but the longest slice of work comes out in instructions.
    #[arg(long)]
    pub count: bool,
    /// Let knowledge travel: trained on the host, loaded into the device, read from it and continued on the host.
    #[arg(long)]
    pub travel: bool,
    /// Tune the problem in `examples/`, which is sent to the device, in place of the one that it is built for.
    #[arg(long, conflicts_with = "travel")]
    pub sent: bool,
    /// The same with two guards and a condition.
    #[arg(long, conflicts_with_all = ["travel", "sent"])]
    pub guarded: bool,
    /// Tune the control loop in `examples/`, which `cargo xtask test pid` builds.
    #[arg(long, conflicts_with_all = ["travel", "sent", "guarded", "watch"])]
    pub pid: bool,
    /// Load what forty simulated sites have in common into the device first.
    #[arg(long)]
    pub fleet: bool,
    /// Begin the first task only: the device watches what it recommends, and begins the others when the world has changed.
    #[arg(long, conflicts_with_all = ["sent", "guarded"])]
    pub watch: bool,
    /// Give both sides a key.
    #[arg(long)]
    pub key: bool,
}

/// The key that both sides have, and another one.
pub const KEYS: [&str; 2] = [
    "00112233445566778899aabbccddeeff0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "00112233445566778899aabbccddeeff0f1e2d3c4b5a69788796a5b4c3d2e1f1",
];

impl Plan {
    /// A plan with the profile's own steps.
    pub fn new(board: &str, profile: &str, tasks: u32, budget: u32) -> Self {
        Plan { board: board.into(), profile: profile.into(), tasks, budget, ..Plan::default() }
    }

    pub fn build(&self, tools: &Tools) -> Result<PathBuf, Error> {
        let key = if self.key { Some(KEYS[0].to_owned()) } else { Variant::from_environment().key };
        find(&self.board)?.build_with(
            tools,
            &self.profile,
            &Variant { steps: self.steps, key, ..Variant::default() },
        )
    }

    /// The arguments for `foretune`.
    pub fn arguments(&self, port: u16) -> Result<Vec<String>, Error> {
        let mut words = vec!["hil".into(), "--connect".into(), format!("tcp:127.0.0.1:{port}")];
        words.extend(["--tasks".into(), self.tasks.to_string(), "--budget".into(), self.budget.to_string()]);
        if self.sent || self.guarded {
            let folder = root().join("examples");
            let (script, mut file) = (folder.join("measure.py"), folder.join("problem.toml"));
            let mut command =
                format!("python3 '{}' {{power}} {{alpha}} {{tilt}} {{samples}}", script.display());
            if self.guarded {
                let text = std::fs::read_to_string(&file)? + GUARDS;
                (file, command) = (root().join("target/guarded.toml"), command + " kpis");
                std::fs::write(&file, text)?;
                words.extend(["--at", "load=75"].map(String::from));
            }
            words.extend([file.display().to_string(), "--command".into(), command]);
        }
        if self.pid {
            let (file, command) = (root().join("examples/pid.toml"), crate::c::pid_program());
            words.extend([file.display().to_string(), "--command".into()]);
            words.push(format!("'{}' 0 {{kp}} {{ti}} {{td}}", command.display()));
        }
        if self.watch {
            words.extend(["--watch".into(), "1000".into()]);
        }
        if self.fleet {
            words.extend(["--fleet".into(), fleet().display().to_string()]);
        }
        words.extend(self.steps.iter().flat_map(|steps| ["--steps".into(), steps.to_string()]));
        Ok(words)
    }
}

/// What is kept beside the value, one as its logarithm, and what is known but not chosen.
const GUARDS: &str = r#"
[[condition]]
name = "load"
low = 0
high = 100

[[guard]]
name = "edge"
share = 0.9
noise = [0.0025, 0.0004]
scale = "log"

[[guard]]
name = "draw"
drop = 2.0
at_most = true
risk = 0.1
noise = 0.0
"#;

/// What forty simulated sites have in common: `foretune run rrm --floor share:0.9 --experiments 40 --tasks 10 --seed 3000 --out runs/sites`
/// and `foretune fleet learn runs/sites`.
fn fleet() -> PathBuf {
    root().join("examples/radio.fleet")
}

/// `cargo xtask hil`.
pub fn hil(plan: &Plan) -> Result<(), Error> {
    let tools = Tools::default();
    let station = station()?;
    println!("{}", play(&tools, plan, &station)?);
    Ok(())
}

/// The step: both profiles on the boards that can hold them.
pub fn check_all(tools: &Tools) -> Verdict {
    let station = station()?;
    let plans = [
        Plan { count: true, travel: true, ..Plan::new("mps2-an386", "compact", 2, 130) },
        Plan { watch: true, ..Plan::new("mps2-an500", "compact", 3, 130) },
        Plan { fleet: true, ..Plan::new("mps2-an505", "compact", 2, 130) },
        Plan { guarded: true, ..Plan::new("mps2-an386", "compact", 2, 40) },
        Plan { steps: Some(3), count: true, ..Plan::new("mps2-an500", "deep", 2, 20) },
    ];
    let remarks = plans.iter().map(|plan| play(tools, plan, &station)).collect::<Result<Vec<_>, _>>()?;
    Ok(remarks.join("; "))
}

/// Builds the base station.
pub fn station() -> Result<PathBuf, Error> {
    host_built("foretune")
}

/// A key as the station reads it.
pub fn key_file(folder: &Path, key: &str) -> Result<PathBuf, Error> {
    let file = folder.join(format!("key-{}", &key[key.len() - 2..]));
    std::fs::write(&file, key)?;
    Ok(file)
}

pub fn play(tools: &Tools, plan: &Plan, station: &Path) -> Verdict {
    let board = find(&plan.board)?;
    let elf = plan.build(tools)?;
    let folder = tempfile::tempdir()?;
    let mut device = Device::new(tools, board, &elf, folder.path())?;
    device.show_log = true;
    device.count_instructions = plan.count;
    let running = device.start()?;
    let mut command = Command::new(station);
    command.args(plan.arguments(running.port)?);
    if plan.travel {
        command.args(["--train", "2", "--download"]).arg(folder.path().join("knowledge"));
    }
    if plan.key {
        command.arg("--key").arg(key_file(folder.path(), KEYS[0])?);
    }
    let answers = folder.path().join("answers");
    if plan.fleet {
        command.arg("--answers").arg(&answers);
    }
    run(&mut command)?;
    if plan.fleet {
        // What was read back is a site of the fleet's problem.
        run(Command::new(station).args(["fleet", "check"]).arg(fleet()).arg(&answers))?;
    }
    let log = running.kill()?;
    measured(board, plan, &log)
}

/// What the device says of its stack and its longest slice.
pub fn measured(board: &Board, plan: &Plan, log: &[String]) -> Verdict {
    let largest = |before: &str| log.iter().filter_map(|line| number_after(line, before)).max();
    let missing = || Error::failed("the device's log says nothing of its stack".to_owned());
    let stack = largest("used: ").ok_or_else(missing)?;
    let slice = largest("longest slice ").ok_or_else(missing)?;
    let granted = budget(&plan.profile)?.stack * 1024;
    ensure!(stack <= granted, "a stack of {stack} bytes, but the budget grants {granted}");
    let slice = match plan.count {
        true => {
            let instructions = slice.checked_mul(instructions_per_tick(board));
            let backwards = || Error::failed("the device's clock ran backwards");
            format!(", longest slice {} instructions", instructions.ok_or_else(backwards)?)
        }
        false => String::new(),
    };
    let what = match (plan.sent, plan.key) {
        (true, _) => ", a problem that was sent",
        _ if plan.guarded => ", a problem with guards that was sent",
        _ if plan.pid => ", a control loop",
        (false, true) => ", with a key",
        (false, false) if plan.fleet => ", with a fleet",
        (false, false) if plan.watch => ", tasks begun by a watch",
        (false, false) => "",
    };
    Ok(format!("{} on {}{what}: stack {stack} bytes{slice}", plan.profile, board.name))
}

fn number_after(line: &str, before: &str) -> Option<u64> {
    let (_, rest) = line.split_once(before)?;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}
