//! The compact profile disturbed: power failures and a bad line, while `foretune hil` must not notice.
//!
//! The base station tunes some small tasks through a [`Proxy`], measurements failing now and then. Meanwhile the device
//! loses power or the station's program is killed; at the end, every query and recommendation must be what the core
//! alone would have asked and recommended on this host.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::board::{Board, emulated, find};
use crate::error::{Error, Verdict, ensure};
use crate::hil::{Plan, station};
use crate::proxy::{Proxy, Random};
use crate::qemu::{CUT, Device, Running};
use crate::shell::Killed;
use crate::tools::Tools;

/// How long a run may take after its last disturbance, and a device between two of them.
const PATIENCE: Duration = Duration::from_secs(180);

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    /// Power fails at this piece of a change to the flash, counted from the device's start.
    Cut(u32),
    /// Power fails after so many ms.
    Kill(u32),
    /// The station's program is killed after so many ms, and started again.
    Restart(u32),
}

/// The step for power failures: cuts at chosen pieces, then kills at random instants.
pub fn power(tools: &Tools) -> Verdict {
    let rig = Rig::build(tools, "mps2-an386")?;
    // A start that goes on with a task first copies its journal, some 200 pieces, then appends with 12 pieces each; the
    // end of the task writes a slot, some 100. Steps of a prime number of pieces meet every part of these in turn.
    let cuts: Vec<_> = (0..48).map(|i| Disturbance::Cut(1 + 37 * i % 500)).collect();
    let exact = rig.play(20, 0, 1, &cuts)?;
    let mut random = Random::new(7);
    let kills: Vec<_> = (0..30).map(|_| Disturbance::Kill(50 + random.below(900))).collect();
    let killed = rig.play(20, 0, 2, &kills)?;
    Ok(format!("{exact} cuts at chosen pieces, {killed} kills at random instants"))
}

/// The step for the line: noise both ways, station and device restarted.
pub fn line(tools: &Tools) -> Verdict {
    let rig = Rig::build(tools, "mps2-an386")?;
    let struck = rig.play(12, 150, 3, &mixed(16, 3))?;
    Ok(format!("one byte in 150 spoilt, {struck} restarts of station and device"))
}

/// Restarts of either side in turn.
fn mixed(count: u32, seed: u64) -> Vec<Disturbance> {
    let mut random = Random::new(seed);
    let mut next = |i| match i % 2 {
        0 => Disturbance::Restart(100 + random.below(1000)),
        _ => Disturbance::Kill(100 + random.below(1000)),
    };
    (0..count).map(&mut next).collect()
}

/// The soak test: every piece of a whole task on a new device, and many random runs, on every emulated board.
pub fn soak() -> Result<(), Error> {
    let tools = Tools::default();
    emulated().try_for_each(|board| all(&tools, board))
}

fn all(tools: &Tools, board: &Board) -> Result<(), Error> {
    let rig = Rig::build(tools, board.name)?;
    for piece in 0.. {
        // A plan of one may come to nothing: then that piece was never reached.
        if rig.play(1, 0, 1, &[Disturbance::Cut(piece)])? == 0 {
            println!("{}: {piece} pieces, a cut at each", board.name);
            break;
        }
    }
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let kills: Vec<_> = (0..25).map(|_| Disturbance::Kill(20 + random.below(3000))).collect();
        let cuts: Vec<_> = (0..25).map(|_| Disturbance::Cut(random.below(600))).collect();
        let kills = rig.play(20, 0, seed, &kills)?;
        let cuts = rig.play(20, 0, seed, &cuts)?;
        let restarts = rig.play(12, 100 + 20 * seed as u32, seed, &mixed(16, seed))?;
        println!("{} seed {seed}: {kills} kills, {cuts} cuts, {restarts} restarts on a bad line", board.name);
    }
    Ok(())
}

/// What all runs need, built once.
struct Rig {
    device: Device,
    station: PathBuf,
}

impl Rig {
    fn build(tools: &Tools, board: &str) -> Result<Self, Error> {
        let board = find(board)?;
        let elf = board.build(tools, "compact")?;
        Ok(Rig { device: Device::new(tools, board, &elf, Path::new("."))?, station: station()? })
    }

