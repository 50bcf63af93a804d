//! Results on disk: one folder per study, one row per query.
//!
//! | file | what it holds |
//! |---|---|
//! | `study.json` | what was run: problem, settings of every variant, seed ([`Manifest`]) |
//! | `units/<variant>-<experiment>.csv` | every query of one variant in one experiment, all tasks in order |
//! | `units/<variant>-<experiment>.snapshot` | the optimizer's state after the last closed task, while the unit runs |
//! | `tasks.csv` | one row per task, derived from the units ([`TaskSummary`]) |
//! | `timing.json` | how long it took ([`Timing`]) |
//!
//! Two runs of one study are equal byte for byte in all but `timing.json`, however they were interrupted, resumed or
//! sharded. The columns are documented for readers of the data in `docs/results.md`.

pub use foretune_core::snapshot::Crc;

mod disk;
mod manifest;
mod row;
mod study;
mod summary;
mod unit;
mod writer;

pub use disk::{check_output, check_writable, followed, seal, sealed, unseal, unsealed, write_atomically};
pub use manifest::{FORMAT, Manifest, Shard, Timing, UnitId, Variant};
pub use row::{Bound, Kind, Row, Terms};
pub use study::{Loaded, Resumed, Study};
pub use summary::{GuardSummary, TaskSummary};
pub use unit::{Task, Unit};
pub use writer::{TaskWriter, UnitWriter};

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;

/// The checksum of all bytes at once: CRC-32/ISO-HDLC, the core's, so that host and device agree on it.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.value()
}
