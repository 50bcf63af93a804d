//! Running other programs: visibly, with a time limit where one may hang.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

/// The repository's root: where cargo was asked to run this, or where this was compiled.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&here).parent().expect("every package lies in the repository").to_path_buf()
}

/// Where cargo builds, as the user or the environment chose.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(chosen) => root().join(chosen),
        None => root().join("target"),
    }
}

/// The cargo that started us, working in the repository's root.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Builds libraries, programs and examples for this host as `cargo test` does, so that nothing is compiled twice; where
/// one of them lies.
pub fn host_built(name: &str) -> Result<PathBuf, Error> {
    run(cargo().args(["build", "--lib", "--bins", "--examples"]))?;
    Ok(target_dir().join("debug").join(name))
}

/// Cargo by its name, so that a toolchain can be asked for although one is running us.
pub fn plain_cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command
}

/// Whether this is continuous integration, where a step that could not run is a failure.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Where cargo keeps what it installs and downloads.
pub fn cargo_home() -> Option<PathBuf> {
    let chosen = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    chosen.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}

/// `PATH` with the given folders in front, and the one where `cargo install` puts programs behind.
pub fn tool_path(first: &[&Path]) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = first.iter().map(PathBuf::from);
    let folders =
        folders.chain(std::env::split_paths(&path)).chain(cargo_home().map(|home| home.join("bin")));
    std::env::join_paths(folders).expect("no folder's name holds a separator")
}

/// Looks for a program in `PATH`, and where `cargo install` puts programs.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = tool_path(&[]);
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// Whether we may install packages without asking anybody.
pub fn is_root() -> bool {
    read(Command::new("id").arg("-u")).is_some_and(|uid| uid == "0")
}

/// The command as one would type it.
pub fn typed(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command, its output in the terminal; anything but success is a failed step.
pub fn run(command: &mut Command) -> Result<(), Error> {
    println!("$ {}", typed(command));
    let status = command.status().map_err(|error| Error::failed(format!("{}: {error}", typed(command))))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::failed(format!("`{}` ended with {status}", typed(command)))),
    }
}

/// Like [`run`], but kills the command when it takes longer than `limit`.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<(), Error> {
    println!("$ {}  (at most {} s)", typed(command), limit.as_secs());
    let words = typed(command);
    let failed = |why: String| Error::failed(format!("`{words}` {why}"));
    let mut child = command.stdin(Stdio::null()).spawn().map_err(|error| failed(error.to_string()))?;
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(failed(format!("ended with {status}"))),
            None if Instant::now() < deadline => thread::sleep(Duration::from_millis(50)),
            None => {
                child.kill()?;
                child.wait()?;
                return Err(failed(format!("took longer than {} s", limit.as_secs())));
            }
        }
    }
}

/// A program that is killed when this is dropped.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Does the same to all of these, two at a time: an emulator keeps one core busy.
pub fn in_pairs<T: Send, R: Send>(
    items: Vec<T>,
    act: impl Fn(T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let items = Mutex::new(items.into_iter().enumerate());
    let next = || items.lock().expect("nobody panics").next();
    let work = || std::iter::from_fn(next).map(|(i, item)| (i, act(item))).collect::<Vec<_>>();
    let mut done = thread::scope(|scope| {
        let other = scope.spawn(work);
        let own = work();
        own.into_iter().chain(other.join().expect("nobody panics")).collect::<Vec<_>>()
    });
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A command's trimmed output, or `None` when it does not start or does not succeed.
pub fn read(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_killed() {
        let start = Instant::now();
        let verdict = run_within(Command::new("sleep").arg("60"), Duration::from_millis(200));
        assert!(verdict.unwrap_err().why().contains("took longer"));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_is_done_in_pairs_keeps_its_order_and_its_failures() {
        let halves = |numbers: &[u32]| {
            in_pairs(numbers.to_vec(), |n| match n % 2 {
                0 => Ok(n / 2),
                _ => Err(Error::failed(format!("{n} is odd"))),
            })
        };
        assert_eq!(halves(&[6, 2, 8, 4]), Ok(vec![3, 1, 4, 2]));
        assert_eq!(halves(&[2, 3]).unwrap_err().why(), "3 is odd");
    }
}
