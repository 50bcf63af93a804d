//! Who hears how the work goes.

use crate::results::{TaskSummary, UnitId};

/// Who watches a unit at work, and may stop it.
pub trait Watcher {
    /// Whether to go on.
    fn go_on(&self) -> bool;

    /// Part of the current task's budget is spent, from 0 to 1.
    fn advanced(&self, unit: UnitId, share: f64);

    /// A task is finished and on the disk.
    fn finished(&self, unit: UnitId, summary: &TaskSummary);

    /// Something a user should know.
    fn note(&self, text: &str);
}
