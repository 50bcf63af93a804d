//! Files that are replaced whole or not at all, and sealed ones, whose damage shows.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::results::Crc;

/// Replaces `path` by `bytes` in one step: whoever reads it, even after a power cut, finds the old or the new file. Links to it
/// stay; a terminal or a pipe is only written to.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if path.metadata().is_ok_and(|of| !of.is_file()) {
        return fs::write(path, bytes).map_err(Error::io("write", path));
    }
    let path = &followed(path);
    let beside = temporary(path);
    let written = File::create(&beside)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path))
        .and_then(|()| sync_folder(path));
    written.map_err(|source| {
        // The failed attempt is of no use to anyone, and on a full disk its space is.
        let _ = fs::remove_file(&beside);
        Error::io("write", path)(source)
    })
}

/// Where links lead, whether or not there is a file yet; another path as it is.
pub fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // No system follows more of them.
    for _ in 0..40 {
        let Ok(to) = fs::read_link(&path) else { break };
        path = path.with_file_name("").join(to);
    }
    path
}

/// Whether a file can be written, before the work that is to fill it; one that is there stays as it is.
pub fn check_writable(path: &Path) -> Result<(), Error> {
    check_output(path, [])
}

/// The same, and refuses one of the files that are read or kept, whatever it is called there.
pub fn check_output<'a>(path: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), Error> {
    let new = path.symlink_metadata().is_err();
    File::options().append(true).create(true).open(path).map_err(Error::io("write", path))?;
    let real = path.canonicalize().ok().filter(|real| real.is_file());
    let input = inputs.into_iter().find(|input| real.is_some() && input.canonicalize().ok() == real);
    if new {
        remove_if_there(path)?;
    }
    input.map_or(Ok(()), |input| {
        let (path, input) = (path.display(), input.display());
        Err(Error::usage(format!(
            "{path} would be written over {input}, which is an input: give another name"
        )))
    })
}

/// Makes a new name in a folder last through a power cut.
#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// Removes what processes that were killed in the middle of [`write_atomically`] left in a folder.
pub(super) fn remove_leftovers(folder: &Path) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let is_leftover = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let process = name.strip_suffix(".tmp").and_then(|name| name.rsplit('.').next()?.parse::<u32>().ok());
        // Where there is no such list of processes, nobody else is taken to be at work in this folder.
        process.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists())
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(is_leftover).try_for_each(|path| remove_if_there(&path))
}

/// A file's bytes; `None` when there is none.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(Error::io("read", path)),
    }
}

/// Removes a file that may already be gone.
pub(super) fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Replaces a file by a line that names what is in it, with a checksum, and the bytes.
pub fn seal(path: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    write_atomically(path, &sealed(name, bytes))
}

/// What [`seal`] writes.
pub fn sealed(name: &str, bytes: &[u8]) -> Vec<u8> {
    [first_line(name, bytes).as_bytes(), bytes].concat()
}

fn first_line(name: &str, bytes: &[u8]) -> String {
    let start = format!("{name} bytes {}", bytes.len());
    let mut crc = Crc::new();
    crc.update(start.as_bytes());
    crc.update(bytes);
    format!("{start} crc {:08x}\n", crc.value())
}

/// Name and bytes of a sealed file, not an altered one's; `None` when there is none.
pub fn unseal(path: &Path) -> Result<Option<(String, Vec<u8>)>, Error> {
    read_if_there(path)?.map(|text| unsealed(path, &text)).transpose()
}

/// Name and bytes of what [`sealed`] made; the path is for errors.
pub fn unsealed(path: &Path, text: &[u8]) -> Result<(String, Vec<u8>), Error> {
    let damaged =
        || Error::damaged(path, 1, "it is cut off, damaged or of another kind: its checksum is wrong");
    let length = text.iter().position(|&b| b == b'\n').ok_or_else(damaged)? + 1;
    let (line, bytes) = text.split_at(length);
    let line = std::str::from_utf8(line).map_err(|_| damaged())?;
    let name = line.rsplit_once(" bytes ").ok_or_else(damaged)?.0;
    if line != first_line(name, bytes) {
        return Err(damaged());
    }
    Ok((name.into(), bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_killed_processes_go_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let own = format!("timing.json.{}.tmp", std::process::id());
        // No process has this number: it is beyond the largest that any system gives.
        for name in ["timing.json.4294967295.tmp", &own, "timing.json", "notes.tmp"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        remove_leftovers(folder.path()).unwrap();
        let there = |name: &str| folder.path().join(name).exists();
        assert!(!there("timing.json.4294967295.tmp"));
        assert!(there("timing.json") && there("notes.tmp"));
        assert!(!cfg!(target_os = "linux") || there(&own));
    }

    #[test]
    fn sealed_files_round_trip_and_damage_at_any_byte_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sealed");
        assert_eq!(unseal(&path).unwrap(), None);
        for (name, bytes) in [("a", &b"\n\0\xff"[..]), ("b bytes 1", b""), ("#unit a 1", b"particles")] {
            seal(&path, name, bytes).unwrap();
            assert_eq!(unseal(&path).unwrap(), Some((name.into(), bytes.to_vec())));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
        let good = fs::read(&path).unwrap();
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(unseal(&path).is_err(), "byte {place}");
            fs::write(&path, &good[..place]).unwrap();
            assert!(unseal(&path).is_err(), "cut at {place}");
        }
    }

    #[test]
    fn an_unwritable_place_is_an_error_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::write(&old, "x").unwrap();
        assert!(check_writable(&old).is_ok() && check_writable(&new).is_ok());
        assert!(fs::read(&old).unwrap() == b"x" && !new.exists());
        assert!(check_writable(folder.path()).is_err() && check_writable(&old.join("below")).is_err());
        let error = write_atomically(&folder.path().join("no/such/file"), b"x").unwrap_err();
        assert!(error.to_string().contains("no/such/file"));
    }

    #[test]
    #[cfg(unix)]
    fn a_link_stays_one_whether_or_not_its_file_is_there_and_a_loop_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, second, circle] =
            ["file", "link", "second", "circle"].map(|name| folder.path().join(name));
        for (to, name) in [("file", &link), ("link", &second), ("circle", &circle)] {
            std::os::unix::fs::symlink(to, name).unwrap();
        }
        for text in ["new", "old"] {
            write_atomically(&second, text.as_bytes()).unwrap();
            assert!(link.is_symlink() && second.is_symlink() && fs::read_to_string(&file).unwrap() == text);
        }
        assert_eq!((followed(&second), followed(&file)), (file.clone(), file));
        assert!(followed(&circle).is_symlink());
        assert!(check_writable(&circle).is_err() && check_writable(Path::new("/dev/null")).is_ok());
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_is_written_to_and_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (there, reader) = (pipe.clone(), std::thread::spawn(move || fs::read(pipe)));
        write_atomically(&there, b"x").unwrap();
        assert!(there.exists() && !there.is_file());
        assert_eq!(reader.join().unwrap().unwrap(), b"x");
    }
}