    /// Tunes so many tasks on a new device while these disturbances strike one after the other; how many did.
    fn play(&self, tasks: u32, one_in: u32, seed: u64, plan: &[Disturbance]) -> Result<usize, Error> {
        let folder = tempfile::tempdir()?;
        let device = Device { folder: folder.path().to_path_buf(), ..self.device.clone() };
        let mut game = Game {
            device,
            proxy: Proxy::open(one_in, seed)?,
            station: &self.station,
            tasks,
            seed,
            running: None,
            playing: None,
        };
        let mut struck = 0;
        for disturbance in plan {
            match game.strike(*disturbance)? {
                true => struck += 1,
                false => break,
            }
        }
        game.finish()?;
        ensure!(struck >= plan.len() / 2, "only {struck} of {} disturbances struck", plan.len());
        Ok(struck)
    }
}

/// A device and its station at play.
struct Game<'a> {
    device: Device,
    proxy: Proxy,
    station: &'a Path,
    tasks: u32,
    seed: u64,
    running: Option<Running>,
    playing: Option<Killed>,
}

impl Game<'_> {
    /// Lets something go wrong; false if the tasks ended before it could.
    fn strike(&mut self, disturbance: Disturbance) -> Result<bool, Error> {
        if let Disturbance::Cut(piece) = disturbance {
            // Power came back long ago; it goes again, to come back with a cut in store.
            self.running = None;
            self.device.cut = Some(piece);
            self.start()?;
            self.device.cut = None;
            return self.wait_for_cut();
        }
        self.start()?;
        let (Disturbance::Kill(after) | Disturbance::Restart(after) | Disturbance::Cut(after)) = disturbance;
        let end = Instant::now() + Duration::from_millis(after.into());
        while Instant::now() < end {
            if self.has_ended()? {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        match disturbance {
            Disturbance::Restart(_) => self.playing = None,
            _ => drop(self.running.take().map(Running::kill)),
        }
        Ok(true)
    }

    fn wait_for_cut(&mut self) -> Result<bool, Error> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if self.running.as_mut().is_some_and(|running| !running.is_running()) {
                let (code, log) = self.running.take().expect("it was there").wait(PATIENCE)?;
                return match code {
                    CUT => Ok(true),
                    code => Err(Error::failed(format!("the device ended with {code}: {log:?}"))),
                };
            }
            if self.has_ended()? {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(self.stuck())
    }

    /// Switches on what is off.
    fn start(&mut self) -> Result<(), Error> {
        if self.running.is_none() {
            let running = self.device.start()?;
            self.proxy.lead_to(running.port);
            self.running = Some(running);
        }
        if self.playing.is_none() {
            self.playing = Some(self.play()?);
        }
        Ok(())
    }

    fn play(&self) -> Result<Killed, Error> {
        let mut log = File::options().create(true).append(true).open(self.talk())?;
        writeln!(log, "-- the station starts")?;
        let mut command = Command::new(self.station);
        command.args(Plan::new("", "compact", self.tasks, 20).arguments(self.proxy.port)?);
        command.args(["--flaky", "--timeout", "250", "--seed", &(self.seed + 1).to_string(), "--notes"]);
        command.arg(self.device.folder.join("notes.json"));
        Ok(Killed(command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?))
    }

    /// Whether the station is done, and content.
    fn has_ended(&mut self) -> Result<bool, Error> {
        let Some(playing) = &mut self.playing else { return Ok(false) };
        match playing.0.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => Err(Error::failed(format!("foretune ended with {status}:\n{}", self.said()))),
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.start()?;
        let deadline = Instant::now() + PATIENCE;
        while !self.has_ended()? {
            if Instant::now() > deadline {
                return Err(self.stuck());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn stuck(&self) -> Error {
        let log = self.running.as_ref().map(Running::log).unwrap_or_default();
        let tail = &log[log.len().saturating_sub(5)..];
        Error::failed(format!("nothing moves any more; device: {tail:?}; station:\n{}", self.said()))
    }

    fn talk(&self) -> PathBuf {
        self.device.folder.join("station.log")
    }

    /// The last lines of the station.
    fn said(&self) -> String {
        let text = std::fs::read_to_string(self.talk()).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }
}
