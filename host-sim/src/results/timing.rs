//! `timing.json`: how long a study took, apart from the results so that these stay comparable.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Error;
use super::snapshot::write_atomically;

/// Time spent on a study, over all runs that contributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Wall-clock seconds, summed over runs and shards.
    pub wall_seconds: f64,
    /// Seconds spent inside units of work, summed over workers.
    pub work_seconds: f64,
    /// The largest number of workers at once in a run.
    pub jobs: u32,
    /// Cores of the largest machine that took part.
    pub cores: u32,
    /// Number of runs: shards, and continuations after an interruption.
    pub runs: u32,
}

impl Timing {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            wall_seconds: self.wall_seconds + other.wall_seconds,
            work_seconds: self.work_seconds + other.work_seconds,
            jobs: self.jobs.max(other.jobs),
            cores: self.cores.max(other.cores),
            runs: self.runs + other.runs,
        }
    }

    pub(super) fn read(path: &Path) -> Result<Option<Self>, Error> {
        match std::fs::read(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("read", path)(e)),
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|e| Error::damaged(path, e.line().max(1), e.to_string())),
        }
    }

    pub(super) fn write(self, path: &Path) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(&self).unwrap_or_default();
        text.push('\n');
        write_atomically(path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timing.json");
        assert_eq!(Timing::read(&path).unwrap(), None);
        let run = Timing { wall_seconds: 2.5, work_seconds: 4.0, jobs: 2, cores: 4, runs: 1 };
        run.plus(run).write(&path).unwrap();
        let both = Timing { wall_seconds: 5.0, work_seconds: 8.0, jobs: 2, cores: 4, runs: 2 };
        assert_eq!(Timing::read(&path).unwrap(), Some(both));
        std::fs::write(&path, "{").unwrap();
        assert!(Timing::read(&path).unwrap_err().to_string().contains("line 1"));
    }
}
